//! HTTP requests: one request, one response, whole bodies, only to granted origins. Redirects are not followed.

use crate::error::whole_milliseconds;
use crate::{Error, Result, imports};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::{self, Display};
use std::time::Duration;

/// A request, built step by step and sent.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Request {
    /// In capitals.
    pub method: String,
    /// Absolute, http or https.
    pub url: String,
    /// Names and values in order.
    pub headers: Vec<(String, String)>,
    /// Empty: none.
    pub body: Vec<u8>,
    /// Timeout of the whole exchange. None: the rest of the reconcile's deadline.
    pub timeout: Option<Duration>,
    /// The fault of an invalid request; returned by `send`.
    problem: Option<String>,
}

/// A GET request.
pub fn get(url: impl Into<String>) -> Request {
    Request::new("GET", url)
}

/// A POST request.
pub fn post(url: impl Into<String>) -> Request {
    Request::new("POST", url)
}

/// A PUT request.
pub fn put(url: impl Into<String>) -> Request {
    Request::new("PUT", url)
}

/// A DELETE request.
pub fn delete(url: impl Into<String>) -> Request {
    Request::new("DELETE", url)
}

impl Request {
    /// A request with this method.
    pub fn new(method: &str, url: impl Into<String>) -> Self {
        let (headers, body) = (Vec::new(), Vec::new());
        Self { method: method.to_owned(), url: url.into(), headers, body, timeout: None, problem: None }
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Adds `name=value` to the URL's query, percent-encoded.
    pub fn query(mut self, name: &str, value: &str) -> Self {
        self.url.push(if self.url.contains('?') { '&' } else { '?' });
        encode(&mut self.url, name);
        self.url.push('=');
        encode(&mut self.url, value);
        self
    }

    /// Sets a JSON body and its content type.
    pub fn json(mut self, body: &impl Serialize) -> Self {
        match serde_json::to_vec(body) {
            Ok(body) => self.body = body,
            Err(error) => self.problem = Some(format!("body: {error}")),
        }
        self.header("content-type", "application/json")
    }

    /// Sets the body.
    pub fn bytes(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Limits the whole exchange; never beyond the rest of the reconcile's deadline.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// The URL's path, without origin and query.
    #[must_use]
    pub fn path(&self) -> &str {
        let rest = self.url.split_once("://").map_or(self.url.as_str(), |(_, rest)| rest);
        let path = rest.find('/').and_then(|start| rest.get(start..)).unwrap_or("/");
        path.split('?').next().unwrap_or(path)
    }

    /// The first value of a query parameter, decoded.
    #[must_use]
    pub fn query_value(&self, name: &str) -> Option<String> {
        let (_, query) = self.url.split_once('?')?;
        query.split('&').find_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(key) == name).then(|| decode(value))
        })
    }

    /// The first value of a header; the name is case-insensitive.
    #[must_use]
    pub fn header_value(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// Sends the request.
    ///
    /// # Errors
    ///
    /// There was no response. A response with an error status is a [`Response`]; see [`Response::error_for_status`].
    pub fn send(self) -> Result<Response, Failure> {
        if let Some(problem) = self.problem {
            return Err(Failure::Invalid(problem));
        }
        let headers = self.headers.into_iter().map(|(name, value)| imports::http::Header { name, value }).collect();
        let timeout = self.timeout.map_or(0, |timeout| whole_milliseconds(timeout).clamp(1, u64::from(u32::MAX)));
        let outgoing = imports::http::Outgoing {
            method: self.method,
            url: self.url,
            headers,
            body: self.body,
            timeout_ms: u32::try_from(timeout).unwrap_or(u32::MAX),
        };
        let response = imports::http::send(&outgoing)?;
        let headers = response.headers.into_iter().map(|header| (header.name, header.value)).collect();
        Ok(Response { status: response.status, headers, body: response.body })
    }
}

/// A response with any status.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Vec<u8>,
}

impl Response {
    /// A response with a JSON body, for handlers in tests.
    #[must_use]
    pub fn json_body(status: u16, body: &serde_json::Value) -> Self {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Self { status, headers, body: body.to_string().into_bytes() }
    }

