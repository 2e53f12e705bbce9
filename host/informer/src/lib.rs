//! Informers: shared watches of the API server, with stores and event handlers.
//!
//! One watch runs per [`WatchSpec`] for any number of subscribers; the last unsubscription closes it. Late subscribers get the stored
//! objects, then the stream, without gap or repetition. A watch of a kind that is not served yet waits for it.
//!
//! The states of one object that a subscriber sees are an ordered subsequence of its states at the API server: states may be skipped,
//! never reordered. Between objects there is no order. A new uid under an old name appears as the end of one object and the start of
//! another.
//!
//! # Source
//!
//! client-go `tools/cache/shared_informer.go` for the guarantees. The fan-out is Oarlock's own, because kube's shared streams accept no
//! late subscribers, never deliver deletions, and let one slow subscriber block all.

#[doc(hidden)]
pub mod fuzzing;
mod index;
mod indexer;
mod list_watch;
mod object;
mod own_writes;
mod reflector;
mod store;
#[cfg(test)]
mod tests;

pub use index::ListOptions;
pub use indexer::{Indexed, Indexer};
pub use object::{Malformed, Object, Owner};
pub use own_writes::echoes::{EchoSuppressor, WriteInFlight};
pub use store::{Stale, Store};

use oarlock_api::{Discovery, GroupVersionKind, ObjectKey, Selector};
use reflector::Reflector;
use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::Ordering::{Relaxed, Release},
    },
};
use store::Registration;
use tokio::{
    task::AbortHandle,
    time::{Instant, timeout_at},
};

/// The objects of a watch. Subscriptions with equal specs share one watch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchSpec {
    /// The kind.
    pub gvk: GroupVersionKind,
    /// Only this namespace; `None`: all, or a cluster-scoped kind.
    pub namespace: Option<String>,
    /// Only objects whose labels match, as in [`Selector`].
    pub label_selector: Option<String>,
    /// Only objects whose fields match; the API server decides which fields it supports.
    pub field_selector: Option<String>,
}

impl WatchSpec {
    /// All objects of a kind.
    pub fn all(gvk: GroupVersionKind) -> Self {
        Self { gvk, namespace: None, label_selector: None, field_selector: None }
    }

    /// Whether objects of `namespace` are watched; empty for an object of a cluster-scoped kind.
    pub fn covers(&self, namespace: &str) -> bool {
        self.namespace.as_ref().is_none_or(|own| own == namespace)
    }

    /// The field selector for objects with one name.
    pub fn field_of_name(name: &str) -> String {
        format!("metadata.name={name}")
    }

    /// Whether the watch may contain an object of this name, as far as the field selector shows without the API server.
    pub fn may_be_named(&self, name: &str) -> bool {
        let only = self.field_selector.as_deref().and_then(|fields| fields.strip_prefix("metadata.name="));
        only.filter(|only| !only.contains(',')).is_none_or(|only| only == name)
    }

    /// Whether the watch contains every object of its namespaces.
    pub fn is_complete(&self) -> bool {
        self.label_selector.is_none() && self.field_selector.is_none()
    }

    /// A normal form for equivalent specs.
    fn normalized(mut self) -> Self {
        let not_empty = |text: &String| !text.is_empty();
        self.namespace = self.namespace.filter(not_empty);
        self.field_selector = self.field_selector.filter(not_empty);
        // An invalid selector stays: the API server's rejection becomes the status.
        let respelled = |text: String| text.parse::<Selector>().map_or(text, |selector| selector.to_string());
        self.label_selector = self.label_selector.map(respelled).filter(not_empty);
        self
    }
}

/// A change of the store, delivered after it was made.
#[derive(Clone, Debug)]
pub enum Delta {
    /// An object is new or changed.
    Applied {
        /// The stored object before; `None` for a new object.
        old: Option<Arc<Object>>,
        /// The stored object now.
        new: Arc<Object>,
        /// Part of the first list or of the replay to a late subscriber, not a live change.
        initial: bool,
    },
    /// An object was deleted, or is no longer selected; its last known state.
    Deleted(Arc<Object>),
    /// All existing objects have been delivered. Repeated after the kind disappeared and came back.
    Synced,
}

