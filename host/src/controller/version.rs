//! One version of a plugin at work: what was loaded, and the watches it reads from.

use super::handler;
use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::Author;
use crate::grants::Admission;
use crate::informer::Subscription;
use crate::plugin::{Component, Guest, Pool, Reads, StoreOf};
use oarlock_manifest::PluginManifest;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// A plugin that was compiled, described, validated and granted: all that a version needs before it watches anything.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What it says of itself, checked.
    pub manifest: PluginManifest,
    /// What is run.
    pub component: Component,
    /// What it may use.
    pub guest: Guest,
}

/// A [`Loaded`] plugin with its watches. It wakes no key before [`super::Controller::switch`] has made it the current one.
#[derive(Debug)]
pub struct Version {
    pub(super) loaded: Loaded,
    /// Its instances: none outlives it.
    pub(super) pool: Pool,
    pub(super) author: Author,
    pub(super) reads: Arc<Reads>,
    /// What it answers at admission.
    pub(super) admission: Vec<Admission>,
    pub(super) subscriptions: Vec<Subscription>,
    pub(super) stores: HashMap<GroupVersionKind, Vec<StoreOf>>,
    /// Whom its handlers wake.
    pub(super) waking: Arc<Waking>,
    /// Whether a reconcile has ended on it.
    pub(super) worked: AtomicBool,
    /// Reconciles under way.
    pub(super) under_way: TaskTracker,
    /// Cuts them off.
    pub(super) cut: CancellationToken,
}

impl Version {
    /// What was loaded.
    #[must_use]
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// What it answers at admission.
    #[must_use]
    pub fn admission(&self) -> &[Admission] {
        &self.admission
    }

    /// Whether all its watches hold everything that exists.
    #[must_use]
    pub fn synced(&self) -> bool {
        self.subscriptions.iter().all(|s| s.store().synced())
    }

    /// Which watches are not in sync, and why.
    #[must_use]
    pub fn waiting_for(&self) -> Vec<String> {
        let waiting = self.subscriptions.iter().filter(|s| !s.store().synced());
        waiting.map(|s| format!("{}: {}", s.store().spec().gvk, s.status())).collect()
    }

    /// Waits until all its watches are in sync.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn wait_until_synced(&self) {
        /// Only how often the deadline of one wait is renewed; there is no end to waiting for a kind to be served.
        const RENEW: Duration = Duration::from_secs(60);
        for subscription in &self.subscriptions {
            while subscription.synced(tokio::time::Instant::now() + RENEW).await.is_err() {}
        }
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

    /// Whether a kind is one of its primaries.
    #[must_use]
    pub fn reconciles(&self, kind: &GroupVersionKind) -> bool {
        self.stores.get(kind).is_some_and(|stores| stores.iter().any(|of| of.primary))
    }

    /// Whether it watches where this key is: its grant may name fewer namespaces than that of the version before.
    pub(super) fn reaches(&self, key: &super::ReconcileKey) -> bool {
        let covers = |of: &StoreOf| of.primary && of.store.spec().covers(&key.key.namespace);
        self.stores.get(&*key.kind).is_some_and(|stores| stores.iter().any(covers))
    }

    /// Whether it takes the plugin's finalizer off objects of a kind.
    #[must_use]
    pub fn cleans_up(&self, kind: &GroupVersionKind) -> bool {
        self.loaded.manifest.cleanup && self.reconciles(kind)
    }

    /// Whether it reconciles this object.
    #[must_use]
    pub fn sees(&self, kind: &GroupVersionKind, key: &ObjectKey) -> bool {
        self.stores.get(kind).is_some_and(|stores| stores.iter().any(|of| of.primary && of.store.get(key).is_some()))
    }

    /// Its primaries.
    #[must_use]
    pub fn kinds(&self) -> Vec<GroupVersionKind> {
        self.primaries().map(|(kind, _)| kind).collect()
    }

    /// How many objects of a kind it reconciles.
    #[must_use]
    pub fn objects_of(&self, kind: &GroupVersionKind) -> usize {
        self.primaries().filter(|(of, _)| of == kind).flat_map(|(_, stores)| stores).map(|of| of.store.len()).sum()
    }

    /// How many objects it reconciles.
    #[must_use]
    pub fn objects(&self) -> usize {
        self.primaries().map(|(_, stores)| stores.map(|of| of.store.len()).sum::<usize>()).sum()
    }

    /// The objects that carry the plugin's finalizer and that this version sees, by kind.
    #[must_use]
    pub fn held(&self) -> Vec<(GroupVersionKind, Vec<ObjectKey>)> {
        let finalizer = self.author.finalizer();
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

    /// Marks a reconcile as under way on this version, until the token is dropped.
    pub(super) fn enter(&self) -> TaskTrackerToken {
        self.under_way.token()
    }

    /// Waits until no reconcile is under way on it; after `drain` those that still are get cut off.
    ///
    /// Answers whether all ended by themselves.
    pub(super) async fn drain(&self, drain: Duration) -> bool {
        self.under_way.close();
        let by_itself = tokio::time::timeout(drain, self.under_way.wait()).await.is_ok();
        if !by_itself {
            self.cut.cancel();
        }
        by_itself
    }

    pub(super) fn wake(&self, wakes: Wakes) {
        self.waking.set(wakes);
    }
}

/// Whom the handlers of a version wake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Wakes {
    /// It is not the current version, or not any more.
    Nobody,
    /// It is, but another host reconciles: what is deleted is remembered for a while.
    NobodyYet,
    /// Keys.
    Keys,
}

/// [`Wakes`], as handlers see it.
#[derive(Debug, Default)]
pub(super) struct Waking(AtomicU8);

impl Waking {
    pub(super) fn set(&self, wakes: Wakes) {
        self.0.store(wakes as u8, Ordering::Release);
    }

    pub(super) fn now(&self) -> Wakes {
        match self.0.load(Ordering::Acquire) {
            of if of == Wakes::Keys as u8 => Wakes::Keys,
            of if of == Wakes::NobodyYet as u8 => Wakes::NobodyYet,
            _ => Wakes::Nobody,
        }
    }
}
