//! Leadership of a plugin on this host: begin and end of its terms.

use super::version::Wakes;
use super::{Controller, Version};
use crate::lease::{Seat, Term};
use crate::workqueue::Trigger;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Drain time of reconciles in flight when their plugin moves to another host.
const HAND_OVER: Duration = Duration::from_secs(20);

/// A plugin's seat, and the term of its workers.
#[derive(Debug)]
pub(super) struct Lead {
    pub(super) seat: Seat,
    /// None: this host is a standby.
    term: watch::Sender<Option<Term>>,
    /// Held while a term begins or ends or the version changes: enqueued keys belong to both.
    pub(super) turn: Mutex<()>,
    /// Reconciles in flight.
    working: TaskTracker,
}

impl Lead {
    pub(super) fn new(seat: Seat) -> Self {
        // Without leader election there is a term from the beginning.
        let term = watch::Sender::new(seat.term());
        Self { seat, term, turn: Mutex::default(), working: TaskTracker::new() }
    }

    /// The term of the workers.
    pub(super) fn term(&self) -> Option<Term> {
        self.term.borrow().clone().filter(Term::held)
    }

    /// Waits for a term.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub(super) async fn wait(&self) {
        let held = |term: &Option<Term>| term.as_ref().is_some_and(Term::held);
        // An error is impossible: `self` owns the sender.
        let _ = self.term.subscribe().wait_for(held).await;
    }

    /// Begins a reconcile. None: no term, so it may not begin.
    pub(super) fn enter(&self) -> Option<(Term, TaskTrackerToken)> {
        let working = self.working.token();
        Some((self.term()?, working))
    }
}

impl Controller {
    /// Follows the plugin's Lease: starts reconciling when this host holds it, and stops when it does not.
    pub(super) async fn follow(self: Arc<Self>) {
        loop {
            let term = tokio::select! {
                () = self.stop.cancelled() => return,
                term = self.lead.seat.held() => term,
            };
            self.begin(&term);
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = term.over() => {}
                () = term.wanted_back() => self.step_down(HAND_OVER).await,
            }
            self.end();
            // The seat publishes the end a moment later.
            term.over().await;
        }
    }

    /// This host becomes the leader and reconciles every object, because the previous leader's remaining work is unknown.
    fn begin(&self, term: &Term) {
        let turn = self.lead.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.lead.term.send_replace(Some(term.clone()));
        self.metrics.set_leading(true);
        self.shared.writer.inherit(term.inherited());
        if let Some(version) = self.current() {
            self.health.begin(version.objects(), false);
            version.wake(Wakes::Keys);
            self.enqueue_all(&version, Trigger::InitialList);
        }
        for key in self.tombstones.take_over() {
            self.queue.add(key, Trigger::Event);
        }
        drop(turn);
    }

    /// Another host is the leader from now on, or may be.
    fn end(&self) {
        let turn = self.lead.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.lead.term.send_replace(None);
        self.metrics.set_leading(false);
        if let Some(version) = self.current() {
            version.wake(Wakes::NobodyYet);
        }
        self.queue.purge();
        // Their keys do not run here any more.
        self.tombstones.hand_over();
        self.unsettled.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.metrics.set_out_of_sync(0);
        drop(turn);
    }

    /// Starts no further reconcile, finishes those in flight, and releases the Lease. Admission reviews continue.
    ///
    /// * `drain` - drain time; then reconciles in flight are cancelled.
    pub async fn step_down(&self, drain: Duration) {
        let Some(term) = self.lead.term() else { return };
        self.end();
        self.lead.working.close();
        if tokio::time::timeout(drain, self.lead.working.wait()).await.is_err() {
            tracing::warn!(
                plugin = self.name,
                seconds = drain.as_secs(),
                "reconciles still under way when the plugin goes to another host are cut off"
            );
            term.end();
            self.lead.working.wait().await;
        }
        self.lead.working.reopen();
        self.lead.seat.release().await;
    }

    /// Whether this host is the leader, so that a new current version enqueues keys at once.
    #[must_use]
    pub fn leads(&self) -> bool {
        self.lead.term().is_some()
    }

    pub(super) fn enqueue_all(&self, version: &Version, trigger: Trigger) {
        for (kind, stores) in version.primaries() {
            let kind = Arc::new(kind);
            for key in stores.flat_map(|of| of.store.keys()) {
                self.queue.add(super::ReconcileKey { kind: Arc::clone(&kind), key }, trigger);
            }
        }
    }

    /// Competes for the Lease, and publishes the version of this host to the other hosts.
    pub(super) fn stand(self: &Arc<Self>, version: &Version, first: bool) {
        let of = &version.loaded;
        self.lead.seat.compete(&Seat::version(&of.manifest.version, &of.component.digest));
        if !self.lead.seat.has_lease() {
            self.metrics.set_leading(true);
        } else if first {
            self.metrics.set_leading(false);
            self.tasks.spawn(Arc::clone(self).follow());
        }
    }
}
