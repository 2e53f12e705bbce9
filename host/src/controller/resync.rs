//! Resync of a plugin: every key runs again once in a period, unless nothing that its last reconcile depended on has changed.

use super::ReconcileKey;
use super::current_version::CurrentVersion;
use super::dependencies::Dependencies;
use super::lead::Leadership;
use super::tombstones::Tombstones;
use crate::metrics::PluginMetrics;
use crate::workqueue::{Trigger, WorkQueue};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The resync of one plugin, for all its versions.
pub(super) struct Resync {
    pub(super) version: Arc<CurrentVersion>,
    pub(super) lead: Arc<Leadership>,
    pub(super) queue: WorkQueue<ReconcileKey>,
    pub(super) tombstones: Arc<Tombstones>,
    pub(super) dependencies: Arc<Dependencies>,
    pub(super) metrics: PluginMetrics,
    pub(super) stop: CancellationToken,
}

impl Resync {
    /// Enqueues keys periodically, because state outside Kubernetes changes without events.
    pub(super) async fn run(self) {
        let mut last = Instant::now();
        loop {
            let Some(version) = self.version.get() else { return };
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
            let Some(version) = self.version.get() else { return };
            if self.lead.guard().is_none() {
                continue;
            }
            for key in version.keys() {
                if self.dependencies.in_sync(&key) {
                    self.metrics.resync_skipped();
                    let plugin = self.metrics.name();
                    tracing::debug!(plugin, %key, "resync skipped: nothing that the key depends on has changed");
                    continue;
                }
                let spread = every.mul_f64(0.1 * fastrand::f64());
                self.queue.add_after(key, spread, Trigger::Resync);
            }
        }
    }

    /// Completes when the current version has another resync period.
    async fn period_changed(&self, from: Duration) {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            // On a standby no reconcile expires the tombstones.
            self.tombstones.expire();
            let Some(version) = self.version.get() else { return };
            if version.loaded.guest.grants.resync(&version.loaded.manifest) != from {
                return;
            }
        }
    }
}
