//! Stubs of HTTP services: answers to requests of plugins without a network, as often as they come.

use super::http_gate::HttpFailure;
use super::tape::Sent;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Most requests that are remembered; further ones are answered and forgotten.
const MOST_REQUESTS: usize = 100_000;

/// The answer of a stub.
pub type StubAnswer = Result<http::Response<Bytes>, HttpFailure>;

/// A stub: the requests that it answers, and its answer.
pub struct HttpStub {
    /// Whether the stub answers a request.
    pub fits: Box<dyn Fn(&Sent) -> bool + Send + Sync>,
    /// Carries a request out, and answers it.
    pub answer: Box<dyn Fn(&Sent) -> StubAnswer + Send + Sync>,
    /// How many requests it answers. None: all.
    pub times: Option<u32>,
    /// Time until the answer.
    pub delay: Duration,
    /// The records that it keeps. None: it keeps nothing between requests.
    pub records: Option<Box<dyn Fn() -> Vec<Collection> + Send + Sync>>,
}

/// A collection of a stub that keeps records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collection {
    /// URL.
    pub url: String,
    /// In the order of their creation.
    pub records: Vec<Record>,
}

/// A record of a stub.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Its id, if the stub chose it.
    pub id: Option<String>,
    /// All fields.
    pub fields: Value,
    /// Those fields that the stub counts: id, revision, times.
    pub counted: Vec<String>,
    /// Values of fields that the stub chose, which differ from record to record.
    pub chosen: Vec<String>,
}

/// A fault of a service.
pub struct HttpFault {
    /// For [`HttpStubs::remove_fault`].
    pub id: String,
    /// The requests that it strikes.
    pub fits: Box<dyn Fn(&Sent) -> bool + Send + Sync>,
    /// The number of matches before the first fault.
    pub skip: u64,
    /// The number of faults. None: until it is removed.
    pub times: Option<u64>,
    /// What happens to the request.
    pub effect: FaultEffect,
    /// Whether the request is carried out first.
    pub after_effect: bool,
}

impl std::fmt::Debug for HttpFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpFault").field("id", &self.id).field("effect", &self.effect).finish_non_exhaustive()
    }
}

/// What a fault of a service does.
#[derive(Clone, Debug)]
pub enum FaultEffect {
    /// Answers this.
    Answer(http::Response<Bytes>),
    /// The answer takes this long.
    Delay(Duration),
    /// No answer comes.
    Hang,
    /// The connection breaks.
    Cut,
    /// The host crashes: see [`HttpStubs::crashes`].
    Crash,
}

impl std::fmt::Debug for HttpStub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpStub").field("times", &self.times).field("delay", &self.delay).finish_non_exhaustive()
    }
}

/// The stubs of all services. The first one that fits answers. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct HttpStubs {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    stubs: Vec<HttpStub>,
    sent: Vec<Sent>,
    /// Lines about requests that no stub answers.
    unanswered: Vec<String>,
    /// Lines about requests that changed records.
    writes: Vec<String>,
    /// Each with whether it struck.
    faults: Vec<(HttpFault, bool)>,
    crashes: u64,
}

impl Inner {
    /// The fault that strikes a request: the first one that is due.
    fn strike(&mut self, sent: &Sent) -> Option<(FaultEffect, bool)> {
        let due = self.faults.iter_mut().filter(|(fault, _)| fault.times != Some(0) && (fault.fits)(sent)).find_map(
            |one| {
                let (fault, struck) = one;
                let due = fault.skip == 0;
                fault.skip = fault.skip.saturating_sub(1);
                *struck |= due;
                due.then_some(fault)
            },
        )?;
        due.times = due.times.map(|times| times.saturating_sub(1));
        if matches!(due.effect, FaultEffect::Crash) {
            self.crashes += 1;
        }
        Some((due.effect.clone(), due.after_effect))
    }
}

impl HttpStubs {
    /// Adds stubs before the present ones.
    pub fn add(&self, stubs: Vec<HttpStub>) {
        self.lock().stubs.splice(0..0, stubs);
    }

    /// The requests since the last call, in their order.
    #[must_use]
    pub fn take_requests(&self) -> Vec<Sent> {
        std::mem::take(&mut self.lock().sent)
    }

