//! Controller of namespaces: their deletion.

use std::sync::Arc;

use serde_json::Value;

use super::Controllers;
use crate::{
    model::kinds::Resource,
    resources::{deletion::DeleteOptions, namespaces::find},
    store::{Key, WriteError},
};

/// Deletes the objects of a terminating namespace; once it is empty, the namespace itself.
///
/// Returns whether finalizers hold some objects: the caller calls again when one is gone.
pub(super) fn finish(controllers: &Controllers, name: &str) -> bool {
    let Some(namespace) = find(&controllers.store, name) else { return false };
    if namespace.value.pointer("/metadata/deletionTimestamp").is_none() {
        return false;
    }
    let mut left = false;
    for resource in namespaced(controllers) {
        let resource_store = controllers.store.of(&resource);
        for object in resource_store.list(name).objects {
            let options = DeleteOptions { grace_seconds: Some(0), ..DeleteOptions::default() };
            if let Err(error) = controllers.delete(&resource, &object.key(), &options) {
                tracing::debug!(status = %error.code(), kind = resource.kind, "an object of a namespace was not deleted");
            }
        }
        left |= !resource_store.list(name).objects.is_empty();
    }
    if !left {
        release(controllers, name);
    }
    left
}

/// One resource per resource store of namespaced objects.
fn namespaced(controllers: &Controllers) -> Vec<Arc<Resource>> {
    let mut resource_stores = Vec::new();
    let served = controllers.registry.served();
    let all = served.all().iter().filter(|r| r.namespaced && r.verbs.contains(&"delete"));
    all.filter(|r| {
        let new = !resource_stores.contains(&r.resource_store());
        resource_stores.push(r.resource_store());
        new
    })
    .cloned()
    .collect()
}

/// Removes the finalizer `kubernetes`.
fn release(controllers: &Controllers, name: &str) {
    let key = Key::new("", name);
    let Some(resource_store) = controllers.store.existing("namespaces") else { return };
    while let Some(old) = resource_store.get(&key) {
        let mut new = old.value.clone();
        let mut others = false;
        if let Some(list) = new.pointer_mut("/spec/finalizers").and_then(Value::as_array_mut) {
            list.retain(|f| f != "kubernetes");
            others = !list.is_empty();
        }
        let held = new.pointer("/metadata/finalizers").and_then(Value::as_array).is_some_and(|f| !f.is_empty());
        let outcome = if others || held {
            resource_store.update(&key, old.revision, new)
        } else {
            resource_store.delete(&key, old.revision)
        };
        if !matches!(outcome, Err(WriteError::Modified)) {
            return;
        }
    }
}
