//! Server-side apply, and field ownership after all other writes.
//!
//! The API server records in `metadata.managedFields` which writer set which field. [`apply`] uses that record to merge a configuration
//! into a live object; [`update`] maintains it for every other write. Both take objects of one version: sets from another version of the
//! kind are read as if it had the same fields.
//!
//! # Source
//!
//! KEP-555; structured-merge-diff `merge/update.go`; apimachinery `pkg/util/managedfields`.

mod conflict;
mod kubectl;
mod managers;

use serde_json::{Map, Value};

pub use conflict::Conflict;
pub use managers::{ManagedFields, Manager, Operation, Owned};

use crate::fields::{self, FieldSet, PathElement};
use crate::schema::Schema;
use crate::typed::{self, Comparison};

/// Updaters beyond this many are merged into one, oldest first.
const MAX_UPDATE_MANAGERS: usize = 10;

/// The manager that owns the existing fields before the first apply of an object without `managedFields`.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Why an apply was refused. The texts are those of the API server.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The applied configuration contains managedFields (400, BadRequest).
    #[error("metadata.managedFields must be nil")]
    ManagedFieldsGiven,
    /// The configuration violates the schema (500, no reason).
    #[error("failed to create typed patch object ({object}): {problems}")]
    Untyped {
        /// Namespace, name and kind of the configuration as the API server prints them.
        object: String,
        /// The faults and their paths, one per line.
        problems: String,
    },
    /// Other managers own fields with different values (409, Conflict).
    #[error("{}", conflict::message(.0))]
    Conflicts(Vec<Conflict>),
    /// The managedFields of the live object cannot be read.
    #[error("managedFields of the live object cannot be read")]
    ManagedFields(#[source] fields::Error),
}

/// The writer, time and subresource of a write.
#[derive(Debug, Clone)]
pub struct Write<'a> {
    /// The merge rules of the kind.
    pub schema: &'a Schema,
    /// The field manager; empty counts as `unknown`.
    pub manager: &'a str,
    /// `status`, `scale`, …; empty for the object itself.
    pub subresource: &'a str,
    /// The recorded time, RFC 3339 with seconds, e.g. `2024-01-01T00:00:00Z`; empty records none.
    pub now: &'a str,
    /// The fields that this write cannot change.
    pub reset: Reset,
}

/// The reset fields of a write: status through the main resource, all others through `/status`.
#[derive(Debug, Clone, Default)]
pub enum Reset {
    /// None.
    #[default]
    Nothing,
    /// These and all below them.
    Fields(FieldSet),
    /// All but these top-level fields and the identity of the object.
    AllBut(Vec<String>),
}

impl<'a> Write<'a> {
    /// A write to the object itself that may change every field.
    #[must_use]
    pub fn new(schema: &'a Schema, manager: &'a str, now: &'a str) -> Self {
        Self { schema, manager, subresource: "", now, reset: Reset::Nothing }
    }

    /// A write to a subresource.
    #[must_use]
    pub fn subresource(mut self, subresource: &'a str) -> Self {
        self.subresource = subresource;
        self
    }

    /// Ignores some fields.
    #[must_use]
    pub fn reset(mut self, reset: Reset) -> Self {
        self.reset = reset;
        self
    }

    fn time(&self) -> Option<String> {
        (!self.now.is_empty()).then(|| self.now.to_owned())
    }

    fn key(&self, operation: Operation, api_version: &str) -> Manager {
        Manager {
            name: if self.manager.is_empty() { "unknown" } else { self.manager }.to_owned(),
            operation,
            // An applier is the same manager in every version.
            api_version: if operation == Operation::Apply { String::new() } else { api_version.to_owned() },
            subresource: self.subresource.to_owned(),
        }
    }

    /// The reset fields as a set, for documents like the given ones.
    fn reset_in(&self, documents: [&Value; 2]) -> FieldSet {
        match &self.reset {
            Reset::Nothing => FieldSet::new(),
            Reset::Fields(set) => set.clone(),
            Reset::AllBut(kept) => {
                let mut set = FieldSet::new();
                let skip =
                    |name: &str| matches!(name, "apiVersion" | "kind" | "metadata") || kept.iter().any(|k| k == name);
                for document in documents.iter().filter_map(|d| d.as_object()) {
                    for name in document.keys().filter(|name| !skip(name)) {
                        set.insert([PathElement::field(name)]);
                    }
                    for name in document.get("metadata").and_then(Value::as_object).into_iter().flat_map(Map::keys) {
                        if !matches!(name.as_str(), "name" | "namespace" | "generateName" | "uid" | "resourceVersion") {
                            set.insert([PathElement::field("metadata"), PathElement::field(name)]);
                        }
                    }
                }
                set
            }
        }
    }
}

