//! Metrics of workqueues.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Registry;
use tokio::time::Instant;

use super::count;
use super::series::Series;

type Seconds = Gauge<f64, AtomicU64>;

/// The series of one workqueue, refreshed from the queue on each scrape; a clone is another handle to the same series.
#[derive(Debug, Clone)]
pub struct QueueMetrics {
    shared: Arc<QueueSeries>,
}

/// A queue that provides the figures of its series. A queue counts under its own lock: shared counters would cost it more than the rest
/// of its work.
pub(crate) trait QueueSource: fmt::Debug + Send + Sync {
    /// The figures at `now`.
    fn read(&self, now: Instant) -> QueueReading;
}

/// A queue at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct QueueReading {
    pub(crate) totals: QueueTotals,
    /// Keys to be handed out, including those that were added while they are held.
    pub(crate) depth: usize,
    /// The sum of the times for which held keys have been held.
    pub(crate) unfinished: Duration,
    /// The longest of these times.
    pub(crate) longest: Duration,
}

/// Totals of a queue since its creation.
#[derive(Debug, Clone, Default)]
pub(crate) struct QueueTotals {
    /// Adds that were not coalesced.
    pub(crate) adds: u64,
    /// Retries, and requeues after a delay.
    pub(crate) retries: u64,
    /// Durations from ready to hand-out.
    pub(crate) queue_duration: Durations,
    /// Durations from hand-out to done.
    pub(crate) work_duration: Durations,
}

/// A histogram of durations.
#[derive(Debug, Clone, Default)]
pub(crate) struct Durations {
    /// Counts by bucket, without the earlier buckets.
    counts: [u64; BUCKETS.len()],
    sum: Duration,
}

/// The upper bound of each bucket in nanoseconds and in seconds: decades from 10 ns to 1000 s, as in k8s.io/component-base.
const BUCKETS: [(u64, f64); 13] = [
    (10, 1e-8),
    (100, 1e-7),
    (1_000, 1e-6),
    (10_000, 1e-5),
    (100_000, 1e-4),
    (1_000_000, 1e-3),
    (10_000_000, 1e-2),
    (100_000_000, 0.1),
    (1_000_000_000, 1.0),
    (10_000_000_000, 10.0),
    (100_000_000_000, 100.0),
    (1_000_000_000_000, 1000.0),
    (u64::MAX, f64::INFINITY),
];

#[derive(Debug)]
struct QueueSeries {
    depth: Gauge,
    adds: Counter,
    queue_duration: Histogram,
    work_duration: Histogram,
    unfinished: Seconds,
    longest: Seconds,
    retries: Counter,
    source: Mutex<Option<Weak<dyn QueueSource>>>,
}

/// The histogram as a metric.
#[derive(Debug, Clone, Default)]
struct Histogram(Arc<Mutex<Durations>>);

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
    /// Makes these series follow `source`. When it is gone, its last totals stay.
    pub(crate) fn read_from(self, source: Weak<dyn QueueSource>) {
        *self.source() = Some(source);
    }

    /// Refreshes the series.
    pub(super) fn refresh(&self) {
        let Some(source) = self.source().clone() else { return };
        let source = source.upgrade();
        let reading = source.as_ref().map(|source| source.read(Instant::now())).unwrap_or_default();
        let series = &*self.shared;
        series.depth.set(count(reading.depth));
        series.unfinished.set(reading.unfinished.as_secs_f64());
        series.longest.set(reading.longest.as_secs_f64());
        if source.is_some() {
            let QueueTotals { adds, retries, queue_duration, work_duration } = reading.totals;
            series.adds.inner().store(adds, Ordering::Relaxed);
            series.retries.inner().store(retries, Ordering::Relaxed);
            *series.queue_duration.durations() = queue_duration;
            *series.work_duration.durations() = work_duration;
        }
    }

    fn source(&self) -> MutexGuard<'_, Option<Weak<dyn QueueSource>>> {
        self.shared.source.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueFamilies {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let families = Self {
            depth: Series::new(Gauge::default),
            adds: Series::new(Counter::default),
            queue_duration: Series::new(Histogram::default),
            work_duration: Series::new(Histogram::default),
            unfinished: Series::new(Seconds::default),
            longest: Series::new(Seconds::default),
            retries: Series::new(Counter::default),
        };
        // Encoding appends `_total` to counters, and registration appends the full stop to help texts.
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
                source: Mutex::default(),
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

impl Durations {
    pub(crate) fn observe(&mut self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let bucket = BUCKETS.partition_point(|(longest, _)| *longest < nanos);
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
        }
        self.sum = self.sum.saturating_add(took);
    }
}

impl Histogram {
    fn durations(&self) -> MutexGuard<'_, Durations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EncodeMetric for Histogram {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let Durations { counts, sum } = self.durations().clone();
        let buckets: Vec<_> = BUCKETS.iter().zip(counts).map(|((_, seconds), count)| (*seconds, count)).collect();
        encoder.encode_histogram::<NoLabelSet>(sum.as_secs_f64(), counts.iter().sum(), &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

impl TypedMetric for Histogram {
    const TYPE: MetricType = MetricType::Histogram;
}
