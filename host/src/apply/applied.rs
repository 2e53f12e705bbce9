//! What the host remembers of its applies, so that respelled values and defaults are not taken for differences.

use crate::api::GroupVersionKind;
use crate::informer::Object;
use oarlock_merge::fields::FieldSet;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

/// How many objects are remembered. One forgotten costs at most one apply that changes nothing.
const CAPACITY: usize = 50_000;

/// For each object of a field manager: the part it owned right after its last apply, and the document it applied.
#[derive(Debug, Default)]
pub struct AppliedMemory {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    entries: HashMap<Id, Remembered>,
    order: VecDeque<Id>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Id {
    manager: String,
    kind: GroupVersionKind,
    uid: String,
}

#[derive(Debug)]
struct Remembered {
    owned: Value,
    document: Value,
}

impl AppliedMemory {
    /// Notes what an apply got back.
    pub(super) fn remember(&self, manager: &str, kind: &GroupVersionKind, answer: &Object, document: &Value) {
        let Some(owned) = owned(answer, manager, "") else { return };
        let id = Id { manager: manager.to_owned(), kind: kind.clone(), uid: answer.uid().to_owned() };
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.entries.insert(id.clone(), Remembered { owned, document: document.clone() }).is_none() {
            inner.order.push_back(id);
        }
        while inner.entries.len() > CAPACITY {
            let Some(oldest) = inner.order.pop_front() else { break };
            inner.entries.remove(&oldest);
        }
    }

    /// What `manager` owns of `object`: the document as it was applied, while nothing of it has changed since.
    /// None: the manager owns nothing.
    #[must_use]
    pub fn get(&self, manager: &str, kind: &GroupVersionKind, object: &Object) -> Option<Value> {
        let owned = owned(object, manager, "")?;
        let id = Id { manager: manager.to_owned(), kind: kind.clone(), uid: object.uid().to_owned() };
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        match inner.entries.get(&id) {
            Some(remembered) if remembered.owned == owned => Some(remembered.document.clone()),
            _ => Some(owned),
        }
    }
}

/// The part of `object` that `manager` owns by apply, with apiVersion, kind, name and namespace. None: nothing.
///
/// * `subresource` - empty for the object itself; each subresource has an entry of its own in managedFields.
#[must_use]
pub fn owned(object: &Object, manager: &str, subresource: &str) -> Option<Value> {
    // Most objects are nobody's; those that are need not be parsed twice.
    object.managed()?;
    owned_of(object, &serde_json::from_str(object.json()).ok()?, manager, subresource)
}

/// As [`owned`], of an object that is parsed already: `live`.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn object(cpu: &str, owned: &Value) -> Object {
        let doc = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1",
                "managedFields": [{"manager": "oarlock.p", "operation": "Apply", "apiVersion": "v1",
                                   "fieldsType": "FieldsV1", "fieldsV1": owned}],
            },
            "data": {"cpu": cpu, "other": "theirs"},
        });
        Object::parse(&doc.to_string()).unwrap()
    }

    fn kind() -> GroupVersionKind {
        GroupVersionKind::new("", "v1", "ConfigMap")
    }

    #[test]
    fn only_what_the_manager_owns_is_shown() {
        let memory = AppliedMemory::default();
        let live = object("1", &json!({"f:data": {"f:cpu": {}}}));
        assert_eq!(
            memory.get("oarlock.p", &kind(), &live).unwrap(),
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
        assert_eq!(memory.get("oarlock.p", &kind(), &object("1", &set)).unwrap(), applied);
        assert_eq!(memory.get("oarlock.p", &kind(), &object("2", &set)).unwrap()["data"]["cpu"], "2");
        let taken = object("1", &json!({"f:data": {"f:gone": {}}}));
        assert_ne!(memory.get("oarlock.p", &kind(), &taken).unwrap(), applied);
    }
}