    /// The requests since the last call that no stub answered: `GET http://…`.
    #[must_use]
    pub fn take_unanswered(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().unanswered)
    }

    /// The requests since the last call that changed records: `POST http://…`.
    #[must_use]
    pub fn take_writes(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().writes)
    }

    /// Everything that the stubs keep, in their order.
    #[must_use]
    pub fn records(&self) -> Vec<Collection> {
        self.lock().stubs.iter().filter_map(|stub| stub.records.as_ref()).flat_map(|records| records()).collect()
    }

    /// Adds a fault after the present ones.
    pub fn add_fault(&self, fault: HttpFault) {
        self.lock().faults.push((fault, false));
    }

    /// Removes a fault. False: there is none of this id.
    #[must_use]
    pub fn remove_fault(&self, id: &str) -> bool {
        let faults = &mut self.lock().faults;
        let before = faults.len();
        faults.retain(|(fault, _)| fault.id != id);
        faults.len() < before
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.lock().faults.clear();
    }

    /// The ids of the faults.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        self.lock().faults.iter().map(|(fault, _)| fault.id.clone()).collect()
    }

    /// The ids of the faults that have not struck.
    #[must_use]
    pub fn idle_faults(&self) -> Vec<String> {
        self.lock().faults.iter().filter(|(_, struck)| !struck).map(|(fault, _)| fault.id.clone()).collect()
    }

    /// How often a fault crashed the host.
    #[must_use]
    pub fn crashes(&self) -> u64 {
        self.lock().crashes
    }

    pub(super) async fn send(&self, request: http::Request<Full<Bytes>>) -> StubAnswer {
        let (head, body) = request.into_parts();
        let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let sent = Sent::of(&head, body);
        let struck = self.strike(&sent);
        if let Some((FaultEffect::Delay(delay), false)) = &struck {
            tokio::time::sleep(*delay).await;
        }
        let carried_out =
            struck.as_ref().is_none_or(|(effect, after)| *after || matches!(effect, FaultEffect::Delay(_)));
        let answer = if carried_out {
            let (delay, answer) = self.answer(&sent);
            tokio::time::sleep(delay).await;
            answer
        } else {
            Err(HttpFailure::Unreachable("the connection broke".to_owned()))
        };
        match struck {
            None | Some((FaultEffect::Delay(_), false)) => answer,
            Some((FaultEffect::Delay(delay), true)) => {
                tokio::time::sleep(delay).await;
                answer
            }
            Some((FaultEffect::Answer(answer), _)) => Ok(answer),
            Some((FaultEffect::Hang, _)) => std::future::pending().await,
            Some((FaultEffect::Cut | FaultEffect::Crash, _)) => {
                Err(HttpFailure::Unreachable("the connection broke before the answer".to_owned()))
            }
        }
    }

    /// Takes note of a request, and of what strikes it.
    fn strike(&self, sent: &Sent) -> Option<(FaultEffect, bool)> {
        let mut inner = self.lock();
        if inner.sent.len() < MOST_REQUESTS {
            inner.sent.push(sent.clone());
        }
        inner.strike(sent)
    }

    fn answer(&self, sent: &Sent) -> (Duration, StubAnswer) {
        let mut inner = self.lock();
        let line = format!("{} {}", sent.method, sent.url);
        let fitting = inner.stubs.iter_mut().find(|stub| stub.times != Some(0) && (stub.fits)(sent));
        let Some(stub) = fitting else {
            let reason = format!("no stub answers {line}");
            if inner.unanswered.len() < MOST_REQUESTS {
                inner.unanswered.push(line);
            }
            return (Duration::ZERO, Err(HttpFailure::Unreachable(reason)));
        };
        stub.times = stub.times.map(|times| times.saturating_sub(1));
        let (delay, answer) = (stub.delay, (stub.answer)(sent));
        let done = answer.as_ref().is_ok_and(|answer| answer.status().is_success());
        let writes = stub.records.is_some() && done && !["GET", "HEAD"].contains(&sent.method.as_str());
        if writes && inner.writes.len() < MOST_REQUESTS {
            inner.writes.push(line);
        }
        (delay, answer)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
