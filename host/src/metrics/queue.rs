//! Metrics of workqueues.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use prometheus_client::encoding::{EncodeLabelSet, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Registry;
use tokio::time::Instant;

use crate::workqueue::metrics::{Durations, MetricsSource, Totals};

use super::count;
use super::series::Series;

type Seconds = Gauge<f64, AtomicU64>;

/// The series of one workqueue, refreshed from the queue on each scrape; a clone is another handle to the same series.
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
    source: Mutex<Option<Weak<dyn MetricsSource>>>,
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
    pub fn read_from(self, source: Weak<dyn MetricsSource>) {
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
            let Totals { adds, retries, queue_duration, work_duration } = reading.totals;
            series.adds.inner().store(adds, Ordering::Relaxed);
            series.retries.inner().store(retries, Ordering::Relaxed);
            *series.queue_duration.durations() = queue_duration;
            *series.work_duration.durations() = work_duration;
        }
    }

    fn source(&self) -> MutexGuard<'_, Option<Weak<dyn MetricsSource>>> {
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

impl Histogram {
    fn durations(&self) -> MutexGuard<'_, Durations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EncodeMetric for Histogram {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let durations = self.durations().clone();
        let buckets: Vec<_> = durations.buckets().collect();
        encoder.encode_histogram::<NoLabelSet>(durations.sum().as_secs_f64(), durations.count(), &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

impl TypedMetric for Histogram {
    const TYPE: MetricType = MetricType::Histogram;
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use crate::metrics::{Format, Metrics};
    use crate::workqueue::{Config, Trigger, WorkQueue};
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn q10_the_number_of_series_does_not_grow_with_keys() {
        let metrics = Metrics::new();
        let queue = WorkQueue::new("test", Config::default());
        metrics.queue("test").read_from(queue.metrics_source());
        let series = |metrics: &Metrics| {
            metrics.encode(Format::Text).unwrap().lines().filter(|line| !line.starts_with('#')).count()
        };
        queue.add(0, Trigger::Event);
        let before = series(&metrics);
        for key in 0..1000 {
            queue.add(key, Trigger::Event);
            queue.add_rate_limited(key);
        }
        assert_eq!(series(&metrics), before);
    }

    #[tokio::test(start_paused = true)]
    async fn the_series_of_a_queue_are_those_of_client_go() {
        let metrics = Metrics::new();
        let queue = WorkQueue::new("network", Config::default());
        metrics.queue("network").read_from(queue.metrics_source());
        queue.add("a", Trigger::Event);
        queue.add("a", Trigger::Event);
        queue.add("b", Trigger::Event);
        advance(Duration::from_secs(2)).await;
        assert_eq!(queue.get().await.map(|item| item.key), Some("a"));
        queue.add("a", Trigger::Event);
        queue.add_after("c", Duration::from_millis(1), Trigger::Resync);
        queue.add_rate_limited("d");
        let expect = |lines: &[&str]| {
            let text = metrics.encode(Format::Text).unwrap();
            for line in lines {
                assert!(text.lines().any(|have| have == *line), "no {line} in\n{text}");
            }
        };
        advance(Duration::from_secs(3)).await;
        expect(&[
            r#"workqueue_depth{name="network"} 2"#,
            r#"workqueue_adds_total{name="network"} 3"#,
            r#"workqueue_retries_total{name="network"} 1"#,
            r#"workqueue_queue_duration_seconds_sum{name="network"} 2.0"#,
            r#"workqueue_unfinished_work_seconds{name="network"} 3.0"#,
            r#"workqueue_longest_running_processor_seconds{name="network"} 3.0"#,
        ]);
        queue.done(&"a");
        expect(&[
            r#"workqueue_depth{name="network"} 4"#,
            r#"workqueue_adds_total{name="network"} 5"#,
            r#"workqueue_work_duration_seconds_sum{name="network"} 3.0"#,
            r#"workqueue_work_duration_seconds_count{name="network"} 1"#,
            r#"workqueue_unfinished_work_seconds{name="network"} 0.0"#,
            r#"workqueue_longest_running_processor_seconds{name="network"} 0.0"#,
        ]);
    }
}
