//! Work on untrusted documents grows at most as n·log n with their size. Tests count steps, never time.

#![expect(clippy::unwrap_used, reason = "tests")]

use oarlock_merge::json_patch;
use oarlock_merge::schema::Schema;
use oarlock_merge::steps::{Budget, Stopped};
use oarlock_merge::strategic::{Error, apply_patch, create_three_way, create_two_way};
use serde_json::{Map, Value, json};

fn pod() -> Schema {
    Schema::builtin("", "v1", "Pod").unwrap()
}

/// Asserts that the steps for inputs of growing size stay within n·log n times a constant factor.
#[expect(clippy::cast_precision_loss, reason = "numbers far below 2^52")]
fn bounded(what: &str, work: impl Fn(usize, &Budget<'_>)) {
    let cost = |size: usize| {
        let budget = Budget::unlimited();
        work(size, &budget);
        let log = usize::BITS - size.leading_zeros();
        budget.spent() as f64 / (size as f64 * f64::from(log))
    };
    let first = cost(1_000);
    assert!(first > 0.0, "{what}: nothing was counted");
    for size in [4_000, 16_000] {
        let later = cost(size);
        assert!(later <= first * 1.5, "{what}: {first} steps for each n·log n of 1000 values, {later} of {size}");
    }
}

fn object(size: usize, name: impl Fn(usize) -> String) -> Map<String, Value> {
    (0..size).map(|i| (name(i), json!(0))).collect()
}

fn containers(size: usize, image: &str) -> Value {
    let of = |i| json!({"name": format!("c{i}"), "image": image, "env": [{"name": "A", "value": "1"}]});
    json!({"spec": {"containers": (0..size).map(of).collect::<Vec<_>>()}})
}

/// Every key is retained, in the order in which a search takes longest.
fn retaining(size: usize) -> Value {
    let mut patch = object(size, |i| format!("{i:06}"));
    let names: Vec<Value> = patch.keys().rev().map(|key| json!(key)).collect();
    patch.insert("$retainKeys".to_owned(), Value::Array(names));
    Value::Object(patch)
}

#[test]
fn t3_retain_keys_is_bounded() {
    bounded("$retainKeys", |size, budget| {
        let original = Value::Object(object(size, |i| format!("x{i:06}")));
        let merged = apply_patch(&pod(), &original, &retaining(size), budget).unwrap();
        assert_eq!(merged.as_object().map(Map::len), Some(size));
    });
}

#[test]
fn bounded_work_of_strategic_merges() {
    bounded("a strategic merge", |size, budget| {
        let patch = containers(size, "b");
        apply_patch(&pod(), &containers(size, "a"), &patch, budget).unwrap();
    });
    bounded("a two-way patch", |size, budget| {
        create_two_way(&pod(), &containers(size, "a"), &containers(size, "b"), budget).unwrap();
    });
    bounded("a three-way patch", |size, budget| {
        let (a, b) = (containers(size, "a"), containers(size, "b"));
        create_three_way(&pod(), &a, &b, &a, budget).unwrap();
    });
    bounded("an order", |size, budget| {
        let names: Vec<Value> = (0..size).rev().map(|i| json!({"name": format!("c{i}")})).collect();
        let patch = json!({"spec": {"$setElementOrder/containers": names}});
        apply_patch(&pod(), &containers(size, "a"), &patch, budget).unwrap();
    });
    bounded("deleted scalars", |size, budget| {
        let list: Vec<Value> = (0..size).map(|i| json!(format!("f{i}"))).collect();
        let live = json!({"metadata": {"finalizers": list}});
        let patch = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": live["metadata"]["finalizers"]}});
        apply_patch(&pod(), &live, &patch, budget).unwrap();
    });
}

#[test]
fn bounded_work_of_json_patches() {
    bounded("a JSON patch of a growing document", |size, budget| {
        let mut document = json!({"l": vec![0; size]});
        let patch = json!([{"op": "add", "path": "/l/0", "value": 1}, {"op": "copy", "from": "/l", "path": "/k"}]);
        json_patch::apply(&mut document, &patch, budget).unwrap();
    });
}

#[test]
fn t3_a_merge_ends_when_its_time_is_over() {
    let (original, patch) = (json!({}), retaining(100_000));
    let over = || true;
    let stopped = apply_patch(&pod(), &original, &patch, &Budget::until(&over));
    assert_eq!(stopped, Err(Error::Stopped(Stopped::Late)));
}
