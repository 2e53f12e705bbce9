//! Controller of one plugin: queue, workers, resync, and the current version.
//!
//! The queue belongs to the plugin, not to a version. So at most one worker holds a key, on any version, and backoff survives a swap.

mod admit;
mod breaker;
mod compare;
mod handler;
mod health;
mod lead;
mod mapping;
mod outcome;
mod reconcile;
mod stats;
mod tombstones;
mod version;
mod worker;

pub use admit::{Admitted, Review, Verdict};
pub use compare::same as same_state;
pub use health::PROBATION_SHARE;
use version::{EventMode, EventModeCell};
pub use version::{Loaded, PinnedVersion, Version};

use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::events::Recorder;
use crate::apply::{WriteIdentity, Writer};
use crate::informer::Informers;
use crate::lease::Leases;
use crate::metrics::{Metrics, PluginMetrics};
use crate::plugin::{Pool, Reads};
use crate::workqueue::{Trigger, WorkQueue};
use arc_swap::ArcSwapOption;
use breaker::Breaker;
use health::Health;
use lead::Leadership;
use serde_json::{Value, json};
use stats::Stats;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tombstones::Tombstones;

/// Of many objects, the view names this many.
const SHOWN: usize = 20;

/// A key of the queue, which contains only names. Cloning a key copies none of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReconcileKey {
    /// The kind: one of the plugin's primaries.
    pub kind: Arc<GroupVersionKind>,
    /// Namespace and name of the object.
    pub key: ObjectKey,
}

impl std::hash::Hash for ReconcileKey {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        // Groups and versions of one plugin's kinds hardly distinguish keys, and each event hashes a key several times.
        self.kind.kind.hash(state);
        self.key.hash(state);
    }
}

impl std::fmt::Display for ReconcileKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind.kind, self.key)
    }
}

/// The parts that all controllers share.
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
    /// Leader election, where several hosts run.
    pub leases: Leases,
}

/// A message from a controller to the lifecycle.
#[derive(Debug)]
pub struct Notice {
    /// Plugin name.
    pub plugin: String,
    /// SHA-256 of the version in question.
    pub digest: String,
    /// The kind of event.
    pub what: Happened,
}

/// See [`Notice`].
#[derive(Debug, PartialEq, Eq)]
pub enum Happened {
    /// The first reconcile on this version ended.
    FirstReconcile,
    /// The version passed its probation.
    Proven,
    /// The version strikes on too many objects, for this reason.
    Failing(String),
    /// The plugin's keys wait for this long.
    Quarantined(Duration),
}

/// Sizes of a controller's maps, in entries unless the name says bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sizes {
    /// Deleted objects whose key has to run once more.
    pub tombstones: usize,
    /// Bytes of the deleted objects.
    pub tombstone_bytes: usize,
    /// Keys with a timer.
    pub timers: usize,
    /// Keys with a backoff.
    pub failing: usize,
    /// Objects whose patches are counted, to slow down a fight.
    pub patched: usize,
    /// Keys remembered because of strikes.
    pub struck: usize,
}

/// Out-of-sync objects: they still differ from their desired state after the last patch. Shared with the handlers of the watches.
type OutOfSync = Mutex<BTreeSet<ReconcileKey>>;

