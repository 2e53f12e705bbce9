//! Constant defaults of a kind.

use serde_json::{Value, json};

use super::text;
use crate::model::{kinds::Resource, members::fill};

/// Kind, path (`*` is each element), field and its default.
const FIXED: &[(&str, &str, &str, &str)] = &[
    ("storageclasses", "", "reclaimPolicy", "\"Delete\""),
    ("storageclasses", "", "volumeBindingMode", "\"Immediate\""),
    ("priorityclasses", "", "preemptionPolicy", "\"PreemptLowerPriority\""),
    ("ingressclasses", "spec.parameters", "scope", "\"Cluster\""),
    ("persistentvolumes", "spec.hostPath", "type", "\"\""),
    ("csidrivers", "spec", "attachRequired", "true"),
    ("csidrivers", "spec", "podInfoOnMount", "false"),
    ("csidrivers", "spec", "storageCapacity", "false"),
    ("csidrivers", "spec", "fsGroupPolicy", "\"ReadWriteOnceWithFSType\""),
    ("csidrivers", "spec", "volumeLifecycleModes", "[\"Persistent\"]"),
    ("csidrivers", "spec", "requiresRepublish", "false"),
    ("csidrivers", "spec", "seLinuxMount", "false"),
    ("csinodes", "spec.drivers.*", "topologyKeys", "null"),
    ("validatingadmissionpolicies", "spec", "failurePolicy", "\"Fail\""),
    ("validatingadmissionpolicies", "spec.matchConstraints", "matchPolicy", "\"Equivalent\""),
    ("validatingadmissionpolicies", "spec.matchConstraints", "namespaceSelector", "{}"),
    ("validatingadmissionpolicies", "spec.matchConstraints", "objectSelector", "{}"),
    ("validatingadmissionpolicies", "spec.matchConstraints.resourceRules.*", "scope", "\"*\""),
    ("validatingadmissionpolicies", "spec.matchConstraints.excludeResourceRules.*", "scope", "\"*\""),
    ("validatingadmissionpolicybindings", "spec.matchResources", "matchPolicy", "\"Equivalent\""),
    ("validatingadmissionpolicybindings", "spec.matchResources", "namespaceSelector", "{}"),
    ("validatingadmissionpolicybindings", "spec.matchResources", "objectSelector", "{}"),
    ("validatingadmissionpolicybindings", "spec.matchResources.resourceRules.*", "scope", "\"*\""),
    ("prioritylevelconfigurations", "spec.limited", "nominalConcurrencyShares", "30"),
    ("prioritylevelconfigurations", "spec.limited", "lendablePercent", "0"),
    ("flowschemas", "spec", "matchingPrecedence", "1000"),
    ("statefulsets", "spec.volumeClaimTemplates.*", "apiVersion", "\"v1\""),
    ("statefulsets", "spec.volumeClaimTemplates.*", "kind", "\"PersistentVolumeClaim\""),
    ("statefulsets", "spec.volumeClaimTemplates.*.spec", "volumeMode", "\"Filesystem\""),
    ("statefulsets", "spec", "serviceName", "\"\""),
    ("statefulsets", "spec.volumeClaimTemplates.*.status", "phase", "\"Pending\""),
    ("networkpolicies", "spec.ingress.*.ports.*", "protocol", "\"TCP\""),
    ("networkpolicies", "spec.egress.*.ports.*", "protocol", "\"TCP\""),
    ("endpointslices", "ports.*", "name", "\"\""),
    ("endpointslices", "ports.*", "protocol", "\"TCP\""),
    ("endpoints", "subsets.*.ports.*", "protocol", "\"TCP\""),
];

/// Adds the defaults.
pub(super) fn fill_in(resource: &Resource, value: &mut Value) {
    for (_, path, field, default) in FIXED.iter().filter(|(plural, ..)| *plural == resource.plural) {
        let steps: Vec<&str> = path.split('.').filter(|step| !step.is_empty()).collect();
        put(value, &steps, field, default);
    }
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "replicationcontrollers") => labels_of_template(value),
        ("", "limitranges") => limits(value),
        ("", "persistentvolumeclaims") => sources(value),
        _ => {}
    }
}

