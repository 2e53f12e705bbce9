//! Stops a fight: an object that is patched again and again is slowed down.

use super::ReconcileKey;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// This many patches of one object at once, then one per refill.
const BURST: f64 = 30.0;
const REFILL: Duration = Duration::from_secs(10);

/// Objects above this number are forgotten when their bucket is full again.
const TRACKED: usize = 10_000;

/// A token bucket for each object.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    buckets: Mutex<HashMap<ReconcileKey, (f64, Instant)>>,
}

impl Breaker {
    /// How long the key must wait. None: it may run.
    pub(super) fn blocked(&self, key: &ReconcileKey) -> Option<Duration> {
        let buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let (tokens, at) = buckets.get(key)?;
        let now = filled(*tokens, *at);
        (now < 1.0).then(|| REFILL.mul_f64(1.0 - now))
    }

    /// Counts a patch. Answers true when it was the last one of the burst.
    pub(super) fn patched(&self, key: &ReconcileKey) -> bool {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= TRACKED {
            buckets.retain(|_, (tokens, at)| filled(*tokens, *at) < BURST);
        }
        let (tokens, at) = buckets.entry(key.clone()).or_insert_with(|| (BURST, Instant::now()));
        *tokens = (filled(*tokens, *at) - 1.0).max(0.0);
        *at = Instant::now();
        *tokens < 1.0
    }
}

fn filled(tokens: f64, at: Instant) -> f64 {
    (tokens + at.elapsed().as_secs_f64() / REFILL.as_secs_f64()).min(BURST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{GroupVersionKind, ObjectKey};

    #[tokio::test(start_paused = true)]
    async fn an_object_that_is_patched_without_end_waits_and_others_do_not() {
        let key = |name: &str| ReconcileKey {
            kind: GroupVersionKind::new("", "v1", "ConfigMap").into(),
            key: ObjectKey::new("n", name),
        };
        let breaker = Breaker::default();
        let tripped = (0..30).map(|_| breaker.patched(&key("a"))).collect::<Vec<_>>();
        assert!(tripped[29] && !tripped[28]);
        let wait = breaker.blocked(&key("a")).unwrap();
        assert!(breaker.blocked(&key("b")).is_none());
        tokio::time::advance(wait).await;
        assert!(breaker.blocked(&key("a")).is_none());
    }
}
