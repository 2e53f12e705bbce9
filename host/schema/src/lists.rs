//! Uniqueness of members in lists that are sets or maps.

use serde_json::Value;

use crate::{
    error::FieldError,
    node::{Additional, ListType, MAX_DEPTH, Node, map_key},
};

/// Members that repeat an earlier one, at every level of `value`.
///
/// # Source
///
/// apiextensions-apiserver `pkg/apiserver/schema/listtype/validation.go`.
pub(crate) fn check_lists(node: &Node, value: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(node, value, "", &mut errors, 0);
    errors
}

fn walk(node: &Node, value: &Value, path: &str, errors: &mut Vec<FieldError>, depth: usize) {
    if depth > MAX_DEPTH * 2 {
        return;
    }
    match value {
        Value::Array(items) => {
            match &node.list_type {
                ListType::Unsaid | ListType::Atomic => {}
                ListType::Set => report(items.iter().map(|item| Some(item.clone())), path, errors),
                ListType::Map(keys) => {
                    for (i, item) in items.iter().enumerate().filter(|(_, item)| !item.is_object()) {
                        let detail = "must be an object for an array of list-type map";
                        errors.push(FieldError::invalid(&format!("{path}[{i}]"), item, detail));
                    }
                    report(items.iter().map(|item| map_key(node, keys, item).map(Value::Object)), path, errors);
                }
            }
            if let Some(of_items) = node.items.as_deref() {
                for (i, item) in items.iter().enumerate() {
                    walk(of_items, item, &format!("{path}[{i}]"), errors, depth + 1);
                }
            }
        }
        Value::Object(object) => {
            for (key, child) in object {
                if let Some(known) = node.properties.get(key) {
                    let at = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    walk(known, child, &at, errors, depth + 1);
                } else if let Some(Additional::Schema(known)) = node.additional.as_ref() {
                    walk(known, child, &format!("{path}[{key}]"), errors, depth + 1);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn report(members: impl Iterator<Item = Option<Value>>, path: &str, errors: &mut Vec<FieldError>) {
    // Keyed by canonical text: serde_json's maps are sorted, and a quadratic search would make a large list slow.
    let mut seen = std::collections::HashSet::new();
    for (i, member) in members.enumerate() {
        let Some(member) = member else { continue };
        if !seen.insert(member.to_string()) {
            errors.push(FieldError::duplicate(&format!("{path}[{i}]"), &member));
        }
    }
}
