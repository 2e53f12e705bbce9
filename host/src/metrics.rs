//! Prometheus metrics of the host, with the names that dashboards for Go controllers use.
//!
//! [`Metrics`] is created once and cloned. Each plugin records through its own [`PluginMetrics`] and [`QueueMetrics`].
//! [`Metrics::remove_plugin`] drops all series of a plugin, so that their number is bounded by the number of plugins. Label values come
//! from the host, never from a guest.
//!
//! # Source
//!
//! `workqueue_*`: client-go `util/workqueue/metrics.go` with the buckets of k8s.io/component-base. `controller_runtime_*`:
//! controller-runtime `pkg/internal/controller/metrics/metrics.go`.

mod admission;
mod exemplar;
mod exposition;
mod maps;
mod plugin;
pub(crate) mod process;
mod queue;
mod series;

pub use self::exposition::Format;
pub use self::plugin::{ApiVerb, Call, Counted, PLUGIN_STATES, PluginMetrics, ReconcileResult, TrapCause};
pub use self::queue::QueueMetrics;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use self::admission::AdmissionFamilies;
use self::maps::MapFamilies;
use self::plugin::PluginFamilies;
use self::queue::QueueFamilies;
use self::series::Series;
use crate::telemetry::{SpanCounters, TraceId};

/// The label of the host's own requests.
const HOST: &str = "oarlock";

/// All metrics of a host; a clone is another handle to the same metrics.
#[derive(Debug, Clone)]
pub struct Metrics {
    shared: Arc<MetricsShared>,
}

#[derive(Debug)]
struct MetricsShared {
    registry: Registry,
    queue: QueueFamilies,
    plugin: PluginFamilies,
    admission: AdmissionFamilies,
    informer_objects: Series<InformerLabels, Gauge>,
    informer_relists: Series<InformerLabels, Counter>,
    file_states: Series<FileStateLabels, Gauge>,
    registry_answers: Series<ReferenceLabels, Gauge>,
    maps: MapFamilies,
    spans: SpanCounters,
    known: Mutex<PluginHandles>,
}

