//! Marks of a plugin's objects: out of sync, paused, failed, and what their events have said about their annotations.

use super::ReconcileKey;
use crate::apply::events::Event;
use crate::metrics::PluginMetrics;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Of many objects, the view names this many.
const SHOWN: usize = 20;

/// The marks of one plugin's objects. Shared with the handlers of the watches.
#[derive(Debug)]
pub(super) struct Marks {
    /// Objects that still differ from their desired state after the last patch.
    pub(super) out_of_sync: MarkedObjects,
    /// Objects that an annotation pauses.
    pub(super) paused: MarkedObjects,
    /// Objects whose last reconcile failed.
    pub(super) failed: MarkedObjects,
    /// Events about annotations.
    pub(super) complaints: Complaints,
}

impl Marks {
    pub(super) fn new(metrics: &PluginMetrics) -> Self {
        let objects = |publish: fn(&PluginMetrics, usize)| MarkedObjects {
            keys: Mutex::default(),
            metrics: metrics.clone(),
            publish,
        };
        Self {
            out_of_sync: objects(PluginMetrics::set_out_of_sync),
            paused: objects(PluginMetrics::set_paused),
            failed: objects(|_, _| {}),
            complaints: Complaints::default(),
        }
    }

    /// Whether an object has a mark, which only another run of its key clears.
    pub(super) fn contains(&self, key: &ReconcileKey) -> bool {
        [&self.out_of_sync, &self.paused, &self.failed].iter().any(|marked| marked.contains(key))
            || self.complaints.contains(key)
    }

    /// Drops the marks of objects that are not reconciled any more.
    pub(super) fn forget(&self, gone: impl Fn(&ReconcileKey) -> bool) {
        self.out_of_sync.forget(&gone);
        self.paused.forget(&gone);
        self.failed.forget(&gone);
        self.complaints.lock().retain(|key, _| !gone(key));
    }
}

/// The keys of the objects with a mark; their number is a metric.
#[derive(Debug)]
pub(super) struct MarkedObjects {
    keys: Mutex<BTreeSet<ReconcileKey>>,
    metrics: PluginMetrics,
    publish: fn(&PluginMetrics, usize),
}

impl MarkedObjects {
    /// Records whether an object has the mark.
    ///
    /// * `reached` - whether the current version reconciles the object.
    pub(super) fn set(&self, key: &ReconcileKey, marked: bool, reached: impl FnOnce() -> bool) {
        let mut keys = self.keys();
        // A swap moves the pointer before it forgets keys, under this lock. So a reconcile that ends on the previous version cannot
        // record a key that the current version does not reach.
        let changed = if marked && reached() { keys.insert(key.clone()) } else { keys.remove(key) };
        if changed {
            (self.publish)(&self.metrics, keys.len());
        }
    }

    fn forget(&self, gone: impl Fn(&ReconcileKey) -> bool) {
        let mut keys = self.keys();
        keys.retain(|key| !gone(key));
        (self.publish)(&self.metrics, keys.len());
    }

    pub(super) fn contains(&self, key: &ReconcileKey) -> bool {
        self.keys().contains(key)
    }

    /// The keys after another one, in order.
    ///
    /// * `limit` - most keys.
    pub(super) fn page(&self, after: Option<&ReconcileKey>, limit: usize) -> Vec<ReconcileKey> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.keys().range((from, Bound::Unbounded)).take(limit).cloned().collect()
    }

    pub(super) fn len(&self) -> usize {
        self.keys().len()
    }

    /// The number of objects with the mark, and some of their keys.
    pub(super) fn describe(&self) -> Value {
        let keys = self.keys();
        let some: Vec<String> = keys.iter().take(SHOWN).map(ToString::to_string).collect();
        json!({"objects": keys.len(), "some": some})
    }

    fn keys(&self) -> MutexGuard<'_, BTreeSet<ReconcileKey>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The events that were recorded about the annotations of objects, so that each is recorded once.
#[derive(Debug, Default)]
pub(super) struct Complaints {
    /// Digests of the last reconcile's events.
    told: Mutex<BTreeMap<ReconcileKey, BTreeSet<u64>>>,
}

impl Complaints {
    /// The events that the last reconcile of the key did not have. Only the present events count from now on.
    ///
    /// * `uid` - of the object; another object of the same name is told everything again.
    pub(super) fn news(&self, key: &ReconcileKey, uid: &str, events: Vec<Event>) -> Vec<Event> {
        let mut told = self.lock();
        let before = told.remove(key).unwrap_or_default();
        let digest = |event: &Event| {
            let mut hasher = DefaultHasher::new();
            (uid, &event.reason, &event.message).hash(&mut hasher);
            hasher.finish()
        };
        let now: BTreeSet<u64> = events.iter().map(digest).collect();
        let news = events.into_iter().filter(|event| !before.contains(&digest(event))).collect();
        if !now.is_empty() {
            told.insert(key.clone(), now);
        }
        news
    }

    fn contains(&self, key: &ReconcileKey) -> bool {
        self.lock().contains_key(key)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ReconcileKey, BTreeSet<u64>>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{GroupVersionKind, ObjectKey};
    use crate::metrics::Metrics;
    use std::sync::Arc;

    fn key(name: &str) -> ReconcileKey {
        let kind = Arc::new(GroupVersionKind::new("", "v1", "ConfigMap"));
        ReconcileKey { kind, key: ObjectKey::new("n", name) }
    }

    #[test]
    fn an_object_that_the_current_version_does_not_reach_is_not_marked() {
        let marks = Marks::new(&Metrics::new().plugin("p"));
        let out_of_sync = &marks.out_of_sync;
        out_of_sync.set(&key("a"), true, || false);
        out_of_sync.set(&key("b"), true, || true);
        assert_eq!(out_of_sync.describe(), json!({"objects": 1, "some": ["ConfigMap n/b"]}));
        out_of_sync.set(&key("b"), true, || false);
        assert!(!out_of_sync.contains(&key("b")), "a mark from an earlier version goes");
        out_of_sync.set(&key("c"), true, || true);
        out_of_sync.set(&key("c"), false, || true);
        assert!(!out_of_sync.contains(&key("c")));
    }

    #[test]
    fn a_key_with_any_mark_has_to_run_once_more() {
        let marks = Marks::new(&Metrics::new().plugin("p"));
        for (name, of) in [("a", &marks.out_of_sync), ("b", &marks.paused), ("c", &marks.failed)] {
            of.set(&key(name), true, || true);
            assert!(marks.contains(&key(name)), "{name}");
        }
        assert!(!marks.contains(&key("d")));
    }

    #[test]
    fn an_event_about_an_annotation_is_recorded_once_and_again_when_it_comes_back() {
        let marks = Marks::new(&Metrics::new().plugin("p"));
        let event = |message: &str| Event { warning: true, reason: "R".to_owned(), message: message.to_owned() };
        let news = |uid: &str, messages: &[&str]| {
            let events = messages.iter().map(|message| event(message)).collect();
            let news = marks.complaints.news(&key("a"), uid, events);
            news.into_iter().map(|event| event.message).collect::<Vec<_>>()
        };
        assert_eq!(news("u", &["one", "two"]), ["one", "two"]);
        assert!(news("u", &["one", "two"]).is_empty() && marks.contains(&key("a")));
        assert_eq!(news("u", &["one", "three"]), ["three"]);
        assert_eq!(news("u", &["two"]), ["two"]);
        assert_eq!(news("v", &["two"]), ["two"], "another object of the name");
        assert!(news("v", &[]).is_empty() && !marks.contains(&key("a")), "no entry without a complaint");
    }
}
