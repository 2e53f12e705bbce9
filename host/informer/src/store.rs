//! Store of one watch: reads.

mod changes;

pub(super) use changes::{Registration, Relist};

use super::{
    WatchSpec, WatchStatus,
    index::{ListOptions, Table},
    indexer::Indexer,
    object::{Object, Strings},
    own_writes::{Freshness, OwnWrites},
};
use oarlock_api::{ObjectKey, Selector};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic::AtomicU64};
use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};

/// The store may not show the host's last write: read from the API server instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stale {
    /// The write did not appear before the deadline of this call or of an earlier one.
    #[error("the host's last write of {0} has not reached the cache")]
    NotSeen(String),
    /// The version of the last write cannot be compared with the cache.
    #[error("cannot tell whether the cache contains the host's last write of {0}")]
    CannotTell(String),
}

/// Reads of one watch. Clones share everything.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

struct Shared {
    spec: Arc<WatchSpec>,
    /// The selector of `spec`, if the host can evaluate it.
    selector: Option<Selector>,
    state: RwLock<StoreState>,
    /// Held while a change is made and delivered: handlers see all changes in one order, none twice, none missing.
    handlers: Mutex<Vec<Arc<Registration>>>,
    /// Counts settled own writes; waiting readers check again after each.
    settled: watch::Sender<u64>,
    status: watch::Sender<WatchStatus>,
    counters: Counters,
}

#[derive(Default)]
struct StoreState {
    table: Table,
    strings: Strings,
    own: OwnWrites,
    synced: bool,
    namespaced: Option<bool>,
}

/// Counters of a watch.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) events: AtomicU64,
    pub(super) lists: AtomicU64,
    pub(super) failures: AtomicU64,
    pub(super) malformed: AtomicU64,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("spec", &self.shared.spec).field("len", &self.len()).finish_non_exhaustive()
    }
}

/// A wait for an own write. A reconcile that ends meanwhile, at its deadline, drops it: then it ran out as well. Otherwise the next
/// reconcile would wait as long, and end in the same way.
struct Waiting<'s> {
    store: &'s Store,
    key: Option<&'s ObjectKey>,
    ran_out: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.ran_out {
            self.store.write().own.wait_ran_out(self.key);
        }
    }
}

impl Store {
    pub(super) fn new(spec: Arc<WatchSpec>) -> Self {
        let selector = spec.label_selector.as_deref().and_then(|text| text.parse().ok());
        let shared = Shared {
            spec,
            selector,
            state: RwLock::default(),
            handlers: Mutex::default(),
            settled: watch::Sender::new(0),
            status: watch::Sender::new(WatchStatus::Listing),
            counters: Counters::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The spec of the watch.
    pub fn spec(&self) -> &WatchSpec {
        &self.shared.spec
    }

    /// The object, if stored. Before [`synced`](Self::synced), `None` means nothing.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        self.read().table.get(key).cloned()
    }

    /// Matching objects, ordered by namespace and name.
    ///
    /// Lists by owner and namespace use an index. Lists by a label do so from the second list by its key. Lists by an [`Indexer`] do so
    /// while a subscription declares it ([`Subscription::declare`](crate::Subscription::declare)).
    pub fn list(&self, options: &ListOptions) -> Vec<Arc<Object>> {
        let wanted = self.read().table.wants_index(options);
        if let Some(label) = wanted {
            self.write().table.add_label(label);
        }
        self.read().table.list(options)
    }

    pub(super) fn declare(&self, indexer: &Indexer) {
        self.write().table.declare(indexer);
    }

    pub(super) fn undeclare(&self, indexer: &Indexer) {
        self.write().table.undeclare(indexer);
    }

    /// The keys of all objects, ordered.
    pub fn keys(&self) -> Vec<ObjectKey> {
        self.read().table.objects().map(|object| object.key().clone()).collect()
    }

    /// The objects after a key, ordered by namespace and name: a page of them, without a copy of the rest.
    ///
    /// * `after` - the last key of the page before, which need not exist any more. None: the first page.
    /// * `limit` - most objects.
    pub fn page(&self, after: Option<&ObjectKey>, limit: usize) -> Vec<Arc<Object>> {
        self.read().table.page(after, limit)
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.read().table.len()
    }

    /// Whether the store is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Approximate bytes of all objects on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.read().table.heap_bytes()
    }

    /// The number of own writes that the store does not show yet.
    pub fn own_writes(&self) -> usize {
        self.read().own.len()
    }

    /// Whether the store is complete: a list has finished, and the kind has been served since. It stays true while a broken watch is
    /// being repaired; see [`status`](Self::status).
    pub fn synced(&self) -> bool {
        self.read().synced
    }