/// The handles of each plugin.
#[derive(Debug, Default)]
struct PluginHandles {
    queues: HashMap<Arc<str>, QueueMetrics>,
    /// After the removal of a plugin, handles still in use record nothing.
    plugins: HashMap<Arc<str>, PluginMetrics>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct VersionLabels {
    version: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct FileStateLabels {
    file: Arc<str>,
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct ReferenceLabels {
    reference: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct InformerLabels {
    group: Arc<str>,
    kind: Arc<str>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Creates a registry with every metric, and the series of the process and of the host's own requests.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::default();
        process::register(&mut registry);
        let build = Series::<_, Gauge>::new(Gauge::default);
        build.get(&VersionLabels { version: env!("CARGO_PKG_VERSION") }).set(1);
        registry.register("oarlock_build_info", "1 on every host, by the version of its program", build);
        let queue = QueueFamilies::register(&mut registry);
        let plugin = PluginFamilies::register(&mut registry);
        plugin.begin_api_requests(&Arc::from(HOST));
        let admission = AdmissionFamilies::register(&mut registry);
        let informer_objects = Series::new(Gauge::default);
        registry.register("oarlock_informer_objects", "Objects in the store, by kind", informer_objects.clone());
        let informer_relists = Series::new(Counter::default);
        registry.register(
            "oarlock_informer_relists",
            "Lists made because a watch could not be resumed, by kind",
            informer_relists.clone(),
        );
        let file_states = Series::new(Gauge::default);
        registry.register(
            "oarlock_plugin_newest_state",
            "1 for the state of the newest content of a plugin file, where that is not what runs",
            file_states.clone(),
        );
        let registry_answers = Series::new(Gauge::default);
        registry.register(
            "oarlock_registry_answers",
            "Whether a registry could be asked about a plugin the last time: 1 or 0, by reference",
            registry_answers.clone(),
        );
        let maps = MapFamilies::register(&mut registry);
        let spans = spans(&mut registry);
        let shared = MetricsShared {
            registry,
            queue,
            plugin,
            admission,
            informer_objects,
            informer_relists,
            file_states,
            registry_answers,
            maps,
            spans,
            known: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The metrics of a workqueue. A second call returns the same series, which then follow the queue created last.
    ///
    /// * `name` - the plugin's name, which becomes the label `name`.
    #[must_use]
    pub fn queue(&self, name: &str) -> QueueMetrics {
        let mut known = self.known();
        if let Some(queue) = known.queues.get(name) {
            return queue.clone();
        }
        let name: Arc<str> = Arc::from(name);
        let queue = self.shared.queue.queue(&name);
        known.queues.insert(name, queue.clone());
        queue
    }

    /// The metrics of a plugin; counters that alerts compare start at zero. A second call returns the same series.
    ///
    /// * `name` - the plugin's name, which becomes the label `plugin`, or `controller`.
    #[must_use]
    pub fn plugin(&self, name: &str) -> PluginMetrics {
        let mut known = self.known();
        if let Some(plugin) = known.plugins.get(name) {
            return plugin.clone();
        }
        let name: Arc<str> = Arc::from(name);
        let plugin = PluginMetrics::new(Arc::clone(&name), self.shared.plugin.clone());
        known.plugins.insert(name, plugin.clone());
        plugin
    }

    /// Counts a request to the API server. Requests for a removed plugin, such as the removal of its finalizers, are not counted.
    ///
    /// * `writer` - a plugin, or the host itself, which has no other series.
    /// * `verb` - the verb of the request, as in RBAC.
    /// * `code` - the HTTP status; none without a response.
    pub fn api_request(&self, writer: &str, verb: ApiVerb, code: Option<u16>) {
        let plugin = self.known().plugins.get(writer).cloned();
        match plugin {
            Some(plugin) => plugin.api_request(verb, code),
            None if writer == HOST => self.shared.plugin.api_request(&Arc::from(HOST), verb, code),
            None => {}
        }
    }

    /// Drops every series of a plugin and of its queue.
    ///
    /// Handles in use record nothing any more. A plugin that returns under the name needs new ones.
    pub fn remove_plugin(&self, name: &str) {
        let mut known = self.known();
        known.queues.remove(name);
        if let Some(plugin) = known.plugins.remove(name) {
            plugin.end();
        }
        self.shared.queue.remove(name);
        self.shared.plugin.remove(name);
        self.shared.admission.remove(name);
    }

    /// Sets the state of every plugin file whose newest content is not running: compiling, waiting, or refused.
    ///
    /// * `states` - by file name; each one of [`PLUGIN_STATES`].
    pub fn set_file_states(&self, states: &BTreeMap<&str, &'static str>) {
        self.shared.file_states.retain(|labels| states.get(&*labels.file) == Some(&labels.state));
        for (file, state) in states {
            self.shared.file_states.get(&FileStateLabels { file: Arc::from(*file), state }).set(1);
        }
    }

    /// Removes the series of references that nobody wants any more.
    pub fn retain_references(&self, wanted: &BTreeSet<String>) {
        self.shared.registry_answers.retain(|labels| wanted.contains(&*labels.reference));
    }

    /// Sets whether a registry answered the last request about a plugin.
    ///
    /// * `reference` - its text.
    pub fn set_registry_answers(&self, reference: &str, answers: bool) {
        self.shared.registry_answers.get(&ReferenceLabels { reference: Arc::from(reference) }).set(i64::from(answers));
    }

    /// Sets the size of one of the host's maps.
    ///
    /// * `map` - a name from docs/memory.md.
    /// * `bytes` - bytes of all entries. None: the map only counts entries.
    pub fn set_map(&self, map: &'static str, entries: usize, bytes: Option<usize>) {
        self.shared.maps.set(map, entries, bytes);
    }

    /// The counters of the spans of traces.
    #[must_use]
    pub fn spans(&self) -> &SpanCounters {
        &self.shared.spans
    }

    /// Sets the number of running asynchronous tasks.
    pub fn set_tasks(&self, tasks: usize) {
        self.shared.maps.tasks.set(count(tasks));
    }

    /// Sets the number of stored objects of a kind, and counts relists.
    ///
    /// * `group` - the API group, empty for the core group.
    /// * `relists` - relists since the last call.
    pub fn informer(&self, group: &str, kind: &str, objects: usize, relists: u64) {
        let labels = InformerLabels::new(group, kind);
        self.shared.informer_objects.get(&labels).set(count(objects));
        self.shared.informer_relists.get(&labels).inc_by(relists);
    }

    /// Drops the series of a kind that is no longer watched.
    pub fn remove_informer(&self, group: &str, kind: &str) {
        let gone = InformerLabels::new(group, kind);
        self.shared.informer_objects.retain(|labels| *labels != gone);
        self.shared.informer_relists.retain(|labels| *labels != gone);
    }

    /// Creates the series of a webhook when its configuration is written: a counter that begins at 1 shows no increase.
    ///
    /// * `webhook` - `/mutate/PLUGIN`, `/validate/PLUGIN` or `/initialize`.
    pub fn begin_webhook(&self, webhook: &str) {
        let known = self.known();
        let plugin = AdmissionFamilies::plugin_of(webhook);
        if plugin.is_none_or(|plugin| known.plugins.contains_key(plugin)) {
            self.shared.admission.begin(webhook, plugin);
        }
    }

    /// Creates the series that count repairs of webhook configurations.
    pub fn begin_repairs(&self, kind: &'static str) {
        self.shared.admission.begin_repairs(kind);
    }

    /// Records a request to the admission server and its duration. Requests for a plugin that was removed meanwhile are not recorded.
    ///
    /// * `webhook` - an existing webhook, never a name from a client.
    /// * `trace` - the trace of the review, if that is sampled.
    pub fn webhook_answered(&self, webhook: &str, code: u16, took: std::time::Duration, trace: Option<TraceId>) {
        // The lock is held meanwhile, so that the plugin cannot be removed in between and leave its series behind.
        let known = self.known();
        if AdmissionFamilies::plugin_of(webhook).is_some_and(|plugin| !known.plugins.contains_key(plugin)) {
            return;
        }
        self.shared.admission.answered(webhook, code, took, trace);
    }

    /// Counts a review by its result: `allowed`, `changed`, `refused`, `failed` or `ignored`.
    pub fn reviewed(&self, plugin: &str, result: &'static str) {
        let known = self.known();
        if known.plugins.contains_key(plugin) {
            self.shared.admission.reviewed(plugin, result);
        }
    }

    /// Counts objects of a conversion request.
    pub fn converted(&self, plugin: &str, converted: bool, objects: usize) {
        let known = self.known();
        if known.plugins.contains_key(plugin) {
            self.shared.admission.converted(plugin, converted, objects);
        }
    }

    /// Sets the number of unanswered initializers of each InitializerConfiguration.
    pub fn set_unanswered(&self, counts: &BTreeMap<&str, usize>) {
        self.shared.admission.set_unanswered(counts);
    }

    /// Counts a repair of a webhook configuration that another client had changed.
    pub fn webhooks_repaired(&self, kind: &'static str) {
        self.shared.admission.repaired(kind);
    }

    /// Encodes all metrics as text.
    ///
    /// # Errors
    ///
    /// A value cannot be formatted; no known value of the host is such.
    pub fn encode(&self, format: Format) -> Result<String, fmt::Error> {
        for queue in self.known().queues.values() {
            queue.refresh();
        }
        let mut answer = String::new();
        text::encode(&mut answer, &self.shared.registry)?;
        Ok(format.of(answer))
    }

    fn known(&self) -> MutexGuard<'_, PluginHandles> {
        self.shared.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InformerLabels {
    fn new(group: &str, kind: &str) -> Self {
        Self { group: Arc::from(group), kind: Arc::from(kind) }
    }
}

/// Registers the counters of the spans of traces.
fn spans(registry: &mut Registry) -> SpanCounters {
    let spans = SpanCounters::default();
    registry.register(
        "oarlock_otlp_spans_exported",
        "Spans that the OpenTelemetry collector accepted",
        spans.exported.clone(),
    );
    registry.register(
        "oarlock_otlp_spans_dropped",
        "Spans that were dropped, because the OpenTelemetry collector did not accept them or was too slow",
        spans.dropped.clone(),
    );
    spans
}

/// Converts a count into the type of gauges.
fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::workqueue::metrics::{Metrics as QueueState, MetricsSource, Totals};

    fn lines(metrics: &Metrics) -> Vec<String> {
        metrics.encode(Format::OpenMetrics).unwrap().lines().map(str::to_owned).collect()
    }

    fn has(metrics: &Metrics, expected: &[&str]) {
        let lines = lines(metrics);
        for line in expected {
            assert!(lines.iter().any(|have| have == line), "no {line} in\n{}", lines.join("\n"));
        }
    }

    #[derive(Debug, Default)]
    struct Queue(QueueState);

    impl MetricsSource for Queue {
        fn read(&self, _: tokio::time::Instant) -> QueueState {
            self.0.clone()
        }
    }

    /// Returns the queue, whose metrics are read while it exists.
    fn record_everything(metrics: &Metrics, name: &str) -> Arc<Queue> {
        let totals = Totals { adds: 1, retries: 1, ..Totals::default() };
        let queue = Arc::new(Queue(QueueState { totals, depth: 1, ..QueueState::default() }));
        metrics.queue(name).read_from(Arc::downgrade(&queue) as _);
        let plugin = metrics.plugin(name);
        plugin.reconciled(ReconcileResult::Error, Duration::from_millis(70), None);
        plugin.called(Call::GetDesired, Duration::from_micros(70));
        plugin.trapped(TrapCause::BadAnswer);
        plugin.api_request(ApiVerb::Apply, Some(200));
        plugin.api_request(ApiVerb::Apply, None);
        plugin.http_request(Some(404));
        plugin.set_state("active");
        queue
    }

    #[test]
    fn every_metric_has_the_name_that_dashboards_ask_for() {
        let metrics = Metrics::new();
        let _queue = record_everything(&metrics, "network");
        metrics.informer("samplecrd.k8s.io", "Network", 3, 0);
        metrics.informer("", "Pod", 1, 1);
        metrics.set_registry_answers("oci://registry.example/team/network:1", false);
        let _worker = metrics.plugin("network").active_worker();
        has(
            &metrics,
            &[
                r#"workqueue_depth{name="network"} 1"#,
                r#"workqueue_adds_total{name="network"} 1"#,
                r#"workqueue_retries_total{name="network"} 1"#,
                r#"workqueue_queue_duration_seconds_count{name="network"} 0"#,
                r#"workqueue_work_duration_seconds_count{name="network"} 0"#,
                r#"workqueue_unfinished_work_seconds{name="network"} 0.0"#,
                r#"workqueue_longest_running_processor_seconds{name="network"} 0.0"#,
                r#"controller_runtime_reconcile_total{controller="network",result="error"} 1"#,
                r#"controller_runtime_reconcile_errors_total{controller="network"} 1"#,
                r#"controller_runtime_reconcile_time_seconds_bucket{le="0.1",controller="network"} 1"#,
                r#"controller_runtime_active_workers{controller="network"} 1"#,
                r#"oarlock_plugin_call_duration_seconds_count{plugin="network",call="get-desired"} 1"#,
                r#"oarlock_plugin_traps_total{plugin="network",cause="bad-answer"} 1"#,
                r#"oarlock_api_requests_total{plugin="network",verb="apply",code="200"} 1"#,
                r#"oarlock_api_requests_total{plugin="network",verb="apply",code="<error>"} 1"#,
                r#"oarlock_http_requests_total{plugin="network",code="404"} 1"#,
                r#"oarlock_plugin_state{plugin="network",state="active"} 1"#,
                r#"oarlock_informer_objects{group="samplecrd.k8s.io",kind="Network"} 3"#,
                r#"oarlock_informer_relists_total{group="",kind="Pod"} 1"#,
                r#"oarlock_informer_relists_total{group="samplecrd.k8s.io",kind="Network"} 0"#,
                r#"oarlock_registry_answers{reference="oci://registry.example/team/network:1"} 0"#,
            ],
        );
    }

    #[test]
    fn results_and_causes_are_there_as_zero_before_anything_happened() {
        let metrics = Metrics::new();
        let plugin = metrics.plugin("network");
        has(
            &metrics,
            &[
                r#"controller_runtime_reconcile_total{controller="network",result="success"} 0"#,
                r#"controller_runtime_reconcile_total{controller="network",result="error"} 0"#,
                r#"controller_runtime_reconcile_total{controller="network",result="requeue"} 0"#,
                r#"controller_runtime_reconcile_total{controller="network",result="requeue_after"} 0"#,
                r#"controller_runtime_reconcile_errors_total{controller="network"} 0"#,
                r#"controller_runtime_active_workers{controller="network"} 0"#,
                r#"oarlock_plugin_traps_total{plugin="network",cause="deadline"} 0"#,
                r#"oarlock_plugin_state{plugin="network",state="failed"} 0"#,
            ],
        );
        plugin.reconciled(ReconcileResult::Success, Duration::ZERO, None);
        has(&metrics, &[r#"controller_runtime_reconcile_errors_total{controller="network"} 0"#]);
    }

    #[test]
    fn a_plugin_is_in_one_state_at_a_time() {
        let metrics = Metrics::new();
        let (network, other) = (metrics.plugin("network"), metrics.plugin("other"));
        other.set_state("syncing");
        network.set_state("compiling");
        network.set_state("active");
        let lines = lines(&metrics);
        let current: Vec<_> =
            lines.iter().filter(|line| line.starts_with("oarlock_plugin_state{") && line.ends_with(" 1")).collect();
        assert_eq!(
            current,
            [
                r#"oarlock_plugin_state{plugin="network",state="active"} 1"#,
                r#"oarlock_plugin_state{plugin="other",state="syncing"} 1"#
            ]
        );
    }

    #[test]
    fn b2_removing_a_plugin_leaves_no_series_of_it_and_late_records_bring_none_back() {
        let metrics = Metrics::new();
        let _kept = record_everything(&metrics, "kept");
        let before = lines(&metrics).len();
        let gone = record_everything(&metrics, "gone");
        let (late, queue) = (metrics.plugin("gone"), metrics.queue("gone"));
        let worker = late.active_worker();
        metrics.remove_plugin("gone");
        late.reconciled(ReconcileResult::Success, Duration::ZERO, None);
        late.called(Call::Patch, Duration::ZERO);
        late.trapped(TrapCause::Trap);
        late.api_request(ApiVerb::Get, Some(200));
        metrics.api_request("gone", ApiVerb::Patch, Some(200));
        late.http_request(None);
        late.set_state("retired");
        late.set_leading(false);
        metrics.reviewed("gone", "allowed");
        metrics.webhook_answered("/mutate/gone", 200, Duration::ZERO, None);
        drop((worker, late.active_worker()));
        queue.read_from(Arc::downgrade(&gone) as _);
        let after = lines(&metrics);
        assert!(!after.iter().any(|line| line.contains("gone")), "{}", after.join("\n"));
        assert_eq!(after.len(), before);
        // The plugin returns under its name.
        metrics.plugin("gone").reconciled(ReconcileResult::Success, Duration::ZERO, None);
        has(&metrics, &[r#"controller_runtime_reconcile_total{controller="gone",result="success"} 1"#]);
    }

    /// A series for the host would be a plugin without a leader: its alert would fire for ever.
    #[test]
    fn b1_what_the_host_asks_for_itself_makes_no_series_of_a_plugin() {
        let metrics = Metrics::new();
        let before = lines(&metrics).len();
        metrics.api_request(HOST, ApiVerb::Patch, Some(200));
        has(&metrics, &[r#"oarlock_api_requests_total{plugin="oarlock",verb="patch",code="200"} 1"#]);
        let after = lines(&metrics);
        let of_host =
            |line: &&String| line.contains(r#"="oarlock""#) && !line.starts_with("oarlock_api_requests_total{");
        assert_eq!(after.iter().filter(of_host).count(), 0, "{after:?}");
        assert_eq!(after.len(), before + 1, "{after:?}");
    }

    #[test]
    fn b12_requests_are_counted_by_what_they_ask_for_and_refusals_from_the_start() {
        let metrics = Metrics::new();
        let _network = metrics.plugin("network");
        for writer in [HOST, "network"] {
            for verb in ["get", "list", "create", "update", "patch", "apply", "delete"] {
                for code in [401, 403] {
                    let line =
                        format!(r#"oarlock_api_requests_total{{plugin="{writer}",verb="{verb}",code="{code}"}} 0"#);
                    has(&metrics, &[&line]);
                }
            }
        }
    }

    #[test]
    fn a_worker_is_active_until_it_is_dropped() {
        let metrics = Metrics::new();
        let plugin = metrics.plugin("network");
        let (first, second) = (plugin.active_worker(), plugin.active_worker());
        has(&metrics, &[r#"controller_runtime_active_workers{controller="network"} 2"#]);
        drop((first, second));
        has(&metrics, &[r#"controller_runtime_active_workers{controller="network"} 0"#]);
    }

    #[test]
    fn an_instance_is_there_until_it_is_dropped() {
        let metrics = Metrics::new();
        let plugin = metrics.plugin("network");
        has(&metrics, &[r#"oarlock_plugin_instances{plugin="network"} 0"#]);
        let instance = plugin.instance();
        has(&metrics, &[r#"oarlock_plugin_instances{plugin="network"} 1"#]);
        drop(instance);
        has(&metrics, &[r#"oarlock_plugin_instances{plugin="network"} 0"#]);
    }

    #[test]
    fn a_kind_that_is_no_longer_watched_has_no_series() {
        let metrics = Metrics::new();
        metrics.informer("", "Pod", 1, 1);
        metrics.informer("apps", "Deployment", 1, 0);
        metrics.remove_informer("", "Pod");
        let lines = lines(&metrics);
        assert!(!lines.iter().any(|line| line.contains("Pod")));
        assert!(lines.iter().any(|line| line.contains("Deployment")));
    }

    #[test]
    fn asking_twice_gives_the_same_series() {
        let metrics = Metrics::new();
        let _queue = record_everything(&metrics, "network");
        let again = metrics.clone().queue("network");
        has(&metrics, &[r#"workqueue_adds_total{name="network"} 1"#]);
        let totals = Totals { adds: 2, ..Totals::default() };
        let queue = Arc::new(Queue(QueueState { totals, ..QueueState::default() }));
        again.read_from(Arc::downgrade(&queue) as _);
        has(&metrics, &[r#"workqueue_adds_total{name="network"} 2"#]);
    }

    #[test]
    fn of_a_queue_that_is_gone_the_totals_stay() {
        let metrics = Metrics::new();
        let queue = record_everything(&metrics, "network");
        lines(&metrics);
        drop(queue);
        has(&metrics, &[r#"workqueue_depth{name="network"} 0"#, r#"workqueue_adds_total{name="network"} 1"#]);
    }

    #[test]
    fn a_duration_is_in_the_first_bucket_that_is_not_shorter() {
        let metrics = Metrics::new();
        let mut totals = Totals::default();
        for nanos in [0, 10, 11, 1_000_000, 1_000_001, 2_000_000_000_000] {
            totals.work_duration.observe(Duration::from_nanos(nanos));
        }
        let queue = Arc::new(Queue(QueueState { totals, ..QueueState::default() }));
        metrics.queue("q").read_from(Arc::downgrade(&queue) as _);
        has(
            &metrics,
            &[
                r#"workqueue_work_duration_seconds_sum{name="q"} 2000.002000022"#,
                r#"workqueue_work_duration_seconds_count{name="q"} 6"#,
                r#"workqueue_work_duration_seconds_bucket{le="1e-8",name="q"} 2"#,
                r#"workqueue_work_duration_seconds_bucket{le="1e-7",name="q"} 3"#,
                r#"workqueue_work_duration_seconds_bucket{le="0.001",name="q"} 4"#,
                r#"workqueue_work_duration_seconds_bucket{le="0.01",name="q"} 5"#,
                r#"workqueue_work_duration_seconds_bucket{le="1000.0",name="q"} 5"#,
                r#"workqueue_work_duration_seconds_bucket{le="+Inf",name="q"} 6"#,
            ],
        );
    }

    #[test]
    fn the_newest_content_of_a_file_is_in_one_state_until_it_runs() {
        let metrics = Metrics::new();
        let shown = |states: &[(&str, &'static str)]| {
            metrics.set_file_states(&states.iter().copied().collect());
            let all = lines(&metrics);
            let of = all.iter().filter_map(|line| line.strip_prefix("oarlock_plugin_newest_state"));
            of.map(str::to_owned).collect::<Vec<_>>()
        };
        let both = [r#"{file="a.wasm",state="failed"} 1"#, r#"{file="b.wasm",state="compiling"} 1"#];
        assert_eq!(shown(&[("a.wasm", "failed"), ("b.wasm", "compiling")]), both);
        assert_eq!(shown(&[("b.wasm", "awaiting-grant")]), [r#"{file="b.wasm",state="awaiting-grant"} 1"#]);
        assert_eq!(shown(&[]), Vec::<String>::new());
    }

    #[test]
    fn the_process_tells_its_memory_and_its_start() {
        let value = |metrics: &Metrics, name: &str| -> f64 {
            let lines = lines(metrics);
            lines.iter().find_map(|line| line.strip_prefix(name)?.trim().parse().ok()).unwrap()
        };
        let metrics = Metrics::new();
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
        assert!((now - value(&metrics, "process_start_time_seconds ")).abs() < 60.0);
        if cfg!(target_os = "linux") {
            assert!(value(&metrics, "process_resident_memory_bytes ") > 1_000_000.0);
        }
    }

    #[test]
    fn label_values_are_escaped() {
        let metrics = Metrics::new();
        let _queue = metrics.queue("a\"b\\c\nd");
        has(&metrics, &[r#"workqueue_depth{name="a\"b\\c\nd"} 0"#]);
    }
}
