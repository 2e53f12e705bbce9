//! The HTTP client for plugins: every request passes it, after the check of its grant.

use super::recorded::RecordedHttp;
use super::stubs::HttpStubs;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Why a request has no response.
#[derive(Debug)]
pub enum HttpFailure {
    /// No connection, or a broken one.
    Unreachable(String),
    /// The deadline passed.
    TimedOut,
    /// The body exceeds this many bytes.
    TooLarge(u64),
    /// The request is malformed.
    Invalid(String),
}

/// An HTTP client with limits. Cheap to clone.
#[derive(Clone, Debug)]
pub struct HttpGate {
    to: To,
}

#[derive(Clone, Debug)]
enum To {
    World(Box<Client<HttpsConnector<HttpConnector>, Full<Bytes>>>),
    Recorded(RecordedHttp),
    Stubs(HttpStubs, Cut),
}

/// Whether the host of a client is cut off from all services.
#[derive(Clone)]
struct Cut(Arc<dyn Fn() -> bool + Send + Sync>);

impl std::fmt::Debug for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cut")
    }
}

impl HttpGate {
    /// A client that trusts the machine's certificate authorities. Without any, https fails and http works.
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

    /// A client without a network, which returns recorded responses.
    #[must_use]
    pub fn recorded(exchanges: RecordedHttp) -> Self {
        Self { to: To::Recorded(exchanges) }
    }

    /// A client without a network, which the stubs answer.
    ///
    /// * `cut` - whether this host is cut off: its requests reach no stub.
    #[must_use]
    pub fn stubs(stubs: HttpStubs, cut: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { to: To::Stubs(stubs, Cut(Arc::new(cut))) }
    }

    /// Sends one request and reads its whole response before `deadline`. Redirects are returned like any other response.
    ///
    /// * `most_bytes` - limit of the response's body.
    ///
    /// # Errors
    ///
    /// See [`HttpFailure`]; after [`HttpFailure::Unreachable`] and [`HttpFailure::TimedOut`] the request may have taken effect.
    pub async fn send(
        &self,
        request: http::Request<Full<Bytes>>,
        deadline: Instant,
        most_bytes: usize,
    ) -> Result<http::Response<Bytes>, HttpFailure> {
        let client = match &self.to {
            To::World(client) => client,
            To::Recorded(exchanges) => return exchanges.send(request).await,
            To::Stubs(_, cut) if (cut.0)() => {
                return Err(HttpFailure::Unreachable("this host is cut off".to_owned()));
            }
            To::Stubs(stubs, _) => {
                let answered = tokio::time::timeout_at(deadline, stubs.send(request)).await;
                return match answered.unwrap_or(Err(HttpFailure::TimedOut)) {
                    Ok(response) if response.body().len() > most_bytes => Err(HttpFailure::TooLarge(most_bytes as u64)),
                    answered => answered,
                };
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    /// The target of a redirect may be an origin that is not granted.
    #[tokio::test]
    async fn a_redirect_is_an_answer_and_is_not_followed() {
        let elsewhere = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", server.local_addr().unwrap());
        let location = format!("http://{}/", elsewhere.local_addr().unwrap());
        let redirecting = tokio::spawn(async move {
            let (mut stream, _) = server.accept().await.unwrap();
            let _asked = stream.read(&mut [0; 1024]).await.unwrap();
            let answer = format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
        });
        let request = http::Request::get(url).body(Full::default()).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        let answer = HttpGate::new().send(request, deadline, 1024).await.unwrap();
        assert_eq!(answer.status(), 302);
        redirecting.await.unwrap();
        assert!(elsewhere.accept().now_or_never().is_none(), "it was followed");
    }
}
