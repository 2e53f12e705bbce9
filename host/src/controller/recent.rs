//! The last reconciles of a plugin in a few words each, for `oarlock explain` and the page.
//!
//! A recording says more, but only the most interesting ones stay. Here is every reconcile of this host since a time that is known.

use super::ReconcileKey;
use super::flight_recorder::Record;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Most bytes for one plugin. Beyond that the oldest reconciles are forgotten.
const MOST_BYTES: usize = 64 << 10;

/// Most bytes of each text.
const TEXT_BYTES: usize = 512;

/// Bytes counted for a reconcile beside its texts.
const RECONCILE_BYTES: usize = 300;

/// A reconcile that ended.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub(super) key: ReconcileKey,
    pub(super) version: Arc<EndedOn>,
    /// The end, and the duration.
    pub(super) at: Timestamp,
    pub(super) took: Duration,
    /// How it ended: `synced`, or the reason of a failure.
    pub(super) outcome: &'static str,
    /// Why it failed. None: it did not.
    pub(super) error: Option<String>,
    /// The event that caused it, in words. None: it was no event.
    pub(super) cause: Option<String>,
    /// All writes of the host, in words.
    pub(super) written: Option<String>,
    pub(super) trigger: &'static str,
    pub(super) attempt: u32,
    pub(super) correlation_id: String,
}

/// The version that a reconcile ended on.
#[derive(Debug, PartialEq)]
pub(super) struct EndedOn {
    /// In the manifest.
    pub(super) version: String,
    /// SHA-256 of the file, in hex.
    pub(super) digest: String,
}

/// The last reconciles of one plugin.
#[derive(Debug)]
pub(super) struct RecentReconciles {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// The oldest first.
    ended: VecDeque<Ended>,
    bytes: usize,
    since: Timestamp,
}

impl Default for RecentReconciles {
    fn default() -> Self {
        Self { inner: Mutex::new(Inner { ended: VecDeque::new(), bytes: 0, since: Timestamp::now() }) }
    }
}

impl RecentReconciles {
    /// Adds a reconcile; the oldest ones make room.
    pub(super) fn add(&self, mut ended: Ended) {
        for text in [&mut ended.error, &mut ended.cause, &mut ended.written].into_iter().flatten() {
            if text.len() > TEXT_BYTES {
                *text = crate::shorten(text, TEXT_BYTES).to_owned();
            }
        }
        let mut inner = self.inner();
        if let Some(last) = inner.ended.back()
            && last.version == ended.version
        {
            ended.version = Arc::clone(&last.version);
        }
        inner.bytes += ended.bytes();
        inner.ended.push_back(ended);
        while inner.bytes > MOST_BYTES {
            let Some(oldest) = inner.ended.pop_front() else { return };
            inner.bytes -= oldest.bytes();
            inner.since = inner.since.max(oldest.at);
        }
    }

    /// Another host may have reconciled until now.
    pub(super) fn interrupted(&self) {
        self.inner().since = Timestamp::now();
    }

    /// The reconciles of an object, the oldest first, and the time since which none is missing.
    pub(super) fn of(&self, key: &ReconcileKey) -> (Vec<Ended>, Timestamp) {
        let inner = self.inner();
        (inner.ended.iter().filter(|ended| ended.key == *key).cloned().collect(), inner.since)
    }

    /// The newest reconciles of some keys.
    pub(super) fn newest<'k>(&self, wanted: &BTreeSet<&'k ReconcileKey>) -> BTreeMap<&'k ReconcileKey, Ended> {
        let mut newest = BTreeMap::new();
        for ended in self.inner().ended.iter().rev() {
            if let Some(key) = wanted.get(&ended.key) {
                newest.entry(*key).or_insert_with(|| ended.clone());
            }
        }
        newest
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ended {
    /// A recorded reconcile.
    pub(super) fn recorded(record: &Record) -> Self {
        let recorded = record.tape.recorded();
        let request = recorded.request.as_deref();
        Self {
            key: ReconcileKey { kind: Arc::new(record.kind.clone()), key: record.key.clone() },
            version: Arc::new(EndedOn { version: record.version.clone(), digest: record.digest.clone() }),
            at: record.at,
            took: record.took,
            outcome: record.outcome,
            error: record.error.clone(),
            cause: record.cause.clone(),
            written: record.written.clone(),
            trigger: request.map_or("", |request| request.trigger.as_str()),
            attempt: request.map_or(1, |request| request.attempt),
            correlation_id: request.map_or_else(String::new, |request| request.correlation_id.clone()),
        }
    }

    fn bytes(&self) -> usize {
        let texts = [&self.error, &self.cause, &self.written].into_iter().flatten().map(String::len).sum::<usize>();
        RECONCILE_BYTES + texts + self.key.key.namespace.len() + self.key.key.name.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{GroupVersionKind, ObjectKey};

    fn key(name: &str) -> ReconcileKey {
        let kind = Arc::new(GroupVersionKind::new("a.example", "v1", "Network"));
        ReconcileKey { kind, key: ObjectKey::new("n", name) }
    }

    fn ended(name: &str, second: i64, error: Option<&str>) -> Ended {
        Ended {
            key: key(name),
            version: Arc::new(EndedOn { version: "1".to_owned(), digest: "d".repeat(64) }),
            at: Timestamp::from_second(second).unwrap(),
            took: Duration::ZERO,
            outcome: "synced",
            error: error.map(str::to_owned),
            cause: None,
            written: None,
            trigger: "event",
            attempt: 1,
            correlation_id: second.to_string(),
        }
    }

    #[test]
    fn the_last_reconciles_are_bounded_in_bytes_and_the_time_since_which_none_is_missing_is_known() {
        let recent = RecentReconciles::default();
        let began = recent.of(&key("x")).1;
        recent.add(ended("x", 1, None));
        assert_eq!((recent.of(&key("x")).0.len(), recent.of(&key("x")).1), (1, began));
        let far = began.as_second() + 1000;
        for second in far..far + 10_000 {
            recent.add(ended(if second % 100 == 0 { "x" } else { "y" }, second, Some(&"e".repeat(100_000))));
        }
        let (found, since) = recent.of(&key("x"));
        let kept = recent.inner().ended.len();
        assert!(kept > 70 && recent.inner().bytes <= MOST_BYTES, "{kept}");
        assert_eq!(since.as_second(), far + 10_000 - 1 - i64::try_from(kept).unwrap(), "the last that is forgotten");
        assert!(found.iter().all(|ended| ended.error.as_ref().unwrap().len() <= TEXT_BYTES));
        let bytes: usize = recent.inner().ended.iter().map(Ended::bytes).sum();
        assert_eq!(bytes, recent.inner().bytes);
        let inner = recent.inner();
        assert!(
            inner.ended.iter().all(|one| Arc::ptr_eq(&one.version, &inner.ended[0].version)),
            "versions are shared"
        );
    }

    #[test]
    fn the_newest_reconcile_of_an_object_is_its_own() {
        let recent = RecentReconciles::default();
        for (second, name, error) in [(0, "x", Some("first")), (1, "y", None), (2, "x", Some("second")), (3, "z", None)]
        {
            recent.add(ended(name, second, error));
        }
        let (x, y, none) = (key("x"), key("y"), key("none"));
        let newest = recent.newest(&BTreeSet::from([&x, &y, &none]));
        let newest: Vec<_> = newest.into_iter().map(|(key, ended)| (key.key.name.to_string(), ended.error)).collect();
        assert_eq!(newest, [("x".to_owned(), Some("second".to_owned())), ("y".to_owned(), None)]);
    }
}
