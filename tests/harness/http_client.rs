//! A small HTTP client for loopback servers.

use super::identity::Identity;
use anyhow::{Context, Result};
use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _},
};
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;

const DEADLINE: Duration = Duration::from_secs(30);

/// A complete response.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Status code.
    pub status: StatusCode,
    /// Headers, names in lower case.
    pub headers: HeaderMap,
    /// Body.
    pub body: Bytes,
}

impl Answer {
    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON; an empty body is null.
    ///
    /// # Errors
    ///
    /// The body is not JSON.
    pub fn json(&self) -> Result<Value> {
        if self.body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&self.body).with_context(|| format!("not JSON: {}", self.text()))
    }
}

/// A client for one server.
#[derive(Clone, Debug)]
pub struct HttpClient {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    base: String,
}

impl HttpClient {
    /// * `base` - scheme, host and port, with an optional path prefix; no slash at the end.
    #[must_use]
    pub fn new(base: &str) -> Self {
        Self::through(
            base,
            connector(RootCertStore::empty(), None, None).unwrap_or_else(|_| unreachable!("no identity")),
        )
    }

    /// A client with a connection for each request. A server may close an idle connection as the next request arrives; a process that was
    /// paused does so when it goes on.
    ///
    /// * `base` - as for [`new`](Self::new).
    #[must_use]
    pub fn without_reuse(base: &str) -> Self {
        let mut once = Self::new(base);
        let connector = connector(RootCertStore::empty(), None, None).unwrap_or_else(|_| unreachable!("no identity"));
        once.client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
        once
    }

    /// A client for HTTPS.
    ///
    /// * `ca_bundle` - trusted CAs, PEM.
    ///
    /// # Errors
    ///
    /// The bundle is invalid.
    pub fn with_ca(base: &str, ca_bundle: &[u8]) -> Result<Self> {
        Ok(Self::through(base, trusting(ca_bundle, None)?))
    }

    /// A client for HTTPS to a server whose certificate has another name than `base`.
    ///
    /// # Errors
    ///
    /// The bundle is invalid, or the name is no DNS name.
    pub fn with_ca_named(base: &str, ca_bundle: &[u8], name: &str) -> Result<Self> {
        Ok(Self::through(base, trusting(ca_bundle, Some(name))?))
    }

    /// A client for HTTPS with a client certificate.
    ///
    /// # Errors
    ///
    /// The bundle or the identity is invalid.
    pub fn with_identity(base: &str, ca_bundle: &[u8], identity: &Identity) -> Result<Self> {
        Ok(Self::through(base, connector(roots(ca_bundle)?, None, Some(identity))?))
    }

    fn through(base: &str, connector: HttpsConnector<HttpConnector>) -> Self {
        Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
            base: base.trim_end_matches('/').to_owned(),
        }
    }

    /// The base URL.
    #[must_use]
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Sends one request and reads the whole response, with any status.
    ///
    /// # Errors
    ///
    /// No complete response within 30 s.
    pub async fn send(&self, method: Method, path: &str, headers: &[(&str, &str)], body: Bytes) -> Result<Answer> {
        let what = format!("{method} {}{path}", self.base);
        let uri: Uri = format!("{}{path}", self.base).parse().with_context(|| what.clone())?;
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body))?;
        let exchange = async {
            let response = self.client.request(request).await?;
            let (parts, body) = response.into_parts();
            let body = body.collect().await?.to_bytes();
            anyhow::Ok(Answer { status: parts.status, headers: parts.headers, body })
        };
        timeout(DEADLINE, exchange).await.with_context(|| format!("{what}: no answer"))?.with_context(|| what)
    }

    /// GET.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub async fn get(&self, path: &str) -> Result<Answer> {
        self.send(Method::GET, path, &[], Bytes::new()).await
    }

    /// A request with a JSON body (null: none).
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub async fn json(&self, method: Method, path: &str, headers: &[(&str, &str)], body: &Value) -> Result<Answer> {
        let bytes = if body.is_null() { Bytes::new() } else { body.to_string().into() };
        let mut all = vec![("content-type", "application/json"), ("accept", "application/json")];
        all.extend_from_slice(headers);
        self.send(method, path, &all, bytes).await
    }
}

/// A connector for HTTPS servers.
///
/// * `ca_bundle` - trusted CAs, PEM.
/// * `name` - expected name in the certificate; by default the name in the URL.
///
/// # Errors
///
/// The bundle is invalid, or the name is no DNS name.
pub fn trusting(ca_bundle: &[u8], name: Option<&str>) -> Result<HttpsConnector<HttpConnector>> {
    let name = name.map(|name| ServerName::try_from(name.to_owned())).transpose()?;
    connector(roots(ca_bundle)?, name, None)
}

fn roots(ca_bundle: &[u8]) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca_bundle) {
        roots.add(certificate.context("not PEM")?)?;
    }
    Ok(roots)
}

fn connector(
    roots: RootCertStore,
    name: Option<ServerName<'static>>,
    identity: Option<&Identity>,
) -> Result<HttpsConnector<HttpConnector>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap_or_else(|_| unreachable!("the provider has the default versions"))
        .with_root_certificates(roots);
    let tls = match identity {
        None => tls.with_no_client_auth(),
        Some(identity) => {
            let chain =
                CertificateDer::pem_slice_iter(identity.certificate.as_bytes()).collect::<Result<Vec<_>, _>>()?;
            tls.with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(identity.key.as_bytes())?)?
        }
    };
    let builder = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    Ok(match name {
        Some(name) => builder.with_server_name_resolver(FixedServerNameResolver::new(name)).enable_http1().build(),
        None => builder.enable_http1().build(),
    })
}
