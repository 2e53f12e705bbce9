//! The last writes of a plugin: which reconcile wrote the fields of an object, for `oarlock explain`.
//!
//! A recording says more, but makes room for others. These few words stay as long as the host leads for the plugin.

use super::ReconcileKey;
use super::flight_recorder::names;
use crate::api::ObjectKey;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most bytes for one plugin. Beyond that the objects that were written longest ago are forgotten.
const MOST_BYTES: usize = 1 << 20;

/// Most writes of one object: each is of another kind, such as `apply` and `add finalizer`.
const EACH_OBJECT: usize = 8;

/// Bytes counted for an object, and for a write, beside their texts.
const OBJECT_BYTES: usize = 200;
const WRITE_BYTES: usize = 300;

/// A write that the API server took, and the reconcile behind it.
#[derive(Clone, Debug)]
pub(super) struct LastWrite {
    /// In words: `apply ConfigMap team-a/settings`.
    pub(super) what: String,
    /// The field manager: the plugin's, or the host's for the plugin.
    pub(super) manager: String,
    /// As `managedFields` has it: `Apply` or `Update`.
    pub(super) operation: &'static str,
    /// Empty: the object itself.
    pub(super) subresource: String,
    /// The time of the write.
    pub(super) at: jiff::Timestamp,
    /// The reconcile.
    pub(super) by: Arc<Writing>,
}

/// A reconcile that writes.
#[derive(Debug)]
pub(super) struct Writing {
    /// The version in the manifest.
    pub(super) version: String,
    /// SHA-256 of the file, in hex.
    pub(super) digest: String,
    /// Its object.
    pub(super) of: ReconcileKey,
    pub(super) trigger: &'static str,
    /// The event that caused it, in words. None: it was no event.
    pub(super) cause: Option<String>,
    pub(super) correlation_id: String,
}

/// The last writes of one plugin.
#[derive(Debug, Default)]
pub(super) struct LastWrites {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    objects: HashMap<ReconcileKey, Written>,
    /// The objects in the order of their last write, the oldest first.
    order: BTreeMap<u64, ReconcileKey>,
    next: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Written {
    turn: u64,
    bytes: usize,
    writes: Vec<LastWrite>,
}

impl LastWrites {
    /// Notes a write of an object. It replaces the last one in the same words.
    pub(super) fn note(&self, object: ReconcileKey, write: LastWrite) {
        let mut inner = self.inner();
        let mut writes = inner.forget(&object).map(|before| before.writes).unwrap_or_default();
        writes.retain(|other| other.what != write.what);
        if writes.len() >= EACH_OBJECT {
            writes.remove(0);
        }
        writes.push(write);
        let texts = object.key.namespace.len() + object.key.name.len();
        let bytes = OBJECT_BYTES + texts + writes.iter().map(LastWrite::bytes).sum::<usize>();
        let turn = inner.next;
        inner.next += 1;
        inner.bytes += bytes;
        inner.order.insert(turn, object.clone());
        inner.objects.insert(object, Written { turn, bytes, writes });
        while inner.bytes > MOST_BYTES {
            let Some((_, oldest)) = inner.order.pop_first() else { return };
            inner.forget(&oldest);
        }
    }

    /// Forgets an object: the plugin deleted it, or let it go.
    pub(super) fn forget(&self, object: &ReconcileKey) {
        self.inner().forget(object);
    }

    /// Forgets everything: another host may write from now on.
    pub(super) fn clear(&self) {
        *self.inner() = Inner::default();
    }

