//! CustomResourceDefinitions: from stored definitions to served resources.

use std::sync::{Arc, OnceLock};

use oarlock_schema::{Crd, Version};
use serde_json::{Map, Value, json};

use super::registry::Registry;
use crate::{
    model::{
        custom::CustomVersion,
        kinds::{ALL_VERBS, Resource, Subresource},
    },
    store::{Key, Object, ResourceStore, Store},
};

/// The resource store of the definitions.
const RESOURCE_STORE: &str = "customresourcedefinitions.apiextensions.k8s.io";
/// The finalizer that keeps a definition until its objects are gone.
pub(crate) const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

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

/// The stored definitions.
pub(crate) fn definitions(store: &Store) -> Arc<ResourceStore> {
    store.resource_store(RESOURCE_STORE)
}

/// Whether a definition or one of its objects is being deleted.
pub(crate) fn deleting(crd: &Value) -> bool {
    crd.pointer("/metadata/deletionTimestamp").is_some()
}

/// Whether a CRD is being deleted.
pub(crate) fn terminating(store: &Store, name: &str) -> bool {
    definitions(store).get(&Key::new("", name)).is_some_and(|crd| deleting(&crd.value))
}

/// Whether a definition has a condition that is true.
pub(crate) fn has_condition(crd: &Value, name: &str) -> bool {
    let list = crd.pointer("/status/conditions").and_then(Value::as_array);
    list.into_iter().flatten().any(|c| {
        c.get("type").and_then(Value::as_str) == Some(name) && c.get("status").and_then(Value::as_str) == Some("True")
    })
}

/// Serves the resources of the established definitions.
pub(crate) fn serve(store: &Store, registry: &Registry) {
    registry.rebuild_custom(|before| {
        let all = definitions(store).list("").objects;
        let established = all.iter().filter(|d| has_condition(&d.value, "Established"));
        established.flat_map(|d| resources(store, d, before)).collect()
    });
}

fn resources(store: &Store, definition: &Object, before: &[Arc<Resource>]) -> Vec<Arc<Resource>> {
    // It was validated when it was written.
    let Ok(crd) = Crd::parse(&definition.value).map(Arc::new) else { return Vec::new() };
    // The resource store exists before the resource is served, so that a watch can begin at the version of the definition.
    let resource_store = store.resource_store(&crd.name);
    let storage: Arc<str> = crd.storage_version().map_or("", |v| &v.name).into();
    let served = crd.served_versions();
    let version = |v: &&Version| {
        let old = before.iter().find_map(|r| {
            let custom = r.custom.as_ref().filter(|c| c.crd == crd.name && r.version == v.name)?;
            (custom.openapi == v.openapi).then_some(custom)
        });
        let custom = CustomVersion {
            crd: crd.name.clone(),
            name: v.name.as_str().into(),
            storage: Arc::clone(&storage),
            definition: Arc::clone(&crd),
            schema: v.schema.clone(),
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
