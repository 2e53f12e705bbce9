//! Records of a gate: exchanges and created objects.

use bytes::Bytes;
use http::{Method, StatusCode};
use tokio::time::Instant;

/// The headers of the W3C Trace Context.
pub(super) const TRACE_CONTEXT: [&str; 2] = ["traceparent", "tracestate"];

/// One request that reached the gate.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// Time of arrival.
    pub at: Instant,
    /// Method.
    pub method: Method,
    /// Path and query.
    pub path: String,
    /// The request's body.
    pub body: Bytes,
    /// The headers `traceparent` and `tracestate`.
    pub trace: [Option<String>; 2],
    /// The status of the response; none while it is pending, or when the connection was cut.
    pub status: Option<StatusCode>,
    /// Whether the request reached the server.
    pub forwarded: bool,
}

impl Exchange {
    /// Whether the request may change something: not a read, a token request or a review.
    #[must_use]
    pub fn is_write(&self) -> bool {
        is_write(&self.method, &self.path)
    }
}

impl std::fmt::Display for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let status = self.status.map_or_else(|| "no answer".to_owned(), |status| status.as_u16().to_string());
        write!(f, "{} {} -> {status}", self.method, self.path)?;
        if self.is_write() && !self.body.is_empty() {
            let body = String::from_utf8_lossy(&self.body);
            write!(f, "  {}", body.chars().take(400).collect::<String>())?;
        }
        Ok(())
    }
}

pub(super) fn is_write(method: &Method, path: &str) -> bool {
    let reads = [Method::GET, Method::HEAD, Method::OPTIONS].contains(method);
    let asks = path.contains("/auth/tokens")
        || path.contains("authorization.k8s.io")
        || path.contains("authentication.k8s.io");
    !reads && !asks
}

/// Whether the request writes an Event, on which nothing depends.
pub(super) fn is_event(path: &str) -> bool {
    path.split(['?', '/']).any(|part| part == "events")
}

/// An object created through a gate.
#[derive(Clone, Debug)]
pub(in super::super) struct Created {
    /// Its URL path.
    pub path: String,
    /// Its uid.
    pub uid: String,
}

impl Created {
    /// * `path` - path of the request with status 201.
    /// * `answer` - body of its response.
    pub(super) fn of(method: &Method, path: &str, answer: &[u8]) -> Option<Self> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let object: serde_json::Value = serde_json::from_slice(answer).ok()?;
        let text = |key: &str| object.get("metadata")?.get(key)?.as_str();
        let (name, uid) = (text("name")?, text("uid")?);
        let path = if method == Method::POST { format!("{path}/{name}") } else { path.to_owned() };
        (!query.contains("dryRun")).then(|| Self { path, uid: uid.to_owned() })
    }
}
