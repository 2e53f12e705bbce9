//! A small HTTP client.

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

/// Requests to one server.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    base: String,
    pool: Pool<HttpConnector, Full<Bytes>>,
}

/// A response; a body that is not JSON is `Value::Null`.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) text: Bytes,
    pub(crate) body: Value,
}

impl Client {
    pub(crate) fn new(base: &str) -> Self {
        let pool = Pool::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build_http();
        Self { base: base.to_owned(), pool }
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(String, String)],
        body: &str,
    ) -> Result<Reply> {
        let mut request = http::Request::builder().method(method).uri(format!("{}{path}", self.base));
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let response = self.pool.request(request.body(Full::from(body.to_owned()))?).await?;
        let (head, body) = response.into_parts();
        let text = body.collect().await.context("reading the body")?.to_bytes();
        let body = serde_json::from_slice(&text).unwrap_or_default();
        Ok(Reply { status: head.status.as_u16(), headers: head.headers, text, body })
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Reply> {
        self.send("GET", path, &[], "").await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Result<Reply> {
        self.send("POST", path, &[], &body.to_string()).await
    }
}
