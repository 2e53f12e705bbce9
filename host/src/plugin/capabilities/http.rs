//! The `http` import: one request and its response, to granted origins only.

use super::DESCRIBING;
use crate::grants::Grants;
use crate::plugin::bindings::http;
use crate::plugin::instance::State;
use crate::plugin::tape::{Seen, SendFailure, Sent};
use crate::plugin::{HttpFailure, WithheldRequest};
use crate::secrets::KnownSecrets;
use crate::telemetry::{Span, SpanKind, inject};
use bytes::Bytes;
use http_body_util::Full;
use percent_encoding::percent_decode_str;
use std::time::Duration;
use tokio::time::Instant;
use url::Url;

/// Longest method and URL; most headers, and most bytes of their names and values together.
const LONGEST_METHOD: usize = 32;
const LONGEST_URL: usize = 8 << 10;
const MOST_HEADERS: usize = 100;
const HEADER_LIMIT_BYTES: usize = 64 << 10;

/// Connection headers, which belong to the host. They are omitted, as are all that begin with `proxy-`.
const OF_CONNECTION: [&str; 9] =
    ["host", "connection", "keep-alive", "transfer-encoding", "te", "trailer", "expect", "content-length", "upgrade"];

/// Headers that some servers and proxies accept as the method or the URL, as well as all that end with `method-override`. Grants and dry
/// runs check the request itself.
const OVERRIDES: [&str; 5] = ["x-http-method", "x-method", "x-original-method", "x-original-url", "x-rewrite-url"];

/// The guest gets no further after this error: its reconcile is about to be cancelled.
const LEASE_LOST: &str = "another host may reconcile this plugin: the lease is lost";

/// Longest quotation from a guest's request in an error or in the log.
const QUOTED_BYTES: usize = 256;

impl http::Host for State {
    async fn send(&mut self, mut request: http::Outgoing) -> wasmtime::Result<Result<http::Response, http::Failure>> {
        if self.run.reads.is_none() {
            return Ok(Err(http::Failure::Denied(DESCRIBING.to_owned())));
        }
        // Whatever becomes of the request.
        let sent_headers = request.headers.iter().filter(|header| header.value.len() <= HEADER_LIMIT_BYTES);
        sent_headers.for_each(|header| self.guest.secrets.learn_header(&header.name, &header.value));
        let taped = self.run.tape.is_some() || self.run.replay.is_some();
        // Before anything is copied.
        let fits = taped && check_sizes(&request, request.body.len(), self.limits().http_request_kib).is_ok();
        let body = Bytes::from(std::mem::take(&mut request.body));
        let sent = fits.then(|| sent(&request, &body));
        if let (Some(replay), Some(sent)) = (&self.run.replay, &sent)
            && let Some(answer) = replay.send(sent)
        {
            return Ok(answer.map(|response| to_wit(&response)).map_err(failure));
        }
        let answer = self.exchange(&request, body).await;
        for (name, value) in answer.iter().flat_map(|response| response.headers()) {
            self.guest.secrets.learn_header(name.as_str(), &String::from_utf8_lossy(value.as_bytes()));
        }
        let told = answer.as_ref().map(to_wit).map_err(|refused| failure(refused.clone()));
        if let (Some(tape), Some(sent)) = (&self.run.tape, sent) {
            tape.push(Seen::Http(self.phase, sent, answer));
        }
        Ok(told)
    }
}

