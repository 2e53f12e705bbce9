//! The elector's task for one Lease: acquire, renew, release.

use super::Office;
use crate::lease::Term;
use crate::lease::bequest::Bequest;
use crate::lease::client::LeaseError;
use crate::lease::record::Record;
use crate::lease::seat::{Shared, Wish};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::watch;
use tokio::time::Instant;

/// How a term ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
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

impl Office {
    /// Runs the election of one Lease until its seat leaves.
    pub(super) async fn sit(self: Arc<Self>, seat: Arc<Shared>) {
        let mut wishes = seat.wish.subscribe();
        let mut looks = self.looked.subscribe();
        let (mut leave_alone_until, mut refused) = (None, String::new());
        loop {
            // Outside of the match, because the borrow would last as long as the match, which changes the value.
            let wish = *wishes.borrow_and_update();
            match wish {
                Wish::Leave => return,
                Wish::Release => {
                    leave_alone_until = Some(Instant::now() + self.timing.retry_period * 3);
                    seat.wish.send_replace(Wish::Compete);
                    continue;
                }
                Wish::Idle | Wish::Compete => {}
            }
            // `changed` returns at once for a change since the last borrow.
            tokio::select! {
                _ = wishes.changed() => continue,
                _ = looks.changed() => {}
            }
            let rests = leave_alone_until.is_some_and(|until| Instant::now() < until);
            if seat.wish() != Wish::Compete || rests || self.stopping.load(Ordering::Acquire) {
                continue;
            }
            if !self.may_take(&seat) {
                continue;
            }
            // Several hosts that see free Leases at the same moment acquire some each.
            tokio::time::sleep(self.timing.retry_period.mul_f64(fastrand::f64() / 4.0)).await;
            // Checked again, because a refresh may have come in between: the host acquires exactly the Lease that it judged.
            if !self.may_take(&seat) {
                continue;
            }
            let (term, record) = match self.take(&seat).await {
                Ok(Some(taken)) => taken,
                Ok(None) => continue,
                Err(error) => {
                    let error = error.to_string();
                    // Logged once, not every other second.
                    if error != refused {
                        tracing::warn!(
                            error,
                            lease = seat.lease,
                            "the lease is free, but could not be taken; tried again"
                        );
                        refused = error;
                    }
                    continue;
                }
            };
            refused.clear();
            seat.term.send_replace(Some(term.clone()));
            let ended = self.hold(&seat, &term, record, &mut wishes).await;
            term.end();
            seat.term.send_replace(None);
            // Observations from before the term ended do not show the present holder.
            looks.mark_unchanged();
            if ended == Ended::Lost {
                tracing::warn!(lease = seat.lease, "lease lost: what was under way for it is cut off");
            }
        }
    }

    /// Whether the Lease is free, by the last observation.
    fn may_take(&self, seat: &Shared) -> bool {
        let known = self.known();
        if known.blind {
            return false;
        }
        let Some(seen) = known.leases.get(&seat.lease) else { return true };
        let (now, timing) = (Instant::now(), &self.timing);
        // This process acquired the Lease, but the response got lost.
        let ours = seen.record.holder() == self.identity && !seen.gone;
        let others_first = seen.record.wanted_by().is_some_and(|who| who != self.identity)
            && seen.record.holder().is_empty()
            && seen.unchanged_for(now) < timing.retry_period * 3;
        ours || (!seen.is_held(now, timing.lease_duration) && !others_first)
    }

