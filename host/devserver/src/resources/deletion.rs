//! Deletion: options, preconditions, grace periods, finalizers.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{crd, strategy};
use crate::{
    model::{
        kinds::Resource,
        status::{ApiError, Result},
        time,
    },
    store::{ATTEMPTS, Key, Object, Store, WriteError},
};

/// Deletion propagation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// The options of a deletion, from the body and the query.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) dry_run: bool,
    pub(crate) grace_seconds: Option<i64>,
    pub(crate) propagation: Option<Propagation>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
}

/// The result of deleting an object.
#[derive(Debug)]
pub(crate) enum Deleted {
    /// Deleted; the last version at the revision of the deletion.
    Gone(Arc<Object>),
    /// Marked with a deletion timestamp; finalizers or a kubelet still hold it.
    Marked(Arc<Object>),
}

/// Deletes an object, or marks it when finalizers or a kubelet hold it.
pub(crate) fn remove(store: &Store, resource: &Resource, key: &Key, options: &DeleteOptions) -> Result<Deleted> {
    for _ in 0..ATTEMPTS {
        let old = store.find(resource, key)?;
        check_preconditions(resource, key, &old, options)?;
        if let Some(outcome) = attempt(store, resource, key, options, &old)? {
            return Ok(outcome);
        }
    }
    Err(ApiError::modified(&resource.group, &resource.plural, &key.name))
}

/// Deletes or marks a version; `None` when a newer one exists.
pub(crate) fn attempt(
    store: &Store,
    resource: &Resource,
    key: &Key,
    options: &DeleteOptions,
    old: &Arc<Object>,
) -> Result<Option<Deleted>> {
    let resource_store = store.of(resource);
    let mut new = old.value.clone();
    let plan = mark(resource, &mut new, options);
    if options.dry_run {
        let object = Arc::new(Object::new(old.with(new), old.revision));
        return Ok(Some(if plan == DeletionPlan::Remove { Deleted::Gone(object) } else { Deleted::Marked(object) }));
    }
    let changed = !strategy::same(&new, &old.value);
    let outcome = match plan {
        DeletionPlan::Mark if !changed => return Ok(Some(Deleted::Marked(Arc::clone(old)))),
        DeletionPlan::Mark => resource_store.update(key, old.revision, old.with(new)).map(Deleted::Marked),
        DeletionPlan::Remove => resource_store.delete(key, old.revision).map(Deleted::Gone),
        DeletionPlan::MarkAndRemove => resource_store
            .update(key, old.revision, old.with(new))
            .and_then(|marked| resource_store.delete(key, marked.revision).map(Deleted::Gone)),
    };
    match outcome {
        Ok(outcome) => Ok(Some(outcome)),
        Err(WriteError::Modified) => Ok(None),
        Err(WriteError::Unsaved) => Err(ApiError::unsaved()),
        Err(_) => Err(ApiError::not_found(&resource.group, &resource.plural, &key.name)),
    }
}

pub(crate) fn check_preconditions(resource: &Resource, key: &Key, old: &Object, options: &DeleteOptions) -> Result<()> {
    let conflict = |why: &str| Err(ApiError::conflict(&resource.group, &resource.kind, &key.name, why));
    let uid = old.value.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
    if let Some(wanted) = options.uid.as_deref().filter(|w| *w != uid) {
        return conflict(&format!(
            "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The object might have been \
             deleted and then recreated"
        ));
    }
    let version = old.revision.to_string();
    if let Some(wanted) = options.resource_version.as_deref().filter(|w| *w != version) {
        return conflict(&format!(
            "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record ({version}). The \
             object might have been modified"
        ));
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DeletionPlan {
    Mark,
    Remove,
    /// Watches see the mark before the deletion.
    MarkAndRemove,
}

/// Writes the deletion fields into `object` and returns the next step.
fn mark(resource: &Resource, object: &mut Value, options: &DeleteOptions) -> DeletionPlan {
    let pod = resource.is("", "pods");
    let grace = if pod { pod_grace(object, options) } else { 0 };
    let namespace = resource.is("", "namespaces");
    if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        // Some old kinds orphan their dependents by default, for compatibility.
        let orphans = resource.orphans() && !marks_propagation(meta);
        propagation_finalizers(meta, options.propagation.or(orphans.then_some(Propagation::Orphan)));
        if crd::is_crd(resource) {
            crd::hold(meta);
        }
        let held = meta.get("finalizers").and_then(Value::as_array).is_some_and(|f| !f.is_empty());
        let marked = meta.contains_key("deletionTimestamp");
        if !held && !pod && !namespace {
            return DeletionPlan::Remove;
        }
        if !marked {
            meta.insert("deletionTimestamp".to_owned(), time::in_seconds(grace).into());
            if !namespace && !crd::is_crd(resource) {
                meta.insert("deletionGracePeriodSeconds".to_owned(), grace.into());
                if let Some(generation) = meta.get("generation").and_then(Value::as_i64).filter(|g| *g > 0) {
                    meta.insert("generation".to_owned(), (generation + 1).into());
                }
            }
        } else if pod {
            let before = meta.get("deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(0);
            if grace < before {
                meta.insert("deletionGracePeriodSeconds".to_owned(), grace.into());
                meta.insert("deletionTimestamp".to_owned(), time::in_seconds(grace).into());
            }
        }
        if pod && !held && meta.get("deletionGracePeriodSeconds").and_then(Value::as_i64) == Some(0) {
            return DeletionPlan::MarkAndRemove;
        }
    }
    if namespace {
        if let Some(map) = object.as_object_mut()
            && let Some(status) = map.entry("status").or_insert_with(|| json!({})).as_object_mut()
        {
            status.insert("phase".to_owned(), "Terminating".into());
        }
        if strategy::released(resource, object) {
            return DeletionPlan::Remove;
        }
    }
    DeletionPlan::Mark
}

/// The grace period of a pod: zero without a kubelet.
fn pod_grace(pod: &Value, options: &DeleteOptions) -> i64 {
    let text = |p: &str| pod.pointer(p).and_then(Value::as_str).unwrap_or_default();
    let own = pod.pointer("/spec/terminationGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(30);
    let idle = text("/spec/nodeName").is_empty() || matches!(text("/status/phase"), "Failed" | "Succeeded");
    if idle { 0 } else { options.grace_seconds.unwrap_or(own).max(0) }
}

fn marks_propagation(meta: &Map<String, Value>) -> bool {
    let list = meta.get("finalizers").and_then(Value::as_array).into_iter().flatten();
    list.into_iter().any(|f| f == "orphan" || f == "foregroundDeletion")
}

fn propagation_finalizers(meta: &mut Map<String, Value>, propagation: Option<Propagation>) {
    let Some(propagation) = propagation else { return };
    let mut list: Vec<Value> = meta.get("finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
    list.retain(|f| f != "orphan" && f != "foregroundDeletion");
    match propagation {
        Propagation::Foreground => list.push("foregroundDeletion".into()),
        Propagation::Orphan => list.push("orphan".into()),
        Propagation::Background => {}
    }
    if list.is_empty() {
        meta.remove("finalizers");
    } else {
        meta.insert("finalizers".to_owned(), list.into());
    }
}