impl State {
    /// Sends a request, if it is allowed.
    async fn exchange(
        &mut self,
        request: &http::Outgoing,
        body: Bytes,
    ) -> Result<::http::Response<Bytes>, SendFailure> {
        let plugin = self.guest.plugin.clone();
        let (mut request, deadline) = match self.checked(request, body) {
            Ok(checked) => checked,
            Err(e) => {
                if self.shared.flood.admits(&plugin) {
                    tracing::warn!(
                        plugin,
                        key = self.run.key,
                        error = self.guest.secrets.hidden(describe(&e)),
                        "http request refused"
                    );
                }
                return Err(e);
            }
        };
        let Ok(Ok(_turn)) = tokio::time::timeout_at(deadline, self.shared.http.acquire()).await else {
            if self.shared.flood.admits(&plugin) {
                tracing::warn!(
                    plugin,
                    key = self.run.key,
                    "http request not sent: too many at once (limits.httpConcurrent)"
                );
            }
            return Err(SendFailure::TimedOut);
        };
        let secrets = &self.guest.secrets;
        let (method, url) = (secrets.hidden(request.method().to_string()), redacted(request.uri(), secrets));
        let began = Instant::now();
        let most_bytes = (self.limits().http_answer_kib as usize) << 10;
        let guard = self.run.guard.clone();
        if !guard.held() {
            return Err(SendFailure::Denied(LEASE_LOST.to_owned()));
        }
        let span = span(&request, &self.guest.grants);
        // After the recording, which has the request as the guest passed it.
        let sent = span.within(async {
            inject(request.headers_mut());
            self.guest.http.send(request, deadline, most_bytes).await
        });
        let answered = tokio::select! {
            biased;
            () = guard.over() => {
                span.fail("lease_lost");
                return Err(SendFailure::Denied(LEASE_LOST.to_owned()));
            }
            answered = sent => answered,
        };
        let code = answered.as_ref().ok().map(|response| response.status().as_u16());
        end(&span, &answered);
        self.guest.metrics.http_request(code);
        tracing::debug!(
            plugin,
            key = self.run.key,
            correlation_id = self.run.correlation_id,
            method,
            url,
            code,
            duration_ms = crate::milliseconds(began.elapsed()),
            "http request"
        );
        answered.map_err(|failure| match failure {
            HttpFailure::Unreachable(reason) => SendFailure::Unreachable(reason),
            HttpFailure::TimedOut => SendFailure::TimedOut,
            HttpFailure::TooLarge(limit) => SendFailure::TooLarge(limit),
            HttpFailure::Invalid(reason) => SendFailure::Invalid(reason),
        })
    }

    /// The outgoing request, if it is allowed.
    fn checked(
        &mut self,
        request: &http::Outgoing,
        body: Bytes,
    ) -> Result<(::http::Request<Full<Bytes>>, Instant), SendFailure> {
        self.saw_outside = true;
        let limit = self.limits().http_requests;
        self.spent.http_requests = self.spent.http_requests.saturating_add(1);
        if self.spent.http_requests > limit {
            return Err(SendFailure::Denied(format!(
                "more than {limit} http requests in one reconcile (limits.httpRequests)"
            )));
        }
        check_sizes(request, body.len(), self.limits().http_request_kib)?;
        let headers = request.headers.iter().map(|header| (header.name.as_str(), header.value.as_str()));
        let (guest, dry_run) = (&self.guest, self.run.dry_run);
        let outgoing = granted(&guest.grants, &guest.plugin, (&request.method, &request.url), headers, dry_run)?;
        if let Some(withheld) = &self.run.withheld
            && !guest.grants.is_safe_request(&request.method, outgoing.uri().path())
        {
            let (plugin, method, url) =
                (guest.plugin.clone(), request.method.clone(), redacted(outgoing.uri(), &guest.secrets));
            let why = format!("{method} {url} is not sent: this run of the plugin has no effects");
            let not_sent =
                WithheldRequest { plugin, key: self.run.key.clone(), method, url, body_sha256: String::new() };
            withheld.record(&self.run.correlation_id, not_sent, &body);
            return Err(SendFailure::Denied(why));
        }
        let outgoing = outgoing.map(|()| Full::new(body));
        let mut deadline = self.patience();
        if request.timeout_ms > 0 {
            deadline = deadline.min(Instant::now() + Duration::from_millis(u64::from(request.timeout_ms)));
        }
        Ok((outgoing, deadline))
    }
}

