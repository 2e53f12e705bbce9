//! The metrics of workqueues.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use tokio::time::Instant;

use super::count;
use super::series::Series;

type Seconds = Gauge<f64, AtomicU64>;

/// What one workqueue records; cloning it gives another handle to the same series.
#[derive(Debug, Clone)]
pub struct QueueMetrics {
    shared: Arc<QueueSeries>,
}

#[derive(Debug)]
struct QueueSeries {
    depth: Gauge,
    adds: Counter,
    queue_duration: Histogram,
    work_duration: Histogram,
    unfinished: Seconds,
    longest: Seconds,
    retries: Counter,
    running: Mutex<Running>,
}

/// The start times of keys that workers hold.
#[derive(Debug, Default)]
struct Running {
    since: BTreeSet<(Instant, u64)>,
    next_number: u64,
}

/// A key that a worker holds; to be given back to [`QueueMetrics::finished`].
#[derive(Debug)]
pub(crate) struct WorkStarted {
    since: Instant,
    number: u64,
}

#[derive(Debug)]
pub(super) struct QueueFamilies {
    depth: Series<QueueLabels, Gauge>,
    adds: Series<QueueLabels, Counter>,
    queue_duration: Series<QueueLabels, Histogram>,
    work_duration: Series<QueueLabels, Histogram>,
    unfinished: Series<QueueLabels, Seconds>,
    longest: Series<QueueLabels, Seconds>,
    retries: Series<QueueLabels, Counter>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct QueueLabels {
    name: Arc<str>,
}

impl QueueMetrics {
    /// Sets how many keys are to be handed out, those that are added while they are held included.
    pub(crate) fn set_depth(&self, keys: usize) {
        self.shared.depth.set(count(keys));
    }

    /// Counts an add that was not coalesced.
    pub(crate) fn added(&self) {
        self.shared.adds.inc();
    }

    /// Counts a retry or a requeue after a time.
    pub(crate) fn retried(&self) {
        self.shared.retries.inc();
    }

    /// Notes that a key was handed out after it had waited.
    pub(crate) fn started(&self, waited: Duration, now: Instant) -> WorkStarted {
        self.shared.queue_duration.observe(waited.as_secs_f64());
        let mut running = self.running();
        let number = running.next_number;
        running.next_number += 1;
        running.since.insert((now, number));
        WorkStarted { since: now, number }
    }

    /// Notes that the key is done.
    pub(crate) fn finished(&self, work: &WorkStarted, now: Instant) {
        let WorkStarted { since, number } = *work;
        self.running().since.remove(&(since, number));
        self.shared.work_duration.observe(now.saturating_duration_since(since).as_secs_f64());
    }

    /// Brings up to date what grows by itself.
    pub(super) fn refresh(&self) {
        let now = Instant::now();
        let running = self.running();
        let age = |since: &Instant| now.saturating_duration_since(*since).as_secs_f64();
        self.shared.unfinished.set(running.since.iter().fold(0.0, |sum, (since, _)| sum + age(since)));
        self.shared.longest.set(running.since.first().map_or(0.0, |(since, _)| age(since)));
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.shared.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueFamilies {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let families = Self {
            depth: Series::new(Gauge::default),
            adds: Series::new(Counter::default),
            queue_duration: Series::new(histogram),
            work_duration: Series::new(histogram),
            unfinished: Series::new(Seconds::default),
            longest: Series::new(Seconds::default),
            retries: Series::new(Counter::default),
        };
        // Counters get their `_total` when they are encoded, and help texts their full stop when they are registered.
        registry.register("workqueue_depth", "Current depth of workqueue", families.depth.clone());
        registry.register("workqueue_adds", "Total number of adds handled by workqueue", families.adds.clone());
        registry.register(
            "workqueue_queue_duration_seconds",
            "How long in seconds a key stays in workqueue before it is handed out",
            families.queue_duration.clone(),
        );
        registry.register(
            "workqueue_work_duration_seconds",
            "How long in seconds processing a key from workqueue takes",
            families.work_duration.clone(),
        );
        registry.register(
            "workqueue_unfinished_work_seconds",
            "How many seconds of work are in progress and not yet in work_duration; large values tell of stuck workers",
            families.unfinished.clone(),
        );
        registry.register(
            "workqueue_longest_running_processor_seconds",
            "How many seconds the longest running worker has been at its key",
            families.longest.clone(),
        );
        registry.register(
            "workqueue_retries",
            "Total number of retries handled by workqueue",
            families.retries.clone(),
        );
        families
    }

    pub(super) fn queue(&self, name: &Arc<str>) -> QueueMetrics {
        let labels = QueueLabels { name: Arc::clone(name) };
        QueueMetrics {
            shared: Arc::new(QueueSeries {
                depth: self.depth.get(&labels),
                adds: self.adds.get(&labels),
                queue_duration: self.queue_duration.get(&labels),
                work_duration: self.work_duration.get(&labels),
                unfinished: self.unfinished.get(&labels),
                longest: self.longest.get(&labels),
                retries: self.retries.get(&labels),
                running: Mutex::default(),
            }),
        }
    }

    pub(super) fn remove(&self, name: &str) {
        let keep = |labels: &QueueLabels| *labels.name != *name;
        self.depth.retain(keep);
        self.adds.retain(keep);
        self.queue_duration.retain(keep);
        self.work_duration.retain(keep);
        self.unfinished.retain(keep);
        self.longest.retain(keep);
        self.retries.retain(keep);
    }
}

/// Decades from 10 ns to 1000 s, as in k8s.io/component-base.
fn histogram() -> Histogram {
    Histogram::new([1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0])
}
