//! The elector's task for one Lease: acquire, renew, release.

use super::LeaderElector;
use crate::LeadershipGuard;
use crate::client::LeaseError;
use crate::election::{ElectionIntent, ElectionState};
use crate::handover_hints::HandoverHints;
use crate::record::Record;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::watch;
use tokio::time::Instant;

/// How the leadership ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LeadershipEnd {
    /// The host released the Lease.
    Released,
    /// The host did not renew the Lease in time, or another host acquired it.
    Lost,
}

/// Result of a renewal.
enum Renewed {
    As(Record),
    NotNow,
    Lost,
}

impl LeaderElector {
    /// Runs the election of one Lease until the controller leaves it.
    pub(super) async fn run_election(self: Arc<Self>, election: Arc<ElectionState>) {
        let mut intents = election.intent.subscribe();
        let mut refreshes = self.refreshed.subscribe();
        let (mut paused_until, mut refused) = (None, String::new());
        loop {
            // Outside of the match, because the borrow would last as long as the match, which changes the value.
            let intent = *intents.borrow_and_update();
            match intent {
                ElectionIntent::Leave => return,
                ElectionIntent::Release => {
                    paused_until = Some(Instant::now() + self.timing.retry_period * 3);
                    election.intent.send_replace(ElectionIntent::Compete);
                    continue;
                }
                ElectionIntent::Idle | ElectionIntent::Compete => {}
            }
            // `changed` returns at once for a change since the last borrow.
            tokio::select! {
                _ = intents.changed() => continue,
                _ = refreshes.changed() => {}
            }
            let paused = paused_until.is_some_and(|until| Instant::now() < until);
            if election.intent() != ElectionIntent::Compete || paused || self.stopping.load(Ordering::Acquire) {
                continue;
            }
            if !self.may_acquire(&election) {
                continue;
            }
            // Several hosts that see free Leases at the same moment acquire some each.
            tokio::time::sleep(self.timing.retry_period.mul_f64(fastrand::f64() / 4.0)).await;
            // Checked again, because a refresh may have come in between: the host acquires exactly the Lease that it judged.
            if !self.may_acquire(&election) {
                continue;
            }
            let (guard, record) = match self.acquire(&election).await {
                Ok(Some(taken)) => taken,
                Ok(None) => continue,
                Err(error) => {
                    let error = error.to_string();
                    // Logged once, not every other second.
                    if error != refused {
                        tracing::warn!(error, lease = election.lease, "cannot acquire the free lease: retrying");
                        refused = error;
                    }
                    continue;
                }
            };
            refused.clear();
            election.guard.send_replace(Some(guard.clone()));
            let ended = self.hold(&election, &guard, record, &mut intents).await;
            guard.end();
            election.guard.send_replace(None);
            // Observations from before the leadership ended do not show the present holder.
            refreshes.mark_unchanged();
            if ended == LeadershipEnd::Lost {
                tracing::warn!(lease = election.lease, "lease lost: its running reconciles are cancelled");
            }
        }
    }

    /// Whether the Lease is free, by the last observation.
    fn may_acquire(&self, election: &ElectionState) -> bool {
        let observed = self.observed();
        if observed.list_failed {
            return false;
        }
        let Some(seen) = observed.leases.get(&election.lease) else { return true };
        let (now, timing) = (Instant::now(), &self.timing);
        // This process acquired the Lease, but the response got lost.
        let ours = seen.record.holder() == self.identity && !seen.deleted;
        let others_first = seen.record.wanted_by().is_some_and(|who| who != self.identity)
            && seen.record.holder().is_empty()
            && seen.unchanged_for(now) < timing.retry_period * 3;
        ours || (!seen.is_held(now, timing.lease_duration) && !others_first)
    }