/// Applies a configuration: merges its fields, and removes fields that its manager applied before and omits now, unless another manager
/// owns them. Returns the whole object with `managedFields`.
///
/// * `live` - the stored object, `None` to create it; in the version of `applied`.
/// * `applied` - the configuration with `apiVersion`, `kind` and name.
/// * `force` - takes conflicting fields from their owners.
///
/// An apply that changes nothing returns an object equal to `live`, unless the manager now owns other fields. The caller still defaults,
/// validates and admits the result, and restores fields that the write may not change (`metadata.uid`, `resourceVersion`, …).
///
/// # Errors
///
/// [`Error`]; then nothing has changed.
pub fn apply(live: Option<&Value>, applied: &Value, write: &Write<'_>, force: bool) -> Result<Value, Error> {
    if applied.pointer("/metadata/managedFields").is_some_and(|fields| !fields.is_null()) {
        return Err(Error::ManagedFieldsGiven);
    }
    check(applied, write.schema)?;
    let mut managed =
        live.map_or_else(|| Ok(ManagedFields::default()), ManagedFields::of).map_err(Error::ManagedFields)?;
    let mut base = live.cloned().unwrap_or_else(|| Value::Object(Map::new()));
    ManagedFields::clear(&mut base);
    managed.reconcile(write.schema);
    if managed.is_empty() && live.is_some() {
        let first = Write { manager: BEFORE_FIRST_APPLY, subresource: "", reset: Reset::Nothing, ..write.clone() };
        book_update(&empty_like(&base), &base, &mut managed, &first);
    }
    let attempt = |force| merge(&base, applied, managed.clone(), write, force);
    let (mut merged, managed) = match attempt(force) {
        Err(Error::Conflicts(conflicts)) if write.manager == kubectl::MANAGER => {
            let rest = kubectl::not_from_client_side(conflicts, &base, write.schema);
            if rest.is_empty() { attempt(true)? } else { return Err(Error::Conflicts(rest)) }
        }
        other => other?,
    };
    if write.manager == kubectl::MANAGER {
        kubectl::note_last_applied(&mut merged, applied);
    }
    managed.store(&mut merged);
    Ok(merged)
}

/// Checks an applied configuration without applying it.
fn check(applied: &Value, schema: &Schema) -> Result<(), Error> {
    let problems = typed::validate(applied, schema.root());
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let problems = match problems.as_slice() {
        [] => return Ok(()),
        [one] => one.clone(),
        many => format!("errors:\n  {}", many.join("\n  ")),
    };
    let text = |pointer: &str| applied.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let api_version = text("/apiVersion");
    let gvk = if api_version.contains('/') { api_version.to_owned() } else { format!("/{api_version}") };
    let object = format!("{}/{}; {gvk}, Kind={}", text("/metadata/namespace"), text("/metadata/name"), text("/kind"));
    Err(Error::Untyped { object, problems })
}

fn merge(
    live: &Value,
    applied: &Value,
    mut managed: ManagedFields,
    write: &Write<'_>,
    force: bool,
) -> Result<(Value, ManagedFields), Error> {
    let ty = write.schema.root();
    let reset = write.reset_in([live, applied]);
    let applied = &fields::remove(applied, &reset, write.schema);
    let api_version = applied.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    let who = write.key(Operation::Apply, api_version);
    let last = managed.get(&who).map(|owned| owned.set.clone());
    let time = managed.get(&who).and_then(|owned| owned.time.clone());
    let set = FieldSet::of(applied, write.schema);
    managed.insert(who.clone(), Owned { api_version: api_version.to_owned(), time, set: set.clone() });

    let merged = typed::merge(live, applied, ty);
    let merged = match last {
        Some(last) if !last.difference(&set).is_empty() => prune(&merged, &last, &managed, write.schema),
        _ => merged,
    };
    let comparison = typed::compare(live, &merged, ty).without(&reset);
    take(&comparison, &mut managed, &who, force)?;
    if let Some(owned) = managed.get_mut(&who)
        && !typed::equal(live, &merged)
    {
        owned.time = write.time();
    }
    managed.strip(&who);
    Ok((merged, managed))
}

/// Removes the fields that the manager applied last time and not this time, unless a field of any manager needs them.
fn prune(merged: &Value, last: &FieldSet, managed: &ManagedFields, schema: &Schema) -> Value {
    let ty = schema.root();
    let last = last.with_named_fields(ty);
    let pruned = fields::remove(merged, &last, schema);
    let all = FieldSet::of(merged, schema).with_named_fields(ty);
    let owned = managed.all().with_named_fields(ty);
    // Fields of other managers are restored, with their parents.
    let kept = FieldSet::of(&pruned, schema).with_named_fields(ty).union(&owned);
    let pruned = fields::remove(merged, &all.difference(&kept), schema);
    // Previously unowned fields are removed only where the manager itself had set them.
    let kept = FieldSet::of(&pruned, schema).with_named_fields(ty);
    fields::remove(merged, &all.difference(&kept).intersection(&last), schema)
}

