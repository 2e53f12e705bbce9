//! Changes of a store, and the fan-out of each to all who subscribed.

use super::{State, Store};
use crate::{
    api::{ObjectKey, resource_version},
    informer::{
        Delta, Handler,
        index::Table,
        object::{Malformed, Object, Strings},
        own_writes::OwnWrites,
    },
};
use std::{
    cmp::Ordering,
    collections::HashSet,
    panic::AssertUnwindSafe,
    sync::{
        Arc, MutexGuard,
        atomic::{AtomicBool, Ordering as Atomic},
    },
};

/// One subscriber. It is dropped from the list at the next change after `live` was cleared.
pub(in crate::informer) struct Registration {
    handler: Handler,
    pub(in crate::informer) live: AtomicBool,
}

impl Registration {
    /// A handler that panics must not take the watch away from all others.
    fn tell(&self, delta: &Delta) {
        if std::panic::catch_unwind(AssertUnwindSafe(|| (self.handler)(delta))).is_err() {
            tracing::error!(?delta, "a handler panicked: its subscriber missed a change");
        }
    }
}

/// A list while its pages arrive; nothing of it shows before [`Store::replace`].
#[derive(Debug)]
pub(in crate::informer) struct Relist {
    mark: u64,
    objects: Vec<Arc<Object>>,
    /// Listed, but not readable: what is stored of them stays.
    unreadable: HashSet<ObjectKey>,
}

impl Store {
    /// Adds a handler: it gets what is stored, then every change.
    pub(in crate::informer) fn subscribe(&self, handler: Handler) -> Arc<Registration> {
        let registration = Arc::new(Registration { handler, live: AtomicBool::new(true) });
        let mut handlers = self.handlers();
        let (objects, synced) = {
            let state = self.read();
            (state.table.objects().cloned().collect::<Vec<_>>(), state.synced)
        };
        for new in objects {
            registration.tell(&Delta::Applied { old: None, new, initial: true });
        }
        if synced {
            registration.tell(&Delta::Synced);
        }
        handlers.push(Arc::clone(&registration));
        registration
    }

    /// An ADDED or MODIFIED event.
    pub(in crate::informer) fn apply(&self, mut object: Object) {
        let handlers = self.handlers();
        let mut deltas = Vec::with_capacity(1);
        let settled = {
            let mut state = self.write();
            object.share(&mut state.strings);
            // A watch that resumes may tell again what is known.
            let over = state.own.is_over(object.uid(), object.resource_version());
            let settled = state.own.observe(object.key(), object.uid(), object.resource_version(), false);
            let old = state.table.get(object.key()).cloned();
            let known = over || old.as_ref().is_some_and(|old| is_known(old, &object));
            if !known {
                let new = Arc::new(object);
                state.table.insert(Arc::clone(&new));
                push_applied(&mut deltas, old, new, false);
            }
            settled
        };
        self.tell(handlers, &deltas, settled);
    }

    /// A DELETED event; `last` is the object's last state.
    pub(in crate::informer) fn delete(&self, last: Object) {
        let handlers = self.handlers();
        let mut deltas = Vec::with_capacity(1);
        let settled = {
            let mut state = self.write();
            let settled = state.own.observe(last.key(), last.uid(), last.resource_version(), true);
            if let Some(old) = state.table.get(last.key()).cloned() {
                let same = old.uid() == last.uid();
                let versions = resource_version::compare(last.resource_version(), old.resource_version());
                // The end of an earlier incarnation, told again.
                if same || versions != Some(Ordering::Less) {
                    state.table.remove(last.key());
                    deltas.push(Delta::Deleted(if same { Arc::new(last) } else { old }));
                }
            }
            settled
        };
        self.tell(handlers, &deltas, settled);
    }

    /// A DELETED event of which only the name could be read.
    pub(in crate::informer) fn delete_unread(&self, key: &ObjectKey) {
        if let Some(object) = self.get(key) {
            self.delete(Object::clone(&object));
        }
    }

    /// A list is about to be asked for.
    pub(in crate::informer) fn begin_list(&self) -> Relist {
        let mark = self.write().own.list_begins();
        Relist { mark, objects: Vec::new(), unreadable: HashSet::new() }
    }

    /// One object of a list. An unchanged one is dropped for the one that is stored, so a list needs little memory.
    pub(in crate::informer) fn list_item(&self, relist: &mut Relist, mut object: Object) {
        let stored = self.get(object.key()).filter(|stored| is_same(stored, &object));
        let object = stored.unwrap_or_else(|| {
            object.share(&mut self.write().strings);
            Arc::new(object)
        });
        relist.objects.push(object);
    }

