//! The objects of one watch: reads, and the fan-out of changes to all who subscribed.

use super::{
    Delta, Handler, WatchSpec, WatchStatus,
    index::{ListOptions, Table},
    object::{Malformed, Object},
    own_writes::{OwnWrites, Seen},
};
use crate::api::{ObjectKey, Selector, resource_version};
use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicBool, AtomicU64, Ordering as Atomic},
    },
};
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
    namespaces: HashSet<Arc<str>>,
    own: OwnWrites,
    synced: bool,
}

/// One subscriber. It is dropped from the list at the next change after `live` was cleared.
pub(super) struct Registration {
    pub(super) handler: Handler,
    pub(super) live: AtomicBool,
}

/// What a watch has done so far.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) events: AtomicU64,
    pub(super) lists: AtomicU64,
    pub(super) failures: AtomicU64,
    pub(super) malformed: AtomicU64,
}

/// A list while its pages arrive; nothing of it shows before [`Store::replace`].
#[derive(Debug)]
pub(super) struct Relist {
    mark: u64,
    objects: BTreeMap<ObjectKey, Arc<Object>>,
    /// Listed, but not readable: what is stored of them stays.
    unreadable: HashSet<ObjectKey>,
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
        let selected = self.shared.selector.as_ref().is_none_or(|s| s.matches(|label| object.label(label)));
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

    /// Adds a handler: it gets what is stored, then every change.
    pub(super) fn subscribe(&self, handler: Handler) -> Arc<Registration> {
        let registration = Arc::new(Registration { handler, live: AtomicBool::new(true) });
        let mut handlers = self.handlers();
        let (objects, synced) = {
            let state = self.read();
            (state.table.objects().cloned().collect::<Vec<_>>(), state.synced)
        };
        for new in objects {
            (registration.handler)(&Delta::Applied { old: None, new, initial: true });
        }
        if synced {
            (registration.handler)(&Delta::Synced);
        }
        handlers.push(Arc::clone(&registration));
        registration
    }

    /// An ADDED or MODIFIED event.
    pub(super) fn apply(&self, mut object: Object) {
        let handlers = self.handlers();
        let mut deltas = Vec::with_capacity(1);
        let settled = {
            let mut state = self.write();
            object.share_namespace(&mut state.namespaces);
            // A watch that resumes may tell again what is known.
            let over = state.own.is_over(object.uid(), object.resource_version());
            let settled = state.own.observe(object.key(), object.uid(), object.resource_version(), false);
            let old = state.table.get(object.key()).cloned();
            let known = over || old.as_ref().is_some_and(|old| is_known(old, &object));
            if !known {
                let new = Arc::new(object);
                state.table.insert(Arc::clone(&new));
                push_applied(&mut deltas, old, new, false);
            }
            settled
        };
        self.tell(handlers, &deltas, settled);
    }

    /// A DELETED event; `last` is the object's last state.
    pub(super) fn delete(&self, last: Object) {
        let handlers = self.handlers();
        let mut deltas = Vec::with_capacity(1);
        let settled = {
            let mut state = self.write();
            let settled = state.own.observe(last.key(), last.uid(), last.resource_version(), true);
            if let Some(old) = state.table.get(last.key()).cloned() {
                let same = old.uid() == last.uid();
                let versions = resource_version::compare(last.resource_version(), old.resource_version());
                // The end of an earlier incarnation, told again.
                if same || versions != Some(Ordering::Less) {
                    state.table.remove(last.key());
                    deltas.push(Delta::Deleted(if same { Arc::new(last) } else { old }));
                }
            }
            settled
        };
        self.tell(handlers, &deltas, settled);
    }

    /// A DELETED event of which only the name could be read.
    pub(super) fn delete_unread(&self, key: &ObjectKey) {
        if let Some(object) = self.get(key) {
            self.delete(Object::clone(&object));
        }
    }

    /// A list is about to be asked for.
    pub(super) fn begin_list(&self) -> Relist {
        let mark = self.write().own.list_begins();
        Relist { mark, objects: BTreeMap::new(), unreadable: HashSet::new() }
    }

