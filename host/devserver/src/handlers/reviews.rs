//! Create-only kinds: access reviews, subject reviews, token reviews and tokens.

use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::{
    access::authorization::{bindings, rules::Rule},
    handlers::resource_request::ResourceRequest,
    http::{
        decode::{self, Decoded, Expected},
        query::WriteOptions,
        response::Response,
    },
    model::{
        members,
        status::{ApiError, Cause, Result},
        time,
        user::User,
    },
    resources::write::check_namespace,
    store::Key,
    webhooks::Kind,
};

mod access;

/// The default lifetime of a token, and the shortest, in seconds.
const TOKEN_SECONDS: (i64, i64) = (3600, 600);
/// The longest lifetime, in seconds.
const TOKEN_MOST: i64 = 1 << 32;
/// The default audience of a token.
const AUDIENCE: &str = "https://kubernetes.default.svc";

/// Kinds that webhooks can match like any other.
const REVIEWS: [Kind; 6] = [
    ("authentication.k8s.io", "v1", "SelfSubjectReview"),
    ("authentication.k8s.io", "v1", "TokenReview"),
    ("authorization.k8s.io", "v1", "LocalSubjectAccessReview"),
    ("authorization.k8s.io", "v1", "SelfSubjectAccessReview"),
    ("authorization.k8s.io", "v1", "SelfSubjectRulesReview"),
    ("authorization.k8s.io", "v1", "SubjectAccessReview"),
];

/// Answers a POST of a create-only kind.
pub(crate) async fn create(request: &ResourceRequest<'_>) -> Result<Response> {
    let resource = &request.resource;
    let options = WriteOptions::parse(&request.call.query, "CreateOptions")?;
    let Decoded { mut object, warnings } =
        decode::decode(request.call, Expected::of(resource), options.field_validation)?;
    drop_empty(&mut object);
    if let Some((group, version, kind)) = REVIEWS.iter().copied().find(|(_, _, kind)| *kind == resource.kind) {
        object = request.admitted((group, version, kind), (object, None), &options).await?;
    }
    let status = match resource.kind.as_str() {
        "SelfSubjectAccessReview" | "SubjectAccessReview" | "LocalSubjectAccessReview" => {
            access::review(request, &mut object)?
        }
        "SelfSubjectRulesReview" => rules(request, &mut object)?,
        "SelfSubjectReview" => json!({"userInfo": request.call.user.to_value()}),
        "TokenReview" => {
            if let Some(meta) = members::object(&mut object, "metadata") {
                meta.retain(|key, _| !matches!(key.as_str(), "namespace" | "selfLink"));
            }
            token_owner(request, &object)?
        }
        _ => return Err(ApiError::method_not_allowed()),
    };
    if let Some(meta) = members::object(&mut object, "metadata")
        && resource.kind == "SelfSubjectReview"
    {
        *meta = Map::from_iter([("creationTimestamp".to_owned(), time::now().into())]);
    }
    Ok(answer(request, object, status).warn(warnings))
}

fn answer(request: &ResourceRequest<'_>, mut object: Value, status: Value) -> Response {
    if request.path.subresource.is_empty() {
        request.resource.stamp(&mut object);
    }
    if let Some(map) = object.as_object_mut() {
        map.insert("status".to_owned(), status);
    }
    Response::with(StatusCode::CREATED, &object)
}

/// Go omits empty strings and lists.
fn drop_empty(value: &mut Value) {
    if let Value::Object(map) = value {
        map.retain(|_, member| member.as_str() != Some("") && !member.as_array().is_some_and(Vec::is_empty));
        map.values_mut().for_each(drop_empty);
    }
}

/// The status of a SelfSubjectRulesReview: all rules in a namespace. The spec in the response stays empty.
fn rules(request: &ResourceRequest<'_>, object: &mut Value) -> Result<Value> {
    let namespace = object.pointer("/spec/namespace").and_then(Value::as_str).unwrap_or_default();
    if namespace.is_empty() {
        return Err(ApiError::bad_request("no namespace on request"));
    }
    let held = bindings::bound(&request.api.authorizer, &request.call.user, namespace);
    if let Some(map) = object.as_object_mut() {
        map.insert("spec".to_owned(), json!({}));
        map.insert("metadata".to_owned(), json!({}));
    }
    let (mut resources, mut urls) = (Vec::new(), Vec::new());
    for rule in held.rules() {
        let list = if rule.non_resource_urls.is_empty() { &mut resources } else { &mut urls };
        list.push(rule);
    }
    let shown = |rules: &[&Rule]| json!(rules);
    let mut status = json!({"incomplete": false, "resourceRules": shown(&resources), "nonResourceRules": shown(&urls)});
    let problems = held.problems();
    if let (Some(map), false) = (status.as_object_mut(), problems.is_empty()) {
        map.insert("evaluationError".to_owned(), problems.into());
    }
    Ok(status)
}