/// Called for every change, inline and one at a time per watch: it computes keys, adds them to a queue, and returns. It must not block
/// and must not subscribe; it may read the store.
pub type Handler = Arc<dyn Fn(&Delta) + Send + Sync>;

/// The state of a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchStatus {
    /// The API server does not serve the kind; discovery is repeated.
    WaitingForKind,
    /// The first list is in progress.
    Listing,
    /// The store is complete and follows the API server.
    Synced,
    /// List or watch fails and is retried; the stored objects stay.
    Failing {
        /// The last error with its causes.
        reason: Arc<str>,
    },
    /// The last subscriber left; the store is no longer updated.
    Stopped,
}

impl fmt::Display for WatchStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WaitingForKind => f.write_str("waiting for the kind to be served"),
            Self::Listing => f.write_str("listing"),
            Self::Synced => f.write_str("synced"),
            Self::Failing { reason } => write!(f, "failing: {reason}"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

/// Statistics of one watch, for metrics.
#[derive(Clone, Debug)]
pub struct WatchStats {
    /// The spec of the watch.
    pub spec: WatchSpec,
    /// The state of the watch.
    pub status: WatchStatus,
    /// The number of subscribers.
    pub subscribers: usize,
    /// The number of stored objects.
    pub objects: usize,
    /// Approximate bytes of the stored objects.
    pub bytes: usize,
    /// Own writes that the store does not show yet.
    pub own_writes: usize,
    /// Changes delivered since the watch began.
    pub events: u64,
    /// Completed lists; all but the first are relists.
    pub lists: u64,
    /// Failed attempts to list or watch.
    pub failures: u64,
    /// Objects skipped because they are malformed.
    pub malformed: u64,
}

/// `synced` reached its deadline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{gvk} is not synced: {status}")]
pub struct NotSynced {
    /// The kind of the watch.
    pub gvk: GroupVersionKind,
    /// The state of its watch at the deadline.
    pub status: WatchStatus,
}

/// All watches of this process. Clones share them.
#[derive(Clone)]
pub struct Informers {
    hub: Arc<Hub>,
}

struct Hub {
    client: kube::Client,
    discovery: Discovery,
    watches: Mutex<BTreeMap<WatchSpec, Watch>>,
}

struct Watch {
    store: Store,
    task: AbortHandle,
    subscribers: usize,
}

impl fmt::Debug for Informers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.hub.watches().keys()).finish()
    }
}

impl Informers {
    /// Informers that watch through `client`; the first subscription starts the first watch.
    pub fn new(client: kube::Client, discovery: Discovery) -> Self {
        Self { hub: Arc::new(Hub { client, discovery, watches: Mutex::default() }) }
    }

    /// Subscribes to `spec`, and starts its watch if there is none. Must be called within a tokio runtime.
    ///
    /// Before this returns, `handler` has received all stored objects, as initial.
    pub fn subscribe(&self, spec: WatchSpec, handler: Handler) -> Subscription {
        let spec = spec.normalized();
        let store = {
            let mut watches = self.hub.watches();
            let watch = watches.entry(spec.clone()).or_insert_with(|| self.start(spec.clone()));
            watch.subscribers += 1;
            watch.store.clone()
        };
        let registration = store.subscribe(handler);
        Subscription { hub: Arc::clone(&self.hub), spec, store, registration, indexers: Vec::new() }
    }

    fn start(&self, spec: WatchSpec) -> Watch {
        let store = Store::new(Arc::new(spec));
        let reflector =
            Reflector { client: self.hub.client.clone(), discovery: self.hub.discovery.clone(), store: store.clone() };
        let task = tokio::spawn(reflector.run()).abort_handle();
        Watch { store, task, subscribers: 0 }
    }

    /// The stores of a kind that contain objects of `namespace`; `None`: of all namespaces. Selectors may narrow them; see
    /// [`Store::spec`].
    pub fn find(&self, gvk: &GroupVersionKind, namespace: Option<&str>) -> Vec<Store> {
        let covers = |spec: &WatchSpec| namespace.map_or(spec.namespace.is_none(), |ns| spec.covers(ns));
        self.stores(gvk, covers)
    }

