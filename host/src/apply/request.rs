//! One request to the API server before it is sent: its identity, path, query and body; and why a request fails.

use crate::api::{ObjectKey, Resource};
use crate::metrics::ApiVerb;
use crate::secrets::KnownSecrets;
use crate::telemetry::{Span, SpanKind};
use kube::client::Body;
use serde_json::Value;
use std::time::Duration;

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

impl WriteError {
    /// The same error with placeholders for secrets in its message.
    #[must_use]
    pub fn hidden(self, secrets: &KnownSecrets) -> Self {
        match self {
            Self::Denied(message) => Self::Denied(secrets.hidden(message)),
            Self::Malformed(message) => Self::Malformed(secrets.hidden(message)),
            Self::UnknownKind(message) => Self::UnknownKind(secrets.hidden(message)),
            Self::NotFound(message) => Self::NotFound(secrets.hidden(message)),
            Self::Conflict(message) => Self::Conflict(secrets.hidden(message)),
            Self::Invalid(message) => Self::Invalid(secrets.hidden(message)),
            Self::Forbidden(message) => Self::Forbidden(secrets.hidden(message)),
            Self::TooManyRequests { message, retry_after } => {
                Self::TooManyRequests { message: secrets.hidden(message), retry_after }
            }
            Self::Server(message) => Self::Server(secrets.hidden(message)),
            Self::LeaseLost => Self::LeaseLost,
            Self::Transport(message) => Self::Transport(secrets.hidden(message)),
        }
    }

    /// The error without its texts, for traces.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Denied(_) => "denied",
            Self::Malformed(_) => "malformed",
            Self::UnknownKind(_) => "unknown_kind",
            Self::NotFound(_) => "not_found",
            Self::Conflict(_) => "conflict",
            Self::Invalid(_) => "invalid",
            Self::Forbidden(_) => "forbidden",
            Self::TooManyRequests { .. } => "too_many_requests",
            Self::Server(_) => "server_error",
            Self::LeaseLost => "lease_lost",
            Self::Transport(_) => "unreachable",
        }
    }
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
    pub(super) identity: Identity,
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
        Self::list_in(resource, "")
    }

    /// Lists the objects of a kind in a namespace.
    pub(super) fn list_in(resource: &Resource, namespace: &str) -> Self {
        let outgoing = Self::to("GET", resource.path(namespace, None, None)).identity(Identity::Host);
        Self { collection: true, ..outgoing }
    }

    /// The verb for metrics.
    pub(super) fn verb(&self) -> ApiVerb {
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

    /// The span of the request: verb, resource and object. Neither query nor body.
    ///
    /// * `secrets` - those of the plugin, which may be in a name.
    pub(super) fn span(&self, secrets: &KnownSecrets) -> Span {
        let target = Target::of(&self.path);
        let span = Span::child(SpanKind::Client, || format!("{} {}", self.verb().as_str(), target.resource()).into());
        span.set("http.request.method", || self.method);
        span.set("url.path", || secrets.hidden(self.path.clone()));
        if !target.namespace.is_empty() {
            span.set("k8s.namespace.name", || secrets.hidden(target.namespace.to_owned()));
        }
        if !target.name.is_empty() {
            span.set("k8s.object.name", || secrets.hidden(target.name.to_owned()));
        }
        span
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
    pub(super) fn into_request(self, user: Option<&str>) -> Result<http::Request<Body>, WriteError> {
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

/// The object of a path of the API server.
#[derive(Debug, Default, PartialEq, Eq)]
struct Target<'a> {
    namespace: &'a str,
    plural: &'a str,
    name: &'a str,
    subresource: &'a str,
}

impl<'a> Target<'a> {
    fn of(path: &'a str) -> Self {
        let mut parts = path.split('/').skip(1);
        // `/api/VERSION/…` or `/apis/GROUP/VERSION/…`.
        let before = if parts.next() == Some("api") { 1 } else { 2 };
        let mut parts = parts.skip(before).peekable();
        let mut target = Self::default();
        let mut next = || parts.next().unwrap_or_default();
        (target.plural, target.name) = (next(), next());
        let third = next();
        // A Namespace has the subresources status and finalize.
        if target.plural == "namespaces" && !matches!(third, "" | "status" | "finalize") {
            (target.namespace, target.plural, target.name) = (target.name, third, next());
            target.subresource = next();
        } else {
            target.subresource = third;
        }
        target
    }

    /// `configmaps` or `networks/status`.
    fn resource(&self) -> String {
        match self.subresource {
            "" => self.plural.to_owned(),
            subresource => format!("{}/{subresource}", self.plural),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_its_object() {
        let of = |namespace, plural, name, subresource| Target { namespace, plural, name, subresource };
        for (path, target) in [
            ("/api/v1/namespaces/a/configmaps/b", of("a", "configmaps", "b", "")),
            ("/api/v1/namespaces/a/configmaps", of("a", "configmaps", "", "")),
            ("/api/v1/namespaces/a", of("", "namespaces", "a", "")),
            ("/api/v1/namespaces/a/status", of("", "namespaces", "a", "status")),
            ("/api/v1/nodes/a", of("", "nodes", "a", "")),
            ("/apis/samplecrd.k8s.io/v1/namespaces/a/networks/b/status", of("a", "networks", "b", "status")),
            ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/c", of("", "customresourcedefinitions", "c", "")),
            ("/apis/g/v1/things", of("", "things", "", "")),
            ("", Target::default()),
        ] {
            assert_eq!(Target::of(path), target, "{path}");
        }
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
}