    /// The writes of an object.
    ///
    /// * `kind` - as for kubectl: `Network`, `networks` or `networks.samplecrd.k8s.io`.
    pub(super) fn of(&self, kind: &str, key: &ObjectKey) -> Vec<LastWrite> {
        let inner = self.inner();
        let found = inner.objects.iter().filter(|(object, _)| object.key == *key && names(kind, &object.kind));
        found.flat_map(|(_, written)| written.writes.iter().cloned()).collect()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn forget(&mut self, object: &ReconcileKey) -> Option<Written> {
        let written = self.objects.remove(object)?;
        self.order.remove(&written.turn);
        self.bytes -= written.bytes;
        Some(written)
    }
}

impl LastWrite {
    fn bytes(&self) -> usize {
        let by = &self.by;
        let of = by.of.key.namespace.len() + by.of.key.name.len() + by.cause.as_ref().map_or(0, String::len);
        WRITE_BYTES + self.what.len() + self.manager.len() + by.version.len() + by.digest.len() + of
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::GroupVersionKind;

    fn object(group: &str, name: &str) -> ReconcileKey {
        ReconcileKey { kind: Arc::new(GroupVersionKind::new(group, "v1", "Network")), key: ObjectKey::new("n", name) }
    }

    fn write(what: &str, version: &str) -> LastWrite {
        let by = Writing {
            version: version.to_owned(),
            digest: "d".repeat(64),
            of: object("a", "primary"),
            trigger: "event",
            cause: None,
            correlation_id: "c".to_owned(),
        };
        LastWrite {
            what: what.to_owned(),
            manager: "oarlock.p".to_owned(),
            operation: "Apply",
            subresource: String::new(),
            at: jiff::Timestamp::now(),
            by: Arc::new(by),
        }
    }

    fn found(writes: &LastWrites, kind: &str, name: &str) -> Vec<(String, String)> {
        let found = writes.of(kind, &ObjectKey::new("n", name));
        found.into_iter().map(|write| (write.what, write.by.version.clone())).collect()
    }

    #[test]
    fn the_last_write_of_each_kind_is_that_of_the_object_and_of_its_group() {
        let writes = LastWrites::default();
        writes.note(object("a.example", "x"), write("apply", "1"));
        writes.note(object("a.example", "x"), write("add finalizer", "1"));
        writes.note(object("a.example", "x"), write("apply", "2"));
        writes.note(object("b.example", "x"), write("apply", "3"));
        writes.note(object("", "x"), write("apply", "4"));
        let pairs = |pairs: &[(&str, &str)]| -> Vec<_> {
            pairs.iter().map(|(what, version)| ((*what).to_owned(), (*version).to_owned())).collect()
        };
        assert_eq!(found(&writes, "Network.a.example", "x"), pairs(&[("add finalizer", "1"), ("apply", "2")]));
        assert_eq!(found(&writes, "networks.b.example", "x"), pairs(&[("apply", "3")]));
        assert_eq!(found(&writes, "Network.", "x"), pairs(&[("apply", "4")]), "the core group");
        assert_eq!(found(&writes, "network", "x").len(), 4, "of every group");
        assert_eq!(found(&writes, "network", "y"), []);
        writes.forget(&object("a.example", "x"));
        assert_eq!(found(&writes, "network", "x").len(), 2);
        writes.clear();
        assert_eq!(found(&writes, "network", "x"), []);
    }

    #[test]
    fn last_writes_are_bounded_in_bytes_and_the_object_written_longest_ago_is_forgotten() {
        let writes = LastWrites::default();
        writes.note(object("a", "first"), write("apply", "1"));
        for number in 0..20_000 {
            writes.note(object("a", &number.to_string()), write("apply", "1"));
            if number % 100 == 0 {
                writes.note(object("a", "often"), write("apply", "1"));
            }
            writes.note(object("a", "19"), write(&format!("patch {number}"), "1"));
        }
        assert_eq!(found(&writes, "network", "first"), []);
        assert_eq!((found(&writes, "network", "often").len(), found(&writes, "network", "19999").len()), (1, 1));
        assert_eq!(found(&writes, "network", "19").len(), EACH_OBJECT);
        let inner = writes.inner();
        assert!(inner.bytes <= MOST_BYTES && inner.objects.len() > 1000, "{} {}", inner.bytes, inner.objects.len());
        assert_eq!(inner.order.len(), inner.objects.len());
        let bytes: usize = inner.objects.values().map(|written| written.bytes).sum();
        assert_eq!(bytes, inner.bytes);
    }
}
