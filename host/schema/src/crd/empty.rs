//! Empty fields of a CustomResourceDefinition, which an API server does not store.

use serde_json::{Map, Number, Value};

/// Removes the empty fields of the spec that an API server does not store, and writes bounds such as 1.0 as 1.
///
/// # Source
///
/// `omitempty` in apiextensions-apiserver `pkg/apis/apiextensions/v1/types.go` and `types_jsonschema.go`. A field that is a pointer there
/// is stored as it is.
pub(super) fn omit_empty(spec: &mut Map<String, Value>) {
    omit(spec, &["preserveUnknownFields"]);
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
        omit(names, &["shortNames", "categories"]);
    }
    for version in spec.get_mut("versions").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(version) = version.as_object_mut() else { continue };
        omit(version, &["deprecated", "additionalPrinterColumns", "selectableFields"]);
        let columns = version.get_mut("additionalPrinterColumns").and_then(Value::as_array_mut);
        for column in columns.into_iter().flatten().filter_map(Value::as_object_mut) {
            omit(column, &["format", "description", "priority"]);
        }
        if let Some(schema) = version.get_mut("schema").and_then(|schema| schema.get_mut("openAPIV3Schema")) {
            omit_in_schema(schema);
        }
    }
}

const OF_A_SCHEMA: &[&str] = &[
    "id",
    "$schema",
    "description",
    "type",
    "format",
    "title",
    "pattern",
    "nullable",
    "uniqueItems",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "required",
    "enum",
    "allOf",
    "anyOf",
    "oneOf",
    "properties",
    "patternProperties",
    "definitions",
    "dependencies",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-validations",
];

fn omit_in_schema(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else { return };
    omit(schema, OF_A_SCHEMA);
    for (key, child) in schema.iter_mut() {
        match key.as_str() {
            "properties" | "patternProperties" | "definitions" | "dependencies" => {
                child.as_object_mut().into_iter().flat_map(Map::values_mut).for_each(omit_in_schema);
            }
            "items" | "not" | "additionalProperties" | "additionalItems" => omit_in_schema(child),
            "allOf" | "anyOf" | "oneOf" => child.as_array_mut().into_iter().flatten().for_each(omit_in_schema),
            "x-kubernetes-validations" => {
                for rule in child.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
                    omit(rule, &["message", "messageExpression", "fieldPath"]);
                }
            }
            "minimum" | "maximum" | "multipleOf" | "default" => shorten(child),
            _ => {}
        }
    }
}

fn omit(fields: &mut Map<String, Value>, omitted: &[&str]) {
    fields.retain(|field, value| {
        let empty = match value {
            Value::Null => true,
            Value::Bool(on) => !*on,
            Value::Number(number) => number.as_f64() == Some(0.0),
            Value::String(text) => text.is_empty(),
            Value::Array(list) => list.is_empty(),
            Value::Object(fields) => fields.is_empty(),
        };
        !(empty && omitted.contains(&field.as_str()))
    });
}

/// Go writes a number without a fraction as an integer.
fn shorten(number: &mut Value) {
    let integer = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 1e15);
    // Exact: an integer below 2^53.
    #[expect(clippy::cast_possible_truncation, reason = "the filter above")]
    if let Some(float) = integer {
        *number = Value::Number(Number::from(float as i64));
    }
}

#[cfg(test)]
mod tests {
    use crate::default_crd;
    use serde_json::json;

    /// The same definition is in tests/conformance/cases/crd/empty-fields.json, with the answer of kube-apiserver.
    #[test]
    fn what_a_generator_prints_is_stored_without_its_empty_fields() {
        let mut crd = json!({"spec": {"group": "g", "scope": "Namespaced", "preserveUnknownFields": false,
            "names": {"plural": "things", "kind": "Thing", "shortNames": [], "categories": []},
            "versions": [{"name": "v1", "served": false, "storage": true, "deprecated": false, "additionalPrinterColumns": [],
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "description": "", "required": [], "properties": {
                    "required": {"type": "integer", "minimum": 1.0, "maximum": 2.5, "nullable": false, "default": 2.0},
                    "flag": {"type": "boolean", "default": false}}}}}]}});
        default_crd(&mut crd);
        assert_eq!(
            crd,
            json!({"spec": {"group": "g", "scope": "Namespaced", "conversion": {"strategy": "None"},
                "names": {"plural": "things", "kind": "Thing", "singular": "thing", "listKind": "ThingList"},
                "versions": [{"name": "v1", "served": false, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                        "required": {"type": "integer", "minimum": 1, "maximum": 2.5, "default": 2},
                        "flag": {"type": "boolean", "default": false}}}}}]}})
        );
    }
}
