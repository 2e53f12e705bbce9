//! Fuzzing of documents and names in a plugin's changes: see [`crate::fuzzing`].

#![expect(clippy::expect_used, reason = "a broken promise ends the fuzzing")]

use super::change::{checked_key, checked_kind, target_of};
use crate::api::{GroupVersionKind, ObjectKey, Resource, path};
use serde_json::Value;

/// Builds the path of a write of a document, and of another object by its name.
pub fn write(document: &Value, namespace: &str, name: &str) {
    let target = target_of(document).ok();
    if let Some(target) = &target
        && checked_kind(&target.kind).is_ok()
    {
        addressed(&target.kind, &target.key);
    }
    addressed(&GroupVersionKind::new("", "v1", "ConfigMap"), &ObjectKey::new(namespace, name));
}

/// A valid key leads to exactly one object, for any names.
fn addressed(kind: &GroupVersionKind, key: &ObjectKey) {
    for namespaced in [false, true] {
        let resource = Resource {
            gvk: kind.clone(),
            plural: "things".to_owned(),
            namespaced,
            verbs: Vec::new(),
            subresources: Vec::new(),
        };
        let Ok(key) = checked_key(&resource, key) else { continue };
        let path = resource.path(&key.namespace, Some(&key.name), None);
        path::check(&path).expect("the path names one object");
        let segments = if kind.group.is_empty() { 5 } else { 6 };
        let segments = if namespaced { segments } else { segments - 2 };
        assert_eq!(path.matches('/').count() - 1, segments, "{path}");
        assert!(!path.contains(['?', '#', ' ']) && path.is_ascii(), "{path}");
    }
}
