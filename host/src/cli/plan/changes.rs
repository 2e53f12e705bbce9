//! Differences between the objects before and after.

use super::cluster::{Name, Objects};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Metadata that every write changes.
pub(super) const OF_EACH_WRITE: [&str; 3] = ["resourceVersion", "generation", "managedFields"];

/// Metadata that the API server gives to a new object.
pub(super) const OF_A_CREATION: [&str; 2] = ["uid", "creationTimestamp"];

/// What happens to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Created,
    Changed,
    Deleted,
}

impl Action {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Deleted => "deleted",
        }
    }
}

/// A changed object, without the metadata that every write changes.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) name: Name,
    pub(super) action: Action,
    /// The field managers of the writes. Empty for a deletion.
    pub(super) managers: BTreeSet<String>,
    /// Of the object that was read. Empty for a created object.
    pub(super) resource_version: String,
    /// Null for a created object.
    pub(super) before: Value,
    /// Null for a deleted object.
    pub(super) after: Value,
}

/// A changed value. None: it does not exist.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ChangedValue {
    /// JSON pointer.
    pub(super) path: String,
    pub(super) before: Option<Value>,
    pub(super) after: Option<Value>,
}

impl Change {
    /// The changed values. Of a created or deleted object: the object.
    pub(super) fn values(&self) -> Vec<ChangedValue> {
        let mut found = Vec::new();
        let some = |value: &Value| (!value.is_null()).then(|| value.clone());
        match self.action {
            Action::Changed => compare(&mut found, &mut String::new(), &self.before, &self.after),
            Action::Created | Action::Deleted => {
                found.push(ChangedValue { path: String::new(), before: some(&self.before), after: some(&self.after) });
            }
        }
        found
    }

    /// Leaves the status out. Returns whether anything else changed.
    pub(super) fn drop_status(&mut self) -> bool {
        for object in [&mut self.before, &mut self.after] {
            if let Some(object) = object.as_object_mut() {
                object.remove("status");
            }
        }
        self.before != self.after
    }
}

/// The changes, in the order of the names.
pub(super) fn between(mut before: Objects, after: Objects) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut uids = BTreeMap::new();
    for (name, after) in after {
        let old = before.remove(&name);
        if old.as_ref() == Some(&after) {
            continue;
        }
        let managers = writers(old.as_ref(), &after);
        match old {
            Some(old) => {
                let resource_version = resource_version(&old);
                let (before, after) = (stripped(old, &OF_EACH_WRITE), stripped(after, &OF_EACH_WRITE));
                if before != after {
                    changes.push(Change { name, action: Action::Changed, managers, resource_version, before, after });
                }
            }
            None => {
                if let Some(uid) = after.pointer("/metadata/uid").and_then(Value::as_str) {
                    uids.insert(uid.to_owned(), format!("(uid of {} {})", name.kind.kind, name.name));
                }
                let after = stripped(stripped(after, &OF_EACH_WRITE), &OF_A_CREATION);
                let (resource_version, before) = (String::new(), Value::Null);
                changes.push(Change { name, action: Action::Created, managers, resource_version, before, after });
            }
        }
    }
    for (name, before) in before {
        let (resource_version, before) = (resource_version(&before), stripped(before, &OF_EACH_WRITE));
        let (managers, after) = (BTreeSet::new(), Value::Null);
        changes.push(Change { name, action: Action::Deleted, managers, resource_version, before, after });
    }
    // The cluster will give other ones.
    let known = |text: &str| uids.get(text).cloned();
    changes.iter_mut().for_each(|change| replace_texts(&mut change.after, &known));
    changes.sort_by(|a, b| a.name.cmp(&b.name));
    changes
}

