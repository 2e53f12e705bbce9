//! Controller of garbage collection by owner references. It also wakes the controller of namespaces.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Controllers, Feed, namespaces};
use crate::{
    model::kinds::Resource,
    resources::{
        deletion::{DeleteOptions, Propagation},
        strategy,
    },
    store::{Change, Key, Object, WriteError},
};

/// An object somewhere in the store.
type ObjectPlace = (Arc<str>, Key);

/// The dependents of each owner, by the owner's uid.
#[derive(Debug, Default)]
struct Graph {
    dependents: HashMap<String, HashSet<ObjectPlace>>,
    owners: HashMap<ObjectPlace, Vec<String>>,
    /// The place of the object with a uid.
    alive: HashMap<String, ObjectPlace>,
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn owner_uids(object: &Value) -> Vec<String> {
    let list = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    list.into_iter().flatten().map(|o| text(o, "/uid").to_owned()).filter(|u| !u.is_empty()).collect()
}

fn has_finalizer(object: &Value, name: &str) -> bool {
    object.pointer("/metadata/finalizers").and_then(Value::as_array).is_some_and(|f| f.iter().any(|x| x == name))
}

impl Graph {
    fn learn(&mut self, place: &ObjectPlace, change: &Change) {
        for uid in self.owners.remove(place).unwrap_or_default() {
            if let Some(set) = self.dependents.get_mut(&uid) {
                set.remove(place);
                if set.is_empty() {
                    self.dependents.remove(&uid);
                }
            }
        }
        let uid = text(&change.object.value, "/metadata/uid").to_owned();
        if change.deleted {
            self.alive.remove(&uid);
            return;
        }
        self.alive.insert(uid, place.clone());
        let owners = owner_uids(&change.object.value);
        for owner in &owners {
            self.dependents.entry(owner.clone()).or_default().insert(place.clone());
        }
        if !owners.is_empty() {
            self.owners.insert(place.clone(), owners);
        }
    }

    fn dependents(&self, uid: &str) -> Vec<ObjectPlace> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }
}

/// Runs until `stop`.
pub(super) async fn run(controllers: &Controllers, mut feed: Feed, stop: CancellationToken) {
    let mut graph = Graph::default();
    loop {
        let next = tokio::select! {
            next = feed.recv() => next,
            () = stop.cancelled() => return,
        };
        let Some((resource_store, change)) = next else { return };
        if !controllers.enabled {
            continue;
        }
        let place = (resource_store, change.key.clone());
        graph.learn(&place, &change);
        react(controllers, &graph, &place, &change);
        // A write may cause a thousand more; requests run in between.
        tokio::task::yield_now().await;
    }
}

fn react(controllers: &Controllers, graph: &Graph, place: &ObjectPlace, change: &Change) {
    let object = &change.object.value;
    let uid = text(object, "/metadata/uid");
    let (resource_store, key) = place;
    if &**resource_store == "namespaces" {
        if change.deleted {
            return;
        }
        namespaces::finish(controllers, &key.name);
    }
    if change.deleted {
        for dependent in graph.dependents(uid) {
            collect(controllers, graph, &dependent);
        }
        // Its owner or its namespace may wait for it.
        for owner in owner_uids(object) {
            if let Some(place) = waiting_owner(controllers, graph, &owner) {
                foreground(controllers, graph, &place);
            }
        }
        namespaces::finish(controllers, &key.namespace);
        return;
    }
    if text(object, "/metadata/deletionTimestamp").is_empty() {
        if !owner_uids(object).is_empty() {
            collect(controllers, graph, place);
        }
    } else if has_finalizer(object, "orphan") {
        orphan(controllers, graph, place, uid);
    } else if has_finalizer(object, "foregroundDeletion") {
        foreground(controllers, graph, place);
    }
}

fn resource(controllers: &Controllers, resource_store: &str) -> Option<Arc<Resource>> {
    let served = controllers.registry.served();
    served.all().iter().find(|r| r.resource_store() == resource_store && r.verbs.contains(&"delete")).cloned()
}

fn current(controllers: &Controllers, place: &ObjectPlace) -> Option<Arc<Object>> {
    controllers.store.existing(&place.0)?.get(&place.1)
}

/// The place of an owner that is being deleted in the foreground.
fn waiting_owner(controllers: &Controllers, graph: &Graph, uid: &str) -> Option<ObjectPlace> {
    let place = graph.alive.get(uid)?;
    let owner = current(controllers, place)?;
    has_finalizer(&owner.value, "foregroundDeletion").then(|| place.clone())
}

/// Deletes an object without remaining owners; drops references to deleted owners when others remain.
fn collect(controllers: &Controllers, graph: &Graph, place: &ObjectPlace) {
    let (Some(resource), Some(object)) = (resource(controllers, &place.0), current(controllers, place)) else { return };
    let owners = owner_uids(&object.value);
    let gone: Vec<&String> = owners.iter().filter(|u| !exists(controllers, graph, &object.value, u)).collect();
    if gone.is_empty() || !text(&object.value, "/metadata/deletionTimestamp").is_empty() {
        return;
    }
    if gone.len() < owners.len() {
        let gone: Vec<String> = gone.into_iter().cloned().collect();
        drop_owners(controllers, place, &gone);
        return;
    }
    let options = DeleteOptions {
        uid: Some(text(&object.value, "/metadata/uid").to_owned()),
        propagation: Some(Propagation::Background),
        ..DeleteOptions::default()
    };
    if let Err(error) = controllers.delete(&resource, &place.1, &options) {
        tracing::debug!(status = %error.code(), name = place.1.name, "a dependent was not collected");
    }
}

