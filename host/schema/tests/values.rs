//! Invalid values and their faults, beyond the recorded ones.

use oarlock_schema::StructuralSchema;
use serde_json::{Value, json};

fn errors(x: &Value, value: &Value) -> Vec<String> {
    let schema = StructuralSchema::new(&json!({"type": "object", "properties": {"x": x}}));
    schema.validate(&json!({"x": value}), None).iter().map(ToString::to_string).collect()
}

#[test]
fn numbers_keep_to_their_format() {
    let int32 = json!({"type": "integer", "format": "int32"});
    assert!(errors(&int32, &json!(2_147_483_647)).is_empty());
    assert_eq!(
        errors(&int32, &json!(2_147_483_648_i64)),
        ["<nil>: Invalid value: \"\": Checked value must be of type integer with format int32 in x"]
    );
    let number = json!({"type": "number", "minimum": 0.5, "maximum": 2_000_000, "multipleOf": 0.5});
    assert!(errors(&number, &json!(1.5)).is_empty());
    assert_eq!(
        errors(&number, &json!(0.25)),
        [
            "x: Invalid value: 0.25: x in body should be a multiple of 0.5",
            "x: Invalid value: 0.25: x in body should be greater than or equal to 0.5"
        ]
    );
    assert_eq!(
        errors(&number, &json!(2_000_000.5)),
        ["x: Invalid value: 2.0000005e+06: x in body should be less than or equal to 2e+06"]
    );
    let exclusive = json!({"type": "integer", "maximum": 3, "exclusiveMaximum": true});
    assert_eq!(errors(&exclusive, &json!(3)), ["x: Invalid value: 3: x in body should be less than 3"]);
}

#[test]
fn formats_are_named_in_the_refusal() {
    assert_eq!(
        errors(&json!({"type": "string", "format": "ipv4"}), &json!("x")),
        ["x: Invalid value: \"x\": x in body must be of type ipv4: \"x\""]
    );
}

#[test]
fn alternatives_explain_themselves() {
    let any = json!({"type": "string", "anyOf": [{"minLength": 3}, {"pattern": "^a"}]});
    assert!(errors(&any, &json!("abc")).is_empty());
    assert!(errors(&any, &json!("a")).is_empty());
    assert_eq!(
        errors(&any, &json!("b")),
        [
            "<nil>: Invalid value: \"\": \"x\" must validate at least one schema (anyOf)",
            "x: Invalid value: \"b\": x in body should be at least 3 chars long"
        ]
    );
    let all = json!({"type": "string", "allOf": [{"minLength": 3}, {"pattern": "^a"}]});
    assert_eq!(
        errors(&all, &json!("b")),
        [
            "x: Invalid value: \"b\": x in body should be at least 3 chars long",
            "x: Invalid value: \"b\": x in body should match '^a'",
            "<nil>: Invalid value: \"\": \"x\" must validate all the schemas (allOf). None validated"
        ]
    );
}

#[test]
fn rules_wait_until_the_shape_is_right() {
    let guarded = json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}},
        "x-kubernetes-validations": [{"rule": "self.a == 'x'"}]});
    assert_eq!(
        errors(&guarded, &json!({})),
        [
            "x.a: Required value",
            "<nil>: Invalid value: \"null\": some validation rules were not checked because the object was invalid; \
             correct the existing errors to complete validation"
        ]
    );
}

#[test]
fn unchanged_parts_may_stay_invalid() {
    let schema = StructuralSchema::new(&json!({"type": "object", "properties": {
        "plain": {"type": "array", "items": {"type": "string", "maxLength": 1}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer", "minimum": 5}}}},
    }}));
    let old = json!({"plain": ["long", "b"], "set": ["a", "a"], "map": [{"k": "a", "v": 1}, {"k": "b", "v": 9}]});
    let check = |new: Value| schema.validate(&new, Some(&old)).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        check(json!({"plain": ["long", "c"], "set": ["a", "a", "b"], "map": [{"k": "b", "v": 8}, {"k": "a", "v": 1}]})),
        Vec::<String>::new()
    );
    assert_eq!(
        check(json!({"plain": ["b", "long"], "map": [{"k": "a", "v": 2}]})),
        [
            "map[0].v: Invalid value: 2: map[0].v in body should be greater than or equal to 5",
            "plain[1]: Too long: may not be more than 1 bytes"
        ]
    );
}

#[test]
fn what_keeps_unknown_fields_still_prunes_what_it_knows() {
    let schema = StructuralSchema::new(&json!({"type": "object", "properties": {
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"closed": {"type": "object", "properties": {"a": {"type": "string"}}}}},
        "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "map": {"type": "object", "additionalProperties": {"type": "object"}},
    }}));
    let mut object = json!({"metadata": {"name": "n", "bogus": 1}, "open": {"x": {"y": 1}, "closed": {"a": "", "b": 1}},
        "list": [{"a": ""}, {"b": 1}], "map": {"k": {"z": 1}}});
    assert_eq!(schema.prune(&mut object), ["list[1].b", "map.k.z", "metadata.bogus", "open.closed.b"]);
    assert_eq!(
        object,
        json!({"metadata": {"name": "n"}, "open": {"x": {"y": 1}, "closed": {"a": ""}}, "list": [{"a": ""}, {}],
            "map": {"k": {}}})
    );
}
