//! `http`: one request, one answer, granted origins only.

use super::DESCRIBING;
use crate::plugin::HttpFailure;
use crate::plugin::bindings::http;
use crate::plugin::instance::State;
use http_body_util::Full;
use std::time::Duration;
use tokio::time::Instant;
use url::Url;

/// Longest method and URL, and most headers and their names and values together, in bytes.
const LONGEST_METHOD: usize = 32;
const LONGEST_URL: usize = 8 << 10;
const MOST_HEADERS: usize = 100;
const HEADER_LIMIT_BYTES: usize = 64 << 10;

/// Whoever asks gets no further, its reconcile is about to be cut off.
const LEASE_LOST: &str = "another host may reconcile this plugin: the lease is lost";

/// Longest piece of what a guest sent in a message to it or in the log.
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
        let term = self.run.term.clone();
        if !term.held() {
            return Ok(Err(http::Failure::Denied(LEASE_LOST.to_owned())));
        }
        let answered = tokio::select! {
            biased;
            () = term.over() => return Ok(Err(http::Failure::Denied(LEASE_LOST.to_owned()))),
            answered = self.guest.http.send(request, deadline, most_bytes) => answered,
        };
        let code = answered.as_ref().ok().map(|response| response.status().as_u16());
        self.guest.metrics.http_request(code);
        tracing::debug!(
            plugin, key = self.run.key, correlation_id = self.run.correlation_id,
            %method, url, code, duration_ms = began.elapsed().as_millis(), "http request"
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
    /// The request as it goes out, if it may.
    fn checked(
        &mut self,
        request: http::Outgoing,
    ) -> Result<(::http::Request<Full<bytes::Bytes>>, Instant), http::Failure> {
        if self.run.reads.is_none() {
            return Err(http::Failure::Denied(DESCRIBING.to_owned()));
        }
        let limit = self.limits().http_requests;
        self.spent.http_requests = self.spent.http_requests.saturating_add(1);
        if self.spent.http_requests > limit {
            return Err(http::Failure::Denied(format!(
                "more than {limit} http requests in one reconcile (limits.httpRequests)"
            )));
        }
        check_sizes(&request, self.limits().http_request_kib)?;
        let url = Url::parse(&request.url).map_err(|e| {
            let quoted = crate::shorten(&request.url, QUOTED_BYTES);
            http::Failure::Invalid(format!("{quoted:?} is not an absolute URL: {e}"))
        })?;
        if !self.guest.grants.allows_origin(&url) {
            return Err(http::Failure::Denied(format!(
                "origin {} is not granted to plugin {} (http.origins has: {})",
                url.origin().ascii_serialization(),
                self.guest.plugin,
                self.guest.grants.origins().join(", ")
            )));
        }
        if self.run.dry_run && !self.guest.grants.is_safe_request(&request.method, url.path()) {
            return Err(http::Failure::Denied(format!(
                "{} {} would change something in a dry run",
                request.method,
                crate::shorten(url.path(), QUOTED_BYTES)
            )));
        }
        let mut outgoing = ::http::Request::builder().method(request.method.as_bytes()).uri(url.as_str());
        for header in &request.headers {
            // These belong to the connection, which is the host's.
            if ["host", "connection", "transfer-encoding", "content-length", "upgrade", "proxy-authorization"]
                .iter()
                .any(|ours| header.name.eq_ignore_ascii_case(ours))
            {
                continue;
            }
            outgoing = outgoing.header(header.name.as_str(), header.value.as_str());
        }
        let outgoing = outgoing
            .body(Full::new(bytes::Bytes::from(request.body)))
            .map_err(|e| http::Failure::Invalid(e.to_string()))?;
        let mut deadline = self.patience();
        if request.timeout_ms > 0 {
            deadline = deadline.min(Instant::now() + Duration::from_millis(u64::from(request.timeout_ms)));
        }
        Ok((outgoing, deadline))
    }
}

/// Bounds what costs before it is looked at.
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

/// A URL for the log: its query may carry secrets.
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
