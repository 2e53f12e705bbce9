//! Random objects of a schema.

use serde_json::{Map, Value, json};

/// An object of a schema. Optional fields are there with a chance of `percent`; null is only where the schema has `nullable`.
pub(crate) fn object(random: &mut fastrand::Rng, schema: &Value, percent: u8) -> Value {
    let types = |key: &str| schema[key].as_array().is_some_and(|all| all.len() == 2 && all[0]["type"].is_string());
    if schema["oneOf"][1]["type"] == "number" {
        return json!("100m");
    }
    if schema["x-kubernetes-int-or-string"] == true
        || schema["format"] == "int-or-string"
        || (schema["type"].is_null() && (types("anyOf") || types("oneOf")))
    {
        return if random.bool() { json!(random.i64(..)) } else { json!("100m") };
    }
    let parts = schema["allOf"].as_array().into_iter().flatten().chain([schema]);
    let mut enums = parts.filter_map(|part| part["enum"].as_array().filter(|values| !values.is_empty()));
    let mut values: Vec<&Value> = enums.next().into_iter().flatten().filter(|value| !value.is_null()).collect();
    enums.for_each(|more| values.retain(|value| more.contains(value)));
    if let Some(value) = random.choice(&values) {
        return (*value).clone();
    }
    match schema["type"].as_str() {
        Some("boolean") => json!(random.bool()),
        Some("integer") if schema["format"] == "int32" => json!(random.i32(..)),
        Some("integer") => json!(random.i64(..)),
        Some("number") => json!(random.f64()),
        Some("string") if schema["format"] == "date-time" => json!("2026-01-02T03:04:05.000Z"),
        Some("string") if schema["format"] == "byte" => json!("YQ=="),
        Some("string") => json!(*random.choice(["", "a", "é\n\"", "*/", "<&>"].iter()).unwrap()),
        Some("array") => (0..if percent == 0 { 0 } else { random.usize(..3) })
            .map(|_| nullable(random, &schema["items"], percent))
            .collect(),
        Some("object") => Value::Object(members(random, schema, percent)),
        _ if schema["properties"].is_object() => Value::Object(members(random, schema, percent)),
        _ => [json!({"a": null}), json!(1), json!("x")][random.usize(..3)].clone(),
    }
}

fn members(random: &mut fastrand::Rng, schema: &Value, percent: u8) -> Map<String, Value> {
    let mut made = Map::new();
    let required = |name: &str| schema["required"].as_array().is_some_and(|all| all.contains(&json!(name)));
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if required(name) || random.u8(..100) < percent {
            made.insert(name.clone(), nullable(random, property, percent));
        }
    }
    if schema["additionalProperties"].is_object() {
        for name in ["a", "b/c"] {
            made.insert(name.to_owned(), nullable(random, &schema["additionalProperties"], percent));
        }
    } else if schema["x-kubernetes-preserve-unknown-fields"] == true {
        made.insert("unknown".to_owned(), json!({"a": [1, null]}));
    }
    made
}

fn nullable(random: &mut fastrand::Rng, schema: &Value, percent: u8) -> Value {
    let null = schema["nullable"] == true && random.u8(..4) == 0;
    if null { Value::Null } else { object(random, schema, percent) }
}

/// A whole object with the type and metadata of a kind.
pub(crate) fn whole(random: &mut fastrand::Rng, api_version: &str, kind: &str, schema: &Value, percent: u8) -> Value {
    let mut made = object(random, schema, percent);
    made["apiVersion"] = json!(api_version);
    made["kind"] = json!(kind);
    made["metadata"] = json!({"name": "a", "labels": {"b": "c"}, "managedFields": [{"manager": "m"}]});
    made
}
