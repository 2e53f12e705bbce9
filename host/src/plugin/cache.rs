//! The `cache` import: small values a plugin keeps between reconciles.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Values of one plugin, keys included.
const CAPACITY_BYTES: usize = 1 << 20;

/// One plugin's values. Shared by its instances and its versions.
#[derive(Debug, Default)]
pub struct Cache {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    values: HashMap<String, Entry>,
    by_use: BTreeMap<u64, String>,
    uses: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    value: Vec<u8>,
    expires: Option<Instant>,
    used: u64,
}

impl Cache {
    /// A value, if it is there and has not expired.
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

    /// Keeps a value; an empty one removes the key. What does not fit at all is not kept.
    ///
    /// * `ttl` - zero: no expiry.
    pub fn set(&self, key: &str, value: Vec<u8>, ttl: Duration) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.remove(key);
        let size = key.len() + value.len();
        if value.is_empty() || size > CAPACITY_BYTES {
            return;
        }
        inner.uses += 1;
        let used = inner.uses;
        let expires = if ttl.is_zero() { None } else { Instant::now().checked_add(ttl) };
        inner.bytes += size;
        inner.by_use.insert(used, key.to_owned());
        inner.values.insert(key.to_owned(), Entry { value, expires, used });
        while inner.bytes > CAPACITY_BYTES {
            let Some((_, oldest)) = inner.by_use.pop_first() else { break };
            inner.remove(&oldest);
        }
    }
}

impl Inner {
    fn remove(&mut self, key: &str) {
        if let Some(entry) = self.values.remove(key) {
            self.by_use.remove(&entry.used);
            self.bytes -= key.len() + entry.value.len();
        }
    }
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
        let third = vec![1; CAPACITY_BYTES / 3];
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
        assert_eq!(cache.inner.lock().unwrap().bytes, "c".len() + third.len());
    }
}
