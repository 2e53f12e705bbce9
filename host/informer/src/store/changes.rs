//! Store of one watch: changes, and their fan-out to all subscribers.

use super::{Store, StoreState};
use crate::{
    Delta, Handler,
    object::{Malformed, Object, Strings},
    own_writes::OwnWrites,
};
use oarlock_api::{ObjectKey, resource_version};
use std::{
    cmp::Ordering,
    collections::HashSet,
    panic::AssertUnwindSafe,
    sync::{
        Arc, MutexGuard,
        atomic::{AtomicBool, Ordering as Atomic},
    },
};

/// One subscriber. The next change after `live` was cleared removes it from the list.
pub(crate) struct Registration {
    handler: Handler,
    pub(crate) live: AtomicBool,
}

impl Registration {
    /// A handler that panics must not stop the watch for the others.
    fn tell(&self, delta: &Delta) {
        if std::panic::catch_unwind(AssertUnwindSafe(|| (self.handler)(delta))).is_err() {
            let object = match delta {
                Delta::Applied { new: object, .. } | Delta::Deleted(object) => object.key().to_string(),
                Delta::Synced => "the end of the list".to_owned(),
            };
            tracing::error!(object, "a handler panicked: its subscriber missed a change");
        }
    }
}

/// A list in progress. Each object is stored on arrival, so that a list needs little memory; objects missing from the list are removed at
/// its end.
#[derive(Debug)]
pub(crate) struct Relist {
    mark: u64,
    /// The stored objects of the listed keys.
    listed: Vec<Arc<Object>>,
    /// Listed but malformed objects, whose stored states stay.
    unreadable: HashSet<ObjectKey>,
    /// The version of the state that the list shows; empty until known.
    version: String,
    /// The history was rewritten: older versions are not earlier ones.
    rewritten: bool,
}

impl Relist {
    /// Sets the version of the list, from its first page.
    pub(crate) fn shows(&mut self, version: &str) {
        version.clone_into(&mut self.version);
    }

    /// Whether the list shows at least the state at `version`. Then its objects are right even if their versions are older than the known
    /// ones: an etcd was restored and has overtaken them.
    fn is_after(&self, version: &str) -> bool {
        self.rewritten || resource_version::at_least(&self.version, version)
    }
}

