//! Merge rules from the structural schema of a CustomResourceDefinition.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Field, ListKey, ListKind, Patch, Scalar, Schema, SchemaBuilder, TypeId, TypeSchema};

pub(super) fn document(schema: &Value) -> Schema {
    if !schema.is_object() {
        return Schema::default();
    }
    let mut builder = SchemaBuilder::new();
    let fields = properties(&mut builder, schema);
    let rest = rest(&mut builder, schema);
    let root = builder.document(fields, rest);
    builder.build(root)
}

fn properties(builder: &mut SchemaBuilder, schema: &Value) -> BTreeMap<String, Field> {
    let declared = schema.get("properties").and_then(Value::as_object);
    let field = |schema: &Value, builder: &mut SchemaBuilder| Field {
        patch: patch(schema),
        ..Field::new(convert(builder, schema))
    };
    declared.into_iter().flatten().map(|(name, schema)| (name.clone(), field(schema, builder))).collect()
}

/// The treatment of a field in a strategic merge patch, by its list type: maps with one key merge by it, sets merge, all others are
/// replaced. The API server accepts no such patches for custom resources, so this crate defines it.
fn patch(schema: &Value) -> Patch {
    match list_kind(schema) {
        ListKind::Map(keys) => match keys.as_slice() {
            [key] => Patch { merge: true, merge_key: key.name.clone(), retain_keys: false },
            _ => Patch::default(),
        },
        ListKind::Set => Patch { merge: true, ..Patch::default() },
        ListKind::Atomic => Patch::default(),
    }
}

/// The type of undeclared fields: `additionalProperties`, or anything where unknown fields are preserved.
fn rest(builder: &mut SchemaBuilder, schema: &Value) -> Option<TypeId> {
    match schema.get("additionalProperties") {
        Some(element @ Value::Object(_)) => Some(convert(builder, element)),
        Some(Value::Bool(true)) => Some(builder.any()),
        _ if is(schema, "x-kubernetes-preserve-unknown-fields") => Some(builder.any()),
        _ => None,
    }
}

fn is(schema: &Value, flag: &str) -> bool {
    schema.get(flag).and_then(Value::as_bool).unwrap_or(false)
}

fn text<'a>(schema: &'a Value, name: &str) -> &'a str {
    schema.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn convert(builder: &mut SchemaBuilder, schema: &Value) -> TypeId {
    if is(schema, "x-kubernetes-embedded-resource") {
        let fields = properties(builder, schema);
        let rest = rest(builder, schema);
        return builder.document(fields, rest);
    }
    if is(schema, "x-kubernetes-int-or-string") {
        return builder.scalar(Scalar::Any);
    }
    match text(schema, "type") {
        "string" => builder.scalar(Scalar::String),
        "integer" | "number" => builder.scalar(Scalar::Number),
        "boolean" => builder.scalar(Scalar::Bool),
        "array" => {
            let element = match schema.get("items") {
                Some(items) => convert(builder, items),
                None => builder.any(),
            };
            let kind = list_kind(schema);
            builder.list(kind, element)
        }
        "object" => {
            let atomic = text(schema, "x-kubernetes-map-type") == "atomic";
            let fields = properties(builder, schema);
            let rest = rest(builder, schema);
            match rest {
                Some(element) if fields.is_empty() && !is(schema, "x-kubernetes-preserve-unknown-fields") => {
                    builder.map(element, atomic)
                }
                Some(_) if fields.is_empty() => {
                    builder.add(if atomic { TypeSchema::AnyAtomic } else { TypeSchema::Any })
                }
                rest => builder.object(fields, rest, atomic),
            }
        }
        _ => builder.any(),
    }
}

fn list_kind(schema: &Value) -> ListKind {
    match text(schema, "x-kubernetes-list-type") {
        "set" => ListKind::Set,
        "map" => {
            let names = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
            let properties = schema.pointer("/items/properties");
            let key = |name: &str| ListKey {
                name: name.to_owned(),
                default: properties.and_then(|p| p.get(name)?.get("default")).cloned(),
            };
            ListKind::Map(names.into_iter().flatten().filter_map(Value::as_str).map(key).collect())
        }
        _ => ListKind::Atomic,
    }
}
