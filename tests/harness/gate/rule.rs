//! Rules of a gate for chosen requests.

use crate::harness::{wait::eventually, world::SOON};
use anyhow::{Result, ensure};
use bytes::Bytes;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio_util::sync::CancellationToken;

/// The treatment of a request.
#[derive(Clone, Debug)]
pub enum Action {
    /// Passes the request.
    Pass,
    /// Returns this response; the server does not get the request.
    Answer {
        /// Status.
        status: StatusCode,
        /// Headers beside `content-type: application/json`.
        headers: Vec<(String, String)>,
        /// Body.
        body: Bytes,
    },
    /// Never responds; the server does not get the request.
    Silence,
    /// Cuts the connection; the server does not get the request.
    Cut,
    /// Returns this body with 200, 1 KiB at a time; the server does not get the request.
    Trickle {
        /// The whole body.
        body: Bytes,
        /// Pause before each piece.
        pause: Duration,
    },
    /// Passes the request after this delay.
    Delay(Duration),
    /// Passes the request when this is cancelled.
    Until(CancellationToken),
    /// Passes the request, but cuts the connection before the response.
    DropAnswer,
    /// Passes the request, but never responds.
    HoldAnswer,
}

impl Action {
    /// A JSON response.
    #[must_use]
    pub fn json(status: StatusCode, body: &Value) -> Self {
        Self::Answer { status, headers: Vec::new(), body: body.to_string().into() }
    }

    /// Neutron's error body.
    #[must_use]
    pub fn neutron(status: StatusCode, kind: &str, message: &str) -> Self {
        Self::json(status, &json!({"NeutronError": {"type": kind, "message": message, "detail": ""}}))
    }

    /// A Kubernetes Status, with `Retry-After` in seconds if given.
    #[must_use]
    pub fn kubernetes(status: StatusCode, reason: &str, message: &str, retry_after: Option<u32>) -> Self {
        let body = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": reason, "code": status.as_u16()});
        let headers = retry_after.map(|seconds| ("retry-after".to_owned(), seconds.to_string())).into_iter().collect();
        Self::Answer { status, headers, body: body.to_string().into() }
    }

    /// 200 with a body that is not JSON.
    #[must_use]
    pub fn garbage() -> Self {
        Self::Answer { status: StatusCode::OK, headers: Vec::new(), body: Bytes::from_static(b"\xff<html>{]\0") }
    }
}

/// Matching requests and their treatment.
#[derive(Clone, Debug)]
pub struct Rule {
    methods: Vec<Method>,
    path: String,
    times: Option<u64>,
    action: Action,
}

impl Rule {
    /// Matches every request. The other functions narrow it.
    #[must_use]
    pub fn every(action: Action) -> Self {
        Self { methods: Vec::new(), path: String::new(), times: None, action }
    }

    /// Only requests with one of these methods.
    #[must_use]
    pub fn methods(mut self, methods: &[Method]) -> Self {
        self.methods = methods.to_vec();
        self
    }

    /// Only requests whose path and query contain this text.
    #[must_use]
    pub fn path(mut self, part: &str) -> Self {
        part.clone_into(&mut self.path);
        self
    }

    /// Applies to this many requests only.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }
}

/// An active rule.
#[derive(Debug)]
pub(super) struct Armed {
    rule: Rule,
    hits: AtomicU64,
    ended: AtomicBool,
}

impl Armed {
    pub(super) fn new(rule: Rule) -> Self {
        Self { rule, hits: AtomicU64::new(0), ended: AtomicBool::new(false) }
    }

    /// Whether the rule applies to this request, which is then counted.
    pub(super) fn take(&self, method: &Method, path: &str) -> bool {
        let rule = &self.rule;
        if self.ended.load(Ordering::SeqCst)
            || !(rule.methods.is_empty() || rule.methods.contains(method))
            || !path.contains(&rule.path)
        {
            return false;
        }
        let limit = rule.times.unwrap_or(u64::MAX);
        self.hits.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |hits| (hits < limit).then_some(hits + 1)).is_ok()
    }

    pub(super) fn action(&self) -> Action {
        self.rule.action.clone()
    }
}

impl super::Gate {
    /// Holds back the first request with this method whose path and query contain `part`, until the token is cancelled.
    #[must_use]
    pub fn hold(&self, method: Method, part: &str) -> (RuleHandle, CancellationToken) {
        let go = CancellationToken::new();
        (self.rule(Rule::every(Action::Until(go.clone())).methods(&[method]).path(part).times(1)), go)
    }
}

/// Keeps a rule active. Dropping it ends the rule.
#[derive(Debug)]
pub struct RuleHandle(Arc<Armed>);

impl RuleHandle {
    pub(super) fn new(armed: Arc<Armed>) -> Self {
        Self(armed)
    }

    /// The number of requests to which the rule applied.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.0.hits.load(Ordering::SeqCst)
    }

    /// Waits until the rule applied to a request.
    ///
    /// # Errors
    ///
    /// No such request arrives soon.
    pub async fn hit(&self) -> Result<()> {
        eventually(SOON, "a request that meets the rule", || async {
            ensure!(self.hits() > 0, "none has come yet: {:?}", self.0.rule);
            Ok(())
        })
        .await
    }
}

impl Drop for RuleHandle {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::SeqCst);
    }
}
