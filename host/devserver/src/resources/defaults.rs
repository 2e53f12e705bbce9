//! Defaulting of built-in kinds.

use serde_json::{Map, Value, json};

use crate::{
    model::{
        kinds::Resource,
        members::{fill, object},
        quantity,
        status::{ApiError, Result},
        time,
    },
    store::Store,
};

mod autoscalers;
mod others;
mod pod;
mod service;
mod workload;

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Additions of the admission plugins to a new object, before webhooks and again after one changed it.
pub(crate) fn plugins(store: &Store, resource: &Resource, value: &mut Value) -> Result<()> {
    if resource.is("", "pods") {
        pod::admit(store, value)?;
    }
    if resource.is("", "nodes") {
        others::not_ready(value);
    }
    others::protect(resource, value);
    complete(resource, value);
    Ok(())
}

/// Adds fields that Go always writes: structs that are no pointers.
fn complete(resource: &Resource, value: &mut Value) {
    // Events of both groups are stored as core events, with the defaults of core events.
    if resource.custom.is_none() && !resource.is_new_event() {
        resource.merge().fill(value);
    }
}

/// Additions of the kind itself to a new object.
pub(crate) fn admit(store: &Store, resource: &Resource, value: &mut Value) -> Result<()> {
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "namespaces") => namespace(value),
        ("", "pods") => pod::status(value),
        ("", "services") => {
            service::create(store, value)?;
            set_status(value, json!({"loadBalancer": {}}));
        }
        ("policy", "poddisruptionbudgets") => {
            let none = json!({"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0});
            set_status(value, none);
        }
        ("", "persistentvolumeclaims") => set_status(value, json!({"phase": "Pending"})),
        ("", "persistentvolumes") => {
            set_status(value, json!({"phase": "Pending", "lastPhaseTransitionTime": time::now()}));
        }
        ("", "resourcequotas") | ("batch", "cronjobs") | ("networking.k8s.io", "ingresses") => {
            set_status(value, workload::status(&resource.plural));
        }
        ("autoscaling", "horizontalpodautoscalers") => {
            set_status(value, json!({"currentMetrics": null, "desiredReplicas": 0}));
        }
        ("discovery.k8s.io", "endpointslices") => slice(value),
        ("batch", "jobs") => {
            workload::job_selector(value);
            set_status(value, json!({}));
        }
        ("apps", plural) if plural != "controllerrevisions" => set_status(value, workload::status(plural)),
        ("", "replicationcontrollers") => set_status(value, json!({"replicas": 0})),
        ("apiextensions.k8s.io", _) => {
            let stored: Vec<Value> = value
                .pointer("/spec/versions")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter(|v| v.get("storage") == Some(&Value::Bool(true)))
                .filter_map(|v| v.get("name").cloned())
                .collect();
            set_status(
                value,
                json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored}),
            );
        }
        _ => {}
    }
    complete(resource, value);
    Ok(())
}

/// Lists that an EndpointSlice contains even when empty.
fn slice(value: &mut Value) {
    if let Some(map) = value.as_object_mut() {
        for key in ["endpoints", "ports"] {
            fill(map, key, Value::Null);
        }
    }
}

fn set_status(value: &mut Value, status: Value) {
    if let Some(map) = value.as_object_mut() {
        fill(map, "status", status);
    }
}

/// Times that the API server prints even when unset, per kind of condition.
fn conditions(value: &mut Value, keys: &[&str]) {
    let list = value.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    for condition in list.into_iter().flatten().filter_map(Value::as_object_mut) {
        for key in keys {
            condition.entry(*key).or_insert(Value::Null);
        }
    }
}

