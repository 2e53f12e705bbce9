//! Metrics of plugins: reconciles, calls, traps, requests and state.

mod labels;

pub use self::labels::{ApiVerb, Call, PLUGIN_STATES, ReconcileResult, TrapCause};

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use self::labels::{
    ApiLabels, CallLabels, Code, ControllerLabels, HttpLabels, PluginLabels, ResultLabels, RolloutLabels, StateLabels,
    TrapLabels,
};
use super::exemplar::{TracedHistogram, observe};
use super::series::Series;
use crate::telemetry::TraceId;

/// How a rollout ends.
const ROLLOUT_RESULTS: [&str; 2] = ["promoted", "aborted"];

/// The metrics of one plugin; a clone is another handle to the same series.
#[derive(Debug, Clone)]
pub struct PluginMetrics {
    name: Arc<str>,
    live: Arc<RwLock<bool>>,
    families: PluginFamilies,
}

/// Counts a worker as active, or an instance as live, until it is dropped.
#[derive(Debug)]
pub struct Counted {
    gauge: Option<Gauge>,
}

#[derive(Debug, Clone)]
pub(super) struct PluginFamilies {
    reconciles: Series<ResultLabels, Counter>,
    errors: Series<ControllerLabels, Counter>,
    reconcile_time: Series<ControllerLabels, TracedHistogram>,
    active_workers: Series<ControllerLabels, Gauge>,
    instances: Series<PluginLabels, Gauge>,
    out_of_sync: Series<PluginLabels, Gauge>,
    paused: Series<PluginLabels, Gauge>,
    resyncs_skipped: Series<PluginLabels, Counter>,
    rollout_share: Series<PluginLabels, Gauge>,
    rollout_writes: Series<PluginLabels, Gauge>,
    rollouts: Series<RolloutLabels, Counter>,
    leading: Series<PluginLabels, Gauge>,
    calls: Series<CallLabels, Histogram>,
    traps: Series<TrapLabels, Counter>,
    api_requests: Series<ApiLabels, Counter>,
    http_requests: Series<HttpLabels, Counter>,
    states: Series<StateLabels, Gauge>,
}

impl PluginMetrics {
    pub(super) fn new(name: Arc<str>, families: PluginFamilies) -> Self {
        for result in ReconcileResult::ALL {
            families.reconciles.get(&ResultLabels { controller: Arc::clone(&name), result: result.as_str() });
        }
        for cause in TrapCause::ALL {
            families.traps.get(&TrapLabels { plugin: Arc::clone(&name), cause: cause.as_str() });
        }
        for state in PLUGIN_STATES {
            families.states.get(&StateLabels { plugin: Arc::clone(&name), state });
        }
        families.begin_api_requests(&name);
        let metrics = Self { name, live: Arc::new(RwLock::new(true)), families };
        let controller = metrics.controller();
        metrics.families.errors.get(&controller);
        metrics.families.reconcile_time.get(&controller);
        metrics.families.active_workers.get(&controller);
        metrics.families.instances.get(&metrics.plugin());
        metrics.families.out_of_sync.get(&metrics.plugin());
        metrics.families.paused.get(&metrics.plugin());
        metrics.families.resyncs_skipped.get(&metrics.plugin());
        metrics.families.rollout_share.get(&metrics.plugin());
        metrics.families.rollout_writes.get(&metrics.plugin());
        for result in ROLLOUT_RESULTS {
            let labels = RolloutLabels { plugin: Arc::clone(&metrics.name), result };
            metrics.families.rollouts.get(&labels);
        }
        metrics
    }

    /// Stops recording, in all clones.
    pub(super) fn end(&self) {
        *self.live.write().unwrap_or_else(PoisonError::into_inner) = false;
    }

