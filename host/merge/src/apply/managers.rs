//! `metadata.managedFields`: parsing, printing, and the rules that bound its size.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::fields::{self, FieldSet};
use crate::schema::Schema;

/// Fields that every write may set and no manager owns.
static UNOWNED: LazyLock<FieldSet> = LazyLock::new(|| {
    FieldSet::of_fields(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
});

/// The manager into which old updaters are merged.
const ANCIENT: &str = "ancient-changes";

/// The operation of a manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Server-side apply.
    Apply,
    /// All other writes.
    Update,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// The identity of an entry in `managedFields`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Manager {
    /// The `fieldManager` of its requests.
    pub name: String,
    /// Its operation: an applier and an updater with one name are two managers.
    pub operation: Operation,
    /// The version of its writes; empty for appliers, which are the same manager in every version.
    pub api_version: String,
    /// `status`, …; empty for the object itself.
    pub subresource: String,
}

/// The fields that one manager owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owned {
    /// The version in which its set was written.
    pub api_version: String,
    /// When the set, or a value in it, last changed; RFC 3339.
    pub time: Option<String>,
    /// The owned fields.
    pub set: FieldSet,
}

/// The owners of one object's fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ManagedFields {
    managers: BTreeMap<Manager, Owned>,
}

/// All paths of the sets. One set grows: a new set for each union would take quadratic time.
fn union<'a>(sets: impl Iterator<Item = &'a FieldSet>) -> FieldSet {
    let mut all = FieldSet::new();
    for set in sets {
        all.extend(set.clone());
    }
    all
}

impl ManagedFields {
    /// The managers of an object; none without `metadata.managedFields`.
    ///
    /// # Errors
    ///
    /// [`fields::Error`] when an entry's set cannot be parsed.
    pub fn of(object: &Value) -> Result<Self, fields::Error> {
        match object.pointer("/metadata/managedFields") {
            Some(list) => Self::from_json(list),
            None => Ok(Self::default()),
        }
    }

    /// Parses a `managedFields` list.
    ///
    /// # Errors
    ///
    /// [`fields::Error`] when an entry's set cannot be parsed, or its operation or type is unknown.
    pub fn from_json(list: &Value) -> Result<Self, fields::Error> {
        let mut managed = Self::default();
        for entry in list.as_array().into_iter().flatten() {
            let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            let operation = match text("operation").as_str() {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                other => return Err(fields::Error::Unknown { what: "operation", value: other.to_owned() }),
            };
            if !matches!(text("fieldsType").as_str(), "" | "FieldsV1") {
                return Err(fields::Error::Unknown { what: "fieldsType", value: text("fieldsType") });
            }
            let set = entry.get("fieldsV1").map_or_else(|| Ok(FieldSet::new()), FieldSet::from_json)?;
            let api_version = text("apiVersion");
            let key_version = if operation == Operation::Apply { String::new() } else { api_version.clone() };
            let manager = Manager {
                name: text("manager"),
                operation,
                api_version: key_version,
                subresource: text("subresource"),
            };
            let time = entry.get("time").and_then(Value::as_str).map(str::to_owned);
            managed.managers.insert(manager, Owned { api_version, time, set });
        }
        Ok(managed)
    }

