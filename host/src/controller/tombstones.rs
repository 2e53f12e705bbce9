//! The last state of objects that are gone, for plugins without a finalizer: their key runs once more, with no object.

use super::ReconcileKey;
use crate::informer::Object;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// Objects that are remembered; beyond that the oldest go, and with them their last run.
const CAPACITY: usize = 10_000;

/// What was last seen of objects that are gone.
#[derive(Debug, Default)]
pub(super) struct Tombstones {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    objects: HashMap<ReconcileKey, Arc<Object>>,
    order: VecDeque<ReconcileKey>,
}

impl Tombstones {
    pub(super) fn put(&self, key: &ReconcileKey, object: &Arc<Object>) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.objects.insert(key.clone(), Arc::clone(object)).is_none() {
            inner.order.push_back(key.clone());
        }
        while inner.order.len() > CAPACITY {
            let Some(oldest) = inner.order.pop_front() else { break };
            inner.objects.remove(&oldest);
        }
    }

    pub(super) fn get(&self, key: &ReconcileKey) -> Option<Arc<Object>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).objects.get(key).cloned()
    }

    /// Forgets one object, unless another of its name has gone since.
    pub(super) fn remove(&self, key: &ReconcileKey, uid: &str) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.objects.get(key).is_some_and(|o| o.uid() == uid) {
            inner.objects.remove(key);
            inner.order.retain(|k| k != key);
        }
    }
}
