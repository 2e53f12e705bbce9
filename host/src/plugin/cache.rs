//! The `cache` import: small values that a plugin keeps between reconciles.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Most bytes of one plugin's values, keys and their overhead.
const CAPACITY_BYTES: usize = 1 << 20;

/// Overhead of an entry beside its value and its key, which is stored twice. It bounds the number of small values.
const ENTRY_BYTES: usize = 192;

/// The values of one plugin, shared by its instances and its versions.
#[derive(Debug, Default)]
pub struct Cache {
    inner: Mutex<CacheState>,
}

#[derive(Debug, Default)]
struct CacheState {
    values: HashMap<String, CacheEntry>,
    by_use: BTreeMap<u64, String>,
    uses: u64,
    bytes: usize,
}

#[derive(Debug)]
struct CacheEntry {
    value: Vec<u8>,
    expires: Option<Instant>,
    used: u64,
}

impl Cache {
    /// A value. None: absent or expired.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Vec<u8>> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.values.get(key)?.expires.is_some_and(|at| at <= Instant::now()) {
            inner.remove(key);
            return None;
        }
        inner.uses += 1;
        let now = inner.uses;
        let entry = inner.values.get_mut(key)?;
        let before = std::mem::replace(&mut entry.used, now);
        let value = entry.value.clone();
        inner.by_use.remove(&before);
        inner.by_use.insert(now, key.to_owned());
        Some(value)
    }

    /// Stores a value; an empty value removes the key. A value larger than the cache is not stored.
    ///
    /// * `ttl` - zero: no expiry.
    pub fn set(&self, key: &str, value: Vec<u8>, ttl: Duration) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.remove(key);
        let size = size(key, &value);
        if value.is_empty() || size > CAPACITY_BYTES {
            return;
        }
        inner.uses += 1;
        let used = inner.uses;
        let expires = if ttl.is_zero() { None } else { Instant::now().checked_add(ttl) };
        inner.bytes += size;
        inner.by_use.insert(used, key.to_owned());
        inner.values.insert(key.to_owned(), CacheEntry { value, expires, used });
        while inner.bytes > CAPACITY_BYTES {
            let Some((_, oldest)) = inner.by_use.pop_first() else { break };
            inner.remove(&oldest);
        }
    }
}

impl CacheState {
    fn remove(&mut self, key: &str) {
        if let Some(entry) = self.values.remove(key) {
            self.by_use.remove(&entry.used);
            self.bytes -= size(key, &entry.value);
        }
    }
}

fn size(key: &str, value: &[u8]) -> usize {
    2 * key.len() + value.len() + ENTRY_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn values_expire() {
        let cache = Cache::default();
        cache.set("token", b"t".to_vec(), Duration::from_secs(10));
        assert_eq!(cache.get("token").unwrap(), b"t");
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(cache.get("token").is_none());
    }

    #[tokio::test]
    async fn the_value_used_longest_ago_goes_first() {
        let cache = Cache::default();
        let third = vec![1; CAPACITY_BYTES / 3 - ENTRY_BYTES];
        for key in ["a", "b"] {
            cache.set(key, third.clone(), Duration::ZERO);
        }
        assert!(cache.get("a").is_some());
        cache.set("c", third.clone(), Duration::ZERO);
        assert!(cache.get("b").is_none());
        assert!(cache.get("a").is_some() && cache.get("c").is_some());
        cache.set("d", vec![0; CAPACITY_BYTES + 1], Duration::ZERO);
        assert!(cache.get("d").is_none() && cache.get("a").is_some());
        cache.set("a", Vec::new(), Duration::ZERO);
        assert!(cache.get("a").is_none());
        assert_eq!(cache.inner.lock().unwrap().bytes, size("c", &third));
    }

    #[tokio::test]
    async fn p6_many_small_values_are_bounded_by_what_they_cost() {
        let cache = Cache::default();
        for number in 0..100_000 {
            cache.set(&number.to_string(), vec![1], Duration::ZERO);
        }
        let inner = cache.inner.lock().unwrap();
        assert!(inner.values.len() < CAPACITY_BYTES / ENTRY_BYTES && inner.bytes <= CAPACITY_BYTES);
    }
}
