//! API requests for Leases: short deadlines, and no retry before the elector's next attempt.

use super::record::{LABEL, Record};
use http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::Value;
use std::time::Duration;

/// A Lease has a few hundred bytes; the list of the Leases of some thousand controllers stays below this limit.
const ANSWER_LIMIT_BYTES: usize = 16 << 20;

/// Why a request for a Lease failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum LeaseError {
    /// 409: another client modified or created the Lease in the meantime.
    #[error("conflict: the Lease was modified concurrently")]
    Conflict,
    /// 404.
    #[error("the Lease does not exist")]
    Gone,
    /// Any other failure.
    #[error("{0}")]
    Failed(String),
}

#[derive(Clone)]
pub(super) struct Client {
    client: kube::Client,
    namespace: String,
}

impl Client {
    pub(super) fn new(client: kube::Client, namespace: String) -> Self {
        Self { client, namespace }
    }

    fn path(&self, name: &str) -> String {
        let leases = ["apis", "coordination.k8s.io", "v1", "namespaces", &self.namespace, "leases"];
        oarlock_api::path::join(leases.into_iter().chain(Some(name).filter(|name| !name.is_empty())))
    }

    /// All Leases with Oarlock's label.
    pub(super) async fn list(&self, within: Duration) -> Result<Vec<Record>, LeaseError> {
        let path = format!("{}?labelSelector={}%3D{}", self.path(""), LABEL.0.replace('/', "%2F"), LABEL.1);
        let mut answer = self.send(Method::GET, path, None, within).await?;
        let Some(Value::Array(items)) = answer.get_mut("items").map(Value::take) else {
            return Err(LeaseError::Failed("the list of Leases has no items".to_owned()));
        };
        Ok(items.into_iter().filter_map(Record::read).collect())
    }

    pub(super) async fn get(&self, name: &str, within: Duration) -> Result<Record, LeaseError> {
        record(self.send(Method::GET, self.path(name), None, within).await?)
    }

    pub(super) async fn create(&self, lease: &Record, within: Duration) -> Result<Record, LeaseError> {
        record(self.send(Method::POST, self.path(""), Some(lease), within).await?)
    }

    /// Replaces a Lease. The API server refuses the update when the resourceVersion of `lease` is not the current one.
    pub(super) async fn update(&self, lease: &Record, within: Duration) -> Result<Record, LeaseError> {
        record(self.send(Method::PUT, self.path(lease.name()), Some(lease), within).await?)
    }

    async fn send(
        &self,
        method: Method,
        path: String,
        body: Option<&Record>,
        within: Duration,
    ) -> Result<Value, LeaseError> {
        let what = method.clone();
        let body = body.map(|lease| lease.document().to_string().into_bytes()).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json")
            .body(Body::from(body))
            .map_err(|e| LeaseError::Failed(e.to_string()))?;
        let answered = tokio::time::timeout(within, async {
            let response = self.client.send(request).await.map_err(|e| LeaseError::Failed(oarlock_text::chain(&e)))?;
            let (head, body) = response.into_parts();
            let body = http_body_util::Limited::new(body, ANSWER_LIMIT_BYTES);
            let body = body.collect().await.map_err(|e| LeaseError::Failed(oarlock_text::chain(e.as_ref())))?;
            Ok((head.status, body.to_bytes()))
        });
        let late = || LeaseError::Failed(format!("no answer within {} ms", within.as_millis()));
        let (status, body) = answered.await.map_err(|_elapsed| late())??;
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        match status {
            status if status.is_success() => Ok(answer),
            StatusCode::CONFLICT => Err(LeaseError::Conflict),
            StatusCode::NOT_FOUND if what != Method::POST => Err(LeaseError::Gone),
            status => {
                let message = answer.get("message").and_then(Value::as_str).unwrap_or_default();
                let message = oarlock_text::one_line(oarlock_text::shorten(message, 500));
                Err(LeaseError::Failed(format!("the API server answered {status} {message}")))
            }
        }
    }
}

fn record(answer: Value) -> Result<Record, LeaseError> {
    Record::read(answer).ok_or_else(|| LeaseError::Failed("the answer is no Lease".to_owned()))
}
