//! Difference of two documents as a JSON Patch (RFC 6902).

use json_patch::jsonptr::Token;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Most comparisons for aligning the lists of one document; the remaining lists are replaced.
const COMPARISONS: usize = 1_000_000;

/// Most comparisons for one list.
const COMPARISONS_OF_A_LIST: usize = 250_000;

/// Most bytes of all paths together; beyond that, the patch replaces whole top-level fields.
const PATHS_BYTES: usize = 4 << 20;

/// The operations that change `before` into `after`. They contain only the differences, down to single values; list elements are inserted
/// and removed at their index. Empty when both are equal.
#[must_use]
pub fn difference(before: &Value, after: &Value) -> Vec<Value> {
    let mut operations = PatchOperations { list: Vec::new(), comparisons: COMPARISONS, paths: 0 };
    values(&mut String::new(), before, after, &mut operations);
    if operations.too_long() { whole_fields(before, after) } else { operations.list }
}

/// Replaces each differing top-level field as a whole.
fn whole_fields(before: &Value, after: &Value) -> Vec<Value> {
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        return vec![json!({"op": "replace", "path": "", "value": after})];
    };
    let mut list = Vec::new();
    for key in old.keys().chain(new.keys().filter(|key| !old.contains_key(*key))) {
        within(&mut String::new(), key, |path| match (old.get(key), new.get(key)) {
            (_, None) => list.push(json!({"op": "remove", "path": path})),
            (None, Some(value)) => list.push(json!({"op": "add", "path": path, "value": value})),
            (Some(old), Some(value)) if old != value => {
                list.push(json!({"op": "replace", "path": path, "value": value}));
            }
            _ => {}
        });
    }
    list
}

/// The operations so far, and the remaining comparisons.
struct PatchOperations {
    list: Vec<Value>,
    comparisons: usize,
    /// Bytes of all paths.
    paths: usize,
}

impl PatchOperations {
    /// Adds an operation, unless the paths are too long already and the operations will be discarded.
    fn push(&mut self, path: &str, operation: impl FnOnce() -> Value) {
        self.paths = self.paths.saturating_add(path.len());
        if !self.too_long() {
            self.list.push(operation());
        }
    }

    fn too_long(&self) -> bool {
        self.paths > PATHS_BYTES
    }

    /// Whether two lists of these lengths may still be aligned.
    fn may_align(&mut self, old: usize, new: usize) -> bool {
        let comparisons = old.saturating_mul(new);
        let may = comparisons <= self.comparisons.min(COMPARISONS_OF_A_LIST);
        if may {
            self.comparisons -= comparisons;
        }
        may
    }
}

fn values(path: &mut String, before: &Value, after: &Value, operations: &mut PatchOperations) {
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in old {
                within(path, key, |path| match new.get(key) {
                    Some(new) => values(path, value, new, operations),
                    None => operations.push(path, || json!({"op": "remove", "path": path})),
                });
            }
            for (key, value) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
                within(path, key, |path| operations.push(path, || json!({"op": "add", "path": path, "value": value})));
            }
        }
        (Value::Array(old), Value::Array(new)) => lists(path, old, new, operations),
        _ if before == after => {}
        _ => operations.push(path, || json!({"op": "replace", "path": path, "value": after})),
    }
}

/// Calls `work` with one more token on the path.
fn within(path: &mut String, token: &str, work: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push('/');
    path.push_str(Token::new(token).encoded());
    work(path);
    path.truncate(length);
}

