//! Validation of changes to PersistentVolumes and their claims.

use serde_json::{Map, Value, json};

use crate::model::{quantity, status::Cause};

const IMMUTABLE: &str = "field is immutable";
/// Fields of a volume's spec that do not describe its source.
const NO_SOURCE: &[&str] = &[
    "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeAttributesClassName",
    "volumeMode",
];
const CLASS: &str = "/metadata/annotations/volume.beta.kubernetes.io~1storage-class";

fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

fn spec(value: &Value) -> Map<String, Value> {
    value.get("spec").and_then(Value::as_object).cloned().unwrap_or_default()
}

fn mode(object: &Value, old: &Value) -> Option<Cause> {
    let (new, was) = (at(object, "/spec/volumeMode"), at(old, "/spec/volumeMode"));
    (new != was).then(|| Cause::invalid("volumeMode", new, IMMUTABLE))
}

/// The source of a volume is immutable, and so are its mode and its nodes.
pub(super) fn volume(object: &Value, old: &Value) -> Vec<Cause> {
    let source = |value: &Value| {
        let mut spec = spec(value);
        spec.retain(|key, _| !NO_SOURCE.contains(&key.as_str()));
        spec
    };
    let (mut new, was) = (source(object), source(old));
    // The secret for expansion may be added.
    if at(old, "/spec/csi/controllerExpandSecretRef").is_null()
        && let Some(csi) = new.get_mut("csi").and_then(Value::as_object_mut)
    {
        csi.remove("controllerExpandSecretRef");
    }
    let mut out = Vec::new();
    if new != was {
        let why = "spec.persistentvolumesource is immutable after creation";
        out.push(Cause::forbidden("spec.persistentvolumesource", why));
    }
    out.extend(mode(object, old));
    let (nodes, before) = (at(object, "/spec/nodeAffinity"), at(old, "/spec/nodeAffinity"));
    if !before.is_null() && nodes != before {
        out.push(Cause::invalid("nodeAffinity", nodes, IMMUTABLE));
    }
    let class = "/spec/volumeAttributesClassName";
    if !at(old, class).is_null() && at(object, class).is_null() {
        let why = "update from non-nil value to nil is forbidden";
        out.push(Cause::forbidden("spec.volumeAttributesClassName", why));
    }
    out
}

/// A claim's spec is immutable, except for its volume (once), its class (once) and, when bound, its requested size.
pub(super) fn claim(object: &Value, old: &Value) -> Vec<Cause> {
    let mut out = Vec::new();
    let (mut new, mut was) = (spec(object), spec(old));
    if at(old, "/spec/volumeName").as_str().is_none_or(str::is_empty) {
        new.remove("volumeName");
        was.remove("volumeName");
    }
    let (class, annotated) = (at(object, "/spec/storageClassName"), at(object, CLASS));
    let (old_class, old_annotated) = (at(old, "/spec/storageClassName"), at(old, CLASS));
    let given = !class.is_null() && old_class.is_null();
    let moved = given && class == old_annotated && (annotated.is_null() || annotated == old_annotated);
    if !moved && annotated.as_str().unwrap_or_default() != old_annotated.as_str().unwrap_or_default() {
        let field = "metadata.annotations.volume.beta.kubernetes.io/storage-class";
        out.push(Cause::invalid(field, &json!(annotated.as_str().unwrap_or_default()), IMMUTABLE));
    }
    if moved || (given && (old_annotated.is_null() || class == old_annotated)) {
        new.remove("storageClassName");
    }
    if at(object, "/status/phase") == "Bound" {
        for spec in [&mut new, &mut was] {
            spec.remove("volumeAttributesClassName");
            if let Some(asked) = spec.get_mut("resources").and_then(|r| r.get_mut("requests")?.as_object_mut()) {
                asked.remove("storage");
            }
        }
    }
    if new != was {
        let why = "spec is immutable after creation except resources.requests and volumeAttributesClassName for \
                   bound claims";
        out.push(Cause::forbidden("spec", why));
    }
    let size = |value: &Value, pointer: &str| at(value, pointer).as_str().and_then(quantity::value).unwrap_or(0);
    let asked = "/spec/resources/requests/storage";
    if size(object, asked) < size(old, asked) && size(object, asked) <= size(old, "/status/capacity/storage") {
        let why = "field can not be less than status.capacity";
        out.push(Cause::forbidden("spec.resources.requests.storage", why));
    }
    out.extend(mode(object, old));
    if !at(old, "/status/currentVolumeAttributesClassName").is_null() {
        let word = match at(object, "/spec/volumeAttributesClassName") {
            Value::Null => "nil",
            Value::String(name) if name.is_empty() => "empty string",
            _ => return out,
        };
        let why = format!("update to {word} is forbidden when status.currentVolumeAttributesClassName is not nil");
        out.push(Cause::forbidden("spec.volumeAttributesClassName", &why));
    }
    out
}
