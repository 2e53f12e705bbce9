//! Arbitrary JSON as schema, as object and as definition.

use oarlock_jsonpath::JsonPath;
use oarlock_schema::{Crd, StructuralSchema, normalize_numbers, openapi_v2, openapi_v3, prune_crd, validate_crd};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const FIELDS: [&str; 4] = ["a", "b", "metadata", "spec"];

fn object() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-5i64..5).prop_map(Value::from),
        (-2.0f64..2.0).prop_map(Value::from),
        Just(json!(5.0)),
        prop_oneof![Just("x"), Just("10.0.0.0/8"), Just("2024-01-01T00:00:00Z"), Just("")].prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(prop::sample::select(&FIELDS[..]).prop_map(str::to_owned), inner, 0..4)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

/// One keyword of a schema: mostly meaningful, sometimes of the wrong type.
fn keyword(inner: impl Strategy<Value = Value> + Clone + 'static) -> impl Strategy<Value = (String, Value)> {
    let types = prop::sample::select(vec!["object", "array", "string", "integer", "number", "boolean", "bogus"]);
    let named =
        prop::collection::btree_map(prop::sample::select(&FIELDS[..]).prop_map(str::to_owned), inner.clone(), 0..3)
            .prop_map(|m| Value::Object(m.into_iter().collect::<Map<_, _>>()));
    let flags = prop::sample::select(vec![
        "nullable",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
        "uniqueItems",
        "exclusiveMinimum",
    ]);
    let counts = prop::sample::select(vec![
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        "multipleOf",
    ]);
    let single = prop::sample::select(vec!["items", "not", "additionalProperties"]);
    let several = prop::sample::select(vec!["allOf", "anyOf", "oneOf"]);
    let formats =
        prop::sample::select(vec!["date-time", "cidr", "byte", "duration", "int32", "uuid", "email", "uri", "isbn"]);
    let rules = prop::sample::select(vec![
        "self == oldSelf",
        "self > 1",
        "self.a == 'x'",
        "has(self.a)",
        "cidr(self).prefixLength() > 3",
        "(",
        "nope",
    ]);
    prop_oneof![
        4 => types.prop_map(|t| ("type".to_owned(), t.into())),
        4 => named.prop_map(|p| ("properties".to_owned(), p)),
        2 => (single, inner.clone()).prop_map(|(k, v)| (k.to_owned(), v)),
        1 => (several, prop::collection::vec(inner, 0..3)).prop_map(|(k, v)| (k.to_owned(), v.into())),
        2 => (flags, any::<bool>()).prop_map(|(k, v)| (k.to_owned(), v.into())),
        1 => (counts, -2i64..4).prop_map(|(k, v)| (k.to_owned(), v.into())),
        1 => formats.prop_map(|f| ("format".to_owned(), f.into())),
        1 => rules.prop_map(|r| ("x-kubernetes-validations".to_owned(), json!([{"rule": r, "fieldPath": ".a"}]))),
        1 => object().prop_map(|v| ("default".to_owned(), v)),
        1 => object().prop_map(|v| ("enum".to_owned(), json!([v]))),
        1 => prop::sample::select(vec!["set", "map", "atomic"]).prop_map(|t| ("x-kubernetes-list-type".to_owned(), t.into())),
        1 => Just(("x-kubernetes-list-map-keys".to_owned(), json!(["a"]))),
        1 => Just(("required".to_owned(), json!(["a"]))),
        1 => object().prop_map(|v| ("properties".to_owned(), v)),
    ]
}

fn schema() -> impl Strategy<Value = Value> {
    Just(json!({})).prop_recursive(4, 24, 4, |inner| {
        prop::collection::vec(keyword(inner), 0..6).prop_map(|pairs| Value::Object(pairs.into_iter().collect()))
    })
}

proptest! {
    #[test]
    fn nothing_panics_and_twice_is_once(schema in schema(), object in object(), old in object()) {
        let schema = StructuralSchema::new(&schema);
        let mut once = object;
        normalize_numbers(&mut once);
        let mut old = old;
        schema.prune(&mut old);
        schema.prune(&mut once);
        prop_assert!(schema.prune(&mut once.clone()).is_empty());
        schema.default(&mut once);
        let mut twice = once.clone();
        schema.default(&mut twice);
        prop_assert_eq!(&twice, &once);
        let _ = schema.validate(&once, None);
        let _ = schema.validate(&once, Some(&old));
        let _ = schema.validate_status(&once, &old);
        // Unchanged values are accepted in any case; only rules about change may reject them.
        for error in schema.validate(&once, Some(&once)) {
            prop_assert!(!error.message.contains(" in body "), "{error}");
        }
    }

    #[test]
    fn no_definition_panics(schema in schema(), spec in object()) {
        let mut definition = json!({"metadata": {"name": "as.b.c"}, "spec": {"group": "b.c", "scope": "Cluster",
            "names": {"plural": "as", "kind": "A"}, "versions": [{"name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": schema}}]}});
        prune_crd(&mut definition);
        if let Ok(crd) = Crd::parse(&definition) {
            let _ = openapi_v3(&crd, &crd.versions[0]);
            let _ = openapi_v2(&crd, &crd.versions[0]);
            let _ = crd.versions[0].merge_schema();
        }
        let mut definition = json!({"spec": spec});
        prune_crd(&mut definition);
        let _ = validate_crd(&definition);
        let _ = validate_crd(&spec);
    }

    #[test]
    fn no_path_panics(text in "[.a\\[\\]'\"?(@=)*0-9: ,$\\\\-]{0,24}", object in object()) {
        if let Ok(path) = JsonPath::parse(&text) {
            let _ = path.find(&object);
        }
    }
}