    /// A response without a body, for handlers in tests.
    #[must_use]
    pub fn empty(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    /// Whether the status is 200 to 299.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The first value of a header; the name is case-insensitive.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// The body as text; invalid UTF-8 is replaced.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Errors
    ///
    /// Transient: the body is a proxy's error page, or an incomplete response.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.body).map_err(|error| {
            Error::transient(format_args!(
                "the answer (status {}) is not the JSON that was expected: {error}",
                self.status
            ))
        })
    }

    /// `Retry-After` in whole seconds. The form with a date counts as absent: a guest has no clock to compare it with.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.header("retry-after")?.trim().parse().ok().map(Duration::from_secs)
    }

    /// Returns the response if its status is a success.
    ///
    /// # Errors
    ///
    /// Transient for 408, 425, 429 (with its `Retry-After`) and 5xx, terminal for the rest, with the status and the beginning of the
    /// body.
    pub fn error_for_status(self) -> Result<Self> {
        if self.is_success() {
            return Ok(self);
        }
        let text: String = self.text().chars().take(200).collect();
        let message = format!("status {}: {text}", self.status);
        Err(match self.status {
            408 | 425 | 429 | 500..=599 => Error::Transient { message, after: self.retry_after() },
            _ => Error::Terminal { message },
        })
    }
}

/// Why there was no response.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// The origin is not granted, or a dry run refuses the method.
    Denied(String),
    /// No connection, or a broken one. The request may have taken effect.
    Unreachable(String),
    /// No complete response in time. The request may have taken effect.
    TimedOut,
    /// The response's body exceeds this many bytes.
    TooLarge(u64),
    /// The request is malformed.
    Invalid(String),
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(why) => write!(f, "request denied: {why}"),
            Self::Unreachable(why) => write!(f, "unreachable: {why}"),
            Self::TimedOut => f.write_str("no answer in time"),
            Self::TooLarge(limit) => write!(f, "the answer is larger than {limit} bytes"),
            Self::Invalid(why) => write!(f, "the request makes no sense: {why}"),
        }
    }
}

impl std::error::Error for Failure {}

impl From<imports::http::Failure> for Failure {
    fn from(failure: imports::http::Failure) -> Self {
        match failure {
            imports::http::Failure::Denied(why) => Self::Denied(why),
            imports::http::Failure::Unreachable(why) => Self::Unreachable(why),
            imports::http::Failure::TimedOut => Self::TimedOut,
            imports::http::Failure::TooLarge(limit) => Self::TooLarge(limit),
            imports::http::Failure::Invalid(why) => Self::Invalid(why),
        }
    }
}

fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

/// Encodes everything but unreserved characters (RFC 3986, 2.3) as `%XX`.
fn encode(into: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            into.push(char::from(byte));
        } else {
            into.push_str(&format!("%{byte:02X}"));
        }
    }
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match (byte, hex.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(decoded)) => {
                bytes.push(decoded);
                rest = after.get(2..).unwrap_or_default();
            }
            (b'+', _) => {
                bytes.push(b' ');
                rest = after;
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_survives_encoding() {
        let request = get("http://example.com/v2.0/networks").query("description", "oarlock:ü &=1%").query("b", "2");
        assert_eq!(request.url, "http://example.com/v2.0/networks?description=oarlock%3A%C3%BC%20%26%3D1%25&b=2");
        assert_eq!(request.query_value("description").as_deref(), Some("oarlock:ü &=1%"));
        assert_eq!(request.query_value("b").as_deref(), Some("2"));
        assert_eq!(request.query_value("c"), None);
        assert_eq!(request.path(), "/v2.0/networks");
        assert_eq!(get("http://example.com").path(), "/");
    }

    #[test]
    fn statuses_say_who_tries_again() {
        let mut busy = Response::empty(429);
        busy.headers.push(("retry-after".into(), "7".into()));
        assert_eq!(busy.error_for_status(), Err(Error::transient_after(Duration::from_secs(7), "status 429: ")));
        assert_eq!(Response::empty(404).error_for_status(), Err(Error::terminal("status 404: ")));
        assert!(Response::empty(204).error_for_status().is_ok());
    }
}