    /// The name of the plugin.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Records a reconcile and its duration, from the key in hand to its result.
    ///
    /// * `trace` - its trace, if that is sampled.
    pub fn reconciled(&self, result: ReconcileResult, took: Duration, trace: Option<TraceId>) {
        let Some(_live) = self.live() else { return };
        let controller = self.controller();
        observe(&self.families.reconcile_time.get(&controller), took, trace);
        if result == ReconcileResult::Error {
            self.families.errors.get(&controller).inc();
        }
        let labels = ResultLabels { controller: controller.controller, result: result.as_str() };
        self.families.reconciles.get(&labels).inc();
    }

    /// Counts a worker as active until the returned value is dropped.
    #[must_use = "the worker counts as active until this is dropped"]
    pub fn active_worker(&self) -> Counted {
        Counted::of(self.live().map(|_live| self.families.active_workers.get(&self.controller())))
    }

    /// Counts an instance as live until the returned value is dropped: it belongs to the owner of the instance's memory.
    #[must_use = "the instance counts as there until this is dropped"]
    pub fn instance(&self) -> Counted {
        Counted::of(self.live().map(|_live| self.families.instances.get(&self.plugin())))
    }

    /// Sets the number of objects that still differ from the desired state after the last patch.
    pub fn set_out_of_sync(&self, objects: usize) {
        if let Some(_live) = self.live() {
            self.families.out_of_sync.get(&self.plugin()).set(super::count(objects));
        }
    }

    /// Sets the share of the objects that a candidate reconciles, in percent, and the number of its differing writes.
    pub fn set_rollout(&self, percent: u32, different_writes: usize) {
        if let Some(_live) = self.live() {
            self.families.rollout_share.get(&self.plugin()).set(i64::from(percent));
            self.families.rollout_writes.get(&self.plugin()).set(super::count(different_writes));
        }
    }

    /// Counts a rollout that ended.
    pub fn rollout_ended(&self, promoted: bool) {
        if let Some(_live) = self.live() {
            let [as_promoted, as_aborted] = ROLLOUT_RESULTS;
            let result = if promoted { as_promoted } else { as_aborted };
            self.families.rollouts.get(&RolloutLabels { plugin: Arc::clone(&self.name), result }).inc();
        }
    }

    /// Sets the number of objects that the annotation `oarlock.dev/paused` pauses.
    pub fn set_paused(&self, objects: usize) {
        if let Some(_live) = self.live() {
            self.families.paused.get(&self.plugin()).set(super::count(objects));
        }
    }

    /// Counts a key that did not run at a resync, because nothing that it depends on has changed.
    pub fn resync_skipped(&self) {
        if let Some(_live) = self.live() {
            self.families.resyncs_skipped.get(&self.plugin()).inc();
        }
    }

    /// Sets whether this host is the plugin's leader. Before the first call there is no series: a plugin that never ran, or a file that
    /// is no plugin, needs no leader.
    pub fn set_leading(&self, leading: bool) {
        if let Some(_live) = self.live() {
            self.families.leading.get(&self.plugin()).set(leading.into());
        }
    }

    /// Records a call into the plugin and its duration, also for a trap.
    pub fn called(&self, call: Call, took: Duration) {
        if let Some(_live) = self.live() {
            let labels = CallLabels { plugin: Arc::clone(&self.name), call: call.as_str() };
            self.families.calls.get(&labels).observe(took.as_secs_f64());
        }
    }

    /// Counts a call without a valid result.
    pub fn trapped(&self, cause: TrapCause) {
        if let Some(_live) = self.live() {
            let labels = TrapLabels { plugin: Arc::clone(&self.name), cause: cause.as_str() };
            self.families.traps.get(&labels).inc();
        }
    }

    /// Counts a request to the API server on the plugin's behalf.
    ///
    /// * `verb` - the verb of the request, as in RBAC.
    /// * `code` - the HTTP status; none without a response.
    pub fn api_request(&self, verb: ApiVerb, code: Option<u16>) {
        if let Some(_live) = self.live() {
            self.families.api_request(&self.name, verb, code);
        }
    }

