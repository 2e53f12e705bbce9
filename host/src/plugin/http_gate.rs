//! The one way out for plugins: every HTTP request passes here, after its grant was checked.

use super::recorded::RecordedHttp;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::time::Duration;
use tokio::time::Instant;

/// Why there is no answer.
#[derive(Debug)]
pub enum HttpFailure {
    /// No connection, or it broke.
    Unreachable(String),
    /// Not in time.
    TimedOut,
    /// The body is larger than this many bytes.
    TooLarge(u64),
    /// The request makes no sense.
    Invalid(String),
}

/// An HTTP client with bounds. Cheap to clone.
#[derive(Clone, Debug)]
pub struct HttpGate {
    to: To,
}

#[derive(Clone, Debug)]
enum To {
    World(Box<Client<HttpsConnector<HttpConnector>, Full<Bytes>>>),
    Recorded(RecordedHttp),
}

impl HttpGate {
    /// A gate that trusts the machine's certificate authorities. Where there are none, https fails and http works.
    #[must_use]
    pub fn new() -> Self {
        let connector = match HttpsConnectorBuilder::new().with_native_roots() {
            Ok(builder) => builder.https_or_http().enable_http1().build(),
            Err(e) => {
                tracing::warn!(error = %e, "no certificate authorities found: plugins' https requests will fail");
                let none = rustls::ClientConfig::builder()
                    .with_root_certificates(rustls::RootCertStore::empty())
                    .with_no_client_auth();
                HttpsConnectorBuilder::new().with_tls_config(none).https_or_http().enable_http1().build()
            }
        };
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .pool_max_idle_per_host(16)
            .pool_timer(TokioTimer::new())
            .build(connector);
        Self { to: To::World(Box::new(client)) }
    }

    /// A gate that leads nowhere: what is answered was written down.
    #[must_use]
    pub fn recorded(exchanges: RecordedHttp) -> Self {
        Self { to: To::Recorded(exchanges) }
    }

    /// Sends one request and reads its whole answer before `deadline`. Redirects are answers like any other.
    ///
    /// * `most_bytes` - of the answer's body.
    ///
    /// # Errors
    ///
    /// See [`HttpFailure`]; after [`HttpFailure::Unreachable`] and [`HttpFailure::TimedOut`] the request may have had its effect.
    pub async fn send(
        &self,
        request: http::Request<Full<Bytes>>,
        deadline: Instant,
        most_bytes: usize,
    ) -> Result<http::Response<Bytes>, HttpFailure> {
        let client = match &self.to {
            To::World(client) => client,
            To::Recorded(exchanges) => return exchanges.send(request).await,
        };
        let exchange = async {
            let response = client.request(request).await.map_err(|e| HttpFailure::Unreachable(crate::chain(&e)))?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, most_bytes).collect().await.map_err(|e| {
                if e.is::<http_body_util::LengthLimitError>() {
                    HttpFailure::TooLarge(most_bytes as u64)
                } else {
                    HttpFailure::Unreachable(crate::chain(e.as_ref()))
                }
            })?;
            Ok(http::Response::from_parts(head, body.to_bytes()))
        };
        tokio::time::timeout_at(deadline, exchange).await.unwrap_or(Err(HttpFailure::TimedOut))
    }
}

impl Default for HttpGate {
    fn default() -> Self {
        Self::new()
    }
}