impl Store {
    /// Adds a handler: it gets the stored objects, then every change.
    pub(crate) fn subscribe(&self, handler: Handler) -> Arc<Registration> {
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

    /// Handles an ADDED or MODIFIED event.
    pub(crate) fn apply(&self, mut object: Object) {
        let handlers = self.handlers();
        let mut deltas = Vec::with_capacity(1);
        let settled = {
            let mut state = self.write();
            object.share(&mut state.strings);
            // A resumed watch may repeat known events.
            let over = state.own.is_over(object.uid(), object.resource_version());
            let settled = state.own.observe(object.key(), object.uid(), object.resource_version(), false);
            let old = state.table.get(object.key()).cloned();
            let known = over || old.as_ref().is_some_and(|old| is_known(old, &object));
            if !known {
                let new = Arc::new(object);
                state.store(&new, old.as_deref());
                push_applied(&mut deltas, old, new, false);
            }
            settled
        };
        self.tell(handlers, &deltas, settled);
    }

    /// Handles a DELETED event; `last` is the object's last state.
    pub(crate) fn delete(&self, last: Object) {
        let handlers = self.handlers();
        let mut deltas = Vec::with_capacity(1);
        let settled = {
            let mut state = self.write();
            let settled = state.own.observe(last.key(), last.uid(), last.resource_version(), true);
            if let Some(old) = state.table.get(last.key()).cloned() {
                let same = old.uid() == last.uid();
                let versions = resource_version::compare(last.resource_version(), old.resource_version());
                // Less: a repeated end of an earlier incarnation or selection.
                if versions != Some(Ordering::Less) {
                    state.table.remove(last.key());
                    state.own.gone(old.uid(), last.resource_version());
                    deltas.push(Delta::Deleted(if same { Arc::new(last) } else { old }));
                }
            }
            settled
        };
        self.tell(handlers, &deltas, settled);
    }

    /// Handles a DELETED event of which only the name is readable.
    pub(crate) fn delete_unread(&self, key: &ObjectKey) {
        if let Some(object) = self.get(key) {
            self.delete(Object::clone(&object));
        }
    }

    /// Handles a bookmark: all changes up to `version` have been delivered.
    pub(crate) fn reached(&self, version: &str) {
        let handlers = self.handlers();
        let settled = self.write().own.reached(version);
        self.tell(handlers, &[], settled);
    }

    /// Marks the beginning of a list.
    pub(crate) fn begin_list(&self) -> Relist {
        let mark = self.write().own.list_begins();
        Relist { mark, listed: Vec::new(), unreadable: HashSet::new(), version: String::new(), rewritten: false }
    }

    /// Whether a list of `version` is known to show an older state than the cache.
    pub(crate) fn is_past(&self, version: &str) -> bool {
        self.read().own.is_past(version)
    }

    /// The cluster was restored to an older state: the content of `relist` is right, whatever its versions.
    pub(crate) fn rewrite(&self, relist: &mut Relist) {
        relist.rewritten = true;
        let mut state = self.write();
        state.own = OwnWrites::default();
        relist.mark = state.own.list_begins();
    }

    /// Adds an object of a list. An unchanged one is replaced by the stored one.
    pub(crate) fn list_item(&self, relist: &mut Relist, mut object: Object) {
        let handlers = self.handlers();
        let mut deltas = Vec::new();
        {
            let mut state = self.write();
            let old = state.table.get(object.key()).cloned();
            let known = |old: &Object| {
                is_same(old, &object) || !relist.is_after(old.resource_version()) && is_known(old, &object)
            };
            let over = state.own.is_over(object.uid(), object.resource_version());
            match old {
                Some(old) if known(&old) => relist.listed.push(old),
                None if over && !state.own.ended(object.uid()).is_some_and(|end| relist.is_after(end)) => {}
                old => {
                    object.share(&mut state.strings);
                    let new = Arc::new(object);
                    state.store(&new, old.as_deref());
                    relist.listed.push(Arc::clone(&new));
                    push_applied(&mut deltas, old, new, !state.synced);
                }
            }
        }
        self.tell(handlers, &deltas, false);
    }

    /// Adds a malformed object of a list.
    pub(crate) fn list_unread(relist: &mut Relist, malformed: &Malformed) {
        relist.unreadable.extend(malformed.key.clone());
    }

    /// Completes a list, which shows the state at `version`: stored objects that were not listed are deleted.
    pub(crate) fn end_list(&self, relist: Relist, version: &str) {
        let Relist { mark, mut listed, unreadable, version: _, rewritten } = relist;
        // API servers sort by the whole path, so the order of namespaces may differ.
        listed.sort_by(|a, b| a.key().cmp(b.key()));
        let was_listed = |key: &ObjectKey| listed.binary_search_by(|object| object.key().cmp(key)).is_ok();
        let handlers = self.handlers();
        let mut deltas = Vec::new();
        let settled = {
            let mut state = self.write();
            // Newer than the list: stored from an interrupted list of another API server.
            let later = |object: &Object| {
                !rewritten && resource_version::compare(object.resource_version(), version) == Some(Ordering::Greater)
            };
            let stays = |o: &Object| was_listed(o.key()) || unreadable.contains(o.key()) || later(o);
            let gone: Vec<ObjectKey> =
                state.table.objects().filter(|object| !stays(object)).map(|o| o.key().clone()).collect();
            for key in gone {
                if let Some(object) = state.table.remove(&key) {
                    state.own.gone(object.uid(), object.resource_version());
                    deltas.push(Delta::Deleted(object));
                }
            }
            if !std::mem::replace(&mut state.synced, true) {
                deltas.push(Delta::Synced);
            }
            let StoreState { table, own, .. } = &mut *state;
            own.listed(mark, version, |key| table.get(key).map(|object| object.uid()))
        };
        self.tell(handlers, &deltas, settled);
    }

    /// The kind is no longer served: none of its objects exists.
    pub(crate) fn clear(&self) {
        let handlers = self.handlers();
        let mut deltas = Vec::new();
        {
            let mut state = self.write();
            let keys: Vec<ObjectKey> = state.table.objects().map(|o| o.key().clone()).collect();
            for key in keys {
                deltas.extend(state.table.remove(&key).map(Delta::Deleted));
            }
            state.strings = Strings::default();
            state.own.history_ends();
            state.synced = false;
        }
        self.tell(handlers, &deltas, true);
    }

    /// Calls all handlers, in the order of the changes.
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

impl StoreState {
    /// Replaces `old` by `new`. If `old` was another object, it has ended, and later events cannot restore it.
    fn store(&mut self, new: &Arc<Object>, old: Option<&Object>) {
        if let Some(old) = old.filter(|old| old.uid() != new.uid()) {
            self.own.gone(old.uid(), new.resource_version());
        }
        self.own.stored(new.key(), new.uid(), new.resource_version());
        self.table.insert(Arc::clone(new));
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
