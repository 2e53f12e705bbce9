//! Merge of an applied document into a live one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use super::{element_of, entries, has_content, items, named};
use crate::fields::PathElement;
use crate::schema::{Atom, ListKind, TypeRef};

/// The live document with all values of the applied one. Nothing is removed.
pub(crate) fn merge(live: &Value, applied: &Value, ty: TypeRef<'_>) -> Value {
    merge_at(Some(live), Some(applied), ty).unwrap_or(Value::Null)
}

fn merge_at(live: Option<&Value>, applied: Option<&Value>, ty: TypeRef<'_>) -> Option<Value> {
    let Some(applied) = applied else { return live.cloned() };
    let shape = if applied.is_null() { live } else { Some(applied) };
    let atom = ty.atom(shape);
    if live.is_none() || atom.is_leaf() || !(has_content(live) || has_content(Some(applied))) {
        return Some(applied.clone());
    }
    match atom {
        Atom::Map { owner, .. } => {
            let (live, applied) = (entries(live), entries(Some(applied)));
            let names: BTreeSet<&String> = live.into_iter().chain(applied).flat_map(Map::keys).collect();
            let mut merged = Map::new();
            for name in names {
                let pick = |map: Option<&'_ Map<String, Value>>| map.and_then(|map| map.get(name).cloned());
                let (live, applied) = (pick(live), pick(applied));
                if let Some(value) = merge_at(live.as_ref(), applied.as_ref(), owner.field(name)) {
                    merged.insert(name.clone(), value);
                }
            }
            Some(Value::Object(merged))
        }
        Atom::List { kind, element } => {
            Some(Value::Array(merge_lists(kind, element, items(live), items(Some(applied)))))
        }
        Atom::Scalar(_) => Some(applied.clone()),
    }
}

/// The elements of both lists: applied ones in the applied order, others at their positions, as far as the two are compatible.
fn merge_lists(kind: &ListKind, element: TypeRef<'_>, live: &[Value], applied: &[Value]) -> Vec<Value> {
    let lefts: Vec<(Option<PathElement>, &Value)> =
        live.iter().map(|item| (element_of(kind, item).ok(), item)).collect();
    let rights = named(kind, applied);
    let mut first_left: BTreeMap<&PathElement, &Value> = BTreeMap::new();
    for (name, item) in &lefts {
        if let Some(name) = name {
            first_left.entry(name).or_insert(*item);
        }
    }
    let in_right: BTreeSet<&PathElement> = rights.iter().map(|(name, _)| name).collect();
    // The common elements, in the order of the applied list: the next of them decides where to continue.
    let mut shared: VecDeque<&PathElement> =
        rights.iter().map(|(name, _)| name).filter(|name| first_left.contains_key(name)).collect();
    let mut next_shared = shared.pop_front();
    let mut taken: BTreeSet<&PathElement> = BTreeSet::new();
    let mut merged = Vec::new();
    let (mut left, mut right) = (0, 0);
    loop {
        let (l, r) = (lefts.get(left), rights.get(right));
        let name = l.and_then(|(name, _)| name.as_ref());
        match (l, r) {
            (None, None) => break,
            (Some((_, item)), _) if name.is_none_or(|name| !in_right.contains(name)) => {
                merged.push((*item).clone());
                left += 1;
                continue;
            }
            (Some(_), Some((theirs, _))) if name != Some(theirs) && name != next_shared && next_shared.is_some() => {
                // A common element out of turn: it comes at its position in the applied list.
                left += 1;
                continue;
            }
            (Some(_), None) => {
                left += 1;
                continue;
            }
            _ => {}
        }
        let Some((theirs, item)) = r else { break };
        if name.is_some_and(|name| name == theirs || taken.contains(name)) {
            left += 1;
        }
        taken.insert(theirs);
        merged.extend(merge_at(first_left.get(theirs).copied(), Some(item), element));
        right += 1;
        if next_shared == Some(theirs) {
            next_shared = shared.pop_front();
        }
    }
    merged
}
