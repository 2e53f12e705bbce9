//! CustomResourceDefinitions: from a stored definition to served resources, and back when it is deleted.

use std::sync::{Arc, OnceLock};

use oarlock_schema::{Crd, Version, reconcile_status};
use serde_json::{Map, Value, json};

use crate::{
    api::Api,
    model::{
        custom::CustomVersion,
        kinds::{ALL_VERBS, Resource, Subresource},
        time,
    },
    query::DeleteOptions,
    rest::delete,
    store::{Key, Object, ResourceStore, WriteError},
};

const RESOURCE_STORE: &str = "customresourcedefinitions.apiextensions.k8s.io";
const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Whether the resource is CustomResourceDefinition itself.
pub(crate) fn is_crd(resource: &Resource) -> bool {
    resource.is("apiextensions.k8s.io", "customresourcedefinitions")
}

/// Adds the finalizer that keeps a CRD until its objects are gone.
pub(crate) fn hold(meta: &mut Map<String, Value>) {
    let list = meta.entry("finalizers").or_insert_with(|| json!([]));
    if let Some(list) = list.as_array_mut()
        && !list.iter().any(|f| f == FINALIZER)
    {
        list.push(FINALIZER.into());
    }
}

fn resource_store(api: &Api) -> Arc<ResourceStore> {
    api.store.resource_store(RESOURCE_STORE)
}

fn deleting(crd: &Value) -> bool {
    crd.pointer("/metadata/deletionTimestamp").is_some()
}

/// Whether a CRD is being deleted.
pub(crate) fn terminating(api: &Api, name: &str) -> bool {
    resource_store(api).get(&Key::new("", name)).is_some_and(|crd| deleting(&crd.value))
}

/// Handles a write that concerns CRDs: the definition changed, or the last object of a terminating one is gone.
pub(crate) fn after_write(api: &Arc<Api>, resource: &Resource, key: &Key) {
    if is_crd(resource) {
        settle(api, &key.name);
    } else if let Some(custom) = &resource.custom
        && terminating(api, &custom.crd)
    {
        settle(api, &custom.crd);
    }
}

/// Serves the stored definitions, and continues interrupted deletions.
pub(crate) fn restore(api: &Arc<Api>) {
    refresh(api);
    for definition in resource_store(api).list("").objects {
        settle(api, &definition.key().name);
    }
}

/// Updates the status of a definition, and the served resources.
fn settle(api: &Arc<Api>, name: &str) {
    let key = Key::new("", name);
    let Some(current) = resource_store(api).get(&key) else {
        gone(api, name);
        return;
    };
    if deleting(&current.value) {
        clean_up(api, &key);
        return;
    }
    let now = time::now();
    edit(api, &key, |crd, others| {
        let status = reconcile_status(crd, others, &now);
        if let Some(map) = crd.as_object_mut() {
            map.insert("status".to_owned(), status);
        }
    });
    refresh(api);
}

/// Changes the present state of a definition.
fn edit(api: &Api, key: &Key, change: impl Fn(&mut Value, &[&Value])) {
    let resource_store = resource_store(api);
    while let Some(old) = resource_store.get(key) {
        let all = resource_store.list("").objects;
        let others: Vec<&Value> = all.iter().filter(|o| o.key() != *key).map(|o| &o.value).collect();
        let mut new = old.value.clone();
        change(&mut new, &others);
        if new == old.value || !matches!(resource_store.update(key, old.revision, new), Err(WriteError::Modified)) {
            return;
        }
    }
}

/// Deletes the objects of a definition, then the definition.
fn clean_up(api: &Arc<Api>, key: &Key) {
    let now = time::now();
    edit(api, key, |crd, _| terminating_condition(crd, &now));
    let served = api.registry.served();
    let resource = served.all().iter().find(|r| r.custom.as_ref().is_some_and(|c| c.crd == key.name)).cloned();
    if let Some(resource) = resource {
        let objects = api.store.of(&resource);
        for object in objects.list("").objects {
            // An object with a deletion timestamp already waits for its finalizers.
            if !deleting(&object.value)
                && let Err(error) = delete::remove(api, &resource, &object.key(), &DeleteOptions::default())
            {
                tracing::debug!(status = %error.code(), "an object of a deleted definition was not deleted");
            }
        }
        if !objects.list("").objects.is_empty() {
            return;
        }
    }
    let resource_store = resource_store(api);
    while let Some(old) = resource_store.get(key) {
        let mut new = old.value.clone();
        let mut others = false;
        if let Some(list) = new.pointer_mut("/metadata/finalizers").and_then(Value::as_array_mut) {
            list.retain(|f| f != FINALIZER);
            others = !list.is_empty();
        }
        let outcome = if others {
            resource_store.update(key, old.revision, new)
        } else {
            resource_store.delete(key, old.revision)
        };
        if !matches!(outcome, Err(WriteError::Modified)) {
            break;
        }
    }
    gone(api, &key.name);
}

