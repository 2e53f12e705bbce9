//! Discovery, legacy and aggregated, and `/version`.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::{
    http::{
        encode,
        negotiate::{Format, Shape, clauses},
        request::Request,
        response::Response,
    },
    model::{
        kinds::Resource,
        status::{ApiError, Result},
    },
    resources::registry::Served,
};

/// `/version`
pub(crate) fn version() -> Value {
    json!({"major": "1", "minor": "36", "emulationMajor": "1", "emulationMinor": "36", "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35", "gitVersion": "v1.36.2+oarlock", "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "2026-01-01T00:00:00Z", "goVersion": "none", "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH)})
}

/// `/`
pub(crate) fn paths(served: &Served) -> Value {
    let mut paths = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
    for group in served.groups() {
        paths.push(format!("/apis/{group}"));
        paths.extend(served.versions(group).iter().map(|v| format!("/apis/{group}/{v}")));
    }
    paths.extend(["/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"].map(str::to_owned));
    json!({"paths": paths})
}

/// The version of aggregated discovery that a client accepts.
fn aggregated(call: &Request) -> Option<&'static str> {
    for clause in clauses(&call.accept) {
        match (clause.media_type, clause.param("as"), clause.param("g"), clause.param("v")) {
            ("application/json", Some("APIGroupDiscoveryList"), Some("apidiscovery.k8s.io"), Some("v2")) => {
                return Some("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
            }
            ("application/json" | "application/yaml" | "*/*", None, ..) => return None,
            _ => {}
        }
    }
    None
}

/// Whether a path is below a built-in group.
pub(crate) fn inside_builtin(served: &Served, path: &str) -> bool {
    let group = path.strip_prefix("/apis/").and_then(|rest| rest.split('/').next());
    group.is_some_and(|group| !group.is_empty() && served.builtin_group(group))
}

/// A document in the client's format: JSON or YAML. A request for protobuf gets JSON as well.
fn document(call: &Request, value: &Value) -> Result<Response> {
    if call.accept.is_empty() {
        return Ok(Response::json(value));
    }
    for clause in clauses(&call.accept) {
        match (clause.media_type, clause.param("as")) {
            ("application/json" | "*/*" | "application/vnd.kubernetes.protobuf", None) => {
                return Ok(Response::json(value));
            }
            ("application/yaml", None) => {
                let format = Format { yaml: true, shape: Shape::Object };
                return Ok(Response::ready(StatusCode::OK, format, encode::bytes(value, format)?));
            }
            _ => {}
        }
    }
    Err(ApiError::not_acceptable(false))
}

fn aggregated_answer(content_type: &'static str, items: &[Value]) -> Response {
    let list = json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {},
        "items": items});
    let Response::Whole { code, body, warnings, .. } = Response::json(&list) else { return Response::json(&list) };
    Response::Whole { code, content_type, body, warnings }
}

/// `/api`
pub(crate) fn core_versions(served: &Served, call: &Request) -> Result<Response> {
    if let Some(content_type) = aggregated(call) {
        let item = json!({"metadata": {}, "versions": [aggregated_version(served, "", "v1")]});
        return Ok(aggregated_answer(content_type, &[item]));
    }
    document(call, &json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}))
}

