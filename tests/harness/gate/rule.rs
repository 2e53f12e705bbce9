//! What a gate does with some of the requests.

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

/// What happens to a request.
#[derive(Clone, Debug)]
pub enum Action {
    /// It passes.
    Pass,
    /// It never reaches the server; this is answered.
    Answer {
        /// Status.
        status: StatusCode,
        /// Headers beside `content-type: application/json`.
        headers: Vec<(String, String)>,
        /// Body.
        body: Bytes,
    },
    /// It never reaches the server and is never answered.
    Silence,
    /// It never reaches the server; the connection is cut.
    Cut,
    /// It never reaches the server; this body is answered with 200, 1 KiB at a time.
    Trickle {
        /// The whole body.
        body: Bytes,
        /// Before each piece.
        pause: Duration,
    },
    /// It waits this long, then passes.
    Delay(Duration),
    /// It waits until this is cancelled, then passes.
    Until(CancellationToken),
    /// It has its effect, but the connection is cut before the answer.
    DropAnswer,
    /// It has its effect, but is never answered.
    HoldAnswer,
}

impl Action {
    /// A JSON answer.
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

    /// 200 with something that is not JSON.
    #[must_use]
    pub fn garbage() -> Self {
        Self::Answer { status: StatusCode::OK, headers: Vec::new(), body: Bytes::from_static(b"\xff<html>{]\0") }
    }
}

/// Which requests, and what happens to them.
#[derive(Clone, Debug)]
pub struct Rule {
    methods: Vec<Method>,
    path: String,
    times: Option<u64>,
    action: Action,
}

impl Rule {
    /// Every request. Narrow it with the other functions.
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

    /// Only so many, then it is as if it were not there.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }
}

/// A rule in force.
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

    /// Whether the rule takes this request; it is counted then.
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
    /// Holds back the first request of this method whose path and query contain `part`, until the token is cancelled.
    #[must_use]
    pub fn hold(&self, method: Method, part: &str) -> (RuleHandle, CancellationToken) {
        let go = CancellationToken::new();
        (self.rule(Rule::every(Action::Until(go.clone())).methods(&[method]).path(part).times(1)), go)
    }
}

/// Holds a rule in force. Dropping it ends the rule.
#[derive(Debug)]
pub struct RuleHandle(Arc<Armed>);

impl RuleHandle {
    pub(super) fn new(armed: Arc<Armed>) -> Self {
        Self(armed)
    }

    /// How many requests it took.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.0.hits.load(Ordering::SeqCst)
    }

    /// Waits until it took a request.
    ///
    /// # Errors
    ///
    /// When none comes soon.
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
