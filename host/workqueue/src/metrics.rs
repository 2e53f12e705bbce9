//! Metrics of a queue, in a form that any metrics library can export.
//!
//! # Source
//!
//! client-go `util/workqueue/metrics.go`, with the buckets of k8s.io/component-base.

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

/// A queue as a source of metrics. A queue counts under its own lock, because shared counters would cost it more than the rest of its work.
pub trait MetricsSource: fmt::Debug + Send + Sync {
    /// The metrics at `now`.
    fn read(&self, now: Instant) -> Metrics;
}

/// The metrics of a queue at one moment.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    /// Totals since the creation of the queue.
    pub totals: Totals,
    /// Keys to be handed out, including those that were added while they are held.
    pub depth: usize,
    /// The sum of the times for which held keys have been held.
    pub unfinished: Duration,
    /// The longest of these times.
    pub longest: Duration,
}

/// Totals of a queue since its creation.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// Adds that were not coalesced.
    pub adds: u64,
    /// Retries, and requeues after a delay.
    pub retries: u64,
    /// Durations from ready to hand-out.
    pub queue_duration: Durations,
    /// Durations from hand-out to done.
    pub work_duration: Durations,
}

/// A histogram of durations.
#[derive(Debug, Clone, Default)]
pub struct Durations {
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

impl Durations {
    /// Counts one duration.
    pub fn observe(&mut self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let bucket = BUCKETS.partition_point(|(longest, _)| *longest < nanos);
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
        }
        self.sum = self.sum.saturating_add(took);
    }

    /// The upper bound of each bucket in seconds, and the count of that bucket alone.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> {
        BUCKETS.iter().zip(self.counts).map(|((_, seconds), count)| (*seconds, count))
    }

    /// The number of durations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The sum of the durations.
    #[must_use]
    pub const fn sum(&self) -> Duration {
        self.sum
    }
}