/// Whether an owner exists: the graph shows the past, the store the present.
fn exists(controllers: &Controllers, graph: &Graph, dependent: &Value, uid: &str) -> bool {
    if graph.alive.contains_key(uid) {
        return true;
    }
    // The owner may have been written after the change in question.
    let list = dependent.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let Some(owner) = list.into_iter().flatten().find(|o| text(o, "/uid") == uid) else { return false };
    let api_version = text(owner, "/apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let served = controllers.registry.served();
    let Some(resource) = served.by_kind(group, version, text(owner, "/kind")) else { return false };
    let namespace = if resource.namespaced { text(dependent, "/metadata/namespace") } else { "" };
    let found = controllers.store.of(resource).get(&Key::new(namespace, text(owner, "/name")));
    found.is_some_and(|o| text(&o.value, "/metadata/uid") == uid)
}

fn drop_owners(controllers: &Controllers, place: &ObjectPlace, gone: &[String]) {
    edit(controllers, place, |object| {
        let Some(meta) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) else { return };
        if let Some(list) = meta.get_mut("ownerReferences").and_then(Value::as_array_mut) {
            list.retain(|o| !gone.iter().any(|g| g == text(o, "/uid")));
            if list.is_empty() {
                meta.remove("ownerReferences");
            }
        }
    });
}

/// Changes the present state of an object, if it exists.
fn edit(controllers: &Controllers, place: &ObjectPlace, change: impl Fn(&mut Value)) {
    let Some(resource_store) = controllers.store.existing(&place.0) else { return };
    while let Some(old) = resource_store.get(&place.1) {
        let mut new = old.value.clone();
        change(&mut new);
        if new == old.value {
            return;
        }
        match resource_store.update(&place.1, old.revision, old.with(new)) {
            Err(WriteError::Modified) => {}
            _ => return,
        }
    }
}

/// Orphans the dependents, then releases the owner.
fn orphan(controllers: &Controllers, graph: &Graph, place: &ObjectPlace, uid: &str) {
    for dependent in graph.dependents(uid) {
        drop_owners(controllers, &dependent, &[uid.to_owned()]);
    }
    release(controllers, place, "orphan");
}

/// Deletes the dependents; the owner follows when no blocking one is left.
fn foreground(controllers: &Controllers, graph: &Graph, place: &ObjectPlace) {
    let Some(owner) = current(controllers, place) else { return };
    let uid = text(&owner.value, "/metadata/uid");
    let mut blocked = false;
    for dependent in graph.dependents(uid) {
        let (Some(resource), Some(object)) = (resource(controllers, &dependent.0), current(controllers, &dependent))
        else {
            continue;
        };
        let list = object.value.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        let references: Vec<&Value> = list.into_iter().flatten().collect();
        let blocking = references
            .iter()
            .any(|o| text(o, "/uid") == uid && o.get("blockOwnerDeletion").and_then(Value::as_bool) == Some(true));
        let others = references.iter().any(|o| text(o, "/uid") != uid && graph.alive.contains_key(text(o, "/uid")));
        if others {
            drop_owners(controllers, &dependent, &[uid.to_owned()]);
            continue;
        }
        if text(&object.value, "/metadata/deletionTimestamp").is_empty() {
            let options = DeleteOptions { propagation: Some(Propagation::Foreground), ..DeleteOptions::default() };
            if let Err(error) = controllers.delete(&resource, &dependent.1, &options) {
                tracing::debug!(status = %error.code(), "a dependent was not deleted");
            }
        }
        blocked |= blocking && current(controllers, &dependent).is_some();
    }
    if !blocked {
        release(controllers, place, "foregroundDeletion");
    }
}

/// Removes a finalizer, and the object when it was the last one.
fn release(controllers: &Controllers, place: &ObjectPlace, finalizer: &str) {
    let (Some(resource), Some(resource_store)) =
        (resource(controllers, &place.0), controllers.store.existing(&place.0))
    else {
        return;
    };
    while let Some(old) = resource_store.get(&place.1) {
        let mut new = old.value.clone();
        let Some(meta) = new.pointer_mut("/metadata").and_then(Value::as_object_mut) else { return };
        if let Some(list) = meta.get_mut("finalizers").and_then(Value::as_array_mut) {
            list.retain(|f| f != finalizer);
            if list.is_empty() {
                meta.remove("finalizers");
            }
        }
        let outcome = if strategy::released(&resource, &new) {
            resource_store.delete(&place.1, old.revision)
        } else {
            resource_store.update(&place.1, old.revision, old.with(new))
        };
        if !matches!(outcome, Err(WriteError::Modified)) {
            controllers.written(&resource, &place.1);
            return;
        }
    }
}