/// The status of a TokenReview.
fn token_owner(request: &ResourceRequest<'_>, object: &Value) -> Result<Value> {
    let token = object.pointer("/spec/token").and_then(Value::as_str).unwrap_or_default();
    if token.is_empty() {
        return Err(ApiError::bad_request("token is required for TokenReview in authentication"));
    }
    Ok(match request.api.tokens.owner(token) {
        Some(user) => json!({"authenticated": true, "user": user.to_value(), "audiences": [AUDIENCE]}),
        None => json!({"user": {}, "error": "invalid bearer token"}),
    })
}

/// The object to which a token is bound must exist.
fn bound_object(request: &ResourceRequest<'_>, spec: &Map<String, Value>) -> Result<()> {
    let Some(reference) = spec.get("boundObjectRef").and_then(Value::as_object) else { return Ok(()) };
    let text = |key: &str| reference.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (kind, api_version, name, uid) = (text("kind"), text("apiVersion"), text("name"), text("uid"));
    let (resource_store, namespace) = match (api_version.as_str(), kind.as_str()) {
        ("v1", "Pod") => ("pods", request.path.namespace.as_str()),
        ("v1", "Secret") => ("secrets", request.path.namespace.as_str()),
        ("v1", "Node") => ("nodes", ""),
        _ => {
            let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
            let message = format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
            return Err(ApiError::bad_request(message));
        }
    };
    let found = request.api.store.existing(resource_store).and_then(|s| s.get(&Key::new(namespace, &name)));
    let Some(found) = found else { return Err(ApiError::not_found("", resource_store, &name)) };
    let own = found.value.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
    if !uid.is_empty() && uid != own {
        let why = format!(
            "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have been deleted \
             and then recreated"
        );
        return Err(ApiError::conflict("", &kind, &name, &why));
    }
    Ok(())
}

/// `POST serviceaccounts/{name}/token`: a token that is valid while the server runs, regardless of the requested lifetime.
pub(crate) async fn token(request: &ResourceRequest<'_>) -> Result<Response> {
    let key = Key::new(&request.path.namespace, &request.path.name);
    let options = WriteOptions::parse(&request.call.query, "CreateOptions")?;
    let (group, kind) = ("authentication.k8s.io", "TokenRequest");
    let expected = Expected { group, version: "v1", kind, custom: None };
    let Decoded { mut object, warnings } = decode::decode(request.call, expected, options.field_validation)?;
    let account = request.api.store.find(&request.resource, &key)?;
    if let Some(meta) = members::object(&mut object, "metadata") {
        check_namespace(meta, &key.namespace)?;
        let given = meta.get("name").and_then(Value::as_str).unwrap_or_default();
        if !given.is_empty() && given != key.name {
            let detail = "must match the service account name if specified";
            let cause = Cause::invalid("metadata.name", &json!(given), detail);
            return Err(ApiError::invalid(group, kind, &key.name, &[cause]));
        }
    }
    object = request.admitted((group, "v1", kind), (object, None), &options).await?;
    let (usual, least) = TOKEN_SECONDS;
    let seconds = object.pointer("/spec/expirationSeconds").and_then(Value::as_i64).unwrap_or(usual);
    if seconds < least {
        let detail = "may not specify a duration less than 10 minutes";
        let cause = Cause::invalid("spec.expirationSeconds", &json!(seconds), detail);
        return Err(ApiError::invalid(group, kind, "", &[cause]));
    }
    if seconds > TOKEN_MOST {
        let detail = "may not specify a duration larger than 2^32 seconds";
        let cause = Cause::invalid("spec.expirationSeconds", &json!(seconds), detail);
        return Err(ApiError::invalid(group, kind, "", &[cause]));
    }
    if let Some(spec) = members::object(&mut object, "spec") {
        bound_object(request, spec)?;
        if spec.get("audiences").and_then(Value::as_array).is_none_or(Vec::is_empty) {
            spec.insert("audiences".to_owned(), json!([AUDIENCE]));
        }
        members::fill(spec, "expirationSeconds", seconds);
        spec.entry("boundObjectRef").or_insert(Value::Null);
    }
    let uid = account.value.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
    if let Some(meta) = members::object(&mut object, "metadata") {
        *meta = Map::from_iter([
            ("name".to_owned(), key.name.clone().into()),
            ("namespace".to_owned(), key.namespace.clone().into()),
            ("uid".to_owned(), uid.into()),
            ("creationTimestamp".to_owned(), time::now().into()),
        ]);
    }
    let token = request.api.tokens.issue(User::service_account(&key.namespace, &key.name, uid));
    let status = json!({"token": token, "expirationTimestamp": time::in_seconds(seconds)});
    Ok(answer(request, object, status).warn(warnings))
}
