//! Kinds that are only ever created and answered: access reviews, tokens. Everyone may do everything.

use http::StatusCode;
use serde_json::{Value, json};

use crate::{
    rest::{
        Request,
        decode::{self},
    },
    server::Answer,
    status::{ApiError, Result},
    storage::Key,
    time,
};

fn with_status(mut object: Value, status: Value) -> Value {
    if let Some(map) = object.as_object_mut() {
        map.entry("metadata").or_insert_with(|| json!({}));
        map.insert("status".to_owned(), status);
    }
    object
}

/// Answers a POST of a create-only kind.
pub(crate) fn create(request: &Request<'_>) -> Result<Answer> {
    let resource = &request.resource;
    let mut object = decode::parse(request.call, &resource.kind)?.value;
    crate::encode::stamp(resource, &mut object);
    let status = match resource.kind.as_str() {
        "SelfSubjectAccessReview" | "SubjectAccessReview" | "LocalSubjectAccessReview" => json!({"allowed": true}),
        "SelfSubjectRulesReview" => json!({"incomplete": false,
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}]}),
        "SelfSubjectReview" => json!({"userInfo": user()}),
        "TokenReview" => json!({"authenticated": true, "user": user()}),
        _ => return Err(ApiError::method_not_allowed()),
    };
    Ok(Answer::with(StatusCode::CREATED, &with_status(object, status)))
}

fn user() -> Value {
    json!({"username": "oarlock", "groups": ["system:masters", "system:authenticated"]})
}

/// `POST serviceaccounts/{name}/token`: a token that is accepted like any other, for nothing is checked.
pub(crate) fn token(request: &Request<'_>) -> Result<Answer> {
    let key = Key::new(&request.path.namespace, &request.path.name);
    request.api.get(&request.resource, &key)?;
    let mut object = decode::parse(request.call, "TokenRequest")?.value;
    if let Some(map) = object.as_object_mut() {
        map.insert("kind".to_owned(), "TokenRequest".into());
        map.insert("apiVersion".to_owned(), "authentication.k8s.io/v1".into());
    }
    let seconds = object.pointer("/spec/expirationSeconds").and_then(Value::as_i64).unwrap_or(3600);
    let status = json!({"token": uuid::Uuid::new_v4().simple().to_string(),
        "expirationTimestamp": time::in_seconds(seconds)});
    Ok(Answer::with(StatusCode::CREATED, &with_status(object, status)))
}
