//! Lists in strategic merge patches: finding and ordering elements.

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

/// The merge keys of a list's elements.
pub(super) fn keys_of<'v>(list: &'v [Value], key: &str) -> Result<Vec<&'v Value>, Error> {
    list.iter().map(|element| key_of(element, key)).collect()
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
        go::equal(self.0, other.0)
    }
}

impl Eq for ById<'_> {}

/// The identity of an element: its merge key, or the element itself without a merge key.
pub(super) fn id<'v>(element: &'v Value, key: &str) -> Option<&'v Value> {
    if key.is_empty() { Some(element) } else { element.get(key) }
}

/// The identities of a list's elements in their order, for use after the list. Elements without one are left out.
pub(super) fn ids(list: &[Value], key: &str) -> Vec<Value> {
    list.iter().filter_map(|element| id(element, key)).cloned().collect()
}

/// Positions of identities in a list.
#[derive(Debug, Default)]
pub(super) struct Index<'v>(BTreeMap<ById<'v>, usize>);

impl<'v> Index<'v> {
    /// Of equal identities, the first counts.
    pub(super) fn of(ids: impl IntoIterator<Item = &'v Value>) -> Self {
        let mut positions = BTreeMap::new();
        for (position, id) in ids.into_iter().enumerate() {
            positions.entry(ById(id)).or_insert(position);
        }
        Self(positions)
    }

    pub(super) fn position(&self, id: &Value) -> Option<usize> {
        self.0.get(&ById(id)).copied()
    }

    pub(super) fn has(&self, id: &Value) -> bool {
        self.position(id).is_some()
    }
}

/// Positions of the elements of a list by merge key. Equal keys are paired in their order, as `strategicpatch` does, so that a list with
/// duplicates does not differ from itself.
///
/// Most lists hardly differ. While the keys asked for are those of the list, in its order, nothing is searched or stored.
#[derive(Debug)]
pub(super) struct Pairs<'k, 'v> {
    keys: &'k [&'v Value],
    in_step: usize,
    /// The positions of each key, and how often it was asked for. Made for the first key that is out of step.
    positions: Option<BTreeMap<ById<'v>, (Vec<usize>, usize)>>,
}

impl<'k, 'v> Pairs<'k, 'v> {
    pub(super) fn new(keys: &'k [&'v Value]) -> Self {
        Self { keys, in_step: 0, positions: None }
    }

    /// The position of the next element with this key; the first one when there is no further.
    pub(super) fn next(&mut self, key: &'v Value) -> Option<usize> {
        if self.positions.is_none() && self.keys.get(self.in_step).is_some_and(|own| go::equal(own, key)) {
            self.in_step += 1;
            return Some(self.in_step - 1);
        }
        let (positions, turn) = self.positions().get_mut(&ById(key))?;
        let position = positions.get(*turn).or(positions.first()).copied();
        *turn += 1;
        position
    }

    /// How many keys were asked for in the order of the list, before the first that was not.
    pub(super) fn in_step(&self) -> usize {
        self.in_step
    }

    /// Whether the list has an element with this key.
    pub(super) fn has(&mut self, key: &Value) -> bool {
        let positions: &BTreeMap<_, _> = self.positions();
        positions.contains_key(&ById(key))
    }

    fn positions(&mut self) -> &mut BTreeMap<ById<'v>, (Vec<usize>, usize)> {
        let (keys, in_step) = (self.keys, self.in_step);
        self.positions.get_or_insert_with(|| {
            let mut all: BTreeMap<ById<'v>, (Vec<usize>, usize)> = BTreeMap::new();
            for (position, key) in keys.iter().enumerate() {
                let (positions, turn) = all.entry(ById(key)).or_default();
                positions.push(position);
                *turn += usize::from(position < in_step);
            }
            all
        })
    }
}

/// Whether an element is a deletion directive.
fn deletes(element: &Value) -> bool {
    element.get(DIRECTIVE).and_then(Value::as_str) == Some("delete")
}

/// An element and its places in the two orders.
struct Placed {
    /// By its own order; deletion directives come last.
    rank: (bool, Option<usize>),
    server: Option<usize>,
    element: Value,
}

