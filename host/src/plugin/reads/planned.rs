//! Reads of a plan, which see the changes that the plan would have made.

use super::{ClusterReads, ReadError};
use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::{Change, ObjectRef, PatchKind, owned, target_of};
use crate::informer::{ListOptions, Object};
use oarlock_merge::apply::{self, Write};
use oarlock_merge::schema::Schema;
use oarlock_merge::steps::{Budget, MOST_STEPS};
use oarlock_merge::{json_patch, strategic};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The changed objects. None: deleted.
type Changed = BTreeMap<(GroupVersionKind, ObjectKey), Option<Arc<Object>>>;

/// See the module. An object is changed as the API server would change it, without defaults, validation and admission.
#[derive(Debug)]
pub(super) struct PlannedReads {
    pub(super) below: Arc<ClusterReads>,
    changed: Mutex<Changed>,
}

impl PlannedReads {
    pub(super) fn new(below: Arc<ClusterReads>) -> Self {
        Self { below, changed: Mutex::default() }
    }

    pub(super) async fn get(&self, kind: &GroupVersionKind, key: &ObjectKey) -> Result<Option<Arc<Object>>, ReadError> {
        let found = self.below.get(kind, key).await?;
        Ok(self.changed(kind, key).unwrap_or(found))
    }

    pub(super) async fn get_unchecked(
        &self,
        kind: &GroupVersionKind,
        key: &ObjectKey,
    ) -> Result<Option<Arc<Object>>, ReadError> {
        match self.changed(kind, key) {
            Some(changed) => Ok(changed),
            None => self.below.get_unchecked(kind, key, true).await,
        }
    }

    pub(super) async fn get_live(
        &self,
        kind: &GroupVersionKind,
        key: &ObjectKey,
    ) -> Result<Option<Arc<Object>>, ReadError> {
        let found = self.below.get_live(kind, key).await?;
        Ok(self.changed(kind, key).unwrap_or(found))
    }

    pub(super) async fn get_applied(
        &self,
        kind: &GroupVersionKind,
        key: &ObjectKey,
    ) -> Result<Option<String>, ReadError> {
        let found = self.below.get_applied(kind, key).await?;
        let Some(changed) = self.changed(kind, key) else { return Ok(found) };
        let manager = self.below.write_identity.field_manager();
        Ok(changed.and_then(|object| owned(&object, &manager, "")).map(|part| part.to_string()))
    }

