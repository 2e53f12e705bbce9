//! Out-of-sync objects of a plugin: they still differ from their desired state after the last patch.

use super::ReconcileKey;
use crate::metrics::PluginMetrics;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Of many objects, the view names this many.
const SHOWN: usize = 20;

/// The keys of the out-of-sync objects; their number is a metric. Shared with the handlers of the watches.
#[derive(Debug)]
pub(super) struct OutOfSync {
    keys: Mutex<BTreeSet<ReconcileKey>>,
    metrics: PluginMetrics,
}

impl OutOfSync {
    pub(super) fn new(metrics: PluginMetrics) -> Self {
        Self { keys: Mutex::default(), metrics }
    }

    /// Records whether an object is in sync.
    ///
    /// * `reached` - whether the current version reconciles the object.
    pub(super) fn settle(&self, key: &ReconcileKey, settled: bool, reached: impl FnOnce() -> bool) {
        let mut keys = self.keys();
        // A swap moves the pointer before it forgets keys, under this lock. So a reconcile that ends on the previous version cannot
        // record a key that the current version does not reach.
        let changed = if settled || !reached() { keys.remove(key) } else { keys.insert(key.clone()) };
        if changed {
            self.metrics.set_out_of_sync(keys.len());
        }
    }

    /// Drops the marks of objects that are not reconciled any more.
    pub(super) fn forget(&self, gone: impl Fn(&ReconcileKey) -> bool) {
        let mut keys = self.keys();
        keys.retain(|key| !gone(key));
        self.metrics.set_out_of_sync(keys.len());
    }

    pub(super) fn contains(&self, key: &ReconcileKey) -> bool {
        self.keys().contains(key)
    }

    /// The number of out-of-sync objects, and some of their keys.
    pub(super) fn describe(&self) -> Value {
        let keys = self.keys();
        let some: Vec<String> = keys.iter().take(SHOWN).map(ToString::to_string).collect();
        json!({"objects": keys.len(), "some": some})
    }

    fn keys(&self) -> MutexGuard<'_, BTreeSet<ReconcileKey>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{GroupVersionKind, ObjectKey};
    use crate::metrics::Metrics;
    use std::sync::Arc;

    #[test]
    fn an_object_that_the_current_version_does_not_reach_is_not_marked() {
        let out_of_sync = OutOfSync::new(Metrics::new().plugin("p"));
        let kind = Arc::new(GroupVersionKind::new("", "v1", "ConfigMap"));
        let key = |name: &str| ReconcileKey { kind: Arc::clone(&kind), key: ObjectKey::new("n", name) };
        out_of_sync.settle(&key("a"), false, || false);
        out_of_sync.settle(&key("b"), false, || true);
        assert_eq!(out_of_sync.describe(), json!({"objects": 1, "some": ["ConfigMap n/b"]}));
        out_of_sync.settle(&key("b"), false, || false);
        assert!(!out_of_sync.contains(&key("b")), "a mark from an earlier version goes");
        out_of_sync.settle(&key("c"), false, || true);
        out_of_sync.settle(&key("c"), true, || true);
        assert!(!out_of_sync.contains(&key("c")));
    }
}
