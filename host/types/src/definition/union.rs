//! `oneOf` and `anyOf`: variants in one structural schema, with what tells them apart beside it.

use super::{convert::Structural, error::Error, flat::Flat};
use crate::build::short;
use serde_json::{Map, Value, json};

/// Keywords that a variant of an object may have; those of the second part restrict it.
const OBJECT: [&str; 9] = [
    "type",
    "description",
    "nullable",
    "default",
    "x-kubernetes-preserve-unknown-fields",
    "minProperties",
    "maxProperties",
    "oneOf",
    "anyOf",
];

/// The variants, and the keyword that lists them.
pub(super) fn branches<'a>(flat: &Flat<'a>) -> Option<(&'static str, &'a [Value])> {
    ["oneOf", "anyOf"].iter().find_map(|keyword| Some((*keyword, flat.get(keyword)?.as_array()?.as_slice())))
}

/// One schema of all variants.
///
/// * `made` - the description, and what else is said of every variant.
/// * `rest` - the object beside the variants.
pub(super) fn join(
    mut made: Structural,
    rest: Option<Structural>,
    keyword: &str,
    mut variants: Vec<Structural>,
    path: &str,
) -> Result<Structural, Error> {
    for variant in &mut variants {
        if variant.keywords.remove("nullable").is_some() {
            made.set("nullable", true);
        }
    }
    variants.dedup();
    let is_object =
        |one: &Structural| one.text("type") == "object" && !one.keywords.contains_key("additionalProperties");
    let unions_of_objects = variants.len() > 1 || rest.is_some();
    if unions_of_objects && variants.iter().chain(&rest).all(is_object) {
        return objects(made, rest, keyword, &variants, path);
    }
    match variants.len() {
        0 => Err(Error::Union { path: short(path), found: "always null".to_owned() }),
        1 => {
            let only = variants.pop().unwrap_or_default();
            Ok(beside(made, only))
        }
        _ => scalars(made, keyword, variants, path),
    }
}

/// The only variant, with what is said outside before what it says itself.
fn beside(mut made: Structural, only: Structural) -> Structural {
    for (keyword, value) in only.keywords {
        made.keywords.entry(keyword).or_insert(value);
    }
    made.properties = only.properties;
    made.required = only.required;
    made
}

fn scalars(mut made: Structural, keyword: &str, variants: Vec<Structural>, path: &str) -> Result<Structural, Error> {
    let int_or_string = "x-kubernetes-int-or-string";
    let name = |one: &Structural| match one.text("type") {
        "" if one.keywords.contains_key(int_or_string) => "integer or string".to_owned(),
        "" => "any value".to_owned(),
        other => other.to_owned(),
    };
    let mut types: Vec<String> = variants.iter().map(name).collect();
    types.sort_unstable();
    types.dedup();
    let error = || Error::Union { path: short(path), found: types.join(" or ") };
    match types.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        types if types.contains(&"any value") => {
            made.set("x-kubernetes-preserve-unknown-fields", true);
            made.set("nullable", true);
            Ok(made)
        }
        ["string" | "integer" | "number" | "boolean"] => Ok(same_type(made, keyword, variants)),
        ["integer", "number"] if variants.iter().all(|one| one.keywords.len() == 1) => {
            made.set("type", "number");
            Ok(made)
        }
        types if types.iter().all(|ty| matches!(*ty, "integer" | "number" | "string" | "integer or string")) => {
            made.set(int_or_string, true);
            // That of a quantity, say: it counts for strings only.
            if let Some(pattern) = variants.iter().find_map(|one| one.keywords.get("pattern")) {
                made.set("pattern", pattern.clone());
            }
            if variants.iter().any(|one| one.keywords.contains_key("enum")) { Err(error()) } else { Ok(made) }
        }
        _ => Err(error()),
    }
}

