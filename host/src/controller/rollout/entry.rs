//! How to undo one write of a candidate.

use super::comparison::{Decision, is_same_change};
use super::values::{common, inverse, merged, without};
use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::{Change, ObjectRef, PatchKind, Precondition, WriteError, WriteIdentity, Writer, owned_parts};
use crate::controller::ReconcileKey;
use crate::informer::Object;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// How to undo the writes of one object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    kind: [String; 3],
    namespace: String,
    name: String,
    pub(super) undo: Undo,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Undo {
    /// Set the fields of other writers back, then apply this document as the plugin. Null stands for a field that was not there.
    Apply { document: Value, before: Value },
    /// Merge this patch.
    Merge(Value),
    /// Delete the object.
    Delete,
    /// Remove the plugin's finalizer from the primary.
    Finalizer,
}

/// What has to be known for a write, to undo it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) entry: Entry,
    /// Whether the object did not exist before the write.
    pub(super) anew: bool,
    /// Whether a document is what the version that runs would apply now.
    of_current: bool,
    /// Whether the object was there before the write, and the plugin had written none of it.
    foreign: bool,
}

impl Found {
    /// The finalizer of a primary.
    pub(super) fn finalizer(key: &ReconcileKey) -> Self {
        let target = ObjectRef { kind: GroupVersionKind::clone(&key.kind), key: key.key.clone() };
        Self::of(&target, Undo::Finalizer)
    }

    /// How to undo a write of an object that was there.
    pub(super) fn of(target: &ObjectRef, undo: Undo) -> Self {
        Self { entry: Entry::new(target, undo), anew: false, of_current: false, foreign: false }
    }
}

impl Entry {
    pub(super) fn target(&self) -> ObjectRef {
        ObjectRef { kind: of_parts(&self.kind), key: ObjectKey::new(&*self.namespace, &*self.name) }
    }

    pub(super) fn new(target: &ObjectRef, undo: Undo) -> Self {
        let (namespace, name) = (target.key.namespace.to_string(), target.key.name.to_string());
        Self { kind: parts(&target.kind), namespace, name, undo }
    }

    /// The object that undoing deletes. None: it deletes none.
    pub(super) fn deletes(&self) -> Option<ObjectRef> {
        (self.undo == Undo::Delete).then(|| self.target())
    }

    /// Whether both are about the same object, in the same way.
    pub(super) fn names(&self, other: &Self) -> bool {
        let finalizer = |entry: &Self| entry.undo == Undo::Finalizer;
        (&self.kind, &self.namespace, &self.name, finalizer(self))
            == (&other.kind, &other.namespace, &other.name, finalizer(other))
    }

    /// Adds how to undo a further write of the object. Fields keep the values that they had before the first one.
    pub(super) fn add(&mut self, Found { entry, anew, of_current, foreign }: Found) {
        // What was before belongs to an object that is gone. Somebody may have made another one in its place.
        if anew || (foreign && self.undo == Undo::Delete) {
            self.undo = entry.undo;
            return;
        }
        let known = std::mem::replace(&mut self.undo, Undo::Delete);
        self.undo = match (known, entry.undo) {
            (Undo::Apply { document, before }, Undo::Apply { document: newer, before: further }) => {
                // Otherwise the newer one is what the candidate applied.
                let document = if of_current { newer } else { document };
                Undo::Apply { document, before: merged(before, further) }
            }
            (Undo::Apply { document, before }, Undo::Merge(further)) => {
                Undo::Apply { document, before: merged(before, further) }
            }
            (Undo::Merge(before), Undo::Apply { document, before: further }) => {
                Undo::Apply { document, before: merged(before, further) }
            }
            (Undo::Merge(before), Undo::Merge(further)) => Undo::Merge(merged(before, further)),
            (known, _) => known,
        };
    }
}

/// An object, and what the plugin wrote last of it.
pub(super) fn values(live: &Object, write_identity: &WriteIdentity) -> (Value, Value) {
    let value: Value = serde_json::from_str(live.json()).unwrap_or_default();
    let parts = owned_parts(live, &value, &write_identity.field_manager());
    let owned = parts.into_iter().reduce(merged).unwrap_or_default();
    (value, owned)
}

