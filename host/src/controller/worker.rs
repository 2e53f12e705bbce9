//! A worker of a plugin: takes keys, and runs their reconciles.

use super::annotations::Annotations;
use super::outcome::{Next, ReconcileEnd};
use super::reconcile::Reconcile;
use super::version::Version;
use super::{Controller, FinishedReconcile, PinnedVersion, ReconcileKey, handler, traced};
use crate::lease::LeadershipGuard;
use crate::telemetry::TraceId;
use crate::workqueue::{Cause, Item, Trigger, WorkQueue};
use futures::FutureExt as _;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Requeue delay of a key while the plugin's watches are not in sync (for example after the deletion of a CRD).
const PARKED: Duration = Duration::from_secs(1);

/// Poll interval of a worker that may not take keys.
const ASK_AGAIN: Duration = Duration::from_millis(50);

/// One of the workers of a plugin.
pub(super) struct Worker {
    controller: Arc<Controller>,
    index: u32,
    /// The wanted number of workers: the worker ends when that is not above its index.
    wanted: watch::Receiver<u32>,
}

impl Worker {
    pub(super) fn new(controller: Arc<Controller>, index: u32, wanted: watch::Receiver<u32>) -> Self {
        Self { controller, index, wanted }
    }

    /// Runs reconciles until the worker is surplus or the controller stops.
    pub(super) async fn work(mut self) {
        let controller = &self.controller;
        while self.index < *self.wanted.borrow_and_update() {
            let item = tokio::select! {
                () = controller.stop.cancelled() => return,
                _ = self.wanted.changed() => continue,
                item = next_item(controller) => item,
            };
            let Some(item) = item else { return };
            // Another leadership may have begun while the worker waited for a key, after writes of another host.
            tokio::select! {
                () = controller.stop.cancelled() => return,
                () = controller.know_journals() => {}
            }
            if controller.paused_by().is_some() {
                // The pause began while the worker waited for a key.
                controller.queue.add(item.key.clone(), item.trigger);
                controller.queue.done(&item.key);
                continue;
            }
            let Some(pinned) = controller.version.pin_for(&item.key) else { return };
            // The Lease may have been lost in between; the next leader reconciles every object.
            let Some((guard, working)) = controller.lead.begin_reconcile() else {
                controller.queue.forget(&item.key);
                controller.queue.done(&item.key);
                continue;
            };
            let busy = controller.metrics.active_worker();
            let began = Instant::now();
            let mut trace = None;
            let next = self.run(&pinned, &item, &guard, &mut trace).await;
            controller.metrics.reconciled(next.result(), began.elapsed(), trace);
            drop(busy);
            requeue(&controller.queue, &item.key, &next);
            controller.queue.done(&item.key);
            drop(working);
            drop(pinned);
        }
    }

    /// Runs one reconcile, cancelled when its version drains for too long, and counts its result for the version.
    ///
    /// * `trace` - becomes the trace of the reconcile, if that is sampled.
    async fn run(
        &self,
        pinned: &PinnedVersion,
        item: &Item<ReconcileKey>,
        guard: &LeadershipGuard,
        trace: &mut Option<TraceId>,
    ) -> Next {
        let (controller, version) = (&*self.controller, pinned.held());
        if !version.reaches(&item.key) {
            // A version that had this kind or namespace was still reconciling it when the current version came.
            controller.forget_what(|key| *key == item.key);
            return controller.settle_unreached(version, &item.key, guard).await;
        }
        let rehearsal = controller.shared.rehearsal.as_deref();
        if rehearsal.is_some_and(|rehearsal| !rehearsal.admits(&controller.name, &item.key)) {
            return Next::Done;
        }
        if !version.synced() {
            return Next::Later(PARKED);
        }
        if let Some(wait) = controller.breaker.blocked(&item.key)
            && !is_exempt(&controller.name, version, item)
        {
            return Next::Later(wait);
        }
        let began = Instant::now();
        let span = traced::begin(controller, version, item);
        *trace = span.trace_id();
        // A panic of the host in one reconcile must not end a worker.
        let reconcile = Reconcile::new(controller, pinned, item, guard);
        let reconcile = span.within(AssertUnwindSafe(reconcile.run()).catch_unwind());
        let ended = tokio::select! {
            // First, so that a reconcile polled after its leadership does nothing more.
            biased;
            () = guard.over() => {
                traced::cut_short(&span, "lease_lost");
                return Next::LeaseLost;
            }
            () = version.cancel.cancelled() => {
                traced::cut_short(&span, "cancelled");
                return Next::Later(Duration::ZERO);
            }
            ended = reconcile => ended.unwrap_or_else(|_panic| {
                traced::cut_short(&span, "panic");
                tracing::error!(plugin = controller.name, key = %item.key, "the host panicked in a reconcile; please report this");
                ReconcileEnd::panicked()
            }),
        };
        drop(span);
        if ended.next == Next::LeaseLost || ended.handed_back {
            return ended.next;
        }
        if let Some(rehearsal) = rehearsal {
            // Strikes do not count: a quarantine would leave objects out.
            return rehearsal.ended(&controller.name, &item.key, &ended);
        }
        if ended.paused && ended.error.is_none() {
            controller.stats.forget(|key| *key == item.key);
            controller.health.left_alone(&item.key);
            return ended.next;
        }
        let took = began.elapsed();
        let digest = &version.loaded.component.digest;
        controller.stats.reconciled(took, digest, ended.error.as_ref().map(|error| (&item.key, error.as_str())));
        if let Some(feed) = &controller.shared.feed {
            feed.send(FinishedReconcile {
                plugin: controller.name.clone(),
                version: version.loaded.manifest.version.clone(),
                digest: digest.clone(),
                key: item.key.to_string(),
                took,
                error: ended.error.clone(),
            });
        }
        if let Some(rollout) = pinned.rollout() {
            rollout.ended(&item.key, ended.error.as_deref(), ended.strike);
            return ended.next;
        }
        let strike = ended.error.as_deref().filter(|_| ended.strike);
        controller.health.reconciled(version, &item.key, took, strike);
        ended.next
    }
}