    /// One object of a list that could not be read.
    pub(in crate::informer) fn list_unread(relist: &mut Relist, malformed: &Malformed) {
        relist.unreadable.extend(malformed.key.clone());
    }

    /// The list is complete: it becomes the content, and every difference is told.
    pub(in crate::informer) fn replace(&self, relist: Relist) {
        let Relist { mark, mut objects, unreadable } = relist;
        // API servers sort by the whole path, so namespaces may come in another order.
        objects.sort_by(|a, b| a.key().cmp(b.key()));
        objects.dedup_by(|a, b| a.key() == b.key());
        let handlers = self.handlers();
        let mut deltas = Vec::new();
        let settled = {
            let mut state = self.write();
            let settled = state.own.listed(mark, objects.iter().map(|object| object.resource_version()));
            let first = !std::mem::replace(&mut state.synced, true);
            if state.table.is_empty() {
                let told = |new: &Arc<Object>| Delta::Applied { old: None, new: Arc::clone(new), initial: first };
                deltas.extend(objects.iter().map(told));
                state.table = Table::from_sorted(objects);
            } else {
                state.exchange(objects, &unreadable, first, &mut deltas);
            }
            if first {
                deltas.push(Delta::Synced);
            }
            settled
        };
        self.tell(handlers, &deltas, settled);
    }

    /// The kind is no longer served: nothing of it exists.
    pub(in crate::informer) fn clear(&self) {
        let handlers = self.handlers();
        let mut deltas = Vec::new();
        {
            let mut state = self.write();
            let keys: Vec<ObjectKey> = state.table.objects().map(|o| o.key().clone()).collect();
            for key in keys {
                deltas.extend(state.table.remove(&key).map(Delta::Deleted));
            }
            state.strings = Strings::default();
            state.own = OwnWrites::default();
            state.synced = false;
        }
        self.tell(handlers, &deltas, true);
    }

    /// Calls all handlers, in the order the changes were made.
    fn tell(&self, mut handlers: MutexGuard<'_, Vec<Arc<Registration>>>, deltas: &[Delta], settled: bool) {
        if settled {
            self.shared.settled.send_modify(|count| *count += 1);
        }
        self.shared.counters.events.fetch_add(deltas.len() as u64, Atomic::Relaxed);
        handlers.retain(|registration| registration.live.load(Atomic::Acquire));
        for delta in deltas {
            for registration in handlers.iter().filter(|r| r.live.load(Atomic::Acquire)) {
                registration.tell(delta);
            }
        }
    }
}

impl State {
    /// Makes `objects`, sorted by key, the content; `unreadable` ones stay as they are.
    fn exchange(
        &mut self,
        objects: Vec<Arc<Object>>,
        unreadable: &HashSet<ObjectKey>,
        first: bool,
        deltas: &mut Vec<Delta>,
    ) {
        let listed = |key: &ObjectKey| objects.binary_search_by(|object| object.key().cmp(key)).is_ok();
        let gone = |object: &&Arc<Object>| !listed(object.key()) && !unreadable.contains(object.key());
        let gone: Vec<ObjectKey> = self.table.objects().filter(gone).map(|o| o.key().clone()).collect();
        for key in gone {
            if let Some(object) = self.table.remove(&key) {
                self.own.gone(object.uid(), object.resource_version());
                deltas.push(Delta::Deleted(object));
            }
        }
        for new in objects {
            let old = self.table.get(new.key()).cloned();
            if !old.as_ref().is_some_and(|old| is_same(old, &new)) {
                self.table.insert(Arc::clone(&new));
                push_applied(deltas, old, new, first);
            }
        }
    }
}

/// Whether `new` is the stored state or an earlier one.
fn is_known(old: &Object, new: &Object) -> bool {
    let versions = resource_version::compare(new.resource_version(), old.resource_version());
    is_same(old, new) || versions == Some(Ordering::Less)
}

fn is_same(a: &Object, b: &Object) -> bool {
    a.uid() == b.uid() && a.resource_version() == b.resource_version() && !a.resource_version().is_empty()
}

/// An object with another uid is another object: the first one has ended.
fn push_applied(deltas: &mut Vec<Delta>, old: Option<Arc<Object>>, new: Arc<Object>, initial: bool) {
    match old {
        Some(old) if old.uid() != new.uid() => {
            deltas.push(Delta::Deleted(old));
            deltas.push(Delta::Applied { old: None, new, initial });
        }
        old => deltas.push(Delta::Applied { old, new, initial }),
    }
}