/// How to undo a change, or why that is impossible. None: the version that runs makes the same change.
///
/// * `live` - the object before the change.
/// * `current` - what the version that runs would do.
pub(super) fn entry(
    change: &Change,
    live: Option<&Object>,
    current: &Decision,
    (write_identity, writer): (&WriteIdentity, &Writer),
) -> Result<Option<Found>, String> {
    let theirs = current.like(change);
    if theirs.is_some_and(|theirs| is_same_change(theirs, change)) {
        return Ok(None);
    }
    let cannot = |why: &str| Err(format!("{}: {why}", change.summary()));
    let foreign = live.is_some_and(|live| !is_managed(live, write_identity));
    let found = |target: &ObjectRef, undo: Undo, of_current: bool| {
        Ok(Some(Found { entry: Entry::new(target, undo), anew: live.is_none(), of_current, foreign }))
    };
    let (live_value, owned) = live.map(|live| values(live, write_identity)).unzip();
    match change {
        Change::Delete { .. } => cannot("a deletion cannot be undone"),
        Change::Apply { subresource, .. } | Change::Patch { subresource, .. } if !subresource.is_empty() => {
            cannot("a write of a subresource is not undone")
        }
        Change::Patch { kind: PatchKind::Json | PatchKind::Strategic, .. } => {
            cannot("only applies and merge patches can be undone")
        }
        Change::Patch { target, patch, .. } => {
            let Some(live) = live_value else { return cannot("the object does not exist") };
            found(target, Undo::Merge(inverse(patch, &live)), false)
        }
        Change::Create(object) | Change::Apply { object, .. } => {
            let Ok(target) = target_of(object) else { return cannot("the document does not name its object") };
            let (Some(live), Some(live_value)) = (live, live_value) else {
                return match theirs {
                    Some(Change::Apply { object: document, .. } | Change::Create(document)) => {
                        found(&target, Undo::Apply { document: document.clone(), before: json!({}) }, true)
                    }
                    _ => found(&target, Undo::Delete, false),
                };
            };
            // What the plugin wrote itself is in the document, if it is wanted.
            let before = without(&common(object, &live_value), &owned.unwrap_or_default());
            match theirs {
                Some(Change::Apply { object: document, .. }) => {
                    found(&target, Undo::Apply { document: document.clone(), before }, true)
                }
                _ => {
                    let applied = writer.applied().get(&write_identity.field_manager(), &target.kind, live);
                    let applied = applied.and_then(|applied| serde_json::from_str(&applied).ok());
                    found(&target, Undo::Apply { document: applied.unwrap_or_else(|| bare(&target)), before }, false)
                }
            }
        }
    }
}

/// Whether the plugin wrote a field of an object.
pub(super) fn is_managed(object: &Object, write_identity: &WriteIdentity) -> bool {
    let manager = format!("\"{}\"", write_identity.field_manager());
    object.managed().is_some_and(|managed| managed.contains(&manager))
}

/// The object of a document.
pub(super) fn target_of(object: &Value) -> Result<ObjectRef, WriteError> {
    let target = crate::apply::target_of(object)?;
    if target.key.name.is_empty() { Err(WriteError::Malformed("no name".to_owned())) } else { Ok(target) }
}

/// Whether a document has a list of objects.
pub(super) fn has_elements(value: &Value) -> bool {
    match value {
        Value::Array(all) => all.iter().any(Value::is_object),
        Value::Object(fields) => fields.values().any(has_elements),
        _ => false,
    }
}

/// The object of a change.
pub(super) fn object_of(change: &Change) -> Option<ObjectRef> {
    match change {
        Change::Apply { object, .. } | Change::Create(object) => target_of(object).ok(),
        Change::Patch { target, .. } | Change::Delete { target, .. } => Some(target.clone()),
    }
}

