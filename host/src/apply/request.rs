//! One request to the API server: building, sending with a deadline, classification of the response.

use super::{WriteIdentity, Writer};
use crate::api::{ObjectKey, Resource};
use crate::informer::Object;
use crate::metrics::ApiVerb;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::Value;
use std::time::Duration;

/// Deadline of one request, from sending it to the end of its response.
const REQUEST_DEADLINE: Duration = Duration::from_secs(15);

/// Longest response; the API server's own limit for an object is 1.5 MiB in etcd, 3 MiB in a request.
const ANSWER_LIMIT_BYTES: usize = 16 << 20;

/// Why a write (or a live read) failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum WriteError {
    /// The grant does not allow the request; nothing was sent.
    #[error("{0}")]
    Denied(String),
    /// The change is invalid; nothing was sent.
    #[error("malformed change: {0}")]
    Malformed(String),
    /// The API server does not serve this kind.
    #[error("the API server does not serve {0}")]
    UnknownKind(String),
    /// 404: the object or its namespace does not exist, as the API server says.
    #[error("{0}")]
    NotFound(String),
    /// 409: another writer was faster, or another field manager owns what was applied.
    #[error("conflict: {0}")]
    Conflict(String),
    /// 400, 405, 413, 415, 422: the API server rejects this object as it is.
    #[error("the API server refused the object: {0}")]
    Invalid(String),
    /// 401, 403: the API server denies the request.
    #[error("the API server forbids it: {0}")]
    Forbidden(String),
    /// 429: too many requests.
    #[error("the API server limits the rate of requests: {message}")]
    TooManyRequests {
        /// The message of the response.
        message: String,
        /// `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// 5xx, or a malformed response.
    #[error("the API server answered {0}")]
    Server(String),
    /// This host does not (or no longer) hold the plugin's Lease. Nothing was sent, or the request in flight was cancelled.
    #[error("another host may reconcile this plugin: the lease is lost")]
    LeaseLost,
    /// No response. The write may have taken effect.
    #[error("no answer from the API server: {0}")]
    Transport(String),
}

/// The identity of a request when plugins are impersonated; otherwise the host sends all requests itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// The plugin's ServiceAccount, for the plugin's own requests.
    Plugin,
    /// The host, for its requests on the plugin's behalf.
    Host,
}

/// A request before it is sent. Its default identity is the plugin, so that a forgotten setting denies rather than permits.
#[derive(Debug)]
pub(super) struct Outgoing {
    identity: Identity,
    method: &'static str,
    path: String,
    query: Vec<(&'static str, String)>,
    content_type: &'static str,
    body: Vec<u8>,
    /// The request concerns all objects of a kind.
    collection: bool,
}

impl Outgoing {
    pub(super) fn new(method: &'static str, resource: &Resource, key: &ObjectKey, subresource: &str) -> Self {
        let subresource = Some(subresource).filter(|s| !s.is_empty());
        Self::to(method, resource.path(&key.namespace, Some(&key.name), subresource))
    }

    pub(super) fn create(resource: &Resource, namespace: &str) -> Self {
        Self::to("POST", resource.path(namespace, None, None))
    }

    pub(super) fn to(method: &'static str, path: String) -> Self {
        let (query, body) = (Vec::new(), Vec::new());
        Self {
            identity: Identity::Plugin,
            method,
            path,
            query,
            content_type: "application/json",
            body,
            collection: false,
        }
    }

    pub(super) fn identity(mut self, identity: Identity) -> Self {
        self.identity = identity;
        self
    }

    /// Lists all objects of a kind, in all namespaces.
    pub(super) fn list(resource: &Resource) -> Self {
        let outgoing = Self::to("GET", resource.path("", None, None)).identity(Identity::Host);
        Self { collection: true, ..outgoing }
    }

