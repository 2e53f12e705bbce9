//! Object store: one resource store per kind, one revision counter for all, and a bounded log per resource store for watches and for reads
//! of the past.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{
        Arc, OnceLock, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::sync::{mpsc, watch};

use crate::model::{in_process::InProcess, kinds::Resource, settings::Settings, status::ApiError};

pub(crate) mod journal;
mod object;
mod pages;
mod restore;
mod view;

use journal::{Journal, Record};
pub(crate) use object::{Change, Content, Key, Object};
pub(crate) use pages::{At, PageRequest, Snapshot};
pub(crate) use view::View;

/// Attempts of a write after concurrent changes.
pub(crate) const ATTEMPTS: usize = 16;

/// Why a write failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteError {
    /// The key exists.
    Exists,
    /// The key does not exist.
    Missing,
    /// The object has another revision than expected.
    Modified,
    /// The kind is no longer served.
    Closed,
    /// The data directory cannot be written.
    Unsaved,
}

/// The requested version has been compacted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TooOld {
    /// The oldest available revision.
    pub(crate) oldest: u64,
}

#[derive(Debug)]
struct ResourceStoreState {
    objects: BTreeMap<Key, Arc<Object>>,
    log: VecDeque<Change>,
    /// Changes up to this revision are no longer in the log.
    compacted: u64,
    /// New watches get no changes up to this revision; running watches already have them.
    forgotten: u64,
    /// A watch cannot begin before this revision; a list can.
    begun: u64,
    closed: bool,
}

impl ResourceStoreState {
    /// Creates a change of an object; `content` is the new state, `None` a deletion.
    fn change(&self, key: &Key, revision: u64, content: Option<Content>) -> Option<Change> {
        let previous = self.objects.get(key).cloned();
        let deleted = content.is_none();
        let object = match content {
            Some(content) => Object::new(content, revision),
            None => previous.as_ref()?.at(revision),
        };
        Some(Change { revision, object: Arc::new(object), previous, deleted, key: key.clone() })
    }

    /// Applies a change.
    fn settle(&mut self, change: Change, history: usize) {
        if change.deleted {
            self.objects.remove(&change.key);
        } else {
            self.objects.insert(change.key.clone(), Arc::clone(&change.object));
        }
        self.log.push_back(change);
        if self.log.len() > history
            && let Some(dropped) = self.log.pop_front()
        {
            self.compacted = dropped.revision;
        }
    }

    /// Checks that the present version has revision `expected`.
    fn expect(&self, key: &Key, expected: u64) -> Result<(), WriteError> {
        let present = self.objects.get(key).ok_or(WriteError::Missing)?;
        if present.revision == expected { Ok(()) } else { Err(WriteError::Modified) }
    }

    fn last_change(&self) -> u64 {
        self.log.back().map_or(self.compacted, |c| c.revision)
    }

    /// Rejects a version that is too old.
    fn check(&self, revision: u64) -> Result<(), TooOld> {
        let oldest = self.compacted.max(self.forgotten);
        if revision < oldest { Err(TooOld { oldest }) } else { Ok(()) }
    }
}

/// All objects of one kind.
#[derive(Debug)]
pub(crate) struct ResourceStore {
    /// `plural.group`, or the plural alone in the core group.
    pub(crate) name: String,
    state: RwLock<ResourceStoreState>,
    signal: watch::Sender<u64>,
    clock: Arc<AtomicU64>,
    history: usize,
    feed: mpsc::UnboundedSender<(Arc<str>, Change)>,
    journal: Arc<OnceLock<Journal>>,
}

