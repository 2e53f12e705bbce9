//! Migration from client-side to server-side apply: kubectl owns the fields in its last-applied annotation.

use serde_json::{Map, Value};

use super::Conflict;
use crate::fields::FieldSet;
use crate::schema::Schema;
use crate::typed;

/// The field manager of `kubectl apply --server-side`; no other manager migrates.
pub(super) const MANAGER: &str = "kubectl";

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

fn last_applied(object: &Value) -> Option<&str> {
    object.get("metadata")?.get("annotations")?.get(LAST_APPLIED)?.as_str()
}

/// Conflicts about fields that client-side apply did not set, or that changed since.
pub(super) fn not_from_client_side(conflicts: Vec<Conflict>, live: &Value, schema: &Schema) -> Vec<Conflict> {
    let Some(last) = last_applied(live).and_then(|text| serde_json::from_str::<Value>(text).ok()) else {
        return conflicts;
    };
    let changed = typed::compare(&last, live, schema.root());
    let mut allowed = FieldSet::of(&last, schema);
    for set in [changed.modified, changed.added, changed.removed] {
        allowed = allowed.difference(&set);
    }
    conflicts.into_iter().filter(|conflict| !allowed.contains(&conflict.path.0)).collect()
}

/// Updates the annotation for a later client-side apply.
pub(super) fn note_last_applied(merged: &mut Value, applied: &Value) {
    if last_applied(merged).is_none() {
        return;
    }
    let mut config = applied.clone();
    if let Some(metadata) = config.get_mut("metadata").and_then(Value::as_object_mut) {
        let annotations = metadata.get_mut("annotations").and_then(Value::as_object_mut);
        if annotations.is_some_and(|a| a.remove(LAST_APPLIED).is_some() && a.is_empty()) {
            metadata.remove("annotations");
        }
    }
    let annotations = merged.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
    if let Some(annotations) = annotations {
        let annotations: &mut Map<String, Value> = annotations;
        annotations.insert(LAST_APPLIED.to_owned(), Value::from(format!("{config}\n")));
    }
}
