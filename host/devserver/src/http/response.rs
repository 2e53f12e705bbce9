//! Responses: complete bodies and watches.

use bytes::Bytes;
use http::StatusCode;
use serde_json::Value;

use super::{negotiate::Format, watch::Watch};

/// A response.
#[derive(Debug)]
pub(crate) enum Response {
    /// A complete body.
    Whole { code: StatusCode, content_type: &'static str, body: Bytes, warnings: Vec<String> },
    /// Events until the watch ends.
    Watch(Box<Watch>),
}

impl Response {
    /// 200 with a value.
    pub(crate) fn json(value: &Value) -> Self {
        Self::with(StatusCode::OK, value)
    }

    /// A value under a code.
    pub(crate) fn with(code: StatusCode, value: &Value) -> Self {
        let body = serde_json::to_vec(value).unwrap_or_default().into();
        Self::Whole { code, content_type: "application/json", body, warnings: Vec::new() }
    }

    /// 200 with text.
    pub(crate) fn text(text: &str) -> Self {
        let body = Bytes::copy_from_slice(text.as_bytes());
        Self::Whole { code: StatusCode::OK, content_type: "text/plain; charset=utf-8", body, warnings: Vec::new() }
    }

    /// No body.
    pub(crate) fn empty(code: StatusCode) -> Self {
        Self::Whole { code, content_type: "", body: Bytes::new(), warnings: Vec::new() }
    }

    /// A complete body in a negotiated format.
    pub(crate) fn ready(code: StatusCode, format: Format, body: Bytes) -> Self {
        Self::Whole { code, content_type: format.content_type(), body, warnings: Vec::new() }
    }

    /// Adds Warning headers.
    pub(crate) fn warn(mut self, more: Vec<String>) -> Self {
        if let Self::Whole { warnings, .. } = &mut self {
            warnings.extend(more);
        }
        self
    }

    /// The HTTP status code.
    pub(crate) fn code(&self) -> StatusCode {
        match self {
            Self::Whole { code, .. } => *code,
            Self::Watch(_) => StatusCode::OK,
        }
    }
}
