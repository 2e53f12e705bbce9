//! Connections to registries, through the proxy that the environment names.

use crate::reference::is_loopback;
use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::proxy::matcher::Matcher;
use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tower::Service;

/// Connects directly, or through a proxy: `HTTPS_PROXY` or `ALL_PROXY`, unless `NO_PROXY` has the registry. A registry on this machine never has
/// a proxy.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    tcp: HttpConnector,
    proxies: Arc<Matcher>,
}

impl Connector {
    pub(super) fn new(tcp: HttpConnector) -> Self {
        Self { tcp, proxies: Arc::new(Matcher::from_env()) }
    }
}

impl Service<Uri> for Connector {
    type Response = <HttpConnector as Service<Uri>>::Response;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, registry: Uri) -> Self::Future {
        let mut tcp = self.tcp.clone();
        let found = self.proxies.intercept(&registry).filter(|_| !is_loopback(&registry.to_string()));
        Box::pin(async move {
            let Some(proxy) = found else { return tcp.call(registry).await.map_err(Into::into) };
            let failed = |error: Box<dyn Error + Send + Sync>| format!("through the proxy {}: {error}", proxy.uri());
            match proxy.uri().scheme_str() {
                Some("http") => {
                    let tunnel = Tunnel::new(proxy.uri().clone(), tcp);
                    let mut tunnel = match proxy.basic_auth() {
                        Some(login) => tunnel.with_auth(login.clone()),
                        None => tunnel,
                    };
                    Ok(tunnel.call(registry).await.map_err(|error| failed(error.into()))?)
                }
                Some("socks5" | "socks5h") => {
                    let socks = SocksV5::new(proxy.uri().clone(), tcp);
                    let mut socks = match proxy.raw_auth() {
                        Some((user, password)) => socks.with_auth(user.to_owned(), password.to_owned()),
                        None => socks,
                    };
                    Ok(socks.call(registry).await.map_err(|error| failed(error.into()))?)
                }
                _ => Err(failed("it must begin with http:// or socks5://".into()).into()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    /// The answer of a connection to a registry, and what the proxy on this port received.
    async fn connect(
        registry: &str,
        proxy: &dyn Fn(u16) -> Matcher,
        answer: &'static [u8],
    ) -> (Result<(), String>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxies = Arc::new(proxy(listener.local_addr().unwrap().port()));
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        let mut connector = Connector { tcp, proxies };
        let served = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = vec![0; 1000];
            let read = stream.read(&mut head).await.unwrap();
            stream.write_all(answer).await.unwrap();
            String::from_utf8_lossy(&head[..read]).into_owned()
        };
        let (connected, asked) = tokio::join!(connector.call(registry.parse().unwrap()), served);
        (connected.map(drop).map_err(|error| error.to_string()), asked)
    }

    #[tokio::test]
    async fn a_registry_is_reached_through_the_proxy_of_the_environment() {
        let proxy = |port: u16| Matcher::builder().https(format!("http://user:secret@127.0.0.1:{port}")).build();
        let (connected, asked) = connect("https://registry.invalid/v2/", &proxy, b"HTTP/1.1 200 OK\r\n\r\n").await;
        assert_eq!(connected, Ok(()));
        assert!(asked.starts_with("CONNECT registry.invalid:443 HTTP/1.1\r\n"), "{asked}");
        assert!(asked.to_lowercase().contains("proxy-authorization: basic dxnlcjpzzwnyzxq="), "{asked}");
        let (refused, _) = connect("https://registry.invalid/", &proxy, b"HTTP/1.1 407 No\r\n\r\n").await;
        let refused = refused.unwrap_err();
        assert!(refused.contains("through the proxy http://127.0.0.1") && !refused.contains("secret"), "{refused}");
    }

    #[tokio::test]
    async fn a_registry_that_no_proxy_names_or_that_is_on_this_machine_is_reached_directly() {
        // The listener is the registry; the proxy leads nowhere.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let registry = listener.local_addr().unwrap();
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        let proxies = Arc::new(Matcher::builder().all("http://127.0.0.1:1").no("other.invalid").build());
        let mut connector = Connector { tcp, proxies };
        connector.call(format!("https://{registry}/").parse().unwrap()).await.unwrap();
        let error = connector.call(Uri::from_static("https://other.invalid/")).await.unwrap_err().to_string();
        assert!(!error.contains("proxy"), "{error}");
        let error = connector.call(Uri::from_static("https://registry.invalid/")).await.unwrap_err().to_string();
        assert!(error.contains("through the proxy http://127.0.0.1:1"), "{error}");
    }
}