fn lists(path: &mut String, old: &[Value], new: &[Value], operations: &mut PatchOperations) {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (old.get(..old.len() - tail).unwrap_or_default(), new.get(..new.len() - tail).unwrap_or_default());
    if !operations.may_align(old.len(), new.len()) {
        // From the last element to the first, so that earlier indexes stay valid.
        for i in (0..old.len()).rev() {
            within(path, &(head + i).to_string(), |path| {
                operations.push(path, || json!({"op": "remove", "path": path}));
            });
        }
        for (i, value) in new.iter().enumerate() {
            let add = |path: &mut String| operations.push(path, || json!({"op": "add", "path": path, "value": value}));
            within(path, &(head + i).to_string(), add);
        }
        return;
    }
    let mut at = head;
    for step in align(old, new) {
        within(path, &at.to_string(), |path| match step {
            EditStep::Both(old, new) => values(path, old, new, operations),
            EditStep::Replace(new) => operations.push(path, || json!({"op": "replace", "path": path, "value": new})),
            EditStep::Add(new) => operations.push(path, || json!({"op": "add", "path": path, "value": new})),
            EditStep::Remove => operations.push(path, || json!({"op": "remove", "path": path})),
        });
        at += usize::from(!matches!(step, EditStep::Remove));
    }
}