    /// Acquires a free Lease. None: another host acquired it first, or the request took too long.
    async fn take(&self, seat: &Shared) -> Result<Option<(Term, Record)>, LeaseError> {
        let (seen, gone) = {
            let known = self.known();
            let seen = known.leases.get(&seat.lease);
            (seen.map(|seen| seen.record.clone()), seen.is_some_and(|seen| seen.gone))
        };
        let facts = seat.facts();
        let renewed = |record: &Record| record.renewed(&self.identity, self.timing.lease_duration, &facts);
        let from = seen.as_ref().map(|record| record.holder().to_owned()).unwrap_or_default();
        let inherited = seen.as_ref().and_then(Record::bequest).map(Bequest::read).unwrap_or_default();
        // Counted from before the request was sent; other hosts count from when they observe the Lease.
        let began = Instant::now();
        let taken = match seen {
            Some(record) if !gone => self.client.update(&renewed(&record), self.patience()).await,
            _ => {
                let fresh = Record::new(&seat.lease, &self.namespace);
                self.client.create(&renewed(&fresh), self.patience()).await
            }
        };
        let term = Term::until(began + self.timing.renew_deadline, inherited);
        match taken {
            Ok(record) if term.held() => {
                tracing::info!(lease = seat.lease, from, "lease taken");
                self.note(&record);
                Ok(Some((term, record)))
            }
            Ok(_) => Ok(None),
            Err(LeaseError::Conflict | LeaseError::Gone) => {
                // The Lease may also have lost its label, which this read shows.
                self.read(&seat.lease).await;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Renews the Lease until the host releases or loses it.
    async fn hold(&self, seat: &Shared, term: &Term, mut record: Record, wishes: &mut watch::Receiver<Wish>) -> Ended {
        let mut due = Instant::now() + self.timing.retry_period;
        loop {
            let Some(deadline) = term.deadline() else { return Ended::Lost };
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(deadline) => return Ended::Lost,
                // The worker ended the term.
                () = term.over() => return self.give_back(seat, term, record).await,
                _ = wishes.changed() => {
                    if matches!(*wishes.borrow_and_update(), Wish::Release | Wish::Leave) {
                        term.end();
                        return self.give_back(seat, term, record).await;
                    }
                }
                () = tokio::time::sleep_until(due) => {}
            }
            match self.renew(seat, term, &record, deadline).await {
                Renewed::As(next) => record = next,
                Renewed::NotNow => {}
                Renewed::Lost => return Ended::Lost,
            }
            due = Instant::now() + self.timing.retry_period;
        }
    }

    async fn renew(&self, seat: &Shared, term: &Term, record: &Record, deadline: Instant) -> Renewed {
        let mut base = record.clone();
        loop {
            let began = Instant::now();
            let patience = self.patience().min(deadline.saturating_duration_since(began));
            let next = base.renewed(&self.identity, self.timing.lease_duration, &seat.facts());
            let error = match self.client.update(&next, patience).await {
                Ok(record) => {
                    term.extend(began + self.timing.renew_deadline);
                    self.note(&record);
                    return if term.held() { Renewed::As(record) } else { Renewed::Lost };
                }
                Err(LeaseError::Gone) => return Renewed::Lost,
                Err(error) => error,
            };
            if !matches!(error, LeaseError::Conflict) {
                tracing::warn!(%error, lease = seat.lease, "the lease could not be renewed; tried again until its deadline");
                return Renewed::NotNow;
            }
            // Another host requests the Lease, or has acquired it.
            let patience = self.patience().min(deadline.saturating_duration_since(Instant::now()));
            match self.client.get(&seat.lease, patience).await {
                Ok(live) if live.holder() == self.identity => base = live,
                Ok(_) | Err(LeaseError::Gone) => return Renewed::Lost,
                Err(error) => {
                    tracing::warn!(%error, lease = seat.lease, "the lease could not be read; tried again until its deadline");
                    return Renewed::NotNow;
                }
            }
            if Instant::now() >= deadline {
                return Renewed::NotNow;
            }
        }
    }

    /// Releases the Lease, so that other hosts see it free.
    async fn give_back(&self, seat: &Shared, term: &Term, mut record: Record) -> Ended {
        for _ in 0..3 {
            match self.client.update(&record.released(term.bequest()), self.patience()).await {
                Ok(record) => {
                    tracing::info!(lease = seat.lease, "lease released");
                    self.note(&record);
                    return Ended::Released;
                }
                Err(LeaseError::Conflict) => match self.client.get(&seat.lease, self.patience()).await {
                    Ok(live) if live.holder() == self.identity => record = live,
                    _ => return Ended::Released,
                },
                Err(error) => {
                    tracing::warn!(%error, lease = seat.lease, "the lease could not be released; it runs out by itself");
                    return Ended::Released;
                }
            }
        }
        Ended::Released
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::Seat;
    use crate::lease::{Options, Timing};
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
        let office = Office::new(options, kube::Client::new(server, "n"));
        let (_, seat) = Seat::new(Arc::clone(&office), "oarlock-p");
        for round in 0..2 {
            let mut look = Box::pin(office.look());
            assert!(look.as_mut().now_or_never().is_none());
            tokio::time::advance(Duration::from_secs(60)).await;
            answered.notify_one();
            look.await;
            let known = office.known();
            assert!(!known.blind && known.leases.len() == 1, "the answer was taken");
            drop(known);
            // The Lease is unchanged since the first round, and so its duration is over.
            assert_eq!(office.may_take(&seat), round == 1);
        }
    }
}
