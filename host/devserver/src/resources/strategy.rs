//! Update strategies: separation of status and spec, generation, and protected fields.

use serde_json::{Map, Value, json};

use crate::{model::kinds::Resource, resources::managed};

fn object_of<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Map<String, Value>> {
    value.as_object_mut()?.entry(key).or_insert_with(|| json!({})).as_object_mut()
}

/// Copies `key` from `old`, even if absent.
fn restore(new: &mut Value, old: &Value, key: &str) {
    let Some(map) = new.as_object_mut() else { return };
    match old.get(key) {
        Some(value) => map.insert(key.to_owned(), value.clone()),
        None => map.remove(key),
    };
}

/// Clears fields that a client may not set on a new object.
pub(crate) fn prepare_create(resource: &Resource, object: &mut Value) {
    if resource.has_generation()
        && let Some(meta) = object_of(object, "metadata")
    {
        meta.insert("generation".to_owned(), 1.into());
    }
    if resource.is("discovery.k8s.io", "endpointslices") {
        let endpoints = object.get_mut("endpoints").and_then(Value::as_array_mut);
        for endpoint in endpoints.into_iter().flatten().filter_map(Value::as_object_mut) {
            endpoint.remove("deprecatedTopology");
        }
    }
    let keeps_status = resource.is("", "nodes");
    if resource.has_status()
        && !keeps_status
        && let Some(map) = object.as_object_mut()
    {
        map.remove("status");
    }
}

/// Removes fields of disabled features.
pub(crate) fn drop_disabled(resource: &Resource, object: &mut Value) {
    let spec = match resource.plural.as_str() {
        "pods" => "/spec",
        "podtemplates" => "/template/spec",
        "cronjobs" => "/spec/jobTemplate/spec/template/spec",
        _ => "/spec/template/spec",
    };
    let fields = [
        (spec, "schedulingGroup", matches!(resource.group.as_str(), "" | "apps" | "batch")),
        ("/spec/updateStrategy/rollingUpdate", "maxUnavailable", resource.is("apps", "statefulsets")),
    ];
    if resource.is("", "serviceaccounts") {
        let secrets = object.get_mut("secrets").and_then(Value::as_array_mut);
        for secret in secrets.into_iter().flatten().filter_map(Value::as_object_mut) {
            secret.retain(|key, _| key == "name");
        }
    }
    for (at, field, _) in fields.iter().filter(|(.., here)| *here && resource.custom.is_none()) {
        if let Some(owner) = object.pointer_mut(at).and_then(Value::as_object_mut) {
            owner.remove(*field);
        }
    }
}

/// Restores fields that this write may not change.
pub(crate) fn prepare_update(resource: &Resource, subresource: &str, new: &mut Value, old: &Value) {
    if let Some(map) = new.as_object_mut() {
        map.entry("metadata").or_insert_with(|| json!({}));
    }
    let (Some(meta), Some(old_meta)) = (new.get_mut("metadata"), old.get("metadata")) else { return };
    for key in ["creationTimestamp", "namespace", "generation"] {
        restore(meta, old_meta, key);
    }
    // Omitted values stay; changed ones are rejected. A deletion cannot be undone.
    let deleted = old_meta.get("deletionTimestamp").is_some();
    for key in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
        if (deleted && key == "deletionTimestamp") || meta.get(key).is_none_or(Value::is_null) {
            restore(meta, old_meta, key);
        }
    }
    for key in ["uid", "name"] {
        if meta.get(key).is_none_or(|v| v.is_null() || v == "") {
            restore(meta, old_meta, key);
        }
    }
    match subresource {
        "" if resource.has_status() => {
            restore(new, old, "status");
            let kind = new.pointer("/spec/type").and_then(Value::as_str);
            if resource.is("", "services") && kind != Some("LoadBalancer") {
                replace(new, "status", Some(json!({"loadBalancer": {}})));
            }
        }
        "status" if resource.custom.is_some() => {
            let (status, managed) = (new.get("status").cloned(), new.pointer("/metadata/managedFields").cloned());
            *new = old.clone();
            replace(new, "status", status);
            if let Some(meta) = new.get_mut("metadata") {
                replace(meta, managed::FIELD, managed);
            }
        }
        "status" => {
            restore(new, old, "spec");
            // A write of a deployment's status cannot change labels; for other kinds it can.
            if resource.is("apps", "deployments")
                && let (Some(meta), Some(old_meta)) = (new.get_mut("metadata"), old.get("metadata"))
            {
                restore(meta, old_meta, "labels");
            }
        }
        _ => {}
    }
    if resource.is("", "namespaces") && subresource.is_empty() {
        if let (Some(spec), Some(old_spec)) = (new.get_mut("spec"), old.get("spec")) {
            restore(spec, old_spec, "finalizers");
        } else {
            restore(new, old, "spec");
        }
    }
}

