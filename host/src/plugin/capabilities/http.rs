//! The `http` import: one request and its response, to granted origins only.

use super::DESCRIBING;
use crate::grants::Grants;
use crate::plugin::bindings::http;
use crate::plugin::instance::State;
use crate::plugin::{HttpFailure, WithheldRequest};
use http_body_util::Full;
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
    async fn send(&mut self, request: http::Outgoing) -> wasmtime::Result<Result<http::Response, http::Failure>> {
        let plugin = self.guest.plugin.clone();
        let (request, deadline) = match self.checked(request) {
            Ok(checked) => checked,
            Err(e) => {
                if self.shared.flood.admits(&plugin) {
                    tracing::warn!(plugin, key = self.run.key, error = %describe(&e), "http request refused");
                }
                return Ok(Err(e));
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
            return Ok(Err(http::Failure::TimedOut));
        };
        let (method, url) = (request.method().clone(), redacted(request.uri()));
        let began = Instant::now();
        let most_bytes = (self.limits().http_answer_kib as usize) << 10;
        let guard = self.run.guard.clone();
        if !guard.held() {
            return Ok(Err(http::Failure::Denied(LEASE_LOST.to_owned())));
        }
        let answered = tokio::select! {
            biased;
            () = guard.over() => return Ok(Err(http::Failure::Denied(LEASE_LOST.to_owned()))),
            answered = self.guest.http.send(request, deadline, most_bytes) => answered,
        };
        let code = answered.as_ref().ok().map(|response| response.status().as_u16());
        self.guest.metrics.http_request(code);
        tracing::debug!(
            plugin, key = self.run.key, correlation_id = self.run.correlation_id,
            %method, url, code, duration_ms = crate::milliseconds(began.elapsed()), "http request"
        );
        Ok(answered.map(|response| to_wit(&response)).map_err(|failure| match failure {
            HttpFailure::Unreachable(reason) => http::Failure::Unreachable(reason),
            HttpFailure::TimedOut => http::Failure::TimedOut,
            HttpFailure::TooLarge(limit) => http::Failure::TooLarge(limit),
            HttpFailure::Invalid(reason) => http::Failure::Invalid(reason),
        }))
    }
}

impl State {
    /// The outgoing request, if it is allowed.
    fn checked(
        &mut self,
        request: http::Outgoing,
    ) -> Result<(::http::Request<Full<bytes::Bytes>>, Instant), http::Failure> {
        if self.run.reads.is_none() {
            return Err(http::Failure::Denied(DESCRIBING.to_owned()));
        }
        self.saw_outside = true;
        let limit = self.limits().http_requests;
        self.spent.http_requests = self.spent.http_requests.saturating_add(1);
        if self.spent.http_requests > limit {
            return Err(http::Failure::Denied(format!(
                "more than {limit} http requests in one reconcile (limits.httpRequests)"
            )));
        }
        check_sizes(&request, self.limits().http_request_kib)?;
        let headers = request.headers.iter().map(|header| (header.name.as_str(), header.value.as_str()));
        let (guest, dry_run) = (&self.guest, self.run.dry_run);
        let outgoing = granted(&guest.grants, &guest.plugin, (&request.method, &request.url), headers, dry_run)?;
        if let Some(withheld) = guest.http.withheld()
            && !guest.grants.is_safe_request(&request.method, outgoing.uri().path())
        {
            let (plugin, method, url) = (guest.plugin.clone(), request.method, redacted(outgoing.uri()));
            let why = format!("{method} {url} is not sent: a plan sends no request with effects");
            let request_of_plan =
                WithheldRequest { plugin, key: self.run.key.clone(), method, url, body_sha256: String::new() };
            withheld.record(&self.run.correlation_id, request_of_plan, &request.body);
            return Err(http::Failure::Denied(why));
        }
        let outgoing = outgoing.map(|()| Full::new(bytes::Bytes::from(request.body)));
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
) -> Result<::http::Request<()>, http::Failure> {
    let url = Url::parse(url).map_err(|e| {
        // The part before an @ may be a password, and the part after a question mark a token.
        let shown = url.rsplit('@').next().and_then(|rest| rest.split('?').next()).unwrap_or_default();
        let quoted = crate::shorten(shown, QUOTED_BYTES);
        http::Failure::Invalid(format!("{quoted:?} is not an absolute URL: {e}"))
    })?;
    if !url.username().is_empty() || url.password().is_some() {
        // URLs appear in logs, also in those of servers.
        let origin = url.origin().ascii_serialization();
        return Err(http::Failure::Invalid(format!("credentials in the URL to {origin} are not sent: use a header")));
    }
    if !grants.allows_origin(&url) {
        return Err(http::Failure::Denied(format!(
            "origin {} is not granted to plugin {plugin} (http.origins has: {})",
            url.origin().ascii_serialization(),
            grants.origins().join(", ")
        )));
    }
    if dry_run && !grants.is_safe_request(method, url.path()) {
        return Err(http::Failure::Denied(format!(
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
            return Err(http::Failure::Invalid(why));
        }
        if !OF_CONNECTION.contains(&plain.as_str()) && !plain.starts_with("proxy-") {
            outgoing = outgoing.header(name, value);
        }
    }
    outgoing.body(()).map_err(|e| http::Failure::Invalid(e.to_string()))
}

/// Checks the sizes before any costly processing.
fn check_sizes(request: &http::Outgoing, most_kib: u32) -> Result<(), http::Failure> {
    let headers: usize = request.headers.iter().map(|h| h.name.len() + h.value.len()).sum();
    let fault = if request.method.len() > LONGEST_METHOD {
        format!("a method of {} bytes; at most {LONGEST_METHOD} are taken", request.method.len())
    } else if request.url.len() > LONGEST_URL {
        format!("a URL of {} bytes; at most {LONGEST_URL} are taken", request.url.len())
    } else if request.headers.len() > MOST_HEADERS || headers > HEADER_LIMIT_BYTES {
        let count = request.headers.len();
        format!("{count} headers of {headers} bytes; at most {MOST_HEADERS} of {HEADER_LIMIT_BYTES} bytes are taken")
    } else if request.body.len() > (most_kib as usize) << 10 {
        let kib = request.body.len().div_ceil(1 << 10);
        format!("a body of {kib} KiB; at most {most_kib} KiB are sent (limits.httpRequestKib)")
    } else {
        return Ok(());
    };
    Err(http::Failure::Invalid(fault))
}

fn to_wit(response: &::http::Response<bytes::Bytes>) -> http::Response {
    let headers = response.headers().iter().map(|(name, value)| http::Header {
        name: name.as_str().to_owned(),
        value: String::from_utf8_lossy(value.as_bytes()).into_owned(),
    });
    http::Response { status: response.status().as_u16(), headers: headers.collect(), body: response.body().to_vec() }
}

/// A URL for the log, without its query, which may contain secrets.
fn redacted(uri: &::http::Uri) -> String {
    let path = crate::shorten(uri.path(), QUOTED_BYTES);
    format!("{}://{}{path}", uri.scheme_str().unwrap_or(""), uri.authority().map_or("", |a| a.as_str()))
}

fn describe(failure: &http::Failure) -> String {
    match failure {
        http::Failure::Denied(reason) | http::Failure::Invalid(reason) | http::Failure::Unreachable(reason) => {
            reason.clone()
        }
        http::Failure::TimedOut => "timed out".to_owned(),
        http::Failure::TooLarge(limit) => format!("the answer is larger than {limit} bytes"),
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
