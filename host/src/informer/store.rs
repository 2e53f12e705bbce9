//! The objects of one watch, read.

mod changes;

pub(super) use changes::{Registration, Relist};

use super::{
    WatchSpec, WatchStatus,
    index::{ListOptions, Table},
    object::{Object, Strings},
    own_writes::{OwnWrites, Seen},
};
use crate::api::{ObjectKey, Selector};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic::AtomicU64};
use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};

/// The store cannot show that it contains the host's last write: read from the API server instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stale {
    /// The write was not seen before the deadline, by this call or by an earlier one.
    #[error("the host's last write of {0} has not reached the cache")]
    NotSeen(String),
    /// What was written last cannot be compared with what is cached.
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
    /// The selector of `spec`, if it has one that can be judged here.
    selector: Option<Selector>,
    state: RwLock<State>,
    /// Held while a change is made and told: handlers see all changes in one order, none twice, none missing.
    handlers: Mutex<Vec<Arc<Registration>>>,
    /// Counts settled own writes; who waits for one looks again.
    settled: watch::Sender<u64>,
    status: watch::Sender<WatchStatus>,
    counters: Counters,
}

#[derive(Default)]
struct State {
    table: Table,
    strings: Strings,
    own: OwnWrites,
    synced: bool,
}

/// What a watch has done so far.
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

    /// What is watched.
    pub fn spec(&self) -> &WatchSpec {
        &self.shared.spec
    }

    /// The object, if the store has it. Before [`synced`](Self::synced), `None` says nothing.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        self.read().table.get(key).cloned()
    }

    /// Matching objects, ordered by namespace and name.
    ///
    /// Owner and namespace are looked up; a label is from the second list by its key on.
    pub fn list(&self, options: &ListOptions) -> Vec<Arc<Object>> {
        let wanted = self.read().table.wants_index(options).map(str::to_owned);
        if let Some(label) = wanted {
            self.write().table.add_index(&label);
        }
        self.read().table.list(options)
    }

    /// The keys of all objects, ordered.
    pub fn keys(&self) -> Vec<ObjectKey> {
        self.read().table.objects().map(|object| object.key().clone()).collect()
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.read().table.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Roughly the bytes all objects keep on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.read().table.heap_bytes()
    }

    /// Whether the store holds everything it should: a list is in, and the kind has not gone since. It stays true
    /// while a broken watch is being repaired; [`status`](Self::status) tells that.
    pub fn synced(&self) -> bool {
        self.read().synced
    }

    /// What the watch is doing.
    pub fn status(&self) -> WatchStatus {
        self.shared.status.borrow().clone()
    }

    /// Waits until the store has seen the host's last write of `key`; at once if it has, or if there was none.
    ///
    /// It says nothing of whether the store is [`synced`](Self::synced).
    ///
    /// # Errors
    ///
    /// [`Stale`] at `deadline`, or at once where waiting is of no use. Then only a live read tells.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn fresh(&self, key: &ObjectKey, deadline: Instant) -> Result<(), Stale> {
        self.wait_seen(Some(key), deadline).await
    }

    /// As [`fresh`](Self::fresh), for every object of this store: what a list needs.
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
                Seen::Yes => return Ok(()),
                Seen::CannotTell => return Err(Stale::CannotTell(what())),
                Seen::NotYet => {}
            }
            if !matches!(timeout_at(deadline, settled.changed()).await, Ok(Ok(()))) {
                self.write().own.wait_ran_out(key);
                return Err(Stale::NotSeen(what()));
            }
        }
    }

    /// Notes that the host wrote `key`, as the server answered.
    ///
    /// * `resource_version` - of the answer; without it, reads of `key` are [`Stale`] until the next list.
    pub fn record_write(&self, key: &ObjectKey, uid: &str, resource_version: Option<&str>) {
        if !self.shared.spec.covers(&key.namespace) {
            return;
        }
        let mut state = self.write();
        let State { table, own, .. } = &mut *state;
        let current = table.get(key).map(|object| (object.uid(), object.resource_version()));
        own.wrote(key, uid, resource_version, current);
    }

    /// Notes a write by the object the server answered with. Better than [`record_write`](Self::record_write): a
    /// store whose selector leaves the object out is not made to wait for it.
    pub fn record_object(&self, object: &Object) {
        let selected = self.shared.selector.as_ref().is_none_or(|s| s.matches(|label| object.label(label)))
            && self.shared.spec.may_be_named(&object.key().name);
        if selected || self.get(object.key()).is_some() {
            self.record_write(object.key(), object.uid(), Some(object.resource_version()));
        }
    }

    /// Notes that the host deleted an object and the server has removed it. Where finalizers keep it, the answer is
    /// an object that was written: [`record_object`](Self::record_object).
    pub fn record_delete(&self, key: &ObjectKey, uid: &str) {
        if !self.shared.spec.covers(&key.namespace) {
            return;
        }
        let mut state = self.write();
        let State { table, own, .. } = &mut *state;
        let current = table.get(key).map(|object| (object.uid(), object.resource_version()));
        // With a selector, an object that is not here may never have been meant to be.
        let narrow = self.shared.spec.label_selector.is_some() || self.shared.spec.field_selector.is_some();
        if current.is_some() || !narrow || own.seen(key) != Seen::Yes {
            own.deleted(key, uid, current);
        }
    }

    pub(super) fn set_status(&self, status: WatchStatus) {
        self.shared.status.send_if_modified(|current| {
            // A watch that was stopped may still be in its last step.
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

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.shared.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.shared.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}
