//! Memory of applied documents, so that respelled values and defaults do not count as differences.

use crate::api::GroupVersionKind;
use crate::informer::Object;
use oarlock_merge::fields::FieldSet;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most bytes of all entries. A forgotten entry costs at most one apply that changes nothing.
const CAPACITY_BYTES: usize = 32 << 20;

/// Overhead of an entry beside its texts: two tree entries, string headers, a digest.
const ENTRY_BYTES: usize = 400;

/// The applied document of each object and field manager whose values the API server respelled, with a digest of the owned part right
/// after the apply. Documents that were stored as applied need no entry.
#[derive(Debug, Default)]
pub struct AppliedMemory {
    inner: Mutex<AppliedState>,
}

#[derive(Debug, Default)]
struct AppliedState {
    entries: BTreeMap<AppliedId, Remembered>,
    /// The entries in order of insertion, oldest first.
    order: BTreeMap<u64, AppliedId>,
    next: u64,
    bytes: usize,
}

/// Begins with the uid, by which the entries of a deleted object are found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct AppliedId {
    uid: String,
    manager: String,
    kind: GroupVersionKind,
}

#[derive(Debug)]
struct Remembered {
    /// Digest of the owned part.
    owned: [u8; 32],
    /// JSON text: a tree of values takes several times as many bytes.
    document: Box<str>,
    turn: u64,
}

impl AppliedMemory {
    /// Stores the applied document and the owned part of the response.
    pub(super) fn remember(&self, manager: &str, kind: &GroupVersionKind, answer: &Object, document: &Value) {
        let Some(owned) = owned(answer, manager, "") else { return };
        let id = AppliedId { uid: answer.uid().to_owned(), manager: manager.to_owned(), kind: kind.clone() };
        let respelled = (owned != *document).then(|| (digest(&owned), document.to_string().into_boxed_str()));
        let mut inner = self.inner();
        inner.forget(&id);
        if let Some((owned, document)) = respelled {
            inner.note(id, owned, document);
        }
    }

    /// The part of `object` that `manager` owns, as JSON: the document as applied, while nothing of it has changed since. None: the manager
    /// owns nothing.
    #[must_use]
    pub fn get(&self, manager: &str, kind: &GroupVersionKind, object: &Object) -> Option<String> {
        let owned = owned(object, manager, "")?;
        let id = AppliedId { uid: object.uid().to_owned(), manager: manager.to_owned(), kind: kind.clone() };
        let inner = self.inner();
        let unchanged = inner.entries.get(&id).filter(|remembered| remembered.owned == digest(&owned));
        Some(unchanged.map_or_else(|| owned.to_string(), |remembered| remembered.document.to_string()))
    }

    /// Forgets a deleted object.
    pub fn forget(&self, uid: &str) {
        let first = AppliedId { uid: uid.to_owned(), manager: String::new(), kind: GroupVersionKind::new("", "", "") };
        let mut inner = self.inner();
        let gone: Vec<AppliedId> =
            inner.entries.range(first..).map(|(id, _)| id).take_while(|id| id.uid == uid).cloned().collect();
        for id in gone {
            inner.forget(&id);
        }
    }

    /// The number of documents, and their bytes.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        let inner = self.inner();
        (inner.entries.len(), inner.bytes)
    }

    fn inner(&self) -> MutexGuard<'_, AppliedState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AppliedState {
    fn note(&mut self, id: AppliedId, owned: [u8; 32], document: Box<str>) {
        let turn = self.next;
        self.next += 1;
        self.bytes += bytes(&id, &document);
        self.order.insert(turn, id.clone());
        self.entries.insert(id, Remembered { owned, document, turn });
        while self.bytes > CAPACITY_BYTES {
            let Some((_, oldest)) = self.order.first_key_value() else { break };
            let oldest = oldest.clone();
            self.forget(&oldest);
        }
    }

    fn forget(&mut self, id: &AppliedId) {
        if let Some(remembered) = self.entries.remove(id) {
            self.order.remove(&remembered.turn);
            self.bytes = self.bytes.saturating_sub(bytes(id, &remembered.document));
        }
    }
}

/// Bytes of an entry, whose id is stored twice.
fn bytes(id: &AppliedId, document: &str) -> usize {
    ENTRY_BYTES + document.len() + 2 * (id.uid.len() + id.manager.len())
}

/// Objects keep their fields sorted, so equal values have equal texts.
fn digest(value: &Value) -> [u8; 32] {
    Sha256::digest(value.to_string()).into()
}

/// The part of `object` that `manager` owns by apply, with apiVersion, kind, name and namespace. None: nothing.
///
/// * `subresource` - empty for the object itself; each subresource has its own entry in managedFields.
#[must_use]
pub fn owned(object: &Object, manager: &str, subresource: &str) -> Option<Value> {
    // Most objects have no such owner, and need not be parsed a second time.
    object.managed()?;
    owned_of(object, &serde_json::from_str(object.json()).ok()?, manager, subresource)
}

