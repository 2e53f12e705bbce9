//! Type and metadata of embedded objects.

use serde_json::Value;

use crate::{
    error::FieldError,
    names,
    node::{MAX_DEPTH, Node},
};

/// Validates `apiVersion`, `kind` and `metadata` wherever the schema embeds a whole object.
///
/// # Source
///
/// apiextensions-apiserver `pkg/apiserver/schema/objectmeta/validation.go`.
pub(crate) fn check_embedded(node: &Node, value: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(node, value, "", &mut errors, 0);
    errors
}

fn walk(node: &Node, value: &Value, path: &str, errors: &mut Vec<FieldError>, depth: usize) {
    if depth > MAX_DEPTH * 2 {
        return;
    }
    if node.embedded {
        check(value, path, errors);
    }
    match value {
        Value::Object(object) => {
            for (key, child) in object {
                if let Some(known) = node.child(key) {
                    let at = match (path.is_empty(), node.properties.contains_key(key)) {
                        (true, _) => key.clone(),
                        (_, true) => format!("{path}.{key}"),
                        (_, false) => format!("{path}[{key}]"),
                    };
                    walk(known, child, &at, errors, depth + 1);
                }
            }
        }
        Value::Array(items) => {
            if let Some(of_items) = node.items.as_deref() {
                for (i, item) in items.iter().enumerate() {
                    walk(of_items, item, &format!("{path}[{i}]"), errors, depth + 1);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn check(value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    if let Some(version) = text("apiVersion") {
        let at = format!("{path}.apiVersion");
        if version.is_empty() {
            errors.push(FieldError::invalid(&at, &version.into(), "must not be empty"));
        } else if version.matches('/').count() > 1 {
            errors.push(FieldError::invalid(
                &at,
                &version.into(),
                &format!("unexpected GroupVersion string: {version}"),
            ));
        }
    }
    if let Some(kind) = text("kind") {
        let at = format!("{path}.kind");
        if kind.is_empty() {
            errors.push(FieldError::invalid(&at, &kind.into(), "must not be empty"));
        } else if let Err(fault) = names::dns1035_label(&kind.to_lowercase()) {
            errors.push(FieldError::invalid(&at, &kind.into(), &format!("{}{fault}", names::MIXED_CASE)));
        }
    }
    let Some(meta) = value.get("metadata") else { return };
    if let Some(name) = meta.get("name").and_then(Value::as_str)
        && let Err(fault) = names::path_segment(name)
    {
        errors.push(FieldError::invalid(&format!("{path}.metadata.name"), &name.into(), &fault));
    }
    check_pairs(meta, &format!("{path}.metadata"), errors);
}

/// Checks labels and annotations of a metadata at `path`.
pub(crate) fn check_pairs(meta: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for (field, is_label) in [("labels", true), ("annotations", false)] {
        let Some(pairs) = meta.get(field).and_then(Value::as_object) else { continue };
        let at = format!("{path}.{field}");
        for (key, value) in pairs {
            if let Err(fault) = names::qualified_name(key) {
                errors.push(FieldError::invalid(&at, &key.as_str().into(), &fault));
            }
            if is_label
                && let Some(value) = value.as_str()
                && let Err(fault) = names::label_value(value)
            {
                errors.push(FieldError::invalid(&at, &value.into(), &fault));
            }
        }
    }
}
