//! The server as its clients see it: raw HTTP, kube, kubectl, and the recordings of a real API server.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking and says why"
)]

mod authorization;
mod collection;
mod consistency;
mod http;
mod kube_client;
mod kubectl;
mod recordings;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use oarlock_devserver::{DevServer, Options, Running};
use serde_json::Value;

/// A server and a plain HTTP client.
pub(crate) struct Server {
    pub(crate) running: Running,
    http: Client<HttpConnector, Full<Bytes>>,
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) warnings: Vec<String>,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|e| panic!("{e}: {}", self.text))
    }

    /// The resourceVersion of the object or list.
    pub(crate) fn version(&self) -> u64 {
        self.json()["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
    }
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(Options::default()).await
    }

    pub(crate) async fn with(options: Options) -> Self {
        let running = DevServer::start(options).await.unwrap();
        Self { running, http: Client::builder(TokioExecutor::new()).build_http() }
    }

    pub(crate) fn kube(&self) -> kube::Client {
        kube::Client::try_from(kube::Config::new(self.running.url().parse().unwrap())).unwrap()
    }

    pub(crate) async fn send(&self, method: &str, path: &str, content_type: &str, body: impl Into<Bytes>) -> Answer {
        self.send_with(&[("content-type", content_type)], method, path, body).await
    }

    /// Sends with these headers.
    pub(crate) async fn send_with(
        &self,
        headers: &[(&str, &str)],
        method: &str,
        path: &str,
        body: impl Into<Bytes>,
    ) -> Answer {
        let mut request = ::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.running.url()))
            .header("user-agent", "test/1.0");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.http.request(request.body(Full::new(body.into())).unwrap()).await.unwrap();
        let status = response.status().as_u16();
        let warnings = response.headers().get_all("warning").iter().map(|w| w.to_str().unwrap().to_owned()).collect();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        Answer { status, warnings, text: String::from_utf8_lossy(&bytes).into_owned() }
    }

    pub(crate) async fn json(&self, method: &str, path: &str, body: Value) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.send(method, path, "application/json", body).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.json("GET", path, Value::Null).await
    }

    /// Asks until the answer has this status.
    pub(crate) async fn until(&self, path: &str, status: u16) -> Answer {
        let wait = async {
            loop {
                let answer = self.get(path).await;
                if answer.status == status {
                    return answer;
                }
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        let limit = std::time::Duration::from_secs(10);
        tokio::time::timeout(limit, wait).await.unwrap_or_else(|_| panic!("{path} never answered {status}"))
    }
}