    /// Records a write in every store of the kind: see [`Store::record_write`].
    pub fn record_write(&self, gvk: &GroupVersionKind, key: &ObjectKey, uid: &str, resource_version: Option<&str>) {
        for store in self.stores(gvk, |spec| spec.covers(&key.namespace)) {
            store.record_write(key, uid, resource_version);
        }
    }

    /// Records a write in every store of the kind that selects the object: see [`Store::record_object`].
    pub fn record_object(&self, gvk: &GroupVersionKind, object: &Object) {
        for store in self.stores(gvk, |spec| spec.covers(&object.key().namespace)) {
            store.record_object(object);
        }
    }

    /// Records a deletion in every store of the kind: see [`Store::record_delete`].
    pub fn record_delete(&self, gvk: &GroupVersionKind, key: &ObjectKey, uid: &str) {
        for store in self.stores(gvk, |spec| spec.covers(&key.namespace)) {
            store.record_delete(key, uid);
        }
    }

    /// Statistics of every running watch.
    pub fn stats(&self) -> Vec<WatchStats> {
        let watches = self.hub.watches();
        watches.values().map(|watch| stats(&watch.store, watch.subscribers)).collect()
    }

    fn stores(&self, gvk: &GroupVersionKind, wanted: impl Fn(&WatchSpec) -> bool) -> Vec<Store> {
        let watches = self.hub.watches();
        let of_kind = watches.iter().filter(|(spec, _)| spec.gvk == *gvk && wanted(spec));
        of_kind.map(|(_, watch)| watch.store.clone()).collect()
    }
}

fn stats(store: &Store, subscribers: usize) -> WatchStats {
    let counters = store.counters();
    WatchStats {
        spec: store.spec().clone(),
        status: store.status(),
        subscribers,
        objects: store.len(),
        bytes: store.heap_bytes(),
        own_writes: store.own_writes(),
        events: counters.events.load(Relaxed),
        lists: counters.lists.load(Relaxed),
        failures: counters.failures.load(Relaxed),
        malformed: counters.malformed.load(Relaxed),
    }
}

impl Hub {
    fn watches(&self) -> MutexGuard<'_, BTreeMap<WatchSpec, Watch>> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        for watch in self.watches().values() {
            watch.task.abort();
        }
    }
}

/// A handler's subscription, which ends when this is dropped. At that moment the handler may still be in a call on another thread.
pub struct Subscription {
    hub: Arc<Hub>,
    spec: WatchSpec,
    store: Store,
    registration: Arc<Registration>,
    indexers: Vec<Indexer>,
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("spec", &self.spec).field("status", &self.status()).finish_non_exhaustive()
    }
}

impl Subscription {
    /// The store of the watch. It outlives the subscription, but is no longer updated then.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The state of the watch.
    pub fn status(&self) -> WatchStatus {
        self.store.status()
    }

    /// Adds indexes to the store, for as long as a subscription declares them. A new index evaluates each stored object once.
    pub fn declare(&mut self, indexers: impl IntoIterator<Item = Indexer>) {
        for indexer in indexers {
            self.store.declare(&indexer);
            self.indexers.push(indexer);
        }
    }

    /// Waits until all existing objects are stored.
    ///
    /// # Errors
    ///
    /// [`NotSynced`] at `deadline`, with the state of the watch.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn synced(&self, deadline: Instant) -> Result<(), NotSynced> {
        let mut status = self.store.watch_status();
        // Not by the status: a watch that fails after its list is still synced.
        while !self.store.synced() {
            if !matches!(timeout_at(deadline, status.changed()).await, Ok(Ok(()))) {
                return Err(NotSynced { gvk: self.spec.gvk.clone(), status: self.status() });
            }
        }
        Ok(())
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.registration.live.store(false, Release);
        for indexer in &self.indexers {
            self.store.undeclare(indexer);
        }
        let mut watches = self.hub.watches();
        if let Some(watch) = watches.get_mut(&self.spec) {
            watch.subscribers = watch.subscribers.saturating_sub(1);
            if watch.subscribers == 0 {
                watch.task.abort();
                watch.store.set_status(WatchStatus::Stopped);
                watches.remove(&self.spec);
            }
        }
    }
}