    /// One object of a list. An unchanged one is dropped for the one that is stored, so a list needs little memory.
    pub(super) fn list_item(&self, relist: &mut Relist, mut object: Object) {
        let stored = self.get(object.key()).filter(|stored| is_same(stored, &object));
        let object = stored.unwrap_or_else(|| {
            object.share_namespace(&mut self.write().namespaces);
            Arc::new(object)
        });
        relist.objects.insert(object.key().clone(), object);
    }

    /// One object of a list that could not be read.
    pub(super) fn list_unread(relist: &mut Relist, malformed: &Malformed) {
        relist.unreadable.extend(malformed.key.clone());
    }

    /// The list is complete: it becomes the content, and every difference is told.
    pub(super) fn replace(&self, relist: Relist) {
        let Relist { mark, mut objects, unreadable } = relist;
        let handlers = self.handlers();
        let mut deltas = Vec::new();
        let settled = {
            let mut state = self.write();
            let settled = state.own.listed(mark, objects.values().map(|object| object.resource_version()));
            let gone = |o: &&Arc<Object>| !objects.contains_key(o.key()) && !unreadable.contains(o.key());
            let gone: Vec<ObjectKey> = state.table.objects().filter(gone).map(|o| o.key().clone()).collect();
            for key in gone {
                if let Some(object) = state.table.remove(&key) {
                    state.own.gone(object.uid(), object.resource_version());
                    deltas.push(Delta::Deleted(object));
                }
            }
            let first = !state.synced;
            while let Some((key, new)) = objects.pop_first() {
                let old = state.table.get(&key).cloned();
                if old.as_ref().is_some_and(|old| is_same(old, &new)) {
                    continue;
                }
                state.table.insert(Arc::clone(&new));
                push_applied(&mut deltas, old, new, first);
            }
            let State { table, namespaces, .. } = &mut *state;
            let used: HashSet<&str> = table.objects().map(|o| &*o.key().namespace).collect();
            namespaces.retain(|namespace| used.contains(&**namespace));
            if !std::mem::replace(&mut state.synced, true) {
                deltas.push(Delta::Synced);
            }
            settled
        };
        self.tell(handlers, &deltas, settled);
    }

    /// The kind is no longer served: nothing of it exists.
    pub(super) fn clear(&self) {
        let handlers = self.handlers();
        let mut deltas = Vec::new();
        {
            let mut state = self.write();
            let keys: Vec<ObjectKey> = state.table.objects().map(|o| o.key().clone()).collect();
            for key in keys {
                deltas.extend(state.table.remove(&key).map(Delta::Deleted));
            }
            state.namespaces.clear();
            state.own = OwnWrites::default();
            state.synced = false;
        }
        self.tell(handlers, &deltas, true);
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

    /// Calls all handlers, in the order the changes were made.
    fn tell(&self, mut handlers: MutexGuard<'_, Vec<Arc<Registration>>>, deltas: &[Delta], settled: bool) {
        if settled {
            self.shared.settled.send_modify(|count| *count += 1);
        }
        self.shared.counters.events.fetch_add(deltas.len() as u64, Atomic::Relaxed);
        handlers.retain(|registration| registration.live.load(Atomic::Acquire));
        for delta in deltas {
            for registration in handlers.iter().filter(|r| r.live.load(Atomic::Acquire)) {
                (registration.handler)(delta);
            }
        }
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

/// Whether `new` is the stored state or an earlier one.
fn is_known(old: &Object, new: &Object) -> bool {
    let versions = resource_version::compare(new.resource_version(), old.resource_version());
    is_same(old, new) || versions == Some(Ordering::Less)
}

fn is_same(a: &Object, b: &Object) -> bool {
    a.uid() == b.uid() && a.resource_version() == b.resource_version() && !a.resource_version().is_empty()
}

/// An object with another uid is another object: the first one has ended.
fn push_applied(deltas: &mut Vec<Delta>, old: Option<Arc<Object>>, new: Arc<Object>, initial: bool) {
    match old {
        Some(old) if old.uid() != new.uid() => {
            deltas.push(Delta::Deleted(old));
            deltas.push(Delta::Applied { old: None, new, initial });
        }
        old => deltas.push(Delta::Applied { old, new, initial }),
    }
}
