//! Loading a store from a data directory, and saving it.

use std::sync::{Arc, PoisonError, atomic::Ordering};

use super::{Change, Content, Key, Object, ResourceStore, Store, journal::Journal};

impl Store {
    /// Applies a change from a log; a change that the resource store already contains is ignored. `None` is a deletion.
    pub(crate) fn replay(&self, name: &str, revision: u64, key: &Key, content: Option<Content>) {
        let resource_store =
            self.existing(name).unwrap_or_else(|| self.put_resource_store(name, revision.saturating_sub(1)));
        resource_store.write(|s| {
            if revision > s.last_change()
                && let Some(change) = s.change(key, revision, content)
            {
                s.settle(change, self.history);
            }
        });
        self.go_on_from(revision);
    }

    /// Begins a resource store at a revision; nothing before is known.
    pub(crate) fn begin_at(&self, name: &str, revision: u64) {
        self.put_resource_store(name, revision);
        self.go_on_from(revision);
    }

    /// An object as it was when its resource store began.
    pub(crate) fn place(&self, name: &str, revision: u64, key: &Key, content: Content) {
        let resource_store = self.resource_store(name);
        resource_store.write(|s| s.objects.insert(key.clone(), Arc::new(Object::new(content, revision))));
    }

    fn put_resource_store(&self, name: &str, compacted: u64) -> Arc<ResourceStore> {
        let resource_store = self.empty_resource_store(name, compacted);
        let mut resource_stores = self.resource_stores.write().unwrap_or_else(PoisonError::into_inner);
        resource_stores.insert(name.to_owned(), Arc::clone(&resource_store));
        resource_store
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

    /// All resource stores.
    pub(crate) fn resource_stores(&self) -> Vec<Arc<ResourceStore>> {
        self.resource_stores.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Announces every existing object to the controllers.
    pub(crate) fn announce(&self) {
        for resource_store in self.resource_stores() {
            for object in resource_store.list("").objects {
                let (revision, key) = (object.revision, object.key());
                let change = Change { revision, object, previous: None, deleted: false, key };
                let _ = self.feed.send((Arc::from(resource_store.name.as_str()), change));
            }
        }
    }
}

impl ResourceStore {
    /// The objects, and the revision of the last change of any of them.
    pub(crate) fn saved(&self) -> (u64, Vec<(Key, Arc<Object>)>) {
        self.read(|s| {
            (s.last_change(), s.objects.iter().map(|(key, object)| (key.clone(), Arc::clone(object))).collect())
        })
    }
}
