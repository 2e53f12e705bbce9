//! Errors as Kubernetes `Status` objects with reason, code, details and causes.

use std::borrow::Cow;

use http::StatusCode;
use oarlock_merge::apply::Conflict;
use serde_json::{Map, Value, json};

mod cause;
mod order;

pub(crate) use cause::Cause;

/// The result of an operation that can be rejected.
pub(crate) type Result<T> = std::result::Result<T, ApiError>;

/// An error response.
#[derive(Debug, Clone)]
pub(crate) struct ApiError(Box<Refusal>);

#[derive(Debug, Clone)]
struct Refusal {
    code: StatusCode,
    reason: Cow<'static, str>,
    message: String,
    details: Option<Map<String, Value>>,
    /// Sent as text instead of a `Status`.
    plain: bool,
    /// Warnings for the client.
    warnings: Vec<String>,
    /// A `Status` that only carries `code` and `message`, as the API server's own internal errors do on some paths.
    bare: bool,
}

/// `deployments.apps`, or `pods` in the core group.
pub(crate) fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") }
}

fn details(group: &str, kind: &str, name: &str) -> Map<String, Value> {
    let mut map = Map::new();
    for (key, value) in [("name", name), ("group", group), ("kind", kind)] {
        if !value.is_empty() {
            map.insert(key.to_owned(), value.into());
        }
    }
    map
}

impl ApiError {
    fn new(code: StatusCode, reason: &'static str, message: String, details: Option<Map<String, Value>>) -> Self {
        Self(Box::new(Refusal {
            code,
            reason: reason.into(),
            message,
            details,
            plain: false,
            bare: false,
            warnings: Vec::new(),
        }))
    }

    /// Whether the object already exists.
    pub(crate) fn is_already_exists(&self) -> bool {
        self.0.reason == "AlreadyExists"
    }

    /// The response of a fault rule: absent parts as in Kubernetes for this code.
    pub(crate) fn injected(
        code: StatusCode,
        reason: Option<&str>,
        message: Option<&str>,
        retry_after_seconds: Option<u64>,
    ) -> Self {
        let usual = match code.as_u16() {
            400 => "BadRequest",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "NotFound",
            405 => "MethodNotAllowed",
            406 => "NotAcceptable",
            409 => "Conflict",
            410 => "Expired",
            413 => "RequestEntityTooLarge",
            415 => "UnsupportedMediaType",
            422 => "Invalid",
            429 => "TooManyRequests",
            500 => "InternalError",
            503 => "ServiceUnavailable",
            504 => "Timeout",
            _ => "",
        };
        let details = retry_after_seconds.map(|s| Map::from_iter([("retryAfterSeconds".to_owned(), s.into())]));
        let message = message.unwrap_or("a fault rule says so").to_owned();
        let mut error = Self::new(code, usual, message, details);
        if let Some(reason) = reason {
            error.0.reason = reason.to_owned().into();
        }
        error
    }

