//! Loading a store from a data directory, and saving it.

use std::sync::{Arc, PoisonError, atomic::Ordering};

use serde_json::Value;

use super::{Change, Key, Object, Shelf, Store};
use crate::persistence::Journal;

impl Store {
    /// Applies a change from a log; a change that the shelf already contains is ignored. `None` is a deletion.
    pub(crate) fn replay(&self, name: &str, revision: u64, key: &Key, value: Option<Value>) {
        let shelf = self.existing(name).unwrap_or_else(|| self.put_shelf(name, revision.saturating_sub(1)));
        shelf.write(|s| {
            if revision > s.last_change()
                && let Some(change) = s.change(key, revision, value)
            {
                s.settle(change, self.history);
            }
        });
        self.go_on_from(revision);
    }

    /// Begins a shelf at a revision; nothing before is known.
    pub(crate) fn begin_at(&self, name: &str, revision: u64) {
        self.put_shelf(name, revision);
        self.go_on_from(revision);
    }

    /// An object as it was when its shelf began.
    pub(crate) fn place(&self, name: &str, revision: u64, key: &Key, value: Value) {
        let shelf = self.shelf(name);
        shelf.write(|s| s.objects.insert(key.clone(), Arc::new(Object::new(value, revision))));
    }

    fn put_shelf(&self, name: &str, compacted: u64) -> Arc<Shelf> {
        let shelf = self.empty_shelf(name, compacted);
        let mut shelves = self.shelves.write().unwrap_or_else(PoisonError::into_inner);
        shelves.insert(name.to_owned(), Arc::clone(&shelf));
        shelf
    }

    /// Stores all further changes in a journal.
    pub(crate) fn keep_in(&self, journal: Journal) {
        // Set once, before the first request.
        let _ = self.journal.set(journal);
    }

    /// Starts further revisions above this one.
    pub(crate) fn go_on_from(&self, revision: u64) {
        self.clock.fetch_max(revision, Ordering::SeqCst);
        self.unused.fetch_max(revision, Ordering::SeqCst);
    }

    /// The journal, if any.
    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.journal.get()
    }

    /// All shelves.
    pub(crate) fn shelves(&self) -> Vec<Arc<Shelf>> {
        self.shelves.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Announces every existing object to the controllers.
    pub(crate) fn announce(&self) {
        for shelf in self.shelves() {
            for object in shelf.list("").objects {
                let (revision, key) = (object.revision, object.key());
                let change = Change { revision, object, previous: None, deleted: false, key };
                let _ = self.feed.send((Arc::from(shelf.name.as_str()), change));
            }
        }
    }
}

impl Shelf {
    /// The objects, and the revision of the last change of any of them.
    pub(crate) fn saved(&self) -> (u64, Vec<(Key, Arc<Object>)>) {
        self.read(|s| {
            (s.last_change(), s.objects.iter().map(|(key, object)| (key.clone(), Arc::clone(object))).collect())
        })
    }
}
