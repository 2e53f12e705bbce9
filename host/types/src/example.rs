//! An object of a schema with what it requires, for tests and documents.

use serde_json::{Map, Value, json};

/// Deepest nesting that is followed.
const MAX_DEPTH: usize = 64;
/// Longest text that a minimum length asks for.
const MAX_LENGTH: usize = 1000;

/// The smallest value that has every required field of a structural schema; `spec` counts as required at the root.
///
/// Patterns and CEL rules are not followed: an API server may refuse the value.
#[must_use]
pub fn example(schema: &Value) -> Map<String, Value> {
    let mut made = object(schema, 0);
    for name in ["apiVersion", "kind", "metadata", "status"] {
        made.remove(name);
    }
    if let (Some(spec), None) = (schema.pointer("/properties/spec"), made.get("spec")) {
        made.insert("spec".to_owned(), value(spec, 1));
    }
    made
}

fn object(schema: &Value, depth: usize) -> Map<String, Value> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let own = strings(schema, "required");
    // Of variants, the first one.
    let first = ["oneOf", "anyOf"].iter().find_map(|key| schema.get(key)?.get(0));
    let names = own
        .iter()
        .chain(first.map(|one| strings(one, "required")).unwrap_or_default().iter())
        .copied()
        .collect::<Vec<_>>();
    let mut made = Map::new();
    for name in names {
        let tag = first.and_then(|one| one.pointer("/properties")?.get(name)).filter(|tag| tag.get("enum").is_some());
        if let Some(property) = tag.or_else(|| properties?.get(name)) {
            made.insert(name.to_owned(), value(property, depth + 1));
        }
    }
    made
}

fn strings<'v>(schema: &'v Value, key: &str) -> Vec<&'v str> {
    schema.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

fn value(schema: &Value, depth: usize) -> Value {
    if let Some(default) = schema.get("default") {
        return default.clone();
    }
    if let Some(first) = schema.get("enum").and_then(|all| all.get(0)) {
        return first.clone();
    }
    if depth > MAX_DEPTH || schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        return json!(1);
    }
    let count = |key: &str| schema.get(key).and_then(Value::as_u64).unwrap_or_default();
    match schema.get("type").and_then(Value::as_str).unwrap_or_default() {
        "boolean" => json!(false),
        "integer" => json!(least(schema, 1.0)),
        "number" => schema.get("minimum").cloned().unwrap_or(json!(1)),
        "array" => {
            let item = schema.get("items").unwrap_or(&Value::Null);
            (0..count("minItems").min(100)).map(|_| value(item, depth + 1)).collect()
        }
        "object" => object(schema, depth).into(),
        "string" => text(schema, usize::try_from(count("minLength")).unwrap_or(MAX_LENGTH)).into(),
        _ => json!({}),
    }
}

/// The smallest integer at or above the minimum.
fn least(schema: &Value, otherwise: f64) -> i64 {
    let exclusive = schema.get("exclusiveMinimum") == Some(&Value::Bool(true));
    let maximum = schema.get("maximum").and_then(Value::as_i64).unwrap_or(i64::MAX);
    #[expect(clippy::cast_possible_truncation, reason = "saturates")]
    let least = |least: f64| least.ceil() as i64;
    let minimum = schema.get("minimum").and_then(Value::as_f64).map(least);
    minimum.map_or(least(otherwise).min(maximum), |minimum| minimum.saturating_add(i64::from(exclusive)))
}

fn text(schema: &Value, length: usize) -> String {
    let known = match schema.get("format").and_then(Value::as_str).unwrap_or_default() {
        "date-time" => "2026-01-01T00:00:00Z",
        "date" => "2026-01-01",
        "byte" => "YQ==",
        "cidr" => "192.0.2.0/24",
        "duration" => "1m",
        "email" => "a@example.com",
        "hostname" => "example.com",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "mac" => "00:00:5e:00:53:01",
        "uri" => "https://example.com",
        "uuid" => "00000000-0000-4000-8000-000000000000",
        _ => "example",
    };
    let maximum = schema
        .get("maxLength")
        .and_then(Value::as_u64)
        .map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    let missing = length.min(MAX_LENGTH).saturating_sub(known.len());
    let text = format!("{known}{}", "x".repeat(missing));
    text.chars().take(maximum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_has_what_the_schema_requires() {
        let schema = json!({"type": "object", "required": ["status"], "properties": {
            "status": {"type": "object"},
            "spec": {"type": "object", "required": ["a", "b", "c", "d", "e"], "oneOf": [{"required": ["f"]}], "properties": {
                "a": {"type": "string", "minLength": 9}, "b": {"type": "integer", "minimum": 3, "exclusiveMinimum": true},
                "c": {"type": "array", "minItems": 1, "items": {"type": "string", "enum": ["x", "y"]}},
                "d": {"type": "object", "properties": {"z": {"type": "string"}}}, "e": {"type": "boolean", "default": true},
                "f": {"x-kubernetes-int-or-string": true}, "g": {"type": "string"},
            }},
        }});
        let spec = json!({"a": "examplexx", "b": 4, "c": ["x"], "d": {}, "e": true, "f": 1});
        assert_eq!(Value::Object(example(&schema)), json!({"spec": spec}));
    }
}