    pub(super) async fn list(
        &self,
        kind: &GroupVersionKind,
        options: &ListOptions,
    ) -> Result<Vec<Arc<Object>>, ReadError> {
        let all = ListOptions { limit: None, ..options.clone() };
        let mut found = self.below.list(kind, &all).await?;
        let changed: Vec<_> =
            self.lock().iter().filter(|((of, _), _)| of == kind).map(|(_, one)| one.clone()).collect();
        let is_changed = |object: &Arc<Object>| self.changed(kind, object.key()).is_some();
        found.retain(|object| !is_changed(object));
        for object in changed.into_iter().flatten().filter(|object| options.matches(object)) {
            // The grant may allow only some of the objects.
            match self.below.granted("list", kind, object.key()).await {
                Ok(()) => found.push(object),
                Err(ReadError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        found.sort_by(|a, b| a.key().cmp(b.key()));
        found.truncate(options.limit.unwrap_or(usize::MAX));
        Ok(found)
    }

    /// See [`Reads::carry_out`](super::Reads::carry_out).
    pub(super) async fn carry_out(&self, change: &Change, manager: &str) -> Result<bool, String> {
        let target = target(change)?;
        if !self.below.stores.contains_key(&target.kind) || target.key.name.is_empty() {
            return Ok(false);
        }
        let before = self.present(&target.kind, &target.key).await.map_err(|error| error.to_string())?;
        let after = match change {
            Change::Delete { .. } => deleted(before.as_deref())?,
            Change::Create(object) => Some(created(object)),
            Change::Apply { object, subresource, .. } => {
                Some(self.applied(&target, before.as_deref(), object, (manager, subresource)).await?)
            }
            Change::Patch { kind, patch, .. } => {
                let Some(before) = before.as_deref() else { return Err(format!("{target} does not exist")) };
                Some(self.patched(&target, before, *kind, patch).await?)
            }
        };
        self.set(&target.kind, &target.key, before.as_deref(), after.as_ref())
    }

    /// See [`Reads::show_status`](super::Reads::show_status).
    pub(super) async fn show_status(&self, kind: &GroupVersionKind, key: &ObjectKey, status: &Value) -> bool {
        let Ok(Some(before)) = self.get_unchecked(kind, key).await else { return false };
        let (Ok(mut after), Some(status)) = (document(&before), status.as_object()) else { return false };
        let shown = after.as_object_mut().map(|after| after.entry("status").or_insert_with(|| json!({})));
        // The API server refuses such fields where the status is a text, for example.
        let Some(shown) = shown.and_then(Value::as_object_mut) else { return false };
        shown.extend(status.clone());
        self.set(kind, key, Some(&before), Some(&after)).unwrap_or(false)
    }

    /// The object as it is in the plan. The plugin may change objects that it may not read.
    async fn present(&self, kind: &GroupVersionKind, key: &ObjectKey) -> Result<Option<Arc<Object>>, ReadError> {
        if let Some(changed) = self.changed(kind, key) {
            return Ok(changed);
        }
        self.below.get_unchecked(kind, key, false).await
    }

    async fn applied(
        &self,
        target: &ObjectRef,
        before: Option<&Object>,
        applied: &Value,
        (manager, subresource): (&str, &str),
    ) -> Result<Value, String> {
        let before = before.map(document).transpose()?;
        let schema = self.schema(&target.kind).await;
        let write = Write::new(&schema, manager, "").subresource(subresource);
        // The cache has the fields of our managers only, so conflicts with others cannot be seen here.
        let mut after =
            apply::apply(before.as_ref(), applied, &write, true).map_err(|error| format!("{target}: {error}"))?;
        if before.is_none() {
            name_anew(&mut after);
        }
        Ok(after)
    }

    async fn patched(
        &self,
        target: &ObjectRef,
        before: &Object,
        kind: PatchKind,
        patch: &Value,
    ) -> Result<Value, String> {
        let schema = self.schema(&target.kind).await;
        let mut after = document(before)?;
        let budget = Budget::of(MOST_STEPS);
        let told = |why: String| format!("the patch of {target}: {why}");
        match kind {
            PatchKind::Json => json_patch::apply(&mut after, patch, &budget).map_err(|why| told(why.to_string()))?,
            PatchKind::Merge => ::json_patch::merge(&mut after, patch),
            PatchKind::Strategic => {
                after = strategic::apply_patch(&schema, &after, patch, &budget).map_err(|why| told(why.to_string()))?;
            }
        }
        Ok(after)
    }

    /// How lists of a kind merge. Where the grant does not let the plugin read the definition, lists are replaced as a whole.
    async fn schema(&self, kind: &GroupVersionKind) -> Schema {
        if let Some(schema) = Schema::builtin(&kind.group, &kind.version, &kind.kind) {
            return schema;
        }
        self.below.merge_schema(kind).await.unwrap_or_default()
    }

    /// Stores an object. Returns whether it differs from the one before.
    fn set(
        &self,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        before: Option<&Object>,
        after: Option<&Value>,
    ) -> Result<bool, String> {
        let same = match (before, after) {
            (None, None) => true,
            (Some(before), Some(after)) => document(before)? == *after,
            _ => false,
        };
        if same {
            return Ok(false);
        }
        let parse = |after: &Value| Object::parse(&after.to_string()).map(Arc::new);
        let after = after.map(parse).transpose().map_err(|error| format!("{} {key}: {error}", kind.kind))?;
        self.lock().insert((kind.clone(), key.clone()), after);
        Ok(true)
    }

    fn changed(&self, kind: &GroupVersionKind, key: &ObjectKey) -> Option<Option<Arc<Object>>> {
        self.lock().get(&(kind.clone(), key.clone())).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Changed> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn target(change: &Change) -> Result<ObjectRef, String> {
    match change {
        Change::Apply { object, .. } | Change::Create(object) => target_of(object).map_err(|error| error.to_string()),
        Change::Patch { target, .. } | Change::Delete { target, .. } => Ok(target.clone()),
    }
}

/// The object with the fields that our managers own.
fn document(object: &Object) -> Result<Value, String> {
    let no_json = |error: serde_json::Error| format!("{}: {error}", object.key());
    let mut document: Value = serde_json::from_str(object.json()).map_err(no_json)?;
    if let Some(managed) = object.managed()
        && let Some(metadata) = document.get_mut("metadata").and_then(Value::as_object_mut)
    {
        metadata.insert("managedFields".to_owned(), serde_json::from_str(managed).map_err(no_json)?);
    }
    Ok(document)
}

/// A new object has a uid, which nothing else has.
fn name_anew(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("uid".to_owned(), json!(uuid::Uuid::new_v4().to_string()));
        metadata.insert("generation".to_owned(), json!(1));
    }
}

fn created(object: &Value) -> Value {
    let mut object = object.clone();
    name_anew(&mut object);
    object
}

/// The object after a deletion. None: it is gone.
fn deleted(before: Option<&Object>) -> Result<Option<Value>, String> {
    let Some(before) = before.filter(|before| before.finalizers().len() > 0) else { return Ok(None) };
    let mut after = document(before)?;
    if !before.deleting()
        && let Some(metadata) = after.get_mut("metadata").and_then(Value::as_object_mut)
    {
        metadata.insert("deletionTimestamp".to_owned(), json!("1970-01-01T00:00:00Z"));
    }
    Ok(Some(after))
}

#[cfg(test)]
mod tests {
    use super::super::Reads;
    use super::super::tests::reads;
    use super::*;
    use crate::apply::{Precondition, Propagation};

    fn kind() -> GroupVersionKind {
        GroupVersionKind::new("", "v1", "ConfigMap")
    }

    fn of(name: &str) -> ObjectRef {
        ObjectRef { kind: kind(), key: ObjectKey::new("a", name) }
    }

    fn apply(name: &str, data: &Value) -> Change {
        let metadata = json!({"name": name, "namespace": "a", "labels": {"ours": "true"}});
        Change::Apply {
            object: json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}),
            subresource: String::new(),
            force: false,
            precondition: Precondition::default(),
        }
    }

    fn patch(name: &str, kind: PatchKind, patch: Value) -> Change {
        let subresource = String::new();
        Change::Patch { target: of(name), kind, patch, subresource, precondition: Precondition::default() }
    }

    fn delete(name: &str) -> Change {
        let propagation = Propagation::Background;
        Change::Delete { target: of(name), propagation, precondition: Precondition::default() }
    }

    async fn data(reads: &Reads, name: &str) -> Value {
        let found = reads.get(&kind(), &of(name).key).await.unwrap();
        let object: Value = found.map_or(Value::Null, |object| serde_json::from_str(object.json()).unwrap());
        object["data"].clone()
    }

    async fn listed(reads: &Reads, limit: usize) -> Vec<String> {
        let options = ListOptions { namespace: Some("a".to_owned()), limit: Some(limit), ..ListOptions::default() };
        let found = reads.list(&kind(), &options).await.unwrap();
        found.iter().map(|object| object.key().name.to_string()).filter(|name| !name.contains("kube")).collect()
    }

    #[tokio::test]
    async fn reads_show_the_changes_of_the_plan_and_nothing_else_does() {
        let rule = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]});
        let (below, _watch) = reads(json!([rule])).await;
        let reads = below.planned().unwrap();
        let made = async |change: Change| reads.carry_out(&change, "oarlock.reader").await;

