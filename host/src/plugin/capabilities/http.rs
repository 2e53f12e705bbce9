//! `http`: one request, one answer, granted origins only.

use super::DESCRIBING;
use crate::plugin::HttpFailure;
use crate::plugin::bindings::http;
use crate::plugin::instance::State;
use http_body_util::Full;
use std::time::Duration;
use tokio::time::Instant;
use url::Url;

impl http::Host for State {
    async fn send(&mut self, request: http::Outgoing) -> wasmtime::Result<Result<http::Response, http::Failure>> {
        let plugin = self.guest.plugin.clone();
        let request = match self.checked(request) {
            Ok(request) => request,
            Err(e) => {
                tracing::warn!(plugin, key = self.run.key, error = %describe(&e), "http request refused");
                return Ok(Err(e));
            }
        };
        let (request, deadline) = request;
        let (method, url) = (request.method().clone(), redacted(request.uri()));
        let began = Instant::now();
        let answered = self.guest.http.send(request, deadline).await;
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
        let limit = self.guest.grants.limits().http_requests;
        self.http_requests = self.http_requests.saturating_add(1);
        if self.http_requests > limit {
            return Err(http::Failure::Denied(format!(
                "more than {limit} http requests in one reconcile (limits.httpRequests)"
            )));
        }
        let url = Url::parse(&request.url)
            .map_err(|e| http::Failure::Invalid(format!("{:?} is not an absolute URL: {e}", request.url)))?;
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
                url.path()
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
        let mut deadline = self.deadline;
        if request.timeout_ms > 0 {
            deadline = deadline.min(Instant::now() + Duration::from_millis(u64::from(request.timeout_ms)));
        }
        Ok((outgoing, deadline))
    }
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
    format!("{}://{}{}", uri.scheme_str().unwrap_or(""), uri.authority().map_or("", |a| a.as_str()), uri.path())
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
