//! A version of a plugin: the loaded code, and the watches it reads from.

use super::rollout::hash;
use super::{Converter, ReconcileKey, handler, mapping};
use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::WriteIdentity;
use crate::grants::Admission;
use crate::informer::{Object, Subscription};
use crate::plugin::{Component, Guest, Pool, Reads, StoreOf};
use oarlock_manifest::PluginManifest;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// A compiled, described, validated and granted plugin: the input of a version before it opens watches.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The validated manifest.
    pub manifest: PluginManifest,
    /// The compiled component.
    pub component: Component,
    /// The grants and imports of the guest.
    pub guest: Guest,
}

/// A [`Loaded`] plugin with its watches. It enqueues no key before [`super::Controller::switch`] makes it current.
#[derive(Debug)]
pub struct Version {
    pub(super) loaded: Loaded,
    /// Of code and configuration: two versions with the same identity write the same.
    pub(super) identity: String,
    /// The version's instances. Those of its conversions may outlive it.
    pub(super) pool: Arc<Pool>,
    pub(super) write_identity: WriteIdentity,
    pub(super) reads: Arc<Reads>,
    /// The admission rules.
    pub(super) admission: Vec<Admission>,
    /// The conversions; None: it has none.
    pub(super) converter: Option<Arc<Converter>>,
    pub(super) subscriptions: Vec<Subscription>,
    pub(super) stores: HashMap<GroupVersionKind, Vec<StoreOf>>,
    /// Whether its handlers enqueue keys.
    pub(super) event_mode: Arc<EventModeCell>,
    /// Whether a reconcile has ended on this version.
    pub(super) worked: AtomicBool,
    /// Reconciles in flight.
    pub(super) under_way: TaskTracker,
    /// Cancels the reconciles in flight.
    pub(super) cancel: CancellationToken,
}

impl Loaded {
    /// Identifies code and configuration.
    pub(super) fn identity(&self) -> String {
        let config = serde_json::to_string(self.guest.grants.config()).unwrap_or_default();
        format!("{:016x}", hash(&[&self.component.digest, &config]))
    }
}

impl Version {
    /// The loaded plugin.
    #[must_use]
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// The admission rules.
    #[must_use]
    pub fn admission(&self) -> &[Admission] {
        &self.admission
    }

    /// Whether all watches are in sync.
    #[must_use]
    pub fn synced(&self) -> bool {
        self.subscriptions.iter().all(|s| s.store().synced())
    }

    /// The watches that are not in sync, and why.
    #[must_use]
    pub fn waiting_for(&self) -> Vec<String> {
        let waiting = self.subscriptions.iter().filter(|s| !s.store().synced());
        waiting.map(|s| format!("{}: {}", s.store().spec().gvk, s.status())).collect()
    }

