//! Watches of the API server, shared by everyone who needs them.
//!
//! One watch runs per [`WatchSpec`], however many subscribe; the last one out closes it. Late subscribers get what is
//! stored, then the stream, without gap or repetition. A kind that is not served yet is waited for.
//!
//! What a subscriber sees of one object is an ordered subsequence of its states at the API server: states may be
//! skipped, never reordered. Between objects there is no order. A new uid under an old name is told as the end of one
//! object and the start of another.
//!
//! # Source
//!
//! client-go `tools/cache/shared_informer.go` for the promises; the fan-out is our own, because kube's shared streams
//! cannot be subscribed late, never deliver deletions, and let one slow subscriber hold up all.

mod index;
mod list_watch;
mod object;
mod own_writes;
mod reflector;
mod store;
#[cfg(test)]
mod tests;

pub use index::ListOptions;
pub use object::{Malformed, Object, Owner};
pub use store::{Stale, Store};

use crate::api::{Discovery, GroupVersionKind, ObjectKey, Selector};
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

/// What to watch. Subscriptions to equal specs share one watch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchSpec {
    /// The kind.
    pub gvk: GroupVersionKind,
    /// Only this namespace; `None`: all, or a cluster-scoped kind.
    pub namespace: Option<String>,
    /// Only objects whose labels match, as in [`Selector`].
    pub label_selector: Option<String>,
    /// Only objects whose fields match; which fields can be asked for is up to the API server.
    pub field_selector: Option<String>,
}

impl WatchSpec {
    /// Everything of one kind.
    pub fn all(gvk: GroupVersionKind) -> Self {
        Self { gvk, namespace: None, label_selector: None, field_selector: None }
    }

    /// Whether objects of `namespace` are watched; empty for an object of a cluster-scoped kind.
    pub fn covers(&self, namespace: &str) -> bool {
        self.namespace.as_ref().is_none_or(|own| own == namespace)
    }

    /// The field selector of all objects of one name.
    pub fn field_of_name(name: &str) -> String {
        format!("metadata.name={name}")
    }

    /// Whether an object of this name may be watched, as far as the field selector tells without asking the API server.
    pub fn may_be_named(&self, name: &str) -> bool {
        let only = self.field_selector.as_deref().and_then(|fields| fields.strip_prefix("metadata.name="));
        only.filter(|only| !only.contains(',')).is_none_or(|only| only == name)
    }

    /// Whether every object of the namespaces it covers is watched.
    pub fn is_complete(&self) -> bool {
        self.label_selector.is_none() && self.field_selector.is_none()
    }

    /// One spelling for specs that mean the same.
    fn normalized(mut self) -> Self {
        let not_empty = |text: &String| !text.is_empty();
        self.namespace = self.namespace.filter(not_empty);
        self.field_selector = self.field_selector.filter(not_empty);
        // A selector that cannot be read stays: the API server's refusal becomes the status.
        let respelled = |text: String| text.parse::<Selector>().map_or(text, |selector| selector.to_string());
        self.label_selector = self.label_selector.map(respelled).filter(not_empty);
        self
    }
}

/// A change of what is stored, told after it was made.
#[derive(Clone, Debug)]
pub enum Delta {
    /// An object is new or changed.
    Applied {
        /// What was stored before; `None` for a new object.
        old: Option<Arc<Object>>,
        /// What is stored now.
        new: Arc<Object>,
        /// Part of the first list or of the replay to a late subscriber, not a live change.
        initial: bool,
    },
    /// An object is gone, or no longer selected; its last known state.
    Deleted(Arc<Object>),
    /// All that existed has been told. It comes again after the kind was gone and came back.
    Synced,
}

/// Called for every change, inline and one at a time per watch: compute keys, add them to a queue, return. It must not
/// block and must not subscribe; it may read the store.
pub type Handler = Arc<dyn Fn(&Delta) + Send + Sync>;

/// What a watch is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchStatus {
    /// The API server does not serve the kind; it is asked again and again.
    WaitingForKind,
    /// The first list is under way.
    Listing,
    /// The store is complete and follows the API server.
    Synced,
    /// Listing or watching fails and is tried again; what is stored is kept.
    Failing {
        /// The last error with its causes.
        reason: Arc<str>,
    },
    /// Nobody subscribes any more; the store is not kept up.
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

