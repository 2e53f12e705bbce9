//! What the host counts and measures, under the names that dashboards for Go controllers know.
//!
//! [`Metrics`] is made once and cloned to whoever records. Each plugin records through its own [`PluginMetrics`] and
//! [`QueueMetrics`]; [`Metrics::remove_plugin`] drops all series of a plugin, so that their number is bounded by the
//! plugins there are. Label values come from the host, never from a guest.
//!
//! # Source
//!
//! `workqueue_*`: client-go `util/workqueue/metrics.go` with the buckets of k8s.io/component-base. `controller_runtime_*`:
//! controller-runtime `pkg/internal/controller/metrics/metrics.go`.

mod plugin;
mod process;
mod queue;
mod series;

pub use self::plugin::{ActiveWorker, Call, PLUGIN_STATES, PluginMetrics, ReconcileResult, TrapCause};
pub use self::queue::QueueMetrics;
pub(crate) use self::queue::WorkStarted;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use self::plugin::PluginFamilies;
use self::queue::QueueFamilies;
use self::series::Series;

/// The content type of [`Metrics::encode`]'s answer.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All metrics of a host; cloning it gives another handle to the same.
#[derive(Debug, Clone)]
pub struct Metrics {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    registry: Registry,
    queue: QueueFamilies,
    plugin: PluginFamilies,
    informer_objects: Series<InformerLabels, Gauge>,
    informer_relists: Series<InformerLabels, Counter>,
    known: Mutex<Known>,
}

/// Handles given out, by plugin.
#[derive(Debug, Default)]
struct Known {
    queues: HashMap<Arc<str>, QueueMetrics>,
    /// False once the plugin is removed: handles that are still around then record nothing.
    plugins: HashMap<Arc<str>, Arc<AtomicBool>>,
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
    /// Makes a registry with every metric in it and no series but the process's own.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::default();
        process::register(&mut registry);
        let queue = QueueFamilies::register(&mut registry);
        let plugin = PluginFamilies::register(&mut registry);
        let informer_objects = Series::new(Gauge::default);
        registry.register("oarlock_informer_objects", "Objects in the store, by kind", informer_objects.clone());
        let informer_relists = Series::new(Counter::default);
        registry.register(
            "oarlock_informer_relists",
            "Lists made because a watch could not be resumed, by kind",
            informer_relists.clone(),
        );
        let known = Mutex::default();
        Self { shared: Arc::new(Shared { registry, queue, plugin, informer_objects, informer_relists, known }) }
    }

    /// The metrics of a workqueue. Asked for twice, the same series.
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

    /// The metrics of a plugin; counters that alerts compare start at zero. Asked for twice, the same series.
    ///
    /// * `name` - the plugin's name, which becomes the label `plugin`, or `controller`.
    #[must_use]
    pub fn plugin(&self, name: &str) -> PluginMetrics {
        let mut known = self.known();
        let name: Arc<str> = Arc::from(name);
        let live =
            Arc::clone(known.plugins.entry(Arc::clone(&name)).or_insert_with(|| Arc::new(AtomicBool::new(true))));
        drop(known);
        PluginMetrics::new(name, live, self.shared.plugin.clone())
    }

    /// Drops every series of a plugin and of its queue.
    ///
    /// Handles that are still in use record nothing any more. A plugin that comes back under the name needs new ones.
    pub fn remove_plugin(&self, name: &str) {
        let mut known = self.known();
        known.queues.remove(name);
        if let Some(live) = known.plugins.remove(name) {
            live.store(false, Ordering::Release);
        }
        self.shared.queue.remove(name);
        self.shared.plugin.remove(name);
    }

    /// Sets how many objects of a kind the store holds.
    ///
    /// * `group` - the API group, empty for the core group.
    pub fn set_informer_objects(&self, group: &str, kind: &str, objects: usize) {
        self.shared.informer_objects.get(&InformerLabels::new(group, kind)).set(count(objects));
    }

    /// Counts a list made because a watch could not be resumed.
    pub fn informer_relisted(&self, group: &str, kind: &str) {
        self.shared.informer_relists.get(&InformerLabels::new(group, kind)).inc();
    }

    /// Drops the series of a kind that is no longer watched.
    pub fn remove_informer(&self, group: &str, kind: &str) {
        let gone = InformerLabels::new(group, kind);
        self.shared.informer_objects.retain(|labels| *labels != gone);
        self.shared.informer_relists.retain(|labels| *labels != gone);
    }

    /// Writes all metrics in the OpenMetrics text format, for the content type [`CONTENT_TYPE`].
    ///
    /// # Errors
    ///
    /// When a value cannot be formatted; none of ours is known to.
    pub fn encode(&self) -> Result<String, fmt::Error> {
        for queue in self.known().queues.values() {
            queue.refresh();
        }
        let mut answer = String::new();
        text::encode(&mut answer, &self.shared.registry)?;
        Ok(answer)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.shared.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InformerLabels {
    fn new(group: &str, kind: &str) -> Self {
        Self { group: Arc::from(group), kind: Arc::from(kind) }
    }
}

/// A count as a gauge takes it.
fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
