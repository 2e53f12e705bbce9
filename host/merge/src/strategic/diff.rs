//! Creating a strategic merge patch from two documents.

use serde_json::{Map, Value, map};

use super::{DELETE_FROM_PRIMITIVE_LIST, DIRECTIVE, Error, RETAIN_KEYS, SET_ELEMENT_ORDER, charge, lists, one};
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
        let mut members = InStep::new(original);
        let mut common = 0;
        for (key, new) in modified {
            let old = members.get(key);
            common += usize::from(old.is_some());
            if let Some(change) = self.change(&mut patch, key, old, new, ty)? {
                patch.insert(key.clone(), change);
            }
        }
        let loses = common < original.len();
        if self.deletions && loses {
            for key in original.keys().filter(|key| !modified.contains_key(*key)) {
                patch.insert(key.clone(), Value::Null);
            }
        }
        if retain_keys && (!patch.is_empty() || loses) {
            let kept = modified.iter().filter(|(_, v)| !v.is_null()).map(|(k, _)| Value::from(k.as_str()));
            let kept: Vec<Value> = kept.collect();
            if !kept.is_empty() {
                patch.insert(RETAIN_KEYS.to_owned(), Value::Array(kept));
            }
        }
        Ok(patch)
    }

    /// The member `key` of the patch, if it needs one. The members for a list that merges are inserted here.
    fn change(
        self,
        patch: &mut Object,
        key: &str,
        old: Option<&Value>,
        new: &Value,
        ty: TypeRef<'_>,
    ) -> Result<Option<Value>, Error> {
        match (old, new) {
            (Some(Value::Object(old)), Value::Object(new)) => {
                let (ty, strategy) = ty.member(key);
                let below = self.maps(old, new, ty, strategy.retain_keys)?;
                return Ok((!below.is_empty()).then_some(Value::Object(below)));
            }
            (Some(Value::Array(old)), Value::Array(new)) => {
                let (ty, strategy) = ty.member(key);
                if strategy.merge {
                    insert_lists(patch, key, self.lists(old, new, strategy, ty.element())?);
                    return Ok(None);
                }
            }
            _ => {}
        }
        if !self.additions {
            return Ok(None);
        }
        charge([new].into_iter().chain(old), self.budget)?;
        Ok(old.is_none_or(|old| !go::equal(old, new)).then(|| new.clone()))
    }

    fn lists(
        self,
        original: &[Value],
        modified: &[Value],
        strategy: &Patch,
        ty: TypeRef<'_>,
    ) -> Result<ListDiff, Error> {
        self.budget.charge(original.len() + modified.len())?;
        if original.is_empty() {
            let elements: &[Value] = if self.additions { modified } else { &[] };
            charge(elements, self.budget)?;
            let elements = elements.to_vec();
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
        let (old_keys, new_keys) = (lists::keys_of(original, key)?, lists::keys_of(modified, key)?);
        charge(old_keys.iter().chain(&new_keys).copied(), self.budget)?;
        let mut pairs = lists::Pairs::new(&old_keys);
        let mut elements = Vec::new();
        for (new, new_key) in modified.iter().zip(&new_keys) {
            let old = pairs.next(new_key).and_then(|position| original.get(position));
            match (old, new) {
                (Some(Value::Object(old)), Value::Object(new)) => {
                    let mut below = self.maps(old, new, ty, strategy.retain_keys)?;
                    if !below.is_empty() {
                        below.insert(key.to_owned(), (*new_key).clone());
                        elements.push(Value::Object(below));
                    }
                }
                _ if self.additions => {
                    charge([new], self.budget)?;
                    elements.push(new.clone());
                }
                _ => {}
            }
        }
        // The elements before these are the same ones in both lists.
        let rest = pairs.in_step();
        let old_rest = old_keys.get(rest..).unwrap_or_default();
        let in_new =
            if old_rest.is_empty() { lists::Index::default() } else { lists::Index::of(new_keys.iter().copied()) };
        let (stay, gone): (Vec<&Value>, Vec<&Value>) = old_rest.iter().copied().partition(|old| in_new.has(old));
        if self.deletions {
            for old_key in gone {
                let mut gone = one(key, old_key.clone());
                gone.insert(DIRECTIVE.to_owned(), Value::from("delete"));
                elements.push(Value::Object(gone));
            }
        }
        let mut also_old = new_keys.iter().skip(rest).filter(|key| pairs.has(key));
        let in_order = stay.iter().all(|old| also_old.next().is_some_and(|new| go::equal(old, new)));
        let reordered = !(in_order && also_old.next().is_none());
        let order = if elements.is_empty() && !(self.additions && reordered) {
            Vec::new()
        } else {
            new_keys.iter().map(|value| Value::Object(one(key, (*value).clone()))).collect()
        };
        Ok(ListDiff { elements, order, ..ListDiff::default() })
    }

    fn lists_of_scalars(self, original: &[Value], modified: &[Value]) -> ListDiff {
        let missing = |from: &[Value], list: &[Value]| -> Vec<Value> {
            let from = lists::Index::of(from);
            list.iter().filter(|e| !from.has(e)).cloned().collect()
        };
        let differ = !go::equal_lists(original, modified);
        let elements = if differ && self.additions { missing(original, modified) } else { Vec::new() };
        let deleted_scalars = if differ && self.deletions { missing(modified, original) } else { Vec::new() };
        let changed = differ && self.additions;
        let order = if changed || !deleted_scalars.is_empty() { modified.to_vec() } else { Vec::new() };
        ListDiff { elements, deleted_scalars, order }
    }
}

/// The members of a map, looked up in its own order: two versions of a document have mostly the same members.
struct InStep<'v> {
    map: &'v Object,
    rest: std::iter::Peekable<map::Iter<'v>>,
}

impl<'v> InStep<'v> {
    fn new(map: &'v Object) -> Self {
        Self { map, rest: map.iter().peekable() }
    }

    fn get(&mut self, key: &str) -> Option<&'v Value> {
        // Keys before the wanted one are only in this map.
        while self.rest.next_if(|(own, _)| own.as_str() < key).is_some() {}
        match self.rest.next_if(|(own, _)| own.as_str() == key) {
            Some((_, value)) => Some(value),
            None => self.map.get(key),
        }
    }
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

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn members_are_found_in_any_order_of_the_questions(map in btree_map("[a-f]", 0..9, 0..6), asked in vec("[a-g]", 0..9)) {
            let map: Object = map.into_iter().map(|(key, value)| (key, Value::from(value))).collect();
            let mut members = InStep::new(&map);
            for key in &asked {
                prop_assert_eq!(members.get(key), map.get(key));
            }
            let mut members = InStep::new(&map);
            for (key, value) in &map {
                prop_assert_eq!(members.get(key), Some(value));
            }
        }
    }
}
