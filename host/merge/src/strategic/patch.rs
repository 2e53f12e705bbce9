//! Merging a patch into a document, or into another patch.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{
    DELETE_FROM_PRIMITIVE_LIST, DIRECTIVE, Error, RETAIN_KEYS, SET_ELEMENT_ORDER, as_list, charge, lists,
    parallel_field, without_directives, without_nulls,
};
use crate::go;
use crate::schema::{Patch, TypeRef};
use crate::steps::Budget;

type Object = Map<String, Value>;

/// The mode of merging patches.
#[derive(Debug, Clone, Copy)]
pub(super) struct Merger<'b> {
    /// The target is a patch itself: deletions and directives must survive.
    pub(super) onto_patch: bool,
    /// Charged for every member and element.
    pub(super) budget: &'b Budget<'b>,
}

impl Merger<'_> {
    pub(super) fn maps(self, mut original: Object, mut patch: Object, ty: TypeRef<'_>) -> Result<Object, Error> {
        self.budget.charge(1 + patch.len())?;
        if let Some(directive) = patch.get(DIRECTIVE) {
            return match directive.as_str() {
                Some("replace") => {
                    patch.remove(DIRECTIVE);
                    Ok(patch)
                }
                Some("delete") => Ok(Object::new()),
                _ => Err(Error::Directive { directive: go::print(directive), map: go::print(&Value::Object(patch)) }),
            };
        }
        self.retain_keys(&mut original, &mut patch)?;
        self.ordered_lists(&mut original, &mut patch, ty)?;
        for (key, value) in patch {
            self.field(&mut original, key, value, ty)?;
        }
        Ok(original)
    }

    fn field(self, original: &mut Object, key: String, mut value: Value, ty: TypeRef<'_>) -> Result<(), Error> {
        if let Some(name) = parallel_field(&key, DELETE_FROM_PRIMITIVE_LIST, Error::PrimitiveList) {
            if self.onto_patch {
                original.insert(key, value);
            } else if let (Some(Value::Array(list)), Value::Array(gone)) = (original.get_mut(name?), &value) {
                lists::kind(&[list, gone])?;
                self.budget.charge(list.len())?;
                charge(gone, self.budget)?;
                let gone = lists::Index::of(gone);
                list.retain(|element| !gone.has(element));
            }
            return Ok(());
        }
        if value.is_null() {
            original.remove(&key);
            if self.onto_patch {
                original.insert(key, value);
            }
            return Ok(());
        }
        let mut old = original.get_mut(&key);
        let merged = match (old.as_deref_mut().map(Value::take), value) {
            (Some(Value::Object(old)), Value::Object(new)) => Value::Object(self.maps(old, new, ty.field(&key))?),
            (Some(Value::Array(old)), Value::Array(new)) => {
                let (ty, strategy) = ty.member(&key);
                Value::Array(if strategy.merge { self.lists(old, new, strategy, ty.element())? } else { new })
            }
            (_, new) => {
                value = new;
                if !self.onto_patch {
                    without_nulls(&mut value);
                    without_directives(&mut value);
                }
                value
            }
        };
        match old {
            Some(old) => *old = merged,
            None => drop(original.insert(key, merged)),
        }
        Ok(())
    }

    /// `$retainKeys`: removes all keys of the original that are not listed.
    fn retain_keys(self, original: &mut Object, patch: &mut Object) -> Result<(), Error> {
        let Some(directive) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
        if self.onto_patch {
            original.insert(RETAIN_KEYS.to_owned(), directive);
            return Ok(());
        }
        let Value::Array(kept) = &directive else { return Err(Error::RetainKeys) };
        self.budget.charge(kept.len() + patch.len() + original.len())?;
        let kept: BTreeSet<&str> = kept.iter().filter_map(Value::as_str).collect();
        let is_kept = |key: &str| kept.contains(key);
        let is_parallel = |key: &str| key.starts_with(DELETE_FROM_PRIMITIVE_LIST) || key.starts_with(SET_ELEMENT_ORDER);
        if patch.iter().any(|(key, value)| !value.is_null() && !is_parallel(key) && !is_kept(key)) {
            return Err(Error::RetainKeys);
        }
        original.retain(|key, _| is_kept(key));
        Ok(())
    }

    /// `$setElementOrder/…`: merges its lists in its order. Removes both from the patch.
    fn ordered_lists(self, original: &mut Object, patch: &mut Object, ty: TypeRef<'_>) -> Result<(), Error> {
        let keys: Vec<String> = patch.keys().filter(|key| key.starts_with(SET_ELEMENT_ORDER)).cloned().collect();
        for key in keys {
            let Some(directive) = patch.remove(&key) else { continue };
            if self.onto_patch {
                match original.get(&key) {
                    Some(other) if !go::equal(other, &directive) => return Err(Error::ElementOrder),
                    _ => original.insert(key.clone(), directive.clone()),
                };
            }
            let order = as_list(&directive)?;
            let Some(field) = parallel_field(&key, SET_ELEMENT_ORDER, Error::ElementOrder) else { continue };
            let field = field?;
            let (ty, strategy) = ty.member(field);
            let merge_key = strategy.merge_key.as_str();
            let patched = patch.get(field).map(as_list).transpose()?;
            let current = original.get(field).map(as_list).transpose()?;
            self.budget.charge([current, patched].into_iter().flatten().map(Vec::len).sum())?;
            charge(order, self.budget)?;
            if let Some(patched) = patched {
                lists::check_order(patched, order, merge_key)?;
            }
            let [current, patched] = [current, patched].map(|list| list.map(Vec::as_slice).unwrap_or_default());
            lists::kind(&[current, patched])?;
            let server_ids = lists::ids(current, merge_key);
            charge(&server_ids, self.budget)?;
            let merged = match (take_list(original.get_mut(field)), take_list(patch.remove(field).as_mut())) {
                (None, None) => continue,
                (Some(current), None) => current,
                (None, Some(patched)) => {
                    let mut added = Value::Array(patched);
                    if !self.onto_patch {
                        without_nulls(&mut added);
                        without_directives(&mut added);
                    }
                    take_list(Some(&mut added)).unwrap_or_default()
                }
                (Some(current), Some(patched)) if strategy.merge => {
                    self.lists(current, patched, strategy, ty.element())?
                }
                (Some(_), Some(patched)) => patched,
            };
            let merged = place(merged, &lists::ids(order, merge_key), &lists::Index::of(&server_ids), merge_key)?;
            if !merge_key.is_empty() {
                order.iter().try_for_each(|element| lists::key_of(element, merge_key).map(drop))?;
            }
            original.insert(field.to_owned(), Value::Array(merged));
        }
        Ok(())
    }

    /// Merges two lists element by element; `ty` is the type of the elements.
    fn lists(
        self,
        original: Vec<Value>,
        patch: Vec<Value>,
        strategy: &Patch,
        ty: TypeRef<'_>,
    ) -> Result<Vec<Value>, Error> {
        self.budget.charge(original.len() + patch.len())?;
        let key = strategy.merge_key.as_str();
        match lists::kind(&[&original, &patch])? {
            None => Ok(original),
            Some(lists::Kind::Scalars) => {
                let mut seen = BTreeSet::new();
                let both = original.iter().chain(&patch);
                let merged = both.filter(|element| seen.insert(lists::ById(element))).cloned().collect();
                let server_ids = lists::ids(&original, key);
                place(merged, &lists::ids(&patch, key), &lists::Index::of(&server_ids), key)
            }
            Some(lists::Kind::Maps) => {
                let (kept, patch) = directives(original, patch, key)?;
                self.lists_of_maps(kept, patch, key, ty)
            }
        }
    }

    fn lists_of_maps(
        self,
        mut merged: Vec<Value>,
        patch: Vec<Value>,
        key: &str,
        ty: TypeRef<'_>,
    ) -> Result<Vec<Value>, Error> {
        lists::keys_of(&merged, key)?;
        // Elements move, and some change, before the end: what orders them is copied, which is little unless there is no merge key.
        let keys: Vec<Value> = lists::keys_of(&patch, key)?.into_iter().cloned().collect();
        let patch_ids = key.is_empty().then(|| patch.clone());
        let server_ids = lists::ids(&merged, key);
        charge(keys.iter().chain(&server_ids), self.budget)?;
        let server = lists::Index::of(&server_ids);
        let mut added = BTreeMap::new();
        for (element, own) in patch.into_iter().zip(&keys) {
            let known = lists::id(&element, key).and_then(|id| server.position(id));
            let found = known.or_else(|| added.get(&lists::ById(own)).copied());
            if found.is_none() {
                added.insert(lists::ById(own), merged.len());
            }
            self.element(&mut merged, found, element, ty)?;
        }
        place(merged, patch_ids.as_ref().unwrap_or(&keys), &server, key)
    }

    fn element(
        self,
        merged: &mut Vec<Value>,
        found: Option<usize>,
        element: Value,
        ty: TypeRef<'_>,
    ) -> Result<(), Error> {
        match (found.and_then(|position| merged.get_mut(position)), element) {
            (Some(Value::Object(old)), Value::Object(new)) => *old = self.maps(std::mem::take(old), new, ty)?,
            (_, mut added) => {
                if !self.onto_patch {
                    without_nulls(&mut added);
                }
                merged.push(added);
            }
        }
        Ok(())
    }
}

