//! The last state of objects that are gone, for plugins without a finalizer: their key runs once more, with no object.

use super::ReconcileKey;
use crate::informer::Object;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Objects that are remembered; beyond that the oldest go, and with them their last run.
const CAPACITY: usize = 10_000;

/// What a standby remembers is forgotten after this long: the host that reconciles has come to it by then.
const A_WHILE: Duration = Duration::from_secs(60);

/// What was last seen of objects that are gone.
#[derive(Debug, Default)]
pub(super) struct Tombstones {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    objects: HashMap<ReconcileKey, Arc<Object>>,
    order: VecDeque<(ReconcileKey, Instant)>,
}

impl Tombstones {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, key: &ReconcileKey, object: &Arc<Object>) {
        let mut inner = self.inner();
        if inner.objects.insert(key.clone(), Arc::clone(object)).is_none() {
            inner.order.push_back((key.clone(), Instant::now()));
        }
        while inner.order.len() > CAPACITY {
            inner.forget_oldest();
        }
    }

    /// Remembers it as a standby does.
    pub(super) fn put_for_a_while(&self, key: &ReconcileKey, object: &Arc<Object>) {
        self.put(key, object);
        let mut inner = self.inner();
        while inner.order.front().is_some_and(|(_, since)| since.elapsed() >= A_WHILE) {
            inner.forget_oldest();
        }
    }

    pub(super) fn get(&self, key: &ReconcileKey) -> Option<Arc<Object>> {
        self.inner().objects.get(key).cloned()
    }

    /// The keys of all of them.
    pub(super) fn keys(&self) -> Vec<ReconcileKey> {
        self.inner().objects.keys().cloned().collect()
    }

    /// Forgets the tombstone that [`get`](Self::get) returned, unless a later deletion replaced it.
    pub(super) fn remove(&self, key: &ReconcileKey, last: &Arc<Object>) {
        let mut inner = self.inner();
        if inner.objects.get(key).is_some_and(|object| Arc::ptr_eq(object, last)) {
            inner.objects.remove(key);
            inner.order.retain(|(k, _)| k != key);
        }
    }
}

impl Inner {
    fn forget_oldest(&mut self) {
        if let Some((oldest, _)) = self.order.pop_front() {
            self.objects.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::GroupVersionKind;
    use serde_json::json;

    /// A reconcile that took the first deletion for a gap in the watch must not drop the second one.
    #[test]
    fn an_object_that_goes_again_keeps_its_last_run() {
        let tombstones = Tombstones::default();
        let object = || {
            let json = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1"}});
            Arc::new(Object::parse(&json.to_string()).unwrap())
        };
        let (first, second) = (object(), object());
        let key = ReconcileKey { kind: Arc::new(GroupVersionKind::new("", "v1", "Pod")), key: first.key().clone() };
        tombstones.put(&key, &first);
        let seen = tombstones.get(&key).unwrap();
        tombstones.put(&key, &second);
        tombstones.remove(&key, &seen);
        assert!(tombstones.get(&key).is_some());
        tombstones.remove(&key, &second);
        assert!(tombstones.get(&key).is_none());
    }
}