fn replace(target: &mut Value, key: &str, value: Option<Value>) {
    if let Some(map) = target.as_object_mut() {
        match value {
            Some(value) => map.insert(key.to_owned(), value),
            None => map.remove(key),
        };
    }
}

/// Increments `metadata.generation` when a field other than metadata and status changed.
pub(crate) fn bump_generation(resource: &Resource, new: &mut Value, old: &Value) {
    if !resource.has_generation() || !differs(resource, new, old) {
        return;
    }
    let next = old.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0) + 1;
    if let Some(meta) = object_of(new, "metadata") {
        meta.insert("generation".to_owned(), next.into());
    }
}

fn differs(resource: &Resource, new: &Value, old: &Value) -> bool {
    let skip_status = resource.has_status() || resource.custom.is_none();
    let members = |v: &Value| -> Map<String, Value> {
        let skip = |k: &str| matches!(k, "metadata" | "kind" | "apiVersion") || (k == "status" && skip_status);
        v.as_object().into_iter().flatten().filter(|(k, _)| !skip(k)).map(|(k, v)| (k.clone(), v.clone())).collect()
    };
    // Deployments also count changes of their annotations.
    let annotations = |v: &Value| v.pointer("/metadata/annotations").cloned();
    let annotated = resource.is("apps", "deployments") && annotations(new) != annotations(old);
    // EndpointSlices count changes of their labels.
    let labels = |v: &Value| v.pointer("/metadata/labels").cloned();
    let labelled = resource.is("discovery.k8s.io", "endpointslices") && labels(new) != labels(old);
    annotated || labelled || members(new) != members(old)
}

/// Whether two versions of an object are the same apart from their resourceVersion and kind.
pub(crate) fn same(new: &Value, old: &Value) -> bool {
    let (Some(new), Some(old)) = (new.as_object(), old.as_object()) else { return false };
    let skip = |k: &&String| matches!(k.as_str(), "kind" | "apiVersion");
    if new.keys().filter(|k| !skip(k)).ne(old.keys().filter(|k| !skip(k))) {
        return false;
    }
    new.iter().filter(|(k, _)| !skip(k)).all(|(key, value)| match (key.as_str(), value, old.get(key)) {
        ("metadata", Value::Object(a), Some(Value::Object(b))) => {
            let rest = |m: &Map<String, Value>| {
                m.iter()
                    .filter(|(k, _)| k.as_str() != "resourceVersion")
                    .map(|(k, v)| (k.clone(), v.clone()))
                    .collect::<Map<_, _>>()
            };
            rest(a) == rest(b)
        }
        (_, value, Some(other)) => value == other,
        (_, _, None) => false,
    })
}

/// Whether nothing holds a deleting object any longer.
pub(crate) fn released(resource: &Resource, object: &Value) -> bool {
    let empty = |pointer: &str| object.pointer(pointer).and_then(Value::as_array).is_none_or(Vec::is_empty);
    let grace = object.pointer("/metadata/deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(0);
    object.pointer("/metadata/deletionTimestamp").is_some()
        && grace == 0
        && empty("/metadata/finalizers")
        && (!resource.is("", "namespaces") || empty("/spec/finalizers"))
}