fn terminating_condition(crd: &mut Value, now: &str) {
    let Some(status) = crd.get_mut("status").and_then(Value::as_object_mut) else { return };
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(list) = conditions.as_array_mut() else { return };
    if list.iter().any(|c| c.get("type").and_then(Value::as_str) == Some("Terminating")) {
        return;
    }
    list.push(json!({"type": "Terminating", "status": "True", "lastTransitionTime": now,
        "reason": "InstanceDeletionInProgress", "message": "CustomResource deletion is in progress"}));
}

/// A definition is deleted: its objects are gone, and its names are free.
fn gone(api: &Arc<Api>, name: &str) {
    if resource_store(api).get(&Key::new("", name)).is_some() {
        return;
    }
    refresh(api);
    api.store.remove_resource_store(name);
    for other in resource_store(api).list("").objects {
        let accepted = condition(&other.value, "NamesAccepted");
        if !accepted && !deleting(&other.value) {
            settle(api, &other.key().name);
        }
    }
}

fn condition(crd: &Value, name: &str) -> bool {
    let list = crd.pointer("/status/conditions").and_then(Value::as_array);
    list.into_iter().flatten().any(|c| {
        c.get("type").and_then(Value::as_str) == Some(name) && c.get("status").and_then(Value::as_str) == Some("True")
    })
}

/// Serves the resources of the established definitions.
fn refresh(api: &Api) {
    api.registry.rebuild_custom(|before| {
        let definitions = resource_store(api).list("").objects;
        let established = definitions.iter().filter(|d| condition(&d.value, "Established"));
        established.flat_map(|d| resources(api, d, before)).collect()
    });
}

fn resources(api: &Api, definition: &Object, before: &[Arc<Resource>]) -> Vec<Arc<Resource>> {
    // It was validated when it was written.
    let Ok(crd) = Crd::parse(&definition.value).map(Arc::new) else { return Vec::new() };
    // The resource store exists before the resource is served, so that a watch can begin at the version of the definition.
    let resource_store = api.store.resource_store(&crd.name);
    let storage = crd.storage_version();
    let served = crd.served_versions();
    let version = |v: &&Version| {
        let old = before.iter().find_map(|r| {
            let custom = r.custom.as_ref().filter(|c| c.crd == crd.name && r.version == v.name)?;
            (custom.openapi == v.openapi).then_some(custom)
        });
        let custom = CustomVersion {
            crd: crd.name.clone(),
            definition: Arc::clone(&crd),
            schema: v.schema.clone(),
            storage: storage.filter(|s| s.name != v.name).map(|s| s.schema.clone()),
            since: old.map_or_else(|| resource_store.revision(), |o| o.since),
            openapi: v.openapi.clone(),
            scale: v.scale.clone(),
            columns: v.columns.clone(),
            selectable: v.selectable_fields.iter().map(|(path, _)| path.clone()).collect(),
            deprecation: v.deprecation_warning.clone(),
        };
        Arc::new(resource(&crd, v, custom))
    };
    served.iter().map(version).collect()
}

fn resource(crd: &Crd, version: &Version, custom: CustomVersion) -> Resource {
    let verbs = || vec!["get", "patch", "update"];
    let mut subresources = Vec::new();
    if version.status {
        subresources.push(Subresource { name: "status".to_owned(), kind: None, verbs: verbs() });
    }
    if version.scale.is_some() {
        let kind = Some(("autoscaling", "v1", "Scale"));
        subresources.push(Subresource { name: "scale".to_owned(), kind, verbs: verbs() });
    }
    Resource {
        group: crd.group.clone(),
        version: version.name.clone(),
        plural: crd.names.plural.clone(),
        singular: crd.names.singular.clone(),
        kind: crd.names.kind.clone(),
        list_kind: crd.names.list_kind.clone(),
        namespaced: crd.namespaced,
        short_names: crd.names.short_names.clone(),
        categories: crd.names.categories.clone(),
        verbs: ALL_VERBS.to_vec(),
        subresources,
        custom: Some(Arc::new(custom)),
        merge: OnceLock::new(),
    }
}