    /// Counts a request that the plugin sent through `http`.
    ///
    /// * `code` - the HTTP status; none without a response.
    pub fn http_request(&self, code: Option<u16>) {
        if let Some(_live) = self.live() {
            let labels = HttpLabels { plugin: Arc::clone(&self.name), code: Code(code) };
            self.families.http_requests.get(&labels).inc();
        }
    }

    /// Sets the plugin's state: its series becomes 1, those of all other states 0.
    ///
    /// * `state` - one of [`PLUGIN_STATES`].
    pub fn set_state(&self, state: &str) {
        let Some(_live) = self.live() else { return };
        for known in PLUGIN_STATES {
            let labels = StateLabels { plugin: Arc::clone(&self.name), state: known };
            self.families.states.get(&labels).set(i64::from(known == state));
        }
    }

    fn controller(&self) -> ControllerLabels {
        ControllerLabels { controller: Arc::clone(&self.name) }
    }

    fn plugin(&self) -> PluginLabels {
        PluginLabels { plugin: Arc::clone(&self.name) }
    }

    /// Held while a series is looked up or created: [`Self::end`] waits for it, so that removed series do not come back.
    fn live(&self) -> Option<RwLockReadGuard<'_, bool>> {
        Some(self.live.read().unwrap_or_else(PoisonError::into_inner)).filter(|live| **live)
    }
}

impl Counted {
    fn of(gauge: Option<Gauge>) -> Self {
        if let Some(gauge) = &gauge {
            gauge.inc();
        }
        Self { gauge }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if let Some(gauge) = &self.gauge {
            gauge.dec();
        }
    }
}

impl PluginFamilies {
    /// Creates the series whose increase alerts check: a counter that begins at 1 shows no increase.
    pub(super) fn begin_api_requests(&self, writer: &Arc<str>) {
        for verb in ApiVerb::ALL {
            for code in [401, 403] {
                let labels = ApiLabels { plugin: Arc::clone(writer), verb: verb.as_str(), code: Code(Some(code)) };
                self.api_requests.get(&labels);
            }
        }
    }

    /// Counts a request of a plugin, or of the host.
    pub(super) fn api_request(&self, writer: &Arc<str>, verb: ApiVerb, code: Option<u16>) {
        self.api_requests.get(&ApiLabels { plugin: Arc::clone(writer), verb: verb.as_str(), code: Code(code) }).inc();
    }

    pub(super) fn register(registry: &mut Registry) -> Self {
        let families = Self {
            reconciles: Series::new(Counter::default),
            errors: Series::new(Counter::default),
            reconcile_time: Series::new(reconcile_histogram),
            active_workers: Series::new(Gauge::default),
            instances: Series::new(Gauge::default),
            out_of_sync: Series::new(Gauge::default),
            paused: Series::new(Gauge::default),
            resyncs_skipped: Series::new(Counter::default),
            rollout_share: Series::new(Gauge::default),
            rollout_writes: Series::new(Gauge::default),
            rollouts: Series::new(Counter::default),
            leading: Series::new(Gauge::default),
            calls: Series::new(call_histogram),
            traps: Series::new(Counter::default),
            api_requests: Series::new(Counter::default),
            http_requests: Series::new(Counter::default),
            states: Series::new(Gauge::default),
        };
        // Encoding appends `_total` to counters, and registration appends the full stop to help texts.
        registry.register(
            "controller_runtime_reconcile",
            "Total number of reconciliations per controller",
            families.reconciles.clone(),
        );
        registry.register(
            "controller_runtime_reconcile_errors",
            "Total number of reconciliation errors per controller",
            families.errors.clone(),
        );
        registry.register(
            "controller_runtime_reconcile_time_seconds",
            "Length of time per reconciliation per controller",
            families.reconcile_time.clone(),
        );
        registry.register(
            "controller_runtime_active_workers",
            "Number of currently used workers per controller",
            families.active_workers.clone(),
        );
        families.register_objects(registry);
        families.register_rollouts(registry);
        registry.register(
            "oarlock_plugin_leading",
            "Whether this host reconciles for the plugin: 1 where it holds the plugin's lease, or there are no leases",
            families.leading.clone(),
        );
        registry.register(
            "oarlock_plugin_instances",
            "Number of instances of a plugin that are there",
            families.instances.clone(),
        );
        registry.register(
            "oarlock_plugin_call_duration_seconds",
            "Length of time per call into a plugin, and of making the instance for it",
            families.calls.clone(),
        );
        registry.register(
            "oarlock_plugin_traps",
            "Calls into a plugin that gave no answer that can be used, by cause",
            families.traps.clone(),
        );
        registry.register(
            "oarlock_api_requests",
            "Requests to the API server made for a plugin, by verb and status code",
            families.api_requests.clone(),
        );
        registry.register(
            "oarlock_http_requests",
            "Requests to other servers made for a plugin, by status code",
            families.http_requests.clone(),
        );
        registry.register("oarlock_plugin_state", "1 for the state a plugin is in", families.states.clone());
        families
    }

