//! Columns of volumes, claims and storage classes.

use serde_json::Value;

use super::{Printer, age, flag, joined, list, name, or, or_none, plain, text};

pub(super) fn printer(plural: &str) -> Option<Printer> {
    Some(match plural {
        "persistentvolumes" => (
            "Name*|Capacity|Access Modes|Reclaim Policy|Status|Claim|StorageClass|VolumeAttributesClass|Reason|Age|VolumeMode+",
            volume,
        ),
        "persistentvolumeclaims" => {
            ("Name*|Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age|VolumeMode+", claim)
        }
        "storageclasses" => {
            ("Name*|Provisioner|ReclaimPolicy|VolumeBindingMode|AllowVolumeExpansion|Age", storage_class)
        }
        "csidrivers" => (
            "Name*|AttachRequired:boolean|PodInfoOnMount:boolean|StorageCapacity:boolean|TokenRequests|RequiresRepublish:boolean|Modes|Age",
            driver,
        ),
        "csinodes" => ("Name*|Drivers:integer|Age", |o| vec![name(o), list(o, "/spec/drivers").len().into(), age(o)]),
        "csistoragecapacities" => ("Name*|StorageClassName|Capacity", |o| {
            let capacity = o.get("capacity").map_or_else(|| "<unset>".to_owned(), plain);
            vec![name(o), text(o, "/storageClassName").into(), capacity.into()]
        }),
        "volumeattachments" => ("Name*|Attacher*|PV|Node|Attached:boolean|Age", |o| {
            let parts = ["/spec/attacher", "/spec/source/persistentVolumeName", "/spec/nodeName"];
            let [attacher, volume, node] = parts.map(|p| text(o, p).into());
            vec![name(o), attacher, volume, node, flag(o, "/status/attached").into(), age(o)]
        }),
        "volumeattributesclasses" => ("Name*|DriverName|Age", |o| vec![name(o), text(o, "/driverName").into(), age(o)]),
        _ => return None,
    })
}

/// `RWO,RWX`; each once, in the order in which Kubernetes lists them.
fn access_modes(modes: &[Value]) -> Value {
    const ORDER: [(&str, &str); 4] =
        [("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP")];
    let shown = ORDER.iter().filter(|(mode, _)| modes.iter().any(|m| m == mode)).map(|(_, short)| *short);
    shown.collect::<Vec<_>>().join(",").into()
}

fn phase(o: &Value) -> Value {
    let going = o.pointer("/metadata/deletionTimestamp").is_some();
    if going { "Terminating".into() } else { text(o, "/status/phase").into() }
}

/// The class of a volume or a claim; the old annotation comes first.
fn class(o: &Value) -> Value {
    let old = text(o, "/metadata/annotations/volume.beta.kubernetes.io~1storage-class");
    or(old, text(o, "/spec/storageClassName")).into()
}

fn set(o: &Value, pointer: &str) -> Value {
    or(text(o, pointer), "<unset>").into()
}

fn volume(o: &Value) -> Vec<Value> {
    let claim = match o.pointer("/spec/claimRef") {
        Some(claim) => format!("{}/{}", text(claim, "/namespace"), text(claim, "/name")),
        None => String::new(),
    };
    vec![
        name(o),
        or(text(o, "/spec/capacity/storage"), "0").into(),
        access_modes(list(o, "/spec/accessModes")),
        text(o, "/spec/persistentVolumeReclaimPolicy").into(),
        phase(o),
        claim.into(),
        class(o),
        set(o, "/spec/volumeAttributesClassName"),
        text(o, "/status/reason").into(),
        age(o),
        set(o, "/spec/volumeMode"),
    ]
}

fn claim(o: &Value) -> Vec<Value> {
    let bound = !text(o, "/spec/volumeName").is_empty();
    let capacity = if bound { or(text(o, "/status/capacity/storage"), "0") } else { "" };
    vec![
        name(o),
        phase(o),
        text(o, "/spec/volumeName").into(),
        capacity.into(),
        access_modes(if bound { list(o, "/status/accessModes") } else { &[] }),
        class(o),
        set(o, "/spec/volumeAttributesClassName"),
        age(o),
        set(o, "/spec/volumeMode"),
    ]
}

fn storage_class(o: &Value) -> Vec<Value> {
    let annotation = |stage: &str| format!("/metadata/annotations/storageclass.{stage}kubernetes.io~1is-default-class");
    let default = ["", "beta."].iter().any(|stage| text(o, &annotation(stage)) == "true");
    let name = format!("{}{}", text(o, "/metadata/name"), if default { " (default)" } else { "" });
    let parts = ["/provisioner", "/reclaimPolicy", "/volumeBindingMode"].map(|p| text(o, p).into());
    let [provisioner, reclaim, binding] = parts;
    vec![name.into(), provisioner, reclaim, binding, flag(o, "/allowVolumeExpansion").into(), age(o)]
}

fn driver(o: &Value) -> Vec<Value> {
    let attach = o.pointer("/spec/attachRequired").and_then(Value::as_bool).unwrap_or(true);
    let tokens = match o.pointer("/spec/tokenRequests") {
        Some(_) => {
            let audiences = list(o, "/spec/tokenRequests").iter().map(|t| text(t, "/audience"));
            audiences.collect::<Vec<_>>().join(",")
        }
        None => "<unset>".to_owned(),
    };
    vec![
        name(o),
        attach.into(),
        flag(o, "/spec/podInfoOnMount").into(),
        flag(o, "/spec/storageCapacity").into(),
        tokens.into(),
        flag(o, "/spec/requiresRepublish").into(),
        or_none(&joined(o, "/spec/volumeLifecycleModes")),
        age(o),
    ]
}