    /// Waits until all watches are in sync.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn wait_until_synced(&self) {
        /// Only the interval at which the deadline of one wait is renewed; the wait for a kind to be served has no end.
        const RENEW: Duration = Duration::from_secs(60);
        for subscription in &self.subscriptions {
            while subscription.synced(tokio::time::Instant::now() + RENEW).await.is_err() {}
        }
    }

    /// The mappings of its manifest that cannot wake anything, a sentence each.
    #[must_use]
    pub fn dead_mappings(&self) -> Vec<String> {
        mapping::dead(&self.loaded.manifest, &self.stores)
    }

    /// Its primaries with what is stored of each.
    pub(super) fn primaries(&self) -> impl Iterator<Item = (GroupVersionKind, impl Iterator<Item = &StoreOf>)> {
        let mut kinds: Vec<GroupVersionKind> =
            self.loaded.manifest.primaries.iter().map(|p| handler::kind(&p.gvk())).collect();
        kinds.sort();
        kinds.dedup();
        kinds.into_iter().map(|kind| {
            let stores = self.stores.get(&kind).into_iter().flatten().filter(|of| of.primary);
            (kind, stores)
        })
    }

    /// The keys of all objects that the version reconciles.
    pub(super) fn keys(&self) -> impl Iterator<Item = ReconcileKey> {
        self.primaries().flat_map(|(kind, stores)| {
            let kind = Arc::new(kind);
            let keys = stores.flat_map(|of| of.store.keys());
            keys.map(move |key| ReconcileKey { kind: Arc::clone(&kind), key })
        })
    }

    /// Whether the kind is one of the primaries.
    #[must_use]
    pub fn reconciles(&self, kind: &GroupVersionKind) -> bool {
        self.stores.get(kind).is_some_and(|stores| stores.iter().any(|of| of.primary))
    }

    /// Whether the watches cover this key: the grant may name fewer namespaces than that of the previous version.
    pub(super) fn reaches(&self, key: &ReconcileKey) -> bool {
        let covers = |of: &StoreOf| of.primary && of.store.spec().covers(&key.key.namespace);
        self.stores.get(&*key.kind).is_some_and(|stores| stores.iter().any(covers))
    }

    /// Whether the host manages the status of objects of a kind.
    pub(super) fn manages_status(&self, kind: &GroupVersionKind) -> bool {
        let manifest = &self.loaded.manifest;
        manifest
            .primaries
            .iter()
            .any(|primary| handler::kind(&primary.gvk()) == *kind && manifest.manages_status(primary))
    }

    /// Whether the version removes the plugin's finalizer from objects of a kind.
    #[must_use]
    pub fn cleans_up(&self, kind: &GroupVersionKind) -> bool {
        self.loaded.manifest.cleanup && self.reconciles(kind)
    }

    /// Whether the version reconciles this object.
    #[must_use]
    pub fn sees(&self, kind: &GroupVersionKind, key: &ObjectKey) -> bool {
        self.stores.get(kind).is_some_and(|stores| stores.iter().any(|of| of.primary && of.store.get(key).is_some()))
    }

    /// The cached object of a key.
    pub(super) fn cached(&self, key: &ReconcileKey) -> Option<Arc<Object>> {
        let mut stores = self.stores.get(&*key.kind).into_iter().flatten().filter(|of| of.primary);
        stores.find_map(|of| of.store.get(&key.key))
    }

    /// The kinds of the primaries.
    #[must_use]
    pub fn kinds(&self) -> Vec<GroupVersionKind> {
        self.primaries().map(|(kind, _)| kind).collect()
    }

    /// The number of objects of a kind that the version reconciles.
    #[must_use]
    pub fn objects_of(&self, kind: &GroupVersionKind) -> usize {
        self.primaries().filter(|(of, _)| of == kind).flat_map(|(_, stores)| stores).map(|of| of.store.len()).sum()
    }

    /// The number of objects that the version reconciles.
    #[must_use]
    pub fn objects(&self) -> usize {
        self.primaries().map(|(_, stores)| stores.map(|of| of.store.len()).sum::<usize>()).sum()
    }

    /// The objects that this version sees and that have the plugin's finalizer, by kind.
    #[must_use]
    pub fn held(&self) -> Vec<(GroupVersionKind, Vec<ObjectKey>)> {
        let finalizer = self.write_identity.finalizer();
        let all = crate::informer::ListOptions::default();
        self.primaries()
            .map(|(kind, stores)| {
                let objects = stores.flat_map(|of| of.store.list(&all));
                let held = objects.filter(|o| o.has_finalizer(&finalizer)).map(|o| o.key().clone());
                (kind, held.collect::<Vec<_>>())
            })
            .filter(|(_, keys)| !keys.is_empty())
            .collect()
    }

    /// Objects that this version sees, that have the plugin's finalizer and are being deleted.
    ///
    /// * `most` - of each kind.
    #[must_use]
    pub fn deleting(&self, most: usize) -> Vec<(GroupVersionKind, Arc<Object>)> {
        let finalizer = self.write_identity.finalizer();
        let all = crate::informer::ListOptions::default();
        let mut deleting = Vec::new();
        for (kind, stores) in self.primaries() {
            let objects = stores.flat_map(|of| of.store.list(&all));
            let held = objects.filter(|object| object.deleting() && object.has_finalizer(&finalizer)).take(most);
            deleting.extend(held.map(|object| (kind.clone(), object)));
        }
        deleting
    }

    /// Marks a reconcile as in flight on this version, until the token is dropped.
    pub(super) fn track(&self) -> TaskTrackerToken {
        self.under_way.token()
    }

    /// Waits until no reconcile is in flight on this version; after `drain` the remaining ones are cancelled.
    ///
    /// Returns whether all ended by themselves.
    pub(super) async fn drain(&self, drain: Duration) -> bool {
        self.under_way.close();
        let by_itself = tokio::time::timeout(drain, self.under_way.wait()).await.is_ok();
        if !by_itself {
            self.cancel.cancel();
        }
        by_itself
    }

    pub(super) fn set_event_mode(&self, mode: EventMode) {
        self.event_mode.set(mode);
    }
}

/// What the event handlers of a version enqueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum EventMode {
    /// No key: the version is not current.
    Disabled,
    /// No key: the version is current, but another host is the leader. Deleted objects are remembered for a while.
    Standby,
    /// Keys.
    Enqueue,
}

/// [`EventMode`] as an atomic, for the handlers.
#[derive(Debug, Default)]
pub(super) struct EventModeCell(AtomicU8);

impl EventModeCell {
    pub(super) fn set(&self, mode: EventMode) {
        self.0.store(mode as u8, Ordering::Release);
    }

    pub(super) fn now(&self) -> EventMode {
        match self.0.load(Ordering::Acquire) {
            of if of == EventMode::Enqueue as u8 => EventMode::Enqueue,
            of if of == EventMode::Standby as u8 => EventMode::Standby,
            _ => EventMode::Disabled,
        }
    }
}
