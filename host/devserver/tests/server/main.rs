//! The server from its clients' view: raw HTTP, kube, kubectl, and the recordings of a real API server.

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
mod faults;
mod http;
mod https;
mod kube_client;
mod kubectl;
mod persistence;
mod recordings;
mod webhooks;

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

/// A response.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) warnings: Vec<String>,
    pub(crate) retry_after: Option<String>,
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

/// A watch, read line by line.
pub(crate) struct Watch {
    body: hyper::body::Incoming,
    rest: Vec<u8>,
}

/// The next item of a watch.
#[derive(Debug, PartialEq)]
pub(crate) enum Next {
    /// Type and object.
    Event(String, Value),
    /// An orderly end.
    End,
    /// The connection was cut.
    Cut,
}

impl Watch {
    /// Waits for the next item.
    pub(crate) async fn next(&mut self) -> Next {
        let limit = std::time::Duration::from_secs(20);
        tokio::time::timeout(limit, self.line()).await.expect("something in time")
    }

    /// Whether nothing arrives for this long.
    pub(crate) async fn is_silent(&mut self, milliseconds: u64) -> bool {
        tokio::time::timeout(std::time::Duration::from_millis(milliseconds), self.line()).await.is_err()
    }

    /// Type and name of the next event.
    pub(crate) async fn event(&mut self) -> (String, String) {
        match self.next().await {
            Next::Event(kind, object) => (kind, object["metadata"]["name"].as_str().unwrap_or_default().to_owned()),
            other => panic!("{other:?} instead of an event"),
        }
    }

    async fn line(&mut self) -> Next {
        loop {
            if let Some(end) = self.rest.iter().position(|b| *b == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                let event: Value = serde_json::from_slice(&line).unwrap();
                return Next::Event(event["type"].as_str().unwrap().to_owned(), event["object"].clone());
            }
            match self.body.frame().await {
                None => return Next::End,
                Some(Err(_)) => return Next::Cut,
                Some(Ok(frame)) => self.rest.extend_from_slice(&frame.into_data().unwrap()),
            }
        }
    }
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(Options::default()).await
    }

    pub(crate) async fn with(options: Options) -> Self {
        Self::of(DevServer::start(options).await.unwrap())
    }

    pub(crate) fn of(running: Running) -> Self {
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
        self.try_send(headers, method, path, body).await.unwrap()
    }

    /// Sends with these headers; an error when the connection ends before or within the response.
    pub(crate) async fn try_send(
        &self,
        headers: &[(&str, &str)],
        method: &str,
        path: &str,
        body: impl Into<Bytes>,
    ) -> Result<Answer, Box<dyn std::error::Error>> {
        let mut request = ::http::Request::builder().method(method).uri(format!("{}{path}", self.running.url()));
        if !headers.iter().any(|(name, _)| *name == "user-agent") {
            request = request.header("user-agent", "test/1.0");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.http.request(request.body(Full::new(body.into())).unwrap()).await?;
        let status = response.status().as_u16();
        let warnings = response.headers().get_all("warning").iter();
        let warnings = warnings.map(|w| String::from_utf8_lossy(w.as_bytes()).into_owned()).collect();
        let retry_after = response.headers().get("retry-after").map(|v| v.to_str().unwrap().to_owned());
        let bytes = response.into_body().collect().await?.to_bytes();
        Ok(Answer { status, warnings, retry_after, text: String::from_utf8_lossy(&bytes).into_owned() })
    }

    /// Starts a watch; the path must contain the watch parameter.
    pub(crate) async fn watch(&self, path: &str) -> Watch {
        let request = ::http::Request::get(format!("{}{path}", self.running.url())).header("user-agent", "test/1.0");
        let response = self.http.request(request.body(Full::new(Bytes::new())).unwrap()).await.unwrap();
        assert_eq!(response.status(), 200);
        Watch { body: response.into_body(), rest: Vec::new() }
    }

    pub(crate) async fn json(&self, method: &str, path: &str, body: Value) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.send(method, path, "application/json", body).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.json("GET", path, Value::Null).await
    }

    /// Repeats the request until the response has this status.
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