    /// Acquires a free Lease. None: another host acquired it first, or the request took too long.
    async fn acquire(&self, election: &ElectionState) -> Result<Option<(LeadershipGuard, Record)>, LeaseError> {
        let (seen, deleted) = {
            let observed = self.observed();
            let seen = observed.leases.get(&election.lease);
            (seen.map(|seen| seen.record.clone()), seen.is_some_and(|seen| seen.deleted))
        };
        let holder_annotations = election.holder_annotations();
        let renewed = |record: &Record| record.renewed(&self.identity, self.timing.lease_duration, &holder_annotations);
        let from = seen.as_ref().map(|record| record.holder().to_owned()).unwrap_or_default();
        let received_hints =
            seen.as_ref().and_then(Record::handover_hints).map(HandoverHints::read).unwrap_or_default();
        // Counted from before the request was sent; other hosts count from when they observe the Lease.
        let began = Instant::now();
        let taken = match seen {
            Some(record) if !deleted => self.client.update(&renewed(&record), self.request_timeout()).await,
            _ => {
                let fresh = Record::new(&election.lease, &self.namespace);
                self.client.create(&renewed(&fresh), self.request_timeout()).await
            }
        };
        let guard = LeadershipGuard::until(began + self.timing.renew_deadline, received_hints);
        match taken {
            Ok(record) if guard.held() => {
                tracing::info!(lease = election.lease, from, "lease taken");
                self.note(&record);
                Ok(Some((guard, record)))
            }
            Ok(_) => Ok(None),
            Err(LeaseError::Conflict | LeaseError::Gone) => {
                // The Lease may also have lost its label, which this read shows.
                self.read(&election.lease).await;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Renews the Lease until the host releases or loses it.
    async fn hold(
        &self,
        election: &ElectionState,
        guard: &LeadershipGuard,
        mut record: Record,
        intents: &mut watch::Receiver<ElectionIntent>,
    ) -> LeadershipEnd {
        let mut due = Instant::now() + self.timing.retry_period;
        loop {
            let Some(deadline) = guard.deadline() else { return LeadershipEnd::Lost };
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(deadline) => return LeadershipEnd::Lost,
                // The worker ended the leadership.
                () = guard.over() => return self.release_lease(election, guard, record).await,
                _ = intents.changed() => {
                    if matches!(*intents.borrow_and_update(), ElectionIntent::Release | ElectionIntent::Leave) {
                        guard.end();
                        return self.release_lease(election, guard, record).await;
                    }
                }
                () = tokio::time::sleep_until(due) => {}
            }
            match self.renew(election, guard, &record, deadline).await {
                Renewed::As(next) => record = next,
                Renewed::NotNow => {}
                Renewed::Lost => return LeadershipEnd::Lost,
            }
            due = Instant::now() + self.timing.retry_period;
        }
    }

    async fn renew(
        &self,
        election: &ElectionState,
        guard: &LeadershipGuard,
        record: &Record,
        deadline: Instant,
    ) -> Renewed {
        let mut base = record.clone();
        loop {
            let began = Instant::now();
            let request_timeout = self.request_timeout().min(deadline.saturating_duration_since(began));
            let next = base.renewed(&self.identity, self.timing.lease_duration, &election.holder_annotations());
            let error = match self.client.update(&next, request_timeout).await {
                Ok(record) => {
                    guard.extend(began + self.timing.renew_deadline);
                    self.note(&record);
                    return if guard.held() { Renewed::As(record) } else { Renewed::Lost };
                }
                Err(LeaseError::Gone) => return Renewed::Lost,
                Err(error) => error,
            };
            if !matches!(error, LeaseError::Conflict) {
                tracing::warn!(%error, lease = election.lease, "cannot renew the lease: retrying until its deadline");
                return Renewed::NotNow;
            }
            // Another host requests the Lease, or has acquired it.
            let request_timeout = self.request_timeout().min(deadline.saturating_duration_since(Instant::now()));
            match self.client.get(&election.lease, request_timeout).await {
                Ok(live) if live.holder() == self.identity => base = live,
                Ok(_) | Err(LeaseError::Gone) => return Renewed::Lost,
                Err(error) => {
                    tracing::warn!(%error, lease = election.lease, "cannot read the lease: retrying until its deadline");
                    return Renewed::NotNow;
                }
            }
            if Instant::now() >= deadline {
                return Renewed::NotNow;
            }
        }
    }

    /// Releases the Lease, so that other hosts see it free.
    async fn release_lease(
        &self,
        election: &ElectionState,
        guard: &LeadershipGuard,
        mut record: Record,
    ) -> LeadershipEnd {
        for _ in 0..3 {
            match self.client.update(&record.released(guard.handover_hints()), self.request_timeout()).await {
                Ok(record) => {
                    tracing::info!(lease = election.lease, "lease released");
                    self.note(&record);
                    return LeadershipEnd::Released;
                }
                Err(LeaseError::Conflict) => match self.client.get(&election.lease, self.request_timeout()).await {
                    Ok(live) if live.holder() == self.identity => record = live,
                    _ => return LeadershipEnd::Released,
                },
                Err(error) => {
                    tracing::warn!(%error, lease = election.lease, "cannot release the lease: it expires by itself");
                    return LeadershipEnd::Released;
                }
            }
        }
        LeadershipEnd::Released
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LeaderElection;
    use crate::{Options, Timing};
    use futures::FutureExt as _;
    use kube::client::Body;
    use serde_json::json;
    use std::convert::Infallible;
    use std::time::Duration;
    use tokio::sync::Notify;

    /// A process that is paused between its request and the response observes a Lease that another host acquired meanwhile.
    #[tokio::test(start_paused = true)]
    async fn l4_a_lease_that_is_seen_after_a_pause_is_not_older_than_that() {
        let answered = Arc::new(Notify::new());
        let goes_on = Arc::clone(&answered);
        let server = tower::service_fn(move |_: http::Request<Body>| {
            let goes_on = Arc::clone(&goes_on);
            async move {
                goes_on.notified().await;
                let lease = json!({"metadata": {"name": "oarlock-p", "resourceVersion": "7"},
                    "spec": {"holderIdentity": "other", "leaseDurationSeconds": 15}});
                let answer = json!({"items": [lease]}).to_string().into_bytes();
                Ok::<_, Infallible>(http::Response::new(Body::from(answer)))
            }
        });
        let options = Options { namespace: "n".to_owned(), identity: "me".to_owned(), timing: Timing::default() };
        let elector = LeaderElector::new(options, kube::Client::new(server, "n"));
        let (_, election) = LeaderElection::new(Arc::clone(&elector), "oarlock-p");
        for round in 0..2 {
            let mut refresh = Box::pin(elector.refresh());
            assert!(refresh.as_mut().now_or_never().is_none());
            tokio::time::advance(Duration::from_secs(60)).await;
            answered.notify_one();
            refresh.await;
            let observed = elector.observed();
            assert!(!observed.list_failed && observed.leases.len() == 1, "the answer was taken");
            drop(observed);
            // The Lease is unchanged since the first round, and so its duration is over.
            assert_eq!(elector.may_acquire(&election), round == 1);
        }
    }
}
