//! Circuit breaker for fights: slows down an object that is patched again and again.

use super::ReconcileKey;
use crate::buckets::Buckets;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Patches of one object at once; then one per refill.
const BURST: f64 = 30.0;
const REFILL: Duration = Duration::from_secs(10);

/// A token bucket for each object.
#[derive(Debug)]
pub(super) struct Breaker {
    buckets: Mutex<Buckets<ReconcileKey>>,
}

impl Default for Breaker {
    fn default() -> Self {
        Self { buckets: Mutex::new(Buckets::new(BURST, REFILL)) }
    }
}

impl Breaker {
    /// How long the key must wait. None: it may run.
    pub(super) fn blocked(&self, key: &ReconcileKey) -> Option<Duration> {
        self.buckets().empty_for(key)
    }

    /// Counts a patch. Returns true for the last one of the burst.
    pub(super) fn patched(&self, key: &ReconcileKey) -> bool {
        let mut buckets = self.buckets();
        buckets.take(key.clone());
        buckets.empty_for(key).is_some()
    }

    /// The number of recently patched objects that the breaker remembers.
    pub(super) fn remembered(&self) -> usize {
        self.buckets().remembered()
    }

    fn buckets(&self) -> MutexGuard<'_, Buckets<ReconcileKey>> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
