//! Dependencies of a plugin's keys: the objects and lists that the last reconcile of each key read. A change of one of them concerns the key.
//!
//! A read is recorded before the cache answers it. A change is stored before its handler runs. So a change either is in the answer, or
//! finds the read here.
//!
//! The dependencies belong to the plugin, not to a version, and survive a swap: a reconcile that began on the previous version loses none.

mod graph;
mod measure;
mod read;

use super::ReconcileKey;
use crate::api::{GroupVersionKind, ObjectKey};
use crate::informer::{Delta, ListOptions};
use crate::plugin::ReadObserver;
use graph::Graph;
pub use measure::measure_reads;
use read::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The dependencies of one plugin's keys.
#[derive(Debug, Default)]
pub(super) struct Dependencies {
    graph: Mutex<Graph>,
}

/// Sizes of [`Dependencies`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// Recorded reads.
    pub(super) reads: usize,
    /// Approximate bytes of keys and reads.
    pub(super) bytes: usize,
}

impl Dependencies {
    /// Begins a reconcile, whose reads join those of the last one.
    pub(super) fn begin(self: &Arc<Self>, key: &ReconcileKey) -> Arc<Recording> {
        let run = self.graph().begin(key);
        Arc::new(Recording { dependencies: Arc::clone(self), key: key.clone(), run })
    }

    /// The keys that read a changed object, or a list that contained or contains it, in order. From now on they have changed.
    pub(super) fn changed(&self, kind: &GroupVersionKind, delta: &Delta) -> Vec<ReconcileKey> {
        let (old, new) = match delta {
            Delta::Applied { old, new, .. } => (old.as_ref(), Some(new)),
            Delta::Deleted(last) => (Some(last), None),
            Delta::Synced => return Vec::new(),
        };
        self.graph().changed(kind, old, new)
    }

    /// The object of a key has changed.
    pub(super) fn touch(&self, key: &ReconcileKey) {
        self.graph().touch(key);
    }

    /// Whether the last reconcile of a key ended in sync, and neither its object nor anything that it read has changed since.
    pub(super) fn in_sync(&self, key: &ReconcileKey) -> bool {
        self.graph().in_sync(key)
    }

    /// What the last reconciles of a key read, in words.
    pub(super) fn reads(&self, key: &ReconcileKey) -> Vec<String> {
        self.graph().reads(key)
    }

    /// From now on no key counts as in sync: the code, the grant or the leader is another one.
    pub(super) fn renew(&self) {
        self.graph().renew();
    }

    /// Forgets a key, because its object is gone.
    pub(super) fn forget(&self, key: &ReconcileKey) {
        self.graph().forget(key);
    }

    /// Forgets all other keys.
    pub(super) fn retain(&self, kept: impl Fn(&ReconcileKey) -> bool) {
        self.graph().retain(kept);
    }

    pub(super) fn size(&self) -> Size {
        self.graph().size()
    }

    fn graph(&self) -> MutexGuard<'_, Graph> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reads of a reconcile in flight. The reads of the reconciles before it stay until [`end`](Self::end), so that a reconcile which fails
/// or is cancelled loses none.
#[derive(Debug)]
pub(super) struct Recording {
    dependencies: Arc<Dependencies>,
    key: ReconcileKey,
    /// The number of the reconcile.
    run: u64,
}

impl Recording {
    /// Ends a reconcile that read everything it depends on: drops the reads that it did not repeat.
    ///
    /// * `in_sync` - it ended in sync, and depends on nothing but its object and its reads.
    pub(super) fn end(&self, in_sync: bool) {
        self.dependencies.graph().end(&self.key, self.run, in_sync);
    }
}

impl ReadObserver for Recording {
    fn object(&self, kind: &GroupVersionKind, key: &ObjectKey) {
        self.dependencies.graph().read(&self.key, self.run, |kinds| Read::object(kinds, kind, key, &self.key));
    }

    fn list(&self, kind: &GroupVersionKind, options: &ListOptions) {
        self.dependencies.graph().read(&self.key, self.run, |kinds| Read::list(kinds, kind, options));
    }
}

#[cfg(test)]
mod tests;
