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

/// The upper bound of each bucket in seconds: decades from 10 ns to 1000 s, as in k8s.io/component-base.
const BUCKETS: [f64; 13] = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0, f64::INFINITY];

impl Durations {
    /// Counts one duration.
    pub fn observe(&mut self, took: Duration) {
        // Seconds fit in the last bucket alone; below them, nanoseconds fit in 64 bits. A bucket ends at a power of ten, and contains it.
        let nanos = if took.as_secs() > 1000 {
            u64::MAX
        } else {
            took.as_secs() * 1_000_000_000 + u64::from(took.subsec_nanos())
        };
        let decade = nanos.saturating_sub(1).checked_ilog10().unwrap_or(0);
        let bucket = (decade as usize).min(BUCKETS.len() - 1);
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
        }
        self.sum = self.sum.saturating_add(took);
    }

    /// The upper bound of each bucket in seconds, and the count of that bucket alone.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> {
        BUCKETS.into_iter().zip(self.counts)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_in_the_first_bucket_that_does_not_end_before_it() {
        let mut around: Vec<u64> = (0..=14).map(|power| 10_u64.pow(power)).flat_map(|n| [n - 1, n, n + 1]).collect();
        around.extend([5, 12_345, 999_999_999_999, 1_000_500_000_000, u64::MAX]);
        for took in around.into_iter().map(Duration::from_nanos).chain([Duration::MAX]) {
            let mut durations = Durations::default();
            durations.observe(took);
            let bound = durations.buckets().find(|(_, count)| *count == 1).map(|(bound, _)| bound);
            let expected =
                BUCKETS.into_iter().find(|bound| took <= Duration::try_from_secs_f64(*bound).unwrap_or(Duration::MAX));
            assert_eq!(bound, expected, "{took:?}");
            assert_eq!((durations.count(), durations.sum()), (1, took));
        }
    }
}