/// The request without its body, if the grant allows it.
pub(in crate::plugin) fn granted<'a>(
    grants: &Grants,
    plugin: &str,
    (method, url): (&str, &str),
    headers: impl Iterator<Item = (&'a str, &'a str)>,
    dry_run: bool,
) -> Result<::http::Request<()>, SendFailure> {
    let url = Url::parse(url).map_err(|e| {
        // The part before an @ may be a password, and the part after a question mark a token.
        let shown = url.rsplit('@').next().and_then(|rest| rest.split('?').next()).unwrap_or_default();
        let quoted = crate::shorten(shown, QUOTED_BYTES);
        SendFailure::Invalid(format!("{quoted:?} is not an absolute URL: {e}"))
    })?;
    if !url.username().is_empty() || url.password().is_some() {
        // URLs appear in logs, also in those of servers.
        let origin = url.origin().ascii_serialization();
        return Err(SendFailure::Invalid(format!("credentials in the URL to {origin} are not sent: use a header")));
    }
    if !grants.allows_origin(&url) {
        return Err(SendFailure::Denied(format!(
            "origin {} is not granted to plugin {plugin} (http.origins has: {})",
            url.origin().ascii_serialization(),
            grants.origins().join(", ")
        )));
    }
    if dry_run && !grants.is_safe_request(method, url.path()) {
        return Err(SendFailure::Denied(format!(
            "{method} {} would change something in a dry run",
            crate::shorten(url.path(), QUOTED_BYTES)
        )));
    }
    let mut outgoing = ::http::Request::builder().method(method.as_bytes()).uri(url.as_str());
    for (name, value) in headers {
        // CGI and its descendants do not distinguish the two.
        let plain = name.to_ascii_lowercase().replace('_', "-");
        if OVERRIDES.contains(&plain.as_str()) || plain.ends_with("method-override") {
            let why = format!("the header {name:?} can stand for another method or URL: send the request itself");
            return Err(SendFailure::Invalid(why));
        }
        if !OF_CONNECTION.contains(&plain.as_str()) && !plain.starts_with("proxy-") {
            outgoing = outgoing.header(name, value);
        }
    }
    outgoing.body(()).map_err(|e| SendFailure::Invalid(e.to_string()))
}

/// Checks the sizes before any costly processing.
fn check_sizes(request: &http::Outgoing, body_bytes: usize, most_kib: u32) -> Result<(), SendFailure> {
    let headers: usize = request.headers.iter().map(|h| h.name.len() + h.value.len()).sum();
    let fault = if request.method.len() > LONGEST_METHOD {
        format!("a method of {} bytes; at most {LONGEST_METHOD} are taken", request.method.len())
    } else if request.url.len() > LONGEST_URL {
        format!("a URL of {} bytes; at most {LONGEST_URL} are taken", request.url.len())
    } else if request.headers.len() > MOST_HEADERS || headers > HEADER_LIMIT_BYTES {
        let count = request.headers.len();
        format!("{count} headers of {headers} bytes; at most {MOST_HEADERS} of {HEADER_LIMIT_BYTES} bytes are taken")
    } else if body_bytes > (most_kib as usize) << 10 {
        let kib = body_bytes.div_ceil(1 << 10);
        format!("a body of {kib} KiB; at most {most_kib} KiB are sent (limits.httpRequestKib)")
    } else {
        return Ok(());
    };
    Err(SendFailure::Invalid(fault))
}

/// The methods that traces name; any other is `_OTHER`, because a guest may call a method anything.
const METHODS: &str = "CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT TRACE";

/// What stands for a path that may contain a secret.
const HIDDEN_PATH: &str = "/_";

/// The span of a request: method, origin and path. Neither query, headers nor body.
fn span(request: &::http::Request<Full<Bytes>>, grants: &Grants) -> Span {
    let method = || METHODS.split(' ').find(|method| *method == request.method().as_str());
    let span = Span::child(SpanKind::Client, || method().unwrap_or("HTTP").into());
    span.set("http.request.method", || method().unwrap_or("_OTHER"));
    let uri = request.uri();
    span.set("url.full", || {
        let path = if shows_path(uri.path(), grants) { uri.path() } else { HIDDEN_PATH };
        format!("{}://{}{path}", uri.scheme_str().unwrap_or_default(), uri.authority().map_or("", |a| a.as_str()))
    });
    span.set("server.address", || uri.host().unwrap_or_default().to_owned());
    let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    span.set("server.port", || i64::from(uri.port_u16().unwrap_or(usual)));
    span
}

/// Whether a path is free of secrets: the plugin can read no Secret, and no value of a secret file is in it.
fn shows_path(path: &str, grants: &Grants) -> bool {
    let reads_secrets = ["get", "list", "watch"].iter().any(|verb| grants.allows_some(verb, "", "secrets", None));
    let decoded = percent_decode_str(path).decode_utf8_lossy();
    let mut values = grants.secrets().filter_map(|key| grants.config().get(key)).map(|value| value.trim());
    !reads_secrets && !values.any(|value| !value.is_empty() && (path.contains(value) || decoded.contains(value)))
}

