//! One plugin at work: its queue, its workers, its resync, and the version that answers.
//!
//! The queue belongs to the plugin, not to a version: a key is held by at most one worker, whichever version it runs on, and
//! backoff outlives a replacement.

mod breaker;
mod compare;
mod handler;
mod outcome;
mod reconcile;
mod tombstones;

use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::events::Recorder;
use crate::apply::{Author, Writer};
use crate::informer::{Informers, Subscription};
use crate::metrics::{Metrics, PluginMetrics};
use crate::plugin::{Component, Guest, Pool, Reads, StoreOf};
use crate::workqueue::{Item, Trigger, WorkQueue};
use arc_swap::ArcSwapOption;
use breaker::Breaker;
use futures::FutureExt as _;
use oarlock_manifest::PluginManifest;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tombstones::Tombstones;

/// How long a key waits while the watches of its plugin are not in sync (a CRD that vanished, say).
const PARKED: Duration = Duration::from_secs(1);

/// A key of the queue: nothing but names crosses it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReconcileKey {
    /// One of the plugin's primaries.
    pub kind: GroupVersionKind,
    /// The object.
    pub key: ObjectKey,
}

impl std::fmt::Display for ReconcileKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind.kind, self.key)
    }
}

/// What controllers share.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The watches.
    pub informers: Informers,
    /// The one writer.
    pub writer: Writer,
    /// Events.
    pub recorder: Recorder,
    /// Counters.
    pub metrics: Metrics,
}

/// One loaded version of a plugin.
#[derive(Debug)]
pub struct Version {
    /// What it says of itself, checked.
    pub manifest: PluginManifest,
    /// What is run.
    pub component: Component,
    /// What it may use.
    pub guest: Guest,
    pool: Pool,
    author: Author,
    reads: Arc<Reads>,
    subscriptions: Vec<Subscription>,
    stores: HashMap<GroupVersionKind, Vec<StoreOf>>,
}

impl Version {
    fn synced(&self) -> bool {
        self.subscriptions.iter().all(|s| s.store().synced())
    }
}

/// One plugin at work.
#[derive(Debug)]
pub struct Controller {
    name: String,
    shared: Shared,
    queue: WorkQueue<ReconcileKey>,
    version: ArcSwapOption<Version>,
    tombstones: Arc<Tombstones>,
    breaker: Breaker,
    metrics: PluginMetrics,
    tasks: tokio_util::task::TaskTracker,
    stop: tokio_util::sync::CancellationToken,
}

impl Controller {
    /// Subscribes to the plugin's watches and starts its workers; they begin when all watches are in sync.
    #[must_use]
    pub fn start(
        name: &str,
        shared: Shared,
        manifest: PluginManifest,
        component: Component,
        guest: Guest,
    ) -> Arc<Self> {
        let queue = WorkQueue::new(name, crate::workqueue::Config::default(), shared.metrics.queue(name));
        let controller = Arc::new(Self {
            name: name.to_owned(),
            metrics: shared.metrics.plugin(name),
            shared,
            queue,
            version: ArcSwapOption::empty(),
            tombstones: Arc::default(),
            breaker: Breaker::default(),
            tasks: tokio_util::task::TaskTracker::new(),
            stop: tokio_util::sync::CancellationToken::new(),
        });
        let workers = guest.grants.workers(&manifest);
        let resync = guest.grants.resync(&manifest);
        controller.version.store(Some(Arc::new(controller.subscribe(manifest, component, guest))));
        for _ in 0..workers {
            controller.tasks.spawn(Arc::clone(&controller).work());
        }
        controller.tasks.spawn(Arc::clone(&controller).resync(resync));
        controller
    }

    fn subscribe(&self, manifest: PluginManifest, component: Component, guest: Guest) -> Version {
        let author = Author { plugin: self.name.clone(), grants: Arc::clone(&guest.grants) };
        let (subscriptions, stores) =
            handler::subscribe(&manifest, &self.shared.informers, &self.shared.writer, &self.queue, &self.tombstones);
        let reads = Arc::new(Reads::new(author.clone(), self.shared.writer.clone(), stores.clone()));
        let pool = Pool::new(component.clone(), guest.clone(), guest.grants.workers(&manifest));
        Version { manifest, component, guest, pool, author, reads, subscriptions, stores }
    }