/// The controller of one plugin.
#[derive(Debug)]
pub struct Controller {
    name: String,
    shared: Shared,
    queue: WorkQueue<ReconcileKey>,
    version: ArcSwapOption<Version>,
    /// The wanted number of workers.
    workers: watch::Sender<u32>,
    tombstones: Arc<Tombstones>,
    lead: Leadership,
    breaker: Breaker,
    health: Health,
    stats: Stats,
    /// Out-of-sync objects: they still differ from their desired state after the last patch.
    out_of_sync: Arc<OutOfSync>,
    metrics: PluginMetrics,
    notices: mpsc::UnboundedSender<Notice>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Controller {
    /// A controller without a version: nothing runs before [`Self::switch`].
    ///
    /// * `notices` - receives events of its versions.
    #[must_use]
    pub fn new(name: &str, shared: Shared, notices: mpsc::UnboundedSender<Notice>) -> Arc<Self> {
        let queue = WorkQueue::new(name, crate::workqueue::Config::default());
        shared.metrics.queue(name).read_from(queue.metrics_source());
        Arc::new(Self {
            name: name.to_owned(),
            metrics: shared.metrics.plugin(name),
            lead: Leadership::new(shared.leases.election(name)),
            shared,
            queue,
            version: ArcSwapOption::empty(),
            workers: watch::Sender::new(0),
            tombstones: Arc::default(),
            breaker: Breaker::default(),
            health: Health::default(),
            stats: Stats::default(),
            out_of_sync: Arc::default(),
            notices,
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        })
    }

    /// Subscribes a version to its watches. It enqueues no key before [`Self::switch`].
    #[must_use]
    pub fn prepare(&self, loaded: Loaded) -> Arc<Version> {
        let write_identity = WriteIdentity::new(&self.name, Arc::clone(&loaded.guest.grants));
        let event_mode: Arc<EventModeCell> = Arc::default();
        let handlers = handler::Handlers {
            queue: self.queue.clone(),
            tombstones: Arc::clone(&self.tombstones),
            out_of_sync: Arc::clone(&self.out_of_sync),
            writer: self.shared.writer.clone(),
            event_mode: Arc::clone(&event_mode),
        };
        let (subscriptions, stores) = handler::subscribe(&loaded.manifest, &self.shared.informers, &handlers);
        let reads = Arc::new(Reads::new(write_identity.clone(), self.shared.writer.clone(), stores.clone()));
        let workers = loaded.guest.grants.workers(&loaded.manifest);
        let admission = loaded.guest.grants.admission(&loaded.manifest);
        let pool = Pool::new(loaded.component.clone(), loaded.guest.clone(), workers);
        Arc::new(Version {
            loaded,
            pool,
            write_identity,
            reads,
            admission,
            subscriptions,
            stores,
            event_mode,
            worked: AtomicBool::new(false),
            under_way: TaskTracker::new(),
            cancel: CancellationToken::new(),
        })
    }

    /// Makes a version current and enqueues all its objects at low priority. Returns the previous version.
    ///
    /// Reconciles in flight finish on the version they began on; the queue keeps a key from running on two versions at once. Timers and
    /// backoff of the keys stay. The caller drains the previous version: [`Self::retire`].
    ///
    /// * `version` - from [`Self::prepare`], in sync.
    /// * `back` - whether this is a rollback, because the current version failed its probation.
    pub fn switch(self: &Arc<Self>, version: &Arc<Version>, back: bool) -> Option<Arc<Version>> {
        let manifest = &version.loaded.manifest;
        let turn = self.lead.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.health.begin(version.objects(), back);
        // The order matters: no event of a kind that only the new version has reaches the old version. Objects that arrive while neither
        // version is live are in the stores, whose keys are enqueued afterwards.
        let before = self.version.swap(Some(Arc::clone(version)));
        if !self.leads() {
            version.set_event_mode(EventMode::Standby);
        } else {
            version.set_event_mode(EventMode::Enqueue);
            self.enqueue_all(version, if before.is_some() { Trigger::Swap } else { Trigger::InitialList });
        }
        if let Some(before) = &before {
            before.set_event_mode(EventMode::Disabled);
            self.queue.retain(|key| version.reaches(key));
            self.forget_what(|key| !version.reaches(key));
        }
        drop(turn);
        self.stand(version, before.is_none());
        self.set_workers(version.loaded.guest.grants.workers(manifest));
        if before.is_none() {
            self.tasks.spawn(Arc::clone(self).resync());
        }
        before
    }

    /// Drains a replaced version and closes its watches. Does not wait for that; [`Self::stop`] does.
    ///
    /// * `drain` - drain time; then the reconciles are cancelled, and their keys run again.
    pub fn retire(&self, version: Arc<Version>, drain: Duration) {
        let plugin = self.name.clone();
        self.tasks.spawn(async move {
            if !version.drain(drain).await {
                tracing::warn!(
                    plugin,
                    version = version.loaded.manifest.version,
                    seconds = drain.as_secs(),
                    "drain deadline passed: the remaining reconciles of the replaced version are cancelled"
                );
            }
        });
    }

    /// The current version.
    #[must_use]
    pub fn current(&self) -> Option<Arc<Version>> {
        self.version.load_full()
    }

    /// The plugin's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The end of the quarantine.
    #[must_use]
    pub fn quarantined_until(&self) -> Option<Instant> {
        self.health.quarantined_until()
    }

    /// State of the controller for `/plugins`.
    #[must_use]
    pub fn describe(&self) -> Value {
        let Some(version) = self.current() else { return json!({}) };
        let Loaded { manifest, component, guest } = &version.loaded;
        let mut described = json!({
            "version": manifest.version,
            "digest": format!("sha256:{}", component.digest),
            "workers": guest.grants.workers(manifest),
            "resyncSeconds": guest.grants.resync(manifest).as_secs(),
            "waitingFor": version.waiting_for(),
            "queueDepth": self.queue.len(),
            "outOfSync": self.out_of_sync(),
            "instanceMemoryBytes": version.pool.most_memory_bytes(),
            "warmInstances": version.pool.idle().instances,
            "warmMemoryBytes": version.pool.idle().memory_bytes,
            "objects": version.primaries().map(|(kind, stores)| {
                (kind.to_string(), json!(stores.map(|of| of.store.len()).sum::<usize>()))
            }).collect::<serde_json::Map<_, _>>(),
        });
        let warnings = version.dead_mappings();
        if let (Some(all), false) = (described.as_object_mut(), warnings.is_empty()) {
            all.insert("warnings".to_owned(), json!(warnings));
        }
        if let (Some(all), Value::Object(stats)) = (described.as_object_mut(), self.stats.describe(&component.digest)) {
            all.extend(stats);
            all.extend(self.lead.election.describe().map(|lease| ("lease".to_owned(), lease)));
        }
        described
    }

    /// The sizes of the maps with keys.
    #[must_use]
    pub fn sizes(&self) -> Sizes {
        let (tombstones, tombstone_bytes) = self.tombstones.size();
        let queue = self.queue.snapshot(0);
        Sizes {
            tombstones,
            tombstone_bytes,
            timers: queue.delayed,
            failing: queue.failing,
            patched: self.breaker.remembered(),
            struck: self.health.remembered(),
        }
    }

    /// Accepts no new key, drops the waiting keys with their timers, waits for the keys in work, and closes the watches.
    ///
    /// * `drain` - drain time; then the reconciles in flight are cancelled.
    pub async fn stop(&self, drain: Duration) {
        self.stop.cancel();
        self.queue.purge();
        self.queue.shut_down();
        self.tasks.close();
        let Some(version) = self.current() else {
            self.lead.election.leave().await;
            return;
        };
        version.set_event_mode(EventMode::Disabled);
        // No further reconcile begins. The host keeps the Lease until those in flight have ended.
        if !version.drain(drain).await {
            tracing::warn!(
                plugin = self.name,
                seconds = drain.as_secs(),
                "drain deadline passed: the remaining reconciles are cancelled"
            );
        }
        self.tasks.wait().await;
        self.lead.election.leave().await;
        self.version.store(None);
    }

    /// Records whether an object is in sync.
    fn settle(&self, key: &ReconcileKey, settled: bool) {
        let mut out_of_sync = self.out_of_sync.lock().unwrap_or_else(PoisonError::into_inner);
        // A swap moves the pointer before it forgets keys, under this lock. So a reconcile that ends on the previous version cannot
        // record a key that the current version does not reach.
        let reached = self.current().is_some_and(|version| version.reaches(key));
        let changed = if settled || !reached { out_of_sync.remove(key) } else { out_of_sync.insert(key.clone()) };
        if changed {
            self.metrics.set_out_of_sync(out_of_sync.len());
        }
    }

    /// Drops the out-of-sync mark and the last error of objects that are not reconciled any more.
    fn forget_what(&self, gone: impl Fn(&ReconcileKey) -> bool) {
        let mut out_of_sync = self.out_of_sync.lock().unwrap_or_else(PoisonError::into_inner);
        out_of_sync.retain(|key| !gone(key));
        self.metrics.set_out_of_sync(out_of_sync.len());
        drop(out_of_sync);
        self.stats.forget(gone);
    }

    /// The number of out-of-sync objects, and some of their keys.
    fn out_of_sync(&self) -> Value {
        let out_of_sync = self.out_of_sync.lock().unwrap_or_else(PoisonError::into_inner);
        let some: Vec<String> = out_of_sync.iter().take(SHOWN).map(ToString::to_string).collect();
        json!({"objects": out_of_sync.len(), "some": some})
    }

    fn tell(&self, version: &Version, what: Happened) {
        let digest = version.loaded.component.digest.clone();
        // The send fails while the host stops.
        let _ = self.notices.send(Notice { plugin: self.name.clone(), digest, what });
    }
}