/// Combines the elements of a patch (those in `patch_order`, in that order) and the server's other elements (in the order of the server)
/// into one list. Both keep their order; between them the server's order decides where it can.
pub(super) fn interleave(
    merged: Vec<Value>,
    patch_order: &Index<'_>,
    server_order: &Index<'_>,
    key: &str,
) -> Vec<Value> {
    let mut list = Vec::with_capacity(merged.len());
    let (mut ours, mut theirs) = (Vec::new(), Vec::with_capacity(merged.len()));
    for element in merged {
        let (server, patch) =
            id(&element, key).map_or((None, None), |id| (server_order.position(id), patch_order.position(id)));
        let deletes = deletes(&element);
        let rank = |position: Option<usize>| (deletes, position.filter(|_| !deletes));
        match patch {
            Some(_) => ours.push(Placed { rank: rank(patch), server, element }),
            None => theirs.push(Placed { rank: rank(server), server, element }),
        }
    }
    ours.sort_by_key(|our| our.rank);
    theirs.sort_by_key(|their| their.rank);
    let mut ours = ours.into_iter().peekable();
    for their in theirs {
        let comes_first = |our: &Placed| match (their.server, our.server) {
            (Some(their), Some(our)) => their < our,
            _ => false,
        };
        while let Some(our) = ours.next_if(|our| !comes_first(our)) {
            list.push(our.element);
        }
        list.push(their.element);
    }
    list.extend(ours.map(|our| our.element));
    list
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

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Pairs as a search finds them: equal keys in their order, then the first again.
    fn searched(keys: &[Value], asked: &[Value]) -> Vec<Option<usize>> {
        let find = |(turn, key): (usize, &Value)| {
            let before = asked.iter().take(turn).filter(|other| go::equal(other, key)).count();
            let equal: Vec<usize> = (0..keys.len()).filter(|at| go::equal(&keys[*at], key)).collect();
            equal.get(before).or(equal.first()).copied()
        };
        asked.iter().enumerate().map(find).collect()
    }

    fn keys() -> impl Strategy<Value = Vec<Value>> {
        let key = prop_oneof!["[a-d]".prop_map(Value::from), (0..2_i64).prop_map(Value::from), Just(Value::from(1.0))];
        vec(key, 0..8)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn lists_in_step_and_out_of_step_pair_as_a_search_pairs_them(common in keys(), a in keys(), b in keys()) {
            for (own, asked) in [(&a, &b), (&[&*common, &*a].concat(), &[&*common, &*b].concat()), (&a, &a)] {
                let refs: Vec<&Value> = own.iter().collect();
                let mut pairs = Pairs::new(&refs);
                let found: Vec<_> = asked.iter().map(|key| pairs.next(key)).collect();
                prop_assert_eq!(found, searched(own, asked));
                let in_step = pairs.in_step();
                prop_assert!(own.iter().zip(asked).take(in_step).all(|(own, asked)| go::equal(own, asked)));
                for key in asked {
                    prop_assert_eq!(pairs.has(key), own.iter().any(|own| go::equal(own, key)));
                }
            }
        }

        #[test]
        fn elements_keep_both_orders_and_none_is_lost(
            elements in Just((0..7).map(Value::from).collect::<Vec<_>>()).prop_shuffle(),
            ours in proptest::sample::subsequence((0..7).map(Value::from).collect::<Vec<_>>(), 0..7).prop_shuffle(),
            server in proptest::sample::subsequence((0..7).map(Value::from).collect::<Vec<_>>(), 0..7).prop_shuffle(),
        ) {
            let list = interleave(elements.clone(), &Index::of(&ours), &Index::of(&server), "");
            let (own, theirs): (Vec<Value>, Vec<Value>) = list.iter().cloned().partition(|e| ours.contains(e));
            prop_assert_eq!(&own, &ours);
            let known: Vec<Value> = theirs.iter().filter(|e| server.contains(e)).cloned().collect();
            let expected: Vec<Value> = server.iter().filter(|e| !ours.contains(e)).cloned().collect();
            prop_assert_eq!(known, expected);
            prop_assert_eq!(list.len(), elements.len());
        }
    }
}
