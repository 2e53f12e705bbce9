//! Controller of one plugin: queue, workers, resync, and the current version.
//!
//! The queue belongs to the plugin, not to a version. So at most one worker holds a key, on any version, and backoff survives a swap.

mod annotations;
mod breaker;
mod changed_fields;
mod compare;
mod conversion;
mod current_version;
mod dependencies;
mod describe;
mod explain;
mod feed;
mod flight_recorder;
mod handler;
mod health;
mod health_monitor;
mod last_writes;
mod lead;
mod listing;
mod mapping;
mod marks;
mod outcome;
mod pauses;
mod recent;
mod reconcile;
mod reconcile_now;
mod rehearsal;
mod resync;
mod reviewer;
mod rollout;
mod shared;
mod stats;
mod tombstones;
mod traced;
mod version;
mod worker;

pub use annotations::{PAUSED, RECONCILE_AT, paused_for};
pub use compare::{place as difference, same as same_state};
use conversion::CurrentConverter;
pub use conversion::{Conversion, Converter};
pub use current_version::PinnedVersion;
#[doc(hidden)]
pub use dependencies::measure_reads;
pub use describe::Sizes;
pub use feed::{FinishedReconcile, ReconcileFeed};
pub(crate) use flight_recorder::names;
pub use flight_recorder::{FlightRecorder, MadeWrite, Record, RecordQuery, Results};
pub use health::PROBATION_SHARE;
pub use health_monitor::{Happened, Notice};
pub use listing::{ObjectCursor, ObjectFilter, ObjectQuery};
pub use pauses::Pauses;
pub use rehearsal::{Finding, Rehearsal, RehearsedObject};
pub use reviewer::{Admitted, Review, Reviewer, Verdict};
pub use rollout::{Journals, Preview, RolloutEvent};
pub use shared::{ReconcileKey, Shared};
use version::{EventMode, EventModeCell};
pub use version::{Loaded, Version};

use crate::apply::WriteIdentity;
use crate::lease::LeadershipGuard;
use crate::metrics::PluginMetrics;
use crate::plugin::{Pool, Reads};
use crate::workqueue::{Trigger, WorkQueue};
use breaker::Breaker;
use changed_fields::KeptBytes;
use current_version::CurrentVersion;
use dependencies::Dependencies;
use flight_recorder::PluginRecords;
use health_monitor::HealthMonitor;
use last_writes::LastWrites;
use lead::Leadership;
use marks::Marks;
use recent::RecentReconciles;
use resync::Resync;
use stats::Stats;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tombstones::Tombstones;
use worker::Worker;