    /// The verb for metrics.
    fn verb(&self) -> ApiVerb {
        match self.method {
            "POST" => ApiVerb::Create,
            "PUT" => ApiVerb::Update,
            "PATCH" if self.content_type.starts_with("application/apply-patch") => ApiVerb::Apply,
            "PATCH" => ApiVerb::Patch,
            "DELETE" => ApiVerb::Delete,
            _ if self.collection => ApiVerb::List,
            _ => ApiVerb::Get,
        }
    }

    pub(super) fn body(mut self, content_type: &'static str, body: &Value) -> Self {
        self.content_type = content_type;
        self.body = body.to_string().into_bytes();
        self
    }

    pub(super) fn query(mut self, name: &'static str, value: &str) -> Self {
        self.query.push((name, value.to_owned()));
        self
    }

    /// * `user` - the impersonated user, if any. The API server knows the groups of a ServiceAccount; naming them would need the
    ///   permission to impersonate groups.
    fn into_request(self, user: Option<&str>) -> Result<http::Request<Body>, WriteError> {
        crate::api::path::check(&self.path).map_err(WriteError::Malformed)?;
        let mut uri = self.path;
        for (i, (name, value)) in self.query.iter().enumerate() {
            uri.push(if i == 0 { '?' } else { '&' });
            uri.push_str(name);
            uri.push('=');
            uri.extend(url::form_urlencoded::byte_serialize(value.as_bytes()));
        }
        let mut request = http::Request::builder()
            .method(self.method)
            .uri(uri)
            .header(http::header::CONTENT_TYPE, self.content_type)
            .header(http::header::ACCEPT, "application/json");
        if let Some(user) = user {
            request = request.header("Impersonate-User", user);
        }
        request.body(Body::from(self.body)).map_err(|e| WriteError::Malformed(e.to_string()))
    }
}

impl Writer {
    /// The impersonated user of a request. None: the host.
    pub(super) fn impersonated(&self, write_identity: &WriteIdentity, identity: Identity) -> Option<String> {
        let namespace = self.impersonate.as_deref().filter(|_| identity == Identity::Plugin)?;
        Some(format!("system:serviceaccount:{namespace}:{}", crate::rbac::service_account(&write_identity.plugin)))
    }

    /// Sends a request and classifies its response; the body of a success is JSON text.
    pub(super) async fn request(
        &self,
        write_identity: &WriteIdentity,
        outgoing: Outgoing,
    ) -> Result<String, WriteError> {
        let verb = outgoing.verb();
        if !write_identity.guard.held() {
            return Err(WriteError::LeaseLost);
        }
        let user = self.impersonated(write_identity, outgoing.identity);
        let request = outgoing.into_request(user.as_deref())?;
        let exchange = async {
            let response = self.client.send(request).await.map_err(|e| WriteError::Transport(crate::chain(&e)))?;
            let (head, body) = response.into_parts();
            let body = http_body_util::Limited::new(body, ANSWER_LIMIT_BYTES)
                .collect()
                .await
                .map_err(|e| WriteError::Transport(crate::chain(e.as_ref())))?;
            Ok((head, body.to_bytes()))
        };
        let late = || WriteError::Transport(format!("within {} s", REQUEST_DEADLINE.as_secs()));
        let answered = tokio::select! {
            biased;
            () = write_identity.guard.over() => Err(WriteError::LeaseLost),
            answered = tokio::time::timeout(REQUEST_DEADLINE, exchange) => answered.unwrap_or_else(|_elapsed| Err(late())),
        };
        let code = match &answered {
            Ok((head, _)) => Some(head.status.as_u16()),
            Err(_) => None,
        };
        self.metrics.api_request(&write_identity.plugin, verb, code);
        let (head, body) = answered?;
        sort(&head, &body)
    }
}

/// The text of a success, or the error of a failure.
fn sort(head: &http::response::Parts, body: &Bytes) -> Result<String, WriteError> {
    let status = head.status;
    if status.is_success() {
        return String::from_utf8(body.to_vec())
            .map_err(|_not_utf8| WriteError::Server(format!("{status} with a body that is not UTF-8")));
    }
    let parsed: Option<Value> = serde_json::from_slice(body).ok();
    let message = parsed
        .as_ref()
        .and_then(|v| v.get("message"))
        .and_then(Value::as_str)
        .map_or_else(|| excerpt(status, body), str::to_owned);
    Err(match status.as_u16() {
        404 => WriteError::NotFound(message),
        409 => WriteError::Conflict(message),
        400 | 405 | 406 | 413 | 415 | 422 => WriteError::Invalid(message),
        401 | 403 => WriteError::Forbidden(message),
        429 => WriteError::TooManyRequests { message, retry_after: retry_after(head) },
        _ => WriteError::Server(format!("{}: {message}", status.as_u16())),
    })
}

/// The text of a body that is no Status, shortened for a log line.
fn excerpt(status: http::StatusCode, body: &Bytes) -> String {
    let text = String::from_utf8_lossy(body);
    let text: String = text.chars().take(200).collect();
    if text.trim().is_empty() { status.to_string() } else { text }
}

fn retry_after(head: &http::response::Parts) -> Option<Duration> {
    let seconds: u64 = head.headers.get(http::header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds.min(3600)))
}