fn bare(target: &ObjectRef) -> Value {
    let mut metadata = Map::from_iter([("name".to_owned(), json!(target.key.name))]);
    if !target.key.namespace.is_empty() {
        metadata.insert("namespace".to_owned(), json!(target.key.namespace));
    }
    json!({"apiVersion": target.kind.api_version(), "kind": target.kind.kind, "metadata": metadata})
}

pub(super) fn merge(target: ObjectRef, patch: Value) -> Change {
    let (subresource, precondition) = (String::new(), Precondition::default());
    Change::Patch { target, kind: PatchKind::Merge, patch, subresource, precondition }
}

pub(super) fn parts(kind: &GroupVersionKind) -> [String; 3] {
    [kind.group.clone(), kind.version.clone(), kind.kind.clone()]
}

pub(super) fn of_parts([group, version, kind]: &[String; 3]) -> GroupVersionKind {
    GroupVersionKind::new(group.clone(), version.clone(), kind.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How to undo writes of one object, one after the other.
    fn undo(writes: Vec<(Undo, bool, bool)>) -> Undo {
        undo_of(writes.into_iter().map(|(undo, anew, of_current)| (undo, anew, of_current, false)).collect())
    }

    fn undo_of(writes: Vec<(Undo, bool, bool, bool)>) -> Undo {
        let target = ObjectRef { kind: GroupVersionKind::new("", "v1", "Secret"), key: ObjectKey::new("n", "a") };
        let mut writes = writes.into_iter().map(|(undo, anew, of_current, foreign)| Found {
            entry: Entry::new(&target, undo),
            anew,
            of_current,
            foreign,
        });
        let mut first = writes.next().unwrap().entry;
        writes.for_each(|write| first.add(write));
        first.undo
    }

    fn apply(document: &str, before: Value) -> Undo {
        Undo::Apply { document: json!(document), before }
    }

    #[test]
    fn a_document_is_replaced_by_what_the_version_that_runs_would_apply_and_by_nothing_else() {
        let first = || apply("one", json!({"replicas": 3}));
        let second = || apply("two", json!({"replicas": 5, "paused": true}));
        let before = json!({"replicas": 3, "paused": true});
        assert_eq!(undo(vec![(first(), false, false), (second(), false, false)]), apply("one", before.clone()));
        assert_eq!(undo(vec![(first(), false, false), (second(), false, true)]), apply("two", before));
    }

    #[test]
    fn applies_and_merge_patches_of_an_object_are_undone_together() {
        let (a, b) = (|| Undo::Merge(json!({"a": 1})), || Undo::Merge(json!({"a": 2, "b": null})));
        let both = json!({"a": 1, "b": null});
        assert_eq!(undo(vec![(a(), false, false), (b(), false, false)]), Undo::Merge(both.clone()));
        let applied = || apply("one", json!({"a": 2, "b": null}));
        assert_eq!(undo(vec![(a(), false, false), (applied(), false, false)]), apply("one", both.clone()));
        assert_eq!(undo(vec![(apply("one", json!({"a": 1})), false, false), (b(), false, false)]), apply("one", both));
    }

    #[test]
    fn an_object_that_the_candidate_created_is_deleted_whatever_was_written_later_or_before() {
        assert_eq!(undo(vec![(Undo::Delete, false, false), (apply("one", json!({})), false, false)]), Undo::Delete);
        assert_eq!(undo(vec![(apply("one", json!({})), false, false), (Undo::Delete, true, false)]), Undo::Delete);
    }

    #[test]
    fn an_object_that_somebody_made_in_the_place_of_the_candidates_is_not_deleted() {
        let theirs = || apply("theirs", json!({"replicas": 3}));
        assert_eq!(undo_of(vec![(Undo::Delete, true, false, false), (theirs(), false, false, true)]), theirs());
        let applied = || apply("one", json!({"replicas": 3}));
        let once_more = undo_of(vec![(applied(), false, false, true), (apply("two", json!({})), false, false, false)]);
        assert_eq!(once_more, applied());
    }
}
