//! Requests to the API server: sending with a deadline as the host or a plugin, classification of the response, reads.

use super::WriteIdentity;
use super::change;
use super::request::{Identity, Outgoing, WriteError};
use crate::api::{Discovery, GroupVersionKind, ObjectKey, Resource};
use crate::informer::Object;
use crate::metrics::{ApiVerb, Metrics};
use crate::telemetry::{annotate, inject};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// Deadline of one request, from sending it to the end of its response.
const REQUEST_DEADLINE: Duration = Duration::from_secs(15);

/// Longest response; the API server's own limit for an object is 1.5 MiB in etcd, 3 MiB in a request.
const ANSWER_LIMIT_BYTES: usize = 16 << 20;

/// Sends requests to the API server and counts them for their plugin.
#[derive(Clone)]
pub struct RequestSender {
    client: kube::Client,
    discovery: Discovery,
    metrics: Metrics,
    /// Namespace of the ServiceAccounts that plugins are impersonated as. None: the host sends all requests itself.
    impersonate: Option<Arc<str>>,
}

impl std::fmt::Debug for RequestSender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestSender").finish_non_exhaustive()
    }
}

impl RequestSender {
    pub(super) fn new(client: kube::Client, discovery: Discovery, metrics: Metrics) -> Self {
        Self { client, discovery, metrics, impersonate: None }
    }

    /// The same sender, which sends the requests of each plugin as its ServiceAccount in `namespace`.
    pub(super) fn impersonating(&self, namespace: &str) -> Self {
        Self { impersonate: Some(namespace.into()), ..self.clone() }
    }

    /// Discovery: the resources of the kinds.
    #[must_use]
    pub fn discovery(&self) -> &Discovery {
        &self.discovery
    }

    /// The namespace of the ServiceAccounts that plugins are impersonated as. None: plugins are not impersonated.
    pub(super) fn impersonation_namespace(&self) -> Option<&str> {
        self.impersonate.as_deref()
    }

    /// The impersonated user of a request. None: the host.
    pub(super) fn impersonated(&self, write_identity: &WriteIdentity, identity: Identity) -> Option<String> {
        let namespace = self.impersonate.as_deref().filter(|_| identity == Identity::Plugin)?;
        Some(format!("system:serviceaccount:{namespace}:{}", crate::rbac::service_account(&write_identity.plugin)))
    }

    /// Sends a request and classifies its response; the body of a success is JSON text.
    pub(super) async fn send(&self, write_identity: &WriteIdentity, outgoing: Outgoing) -> Result<String, WriteError> {
        if !write_identity.guard.held() {
            return Err(WriteError::LeaseLost);
        }
        let (span, reads) =
            (outgoing.span(&write_identity.secrets), matches!(outgoing.verb(), ApiVerb::Get | ApiVerb::List));
        let sent = span.within(self.exchange(write_identity, outgoing)).await;
        // An object that does not exist is an answer to a read.
        if let Err(error) = &sent
            && !(reads && matches!(error, WriteError::NotFound(_)))
        {
            span.fail(error.kind());
        }
        sent
    }

    async fn exchange(&self, write_identity: &WriteIdentity, outgoing: Outgoing) -> Result<String, WriteError> {
        let verb = outgoing.verb();
        let user = self.impersonated(write_identity, outgoing.identity);
        let mut request = outgoing.into_request(user.as_deref())?;
        inject(request.headers_mut());
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
        if let Some(code) = code {
            annotate("http.response.status_code", || i64::from(code));
        }
        let (head, body) = answered?;
        sort(&head, &body)
    }

    /// Sends a request whose response is the present object.
    pub(super) async fn send_for_object(
        &self,
        write_identity: &WriteIdentity,
        outgoing: Outgoing,
    ) -> Result<Object, WriteError> {
        parse_object(&self.send(write_identity, outgoing).await?)
    }

    /// Reads one object from the API server. None: it does not exist.
    ///
    /// # Errors
    ///
    /// The API server's error.
    pub async fn read(
        &self,
        write_identity: &WriteIdentity,
        identity: Identity,
        kind: &GroupVersionKind,
        key: &ObjectKey,
    ) -> Result<Option<Arc<Object>>, WriteError> {
        let resource = match identity {
            Identity::Plugin => self.resource_of(write_identity, kind).await?,
            Identity::Host => self.resolve(kind).await?,
        };
        let key = &change::checked_key(&resource, key)?;
        match self.send(write_identity, Outgoing::new("GET", &resource, key, "").identity(identity)).await {
            Ok(answer) => parse_object(&answer).map(|o| Some(Arc::new(o))),
            Err(WriteError::NotFound(_)) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The resource of a kind that a plugin names. The API server is not asked about groups outside the grant.
    ///
    /// # Errors
    ///
    /// [`WriteError::UnknownKind`] when the API server does not serve the kind (yet); [`WriteError::Denied`] and
    /// [`WriteError::Malformed`] before any request.
    pub async fn resource_of(
        &self,
        write_identity: &WriteIdentity,
        kind: &GroupVersionKind,
    ) -> Result<Resource, WriteError> {
        change::checked_kind(kind)?;
        if write_identity.grants.allows_group(&kind.group) {
            return self.resolve(kind).await;
        }
        let group = if kind.group.is_empty() { "core" } else { &kind.group };
        Err(WriteError::Denied(format!(
            "the grant of plugin {} allows nothing in group {group}",
            write_identity.plugin
        )))
    }

    /// The resource of a kind that the host itself names.
    pub(super) async fn resolve(&self, kind: &GroupVersionKind) -> Result<Resource, WriteError> {
        match self.discovery.resolve(kind).await {
            Ok(Some(resource)) => Ok(resource),
            Ok(None) => Err(WriteError::UnknownKind(kind.to_string())),
            Err(e) => Err(WriteError::Transport(crate::chain(&e))),
        }
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
    fn garbage_is_an_error_and_not_a_panic() {
        assert!(parse_object("").is_err());
        assert!(parse_object("[1]").is_err());
        assert!(parse_object("{\"metadata\":7}").is_err());
    }
}