/// Defaults of a new version of an object.
pub(crate) fn update(resource: &Resource, value: &mut Value, old: &Value) -> Result<()> {
    fill_in(resource, value)?;
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "namespaces") => namespace(value),
        ("", "pods") => pod::update(value),
        ("apps", "daemonsets") => {
            let generation = value.pointer("/metadata/annotations/deprecated.daemonset.template.generation").cloned();
            if generation.is_none() {
                let kept = old.pointer("/metadata/annotations/deprecated.daemonset.template.generation").cloned();
                workload::template_generation(value, kept);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Additions of the kind itself to a new version, which no manager owns.
pub(crate) fn settle(store: &Store, resource: &Resource, value: &mut Value, old: &Value) -> Result<()> {
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "services") => service::update(store, value, old),
        ("apps", "daemonsets") => {
            workload::count_templates(value, old);
            Ok(())
        }
        ("discovery.k8s.io", "endpointslices") => {
            slice(value);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The defaults of a kind.
pub(crate) fn fill_in(resource: &Resource, value: &mut Value) -> Result<()> {
    if let Some(custom) = &resource.custom {
        custom.default(value);
        return Ok(());
    }
    for key in ["data", "binaryData", "stringData"] {
        drop_if_empty(value, key);
    }
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "pods") | ("batch", "jobs") => conditions(value, &["lastProbeTime", "lastTransitionTime"]),
        ("apps", "deployments") => conditions(value, &["lastUpdateTime", "lastTransitionTime"]),
        ("", "nodes") => conditions(value, &["lastHeartbeatTime", "lastTransitionTime"]),
        _ if resource.has_status() => conditions(value, &["lastTransitionTime"]),
        _ => {}
    }
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "namespaces") => namespace_label(value),
        ("", "pods") => pod::spec(value.get_mut("spec"), true),
        ("", "podtemplates") => workload::template(value.get_mut("template")),
        ("", "services") => service::defaults(value),
        ("", "secrets") => secret(value)?,
        ("", "events") | ("events.k8s.io", "events") => event(value),
        ("", "persistentvolumeclaims") => claim(value),
        ("", "persistentvolumes") => volume(value),
        ("apps" | "batch", _) | ("", "replicationcontrollers") => workload::defaults(&resource.plural, value),
        ("rbac.authorization.k8s.io", _) => rbac(&resource.plural, value),
        ("apiextensions.k8s.io", _) => oarlock_schema::default_crd(value),
        ("admissionregistration.k8s.io", _) => webhooks(value),
        ("networking.k8s.io", "networkpolicies") => network_policy(value),
        ("autoscaling", "horizontalpodautoscalers") => autoscalers::defaults(value),
        _ => {}
    }
    complete(resource, value);
    others::fill_in(resource, value);
    Ok(())
}

fn drop_if_empty(value: &mut Value, key: &str) {
    if let Some(map) = value.as_object_mut()
        && map.get(key).is_some_and(|v| v.is_null() || v.as_object().is_some_and(Map::is_empty))
    {
        map.remove(key);
    }
}

/// The label with a namespace's name. A namespace with a generated name gets it with the name.
pub(crate) fn namespace_label(value: &mut Value) {
    let name = text(value, "/metadata/name").to_owned();
    if name.is_empty() {
        return;
    }
    if let Some(labels) = object(value, "metadata").map(|m| m.entry("labels").or_insert_with(|| json!({})))
        && let Some(labels) = labels.as_object_mut()
    {
        labels.insert("kubernetes.io/metadata.name".to_owned(), name.into());
    }
}

fn namespace(value: &mut Value) {
    let deleting = value.pointer("/metadata/deletionTimestamp").is_some();
    if let Some(spec) = object(value, "spec") {
        let list = spec.entry("finalizers").or_insert_with(|| json!([]));
        if let Some(list) = list.as_array_mut()
            && !deleting
            && !list.iter().any(|f| f == "kubernetes")
        {
            list.push("kubernetes".into());
        }
        if spec.get("finalizers").and_then(Value::as_array).is_some_and(Vec::is_empty) {
            spec.remove("finalizers");
        }
    }
    if let Some(status) = object(value, "status") {
        fill(status, "phase", "Active");
    }
}