/// Orders a merged list.
///
/// * `patch_ids` - the identities of the patch's elements, in its order.
fn place(merged: Vec<Value>, patch_ids: &[Value], server: &lists::Index<'_>, key: &str) -> Result<Vec<Value>, Error> {
    // A patch that sets the key of an element to null removed it.
    if !key.is_empty() {
        merged.iter().try_for_each(|element| lists::key_of(element, key).map(drop))?;
    }
    Ok(lists::interleave(merged, &lists::Index::of(patch_ids), server, key))
}

/// Takes the elements out of a list, which stays where it is.
fn take_list(value: Option<&mut Value>) -> Option<Vec<Value>> {
    match value? {
        Value::Array(list) => Some(std::mem::take(list)),
        _ => None,
    }
}

/// Carries out the `$patch` directives of a patch's elements; returns the lists that remain to be merged.
fn directives(mut original: Vec<Value>, patch: Vec<Value>, key: &str) -> Result<(Vec<Value>, Vec<Value>), Error> {
    let mut rest = Vec::with_capacity(patch.len());
    let mut gone = Vec::new();
    let mut replace = false;
    for element in patch {
        let Some(directive) = element.get(DIRECTIVE) else {
            rest.push(element);
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                lists::key_of(&element, key)?;
                gone.push(element);
            }
            Some("replace") => replace = true,
            Some("merge") => return Err(Error::MergeDirective),
            _ => return Err(Error::Directive { directive: go::print(directive), map: go::print(&element) }),
        }
    }
    if !gone.is_empty() {
        for other in &original {
            lists::key_of(other, key)?;
        }
        let gone = lists::Index::of(gone.iter().filter_map(|element| lists::id(element, key)));
        original.retain(|other| !lists::id(other, key).is_some_and(|id| gone.has(id)));
    }
    Ok(if replace { (rest, Vec::new()) } else { (original, rest) })
}
