//! The last writes of a plugin: which reconcile wrote the fields of an object, for `oarlock explain`.
//!
//! A recording says more, but makes room for others. These few words stay as long as the host leads for the plugin.

use super::ReconcileKey;
use super::flight_recorder::names;
use crate::api::ObjectKey;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most bytes for one plugin. Beyond that the objects that were written longest ago are forgotten.
const MOST_BYTES: usize = 1 << 20;

/// Most writes of one object: each is of another kind, such as `apply` and `add finalizer`, or gave other fields their values.
const EACH_OBJECT: usize = 8;

/// Most fields that are remembered for a write, and the longest path of one in bytes. Beyond that a write counts as one of all fields.
const MOST_FIELDS: usize = 16;
const FIELD_BYTES: usize = 256;

/// Bytes counted for an object, for a write, and for a field, beside their texts.
const OBJECT_BYTES: usize = 200;
const WRITE_BYTES: usize = 300;
const FIELD_OVERHEAD: usize = 40;

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
    /// The fields to which it gave their values, as in `.data.seen`. None: all fields of its manager but those of later writes.
    pub(super) fields: Option<BTreeSet<String>>,
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
    /// Notes a write of an object. It replaces the last one in the same words; an apply replaces the applies before it, as far as it gave fields
    /// other values.
    pub(super) fn note(&self, object: ReconcileKey, write: LastWrite) {
        if write.fields.as_ref().is_some_and(BTreeSet::is_empty) {
            return;
        }
        let mut inner = self.inner();
        let mut writes = inner.forget(&object).map(|before| before.writes).unwrap_or_default();
        writes.retain_mut(|other| !other.is_replaced_by(&write));
        if writes.len() >= EACH_OBJECT {
            writes.remove(0);
        }
        // Most objects have one, and a list grows to four at once.
        writes.reserve_exact(1);
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
    /// Whether nothing of this write is left after a later one. Takes from it the fields of that one.
    fn is_replaced_by(&mut self, later: &Self) -> bool {
        let applies = |write: &Self| write.operation == "Apply";
        let of_one_manager = self.manager == later.manager && self.subresource == later.subresource;
        if self.what != later.what && !(applies(self) && applies(later) && of_one_manager) {
            return false;
        }
        match (&mut self.fields, &later.fields) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(fields), Some(later)) => {
                fields.retain(|field| !later.contains(field));
                fields.is_empty()
            }
        }
    }

    fn bytes(&self) -> usize {
        let by = &self.by;
        let of = by.of.key.namespace.len() + by.of.key.name.len() + by.cause.as_ref().map_or(0, String::len);
        let fields: usize = self.fields.iter().flatten().map(|field| FIELD_OVERHEAD + field.len()).sum();
        WRITE_BYTES + self.what.len() + self.manager.len() + by.version.len() + by.digest.len() + of + fields
    }
}

/// The fields to which an applied document gives other values than those that its manager owned before, as in `.data.seen`. A list is one field.
/// None: they are too many to be remembered.
pub(super) fn given_fields(document: &Value, owned: &Value) -> Option<BTreeSet<String>> {
    let mut given = BTreeSet::new();
    differ(document, Some(owned), "", &mut given);
    (given.len() <= MOST_FIELDS && given.iter().all(|field| field.len() <= FIELD_BYTES)).then_some(given)
}

fn differ(document: &Value, owned: Option<&Value>, at: &str, given: &mut BTreeSet<String>) {
    // In an applied document, null is no field.
    if given.len() > MOST_FIELDS || document.is_null() || Some(document) == owned {
        return;
    }
    match document {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                differ(value, owned.and_then(|owned| owned.get(name)), &format!("{at}.{name}"), given);
            }
        }
        _ => drop(given.insert(at.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::GroupVersionKind;
    use serde_json::json;

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
            operation: if what == "apply" { "Apply" } else { "Update" },
            subresource: String::new(),
            fields: None,
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

    /// The writes of an object, each with its version and its fields.
    fn fields_of(writes: &LastWrites) -> Vec<(String, Option<Vec<String>>)> {
        let found = writes.of("network", &ObjectKey::new("n", "x"));
        found
            .into_iter()
            .map(|write| (write.by.version.clone(), write.fields.map(|fields| fields.into_iter().collect())))
            .collect()
    }

    #[test]
    fn a_field_is_of_the_write_that_gave_it_its_value_and_the_others_are_of_the_write_before() {
        let writes = LastWrites::default();
        let note = |version: &str, fields: Option<&[&str]>| {
            let fields = fields.map(|fields| fields.iter().map(|field| (*field).to_owned()).collect());
            writes.note(object("a", "x"), LastWrite { fields, ..write("apply", version) });
        };
        let some = |version: &str, fields: &[&str]| {
            (version.to_owned(), Some(fields.iter().map(|field| (*field).to_owned()).collect()))
        };
        note("1", None);
        note("2", Some(&[".data.a", ".data.b"]));
        note("3", Some(&[".data.b"]));
        note("4", Some(&[]));
        writes.note(object("a", "x"), write("add finalizer", "5"));
        let all = [("1".to_owned(), None), some("2", &[".data.a"]), some("3", &[".data.b"]), ("5".to_owned(), None)];
        assert_eq!(fields_of(&writes), all);
        note("6", Some(&[".data.a", ".data.b"]));
        let all = [("1".to_owned(), None), ("5".to_owned(), None), some("6", &[".data.a", ".data.b"])];
        assert_eq!(fields_of(&writes), all);
        note("7", None);
        assert_eq!(fields_of(&writes), [("5".to_owned(), None), ("7".to_owned(), None)]);
    }

    #[test]
    fn the_fields_that_an_apply_gives_their_values_are_named_and_bounded() {
        let given = |document: &Value, owned: &Value| {
            given_fields(document, owned).map(|given| given.into_iter().collect::<Vec<_>>())
        };
        let named = |fields: &[&str]| Some(fields.iter().map(|field| (*field).to_owned()).collect::<Vec<_>>());
        let owned = json!({"kind": "A", "metadata": {"name": "a"}, "spec": {"a": 1, "b": {"c": "x"}, "list": [1, 2]}});
        for (document, expected) in [
            (owned.clone(), named(&[])),
            (json!({"kind": "A", "spec": {"a": 1}}), named(&[])),
            (json!({"spec": {"a": 2, "b": {"c": "y"}}}), named(&[".spec.a", ".spec.b.c"])),
            (json!({"spec": {"list": [2, 1]}}), named(&[".spec.list"])),
            (json!({"spec": {"a": null, "b": {}, "new": {"x": {}}}}), named(&[".spec.b", ".spec.new.x"])),
            (json!({"metadata": {"labels": {"a.b/c": "d"}}}), named(&[".metadata.labels.a.b/c"])),
        ] {
            assert_eq!(given(&document, &owned), expected, "{document}");
        }
        let many: serde_json::Map<String, Value> = (0..=MOST_FIELDS).map(|n| (n.to_string(), json!(n))).collect();
        assert_eq!(given(&json!({"data": many}), &owned), None);
        assert_eq!(given(&json!({"data": {("x".repeat(FIELD_BYTES)): 1}}), &owned), None);
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
