//! Workers of a plugin, and its resync.

use super::health::HealthVerdict;
use super::outcome::Next;
use super::reconcile::{Reconcile, ReconcileEnd};
use super::version::Version;
use super::{Controller, Happened, ReconcileKey};
use crate::lease::LeadershipGuard;
use crate::workqueue::{Item, Trigger};
use futures::FutureExt as _;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Requeue delay of a key while the plugin's watches are not in sync (for example after the deletion of a CRD).
const PARKED: Duration = Duration::from_secs(1);

/// Poll interval of a worker that may not take keys.
const ASK_AGAIN: Duration = Duration::from_millis(50);

impl Controller {
    /// Starts workers up to `wanted`. Surplus workers end after their current key.
    pub(super) fn set_workers(self: &Arc<Self>, wanted: u32) {
        let mut started = 0;
        self.workers.send_modify(|workers| {
            started = *workers;
            *workers = wanted;
        });
        for index in started..wanted {
            // A separate receiver: its last seen value is this number.
            let workers = self.workers.subscribe();
            self.tasks.spawn(Arc::clone(self).work(index, workers));
        }
    }

    async fn work(self: Arc<Self>, index: u32, mut workers: watch::Receiver<u32>) {
        while index < *workers.borrow_and_update() {
            let item = tokio::select! {
                () = self.stop.cancelled() => return,
                _ = workers.changed() => continue,
                item = self.next() => item,
            };
            let Some(item) = item else { return };
            let Some(pinned) = self.pin_version() else { return };
            // The Lease may have been lost in between; the next leader reconciles every object.
            let Some((guard, working)) = self.lead.begin_reconcile() else {
                self.queue.forget(&item.key);
                self.queue.done(&item.key);
                continue;
            };
            let busy = self.metrics.active_worker();
            let began = Instant::now();
            let next = self.run(pinned.held(), &item, &guard).await;
            self.metrics.reconciled(next.result(), began.elapsed());
            drop(busy);
            self.requeue(&item.key, &next);
            self.queue.done(&item.key);
            drop(working);
            drop(pinned);
        }
    }

    /// The next key, once the plugin may run.
    async fn next(&self) -> Option<Item<ReconcileKey>> {
        loop {
            self.lead.wait().await;
            if let Some(until) = self.quarantined_until() {
                // Not one sleep, because a swap ends the quarantine.
                tokio::time::sleep_until(until.min(Instant::now() + ASK_AGAIN)).await;
                continue;
            }
            if self.version.load().as_ref().is_some_and(|version| version.synced()) {
                return self.queue.get().await;
            }
            tokio::time::sleep(ASK_AGAIN).await;
        }
    }

    /// Runs one reconcile, cancelled when its version drains for too long, and counts its result for the version.
    async fn run(&self, version: &Arc<Version>, item: &Item<ReconcileKey>, guard: &LeadershipGuard) -> Next {
        if !version.reaches(&item.key) {
            // A version that had this kind or namespace was still reconciling it when the current version came.
            self.forget_what(|key| *key == item.key);
            return Next::Done;
        }
        if !version.synced() {
            return Next::Later(PARKED);
        }
        if let Some(wait) = self.breaker.blocked(&item.key) {
            return Next::Later(wait);
        }
        let began = Instant::now();
        // A panic of the host in one reconcile must not end a worker.
        let reconcile = Reconcile::new(self, version, item, guard);
        let reconcile = AssertUnwindSafe(reconcile.run()).catch_unwind();
        let ended = tokio::select! {
            // First, so that a reconcile polled after its leadership does nothing more.
            biased;
            () = guard.over() => return Next::LeaseLost,
            () = version.cancel.cancelled() => return Next::Later(Duration::ZERO),
            ended = reconcile => ended.unwrap_or_else(|_panic| {
                tracing::error!(plugin = self.name, key = %item.key, "the host panicked in a reconcile; please report this");
                ReconcileEnd { next: Next::Retry, error: Some("the host panicked; please report this".to_owned()), strike: false }
            }),
        };
        if ended.next == Next::LeaseLost {
            return Next::LeaseLost;
        }
        self.count(version, &item.key, began.elapsed(), &ended);
        ended.next
    }

    fn count(&self, version: &Arc<Version>, key: &ReconcileKey, took: Duration, ended: &ReconcileEnd) {
        self.stats.reconciled(
            took,
            &version.loaded.component.digest,
            ended.error.as_ref().map(|error| (key, error.as_str())),
        );
        if !self.version.load().as_ref().is_some_and(|current| Arc::ptr_eq(current, version)) {
            if !ended.strike {
                self.health.went_well_before(key);
            }
            return;
        }
        if !version.worked.swap(true, Ordering::Relaxed) {
            self.tell(version, Happened::FirstReconcile);
        }
        let strike = ended.error.as_deref().filter(|_| ended.strike);
        self.judge(version, key, took, strike);
    }

    /// Counts a reconcile or a review for the version it ran on, if that is the current one.
    pub(super) fn judge(&self, version: &Arc<Version>, key: &ReconcileKey, took: Duration, strike: Option<&str>) {
        if !self.version.load().as_ref().is_some_and(|current| Arc::ptr_eq(current, version)) {
            return;
        }
        match self.health.reconciled(key, took, strike) {
            HealthVerdict::Fine => {}
            HealthVerdict::Proven => self.tell(version, Happened::Proven),
            HealthVerdict::Failing(why) => self.tell(version, Happened::Failing(why)),
            HealthVerdict::Quarantined(pause) => self.tell(version, Happened::Quarantined(pause)),
        }
    }

    fn requeue(&self, key: &ReconcileKey, next: &Next) {
        match next {
            Next::Done | Next::GivenUp | Next::LeaseLost => self.queue.forget(key),
            Next::After(delay) => {
                self.queue.forget(key);
                self.queue.add_after(key.clone(), *delay, Trigger::Requeue);
            }
            Next::Later(delay) => self.queue.add_after(key.clone(), *delay, Trigger::Requeue),
            Next::RetryAfter(delay) => self.queue.add_after(key.clone(), *delay, Trigger::Retry),
            Next::Retry => {
                self.queue.add_rate_limited(key.clone());
            }
        }
    }

    /// Enqueues every key periodically, because state outside Kubernetes changes without events.
    pub(super) async fn resync(self: Arc<Self>) {
        let mut last = Instant::now();
        loop {
            let Some(version) = self.current() else { return };
            // Read each time: another version or grant may have another period.
            let every = version.loaded.guest.grants.resync(&version.loaded.manifest);
            let pause = every.mul_f64(0.9 + 0.2 * fastrand::f64());
            let due = last + pause;
            drop(version);
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = self.period_changed(every) => continue,
                () = tokio::time::sleep_until(due) => last = Instant::now(),
            }
            let Some(version) = self.current() else { return };
            if self.lead.guard().is_none() {
                continue;
            }
            for (kind, stores) in version.primaries() {
                let kind = Arc::new(kind);
                for key in stores.flat_map(|of| of.store.keys()) {
                    let spread = every.mul_f64(0.1 * fastrand::f64());
                    self.queue.add_after(ReconcileKey { kind: Arc::clone(&kind), key }, spread, Trigger::Resync);
                }
            }
        }
    }

    /// Completes when the current version has another resync period.
    async fn period_changed(&self, from: Duration) {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            // On a standby no reconcile expires the tombstones.
            self.tombstones.expire();
            let Some(version) = self.current() else { return };
            if version.loaded.guest.grants.resync(&version.loaded.manifest) != from {
                return;
            }
        }
    }
}
