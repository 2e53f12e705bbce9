//! A reader's view of a shelf, at a present or past revision.

use std::sync::Arc;

use super::{At, Key, Object, Shelf, Snapshot};

/// A shelf at a present or past revision.
#[derive(Debug, Clone)]
pub(crate) struct View {
    shelf: Arc<Shelf>,
    past: Option<u64>,
}

impl View {
    /// The present shelf; with a revision, the shelf at that revision, or as far back as the log reaches.
    pub(crate) fn new(shelf: Arc<Shelf>, past: Option<u64>) -> Self {
        let past = past.map(|revision| revision.max(shelf.reach()));
        Self { shelf, past }
    }

    /// The shelf itself.
    pub(crate) fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    /// The revision of the view.
    pub(crate) fn revision(&self) -> u64 {
        self.past.unwrap_or_else(|| self.shelf.revision())
    }

    /// An object.
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Object>> {
        let Some(revision) = self.past else { return self.shelf.get(key) };
        self.shelf.past_one(key, revision)
    }

    /// All objects in key order, of one namespace when it is not empty.
    pub(crate) fn list(&self, namespace: &str) -> Snapshot {
        match self.past {
            None => self.shelf.list(namespace),
            Some(revision) => self.shelf.past(namespace, revision),
        }
    }

    /// The time of the view.
    pub(crate) fn at(&self) -> At {
        self.past.map_or(At::Now, At::Past)
    }
}