/// As [`owned`], for an object that is parsed already: `live`.
#[must_use]
pub(super) fn owned_of(object: &Object, live: &Value, manager: &str, subresource: &str) -> Option<Value> {
    let entries: Vec<Value> = serde_json::from_str(object.managed()?).ok()?;
    let text = |entry: &Value, field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let entry = entries.iter().find(|e| {
        text(e, "manager") == manager && text(e, "operation") == "Apply" && text(e, "subresource") == subresource
    })?;
    let set = FieldSet::from_json(entry.get("fieldsV1")?).ok()?;
    let mut part = oarlock_merge::fields::extract(live, &set, None);
    let fields = part.as_object_mut()?;
    for field in ["apiVersion", "kind"] {
        fields.insert(field.to_owned(), live.get(field)?.clone());
    }
    let metadata = fields.entry("metadata").or_insert_with(|| json!({})).as_object_mut()?;
    metadata.insert("name".to_owned(), json!(object.key().name));
    if !object.key().namespace.is_empty() {
        metadata.insert("namespace".to_owned(), json!(object.key().namespace));
    }
    Some(part)
}

/// The parts of `live` that `manager` owns, by apply and by updates, without those of subresources.
#[must_use]
pub fn owned_parts(object: &Object, live: &Value, manager: &str) -> Vec<Value> {
    let entries = object.managed().and_then(|managed| serde_json::from_str::<Vec<Value>>(managed).ok());
    let of_manager = |entry: &Value| {
        let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
        text("manager") == manager && text("subresource").is_empty()
    };
    let sets = entries.unwrap_or_default().into_iter().filter(of_manager);
    let sets = sets.filter_map(|entry| FieldSet::from_json(entry.get("fieldsV1")?).ok());
    sets.map(|set| oarlock_merge::fields::extract(live, &set, None)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(cpu: &str, owned: &Value) -> Object {
        of("u", cpu, owned)
    }

    fn of(uid: &str, cpu: &str, owned: &Value) -> Object {
        managed_by("oarlock.p", uid, cpu, owned)
    }

    fn managed_by(manager: &str, uid: &str, cpu: &str, owned: &Value) -> Object {
        let doc = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "a", "namespace": "n", "uid": uid, "resourceVersion": "1",
                "managedFields": [{"manager": manager, "operation": "Apply", "apiVersion": "v1",
                                   "fieldsType": "FieldsV1", "fieldsV1": owned}],
            },
            "data": {"cpu": cpu, "other": "theirs"},
        });
        Object::parse(&doc.to_string()).unwrap()
    }

    fn kind() -> GroupVersionKind {
        GroupVersionKind::new("", "v1", "ConfigMap")
    }

    fn get(memory: &AppliedMemory, object: &Object) -> Value {
        serde_json::from_str(&memory.get("oarlock.p", &kind(), object).unwrap()).unwrap()
    }

    #[test]
    fn only_what_the_manager_owns_is_shown() {
        let memory = AppliedMemory::default();
        let live = object("1", &json!({"f:data": {"f:cpu": {}}}));
        assert_eq!(
            get(&memory, &live),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}, "data": {"cpu": "1"}})
        );
        assert!(memory.get("oarlock.q", &kind(), &live).is_none());
    }

    #[test]
    fn a_respelled_value_is_shown_as_it_was_applied_until_somebody_changes_it() {
        let memory = AppliedMemory::default();
        let set = json!({"f:data": {"f:cpu": {}}});
        let applied = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"},
                             "data": {"cpu": "1000m"}});
        memory.remember("oarlock.p", &kind(), &object("1", &set), &applied);
        assert_eq!(get(&memory, &object("1", &set)), applied);
        assert_eq!(get(&memory, &object("2", &set))["data"]["cpu"], "2");
        let taken = object("1", &json!({"f:data": {"f:gone": {}}}));
        assert_ne!(get(&memory, &taken), applied);
    }

    /// Documents of 2 KB with respelled values, more than the capacity.
    #[test]
    fn b5_what_is_remembered_of_applies_is_bounded_in_bytes() {
        let memory = AppliedMemory::default();
        let padding = "x".repeat(2000);
        let set = json!({"f:data": {"f:cpu": {}}});
        for i in 0..20_000 {
            let object = of(&format!("u{i}"), "1", &set);
            memory.remember("oarlock.p", &kind(), &object, &json!({"data": {"cpu": "1000m", "padding": padding}}));
        }
        let inner = memory.inner();
        assert!(inner.bytes <= CAPACITY_BYTES, "{} bytes", inner.bytes);
        assert!(inner.entries.len() > 10_000, "{} are remembered", inner.entries.len());
        assert_eq!(inner.entries.len(), inner.order.len());
        let counted: usize = inner.entries.iter().map(|(id, one)| bytes(id, &one.document)).sum();
        assert_eq!(counted, inner.bytes);
    }

    #[test]
    fn b5_nothing_is_kept_of_objects_that_are_gone_or_were_not_respelled() {
        let memory = AppliedMemory::default();
        let set = json!({"f:data": {"f:cpu": {}}});
        let respelled = json!({"data": {"cpu": "1000m"}});
        for manager in ["oarlock.p", "oarlock.q"] {
            let live = managed_by(manager, "u1", "1", &set);
            memory.remember(manager, &kind(), &live, &respelled);
        }
        memory.remember("oarlock.p", &kind(), &of("u10", "1", &set), &respelled);
        assert_eq!(memory.inner().entries.len(), 3);
        memory.forget("u1");
        assert_eq!(memory.inner().entries.len(), 1, "another uid with the same beginning stays");
        // The next apply is stored as written, so the owned part suffices.
        let same = get(&memory, &of("u10", "2", &set));
        memory.remember("oarlock.p", &kind(), &of("u10", "2", &set), &same);
        let inner = memory.inner();
        assert_eq!((inner.entries.len(), inner.order.len(), inner.bytes), (0, 0, 0));
    }
}