        assert_eq!(made(apply("new", &json!({"x": "1", "y": "1"}))).await, Ok(true));
        assert_eq!(made(apply("new", &json!({"x": "1", "y": "1"}))).await, Ok(false), "the same again");
        // What the plugin omits now goes.
        assert_eq!(made(apply("new", &json!({"x": "2"}))).await, Ok(true));
        assert_eq!(data(&reads, "new").await, json!({"x": "2"}));
        let applied = reads.get_applied(&kind(), &of("new").key).await.unwrap().unwrap();
        assert_eq!(serde_json::from_str::<Value>(&applied).unwrap()["data"], json!({"x": "2"}));
        for (patch_kind, content, expected) in [
            (PatchKind::Merge, json!({"data": {"m": "1"}}), json!({"x": "2", "m": "1"})),
            (PatchKind::Strategic, json!({"data": {"m": null, "s": "1"}}), json!({"x": "2", "s": "1"})),
            (PatchKind::Json, json!([{"op": "remove", "path": "/data/s"}]), json!({"x": "2"})),
        ] {
            assert_eq!(made(patch("new", patch_kind, content)).await, Ok(true));
            assert_eq!(data(&reads, "new").await, expected);
        }
        assert_eq!(made(delete("x")).await, Ok(true));
        assert_eq!(made(delete("x")).await, Ok(false), "it is gone");
        assert_eq!(
            (listed(&reads, 9).await, listed(&reads, 1).await),
            (vec!["new".into(), "y".into()], vec!["new".into()])
        );
        assert_eq!(listed(&below, 9).await, ["x", "y"]);

        assert!(made(patch("none", PatchKind::Merge, json!({}))).await.unwrap_err().contains("does not exist"));
        let broken = json!([{"op": "test", "path": "/data/x", "value": "3"}]);
        assert!(made(patch("new", PatchKind::Json, broken)).await.is_err());
        assert!(below.carry_out(&delete("y"), "oarlock.reader").await.is_err(), "no plan");
    }

    #[tokio::test]
    async fn a_deletion_waits_for_finalizers_and_a_status_is_seen() {
        let rule = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]});
        let (below, _watch) = reads(json!([rule])).await;
        let reads = below.planned().unwrap();
        let manager = "oarlock.reader";
        let held = patch("y", PatchKind::Merge, json!({"metadata": {"finalizers": ["example/held"]}}));
        assert_eq!(reads.carry_out(&held, manager).await, Ok(true));
        assert_eq!(reads.carry_out(&delete("y"), manager).await, Ok(true));
        let found = reads.get(&kind(), &of("y").key).await.unwrap().unwrap();
        assert!(found.deleting());
        let shown = async |name: &str| reads.show_status(&kind(), &of(name).key, &json!({"a": 1})).await;
        assert_eq!((shown("x").await, shown("x").await, shown("none").await), (true, false, false));
        let object = reads.get_unchecked(&kind(), &of("x").key).await.unwrap().unwrap();
        assert!(object.json().contains(r#""status":{"a":1}"#), "{}", object.json());
        // A definition may say that the status is a text.
        let text = patch("x", PatchKind::Merge, json!({"status": "ok"}));
        assert_eq!(reads.carry_out(&text, manager).await, Ok(true));
        assert!(!shown("x").await);
    }
}
