//! Merging a patch into a document, or into another patch.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{
    DELETE_FROM_PRIMITIVE_LIST, DIRECTIVE, Error, RETAIN_KEYS, SET_ELEMENT_ORDER, as_list, charge_lists, lists,
    parallel_field, strategy, without_directives, without_nulls,
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
            self.field(&mut original, &key, value, ty)?;
        }
        Ok(original)
    }

    fn field(self, original: &mut Object, key: &str, mut value: Value, ty: TypeRef<'_>) -> Result<(), Error> {
        if let Some(name) = parallel_field(key, DELETE_FROM_PRIMITIVE_LIST, Error::PrimitiveList) {
            if self.onto_patch {
                original.insert(key.to_owned(), value);
            } else if let (Some(Value::Array(list)), Value::Array(gone)) = (original.get_mut(name?), &value) {
                lists::kind(&[list, gone])?;
                charge_lists(&[list, gone], self.budget)?;
                let gone = lists::Index::new(gone, "");
                list.retain(|element| !gone.has(element));
            }
            return Ok(());
        }
        if value.is_null() {
            original.remove(key);
            if self.onto_patch {
                original.insert(key.to_owned(), value);
            }
            return Ok(());
        }
        let merged = match (original.remove(key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => Value::Object(self.maps(old, new, ty.field(key))?),
            (Some(Value::Array(old)), Value::Array(new)) => {
                let strategy = strategy(ty, key);
                if strategy.merge {
                    Value::Array(self.lists(old, new, &strategy, ty.field(key).element())?)
                } else {
                    Value::Array(new)
                }
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
        original.insert(key.to_owned(), merged);
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
            let strategy = strategy(ty, field);
            let patched = patch.get(field).map(as_list).transpose()?.cloned();
            let current = original.get(field).map(as_list).transpose()?.cloned();
            let both =
                [current.as_deref().unwrap_or_default(), patched.as_deref().unwrap_or_default(), order.as_slice()];
            charge_lists(&both, self.budget)?;
            if let Some(patched) = &patched {
                lists::check_order(patched, order, &strategy.merge_key)?;
            }
            let server_order = current.clone().unwrap_or_default();
            lists::kind(&[&server_order, patched.as_deref().unwrap_or_default()])?;
            let merged = match (current, patched) {
                (None, None) => continue,
                (Some(current), None) => current,
                (None, Some(patched)) => {
                    let mut added = Value::Array(patched);
                    if !self.onto_patch {
                        without_nulls(&mut added);
                        without_directives(&mut added);
                    }
                    as_list(&added)?.clone()
                }
                (Some(current), Some(patched)) if strategy.merge => {
                    self.lists(current, patched, &strategy, ty.field(field).element())?
                }
                (Some(_), Some(patched)) => patched,
            };
            let (ours, theirs) = lists::partition(merged, order, &strategy.merge_key)?;
            let merged = lists::interleave(ours, theirs, order, &server_order, &strategy.merge_key);
            original.insert(field.to_owned(), Value::Array(merged));
            patch.remove(field);
        }
        Ok(())
    }

    /// Merges two lists element by element; `ty` is the type of the elements.
    fn lists(
        self,
        mut original: Vec<Value>,
        patch: Vec<Value>,
        strategy: &Patch,
        ty: TypeRef<'_>,
    ) -> Result<Vec<Value>, Error> {
        charge_lists(&[&original, &patch], self.budget)?;
        let key = strategy.merge_key.as_str();
        let (server_order, patch_order, merged) = match lists::kind(&[&original, &patch])? {
            None => return Ok(original),
            Some(lists::Kind::Scalars) => {
                let mut seen = BTreeSet::new();
                let both = original.iter().chain(&patch);
                let merged = both.filter(|element| seen.insert(lists::ById(element))).cloned().collect();
                (original, patch, merged)
            }
            Some(lists::Kind::Maps) => {
                let (kept, patch) = directives(std::mem::take(&mut original), patch, key)?;
                original.clone_from(&kept);
                let mut merged = kept.clone();
                for element in kept.iter().chain(&patch) {
                    lists::key_of(element, key)?;
                }
                let known = lists::Index::new(&kept, key);
                let mut added = BTreeMap::new();
                for element in &patch {
                    let id = lists::ById(lists::key_of(element, key)?);
                    let found = known.position(element).or_else(|| added.get(&id).copied());
                    if found.is_none() {
                        added.insert(id, merged.len());
                    }
                    self.element(&mut merged, found, element, ty)?;
                }
                (original, patch, merged)
            }
        };
        let (ours, theirs) = lists::partition(merged, &patch_order, key)?;
        Ok(lists::interleave(ours, theirs, &patch_order, &server_order, key))
    }

    fn element(
        self,
        merged: &mut Vec<Value>,
        found: Option<usize>,
        element: &Value,
        ty: TypeRef<'_>,
    ) -> Result<(), Error> {
        match (found.and_then(|position| merged.get_mut(position)), element) {
            (Some(Value::Object(old)), Value::Object(new)) => {
                *old = self.maps(std::mem::take(old), new.clone(), ty)?;
            }
            _ => {
                let mut added = element.clone();
                if !self.onto_patch {
                    without_nulls(&mut added);
                }
                merged.push(added);
            }
        }
        Ok(())
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
        let gone = lists::Index::new(&gone, key);
        original.retain(|other| !gone.has(other));
    }
    Ok(if replace { (rest, Vec::new()) } else { (original, rest) })
}