/// Fields of an event that the API server always prints, even when empty.
fn event(core: &mut Value) {
    if let Value::Object(map) = core {
        for key in ["eventTime", "firstTimestamp", "lastTimestamp"] {
            map.entry(key).or_insert(Value::Null);
        }
        for key in ["reportingComponent", "reportingInstance"] {
            map.entry(key).or_insert_with(|| "".into());
        }
        map.entry("source").or_insert_with(|| json!({}));
    }
}

/// Moves `stringData` into `data`; `stringData` is never stored.
fn secret(value: &mut Value) -> Result<()> {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let Some(map) = value.as_object_mut() else { return Ok(()) };
    if let Some(Value::Object(plain)) = map.remove("stringData") {
        let data = map.entry("data").or_insert_with(|| json!({}));
        for (key, text) in plain {
            let Some(text) = text.as_str() else { return Err(ApiError::bad_request("stringData holds strings")) };
            if let Some(data) = data.as_object_mut() {
                data.insert(key, STANDARD.encode(text).into());
            }
        }
    }
    if map.get("type").and_then(Value::as_str).is_none_or(str::is_empty) {
        map.insert("type".to_owned(), "Opaque".into());
    }
    Ok(())
}

fn claim(value: &mut Value) {
    if let Some(spec) = object(value, "spec") {
        fill(spec, "volumeMode", "Filesystem");
    }
    for list in ["requests", "limits"] {
        quantity::normalize_all(value.pointer_mut(&format!("/spec/resources/{list}")));
    }
}

fn volume(value: &mut Value) {
    if let Some(spec) = object(value, "spec") {
        fill(spec, "volumeMode", "Filesystem");
        fill(spec, "persistentVolumeReclaimPolicy", "Retain");
    }
    quantity::normalize_all(value.pointer_mut("/spec/capacity"));
}

fn rbac(plural: &str, value: &mut Value) {
    let group = "rbac.authorization.k8s.io";
    let Some(map) = value.as_object_mut() else { return };
    if matches!(plural, "roles" | "clusterroles") {
        let rules = map.entry("rules").or_insert(Value::Null);
        if rules.as_array().is_some_and(Vec::is_empty) {
            *rules = Value::Null;
        }
        return;
    }
    if map.get("subjects").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        map.remove("subjects");
    }
    if let Some(role) = map.entry("roleRef").or_insert_with(|| json!({})).as_object_mut()
        && role.get("apiGroup").and_then(Value::as_str).is_none_or(str::is_empty)
    {
        role.insert("apiGroup".to_owned(), group.into());
    }
    for subject in map.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(subject) = subject.as_object_mut()
            && matches!(subject.get("kind").and_then(Value::as_str), Some("User" | "Group"))
        {
            fill(subject, "apiGroup", group);
        }
    }
}

fn webhooks(value: &mut Value) {
    let mutating = value.get("kind").and_then(Value::as_str) == Some("MutatingWebhookConfiguration");
    for hook in value.get_mut("webhooks").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(hook) = hook.as_object_mut() else { continue };
        fill(hook, "failurePolicy", "Fail");
        fill(hook, "matchPolicy", "Equivalent");
        fill(hook, "namespaceSelector", json!({}));
        fill(hook, "objectSelector", json!({}));
        fill(hook, "timeoutSeconds", 10);
        if mutating {
            fill(hook, "reinvocationPolicy", "Never");
        }
        for rule in hook.get_mut("rules").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(rule) = rule.as_object_mut() {
                fill(rule, "scope", "*");
            }
        }
        if let Some(service) = hook.get_mut("clientConfig").and_then(|c| c.get_mut("service")?.as_object_mut()) {
            fill(service, "port", 443);
        }
    }
}

fn network_policy(value: &mut Value) {
    let egress = value.pointer("/spec/egress").and_then(Value::as_array).is_some_and(|e| !e.is_empty());
    if let Some(spec) = object(value, "spec") {
        let types = if egress { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
        fill(spec, "policyTypes", types);
    }
}
