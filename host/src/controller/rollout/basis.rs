//! What a plan rests on: the objects that a version read, and those that it would write. When one of them changes, the plan is outdated.

use super::comparison::{Decision, hash};
use crate::api::{GroupVersionKind, ObjectKey};
use crate::controller::Version;
use crate::informer::ListOptions;
use crate::plugin::ReadObserver;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most reads. A further one counts as a list of all objects of its kind.
const READS: usize = 20_000;

/// An object, whether or not it exists, or a list.
#[derive(Debug)]
enum Read {
    Object(GroupVersionKind, ObjectKey),
    List(GroupVersionKind, Box<ListOptions>),
}

/// The reads of one version, each in the state that its first reader found. Objects of kinds that the plugin does not watch are left out.
#[derive(Debug)]
pub(super) struct Basis {
    version: Arc<Version>,
    reads: Mutex<BTreeMap<u64, (Read, u64)>>,
}

impl Basis {
    pub(super) fn new(version: Arc<Version>) -> Self {
        Self { version, reads: Mutex::default() }
    }

    /// Notes the objects that the version would write.
    pub(super) fn writes(&self, decision: &Decision) {
        for target in decision.targets() {
            self.object(&target.kind, &target.key);
        }
    }

    /// Whether something that was read is in another state now.
    pub(super) fn is_outdated(&self) -> bool {
        self.lock().values().any(|(read, state)| self.state(read) != *state)
    }

    /// Stands for all reads and their states. Every host computes the same.
    pub(super) fn stamp(&self) -> u64 {
        let reads = self.lock();
        reads.iter().fold(0, |stamp, (id, (_, state))| stamp ^ hash(&[&id.to_string(), &state.to_string()]))
    }

    /// The number of reads.
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    /// A read before it is answered. So a change in between outdates the plan.
    fn note(&self, read: Read) {
        let mut reads = self.lock();
        let read = if reads.len() < READS { read } else { read.all() };
        reads.entry(read.id()).or_insert_with(|| {
            let state = self.state(&read);
            (read, state)
        });
    }

    /// Stands for the resourceVersions of what is read.
    fn state(&self, read: &Read) -> u64 {
        let (Read::Object(kind, _) | Read::List(kind, _)) = read;
        let stores = self.version.stores.get(kind).into_iter().flatten();
        match read {
            Read::Object(_, key) => {
                let found = stores.filter_map(|of| of.store.get(key)).next();
                found.map_or(0, |object| hash(&[object.resource_version()]))
            }
            // An object may be in several stores.
            Read::List(_, options) => stores.flat_map(|of| of.store.list(options)).fold(0, |state: u64, object| {
                let key = object.key();
                state.wrapping_add(hash(&[&key.namespace, &key.name, object.resource_version()]))
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, (Read, u64)>> {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReadObserver for Basis {
    fn object(&self, kind: &GroupVersionKind, key: &ObjectKey) {
        if self.version.stores.contains_key(kind) {
            self.note(Read::Object(kind.clone(), key.clone()));
        }
    }

    fn list(&self, kind: &GroupVersionKind, options: &ListOptions) {
        // What a limited list returns depends on all.
        self.note(Read::List(kind.clone(), Box::new(ListOptions { limit: None, ..options.clone() })));
    }
}

impl Read {
    fn all(self) -> Self {
        let (Self::Object(kind, _) | Self::List(kind, _)) = self;
        Self::List(kind, Box::default())
    }

    fn id(&self) -> u64 {
        match self {
            Self::Object(kind, key) => hash(&["object", &kind.to_string(), &key.namespace, &key.name]),
            Self::List(kind, options) => hash(&["list", &kind.to_string(), &format!("{options:?}")]),
        }
    }
}
