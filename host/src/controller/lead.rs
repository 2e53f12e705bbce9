//! Leadership of a plugin on this host: its begin and its end.

use super::version::EventMode;
use super::{Controller, Version};
use crate::lease::{LeaderElection, LeadershipGuard};
use crate::workqueue::Trigger;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Drain time of reconciles in flight when their plugin moves to another host.
const HAND_OVER: Duration = Duration::from_secs(20);

/// A plugin's election, and the guard of its workers.
#[derive(Debug)]
pub(super) struct Leadership {
    pub(super) election: LeaderElection,
    /// None: this host is a standby.
    guard: watch::Sender<Option<LeadershipGuard>>,
    /// Held while a leadership begins or ends or the version changes: enqueued keys belong to both.
    pub(super) turn: Mutex<()>,
    /// Reconciles in flight.
    working: TaskTracker,
}

impl Leadership {
    pub(super) fn new(election: LeaderElection) -> Self {
        // Without leader election this host leads from the beginning.
        let guard = watch::Sender::new(election.guard());
        Self { election, guard, turn: Mutex::default(), working: TaskTracker::new() }
    }

    /// The guard of the workers.
    pub(super) fn guard(&self) -> Option<LeadershipGuard> {
        self.guard.borrow().clone().filter(LeadershipGuard::held)
    }

    /// Waits for leadership.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub(super) async fn wait(&self) {
        let held = |guard: &Option<LeadershipGuard>| guard.as_ref().is_some_and(LeadershipGuard::held);
        // An error is impossible: `self` owns the sender.
        let _ = self.guard.subscribe().wait_for(held).await;
    }

    /// Begins a reconcile. None: this host does not lead, so it may not begin.
    pub(super) fn begin_reconcile(&self) -> Option<(LeadershipGuard, TaskTrackerToken)> {
        let working = self.working.token();
        Some((self.guard()?, working))
    }
}

impl Controller {
    /// Follows the plugin's Lease: starts reconciling when this host holds it, and stops when it does not.
    pub(super) async fn follow(self: Arc<Self>) {
        loop {
            let guard = tokio::select! {
                () = self.stop.cancelled() => return,
                guard = self.lead.election.held() => guard,
            };
            self.begin(&guard);
            // Also without a key to reconcile: objects with a journal may be none of this version.
            let journals = async {
                self.know_journals().await;
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = journals => {}
                () = self.stop.cancelled() => return,
                () = guard.over() => {}
                () = guard.release_requested() => self.step_down(HAND_OVER).await,
            }
            self.end();
            // The election publishes the end a moment later.
            guard.over().await;
        }
    }

    /// This host becomes the leader and reconciles every object, because the previous leader's remaining work is unknown.
    fn begin(&self, guard: &LeadershipGuard) {
        let turn = self.lead.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.leaderships.fetch_add(1, Relaxed);
        self.lead.guard.send_replace(Some(guard.clone()));
        self.metrics.set_leading(true);
        // Another host may have reconciled and written since.
        self.recent.interrupted();
        self.last_writes.clear();
        if let Some(journals) = &self.shared.journals {
            journals.forget(&self.name);
        }
        self.shared.writer.note_handover_hints(guard.received_hints());
        if let Some(version) = self.current() {
            self.health.begin(version.objects(), false);
            version.set_event_mode(EventMode::Enqueue);
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
        self.lead.guard.send_replace(None);
        self.metrics.set_leading(false);
        if let Some(version) = self.current() {
            version.set_event_mode(EventMode::Standby);
        }
        self.queue.purge();
        // Their keys do not run here any more.
        self.tombstones.hand_over();
        self.marks.forget(|_| true);
        self.dependencies.retain(|_| false);
        self.last_writes.clear();
        drop(turn);
    }

    /// Starts no further reconcile, finishes those in flight, and releases the Lease. Admission reviews continue.
    ///
    /// * `drain` - drain time; then reconciles in flight are cancelled.
    pub async fn step_down(&self, drain: Duration) {
        let Some(guard) = self.lead.guard() else { return };
        self.end();
        self.lead.working.close();
        if tokio::time::timeout(drain, self.lead.working.wait()).await.is_err() {
            tracing::warn!(
                plugin = self.name,
                seconds = drain.as_secs(),
                "drain deadline passed: the remaining reconciles are cancelled before another host leads"
            );
            guard.end();
            self.lead.working.wait().await;
        }
        self.lead.working.reopen();
        self.lead.election.release().await;
    }

    /// Whether this host is the leader, so that a new current version enqueues keys at once.
    #[must_use]
    pub fn leads(&self) -> bool {
        self.lead.guard().is_some()
    }

    /// Competes for the Lease, and publishes the version of this host to the other hosts.
    pub(super) fn stand(self: &Arc<Self>, version: &Version, first: bool) {
        let of = &version.loaded;
        let config = of.guest.grants.config_digest();
        self.lead.election.compete(&LeaderElection::version(&of.manifest.version, &of.component.digest, &config));
        if !self.lead.election.has_lease() {
            self.metrics.set_leading(true);
        } else if first {
            self.metrics.set_leading(false);
            self.tasks.spawn(Arc::clone(self).follow());
        }
    }
}
