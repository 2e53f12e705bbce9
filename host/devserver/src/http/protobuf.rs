//! Kubernetes' protobuf in request bodies, as Go clients and kubectl's generators send it, converted into JSON. Responses are never
//! protobuf: these clients accept JSON as well.
//!
//! The fields come from a table (`model/fields.txt`), so no kind needs its own code, except for a few types with a special JSON form.

use serde_json::{Map, Value};

mod special;
mod wire;

use crate::model::fields::{self, Field, Kind, Shape};
use wire::Payload;

/// The media type of these bodies.
pub(crate) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// The prefix of each body.
const MAGIC: &[u8] = b"k8s\0";
/// Greatest nesting of messages.
const DEPTH: usize = 64;

/// Why a body cannot be decoded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The prefix is wrong.
    #[error("provided data does not appear to be a protobuf message, expected prefix {MAGIC:?}")]
    Prefix,
    /// The bytes are no protobuf.
    #[error("proto: {0}")]
    Wire(&'static str),
    /// The table has no such message.
    #[error("no kind \"{kind}\" is registered for version \"{api_version}\" in protobuf")]
    Kind {
        /// The apiVersion of the envelope.
        api_version: String,
        /// Its kind.
        kind: String,
    },
    /// An embedded JSON part is invalid.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
}

type Result<T, E = Error> = std::result::Result<T, E>;

/// The object of a body, with apiVersion and kind.
///
/// # Errors
///
/// Any fault in the bytes; no bytes cause a panic or unbounded recursion.
///
/// # Source
///
/// apimachinery `pkg/runtime/serializer/protobuf`
pub(crate) fn object(body: &[u8]) -> Result<Value> {
    let envelope = body.strip_prefix(MAGIC).ok_or(Error::Prefix)?;
    let (mut api_version, mut kind, mut raw, mut content_type) = (String::new(), String::new(), &[][..], String::new());
    for field in wire::fields(envelope) {
        match field? {
            (1, Payload::Bytes(type_meta)) => {
                for field in wire::fields(type_meta) {
                    match field? {
                        (1, Payload::Bytes(text)) => api_version = lossy(text),
                        (2, Payload::Bytes(text)) => kind = lossy(text),
                        _ => {}
                    }
                }
            }
            (2, Payload::Bytes(bytes)) => raw = bytes,
            (4, Payload::Bytes(text)) => content_type = lossy(text),
            _ => {}
        }
    }
    if content_type == "application/json" {
        return Ok(crate::http::body::json(raw)?.value);
    }
    let Some((_, known)) = fields::of_kind(&api_version, &kind) else { return Err(Error::Kind { api_version, kind }) };
    let mut map = Map::new();
    fill(&mut map, known, raw, DEPTH)?;
    map.insert("apiVersion".to_owned(), api_version.into());
    map.insert("kind".to_owned(), kind.into());
    Ok(Value::Object(map))
}

/// Adds the fields of a message to an object; of a repeated field the later value counts, messages are merged.
fn fill(map: &mut Map<String, Value>, known: &[Field], bytes: &[u8], depth: usize) -> Result<()> {
    let depth = depth.checked_sub(1).ok_or(Error::Wire("too deeply nested"))?;
    for part in wire::fields(bytes) {
        let (number, payload) = part?;
        // Unknown fields of newer clients are dropped, as in the API server.
        let Some(field) = known.iter().find(|f| f.number == number) else { continue };
        match field.shape {
            Shape::One => one(map, field, &payload, depth)?,
            Shape::Many => many(map, field, payload, depth)?,
            Shape::Map => entry(map, field, payload, depth)?,
        }
    }
    Ok(())
}

fn one(map: &mut Map<String, Value>, field: &Field, payload: &Payload<'_>, depth: usize) -> Result<()> {
    if let (Kind::Message(name), Payload::Bytes(bytes)) = (field.kind, payload)
        && !fields::is_special(name)
    {
        let inner = fields::message(name);
        if field.is_embedded() {
            return fill(map, inner, bytes, depth);
        }
        let into = map.entry(field.name).or_insert_with(|| Value::Object(Map::new()));
        return into.as_object_mut().map_or(Ok(()), |into| fill(into, inner, bytes, depth));
    }
    let value = value(field.kind, payload, depth)?;
    if value.is_null() || (!field.zero_counts && is_zero(&value)) {
        map.remove(field.name);
    } else {
        map.insert(field.name.to_owned(), value);
    }
    Ok(())
}

fn many(map: &mut Map<String, Value>, field: &Field, payload: Payload<'_>, depth: usize) -> Result<()> {
    let list = map.entry(field.name).or_insert_with(|| Value::Array(Vec::new()));
    let Some(list) = list.as_array_mut() else { return Ok(()) };
    match (field.kind, payload) {
        // Numbers may come one by one or packed.
        (Kind::Int32 | Kind::Int64, Payload::Bytes(packed)) => {
            for number in wire::varints(packed) {
                list.push(value(field.kind, &Payload::Varint(number?), depth)?);
            }
        }
        (kind, payload) => list.push(value(kind, &payload, depth)?),
    }
    Ok(())
}

/// One entry of a map: a message of a key and a value.
fn entry(map: &mut Map<String, Value>, field: &Field, payload: Payload<'_>, depth: usize) -> Result<()> {
    let Payload::Bytes(bytes) = payload else { return Err(Error::Wire("wrong wireType")) };
    let (mut key, mut found) = (String::new(), None);
    for part in wire::fields(bytes) {
        match part? {
            (1, Payload::Bytes(text)) => key = lossy(text),
            (2, payload) => found = Some(value(field.kind, &payload, depth)?),
            _ => {}
        }
    }
    let member = match found {
        Some(member) => member,
        None => value(field.kind, &Payload::Bytes(&[]), depth)?,
    };
    let entries = map.entry(field.name).or_insert_with(|| Value::Object(Map::new()));
    if let Some(entries) = entries.as_object_mut() {
        entries.insert(key, member);
    }
    Ok(())
}

fn value(kind: Kind, payload: &Payload<'_>, depth: usize) -> Result<Value> {
    Ok(match (kind, payload) {
        (Kind::Int32 | Kind::Int64, Payload::Varint(number)) => number.cast_signed().into(),
        (Kind::Bool, Payload::Varint(number)) => (*number != 0).into(),
        (Kind::Double, Payload::Fixed64(bits)) => serde_json::Number::from_f64(f64::from_bits(*bits)).into(),
        (Kind::Text, Payload::Bytes(text)) => lossy(text).into(),
        (Kind::Bytes, Payload::Bytes(bytes)) => special::base64(bytes),
        (Kind::Message(name), Payload::Bytes(bytes)) if fields::is_special(name) => special::value(name, bytes, depth)?,
        (Kind::Message(name), Payload::Bytes(bytes)) => {
            let mut map = Map::new();
            fill(&mut map, fields::message(name), bytes, depth)?;
            Value::Object(map)
        }
        _ => return Err(Error::Wire("wrong wireType")),
    })
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
mod tests;