    /// The `managedFields` list, in the order of the API server: appliers first, then by time and name.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut entries: Vec<_> = self.managers.iter().collect();
        entries.sort_by(|(am, ao), (bm, bo)| {
            let key = |m: &Manager| (m.name.clone(), m.subresource.clone());
            let by_time = am.operation.cmp(&bm.operation).then_with(|| ao.time.cmp(&bo.time));
            by_time
                .then_with(|| am.name.cmp(&bm.name))
                .then_with(|| ao.api_version.cmp(&bo.api_version))
                .then(key(am).cmp(&key(bm)))
        });
        let entry = |(manager, owned): (&Manager, &Owned)| {
            let mut entry = json!({
                "manager": manager.name,
                "operation": manager.operation.name(),
                "apiVersion": owned.api_version,
                "fieldsType": "FieldsV1",
                "fieldsV1": owned.set.to_json(),
            });
            if let Value::Object(entry) = &mut entry {
                if let Some(time) = &owned.time {
                    entry.insert("time".to_owned(), Value::from(time.clone()));
                }
                if !manager.subresource.is_empty() {
                    entry.insert("subresource".to_owned(), Value::from(manager.subresource.clone()));
                }
            }
            entry
        };
        entries.into_iter().map(entry).collect()
    }

    /// Writes the list into an object's metadata, or removes it there when no field has an owner.
    pub fn store(&self, object: &mut Value) {
        if self.managers.is_empty() {
            Self::clear(object);
        } else if let Value::Object(object) = object {
            let metadata = object.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(metadata) = metadata {
                metadata.insert("managedFields".to_owned(), self.to_json());
            }
        }
    }

    /// Removes the list from an object.
    pub fn clear(object: &mut Value) {
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
    }

    /// Whether a written object asks to clear all owners: `managedFields: [{}]`, or an empty list.
    pub(super) fn is_reset(object: &Value) -> bool {
        let list = object.pointer("/metadata/managedFields").and_then(Value::as_array);
        match list.map(Vec::as_slice) {
            Some([]) => true,
            Some([Value::Object(only)]) => only.is_empty(),
            _ => false,
        }
    }

    /// Whether no field has an owner.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.managers.is_empty()
    }

    /// The fields of a manager.
    #[must_use]
    pub fn get(&self, manager: &Manager) -> Option<&Owned> {
        self.managers.get(manager)
    }

    /// All managers and their fields.
    pub fn iter(&self) -> impl Iterator<Item = (&Manager, &Owned)> {
        self.managers.iter()
    }

    /// All fields owned by the appliers of that name, through the object itself and its subresources.
    #[must_use]
    pub fn applied_by(&self, name: &str) -> FieldSet {
        let theirs = self.managers.iter().filter(|(m, _)| m.operation == Operation::Apply && m.name == name);
        union(theirs.map(|(_, owned)| &owned.set))
    }

    pub(super) fn all(&self) -> FieldSet {
        union(self.managers.values().map(|owned| &owned.set))
    }

    pub(super) fn get_mut(&mut self, manager: &Manager) -> Option<&mut Owned> {
        self.managers.get_mut(manager)
    }

    pub(super) fn insert(&mut self, manager: Manager, owned: Owned) {
        self.managers.insert(manager, owned);
    }

    pub(super) fn retain(&mut self, keep: impl FnMut(&Manager, &mut Owned) -> bool) {
        self.managers.retain(keep);
    }

    /// Adapts sets from an older schema to this one.
    pub(super) fn reconcile(&mut self, schema: &Schema) {
        for owned in self.managers.values_mut() {
            owned.set = owned.set.reconciled(schema.root());
        }
    }

    /// The set without fields that no manager can own.
    pub(super) fn stripped(set: &FieldSet) -> FieldSet {
        set.difference(&UNOWNED)
    }

    /// Removes such fields from one manager's set, and the manager if nothing is left.
    pub(super) fn strip(&mut self, manager: &Manager) {
        self.managers.retain(|key, owned| {
            if key == manager {
                owned.set = Self::stripped(&owned.set);
            }
            !owned.set.is_empty()
        });
    }

    /// Merges the oldest updaters of a version into one until at most `max` are left.
    pub(super) fn cap_updaters(&mut self, max: usize) {
        let mut updaters: Vec<(Option<String>, Manager)> = self
            .managers
            .iter()
            .filter(|(manager, _)| manager.operation == Operation::Update)
            .map(|(manager, owned)| (owned.time.clone(), manager.clone()))
            .collect();
        updaters.sort();
        let mut count = updaters.len();
        let mut first_of: BTreeMap<String, Manager> = BTreeMap::new();
        for (time, manager) in updaters {
            if count <= max {
                break;
            }
            let Some(first) = first_of.get(&manager.api_version) else {
                first_of.insert(manager.api_version.clone(), manager);
                continue;
            };
            let bucket = Manager {
                name: ANCIENT.to_owned(),
                operation: Operation::Update,
                api_version: manager.api_version.clone(),
                subresource: String::new(),
            };
            if !self.managers.contains_key(&bucket)
                && let Some(owned) = self.managers.remove(first)
            {
                self.managers.insert(bucket.clone(), owned);
            }
            if manager != bucket
                && let Some(old) = self.managers.remove(&manager)
                && let Some(owned) = self.managers.get_mut(&bucket)
            {
                owned.set.extend(old.set);
                owned.time = time;
                count -= 1;
            }
        }
    }
}
