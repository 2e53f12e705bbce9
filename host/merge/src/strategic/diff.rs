//! Creating a strategic merge patch from two documents.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::lists::ById;
use super::{
    DELETE_FROM_PRIMITIVE_LIST, DIRECTIVE, Error, RETAIN_KEYS, SET_ELEMENT_ORDER, charge_lists, lists, one, strategy,
};
use crate::go;
use crate::schema::{Patch, TypeRef};
use crate::steps::Budget;

type Object = Map<String, Value>;

/// Which differences the patch contains.
#[derive(Debug, Clone, Copy)]
pub(super) struct Differ<'b> {
    /// New and changed values.
    pub(super) additions: bool,
    /// Deleted values.
    pub(super) deletions: bool,
    /// Charged for every member and element.
    pub(super) budget: &'b Budget<'b>,
}

/// The difference of two lists, in the form of a patch.
#[derive(Default)]
struct ListDiff {
    elements: Vec<Value>,
    deleted_scalars: Vec<Value>,
    order: Vec<Value>,
}

impl Differ<'_> {
    /// * `retain_keys` - whether the patch lists the keys to keep.
    pub(super) fn maps(
        self,
        original: &Object,
        modified: &Object,
        ty: TypeRef<'_>,
        retain_keys: bool,
    ) -> Result<Object, Error> {
        self.budget.charge(1 + original.len() + modified.len())?;
        let mut patch = Object::new();
        for (key, new) in modified {
            match (original.get(key), new) {
                (Some(Value::Object(old)), Value::Object(new)) => {
                    let below = self.maps(old, new, ty.field(key), strategy(ty, key).retain_keys)?;
                    if !below.is_empty() {
                        patch.insert(key.clone(), Value::Object(below));
                    }
                }
                (Some(Value::Array(old)), Value::Array(new)) => {
                    let strategy = strategy(ty, key);
                    if strategy.merge {
                        let list = self.lists(old, new, &strategy, ty.field(key).element())?;
                        insert_lists(&mut patch, key, list);
                    } else if self.additions && !go::equal(&Value::from(old.as_slice()), &Value::from(new.as_slice())) {
                        patch.insert(key.clone(), Value::Array(new.clone()));
                    }
                }
                (Some(old), new) if go::equal(old, new) => {}
                (_, new) => {
                    if self.additions {
                        patch.insert(key.clone(), new.clone());
                    }
                }
            }
        }
        if self.deletions {
            for key in original.keys().filter(|key| !modified.contains_key(*key)) {
                patch.insert(key.clone(), Value::Null);
            }
        }
        let kept: Vec<Value> =
            modified.iter().filter(|(_, v)| !v.is_null()).map(|(k, _)| Value::from(k.as_str())).collect();
        let loses = original.keys().any(|key| !modified.contains_key(key));
        if retain_keys && !kept.is_empty() && (!patch.is_empty() || loses) {
            patch.insert(RETAIN_KEYS.to_owned(), Value::Array(kept));
        }
        Ok(patch)
    }

    fn lists(
        self,
        original: &[Value],
        modified: &[Value],
        strategy: &Patch,
        ty: TypeRef<'_>,
    ) -> Result<ListDiff, Error> {
        charge_lists(&[original, modified], self.budget)?;
        if original.is_empty() {
            let elements = if self.additions { modified.to_vec() } else { Vec::new() };
            return Ok(ListDiff { elements, ..ListDiff::default() });
        }
        match lists::kind(&[original, modified])? {
            None => Ok(ListDiff::default()),
            Some(lists::Kind::Maps) => self.lists_of_maps(original, modified, strategy, ty),
            Some(lists::Kind::Scalars) => Ok(self.lists_of_scalars(original, modified)),
        }
    }

    fn lists_of_maps(
        self,
        original: &[Value],
        modified: &[Value],
        strategy: &Patch,
        ty: TypeRef<'_>,
    ) -> Result<ListDiff, Error> {
        let key = strategy.merge_key.as_str();
        let keys = |list: &[Value]| list.iter().map(|e| lists::key_of(e, key).cloned()).collect::<Result<Vec<_>, _>>();
        let (old_keys, new_keys) = (keys(original)?, keys(modified)?);
        let in_new = lists::Index::new(modified, key);
        let mut pairs = Pairs::new(&old_keys);
        let mut elements = Vec::new();
        for (new, new_key) in modified.iter().zip(&new_keys) {
            let old = pairs.next(new_key).and_then(|position| original.get(position));
            match (old, new) {
                (Some(Value::Object(old)), Value::Object(new)) => {
                    let mut below = self.maps(old, new, ty, strategy.retain_keys)?;
                    if !below.is_empty() {
                        below.insert(key.to_owned(), new_key.clone());
                        elements.push(Value::Object(below));
                    }
                }
                _ if self.additions => elements.push(new.clone()),
                _ => {}
            }
        }
        if self.deletions {
            for (old, old_key) in original.iter().zip(&old_keys) {
                if !in_new.has(old) {
                    let mut gone = one(key, old_key.clone());
                    gone.insert(DIRECTIVE.to_owned(), Value::from("delete"));
                    elements.push(Value::Object(gone));
                }
            }
        }
        let reordered = self.additions && !same_order(&old_keys, &new_keys);
        let order = if elements.is_empty() && !reordered {
            Vec::new()
        } else {
            new_keys.into_iter().map(|value| Value::Object(one(key, value))).collect()
        };
        Ok(ListDiff { elements, order, ..ListDiff::default() })
    }

    fn lists_of_scalars(self, original: &[Value], modified: &[Value]) -> ListDiff {
        let missing = |from: &[Value], list: &[Value]| -> Vec<Value> {
            let from = lists::Index::new(from, "");
            list.iter().filter(|e| !from.has(e)).cloned().collect()
        };
        let elements = if self.additions { missing(original, modified) } else { Vec::new() };
        let deleted_scalars = if self.deletions { missing(modified, original) } else { Vec::new() };
        let changed = self.additions && !go::equal(&Value::from(original), &Value::from(modified));
        let order = if changed || !deleted_scalars.is_empty() { modified.to_vec() } else { Vec::new() };
        ListDiff { elements, deleted_scalars, order }
    }
}