/// Variants of one type: an enum with its descriptions, or the limits of each in `anyOf`.
fn same_type(mut made: Structural, keyword: &str, variants: Vec<Structural>) -> Structural {
    if let Some(ty) = variants.first().and_then(|first| first.keywords.get("type")) {
        made.set("type", ty.clone());
    }
    if variants.iter().all(|one| one.keywords.contains_key("enum")) {
        let mut values: Vec<Value> = Vec::new();
        let mut docs = Vec::new();
        for variant in &variants {
            let own = variant.keywords.get("enum").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            values.extend(own.iter().filter(|value| !values.contains(value)).cloned().collect::<Vec<_>>());
            let doc = variant.text("description");
            if let ([Value::String(value)], false) = (own, doc.is_empty()) {
                docs.push(format!("- {value}: {doc}"));
            }
        }
        if !docs.is_empty() {
            let before = made.text("description").to_owned();
            made.set("description", [vec![before], docs].concat().join("\n").trim().to_owned());
        }
        made.set("enum", values);
        return made;
    }
    let limits: Vec<Map<String, Value>> = variants
        .into_iter()
        .map(|one| {
            let is_limit = |key: &str| !matches!(key, "type" | "description" | "default") && !key.starts_with("x-");
            one.keywords.into_iter().filter(|(key, _)| is_limit(key)).collect()
        })
        .collect();
    // A variant without a limit takes what the others take.
    if limits.iter().all(|limit| !limit.is_empty()) {
        made.set(keyword, limits.into_iter().map(Value::Object).collect::<Value>());
    }
    made
}

/// The fields of all variants in one object; beside it, what each variant requires.
fn objects(
    made: Structural,
    rest: Option<Structural>,
    keyword: &str,
    variants: &[Structural],
    path: &str,
) -> Result<Structural, Error> {
    let mut joined = beside(made, rest.unwrap_or_default());
    joined.set("type", "object");
    for variant in variants {
        if let Some(unknown) = variant.keywords.keys().find(|key| !OBJECT.contains(&key.as_str())) {
            return Err(Error::Keyword {
                path: short(path),
                keyword: format!("{} in a variant", short(unknown)),
                advice: "say it of the field that has the variants",
            });
        }
        if variant.keywords.contains_key("x-kubernetes-preserve-unknown-fields") {
            joined.set("x-kubernetes-preserve-unknown-fields", true);
        }
        for (name, property) in &variant.properties {
            let merged = match joined.properties.get(name) {
                None => property.clone(),
                Some(known) => merged(known, property)
                    .ok_or_else(|| Error::Conflict { path: short(path), subject: short(name) })?,
            };
            joined.properties.insert(name.clone(), merged);
        }
    }
    let limits: Vec<Value> = variants.iter().map(|variant| limits(&joined, variant)).collect();
    if limits.iter().all(|limit| *limit != json!({})) && !limits.is_empty() {
        joined.set(keyword, limits);
    }
    Ok(joined)
}

/// One schema of a field that two variants have: the same but for the description, or two enums.
fn merged(known: &Value, other: &Value) -> Option<Value> {
    let without = |schema: &Value| {
        let mut schema = schema.clone();
        let fields = schema.as_object_mut()?;
        let values = fields.remove("enum");
        fields.remove("description");
        fields.remove("default");
        Some((schema, values))
    };
    let ((left, left_values), (right, right_values)) = (without(known)?, without(other)?);
    if left != right {
        return None;
    }
    let mut merged = known.clone();
    let fields = merged.as_object_mut()?;
    match (left_values, right_values) {
        (Some(Value::Array(mut all)), Some(Value::Array(more))) => {
            let new: Vec<Value> = more.into_iter().filter(|value| !all.contains(value)).collect();
            all.extend(new);
            fields.insert("enum".to_owned(), all.into());
        }
        (None, None) => {}
        // One takes every value.
        _ => {
            fields.remove("enum");
        }
    }
    // The default of one variant would be written into objects of the other.
    for keyword in ["default", "description"] {
        if known.get(keyword) != other.get(keyword) {
            fields.remove(keyword);
        }
    }
    Some(merged)
}

/// What a variant says beyond the object of all variants: required fields, and the values of fields that tell variants apart.
fn limits(joined: &Structural, variant: &Structural) -> Value {
    let mut limits = Map::new();
    let required: Vec<&String> = variant.required.iter().filter(|name| !joined.required.contains(*name)).collect();
    if !required.is_empty() {
        limits.insert("required".to_owned(), json!(required));
    }
    let mut tags = Map::new();
    for (name, property) in &variant.properties {
        let known = joined.properties.get(name).and_then(|known| known.get("enum"));
        if let Some(values) = property.get("enum").filter(|values| Some(*values) != known) {
            tags.insert(name.clone(), json!({"enum": values}));
        }
    }
    if !tags.is_empty() {
        limits.insert("properties".to_owned(), tags.into());
    }
    for keyword in ["minProperties", "maxProperties", "oneOf", "anyOf"] {
        if let Some(value) = variant.keywords.get(keyword) {
            limits.insert(keyword.to_owned(), value.clone());
        }
    }
    Value::Object(limits)
}
