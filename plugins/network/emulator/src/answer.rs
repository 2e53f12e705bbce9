//! Responses of the emulator, before their encoding.

use http::StatusCode;
use serde_json::{Value, json};

/// A status with a JSON body (`None`: an empty one) and extra headers.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Option<Value>,
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl Answer {
    pub(crate) fn new(status: StatusCode, body: Value) -> Self {
        Self { status, body: Some(body), headers: Vec::new() }
    }

    pub(crate) fn ok(body: Value) -> Self {
        Self::new(StatusCode::OK, body)
    }

    pub(crate) fn created(body: Value) -> Self {
        Self::new(StatusCode::CREATED, body)
    }

    pub(crate) fn empty(status: StatusCode) -> Self {
        Self { status, body: None, headers: Vec::new() }
    }

    pub(crate) fn no_content() -> Self {
        Self::empty(StatusCode::NO_CONTENT)
    }

    pub(crate) fn with(mut self, header: &'static str, value: String) -> Self {
        self.headers.push((header, value));
        self
    }
}

/// An error in Neutron's shape: `{"NeutronError": {"type", "message", "detail"}}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    status: StatusCode,
    kind: String,
    message: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self { status, kind: kind.into(), message: message.into() }
    }

    /// An error of the API layer, before any Neutron plugin sees the request.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "HTTPBadRequest", message)
    }

    /// An attribute's value that its validator rejects.
    pub(crate) fn attribute(name: &str, reason: impl std::fmt::Display) -> Self {
        Self::bad_request(format!("Invalid input for {name}. Reason: {reason}."))
    }

    /// An error of Neutron itself, which adds a full stop even if `reason` ends in one.
    pub(crate) fn input(reason: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "InvalidInput", format!("Invalid input for operation: {reason}."))
    }

    pub(crate) fn conflict(kind: &str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, kind, message)
    }

    pub(crate) fn missing(kind: &str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, kind, message)
    }

    pub(crate) fn policy(rules: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, "PolicyNotAuthorized", format!("{rules} is disallowed by policy"))
    }

    pub(crate) fn unknown_path() -> Self {
        Self::missing("HTTPNotFound", "The resource could not be found.")
    }

    pub(crate) fn method() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "HTTPMethodNotAllowed",
            "The server could not comply with the request since it is either malformed or otherwise incorrect.",
        )
    }

    pub(crate) fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "HTTPInternalServerError",
            "Request Failed: internal server error while processing your request.",
        )
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        let Refusal { status, kind, message } = refusal;
        Self::new(status, json!({"NeutronError": {"type": kind, "message": message, "detail": ""}}))
    }
}

/// The result of one operation.
pub(crate) type Result<T = Answer> = std::result::Result<T, Refusal>;
