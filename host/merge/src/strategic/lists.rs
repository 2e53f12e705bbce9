//! Lists in strategic merge patches: finding, splitting and ordering elements.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::Value;

use super::{DIRECTIVE, Error};
use crate::go;

/// The kind of a list's elements; `None` for empty lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Maps,
    Scalars,
}

/// The kind of the elements of all these lists.
pub(super) fn kind(lists: &[&[Value]]) -> Result<Option<Kind>, Error> {
    let shape = |value: &Value| match value {
        Value::Object(_) => 0,
        Value::Array(_) => 1,
        Value::String(_) => 2,
        Value::Number(n) if n.is_f64() => 3,
        Value::Number(_) => 4,
        Value::Bool(_) => 5,
        Value::Null => 6,
    };
    let mut shapes = lists.iter().flat_map(|list| list.iter()).map(|value| (shape(value), value));
    let Some((first, _)) = shapes.next() else { return Ok(None) };
    if first == 1 {
        return Err(Error::ListOfLists);
    }
    for (other, value) in shapes {
        if other != first {
            return Err(Error::MixedList(go::print(value)));
        }
    }
    Ok(Some(if first == 0 { Kind::Maps } else { Kind::Scalars }))
}

/// The merge key of an element.
pub(super) fn key_of<'v>(element: &'v Value, key: &str) -> Result<&'v Value, Error> {
    element.get(key).ok_or_else(|| Error::no_merge_key(element, key))
}

/// The identity of an element, with an order for fast lookups: untrusted lists can be long.
#[derive(Debug, Clone, Copy)]
pub(super) struct ById<'v>(pub(super) &'v Value);

impl Ord for ById<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        go::compare(self.0, other.0)
    }
}

impl PartialOrd for ById<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ById<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ById<'_> {}

/// The identity of an element: its merge key, or the element itself without a merge key.
fn id<'v>(element: &'v Value, key: &str) -> Option<&'v Value> {
    if key.is_empty() { Some(element) } else { element.get(key) }
}

/// Positions of a list's elements.
pub(super) struct Index<'v> {
    key: &'v str,
    positions: BTreeMap<ById<'v>, usize>,
}

impl<'v> Index<'v> {
    /// Of elements with the same identity, the first counts.
    pub(super) fn new(list: &'v [Value], key: &'v str) -> Self {
        let mut positions = BTreeMap::new();
        for (position, element) in list.iter().enumerate() {
            if let Some(id) = id(element, key) {
                positions.entry(ById(id)).or_insert(position);
            }
        }
        Self { key, positions }
    }

    /// The position of the element with the same identity.
    pub(super) fn position(&self, element: &Value) -> Option<usize> {
        self.positions.get(&ById(id(element, self.key)?)).copied()
    }

    /// Whether the list has an element with the same identity.
    pub(super) fn has(&self, element: &Value) -> bool {
        self.position(element).is_some()
    }
}

/// Splits a list into the elements that are also in `by`, and the others.
pub(super) fn partition(list: Vec<Value>, by: &[Value], key: &str) -> Result<(Vec<Value>, Vec<Value>), Error> {
    if !key.is_empty() {
        for element in list.iter().chain(by) {
            key_of(element, key)?;
        }
    }
    let by = Index::new(by, key);
    Ok(list.into_iter().partition(|element| by.has(element)))
}

/// Whether an element is a deletion directive.
fn deletes(element: &Value) -> bool {
    element.get(DIRECTIVE).and_then(Value::as_str) == Some("delete")
}

/// Sorts by the order of another list; deletion directives come last.
pub(super) fn sort_by_order(list: Vec<Value>, order: &[Value], key: &str) -> Vec<Value> {
    let (deleted, mut kept): (Vec<Value>, Vec<Value>) = list.into_iter().partition(deletes);
    let order = Index::new(order, key);
    kept.sort_by_cached_key(|element| order.position(element));
    kept.extend(deleted);
    kept
}

/// Combines the elements of a patch (`ours`, in the order of the patch) and the server's other elements (`theirs`, in the order of the
/// server) into one list. Both keep their order; between them the server's order decides where it can.
pub(super) fn interleave(
    ours: Vec<Value>,
    theirs: Vec<Value>,
    patch_order: &[Value],
    server_order: &[Value],
    key: &str,
) -> Vec<Value> {
    let ours = sort_by_order(ours, patch_order, key);
    let theirs = sort_by_order(theirs, server_order, key);
    let server = Index::new(server_order, key);
    let mut merged = Vec::with_capacity(ours.len() + theirs.len());
    let mut ours = ours.into_iter().peekable();
    for their in theirs {
        let position = server.position(&their);
        let comes_first = |our: &Value| match (position, server.position(our)) {
            (Some(their), Some(our)) => their < our,
            _ => false,
        };
        while let Some(our) = ours.next_if(|our| !comes_first(our)) {
            merged.push(our);
        }
        merged.push(their);
    }
    merged.extend(ours);
    merged
}

/// Rejects a patch whose elements are not in its own order.
pub(super) fn check_order(list: &[Value], order: &[Value], key: &str) -> Result<(), Error> {
    let mut rest = order;
    let kept = list.iter().filter(|element| key.is_empty() || !deletes(element));
    for element in kept {
        if !key.is_empty() {
            key_of(element, key)?;
        }
        let wanted = id(element, key);
        match rest.iter().position(|other| id(other, key).map(ById) == wanted.map(ById)) {
            Some(position) => rest = rest.get(position + 1..).unwrap_or_default(),
            None => {
                let (list, order) = (go::print_list(list), go::print_list(order));
                return Err(Error::OrderMismatch { list, order });
            }
        }
    }
    Ok(())
}