pub(super) fn parse_object(answer: &str) -> Result<Object, WriteError> {
    Object::parse(answer).map_err(|e| WriteError::Server(format!("with what is not an object: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(status: u16, headers: &[(&str, &str)], body: &str) -> Result<String, WriteError> {
        let mut response = http::Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        sort(&response.body(()).unwrap().into_parts().0, &Bytes::copy_from_slice(body.as_bytes()))
    }

    #[test]
    fn answers_are_sorted_by_who_has_to_act() {
        assert_eq!(sorted(200, &[], "{}").unwrap(), "{}");
        assert!(matches!(sorted(404, &[], ""), Err(WriteError::NotFound(_))));
        assert!(matches!(sorted(409, &[], r#"{"message":"m"}"#), Err(WriteError::Conflict(m)) if m == "m"));
        assert!(matches!(sorted(422, &[], "{}"), Err(WriteError::Invalid(_))));
        assert!(matches!(sorted(403, &[], "<html>"), Err(WriteError::Forbidden(m)) if m == "<html>"));
        assert!(matches!(sorted(503, &[], ""), Err(WriteError::Server(_))));
        assert!(matches!(
            sorted(429, &[("retry-after", "7")], ""),
            Err(WriteError::TooManyRequests { retry_after: Some(d), .. }) if d.as_secs() == 7
        ));
        assert!(matches!(
            sorted(429, &[("retry-after", "soon")], ""),
            Err(WriteError::TooManyRequests { retry_after: None, .. })
        ));
    }

    #[test]
    fn b12_a_request_is_counted_by_its_verb_and_not_by_its_method() {
        let resource = Resource {
            gvk: crate::api::GroupVersionKind::new("", "v1", "ConfigMap"),
            plural: "configmaps".to_owned(),
            namespaced: true,
            verbs: Vec::new(),
            subresources: Vec::new(),
        };
        let key = ObjectKey::new("n", "a");
        let to = |method| Outgoing::new(method, &resource, &key, "");
        let patch = |content_type| to("PATCH").body(content_type, &Value::Null).verb();
        assert_eq!(patch("application/apply-patch+yaml"), ApiVerb::Apply);
        for content_type in ["application/json-patch+json", "application/merge-patch+json"] {
            assert_eq!(patch(content_type), ApiVerb::Patch);
        }
        assert_eq!(Outgoing::create(&resource, "n").verb(), ApiVerb::Create);
        assert_eq!(Outgoing::list(&resource).query("limit", "1").verb(), ApiVerb::List);
        assert_eq!(
            (to("GET").verb(), to("PUT").verb(), to("DELETE").verb()),
            (ApiVerb::Get, ApiVerb::Update, ApiVerb::Delete)
        );
    }

    #[test]
    fn garbage_is_an_error_and_not_a_panic() {
        assert!(parse_object("").is_err());
        assert!(parse_object("[1]").is_err());
        assert!(parse_object("{\"metadata\":7}").is_err());
    }
}
