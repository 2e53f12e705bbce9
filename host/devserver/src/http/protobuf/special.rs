//! Types with a special JSON form.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{Error, Payload, Result, fill, lossy, wire};
use crate::model::fields;

/// The JSON of such a type; null for values that JSON omits.
pub(super) fn value(name: &str, bytes: &[u8], depth: usize) -> Result<Value> {
    match name {
        "meta.v1.Time" => time(bytes, "%Y-%m-%dT%H:%M:%SZ"),
        "meta.v1.MicroTime" => time(bytes, "%Y-%m-%dT%H:%M:%S.%6fZ"),
        "meta.v1.FieldsV1" | "runtime.RawExtension" | "apiextensions.v1.Json" => raw(bytes),
        "api.resource.Quantity" => Ok(text(bytes, 1)?.into()),
        "util.intstr.IntOrString" => int_or_string(bytes),
        name if name.starts_with("apiextensions.") => schema_or(name, bytes, depth),
        name => {
            let mut map = Map::new();
            fill(&mut map, fields::message(name), bytes, depth)?;
            Ok(map.remove("items").unwrap_or_else(|| Value::Array(Vec::new())))
        }
    }
}

/// Bytes as JSON has them.
pub(super) fn base64(bytes: &[u8]) -> Value {
    STANDARD.encode(bytes).into()
}

/// The text of a field.
fn text(bytes: &[u8], number: u32) -> Result<String> {
    let mut found = String::new();
    for field in wire::fields(bytes) {
        match field? {
            (n, Payload::Bytes(text)) if n == number => found = lossy(text),
            _ => {}
        }
    }
    Ok(found)
}

/// Seconds and nanoseconds since 1970; an empty message is no time.
fn time(bytes: &[u8], format: &str) -> Result<Value> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanos) = (0, 0);
    for field in wire::fields(bytes) {
        match field? {
            (1, Payload::Varint(number)) => seconds = number.cast_signed(),
            (2, Payload::Varint(number)) => nanos = number.cast_signed(),
            _ => {}
        }
    }
    let out_of_range = Error::Wire("a time out of range");
    let nanos = i32::try_from(nanos).map_err(|_large| Error::Wire("a time out of range"))?;
    let time = Timestamp::new(seconds, nanos).map_err(|_large| out_of_range)?;
    Ok(time.strftime(format).to_string().into())
}

/// JSON within a message.
fn raw(bytes: &[u8]) -> Result<Value> {
    for field in wire::fields(bytes) {
        if let (1, Payload::Bytes(json)) = field?
            && !json.is_empty()
        {
            return Ok(crate::http::body::json(json)?.value);
        }
    }
    Ok(Value::Null)
}

fn int_or_string(bytes: &[u8]) -> Result<Value> {
    let (mut is_text, mut number) = (false, 0);
    for field in wire::fields(bytes) {
        match field? {
            (1, Payload::Varint(kind)) => is_text = kind == 1,
            (2, Payload::Varint(n)) => number = n.cast_signed(),
            _ => {}
        }
    }
    Ok(if is_text { text(bytes, 3)?.into() } else { number.into() })
}

/// A schema, or a permitted alternative: a flag, a list of schemas, a list of names.
fn schema_or(name: &str, bytes: &[u8], depth: usize) -> Result<Value> {
    let depth = depth.checked_sub(1).ok_or(Error::Wire("too deeply nested"))?;
    let properties = |part: &[u8]| {
        let mut map = Map::new();
        fill(&mut map, fields::message("apiextensions.v1.JSONSchemaProps"), part, depth)?;
        Ok::<_, Error>(Value::Object(map))
    };
    let (or_bool, or_schemas) = (name.ends_with("OrBool"), name.ends_with("OrArray"));
    let schema_at = if or_bool { 2 } else { 1 };
    let (mut schema, mut others, mut allows) = (None, Vec::new(), false);
    for field in wire::fields(bytes) {
        match field? {
            (1, Payload::Varint(flag)) => allows = flag != 0,
            (number, Payload::Bytes(part)) if number == schema_at => schema = Some(properties(part)?),
            (2, Payload::Bytes(part)) if or_schemas => others.push(properties(part)?),
            (2, Payload::Bytes(part)) => others.push(lossy(part).into()),
            _ => {}
        }
    }
    Ok(match schema {
        Some(schema) => schema,
        None if or_bool => allows.into(),
        None => Value::Array(others),
    })
}
