//! Defaulting by a schema, and removal of nulls that the schema does not allow.

use serde_json::Value;

use crate::node::{Additional, Node};

/// Sets defaults, then drops nulls that the schema does not allow.
///
/// # Source
///
/// apiextensions-apiserver `pkg/apiserver/schema/defaulting/algorithm.go`, `Default`, and `prune.go`,
/// `PruneNonNullableNullsWithoutDefaults`.
pub(crate) fn default_object(node: &Node, value: &mut Value) {
    set_defaults(node, value);
    drop_nulls(node, value);
}

fn set_defaults(node: &Node, value: &mut Value) {
    match value {
        Value::Object(object) => {
            for (key, property) in &node.properties {
                let Some(default) = &property.default else { continue };
                if object.get(key).is_none_or(|v| property.refuses_null(v)) {
                    object.insert(key.clone(), default.clone());
                }
            }
            for (key, child) in object.iter_mut() {
                match (node.properties.get(key), node.additional.as_ref()) {
                    (Some(property), _) => set_defaults(property, child),
                    (None, Some(Additional::Schema(of_values))) => default_member(of_values, child),
                    _ => {}
                }
            }
        }
        Value::Array(items) => {
            if let Some(of_items) = node.items.as_deref() {
                items.iter_mut().for_each(|item| default_member(of_items, item));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn default_member(node: &Node, value: &mut Value) {
    if node.refuses_null(value)
        && let Some(default) = &node.default
    {
        *value = default.clone();
    }
    set_defaults(node, value);
}

fn drop_nulls(node: &Node, value: &mut Value) {
    match value {
        Value::Object(object) => object.retain(|key, child| match node.child(key) {
            Some(known) if known.refuses_null(child) => false,
            Some(known) => {
                drop_nulls(known, child);
                true
            }
            None => true,
        }),
        Value::Array(items) => {
            if let Some(of_items) = node.items.as_deref() {
                items.iter_mut().for_each(|item| drop_nulls(of_items, item));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Writes whole floats as integers, as an API server does when it stores JSON: `5.0` becomes `5`.
///
/// Floats above 2^53 stay as they are.
pub fn normalize_numbers(value: &mut Value) {
    match value {
        Value::Number(n) if n.is_f64() => {
            if let Some(f) = n.as_f64().filter(|f| f.fract() == 0.0 && f.abs() <= 9_007_199_254_740_992.0) {
                #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
                let whole = f as i64;
                *n = whole.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(normalize_numbers),
        Value::Object(object) => object.values_mut().for_each(normalize_numbers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
