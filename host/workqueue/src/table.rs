//! The table of keys: one entry with all facts about a key. A call looks a key up once, and then uses its number.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use slab::Slab;
use tokio::time::Instant;

use super::config::Cause;
use super::delay::Timer;
use super::fair::{Mark, Waiting};

/// The number of an entry; after the entry is dropped, another key may get it.
pub(super) type Id = usize;

/// From this size on, an empty table returns its memory.
const LARGE: usize = 4096;

/// The keys that are in the queue or have counted failures, each once.
#[derive(Debug)]
pub(super) struct Table<K> {
    entries: Slab<Entry<K>>,
    ids: HashTable<Id>,
    /// Fast, and randomly seeded, so that no client can choose keys that collide.
    hasher: RandomState,
}

/// One key.
#[derive(Debug)]
pub(super) struct Entry<K> {
    pub(super) key: K,
    hash: u64,
    pub(super) place: Place,
    /// Its neighbours in its list.
    links: Links,
    pub(super) timer: Option<Timer>,
    /// Failures since it was last forgotten.
    pub(super) failures: u32,
    /// The last event that added it since it was handed out.
    pub(super) cause: Option<Cause>,
}

/// The place of a key, beside its timer.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    /// Neither ready nor processing.
    Idle,
    /// It waits for a worker.
    Ready(Waiting),
    /// A worker holds it.
    Processing(Held),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    pub(super) since: Instant,
    /// Set when the key was added after its hand-out: it is ready again when it is done.
    pub(super) dirty: Option<Mark>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Links {
    before: Option<Id>,
    after: Option<Id>,
}

/// A linked list of entries. An entry is in at most one list.
#[derive(Debug, Default)]
pub(super) struct List {
    first: Option<Id>,
    last: Option<Id>,
    len: usize,
}

impl<K: Eq + Hash> Table<K> {
    pub(super) fn new() -> Self {
        Self { entries: Slab::new(), ids: HashTable::new(), hasher: RandomState::default() }
    }

    pub(super) fn find(&self, key: &K) -> Option<Id> {
        let same = |id: &Id| self.entries.get(*id).is_some_and(|entry| entry.key == *key);
        self.ids.find(self.hasher.hash_one(key), same).copied()
    }

    /// The entry of `key`, created if absent.
    pub(super) fn find_or_insert(&mut self, key: K) -> Id {
        let hash = self.hasher.hash_one(&key);
        let same = |id: &Id| self.entries.get(*id).is_some_and(|entry| entry.key == key);
        if let Some(id) = self.ids.find(hash, same) {
            return *id;
        }
        let entry =
            Entry { key, hash, place: Place::Idle, links: Links::default(), timer: None, failures: 0, cause: None };
        let id = self.entries.insert(entry);
        let entries = &self.entries;
        self.ids.insert_unique(hash, id, |id| entries.get(*id).map_or(0, |entry| entry.hash));
        id
    }

    /// Drops the entry if it has no content.
    pub(super) fn tidy(&mut self, id: Id) {
        let idle =
            |entry: &Entry<K>| matches!(entry.place, Place::Idle) && entry.timer.is_none() && entry.failures == 0;
        let Some(hash) = self.entries.get(id).filter(|entry| idle(entry)).map(|entry| entry.hash) else { return };
        if let Ok(found) = self.ids.find_entry(hash, |other| *other == id) {
            found.remove();
        }
        self.entries.remove(id);
        self.shrink();
    }

    /// Drops all entries that `keep` rejects.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&mut Entry<K>) -> bool) {
        self.entries.retain(|_, entry| keep(entry));
        let entries = &self.entries;
        self.ids.retain(|id| entries.contains(*id));
        self.shrink();
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        assert_eq!(self.entries.len(), self.ids.len());
        self.entries.len()
    }

    fn shrink(&mut self) {
        if self.entries.is_empty() && self.entries.capacity() > LARGE {
            self.entries = Slab::new();
            self.ids = HashTable::new();
        }
    }
}

impl<K> Table<K> {
    pub(super) fn get(&self, id: Id) -> Option<&Entry<K>> {
        self.entries.get(id)
    }

    pub(super) fn get_mut(&mut self, id: Id) -> Option<&mut Entry<K>> {
        self.entries.get_mut(id)
    }

    /// The keys of all entries, in no particular order.
    pub(super) fn keys(&self) -> impl Iterator<Item = &K> {
        self.entries.iter().map(|(_, entry)| &entry.key)
    }

    /// Changes the place of an entry, and returns the previous one.
    pub(super) fn put(&mut self, id: Id, place: Place) -> Option<Place> {
        self.get_mut(id).map(|entry| std::mem::replace(&mut entry.place, place))
    }
}

impl List {
    pub(super) fn push_back<K>(&mut self, table: &mut Table<K>, id: Id) {
        let before = self.last.replace(id);
        match before.and_then(|before| table.get_mut(before)) {
            Some(before) => before.links.after = Some(id),
            None => self.first = Some(id),
        }
        if let Some(entry) = table.get_mut(id) {
            entry.links = Links { before, after: None };
        }
        self.len += 1;
    }

    /// * `id` - an entry of this list.
    pub(super) fn unlink<K>(&mut self, table: &mut Table<K>, id: Id) {
        let Some(entry) = table.get_mut(id) else { return };
        let Links { before, after } = std::mem::take(&mut entry.links);
        match before.and_then(|before| table.get_mut(before)) {
            Some(before) => before.links.after = after,
            None => self.first = after,
        }
        match after.and_then(|after| table.get_mut(after)) {
            Some(after) => after.links.before = before,
            None => self.last = before,
        }
        self.len -= 1;
    }

    pub(super) fn first(&self) -> Option<Id> {
        self.first
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The entries from the first to the last.
    pub(super) fn iter<K>(&self, table: &Table<K>) -> impl Iterator<Item = Id> {
        std::iter::successors(self.first, |id| table.get(*id)?.links.after)
    }
}