/// Replaces texts in a value.
///
/// * `replaced` - None: the text stays.
pub(super) fn replace_texts(value: &mut Value, replaced: &impl Fn(&str) -> Option<String>) {
    match value {
        Value::String(text) => {
            if let Some(new) = replaced(text) {
                *text = new;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace_texts(item, replaced)),
        Value::Object(fields) => fields.values_mut().for_each(|field| replace_texts(field, replaced)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn resource_version(object: &Value) -> String {
    object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The object without these fields of its metadata.
pub(super) fn stripped(mut object: Value, fields: &[&str]) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        fields.iter().for_each(|field| drop(metadata.remove(*field)));
    }
    object
}

/// The managers of new or changed entries of managedFields.
fn writers(before: Option<&Value>, after: &Value) -> BTreeSet<String> {
    let entries = |object: &Value| {
        object.pointer("/metadata/managedFields").and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let old = before.map(entries).unwrap_or_default();
    let new = entries(after).into_iter().filter(|entry| !old.contains(entry));
    new.filter_map(|entry| entry.get("manager").and_then(Value::as_str).map(str::to_owned)).collect()
}

fn compare(found: &mut Vec<ChangedValue>, path: &mut String, before: &Value, after: &Value) {
    match (before, after) {
        _ if before == after => {}
        (Value::Object(before), Value::Object(after)) => {
            let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            for key in keys {
                step(found, path, &key.replace('~', "~0").replace('/', "~1"), field(before, key), field(after, key));
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            for index in 0..before.len().max(after.len()) {
                step(found, path, &index.to_string(), before.get(index), after.get(index));
            }
        }
        _ => {
            let (before, after) = (Some(before.clone()), Some(after.clone()));
            found.push(ChangedValue { path: path.clone(), before, after });
        }
    }
}

fn field<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    object.get(key)
}

fn step(
    found: &mut Vec<ChangedValue>,
    path: &mut String,
    segment: &str,
    before: Option<&Value>,
    after: Option<&Value>,
) {
    let length = path.len();
    path.push('/');
    path.push_str(segment);
    match (before, after) {
        (Some(before), Some(after)) => compare(found, path, before, after),
        (before, after) => {
            found.push(ChangedValue { path: path.clone(), before: before.cloned(), after: after.cloned() });
        }
    }
    path.truncate(length);
}

#[cfg(test)]
mod tests {
    use super::*;
    use oarlock::api::GroupVersionKind;
    use serde_json::json;

    fn objects(of: &[(&str, Value)]) -> Objects {
        let name = |name: &str| Name {
            kind: GroupVersionKind::new("", "v1", "ConfigMap"),
            namespace: "n".to_owned(),
            name: name.to_owned(),
        };
        of.iter().map(|(text, object)| (name(text), object.clone())).collect()
    }

    #[test]
    fn what_every_write_changes_is_no_change() {
        let object = |version: &str| {
            json!({"metadata": {"name": "a", "resourceVersion": version, "generation": 1,
            "managedFields": [{"manager": "m", "time": version}]}, "data": {"a": "1"}})
        };
        assert!(between(objects(&[("a", object("1"))]), objects(&[("a", object("2"))])).is_empty());
    }

    #[test]
    fn changed_values_have_their_path_and_their_writer() {
        let entry = |manager: &str, time: &str| json!({"manager": manager, "time": time});
        let before = json!({"metadata": {"managedFields": [entry("kubectl", "1"), entry("oarlock.p", "1")]},
            "data": {"a/b": "1", "gone": "x"}, "list": [1, 2]});
        let after = json!({"metadata": {"managedFields": [entry("kubectl", "1"), entry("oarlock.p", "2")]},
            "data": {"a/b": "2"}, "list": [1, 3, 4]});
        let changes = between(objects(&[("a", before)]), objects(&[("a", after)]));
        assert_eq!(changes[0].managers, BTreeSet::from(["oarlock.p".to_owned()]));
        let value = |path: &str, before: Value, after: Value| {
            let some = |value: Value| (!value.is_null()).then_some(value);
            ChangedValue { path: path.to_owned(), before: some(before), after: some(after) }
        };
        let expected = [
            value("/data/a~1b", json!("1"), json!("2")),
            value("/data/gone", json!("x"), Value::Null),
            value("/list/1", json!(2), json!(3)),
            value("/list/2", Value::Null, json!(4)),
        ];
        assert_eq!(changes[0].values(), expected);
    }

    #[test]
    fn a_created_object_has_no_uid_and_others_refer_to_it_by_name() {
        let owner = json!({"metadata": {"uid": "random", "creationTimestamp": "now", "resourceVersion": "7"}});
        let owned = json!({"metadata": {"ownerReferences": [{"uid": "random"}]}});
        let gone = json!({"data": {}});
        let changes = between(objects(&[("gone", gone)]), objects(&[("owned", owned), ("owner", owner)]));
        let actions: Vec<_> = changes.iter().map(|change| (&*change.name.name, change.action)).collect();
        assert_eq!(actions, [("gone", Action::Deleted), ("owned", Action::Created), ("owner", Action::Created)]);
        assert_eq!(changes[1].after["metadata"]["ownerReferences"][0]["uid"], "(uid of ConfigMap owner)");
        assert_eq!(changes[2].after, json!({"metadata": {}}));
    }
}