    /// Registers the metrics about objects.
    fn register_objects(&self, registry: &mut Registry) {
        registry.register(
            "oarlock_objects_out_of_sync",
            "Objects whose actual state still differs from the desired state after the last patch",
            self.out_of_sync.clone(),
        );
        registry.register(
            "oarlock_paused_objects",
            "Objects that the plugin leaves alone because of the annotation oarlock.dev/paused",
            self.paused.clone(),
        );
        registry.register(
            "oarlock_resyncs_skipped",
            "Keys that did not run at a resync, because nothing that their last reconcile depended on has changed",
            self.resyncs_skipped.clone(),
        );
    }

    fn register_rollouts(&self, registry: &mut Registry) {
        registry.register(
            "oarlock_rollout_share_percent",
            "Share of the objects that the candidate of a plugin's rollout reconciles, in percent",
            self.rollout_share.clone(),
        );
        registry.register(
            "oarlock_rollout_different_writes",
            "Writes in the present step of a plugin's rollout that only one of the two versions would make, or that differ",
            self.rollout_writes.clone(),
        );
        registry.register("oarlock_rollouts", "Rollouts of a plugin that ended, by result", self.rollouts.clone());
    }

    pub(super) fn remove(&self, name: &str) {
        self.reconciles.retain(|labels| *labels.controller != *name);
        self.errors.retain(|labels| *labels.controller != *name);
        self.reconcile_time.retain(|labels| *labels.controller != *name);
        self.active_workers.retain(|labels| *labels.controller != *name);
        self.instances.retain(|labels| *labels.plugin != *name);
        self.out_of_sync.retain(|labels| *labels.plugin != *name);
        self.paused.retain(|labels| *labels.plugin != *name);
        self.resyncs_skipped.retain(|labels| *labels.plugin != *name);
        self.rollout_share.retain(|labels| *labels.plugin != *name);
        self.rollout_writes.retain(|labels| *labels.plugin != *name);
        self.rollouts.retain(|labels| *labels.plugin != *name);
        self.leading.retain(|labels| *labels.plugin != *name);
        self.calls.retain(|labels| *labels.plugin != *name);
        self.traps.retain(|labels| *labels.plugin != *name);
        self.api_requests.retain(|labels| *labels.plugin != *name);
        self.http_requests.retain(|labels| *labels.plugin != *name);
        self.states.retain(|labels| *labels.plugin != *name);
    }
}

/// The buckets of controller-runtime, in seconds.
fn reconcile_histogram() -> TracedHistogram {
    const BUCKETS: [f64; 40] = [
        0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5,
        1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0,
    ];
    TracedHistogram::new(BUCKETS.into_iter())
}

/// From the 10 µs of a small guest to a guest that waits for a slow server, in seconds.
fn call_histogram() -> Histogram {
    Histogram::new([
        0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
        0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
    ])
}