    /// Whether the kind is namespaced, as the API server served it last. None: it has not been served yet.
    pub fn namespaced(&self) -> Option<bool> {
        self.read().namespaced
    }

    pub(super) fn set_namespaced(&self, namespaced: bool) {
        self.write().namespaced = Some(namespaced);
    }

    /// What the watch is doing.
    pub fn status(&self) -> WatchStatus {
        self.shared.status.borrow().clone()
    }

    /// Waits until the store has seen the host's last write of `key`; returns at once if it has, or if there was none.
    ///
    /// This does not show whether the store is [`synced`](Self::synced).
    ///
    /// # Errors
    ///
    /// [`Stale`] at `deadline`, or at once where waiting is useless. Then only a live read is reliable.
    ///
    /// # Cancel safety
    ///
    /// A dropped future counts as a wait that ran out.
    pub async fn fresh(&self, key: &ObjectKey, deadline: Instant) -> Result<(), Stale> {
        self.wait_seen(Some(key), deadline).await
    }

    /// As [`fresh`](Self::fresh), for every object of this store, as a list needs it.
    ///
    /// # Errors
    ///
    /// As [`fresh`](Self::fresh).
    pub async fn fresh_all(&self, deadline: Instant) -> Result<(), Stale> {
        self.wait_seen(None, deadline).await
    }

    async fn wait_seen(&self, key: Option<&ObjectKey>, deadline: Instant) -> Result<(), Stale> {
        let what = || key.map_or_else(|| self.shared.spec.gvk.to_string(), ToString::to_string);
        let mut settled = self.shared.settled.subscribe();
        loop {
            let seen = {
                let state = self.read();
                key.map_or_else(|| state.own.seen_all(), |key| state.own.seen(key))
            };
            match seen {
                Freshness::Yes => return Ok(()),
                Freshness::CannotTell => return Err(Stale::CannotTell(what())),
                Freshness::NotYet => {}
            }
            let mut waiting = Waiting { store: self, key, ran_out: true };
            if !matches!(timeout_at(deadline, settled.changed()).await, Ok(Ok(()))) {
                return Err(Stale::NotSeen(what()));
            }
            waiting.ran_out = false;
        }
    }

    /// Records the host's write of `key` from the server's response.
    ///
    /// * `resource_version` - version in the response; without it, reads of `key` are [`Stale`] until the next list.
    pub fn record_write(&self, key: &ObjectKey, uid: &str, resource_version: Option<&str>) {
        if !self.shared.spec.covers(&key.namespace) {
            return;
        }
        let mut state = self.write();
        let StoreState { table, own, .. } = &mut *state;
        let current = table.get(key).map(|object| (object.uid(), object.resource_version()));
        own.wrote(key, uid, resource_version, current);
    }

    /// Records a write from the object in the server's response. Better than [`record_write`](Self::record_write): a store whose selector
    /// excludes the object does not wait for it.
    pub fn record_object(&self, object: &Object) {
        let selected = self.shared.selector.as_ref().is_none_or(|s| s.matches(|label| object.label(label)))
            && self.shared.spec.may_be_named(&object.key().name);
        if selected || self.get(object.key()).is_some() {
            self.record_write(object.key(), object.uid(), Some(object.resource_version()));
        }
    }

    /// Records that the host deleted an object and the server has removed it. When finalizers keep the object, the response is a written
    /// object: [`record_object`](Self::record_object).
    pub fn record_delete(&self, key: &ObjectKey, uid: &str) {
        if !self.shared.spec.covers(&key.namespace) {
            return;
        }
        let mut state = self.write();
        let StoreState { table, own, .. } = &mut *state;
        let current = table.get(key).map(|object| (object.uid(), object.resource_version()));
        // With a selector, an absent object may never have been selected.
        let narrow = self.shared.spec.label_selector.is_some() || self.shared.spec.field_selector.is_some();
        if current.is_some() || !narrow || own.seen(key) != Freshness::Yes {
            own.deleted(key, uid, current);
        }
    }

    pub(super) fn set_status(&self, status: WatchStatus) {
        self.shared.status.send_if_modified(|current| {
            // A stopped watch may still be in its last step.
            let changed = *current != status && *current != WatchStatus::Stopped;
            if changed {
                *current = status;
            }
            changed
        });
    }

    pub(super) fn watch_status(&self) -> watch::Receiver<WatchStatus> {
        self.shared.status.subscribe()
    }

    pub(super) fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    fn handlers(&self) -> MutexGuard<'_, Vec<Arc<Registration>>> {
        self.shared.handlers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) -> RwLockReadGuard<'_, StoreState> {
        self.shared.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, StoreState> {
        self.shared.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}