/// Numbers of one watch, for metrics.
#[derive(Clone, Debug)]
pub struct WatchStats {
    /// What is watched.
    pub spec: WatchSpec,
    /// What the watch is doing.
    pub status: WatchStatus,
    /// How many share it.
    pub subscribers: usize,
    /// Objects stored.
    pub objects: usize,
    /// Roughly the bytes they keep.
    pub bytes: usize,
    /// Changes told since the watch began.
    pub events: u64,
    /// Lists completed; all but the first are relists.
    pub lists: u64,
    /// Failed attempts to list or watch.
    pub failures: u64,
    /// Objects skipped because they could not be read.
    pub malformed: u64,
}

/// `synced` ran out of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{gvk} is not synced: {status}")]
pub struct NotSynced {
    /// The kind waited for.
    pub gvk: GroupVersionKind,
    /// What its watch was doing at the deadline.
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
    /// Watches through `client`; nothing is watched before the first subscription.
    pub fn new(client: kube::Client, discovery: Discovery) -> Self {
        Self { hub: Arc::new(Hub { client, discovery, watches: Mutex::default() }) }
    }

    /// Subscribes to `spec`, starting its watch if nobody had yet. Call it within a tokio runtime.
    ///
    /// Before this returns, `handler` has been told of everything that is stored, as initial.
    pub fn subscribe(&self, spec: WatchSpec, handler: Handler) -> Subscription {
        let spec = spec.normalized();
        let store = {
            let mut watches = self.hub.watches();
            let watch = watches.entry(spec.clone()).or_insert_with(|| self.start(spec.clone()));
            watch.subscribers += 1;
            watch.store.clone()
        };
        let registration = store.subscribe(handler);
        Subscription { hub: Arc::clone(&self.hub), spec, store, registration }
    }

    fn start(&self, spec: WatchSpec) -> Watch {
        let store = Store::new(Arc::new(spec));
        let reflector =
            Reflector { client: self.hub.client.clone(), discovery: self.hub.discovery.clone(), store: store.clone() };
        let task = tokio::spawn(reflector.run()).abort_handle();
        Watch { store, task, subscribers: 0 }
    }

    /// The stores of a kind that contain objects of `namespace`; `None`: of all namespaces. Selectors may narrow
    /// them; [`Store::spec`] tells.
    pub fn find(&self, gvk: &GroupVersionKind, namespace: Option<&str>) -> Vec<Store> {
        let covers = |spec: &WatchSpec| namespace.map_or(spec.namespace.is_none(), |ns| spec.covers(ns));
        self.stores(gvk, covers)
    }

    /// A store that contains every object of a kind in `namespace` (`None`: all namespaces), the synced before others.
    pub fn reader(&self, gvk: &GroupVersionKind, namespace: Option<&str>) -> Option<Store> {
        let complete = self.find(gvk, namespace).into_iter().filter(|store| store.spec().is_complete());
        complete.max_by_key(Store::synced)
    }

    /// Notes a write in every store of the kind: see [`Store::record_write`].
    pub fn record_write(&self, gvk: &GroupVersionKind, key: &ObjectKey, uid: &str, resource_version: Option<&str>) {
        for store in self.stores(gvk, |spec| spec.covers(&key.namespace)) {
            store.record_write(key, uid, resource_version);
        }
    }

    /// Notes a write in every store of the kind that selects the object: see [`Store::record_object`].
    pub fn record_object(&self, gvk: &GroupVersionKind, object: &Object) {
        for store in self.stores(gvk, |spec| spec.covers(&object.key().namespace)) {
            store.record_object(object);
        }
    }

    /// Notes a deletion in every store of the kind: see [`Store::record_delete`].
    pub fn record_delete(&self, gvk: &GroupVersionKind, key: &ObjectKey, uid: &str) {
        for store in self.stores(gvk, |spec| spec.covers(&key.namespace)) {
            store.record_delete(key, uid);
        }
    }

    /// The numbers of every running watch.
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

/// Keeps a handler subscribed. Dropping it ends that; the handler may still be in a call on another thread then.
pub struct Subscription {
    hub: Arc<Hub>,
    spec: WatchSpec,
    store: Store,
    registration: Arc<Registration>,
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("spec", &self.spec).field("status", &self.status()).finish_non_exhaustive()
    }
}

impl Subscription {
    /// What is stored. It outlives the subscription, but is not kept up then.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// What the watch is doing.
    pub fn status(&self) -> WatchStatus {
        self.store.status()
    }

    /// Waits until everything that exists is stored.
    ///
    /// # Errors
    ///
    /// [`NotSynced`] at `deadline`, with what holds it up.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn synced(&self, deadline: Instant) -> Result<(), NotSynced> {
        let mut status = self.store.watch_status();
        // Not the status alone: a watch that fails after its list is still synced.
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