/// `/apis`
pub(crate) fn groups(served: &Served, call: &Request) -> Result<Response> {
    if let Some(content_type) = aggregated(call) {
        let items: Vec<Value> = served
            .groups()
            .into_iter()
            .map(|group| {
                let versions: Vec<Value> =
                    served.versions(group).iter().map(|v| aggregated_version(served, group, v)).collect();
                json!({"metadata": {"name": group}, "versions": versions})
            })
            .collect();
        return Ok(aggregated_answer(content_type, &items));
    }
    let groups: Vec<Value> = served.groups().into_iter().map(|g| group_value(served, g)).collect();
    document(call, &json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
}

fn group_value(served: &Served, group: &str) -> Value {
    let versions: Vec<Value> =
        served.versions(group).iter().map(|v| json!({"groupVersion": format!("{group}/{v}"), "version": v})).collect();
    json!({"name": group, "preferredVersion": versions.first(), "versions": versions})
}

/// `/apis/{group}`
pub(crate) fn group(served: &Served, call: &Request, group: &str) -> Result<Response> {
    if group.is_empty() || served.versions(group).is_empty() {
        return Err(ApiError::no_page());
    }
    let mut value = group_value(served, group);
    if let Some(map) = value.as_object_mut() {
        map.insert("kind".to_owned(), "APIGroup".into());
        map.insert("apiVersion".to_owned(), "v1".into());
    }
    document(call, &value)
}

/// `/api/v1`, `/apis/{group}/{version}`
pub(crate) fn group_version(served: &Served, call: &Request, group: &str, version: &str) -> Result<Response> {
    let resources: Vec<Value> = served.of(group, version).flat_map(resource_values).collect();
    if resources.is_empty() {
        return Err(if served.builtin_group(group) { ApiError::no_resource() } else { ApiError::no_page() });
    }
    let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let mut list = json!({"kind": "APIResourceList", "groupVersion": group_version, "resources": resources});
    if let (Value::Object(map), false) = (&mut list, group.is_empty()) {
        map.insert("apiVersion".to_owned(), "v1".into());
    }
    document(call, &list)
}

fn with_lists(map: &mut Map<String, Value>, resource: &Resource) {
    for (key, list) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
        if !list.is_empty() {
            map.insert(key.to_owned(), list.clone().into());
        }
    }
}

/// Verbs in the order discovery lists them; custom resources have their own.
fn verbs(resource: &Resource) -> Vec<&'static str> {
    if resource.custom.is_some() {
        return vec!["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
    }
    resource.verbs.clone()
}

fn resource_values(resource: &Arc<Resource>) -> Vec<Value> {
    let mut main = json!({"name": resource.plural, "singularName": resource.singular, "namespaced": resource.namespaced,
        "kind": resource.kind, "verbs": verbs(resource)});
    if let Value::Object(map) = &mut main {
        with_lists(map, resource);
        if resource.custom.is_some() || resource.verbs.contains(&"list") {
            map.insert("storageVersionHash".to_owned(), storage_hash(resource).into());
        }
    }
    let mut out = vec![main];
    for sub in &resource.subresources {
        let kind = sub.kind.map_or(resource.kind.as_str(), |(_, _, kind)| kind);
        let mut value = json!({"name": format!("{}/{}", resource.plural, sub.name), "singularName": "",
            "namespaced": resource.namespaced, "kind": kind, "verbs": sub.verbs});
        if let (Value::Object(map), Some((group, version, _))) = (&mut value, sub.kind)
            && !group.is_empty()
        {
            map.insert("group".to_owned(), group.into());
            map.insert("version".to_owned(), version.into());
        }
        out.push(value);
    }
    out
}

/// A stable storage hash for discovery.
fn storage_hash(resource: &Resource) -> String {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use sha2::{Digest as _, Sha256};
    let digest = Sha256::digest(format!("{}/{}/{}", resource.group, resource.version, resource.kind));
    STANDARD.encode(digest.get(..8).unwrap_or_default())
}

fn aggregated_version(served: &Served, group: &str, version: &str) -> Value {
    let resources: Vec<Value> = served.of(group, version).map(|r| aggregated_resource(r)).collect();
    json!({"version": version, "freshness": "Current", "resources": resources})
}

fn aggregated_resource(resource: &Resource) -> Value {
    // Built-in kinds omit the group and version of their own kind.
    let kind_of = |kind: &str| match resource.custom {
        Some(_) => json!({"group": resource.group, "version": resource.version, "kind": kind}),
        None => json!({"group": "", "version": "", "kind": kind}),
    };
    let mut value = json!({"resource": resource.plural, "responseKind": kind_of(&resource.kind),
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" }, "singularResource": resource.singular,
        "verbs": verbs(resource)});
    if let Value::Object(map) = &mut value {
        with_lists(map, resource);
        let subresources: Vec<Value> = resource
            .subresources
            .iter()
            .map(|sub| {
                let kind = match sub.kind {
                    Some(("", _, kind)) => kind_of(kind),
                    Some((group, version, kind)) => json!({"group": group, "version": version, "kind": kind}),
                    None => kind_of(&resource.kind),
                };
                json!({"subresource": sub.name, "responseKind": kind, "verbs": sub.verbs})
            })
            .collect();
        if !subresources.is_empty() {
            map.insert("subresources".to_owned(), subresources.into());
        }
    }
    value
}