/// Whether a key runs although its object was patched again and again: somebody asks for it, or it is paused, and nothing is patched.
fn is_exempt(plugin: &str, version: &Version, item: &Item<ReconcileKey>) -> bool {
    let asked = item.cause == Some(Cause::Own(handler::ASKED));
    asked || version.cached(&item.key).is_some_and(|object| Annotations::of(&object, plugin).paused)
}

/// The next key, once the plugin may run: this host leads, the plugin is not paused, no quarantine holds, and the watches are in sync.
///
/// # Cancel safety
///
/// Dropping the future loses no key: it is taken last.
async fn next_item(controller: &Controller) -> Option<Item<ReconcileKey>> {
    loop {
        controller.lead.wait().await;
        controller.shared.pauses.wait(&controller.name).await;
        if let Some(until) = controller.health.quarantined_until() {
            // Not one sleep, because a swap ends the quarantine.
            tokio::time::sleep_until(until.min(Instant::now() + ASK_AGAIN)).await;
            continue;
        }
        if controller.version.synced() {
            controller.know_journals().await;
            return controller.queue.get().await;
        }
        tokio::time::sleep(ASK_AGAIN).await;
    }
}

/// Puts a key back as its reconcile ended.
fn requeue(queue: &WorkQueue<ReconcileKey>, key: &ReconcileKey, next: &Next) {
    match next {
        Next::Done | Next::GivenUp | Next::LeaseLost => queue.forget(key),
        Next::After(delay) => {
            queue.forget(key);
            queue.add_after(key.clone(), *delay, Trigger::Requeue);
        }
        Next::Later(delay) => queue.add_after(key.clone(), *delay, Trigger::Requeue),
        Next::RetryAfter(delay) => queue.add_after(key.clone(), *delay, Trigger::Retry),
        Next::Retry => {
            queue.add_rate_limited(key.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{GroupVersionKind, ObjectKey};

    #[tokio::test(start_paused = true)]
    async fn a_key_loses_its_backoff_when_it_is_done_and_keeps_it_when_it_has_to_wait() {
        let second = Duration::from_secs(1);
        for (next, delayed, failing) in [
            (Next::Done, 0, 0),
            (Next::GivenUp, 0, 0),
            (Next::LeaseLost, 0, 0),
            (Next::After(second), 1, 0),
            (Next::Later(second), 1, 1),
            (Next::RetryAfter(second), 1, 1),
            (Next::Retry, 1, 1),
        ] {
            let queue = WorkQueue::new("p", crate::workqueue::Config::default());
            let kind = Arc::new(GroupVersionKind::new("", "v1", "ConfigMap"));
            let key = ReconcileKey { kind, key: ObjectKey::new("n", "a") };
            queue.add_rate_limited(key.clone());
            let item = queue.get().await.unwrap();
            requeue(&queue, &item.key, &next);
            queue.done(&item.key);
            let left = queue.snapshot(1);
            assert_eq!((left.delayed, left.failing, left.ready), (delayed, failing, 0), "{next:?}");
        }
    }
}