/// Says in the span what came of the request.
fn end(span: &Span, answered: &Result<::http::Response<Bytes>, HttpFailure>) {
    match answered {
        Ok(response) => {
            let status = response.status();
            span.set("http.response.status_code", || i64::from(status.as_u16()));
            if status.is_client_error() || status.is_server_error() {
                span.fail(status.as_str().to_owned());
            }
        }
        Err(HttpFailure::Unreachable(_)) => span.fail("unreachable"),
        Err(HttpFailure::TimedOut) => span.fail("timeout"),
        Err(HttpFailure::TooLarge(_)) => span.fail("answer_too_large"),
        Err(HttpFailure::Invalid(_)) => span.fail("invalid_request"),
    }
}

/// The request as the guest passed it.
fn sent(request: &http::Outgoing, body: &Bytes) -> Sent {
    let headers = request.headers.iter().map(|header| (header.name.clone(), header.value.clone()));
    Sent { method: request.method.clone(), url: request.url.clone(), headers: headers.collect(), body: body.clone() }
}

fn failure(failure: SendFailure) -> http::Failure {
    match failure {
        SendFailure::Denied(reason) => http::Failure::Denied(reason),
        SendFailure::Unreachable(reason) => http::Failure::Unreachable(reason),
        SendFailure::TimedOut => http::Failure::TimedOut,
        SendFailure::TooLarge(limit) => http::Failure::TooLarge(limit),
        SendFailure::Invalid(reason) => http::Failure::Invalid(reason),
    }
}

fn to_wit(response: &::http::Response<Bytes>) -> http::Response {
    let headers = response.headers().iter().map(|(name, value)| http::Header {
        name: name.as_str().to_owned(),
        value: String::from_utf8_lossy(value.as_bytes()).into_owned(),
    });
    http::Response { status: response.status().as_u16(), headers: headers.collect(), body: response.body().to_vec() }
}

/// A URL for the log, without secrets, and without its query, which may contain others.
fn redacted(uri: &::http::Uri, secrets: &KnownSecrets) -> String {
    let path = secrets.hide(uri.path(), QUOTED_BYTES);
    format!("{}://{}{path}", uri.scheme_str().unwrap_or(""), uri.authority().map_or("", |a| a.as_str()))
}

fn describe(failure: &SendFailure) -> String {
    match failure {
        SendFailure::Denied(reason) | SendFailure::Invalid(reason) | SendFailure::Unreachable(reason) => reason.clone(),
        SendFailure::TimedOut => "timed out".to_owned(),
        SendFailure::TooLarge(limit) => format!("the answer is larger than {limit} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(url: &str, names: &[&str]) -> Result<::http::Request<()>, String> {
        let grant = serde_json::json!({"apiVersion": oarlock_manifest::API_VERSION, "kind": "PluginGrant",
            "http": {"origins": ["http://neutron"]}});
        let grants = Grants::without_secrets(&serde_json::from_value(grant).unwrap()).unwrap();
        let headers = names.iter().map(|name| (*name, "DELETE"));
        granted(&grants, "p", ("GET", url), headers, true).map_err(|failure| describe(&failure))
    }

    /// A dry run allows a GET, which the server would treat as a DELETE.
    #[test]
    fn t13_a_header_that_overrides_the_method_or_the_url_is_refused() {
        for name in
            ["X-HTTP-Method-Override", "x-http-method", "X_HTTP_Method_Override", "X-Original-URL", "X-Rewrite-URL"]
        {
            let refused = sent("http://neutron/v2.0/ports", &["accept", name]).unwrap_err();
            assert!(refused.contains(name), "{refused}");
        }
        sent("http://neutron/v2.0/ports", &["accept", "x-auth-token", "x-method-name"]).unwrap();
    }

    #[test]
    fn t13_credentials_in_a_url_are_refused_and_not_repeated() {
        for url in [
            "http://admin:hunter2@neutron/",
            "http://hunter2@neutron/",
            "http://:hunter2@neutron/",
            "http://a:hunter2@no host/",
            "/relative?token=hunter2",
        ] {
            let refused = sent(url, &[]).unwrap_err();
            assert!(!refused.contains("hunter2"), "{refused}");
        }
        sent("http://neutron/@here?user=a:b@c", &[]).unwrap();
    }

    #[test]
    fn t13_headers_of_the_connection_stay_with_the_host() {
        let ours =
            ["Expect", "TE", "Trailer", "Keep-Alive", "Proxy-Connection", "proxy-authorization", "Host", "Upgrade"];
        assert!(sent("http://neutron/", &ours).unwrap().headers().is_empty());
        let theirs = ["accept", "authorization", "x-auth-token", "expected"];
        assert_eq!(sent("http://neutron/", &theirs).unwrap().headers().len(), theirs.len());
    }
}