/// Positions of the elements of a list by merge key. Equal keys are paired in their order, as `strategicpatch` does, so that a list with
/// duplicates does not differ from itself.
struct Pairs<'v>(BTreeMap<ById<'v>, (Vec<usize>, usize)>);

impl<'v> Pairs<'v> {
    fn new(keys: &'v [Value]) -> Self {
        let mut positions: BTreeMap<ById<'v>, (Vec<usize>, usize)> = BTreeMap::new();
        for (position, key) in keys.iter().enumerate() {
            positions.entry(ById(key)).or_default().0.push(position);
        }
        Self(positions)
    }

    /// The position of the next element with this key; the first one when there is no further.
    fn next(&mut self, key: &'v Value) -> Option<usize> {
        let (positions, turn) = self.0.get_mut(&ById(key))?;
        let position = positions.get(*turn).or(positions.first()).copied();
        *turn += 1;
        position
    }
}

/// Whether the common keys of both lists come in the same order.
fn same_order(old: &[Value], new: &[Value]) -> bool {
    let shared = |list: &[Value], other: &[Value]| -> Vec<Value> {
        let other = lists::Index::new(other, "");
        list.iter().filter(|k| other.has(k)).cloned().collect()
    };
    go::equal(&Value::from(shared(old, new)), &Value::from(shared(new, old)))
}

fn insert_lists(patch: &mut Object, key: &str, list: ListDiff) {
    let parallel = |prefix: &str| format!("{prefix}/{key}");
    let parts = [
        (key.to_owned(), list.elements),
        (parallel(DELETE_FROM_PRIMITIVE_LIST), list.deleted_scalars),
        (parallel(SET_ELEMENT_ORDER), list.order),
    ];
    for (name, values) in parts.into_iter().filter(|(_, values)| !values.is_empty()) {
        patch.insert(name, Value::Array(values));
    }
}
