//! Strings, numbers and booleans: enums, formats, limits.

use super::{convert::Structural, error::Error, flat::Flat};
use crate::build::short;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Formats of strings that an API server checks, and JSON Schema means the same by.
///
/// `duration` is not among them: `P1D` in JSON Schema, `24h` in Kubernetes.
///
/// # Source
///
/// apiextensions-apiserver `pkg/apiserver/validation/formats.go`.
const FORMATS: [&str; 19] = [
    "byte",
    "cidr",
    "date",
    "date-time",
    "email",
    "hexcolor",
    "hostname",
    "ipv4",
    "ipv6",
    "isbn",
    "isbn10",
    "isbn13",
    "k8s-long-name",
    "k8s-short-name",
    "mac",
    "password",
    "rgbcolor",
    "uri",
    "uuid",
];

/// Formats of integers of other sizes: the format in Kubernetes, the smallest and the largest value.
const INTEGERS: [(&str, &str, Option<i64>, Option<i64>); 9] = [
    ("int8", "int32", Some(-128), Some(127)),
    ("int16", "int32", Some(-32_768), Some(32_767)),
    ("uint8", "int32", Some(0), Some(255)),
    ("uint16", "int32", Some(0), Some(65_535)),
    ("uint32", "int64", Some(0), Some(4_294_967_295)),
    ("uint64", "int64", Some(0), None),
    ("uint", "int64", Some(0), None),
    ("int", "int64", None, None),
    ("uint128", "int64", Some(0), None),
];

/// The types that a value may have, among them null: as they are said, or as the other keywords let one guess.
pub(super) fn types<'a>(flat: &Flat<'a>) -> BTreeSet<&'a str> {
    let mut types: BTreeSet<&str> = match flat.get("type") {
        Some(Value::String(one)) => std::iter::once(one.as_str()).collect(),
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => BTreeSet::new(),
    };
    let has = |keywords: &[&str]| keywords.iter().any(|keyword| flat.get(keyword).is_some());
    if !types.iter().any(|ty| *ty != "null") {
        if flat.flag("x-kubernetes-int-or-string") {
            types.extend(["integer", "string"]);
        } else if !flat.properties.is_empty() || !flat.required.is_empty() || has(&["additionalProperties"]) {
            types.insert("object");
        } else if has(&["items", "prefixItems"]) {
            types.insert("array");
        } else {
            types.extend(values(flat).iter().map(|value| type_of(value)));
        }
    }
    // `["string", "null"]` with `enum: ["a"]` takes no null, but no generator means that.
    if values(flat).contains(&Value::Null) {
        types.insert("null");
    }
    types
}

/// The values of `enum` or `const`.
fn values(flat: &Flat<'_>) -> Vec<Value> {
    match (flat.get("const"), flat.get("enum")) {
        (Some(only), _) => vec![only.clone()],
        (None, Some(Value::Array(values))) => values.clone(),
        _ => Vec::new(),
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A value of one of these types, which are neither objects nor lists.
pub(super) fn convert(mut made: Structural, flat: &Flat<'_>, types: &[&str], path: &str) -> Result<Structural, Error> {
    if let Some(pattern) = flat.get("pattern") {
        made.set("pattern", pattern.clone());
    }
    let ty = match types {
        ["string" | "integer" | "number" | "boolean"] => types.first().copied().unwrap_or_default(),
        ["integer", "number"] => "number",
        // The only mixed type of Kubernetes. TypeScript and Quantities have no integers beside numbers.
        ["integer", "number", "string"] | ["integer" | "number", "string"] => {
            made.set("x-kubernetes-int-or-string", true);
            return Ok(made);
        }
        types => return Err(Error::Union { path: short(path), found: short(&types.join(" or ")) }),
    };
    made.set("type", ty);
    let mut allowed = values(flat);
    allowed.retain(|value| !value.is_null());
    if !allowed.is_empty() {
        made.set("enum", allowed);
    }
    if ty == "string" {
        counts(&mut made, flat, &["minLength", "maxLength"]);
        let format = if flat.text("contentEncoding") == "base64" { "byte" } else { flat.text("format") };
        if FORMATS.contains(&format) {
            made.set("format", format);
        }
    } else {
        numbers(&mut made, flat, ty);
    }
    Ok(made)
}

/// Limits that are counts: `2.0` is one as well as `2`.
pub(super) fn counts(made: &mut Structural, flat: &Flat<'_>, keywords: &[&str]) {
    for keyword in keywords {
        if let Some(value) = flat.get(keyword) {
            made.set(keyword, value.clone());
        }
    }
}

fn numbers(made: &mut Structural, flat: &Flat<'_>, ty: &str) {
    counts(made, flat, &["minimum", "maximum", "multipleOf"]);
    let format = flat.text("format");
    let sized = INTEGERS.iter().find(|(name, ..)| ty == "integer" && *name == format);
    if let Some((_, known, least, most)) = sized {
        made.set("format", *known);
        for (keyword, limit) in [("minimum", least), ("maximum", most)] {
            if let Some(limit) = limit.filter(|_| flat.get(keyword).is_none()) {
                made.set(keyword, limit);
            }
        }
    } else if matches!((ty, format), ("integer", "int32" | "int64") | ("number", "float" | "double")) {
        made.set("format", format);
    }
    // A number in JSON Schema, a mark of the other limit in Kubernetes.
    for (exclusive, limit) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        match flat.get(exclusive) {
            Some(Value::Bool(true)) => made.set(exclusive, true),
            Some(value @ Value::Number(_)) => {
                let at = value.as_f64().unwrap_or_default();
                let other = flat.get(limit).and_then(Value::as_f64);
                let is_closer = other.is_none_or(|other| if limit == "minimum" { at >= other } else { at <= other });
                if is_closer {
                    made.set(limit, value.clone());
                    made.set(exclusive, json!(true));
                }
            }
            _ => {}
        }
    }
}