    /// Retry-After in seconds.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        self.0.details.as_ref()?.get("retryAfterSeconds")?.as_u64()
    }

    /// The HTTP status code.
    pub(crate) fn code(&self) -> StatusCode {
        self.0.code
    }

    /// Text instead of a `Status`, for paths outside of the resources.
    pub(crate) fn plain(&self) -> Option<&str> {
        self.0.plain.then_some(self.0.message.as_str())
    }

    /// The message.
    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }

    /// Warnings for the client.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.0.warnings
    }

    /// Adds warnings.
    pub(crate) fn warn(mut self, more: Vec<String>) -> Self {
        self.0.warnings.extend(more);
        self
    }

    /// The error of another server's `Status`: a code that is no error becomes 400.
    pub(crate) fn of_status(status: &Map<String, Value>) -> Self {
        let text = |key: &str| status.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let code = status.get("code").and_then(Value::as_u64).filter(|c| *c >= 400);
        let code = code.and_then(|c| StatusCode::from_u16(u16::try_from(c).ok()?).ok());
        let details = status.get("details").and_then(Value::as_object).cloned();
        let mut error = Self::new(code.unwrap_or(StatusCode::BAD_REQUEST), "", text("message"), details);
        error.0.reason = text("reason").into();
        error
    }

    /// The `Status` object.
    pub(crate) fn to_value(&self) -> Value {
        let r = &*self.0;
        let mut out = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "message": r.message,
            "code": r.code.as_u16()});
        if let Value::Object(map) = &mut out {
            if !r.bare {
                map.insert("status".to_owned(), "Failure".into());
            }
            if !r.reason.is_empty() {
                map.insert("reason".to_owned(), Value::from(&*r.reason));
            }
            if let Some(details) = &r.details {
                map.insert("details".to_owned(), Value::Object(details.clone()));
            }
        }
        out
    }

    /// The `Status` as the body of a response.
    pub(crate) fn to_body(&self) -> Vec<u8> {
        order::body(&self.to_value())
    }

    /// 404 for an object.
    pub(crate) fn not_found(group: &str, plural: &str, name: &str) -> Self {
        let message = format!("{} \"{name}\" not found", qualified(plural, group));
        Self::new(StatusCode::NOT_FOUND, "NotFound", message, Some(details(group, plural, name)))
    }

    /// 404 for a resource that does not exist in a group version that does.
    pub(crate) fn no_resource() -> Self {
        let message = "the server could not find the requested resource".to_owned();
        Self::new(StatusCode::NOT_FOUND, "NotFound", message, Some(Map::new()))
    }

    /// 404 for everything else, as text.
    pub(crate) fn no_page() -> Self {
        let mut error = Self::new(StatusCode::NOT_FOUND, "", "404 page not found\n".to_owned(), None);
        error.0.plain = true;
        error
    }

    /// 404 with nothing more.
    pub(crate) fn nothing() -> Self {
        let mut error = Self::no_page();
        error.0.message.clear();
        error
    }

    /// 405.
    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource".to_owned();
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message, Some(Map::new()))
    }

    /// 409 on create.
    pub(crate) fn already_exists(group: &str, plural: &str, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", qualified(plural, group));
        Self::new(StatusCode::CONFLICT, "AlreadyExists", message, Some(details(group, plural, name)))
    }

    /// 409 on a write; `kind` is what the API server puts there: mostly the resource, for delete preconditions the kind.
    pub(crate) fn conflict(group: &str, kind: &str, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", qualified(kind, group));
        Self::new(StatusCode::CONFLICT, "Conflict", message, Some(details(group, kind, name)))
    }

    /// 409 because of the resourceVersion.
    pub(crate) fn modified(group: &str, plural: &str, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(group, plural, name, why)
    }

    /// 409 of an apply: other managers own some of its fields.
    pub(crate) fn apply_conflict(message: String, conflicts: &[Conflict]) -> Self {
        let cause = |c: &Conflict| json!({"reason": "FieldManagerConflict", "message": c.message(), "field": c.path.to_string()});
        let mut map = Map::new();
        map.insert("causes".to_owned(), conflicts.iter().map(cause).collect());
        Self::new(StatusCode::CONFLICT, "Conflict", message, Some(map))
    }

    /// 422 with its causes.
    pub(crate) fn invalid(group: &str, kind: &str, name: &str, causes: &[Cause]) -> Self {
        let mut unique: Vec<String> = Vec::new();
        for line in causes.iter().map(Cause::line) {
            if !unique.contains(&line) {
                unique.push(line);
            }
        }
        let why = match unique.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let mut map = details(group, kind, name);
        let list = causes.iter().map(|c| json!({"reason": c.reason, "message": c.message, "field": c.field})).collect();
        map.insert("causes".to_owned(), Value::Array(list));
        let message = format!("{} \"{name}\" is invalid: {why}", qualified(kind, group));
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message, Some(map))
    }

    /// 422 of an option object (`CreateOptions`, `ListOptions`, …).
    pub(crate) fn invalid_options(kind: &str, causes: &[Cause]) -> Self {
        Self::invalid("meta.k8s.io", kind, "", causes)
    }

    /// 422 of a patch whose result cannot be decoded.
    pub(crate) fn invalid_patch(patch: &str, why: &str) -> Self {
        let shown = Value::String(patch.to_owned());
        Self::invalid("", "", "", &[Cause::invalid("patch", &shown, why)])
    }

    /// 422 without causes: a JSON patch whose operation fails.
    pub(crate) fn unprocessable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message.into(), Some(Map::new()))
    }

    /// 400.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message.into(), None)
    }

    /// 401.
    pub(crate) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized".to_owned(), None)
    }

    /// 403 for an object, with an empty name for a resource, with an empty plural for another path.
    pub(crate) fn forbidden(group: &str, plural: &str, name: &str, why: &str) -> Self {
        let message = match (plural, name) {
            ("", _) => format!("forbidden: {why}"),
            (_, "") => format!("{} is forbidden: {why}", qualified(plural, group)),
            _ => format!("{} \"{name}\" is forbidden: {why}", qualified(plural, group)),
        };
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message, Some(details(group, plural, name)))
    }

    /// Adds a cause to the details.
    pub(crate) fn with_cause(mut self, reason: &str, field: &str, message: &str) -> Self {
        let mut cause = json!({"reason": reason, "message": message});
        if let (Value::Object(map), false) = (&mut cause, field.is_empty()) {
            map.insert("field".to_owned(), field.into());
        }
        let map = self.0.details.get_or_insert_default();
        if let Value::Array(list) = map.entry("causes").or_insert_with(|| json!([])) {
            list.push(cause);
        }
        self
    }

    /// Adds a prefix to the message.
    pub(crate) fn prefixed(mut self, words: &str) -> Self {
        self.0.message.insert_str(0, words);
        self
    }

    /// 406: `plain` is the form of the error for clients that cannot get a transformation.
    pub(crate) fn not_acceptable(transform: bool) -> Self {
        let types = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
        if transform {
            let message = format!("only the following media types are accepted: {types}");
            return Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message, None);
        }
        let message = format!("406: Not Acceptable\n\nAvailable representations: {types}");
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message, Some(Map::new()))
    }

    /// 406: the object has no representation in the media type that the client accepts.
    pub(crate) fn wrong_shape(message: &str) -> Self {
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message.to_owned(), None)
    }

    /// 415 with the media types that would have been accepted.
    pub(crate) fn unsupported_media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message, None)
    }

    /// 415 for a patch.
    pub(crate) fn unsupported_patch() -> Self {
        let message = "415: Unsupported Media Type".to_owned();
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message, Some(Map::new()))
    }

    /// 410: the version is no longer known.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message.into(), None)
    }

    /// 413.
    pub(crate) fn too_large(limit: usize) -> Self {
        let message = format!("Request entity too large: limit is {limit}");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message, None)
    }

    /// 413 for a JSON patch.
    pub(crate) fn too_many_operations(message: &str) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message.to_owned(), None)
    }

    /// 503.
    pub(crate) fn unavailable(message: &str) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", message.to_owned(), None)
    }

    /// 500 without a reason.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "", message.into(), None)
    }

    /// 500 with its reason.
    pub(crate) fn internal_error(why: &str) -> Self {
        let code = StatusCode::INTERNAL_SERVER_ERROR;
        let mut map = Map::new();
        map.insert("causes".to_owned(), json!([{"message": why}]));
        Self::new(code, "InternalError", format!("Internal error occurred: {why}"), Some(map))
    }

    /// 500 because of the data directory.
    pub(crate) fn unsaved() -> Self {
        Self::internal_error("the change cannot be written to the data directory")
    }

    /// 500 without reason and without `status`.
    pub(crate) fn bare_internal(message: impl Into<String>) -> Self {
        let mut error = Self::internal(message);
        error.0.bare = true;
        error
    }

    /// 504: the version asked for is in the future.
    pub(crate) fn version_too_large(asked: u64, current: u64) -> Self {
        let mut map = Map::new();
        map.insert("retryAfterSeconds".to_owned(), 1.into());
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let mut error = Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message, Some(map));
        error.0.bare = true;
        error.with_cause("ResourceVersionTooLarge", "", "Too large resource version")
    }
}