/// Gives changed fields to `who`: other managers lose them, or conflict unless `force`.
fn take(comparison: &Comparison, managed: &mut ManagedFields, who: &Manager, force: bool) -> Result<(), Error> {
    let changed = comparison.modified.union(&comparison.added);
    let mut conflicts = Vec::new();
    for (manager, owned) in managed.iter().filter(|(manager, _)| *manager != who) {
        let paths = owned.set.intersection(&changed).paths();
        conflicts.extend(paths.into_iter().map(|path| Conflict::new(manager, &owned.api_version, path)));
    }
    if !force && !conflicts.is_empty() {
        return Err(Error::Conflicts(conflicts));
    }
    managed.retain(|manager, owned| {
        if manager != who {
            owned.set = owned.set.difference(&changed).difference(&comparison.removed);
        }
        !owned.set.is_empty()
    });
    Ok(())
}

/// Maintains `metadata.managedFields` of `new` for a write other than apply: its manager (operation Update) now owns the changed fields,
/// and removed fields have no owner.
///
/// The API server does this before mutating admission when it creates an object, and after it on every later write.
///
/// The managedFields in `new` are treated as by the API server. A valid list is accepted, `[]` and `[{}]` clear them for good, and
/// anything else keeps those of `old`. A write to a subresource cannot change them. An object without managedFields gets them when it is
/// created or first applied, never by an update.
///
/// * `old` - the stored object, `None` at creation.
/// * `new` - the object as it will be stored, defaults included.
pub fn update(old: Option<&Value>, new: &mut Value, write: &Write<'_>) {
    let of = |document: Option<&Value>| document.map(ManagedFields::of).and_then(Result::ok).unwrap_or_default();
    let mut managed = if !write.subresource.is_empty() {
        of(old)
    } else if ManagedFields::is_reset(new) {
        ManagedFields::default()
    } else {
        let given = of(Some(new));
        if given.is_empty() { of(old) } else { given }
    };
    ManagedFields::clear(new);
    if old.is_none() || !managed.is_empty() {
        let mut base = old.cloned().unwrap_or_else(|| empty_like(new));
        ManagedFields::clear(&mut base);
        managed.reconcile(write.schema);
        book_update(&base, new, &mut managed, write);
        managed.cap_updaters(MAX_UPDATE_MANAGERS);
    }
    managed.store(new);
}

/// The empty object from which a creation starts.
fn empty_like(object: &Value) -> Value {
    let identity =
        ["apiVersion", "kind"].iter().filter_map(|name| Some(((*name).to_owned(), object.get(*name)?.clone())));
    Value::Object(identity.collect())
}

fn book_update(old: &Value, new: &Value, managed: &mut ManagedFields, write: &Write<'_>) {
    let reset = write.reset_in([old, new]);
    let (mut old, mut new) = (old.clone(), new.clone());
    write.schema.fill(&mut old);
    write.schema.fill(&mut new);
    let api_version = new.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    let who = write.key(Operation::Update, api_version);
    let comparison = typed::compare(&old, &new, write.schema.root()).without(&reset);
    let changed = comparison.modified.union(&comparison.added);
    managed.retain(|_, owned| {
        owned.set = owned.set.difference(&comparison.removed);
        !owned.set.is_empty()
    });
    managed.retain(|manager, owned| {
        if *manager != who {
            owned.set = owned.set.difference(&changed);
        }
        !owned.set.is_empty()
    });
    let changed = ManagedFields::stripped(&changed);
    if !changed.is_empty() {
        let set = managed.get(&who).map_or_else(|| changed.clone(), |owned| owned.set.union(&changed));
        managed.insert(who, Owned { api_version: api_version.to_owned(), time: write.time(), set });
    }
}

/// The part of an object that a field manager applied, with `apiVersion`, `kind`, name and namespace: the exact counterpart of its apply.
/// `None` when it owns nothing by apply. See [`fields::extract`] for its content.
///
/// * `schema` - without one, fields that were applied empty may include content of other managers.
///
/// # Errors
///
/// [`fields::Error`] when the object's managedFields cannot be read.
pub fn applied_part(object: &Value, manager: &str, schema: Option<&Schema>) -> Result<Option<Value>, fields::Error> {
    let set = ManagedFields::of(object)?.applied_by(manager);
    if set.is_empty() {
        return Ok(None);
    }
    let mut part = fields::extract(object, &set, schema);
    if let (Value::Object(part), Value::Object(identity)) = (&mut part, empty_like(object)) {
        part.extend(identity);
        let metadata = part.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
        for name in ["name", "namespace"] {
            if let (Some(value), Value::Object(metadata)) =
                (object.pointer(&format!("/metadata/{name}")), &mut *metadata)
            {
                metadata.insert(name.to_owned(), value.clone());
            }
        }
    }
    Ok(Some(part))
}

/// Whether two objects differ only in the times of `managedFields`; then the API server stores nothing, and returns the old object.
#[must_use]
pub fn equal_but_for_times(old: &Value, new: &Value) -> bool {
    let timeless = |object: &Value| {
        let mut object = object.clone();
        if let Some(entries) = object.pointer_mut("/metadata/managedFields").and_then(Value::as_array_mut) {
            for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
                entry.remove("time");
            }
            entries.sort_by(crate::go::compare);
        }
        object
    };
    typed::equal(&timeless(old), &timeless(new))
}
