//! The HTTP client of the exporter, over the host's hyper and rustls.

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;

/// Most bytes read from an answer.
const ANSWER_BYTES: usize = 64 << 10;

/// Sends spans on the runtime of the host. The thread of the exporter only waits.
#[derive(Clone, Debug)]
pub(super) struct CollectorClient {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    runtime: Handle,
    timeout: Duration,
    last: Arc<Mutex<Answer>>,
}

/// What became of the last request.
#[derive(Debug, Default)]
struct Answer {
    /// Why it had no answer.
    failure: Option<String>,
    partial: Option<Partial>,
}

/// What a collector says of spans in a success.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Partial {
    /// Spans that it rejected. Without any, the text is a warning.
    pub(super) rejected: usize,
    pub(super) why: String,
}

impl Partial {
    /// None: the collector took everything. An answer that cannot be read is a success too, for its status says so.
    fn of(response: &Response<Bytes>) -> Option<Self> {
        if !response.status().is_success() {
            return None;
        }
        let partial = ExportTraceServiceResponse::decode(response.body().clone()).ok()?.partial_success?;
        let rejected = usize::try_from(partial.rejected_spans).unwrap_or_default();
        let why = crate::quoted(&partial.error_message, 200);
        (rejected > 0 || !why.is_empty()).then_some(Self { rejected, why })
    }
}

impl CollectorClient {
    /// A client on the current runtime. It trusts the machine's certificate authorities.
    pub(super) fn new(timeout: Duration) -> Self {
        let mut roots = rustls::RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let tls = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().build();
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .pool_timer(TokioTimer::new())
            .build(connector);
        Self { client, runtime: Handle::current(), timeout, last: Arc::default() }
    }

    /// Why the last request had no answer, for the log.
    pub(super) fn take_failure(&self) -> Option<String> {
        self.last().failure.take()
    }

    /// What the collector said of spans when it answered the last request with a success.
    pub(super) fn take_partial(&self) -> Option<Partial> {
        self.last().partial.take()
    }

    fn last(&self) -> MutexGuard<'_, Answer> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send(self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let exchange = async {
            let response = self.client.request(request.map(Full::new)).await?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, ANSWER_BYTES).collect().await?;
            Ok::<_, HttpError>(Response::from_parts(head, body.to_bytes()))
        };
        let answered = match tokio::time::timeout(self.timeout, exchange).await {
            Ok(answered) => answered,
            Err(_elapsed) => Err(format!("no answer within {} ms", self.timeout.as_millis()).into()),
        };
        let failure = answered.as_ref().err().map(|error| crate::quoted(&crate::chain(error.as_ref()), 200));
        let partial = answered.as_ref().ok().and_then(Partial::of);
        *self.last() = Answer { failure, partial };
        answered
    }
}

impl HttpClient for CollectorClient {
    fn send_bytes<'a, 'b>(&'a self, request: Request<Bytes>) -> BoxFuture<'b, Result<Response<Bytes>, HttpError>>
    where
        'a: 'b,
        Self: 'b,
    {
        let sending = self.runtime.spawn(self.clone().send(request));
        Box::pin(async move { sending.await? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTracePartialSuccess;

    fn partial(status: u16, body: Vec<u8>) -> Option<Partial> {
        Partial::of(&Response::builder().status(status).body(Bytes::from(body)).unwrap())
    }

    fn says(rejected_spans: i64, why: &str) -> Vec<u8> {
        let partial = ExportTracePartialSuccess { rejected_spans, error_message: why.to_owned() };
        ExportTraceServiceResponse { partial_success: Some(partial) }.encode_to_vec()
    }

    #[test]
    fn a_collector_rejects_spans_in_a_success() {
        let some = |rejected, why: &str| Some(Partial { rejected, why: why.to_owned() });
        assert_eq!(partial(200, says(3, "limit\n")), some(3, "limit\\n"));
        assert_eq!(partial(202, says(3, "")), some(3, ""));
        assert_eq!(partial(200, says(0, "advice")), some(0, "advice"));
        assert_eq!(partial(200, says(-1, "less than nothing")), some(0, "less than nothing"));
        for taken in [Vec::new(), says(0, ""), b"<html>".to_vec(), b"{\"partialSuccess\":{}}".to_vec(), vec![255; 9]] {
            assert_eq!(partial(200, taken), None);
        }
        assert_eq!(partial(503, says(3, "limit")), None);
    }
}