/// Default limits and requests of containers, from the given limits: `max`, then `default`, then `min`.
fn limits(value: &mut Value) {
    for limit in value.pointer_mut("/spec/limits").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(limit) = limit.as_object_mut() else { continue };
        if limit.get("type").and_then(Value::as_str) != Some("Container") {
            continue;
        }
        for (field, from) in [("default", "max"), ("defaultRequest", "default"), ("defaultRequest", "min")] {
            let given = limit.get(from).and_then(Value::as_object).cloned().unwrap_or_default();
            let amounts = limit.entry(field).or_insert_with(|| json!({}));
            for (name, amount) in given {
                if let Some(amounts) = amounts.as_object_mut() {
                    amounts.entry(name).or_insert(amount);
                }
            }
        }
        limit.retain(|_, amounts| !amounts.as_object().is_some_and(serde_json::Map::is_empty));
    }
}

/// Copies `dataSource` to `dataSourceRef` and back, and drops sources of kinds that only the second may name.
fn sources(value: &mut Value) {
    let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if let Some(reference) = spec.get_mut("dataSourceRef").and_then(Value::as_object_mut) {
        // Claims across namespaces are disabled.
        reference.remove("namespace");
    }
    let known = |source: &Value| {
        let group = source.get("apiGroup").and_then(Value::as_str).unwrap_or_default();
        matches!(
            (group, text(source, "/kind")),
            ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
        )
    };
    if spec.get("dataSource").is_some_and(|source| !known(source)) {
        spec.remove("dataSource");
    }
    for field in ["dataSource", "dataSourceRef"] {
        if let Some(source) = spec.get_mut(field).and_then(Value::as_object_mut) {
            source.entry("apiGroup").or_insert(Value::Null);
        }
    }
    match (spec.get("dataSource").cloned(), spec.get("dataSourceRef").cloned()) {
        (Some(source), None) => spec.insert("dataSourceRef".to_owned(), source),
        (None, Some(reference)) => spec.insert("dataSource".to_owned(), reference),
        _ => None,
    };
}

fn put(value: &mut Value, steps: &[&str], field: &str, default: &str) {
    match (steps, value) {
        ([], Value::Object(map)) => {
            fill(map, field, serde_json::from_str::<Value>(default).unwrap_or_default());
        }
        (["*", rest @ ..], Value::Array(list)) => {
            list.iter_mut().for_each(|element| put(element, rest, field, default))
        }
        ([step, rest @ ..], Value::Object(map)) => {
            if let Some(member) = map.get_mut(*step) {
                put(member, rest, field, default);
            }
        }
        _ => {}
    }
}

/// A ReplicationController without labels gets those of its pods.
fn labels_of_template(value: &mut Value) {
    let labels = value.pointer("/spec/template/metadata/labels").filter(|l| l.is_object()).cloned();
    if let (Some(labels), Some(meta)) = (labels, value.get_mut("metadata").and_then(Value::as_object_mut)) {
        fill(meta, "labels", labels);
    }
}

/// A new node accepts no pods before it is ready.
pub(super) fn not_ready(value: &mut Value) {
    let taint = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
    let Some(spec) = super::object(value, "spec") else { return };
    let taints = spec.entry("taints").or_insert_with(|| json!([]));
    if taints.is_null() {
        *taints = json!([]);
    }
    if let Some(list) = taints.as_array_mut()
        && !list.iter().any(|t| t.get("key") == taint.get("key") && t.get("effect") == taint.get("effect"))
    {
        list.push(taint);
    }
}

/// The finalizers that protect a volume or a claim while it is in use.
pub(super) fn protect(resource: &Resource, value: &mut Value) {
    let finalizer = match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "persistentvolumes") => "kubernetes.io/pv-protection",
        ("", "persistentvolumeclaims") => "kubernetes.io/pvc-protection",
        ("storage.k8s.io", "volumeattributesclasses") => "kubernetes.io/vac-protection",
        _ => return,
    };
    if text(value, "/metadata/name").is_empty() && text(value, "/metadata/generateName").is_empty() {
        return;
    }
    if let Some(meta) = value.get_mut("metadata").and_then(Value::as_object_mut)
        && let Some(list) = meta.entry("finalizers").or_insert_with(|| json!([])).as_array_mut()
        && !list.iter().any(|f| f == finalizer)
    {
        list.push(finalizer.into());
    }
}
