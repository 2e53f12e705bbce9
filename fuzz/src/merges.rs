//! Patches, server-side apply and field ownership.

use crate::{head, values};
use oarlock::apply::{
    PatchKind,
    reviewed::{MOST_GROWTH_BYTES, ReviewedPatch, difference, patched},
};
use oarlock_merge::{
    apply::{self, Write, applied_part, equal_but_for_times},
    fields::{self, FieldSet},
    json_patch,
    schema::Schema,
    size::measure,
    steps::Budget,
    strategic,
};
use serde_json::{Value, json};

/// Steps of one input: enough for what fits into it.
const STEPS: u64 = 1 << 24;

/// How a kind merges, by a letter: `p` Pod, `s` Service, `d` Deployment, `c` ConfigMap, `x` a custom one, anything else as nobody knows it.
fn schema(letter: u8) -> Schema {
    let builtin = |group, kind| Schema::builtin(group, "v1", kind).unwrap_or_default();
    match letter {
        b'p' => builtin("", "Pod"),
        b's' => builtin("", "Service"),
        b'd' => builtin("apps", "Deployment"),
        b'c' => builtin("", "ConfigMap"),
        b'x' => Schema::from_openapi(&custom()),
        _ => Schema::default(),
    }
}

fn custom() -> Value {
    let ports = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"], "items":
        {"type": "object", "properties": {"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}, "name": {"type": "string"}}}});
    json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "ports": ports,
        "list": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
        "atomic": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        "any": {"x-kubernetes-preserve-unknown-fields": true},
    }}}})
}

/// A letter for the kind and one for the type of patch, the object, and the patch.
pub(crate) fn patch(data: &[u8]) {
    let (letters, rest) = head(data);
    let (Some([kind, how, ..]), Some([object, patch])) = (letters.get(..2), values(rest)) else { return };
    let schema = schema(*kind);
    let kind = match how {
        b'j' => PatchKind::Json,
        b'm' => PatchKind::Merge,
        _ => PatchKind::Strategic,
    };
    let budget = Budget::of(STEPS);
    let before = measure(&object, &Budget::unlimited()).expect("it has no end");
    let review = [ReviewedPatch { kind, patch: patch.clone() }];
    if let Ok(after) = patched(&object, &review, Some(&schema), "", &budget) {
        let size = measure(&after, &Budget::unlimited()).expect("it has no end");
        assert!(size.bytes <= before.bytes + MOST_GROWTH_BYTES, "{} bytes became {}", before.bytes, size.bytes);
        leads_to(&object, &after);
        if kind == PatchKind::Merge {
            let again = patched(&after, &review, Some(&schema), "", &budget);
            assert_eq!(again.ok(), Some(after), "a merge patch that is applied twice");
        }
    }
    assert!(budget.spent() <= STEPS, "{} steps", budget.spent());
    leads_to(&object, &patch);
    let budget = Budget::of(STEPS);
    if let Ok(made) = strategic::create_two_way(&schema, &object, &patch, &budget) {
        let _ = strategic::apply_patch(&schema, &object, &made, &budget);
    }
    let same = strategic::create_two_way(&schema, &object, &object, &budget);
    assert!(same.is_err() || same == Ok(json!({})), "{object} differs from itself: {same:?}");
    let _ = strategic::create_three_way(&schema, &object, &patch, &object, &budget);
}

/// The JSON Patch that answers a review makes the one document of the other.
fn leads_to(before: &Value, after: &Value) {
    let operations = Value::Array(difference(before, after));
    let mut found = before.clone();
    json_patch::apply(&mut found, &operations, &Budget::unlimited()).expect("the host's own patch fits");
    assert_eq!(&found, after, "{operations}");
}

/// A letter for the kind, and two documents that two managers apply.
pub(crate) fn apply(data: &[u8]) {
    let (letter, rest) = head(data);
    let (Some(letter), Some([first, second])) = (letter.first(), values(rest)) else { return };
    let schema = schema(*letter);
    let (alice, bob) = (Write::new(&schema, "alice", "2026-01-01T00:00:00Z"), Write::new(&schema, "bob", ""));
    let Ok(live) = apply::apply(None, &first, &alice, false) else { return };
    repeats(&live, &first, &alice);
    if apply::apply(Some(&live), &second, &bob, false).is_err_and(|error| error.to_string().is_empty()) {
        panics("an error without a text");
    }
    let Ok(both) = apply::apply(Some(&live), &second, &bob, true) else { return };
    repeats(&both, &second, &bob);
    if let Ok(back) = apply::apply(Some(&both), &first, &alice, true) {
        repeats(&back, &first, &alice);
    }
    let mut updated = second;
    apply::update(Some(&both), &mut updated, &Write::new(&schema, "carol", "2026-01-02T00:00:00Z"));
    let _ = apply::apply(Some(&updated), &first, &alice, true);
}

/// An apply of what was applied changes nothing.
fn repeats(live: &Value, applied: &Value, write: &Write<'_>) {
    let again = apply::apply(Some(live), applied, write, false);
    let again = again.expect("what was applied can be applied again");
    assert!(equal_but_for_times(live, &again), "applied again:\n{live}\nbecomes\n{again}");
    let part = applied_part(live, write.manager, Some(write.schema)).expect("its managedFields can be read");
    // It may say more than was applied, where a schema leaves open what a value holds.
    if let Some(part) = part {
        let _ = apply::apply(Some(live), &part, write, false);
    }
}

#[expect(clippy::panic, reason = "a broken promise ends the fuzzing")]
fn panics(why: &str) {
    panic!("{why}")
}

/// Two sets, and a document.
pub(crate) fn field_sets(data: &[u8]) {
    let Some([one, other, document]) = values(data) else { return };
    let set = |json: &Value| {
        let set = FieldSet::from_json(json).ok()?;
        assert_eq!(FieldSet::from_json(&set.to_json()).ok().as_ref(), Some(&set), "{json}");
        Some(set)
    };
    let (Some(a), Some(b)) = (set(&one), set(&other)) else { return };
    assert_eq!(a.union(&a), a);
    assert_eq!(a.intersection(&a), a);
    assert!(a.difference(&a).is_empty());
    assert_eq!(a.union(&b), b.union(&a));
    assert_eq!(a.intersection(&b), b.intersection(&a));
    assert_eq!(a.intersection(&b).union(&a.difference(&b)), a);
    assert_eq!(a.leaves().difference(&a).paths().len(), 0);
    assert!(a.recursive_difference(&b).difference(&a.difference(&b)).is_empty());
    assert_eq!(a.is_empty(), a.paths().is_empty());
    for schema in [None, Some(schema(b'x')), Some(schema(b'p'))] {
        let _ = fields::extract(&document, &a, schema.as_ref());
        if let Some(schema) = schema {
            let _ = fields::remove(&document, &b, &schema);
            set(&FieldSet::of(&document, &schema).to_json());
        }
    }
}