/// The controller of one plugin.
#[derive(Debug)]
pub struct Controller {
    name: String,
    shared: Shared,
    queue: WorkQueue<ReconcileKey>,
    version: Arc<CurrentVersion>,
    converter: CurrentConverter,
    /// The wanted number of workers.
    workers: watch::Sender<u32>,
    tombstones: Arc<Tombstones>,
    lead: Arc<Leadership>,
    breaker: Breaker,
    health: Arc<HealthMonitor>,
    reviewer: Reviewer,
    stats: Stats,
    marks: Arc<Marks>,
    /// Of the events in the queue.
    kept_bytes: Arc<KeptBytes>,
    dependencies: Arc<Dependencies>,
    last_writes: LastWrites,
    recent: RecentReconciles,
    /// The recordings of the plugin. None: the host records nothing.
    records: Option<Arc<PluginRecords>>,
    metrics: PluginMetrics,
    /// Counts the leaderships of this host, from 1.
    leaderships: AtomicU64,
    /// The leadership in which the journals of canaries were read.
    journals_known: AtomicU64,
    /// The leadership in which the host was not allowed to read them, and when.
    journals_forbidden: Mutex<Option<(u64, Instant)>>,
    /// Held while they are read.
    journals_reads: tokio::sync::Mutex<()>,
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
        let metrics = shared.metrics.plugin(name);
        let version: Arc<CurrentVersion> = Arc::default();
        let health = Arc::new(HealthMonitor::new(name, Arc::clone(&version), notices));
        Arc::new(Self {
            name: name.to_owned(),
            lead: Arc::new(Leadership::new(shared.leases.election(name))),
            records: shared.flight_recorder.as_ref().map(|recorder| recorder.plugin(name)),
            reviewer: Reviewer::new(name, shared.recorder.clone(), metrics.clone(), Arc::clone(&health)),
            shared,
            queue,
            version,
            converter: CurrentConverter::default(),
            workers: watch::Sender::new(0),
            tombstones: Arc::default(),
            breaker: Breaker::default(),
            health,
            stats: Stats::default(),
            marks: Arc::new(Marks::new(&metrics)),
            kept_bytes: Arc::default(),
            dependencies: Arc::default(),
            last_writes: LastWrites::default(),
            recent: RecentReconciles::default(),
            metrics,
            leaderships: AtomicU64::new(1),
            journals_known: AtomicU64::default(),
            journals_forbidden: Mutex::default(),
            journals_reads: tokio::sync::Mutex::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        })
    }

    /// Subscribes a version to its watches. It enqueues no key before [`Self::switch`].
    #[must_use]
    pub fn prepare(&self, loaded: Loaded) -> Arc<Version> {
        let write_identity =
            WriteIdentity::new(&self.name, Arc::clone(&loaded.guest.grants)).knowing(Arc::clone(&loaded.guest.secrets));
        let event_mode: Arc<EventModeCell> = Arc::default();
        let handlers = handler::Handlers {
            queue: self.queue.clone(),
            tombstones: Arc::clone(&self.tombstones),
            marks: Arc::clone(&self.marks),
            kept_bytes: Arc::clone(&self.kept_bytes),
            dependencies: Arc::clone(&self.dependencies),
            writer: self.shared.writer.clone(),
            event_mode: Arc::clone(&event_mode),
            version: Arc::downgrade(&self.version),
        };
        let (subscriptions, stores) = handler::subscribe(&loaded.manifest, &self.shared.informers, &handlers);
        let reads =
            Arc::new(Reads::new(&loaded.manifest, write_identity.clone(), self.shared.writer.clone(), stores.clone()));
        let workers = loaded.guest.grants.workers(&loaded.manifest);
        let admission = loaded.guest.grants.admission(&loaded.manifest);
        let pool = Arc::new(Pool::new(loaded.component.clone(), loaded.guest.clone(), workers));
        let converter = Converter::new(&loaded, &self.name, &pool, &self.metrics);
        let version = Arc::new(Version {
            identity: loaded.identity(),
            loaded,
            pool,
            write_identity,
            reads,
            admission,
            converter,
            subscriptions,
            stores,
            event_mode,
            worked: AtomicBool::new(false),
            under_way: TaskTracker::new(),
            cancel: CancellationToken::new(),
        });
        if self.version.get().is_none() {
            self.converter.set(version.converter.clone());
        }
        version
    }

    /// Converts with a version that is not current yet: the API server needs the conversions of a definition before the version runs.
    ///
    /// * `version` - from [`Self::prepare`].
    /// * `only_first` - keep the conversions that there are.
    pub fn convert_with(&self, version: &Version, only_first: bool) {
        if !only_first || self.converter.get().is_none() {
            self.converter.set(version.converter.clone());
        }
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
        let before = self.version.replace(Some(Arc::clone(version)));
        if let Some(rollout) = self.version.rollout().filter(|rollout| Arc::ptr_eq(&rollout.version, version)) {
            // Promoted: its keys stay with it.
            rollout.promoted();
            self.metrics.set_rollout(0, 0);
            self.version.set_rollout(None);
        }
        self.dependencies.renew();
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
        self.converter.set(version.converter.clone());
        self.stand(version, before.is_none());
        self.set_workers(version.loaded.guest.grants.workers(manifest));
        if before.is_none() {
            self.tasks.spawn(self.resync().run());
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
        self.version.get()
    }

    /// The current version, held for one reconcile or review. None: there is none (yet).
    #[must_use]
    pub fn pin_version(&self) -> Option<PinnedVersion> {
        self.version.pin()
    }

    /// Admission reviews on the plugin.
    #[must_use]
    pub fn reviewer(&self) -> &Reviewer {
        &self.reviewer
    }

    /// The plugin's conversions. None: it has none (yet).
    #[must_use]
    pub fn converter(&self) -> Option<Arc<Converter>> {
        self.converter.get()
    }

    /// The plugin's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The guard of writes about the plugin. None: another host leads.
    #[must_use]
    pub fn guard(&self) -> Option<LeadershipGuard> {
        self.lead.guard()
    }

    /// The end of the quarantine.
    #[must_use]
    pub fn quarantined_until(&self) -> Option<Instant> {
        self.health.quarantined_until()
    }

    /// Accepts no new key, drops the waiting keys with their timers, waits for the keys in work, and closes the watches.
    ///
    /// * `drain` - drain time; then the reconciles in flight are cancelled.
    pub async fn stop(&self, drain: Duration) {
        self.stop.cancel();
        self.end_rollout();
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
        self.version.replace(None);
    }

    /// Starts workers up to `wanted`. Surplus workers end after their current key.
    fn set_workers(self: &Arc<Self>, wanted: u32) {
        let mut started = 0;
        self.workers.send_modify(|workers| {
            started = *workers;
            *workers = wanted;
        });
        for index in started..wanted {
            // A separate receiver: its last seen value is this number.
            let workers = self.workers.subscribe();
            self.tasks.spawn(Worker::new(Arc::clone(self), index, workers).work());
        }
    }

    fn resync(&self) -> Resync {
        Resync {
            version: Arc::clone(&self.version),
            lead: Arc::clone(&self.lead),
            queue: self.queue.clone(),
            tombstones: Arc::clone(&self.tombstones),
            dependencies: Arc::clone(&self.dependencies),
            metrics: self.metrics.clone(),
            stop: self.stop.clone(),
        }
    }

    /// Enqueues every object of a version.
    fn enqueue_all(&self, version: &Version, trigger: Trigger) {
        for key in version.keys() {
            self.queue.add(key, trigger);
        }
    }

    /// Drops the marks, the dependencies and the last error of objects that are not reconciled any more.
    fn forget_what(&self, gone: impl Fn(&ReconcileKey) -> bool) {
        self.marks.forget(&gone);
        self.dependencies.retain(|key| !gone(key));
        self.stats.forget(gone);
    }
}
