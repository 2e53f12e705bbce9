//! A reader's view of a resource store, at a present or past revision.

use std::sync::Arc;

use super::{At, Key, Object, ResourceStore, Snapshot};

/// A resource store at a present or past revision.
#[derive(Debug, Clone)]
pub(crate) struct View {
    resource_store: Arc<ResourceStore>,
    past: Option<u64>,
}

impl View {
    /// The present resource store; with a revision, the resource store at that revision, or as far back as the log reaches.
    pub(crate) fn new(resource_store: Arc<ResourceStore>, past: Option<u64>) -> Self {
        let past = past.map(|revision| revision.max(resource_store.reach()));
        Self { resource_store, past }
    }

    /// The resource store itself.
    pub(crate) fn resource_store(&self) -> &ResourceStore {
        &self.resource_store
    }

    /// The revision of the view.
    pub(crate) fn revision(&self) -> u64 {
        self.past.unwrap_or_else(|| self.resource_store.revision())
    }

    /// An object.
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Object>> {
        let Some(revision) = self.past else { return self.resource_store.get(key) };
        self.resource_store.past_one(key, revision)
    }

    /// All objects in key order, of one namespace when it is not empty.
    pub(crate) fn list(&self, namespace: &str) -> Snapshot {
        match self.past {
            None => self.resource_store.list(namespace),
            Some(revision) => self.resource_store.past(namespace, revision),
        }
    }

    /// The time of the view.
    pub(crate) fn at(&self) -> At {
        self.past.map_or(At::Now, At::Past)
    }
}
