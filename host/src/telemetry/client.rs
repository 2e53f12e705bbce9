//! The HTTP client of the exporter, over the host's hyper and rustls.

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use opentelemetry_http::{HttpClient, HttpError};
use std::sync::{Arc, Mutex, PoisonError};
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
    /// Why the last request had no answer.
    failure: Arc<Mutex<Option<String>>>,
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
        Self { client, runtime: Handle::current(), timeout, failure: Arc::default() }
    }

    /// Why the last request had no answer, for the log.
    pub(super) fn take_failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
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
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
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
