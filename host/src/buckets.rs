//! Token buckets by key, in bounded memory.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;
use tokio::time::Instant;

/// Most keys. At this limit at least half of them are removed, so that a sweep is cheap per key.
const MOST_KEYS: usize = 10_000;

/// A token, but for what rounding takes from one that is just full: otherwise who waits for it would come too early, again and again.
const WHOLE: f64 = 1.0 - 1e-9;

/// A token bucket for each key. An unknown or forgotten key has a full bucket.
#[derive(Debug)]
pub(crate) struct Buckets<K> {
    /// Tokens, and the time of their count.
    buckets: HashMap<K, (f64, Instant)>,
    burst: f64,
    refill: Duration,
}

impl<K: Eq + Hash> Buckets<K> {
    /// * `burst` - tokens in a full bucket.
    /// * `refill` - time until a bucket gets one more.
    pub(crate) fn new(burst: f64, refill: Duration) -> Self {
        Self { buckets: HashMap::new(), burst, refill }
    }

    /// Takes a token. Returns false, and takes none, when less than one is left.
    pub(crate) fn take(&mut self, key: K) -> bool {
        if self.buckets.len() >= MOST_KEYS && !self.buckets.contains_key(&key) {
            self.sweep();
        }
        let full = self.tokens(&key);
        let enough = full >= WHOLE;
        self.buckets.insert(key, (if enough { full - 1.0 } else { full }, Instant::now()));
        enough
    }

    /// The time until the bucket of a key has a token. None: it has one.
    pub(crate) fn empty_for(&self, key: &K) -> Option<Duration> {
        let tokens = self.tokens(key);
        (tokens < WHOLE).then(|| self.refill.mul_f64(1.0 - tokens))
    }

    /// Forgets keys with full buckets, and returns the number of remaining keys.
    pub(crate) fn remembered(&mut self) -> usize {
        let (burst, refill) = (self.burst, self.refill);
        self.buckets.retain(|_, bucket| filled(bucket, burst, refill) < burst);
        self.buckets.len()
    }

    fn tokens(&self, key: &K) -> f64 {
        self.buckets.get(key).map_or(self.burst, |bucket| filled(bucket, self.burst, self.refill))
    }

    /// Forgets the fuller half, which loses least.
    fn sweep(&mut self) {
        let (burst, refill) = (self.burst, self.refill);
        let mut tokens: Vec<f64> = self.buckets.values().map(|bucket| filled(bucket, burst, refill)).collect();
        let (_, median, _) = tokens.select_nth_unstable_by(MOST_KEYS / 2, f64::total_cmp);
        let median = *median;
        self.buckets.retain(|_, bucket| filled(bucket, burst, refill) < median);
    }
}

/// The present tokens of a bucket.
fn filled((tokens, at): &(f64, Instant), burst: f64, refill: Duration) -> f64 {
    (tokens + at.elapsed().as_secs_f64() / refill.as_secs_f64()).min(burst)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buckets() -> Buckets<usize> {
        Buckets::new(3.0, Duration::from_secs(10))
    }

    #[tokio::test(start_paused = true)]
    async fn a_bucket_is_empty_until_it_is_refilled_and_others_are_not() {
        let mut buckets = buckets();
        assert_eq!([0; 4].map(|key| buckets.take(key)), [true, true, true, false]);
        assert_eq!(buckets.empty_for(&0), Some(Duration::from_secs(10)));
        assert!(buckets.take(1));
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(buckets.empty_for(&0), None);
        assert!(buckets.take(0) && !buckets.take(0));
    }

    /// On a paused clock a wait of zero would never end.
    #[tokio::test(start_paused = true)]
    async fn who_waits_as_long_as_told_gets_a_token() {
        let mut buckets = buckets();
        while buckets.take(0) {}
        for milliseconds in 1..200 {
            tokio::time::advance(Duration::from_millis(milliseconds * 37)).await;
            let wait = buckets.empty_for(&0).unwrap_or_default();
            tokio::time::sleep(wait).await;
            assert_eq!(buckets.empty_for(&0), None, "after {milliseconds} and {wait:?}");
            assert!(buckets.take(0));
        }
    }

    /// Earlier, each further key scanned all keys, and none was forgotten before its bucket was full.
    #[tokio::test(start_paused = true)]
    async fn the_keys_are_bounded_however_fast_they_come_and_the_emptiest_stay() {
        let mut buckets = buckets();
        while buckets.take(usize::MAX) {}
        for key in 0..20 * MOST_KEYS {
            buckets.take(key);
            assert!(buckets.buckets.len() <= MOST_KEYS);
        }
        assert!(buckets.empty_for(&usize::MAX).is_some(), "the key that is held back was forgotten");
        tokio::time::advance(Duration::from_secs(30)).await;
        assert_eq!(buckets.remembered(), 0);
    }
}