/// One step of aligning two lists.
#[derive(Clone, Copy)]
enum EditStep<'a> {
    /// The same element, perhaps changed.
    Both(&'a Value, &'a Value),
    /// A different element in its place.
    Replace(&'a Value),
    Add(&'a Value),
    Remove,
}

/// Numbers for comparing elements: equal texts, and equal names, have equal numbers.
struct Ids {
    elements: HashMap<String, usize>,
    names: HashMap<String, usize>,
}

/// An element: the number of its text, and the number of its name if it has one.
type ItemId = (usize, Option<usize>);

impl Ids {
    fn of(&mut self, list: &[Value]) -> Vec<ItemId> {
        let number = |map: &mut HashMap<String, usize>, text: String| {
            let next = map.len();
            *map.entry(text).or_insert(next)
        };
        let id = |element: &Value| {
            let name = element.get("name").and_then(Value::as_str);
            let name = name.map(|name| number(&mut self.names, name.to_owned()));
            (number(&mut self.elements, element.to_string()), name)
        };
        list.iter().map(id).collect()
    }
}

/// The value of keeping an element: highest for an equal element, then for the same name.
fn worth(old: ItemId, new: ItemId) -> u32 {
    if old.0 == new.0 {
        return 4;
    }
    if old.1.is_some() && old.1 == new.1 { 3 } else { 1 }
}

/// The alignment of two lists with the highest value, by dynamic programming.
fn align<'a>(old: &'a [Value], new: &'a [Value]) -> Vec<EditStep<'a>> {
    let width = new.len() + 1;
    let cell = |i: usize, j: usize| i * width + j;
    // Compared as numbers, because comparing large elements repeatedly is slow.
    let mut ids = Ids { elements: HashMap::new(), names: HashMap::new() };
    let (olds, news) = (ids.of(old), ids.of(new));
    let worths: Vec<u32> = olds.iter().flat_map(|a| news.iter().map(|b| worth(*a, *b))).collect();
    let worth_of = |i: usize, j: usize| worths.get(i * new.len() + j).copied().unwrap_or(0);
    // best[i][j]: value for old[i..] and new[j..].
    let mut best = vec![0_u32; (old.len() + 1) * width];
    let at = |best: &[u32], i: usize, j: usize| best.get(cell(i, j)).copied().unwrap_or(0);
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            let both = at(&best, i + 1, j + 1) + worth_of(i, j);
            let most = both.max(at(&best, i + 1, j)).max(at(&best, i, j + 1));
            if let Some(slot) = best.get_mut(cell(i, j)) {
                *slot = most;
            }
        }
    }
    let (mut i, mut j, mut steps) = (0, 0, Vec::new());
    loop {
        let step = match (old.get(i), new.get(j)) {
            (None, None) => return steps,
            (None, Some(new)) => EditStep::Add(new),
            (Some(_), None) => EditStep::Remove,
            (Some(a), Some(b)) => {
                let here = at(&best, i, j);
                if here == at(&best, i + 1, j + 1) + worth_of(i, j) {
                    if worth_of(i, j) > 1 { EditStep::Both(a, b) } else { EditStep::Replace(b) }
                } else if here == at(&best, i, j + 1) {
                    EditStep::Add(b)
                } else {
                    EditStep::Remove
                }
            }
        };
        i += usize::from(!matches!(step, EditStep::Add(_)));
        j += usize::from(!matches!(step, EditStep::Remove));
        steps.push(step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(before: &Value, after: &Value) -> Vec<Value> {
        let operations = difference(before, after);
        let patch: json_patch::Patch = serde_json::from_value(Value::Array(operations.clone())).unwrap();
        let mut made = before.clone();
        json_patch::patch(&mut made, &patch).unwrap();
        assert_eq!(&made, after, "{before} {operations:?}");
        operations
    }

    #[test]
    fn only_what_differs_is_told_and_keys_are_escaped() {
        for (before, after, expected) in [
            (json!({"a": 1}), json!({"a": 1}), json!([])),
            (json!({"a": 1}), json!({"a": 2}), json!([{"op": "replace", "path": "/a", "value": 2}])),
            (json!({}), json!({"a/b~c": 1}), json!([{"op": "add", "path": "/a~1b~0c", "value": 1}])),
            (json!({"": 1}), json!({}), json!([{"op": "remove", "path": "/"}])),
            (
                json!({"a": {"b": {}}}),
                json!({"a": {"b": null}}),
                json!([{"op": "replace", "path": "/a/b", "value": null}]),
            ),
            (json!([1, 2, 3]), json!([0, 1, 2, 3]), json!([{"op": "add", "path": "/0", "value": 0}])),
            (json!([1, 2, 3]), json!([1, 2, 3, 4]), json!([{"op": "add", "path": "/3", "value": 4}])),
            (json!([1, 2, 3]), json!([1, 3]), json!([{"op": "remove", "path": "/1"}])),
            (json!([1, 2]), json!([1, 5]), json!([{"op": "replace", "path": "/1", "value": 5}])),
        ] {
            assert_eq!(Value::Array(check(&before, &after)), expected, "{before} {after}");
        }
    }

    #[test]
    fn a_container_that_is_put_in_front_leaves_the_others_alone() {
        let before = json!({"containers": [{"name": "a", "image": "1"}, {"name": "b"}]});
        let after = json!({"containers": [{"name": "envoy"}, {"name": "a", "image": "2"}, {"name": "b"}]});
        let expected = json!([
            {"op": "add", "path": "/containers/0", "value": {"name": "envoy"}},
            {"op": "replace", "path": "/containers/1/image", "value": "2"}
        ]);
        assert_eq!(Value::Array(check(&before, &after)), expected);
    }

    #[test]
    fn long_lists_that_have_nothing_in_common_are_replaced() {
        let list = |from: usize| (from..from + 600).map(|i| json!(i)).collect::<Value>();
        check(&json!({"l": list(0)}), &json!({"l": list(10_000)}));
    }

    #[test]
    fn bounded_work_of_long_paths() {
        let many = |value: u32| (0..4_000).map(|i| (i.to_string(), json!(value))).collect::<serde_json::Map<_, _>>();
        let of = |value| json!({"a": {"k".repeat(50_000): many(value)}, "b": 1});
        let operations = check(&of(1), &of(2));
        let bytes: usize = operations.iter().map(|operation| operation.to_string().len()).sum();
        assert!(bytes < 2 * PATHS_BYTES, "{bytes}");
    }

    fn document() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..3_i64).prop_map(Value::from),
            "[ab/~]{0,2}".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map("[ab/~]{0,2}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 512 } else { 4096 }))]

        #[test]
        fn what_is_told_makes_the_one_of_the_other(before in document(), after in document()) {
            check(&before, &after);
            prop_assert!(difference(&after, &after).is_empty());
        }
    }
}
