//! Typed documents: validation, field sets, comparison, merge and removal by a schema.
//!
//! The rules are those of structured-merge-diff (`typed`), on which server-side apply is built.

mod compare;
mod merge;
mod validate;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

pub(crate) use compare::{Comparison, compare};
pub(crate) use merge::merge;
pub(crate) use validate::validate;

use crate::fields::{FieldSet, PathElement};
use crate::go;
use crate::schema::{Atom, ListKind, TypeRef};

/// The path element of a list element, or why it has none. Elements of atomic lists have no identity.
pub(crate) fn element_of(kind: &ListKind, item: &Value) -> Result<PathElement, String> {
    match kind {
        ListKind::Atomic => Err("elements of atomic lists have no path".to_owned()),
        ListKind::Set => match item {
            Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
            Value::Array(_) => Err("associative list without keys has an element that's a list type".to_owned()),
            Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
            scalar => Ok(PathElement::Value(scalar.clone())),
        },
        ListKind::Map(keys) => {
            let Value::Object(map) = item else {
                let null = item.is_null();
                let what = if null { "a null element" } else { "non-map elements" };
                return Err(format!("associative list with keys may not have {what}"));
            };
            let mut found = BTreeMap::new();
            for key in keys {
                if let Some(value) = map.get(&key.name).or(key.default.as_ref()) {
                    found.insert(key.name.clone(), value.clone());
                }
            }
            if found.is_empty() {
                let names: Vec<String> = keys.iter().map(|k| format!("{:?}", k.name)).collect();
                let names = names.join(" ");
                return Err(format!(
                    "associative list with keys has an element that omits all key fields [{names}] (and doesn't have \
                     default values for any key fields)"
                ));
            }
            Ok(PathElement::Key(found))
        }
    }
}

/// The elements of a list with their path elements; those without one are omitted.
pub(crate) fn named<'v>(kind: &ListKind, items: &'v [Value]) -> Vec<(PathElement, &'v Value)> {
    items.iter().filter_map(|item| Some((element_of(kind, item).ok()?, item))).collect()
}

fn entries(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn has_content(value: Option<&Value>) -> bool {
    !items(value).is_empty() || entries(value).is_some_and(|map| !map.is_empty())
}

/// All fields of a document that its applier owns.
pub(crate) fn field_set(value: &Value, ty: TypeRef<'_>) -> FieldSet {
    let mut set = FieldSet::new();
    match ty.atom(Some(value)) {
        Atom::Map { fields, owner, .. } => {
            for (name, child) in value.as_object().into_iter().flatten() {
                let child_ty = owner.field(name);
                let declared = fields.is_some_and(|fields| fields.contains_key(name));
                let empty = child.is_null() || child.as_object().is_some_and(Map::is_empty);
                let leaf = child_ty.atom(Some(child)).is_leaf();
                let below = if leaf { FieldSet::new() } else { field_set(child, child_ty) };
                set.graft(PathElement::field(name), leaf || empty || !declared, below);
            }
        }
        Atom::List { kind, element } => {
            for (name, item) in named(kind, items(Some(value))) {
                let leaf = element.atom(Some(item)).is_leaf();
                let below = if leaf { FieldSet::new() } else { field_set(item, element) };
                set.graft(name, true, below);
            }
        }
        Atom::Scalar(_) => {}
    }
    set
}

/// The rest of `value` without the paths of `set`; `None` when a map or list has lost all its content.
pub(crate) fn remove(value: &Value, set: &FieldSet, ty: TypeRef<'_>) -> Option<Value> {
    let atom = ty.atom(Some(value));
    // Nothing inside an atomic value has an owner, so nothing can be removed.
    if atom.is_leaf() || !has_content(Some(value)) {
        return Some(value.clone());
    }
    match (atom, value) {
        (Atom::Map { owner, .. }, Value::Object(map)) => {
            let mut rest = Map::new();
            for (name, child) in map {
                let element = PathElement::field(name);
                if let Some(child) = remove_at(child, &element, set, owner.field(name)) {
                    rest.insert(name.clone(), child);
                }
            }
            (!rest.is_empty()).then_some(Value::Object(rest))
        }
        (Atom::List { kind, element }, Value::Array(items)) => {
            let keep = |item: &Value| match element_of(kind, item) {
                Ok(name) => remove_at(item, &name, set, element),
                Err(_unnamed) => Some(item.clone()),
            };
            let rest: Vec<Value> = items.iter().filter_map(keep).collect();
            (!rest.is_empty()).then_some(Value::Array(rest))
        }
        _ => Some(value.clone()),
    }
}

fn remove_at(child: &Value, element: &PathElement, set: &FieldSet, ty: TypeRef<'_>) -> Option<Value> {
    if set.has(element) {
        return None;
    }
    match set.below(element) {
        // Only what is below it goes.
        Some(below) => Some(remove(child, below, ty).unwrap_or_else(|| match child {
            Value::Array(_) => Value::Array(Vec::new()),
            _ => Value::Object(Map::new()),
        })),
        None => Some(child.clone()),
    }
}

/// Whether two documents are equal.
pub(crate) fn equal(a: &Value, b: &Value) -> bool {
    go::equal(a, b)
}
