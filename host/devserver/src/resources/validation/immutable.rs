//! Immutable fields.

use serde_json::{Value, json};

use super::volumes;
use crate::model::{kinds::Resource, status::Cause};

/// Kinds and their immutable fields.
const FIXED: &[(&str, &[&str])] = &[
    ("controllerrevisions", &["data"]),
    ("csistoragecapacities", &["nodeTopology", "storageClassName"]),
    ("endpointslices", &["addressType"]),
    ("ingressclasses", &["spec.controller"]),
    (
        "jobs",
        &[
            "spec.completionMode",
            "spec.podFailurePolicy",
            "spec.backoffLimitPerIndex",
            "spec.managedBy",
            "spec.successPolicy",
        ],
    ),
    ("priorityclasses", &["preemptionPolicy"]),
    ("runtimeclasses", &["handler"]),
    ("storageclasses", &["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"]),
    ("volumeattachments", &["spec"]),
    ("volumeattributesclasses", &["driverName", "parameters"]),
];

/// Changes of immutable fields in a new version.
pub(super) fn check(resource: &Resource, object: &Value, old: &Value) -> Vec<Cause> {
    let mut out = Vec::new();
    let at = |v: &Value, field: &str| v.pointer(&format!("/{}", field.replace('.', "/"))).cloned().unwrap_or_default();
    let fields = FIXED.iter().find(|(plural, _)| *plural == resource.plural).map_or(&[][..], |(_, fields)| *fields);
    for field in fields {
        let (new, was) = (at(object, field), at(old, field));
        if new != was {
            out.push(Cause::invalid(*field, &new, "field is immutable"));
        }
    }
    if resource.plural == "jobs" {
        out.extend(completions(object, old));
    }
    match resource.plural.as_str() {
        "persistentvolumes" => out.extend(volumes::volume(object, old)),
        "persistentvolumeclaims" => out.extend(volumes::claim(object, old)),
        "resourcequotas" => out.extend(scopes(object, old)),
        _ => {}
    }
    if resource.plural == "priorityclasses" && at(object, "value") != at(old, "value") {
        out.push(Cause::forbidden("value", "may not be changed in an update."));
    }
    out
}

/// The completions of a Job follow its parallelism, if it counts completions at all.
fn completions(object: &Value, old: &Value) -> Option<Cause> {
    let number = |v: &Value, key: &str| v.pointer("/spec").and_then(|s| s.get(key)).cloned().unwrap_or(json!(null));
    let (new, was) = (number(object, "completions"), number(old, "completions"));
    if new == was {
        return None;
    }
    if object.pointer("/spec/completionMode").and_then(Value::as_str) != Some("Indexed") {
        return Some(Cause::invalid("spec.completions", &new, "field is immutable"));
    }
    let tandem = new == number(object, "parallelism") && was == number(old, "parallelism");
    (!tandem).then(|| Cause::invalid("spec.completions", &new, "can only be modified in tandem with spec.parallelism"))
}

/// The scopes of a quota are a set.
fn scopes(object: &Value, old: &Value) -> Option<Cause> {
    let set = |v: &Value| -> Vec<String> {
        let list = v.pointer("/spec/scopes").and_then(Value::as_array).into_iter().flatten();
        let mut set: Vec<String> = list.filter_map(Value::as_str).map(str::to_owned).collect();
        set.sort();
        set.dedup();
        set
    };
    let shown = object.pointer("/spec/scopes").cloned().unwrap_or_default();
    (set(object) != set(old)).then(|| Cause::invalid("spec.scopes", &shown, "field is immutable"))
}
