//! Rate limits of retries: the key's exponential backoff, and a token bucket for all retries of the queue.

use std::time::Duration;

use tokio::time::Instant;

use super::config::{Config, MAX_DELAY};

/// Chooses the delays of retries.
#[derive(Debug)]
pub(super) struct RateLimiter {
    base_delay: Duration,
    max_delay: Duration,
    jitter: f64,
    bucket: Option<Bucket>,
}

/// A token bucket that lends: with an empty bucket, a caller gets the time until its own token is available.
#[derive(Debug)]
struct Bucket {
    per_second: f64,
    burst: f64,
    /// Negative while tokens are lent.
    tokens: f64,
    /// Filled up to this time; `None` until first used, when the bucket is full.
    filled: Option<Instant>,
}

impl RateLimiter {
    pub(super) fn new(config: &Config) -> Self {
        let max_delay = config.max_delay.min(MAX_DELAY);
        let limited = config.retry_rate.is_finite() && config.retry_rate > 0.0;
        Self {
            base_delay: config.base_delay.min(max_delay),
            max_delay,
            jitter: if config.jitter.is_nan() { 0.0 } else { config.jitter.clamp(0.0, 1.0) },
            bucket: limited.then(|| Bucket::new(config.retry_rate, config.retry_burst)),
        }
    }

    /// The delay of a failed key: the longer of its backoff and the bucket's delay.
    ///
    /// * `failed_before` - earlier failures, without this one.
    pub(super) fn next_delay(&mut self, failed_before: u32, now: Instant) -> Duration {
        let backoff = self.backoff(failed_before);
        let lent = self.bucket.as_mut().map_or(Duration::ZERO, |bucket| bucket.take(now));
        backoff.max(lent).min(MAX_DELAY)
    }

    fn backoff(&self, failed_before: u32) -> Duration {
        let doubled = self.base_delay.as_nanos().saturating_mul(1 << failed_before.min(64));
        // Within u64: at most MAX_DELAY in nanoseconds.
        let nanos = u64::try_from(doubled.min(self.max_delay.as_nanos())).unwrap_or(u64::MAX);
        let delay = Duration::from_nanos(nanos);
        if self.jitter > 0.0 { delay + delay.mul_f64(self.jitter * fastrand::f64()) } else { delay }
    }
}

impl Bucket {
    fn new(per_second: f64, burst: u32) -> Self {
        let burst = f64::from(burst.max(1));
        Self { per_second, burst, tokens: burst, filled: None }
    }

    /// Takes a token, a future one if need be, and returns the time until it is available.
    fn take(&mut self, now: Instant) -> Duration {
        if let Some(filled) = self.filled {
            let passed = now.saturating_duration_since(filled).as_secs_f64();
            self.tokens = (self.tokens + passed * self.per_second).min(self.burst);
        }
        self.filled = Some(now);
        self.tokens -= 1.0;
        if self.tokens >= 0.0 {
            return Duration::ZERO;
        }
        Duration::try_from_secs_f64(-self.tokens / self.per_second).unwrap_or(MAX_DELAY)
    }
}
