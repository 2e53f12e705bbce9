//! OpenAPI for kubectl's `apply` and `explain`. CRDs describe custom resources; built-in kinds are objects with any content, for which
//! clients use their own knowledge.

use oarlock_schema::{Crd, Version};
use serde_json::{Map, Value, json};

use crate::{
    http::{request::Request, response::Response},
    model::{
        kinds::Resource,
        status::{ApiError, Result},
    },
    resources::registry::Served,
};

/// A protobuf document that contains only `swagger: "2.0"`.
const EMPTY_V2: &[u8] = b"\x0a\x032.0";

/// `/openapi/v2`
pub(crate) fn v2(served: &Served, call: &Request) -> Response {
    if call.accept.contains("proto-openapi") {
        return Response::Whole {
            code: http::StatusCode::OK,
            content_type: "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
            body: bytes::Bytes::from_static(EMPTY_V2),
            warnings: Vec::new(),
        };
    }
    let (mut paths, mut definitions) = (Map::new(), Map::new());
    for r in served.all() {
        match custom(r, oarlock_schema::openapi_v2) {
            Some(mut part) => {
                move_into(&mut paths, part.pointer_mut("/paths"));
                move_into(&mut definitions, part.pointer_mut("/definitions"));
            }
            None => drop(definitions.insert(schema_name(r), schema(r))),
        }
    }
    Response::json(&json!({"swagger": "2.0", "info": {"title": "Kubernetes", "version": "v1.36.2"}, "paths": paths,
        "definitions": definitions}))
}

/// The part of a custom resource in a document; `None` for built-in kinds.
fn custom(r: &Resource, part: impl FnOnce(&Crd, &Version) -> Value) -> Option<Value> {
    let definition = &r.custom.as_ref()?.definition;
    Some(part(definition, definition.version(&r.version)?))
}

fn move_into(target: &mut Map<String, Value>, from: Option<&mut Value>) {
    if let Some(from) = from.and_then(Value::as_object_mut) {
        target.append(from);
    }
}

/// `/openapi/v3`
pub(crate) fn v3_index(served: &Served) -> Response {
    let mut paths = Map::new();
    for r in served.all() {
        let path = group_path(&r.group, &r.version);
        if !paths.contains_key(&path) {
            let hash = document_hash(served, &r.group, &r.version);
            paths.insert(path.clone(), json!({"serverRelativeURL": format!("/openapi/v3/{path}?hash={hash}")}));
        }
    }
    let Response::Whole { code, body, warnings, .. } = Response::json(&json!({"paths": paths})) else {
        return Response::text("");
    };
    // The API server sends this content type for this one document, though it is JSON.
    Response::Whole { code, content_type: "text/plain; charset=utf-8", body, warnings }
}

fn group_path(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

/// Clients cache documents by their hash for ever, so the hash must change with them.
fn document_hash(served: &Served, group: &str, version: &str) -> String {
    use sha2::{Digest as _, Sha256};
    let mut digest = Sha256::new();
    for r in served.of(group, version) {
        digest.update(r.plural.as_bytes());
        digest.update(r.kind.as_bytes());
        if let Some(custom) = &r.custom {
            digest.update(custom.openapi.to_string().as_bytes());
        }
    }
    digest.finalize().iter().map(|b| format!("{b:02X}")).collect()
}

/// `/openapi/v3/{api/v1, apis/group/version}`
pub(crate) fn v3(served: &Served, rest: &str) -> Result<Response> {
    let parts: Vec<&str> = rest.split('/').collect();
    let (group, version) = match parts.as_slice() {
        ["api", version] => ("", *version),
        ["apis", group, version] => (*group, *version),
        _ => return Err(ApiError::nothing()),
    };
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    for r in served.of(group, version) {
        if let Some(mut part) = custom(r, oarlock_schema::openapi_v3) {
            move_into(&mut paths, part.pointer_mut("/paths"));
            move_into(&mut schemas, part.pointer_mut("/components/schemas"));
            continue;
        }
        schemas.insert(schema_name(r), schema(r));
        let scope = if r.namespaced { "/namespaces/{namespace}" } else { "" };
        let base = format!("/{}{scope}/{}", group_path(group, version), r.plural);
        paths.insert(base.clone(), json!({"get": operation(r, "list"), "post": operation(r, "post")}));
        if r.verbs.contains(&"patch") {
            let named = json!({"get": operation(r, "get"), "put": operation(r, "put"), "patch": operation(r, "patch"),
                "delete": operation(r, "delete")});
            paths.insert(format!("{base}/{{name}}"), named);
        }
    }
    if paths.is_empty() {
        return Err(ApiError::nothing());
    }
    Ok(Response::json(
        &json!({"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.36.2"}, "paths": paths,
        "components": {"schemas": schemas}}),
    ))
}

fn gvk(r: &Resource) -> Value {
    json!({"group": r.group, "version": r.version, "kind": r.kind})
}

/// An operation; kubectl finds from the parameter `fieldValidation` that the server validates fields.
fn operation(r: &Resource, action: &str) -> Value {
    let parameter = |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string"}});
    let parameters: Vec<Value> = match action {
        "post" | "put" | "patch" => ["dryRun", "fieldManager", "fieldValidation"].map(parameter).to_vec(),
        _ => Vec::new(),
    };
    let reference = json!({"$ref": format!("#/components/schemas/{}", schema_name(r))});
    let response = json!({"200": {"description": "OK", "content": {"application/json": {"schema": reference}}}});
    json!({"operationId": format!("{action}{}{}{}", r.group, r.version, r.kind), "parameters": parameters,
        "responses": response, "x-kubernetes-action": action, "x-kubernetes-group-version-kind": gvk(r)})
}

fn schema_name(r: &Resource) -> String {
    let group = if r.group.is_empty() { "core" } else { r.group.split('.').next().unwrap_or_default() };
    format!("io.k8s.api.{group}.{}.{}", r.version, r.kind)
}

fn schema(r: &Resource) -> Value {
    json!({
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string",
                "description": "APIVersion defines the versioned schema of this representation of an object."},
            "kind": {"type": "string",
                "description": "Kind is a string value representing the REST resource this object represents."},
            "metadata": {"type": "object", "description": "Standard object's metadata."},
        },
        "x-kubernetes-group-version-kind": [gvk(r)],
    })
}