impl ResourceStore {
    fn read<R>(&self, f: impl FnOnce(&ResourceStoreState) -> R) -> R {
        f(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<R>(&self, f: impl FnOnce(&mut ResourceStoreState) -> R) -> R {
        f(&mut self.state.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// The present version of an object.
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Object>> {
        self.read(|s| s.objects.get(key).cloned())
    }

    /// The revision of the whole store, not older than any write that has been answered.
    pub(crate) fn revision(&self) -> u64 {
        self.read(|_| self.clock.load(Ordering::SeqCst))
    }

    /// The oldest revision in the log.
    pub(crate) fn reach(&self) -> u64 {
        self.read(|s| s.compacted)
    }

    /// The revision of the last change, or the first revision of the resource store.
    pub(crate) fn last_change(&self) -> u64 {
        self.read(ResourceStoreState::last_change)
    }

    /// Whether a watch may begin after `revision`.
    pub(crate) fn begin_after(&self, revision: u64) -> Result<(), TooOld> {
        self.read(|s| if revision < s.begun { Err(TooOld { oldest: s.begun }) } else { s.check(revision) })
    }

    /// Changes after `revision`, at most `limit`, and whether the resource store has been closed with nothing left to read.
    pub(crate) fn changes_after(&self, revision: u64, limit: usize) -> Result<Changes, TooOld> {
        self.read(|s| {
            if revision < s.compacted {
                return Err(TooOld { oldest: s.compacted });
            }
            let start = s.log.partition_point(|c| c.revision <= revision);
            let changes: Vec<Change> = s.log.iter().skip(start).take(limit).cloned().collect();
            let last = s.log.back().map_or(0, |c| c.revision);
            let drained = changes.last().is_none_or(|c| c.revision == last);
            Ok(Changes { seen: self.clock.load(Ordering::SeqCst), closed: s.closed && drained, changes, drained })
        })
    }

    /// Wakes up when something changed.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.signal.subscribe()
    }

    /// Stores a new object.
    pub(crate) fn create(&self, key: &Key, content: impl Into<Content>) -> Result<Arc<Object>, WriteError> {
        let free = |s: &ResourceStoreState| if s.objects.contains_key(key) { Err(WriteError::Exists) } else { Ok(()) };
        self.commit(key, Some(content.into()), free)
    }

    /// Replaces the version that has revision `expected`.
    pub(crate) fn update(
        &self,
        key: &Key,
        expected: u64,
        content: impl Into<Content>,
    ) -> Result<Arc<Object>, WriteError> {
        self.commit(key, Some(content.into()), |s| s.expect(key, expected))
    }

    /// Removes the version with revision `expected`; returns it at the revision of the deletion.
    pub(crate) fn delete(&self, key: &Key, expected: u64) -> Result<Arc<Object>, WriteError> {
        self.commit(key, None, |s| s.expect(key, expected))
    }

    fn commit(
        &self,
        key: &Key,
        content: Option<Content>,
        check: impl FnOnce(&ResourceStoreState) -> Result<(), WriteError>,
    ) -> Result<Arc<Object>, WriteError> {
        let change = self.write(|s| {
            if s.closed {
                return Err(WriteError::Closed);
            }
            check(s)?;
            // The revision is taken under the lock: a reader of the counter under the lock sees all older writes.
            let revision = self.clock.fetch_add(1, Ordering::SeqCst) + 1;
            let change = s.change(key, revision, content).ok_or(WriteError::Missing)?;
            // Also under the lock: the changes of a kind are stored in their order.
            self.keep(&change)?;
            s.settle(change.clone(), self.history);
            Ok(change)
        })?;
        self.signal.send_replace(change.revision);
        let object = Arc::clone(&change.object);
        // Without a receiver (controllers switched off) the change is not needed.
        let _ = self.feed.send((Arc::from(self.name.as_str()), change));
        Ok(object)
    }

    /// Stores a change in the journal, if there is one.
    fn keep(&self, change: &Change) -> Result<(), WriteError> {
        let Some(journal) = self.journal.get() else { return Ok(()) };
        let record = if change.deleted {
            Record::gone(&self.name, &change.key, change.revision)
        } else {
            Record::put(&self.name, &change.key, &change.object)
        };
        journal.append(&record).map_err(|error| {
            tracing::error!(%error, "a change is refused, because it cannot be written to the data directory");
            WriteError::Unsaved
        })
    }

    /// Rejects reads and watches from older versions from now on.
    fn compact(&self) {
        self.write(|s| s.forgotten = self.clock.load(Ordering::SeqCst));
    }

    /// Ends all watches once they have read the log, and rejects further writes.
    pub(crate) fn close(&self) {
        self.write(|s| s.closed = true);
        self.signal.send_replace(u64::MAX);
    }
}

/// The result of [`ResourceStore::changes_after`].
#[derive(Debug)]
pub(crate) struct Changes {
    pub(crate) changes: Vec<Change>,
    /// Everything up to this revision is in `changes`, if `drained`.
    pub(crate) seen: u64,
    pub(crate) drained: bool,
    pub(crate) closed: bool,
}

/// All resource stores.
#[derive(Debug)]
pub(crate) struct Store {
    clock: Arc<AtomicU64>,
    resource_stores: RwLock<HashMap<String, Arc<ResourceStore>>>,
    history: usize,
    feed: mpsc::UnboundedSender<(Arc<str>, Change)>,
    settings: Settings,
    /// The journal; unset without a data directory.
    journal: Arc<OnceLock<Journal>>,
    /// Since when an unused resource store is known to be empty.
    unused: AtomicU64,
    /// Answers webhooks without a connection.
    pub(crate) in_process: InProcess,
}

impl Store {
    /// An empty store; every change is also sent to `feed`.
    pub(crate) fn new(history: usize, feed: mpsc::UnboundedSender<(Arc<str>, Change)>) -> Self {
        // Clients treat small revisions as special values; the counter starts above them.
        let clock = Arc::new(AtomicU64::new(100));
        Self {
            clock,
            resource_stores: RwLock::default(),
            history: history.max(1),
            feed,
            settings: Settings::default(),
            journal: Arc::default(),
            unused: AtomicU64::new(0),
            in_process: InProcess::default(),
        }
    }

    /// The same store for a cluster with other settings.
    pub(crate) fn with_settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// The settings of the cluster.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The resource store of a kind; created if absent.
    pub(crate) fn resource_store(&self, name: &str) -> Arc<ResourceStore> {
        if let Some(resource_store) = self.existing(name) {
            return resource_store;
        }
        let mut resource_stores = self.resource_stores.write().unwrap_or_else(PoisonError::into_inner);
        let entry = resource_stores.entry(name.to_owned());
        Arc::clone(entry.or_insert_with(|| self.empty_resource_store(name, self.unused.load(Ordering::SeqCst))))
    }

    fn empty_resource_store(&self, name: &str, compacted: u64) -> Arc<ResourceStore> {
        let objects = BTreeMap::new();
        // Lists reach as far back as the log, watches only as far as the resource store.
        let begun = self.clock.load(Ordering::SeqCst);
        let state = ResourceStoreState { objects, log: VecDeque::new(), compacted, forgotten: 0, begun, closed: false };
        Arc::new(ResourceStore {
            name: name.to_owned(),
            state: RwLock::new(state),
            signal: watch::Sender::new(0),
            clock: Arc::clone(&self.clock),
            history: self.history,
            feed: self.feed.clone(),
            journal: Arc::clone(&self.journal),
        })
    }

    /// The resource store of a kind, if it was ever used.
    pub(crate) fn existing(&self, name: &str) -> Option<Arc<ResourceStore>> {
        self.resource_stores.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// The resource store of a resource.
    pub(crate) fn of(&self, resource: &Resource) -> Arc<ResourceStore> {
        self.resource_store(&resource.resource_store())
    }

    /// The object of a resource, or 404.
    pub(crate) fn find(&self, resource: &Resource, key: &Key) -> Result<Arc<Object>, ApiError> {
        let found = self.of(resource).get(key);
        found.ok_or_else(|| ApiError::not_found(&resource.group, &resource.plural, &key.name))
    }

    /// The last assigned revision.
    pub(crate) fn revision(&self) -> u64 {
        self.clock.load(Ordering::SeqCst)
    }

    /// Rejects requests that continue from older versions from now on; running watches continue.
    pub(crate) fn compact(&self) {
        let resource_stores = self.resource_stores.read().unwrap_or_else(PoisonError::into_inner);
        resource_stores.values().for_each(|resource_store| resource_store.compact());
    }

    /// Forgets a kind; its watches end.
    pub(crate) fn remove_resource_store(&self, name: &str) {
        let mut resource_stores = self.resource_stores.write().unwrap_or_else(PoisonError::into_inner);
        let Some(resource_store) = resource_stores.get(name) else { return };
        // In this order: nothing is stored on it after its end in the journal, nor on its successor before.
        resource_store.close();
        if let Some(journal) = self.journal.get()
            && let Err(error) = journal.append(&Record::Dropped { shelf: name.into() })
        {
            tracing::error!(%error, resource_store = name, "the end of a kind cannot be written to the data directory");
        }
        resource_stores.remove(name);
        self.unused.fetch_max(self.clock.load(Ordering::SeqCst), Ordering::SeqCst);
    }
}