    async fn work(self: Arc<Self>) {
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = self.wait_until_synced() => {}
            }
            let Some(item) = self.queue.get().await else { return };
            let Some(version) = self.version.load_full() else { return };
            let busy = self.metrics.active_worker();
            let began = tokio::time::Instant::now();
            // A fault of the host in one reconcile must not cost a worker.
            let next = AssertUnwindSafe(self.handle(&version, &item)).catch_unwind().await.unwrap_or_else(|_panic| {
                tracing::error!(plugin = self.name, key = %item.key, "the host panicked in a reconcile; please report this");
                outcome::Next::Retry
            });
            self.metrics.reconciled(next.result(), began.elapsed());
            drop(busy);
            self.requeue(&item.key, &next);
            self.queue.done(&item.key);
        }
    }

    async fn handle(&self, version: &Arc<Version>, item: &Item<ReconcileKey>) -> outcome::Next {
        if !version.synced() {
            return outcome::Next::Later(PARKED);
        }
        if let Some(wait) = self.breaker.blocked(&item.key) {
            return outcome::Next::Later(wait);
        }
        reconcile::Reconcile::new(self, version, item).run().await
    }

    fn requeue(&self, key: &ReconcileKey, next: &outcome::Next) {
        match next {
            outcome::Next::Done => self.queue.forget(key),
            outcome::Next::After(delay) => {
                self.queue.forget(key);
                self.queue.add_after(key.clone(), *delay, Trigger::Requeue);
            }
            outcome::Next::Later(delay) => self.queue.add_after(key.clone(), *delay, Trigger::Requeue),
            outcome::Next::RetryAfter(delay) => self.queue.add_after(key.clone(), *delay, Trigger::Retry),
            outcome::Next::Retry => {
                self.queue.add_rate_limited(key.clone());
            }
        }
    }

    async fn wait_until_synced(&self) {
        loop {
            let Some(version) = self.version.load_full() else { return };
            if version.synced() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Enqueues every key again and again, because the world outside Kubernetes changes without events.
    async fn resync(self: Arc<Self>, every: Duration) {
        let seed = uuid::Uuid::new_v4().as_u64_pair();
        let mut random = Jitter(seed.0 | 1);
        loop {
            let pause = every.mul_f64(random.between(0.9, 1.1));
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
            let Some(version) = self.version.load_full() else { return };
            for primary in &version.manifest.primaries {
                let kind = handler::kind(&primary.gvk());
                for of in version.stores.get(&kind).into_iter().flatten().filter(|of| of.primary) {
                    for key in of.store.keys() {
                        let spread = every.mul_f64(random.between(0.0, 0.1));
                        self.queue.add_after(ReconcileKey { kind: kind.clone(), key }, spread, Trigger::Resync);
                    }
                }
            }
        }
    }

    /// What people and machines are shown of it.
    #[must_use]
    pub fn describe(&self) -> Value {
        let Some(version) = self.version.load_full() else { return json!({"state": "retired"}) };
        let waiting: Vec<String> = version
            .subscriptions
            .iter()
            .filter(|s| !s.store().synced())
            .map(|s| format!("{}: {}", s.store().spec().gvk, s.status()))
            .collect();
        json!({
            "state": if waiting.is_empty() { "active" } else { "syncing" },
            "version": version.manifest.version,
            "digest": format!("sha256:{}", version.component.digest),
            "workers": version.guest.grants.workers(&version.manifest),
            "resyncSeconds": version.guest.grants.resync(&version.manifest).as_secs(),
            "waitingFor": waiting,
            "queueDepth": self.queue.len(),
            "objects": version.manifest.primaries.iter().map(|p| {
                let kind = handler::kind(&p.gvk());
                let stores = version.stores.get(&kind).into_iter().flatten().filter(|of| of.primary);
                let count: usize = stores.map(|of| of.store.len()).sum();
                (kind.to_string(), json!(count))
            }).collect::<serde_json::Map<_, _>>(),
        })
    }

    /// Whether all its watches are in sync.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.version.load().as_ref().is_some_and(|v| v.synced())
    }

    /// Takes no new key, waits for those in work, and leaves the watches.
    pub async fn stop(&self, drain: Duration) {
        self.stop.cancel();
        self.queue.purge();
        self.queue.shut_down();
        self.tasks.close();
        if tokio::time::timeout(drain, self.tasks.wait()).await.is_err() {
            tracing::warn!(
                plugin = self.name,
                seconds = drain.as_secs(),
                "reconciles still in work after the drain deadline are cut off"
            );
        }
        self.version.store(None);
    }
}

/// Small random numbers for spreading load; nothing secret hangs on them.
struct Jitter(u64);

impl Jitter {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let unit = f64::from(u32::try_from(self.0 >> 32).unwrap_or(0)) / f64::from(u32::MAX);
        low + (high - low) * unit
    }
}
