//! Schemas without references.

use serde_json::{Map, Value};

/// The schema with the components in place of references.
pub(crate) fn inlined(schema: &Value, components: &Map<String, Value>) -> Value {
    match schema {
        Value::Object(fields) => {
            let only = fields.get("allOf").and_then(|all| all.get(0)).unwrap_or(schema);
            if let Some(reference) = only["$ref"].as_str() {
                return inlined(&components[reference.rsplit('/').next().unwrap()], components);
            }
            fields.iter().map(|(name, value)| (name.clone(), inlined(value, components))).collect()
        }
        Value::Array(values) => values.iter().map(|value| inlined(value, components)).collect(),
        other => other.clone(),
    }
}
