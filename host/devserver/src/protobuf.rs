//! Kubernetes' protobuf as JSON: what kubectl sends when it creates things.
//!
//! Answers are always JSON; clients accept it. Which kinds can be read is in `tables/protobuf.txt`.

use std::{collections::HashMap, sync::LazyLock};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};

/// Stands before every message.
const MAGIC: &[u8] = b"k8s\0";
/// Deeper messages are refused: the recursion must end.
const MAX_DEPTH: usize = 40;

/// The message cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unreadable;

type Outcome<T> = Result<T, Unreadable>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    One,
    List,
    Map,
    /// The members of the message belong to its parent.
    Inline,
}

#[derive(Debug)]
struct Field {
    json: &'static str,
    ty: &'static str,
    shape: Shape,
    /// A zero is a value, not an absence.
    keep_zero: bool,
}

type Message = HashMap<u64, Field>;

static MESSAGES: LazyLock<HashMap<&'static str, Message>> =
    LazyLock::new(|| include_str!("../tables/protobuf.txt").lines().filter_map(message).collect());

fn message(line: &'static str) -> Option<(&'static str, Message)> {
    let (name, fields) = line.split_once(": ")?;
    (!name.starts_with('#')).then(|| (name, fields.split(", ").filter_map(field).collect()))
}

fn field(text: &'static str) -> Option<(u64, Field)> {
    let mut words = text.split(' ');
    let (number, json, ty) = (words.next()?.parse().ok()?, words.next()?, words.next()?);
    let (ty, keep_zero) = ty.strip_suffix('?').map_or((ty, false), |t| (t, true));
    let (shape, ty) = match ty.chars().next()? {
        '*' => (Shape::List, ty.get(1..)?),
        '%' => (Shape::Map, ty.get(1..)?),
        '=' => (Shape::Inline, ty.get(1..)?),
        _ => (Shape::One, ty),
    };
    Some((number, Field { json, ty, shape, keep_zero }))
}

/// A field of a message, for descriptions of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FieldInfo {
    pub(crate) json: &'static str,
    /// A scalar or the name of another message.
    pub(crate) ty: &'static str,
    pub(crate) list: bool,
    pub(crate) map: bool,
}

/// The JSON members of a message, if it is known.
pub(crate) fn fields(message: &str) -> Option<Vec<FieldInfo>> {
    let mut out = Vec::new();
    for field in MESSAGES.get(message)?.values() {
        if field.shape == Shape::Inline {
            out.extend(fields(field.ty).unwrap_or_default());
        } else {
            let (list, map) = (field.shape == Shape::List, field.shape == Shape::Map);
            out.push(FieldInfo { json: field.json, ty: field.ty, list, map });
        }
    }
    Some(out)
}

/// The document in an envelope, with kind and apiVersion.
pub(crate) fn decode(bytes: &[u8]) -> Outcome<Value> {
    let mut envelope = Reader(bytes.strip_prefix(MAGIC).ok_or(Unreadable)?);
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    while let Some((number, wire)) = envelope.next()? {
        match (number, wire) {
            (1, Wire::Bytes(meta)) => {
                let mut meta = Reader(meta);
                while let Some((number, wire)) = meta.next()? {
                    match (number, wire) {
                        (1, Wire::Bytes(b)) => api_version = text(b)?,
                        (2, Wire::Bytes(b)) => kind = text(b)?,
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(body)) => raw = body,
            _ => {}
        }
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("core", &api_version));
    let group = group.split('.').next().unwrap_or_default();
    let mut name = format!("{group}.{version}.{kind}");
    if kind == "DeleteOptions" {
        "meta.v1.DeleteOptions".clone_into(&mut name);
    }
    let mut map = read(&name, raw, 0)?;
    map.insert("kind".to_owned(), kind.into());
    map.insert("apiVersion".to_owned(), api_version.clone().into());
    Ok(Value::Object(map))
}

enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn varint(&mut self) -> Outcome<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (first, rest) = self.0.split_first().ok_or(Unreadable)?;
            self.0 = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Unreadable)
    }

    fn take(&mut self, length: usize) -> Outcome<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Unreadable)?;
        self.0 = rest;
        Ok(taken)
    }

    fn next(&mut self) -> Outcome<Option<(u64, Wire<'a>)>> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let wire = match tag & 7 {
            0 => Wire::Number(self.varint()?),
            1 => Wire::Bytes(self.take(8)?),
            2 => {
                let length = usize::try_from(self.varint()?).ok().ok_or(Unreadable)?;
                Wire::Bytes(self.take(length)?)
            }
            5 => Wire::Bytes(self.take(4)?),
            _ => return Err(Unreadable),
        };
        Ok(Some((tag >> 3, wire)))
    }
}

fn text(bytes: &[u8]) -> Outcome<String> {
    String::from_utf8(bytes.to_vec()).ok().ok_or(Unreadable)
}

fn read(name: &str, bytes: &[u8], depth: usize) -> Outcome<Map<String, Value>> {
    if depth > MAX_DEPTH {
        return Err(Unreadable);
    }
    let message = MESSAGES.get(name).ok_or(Unreadable)?;
    let mut out = Map::new();
    let mut reader = Reader(bytes);
    while let Some((number, wire)) = reader.next()? {
        let Some(field) = message.get(&number) else { continue };
        match field.shape {
            Shape::Inline => {
                if let Wire::Bytes(b) = wire {
                    out.extend(read(field.ty, b, depth + 1)?);
                }
            }
            Shape::Map => {
                let Wire::Bytes(b) = wire else { return Err(Unreadable) };
                let (key, value) = entry(field.ty, b, depth)?;
                if let Value::Object(map) = out.entry(field.json).or_insert_with(|| Value::Object(Map::new())) {
                    map.insert(key, value);
                }
            }
            Shape::List => {
                let value = value(field.ty, &wire, depth)?.unwrap_or(Value::Null);
                if let Value::Array(list) = out.entry(field.json).or_insert_with(|| Value::Array(Vec::new())) {
                    list.push(value);
                }
            }
            Shape::One => {
                let value = value(field.ty, &wire, depth)?;
                if let Some(value) = value.filter(|v| field.keep_zero || !is_zero(v)) {
                    out.insert(field.json.to_owned(), value);
                }
            }
        }
    }
    Ok(out)
}

fn entry(ty: &str, bytes: &[u8], depth: usize) -> Outcome<(String, Value)> {
    let mut reader = Reader(bytes);
    let (mut key, mut found) = (String::new(), None);
    while let Some((number, wire)) = reader.next()? {
        match (number, &wire) {
            (1, Wire::Bytes(b)) => key = text(b)?,
            (2, wire) => found = value(ty, wire, depth)?,
            _ => {}
        }
    }
    Ok((key, found.unwrap_or_else(|| "".into())))
}

/// Go prints no zero; `{}` stays for members that are pointers to empty structs, the API server tells them apart.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(b) => !b,
        Value::Number(n) => n.as_i64() == Some(0),
        Value::String(s) => s.is_empty(),
        Value::Array(_) | Value::Object(_) => false,
    }
}

fn value(ty: &str, wire: &Wire<'_>, depth: usize) -> Outcome<Option<Value>> {
    Ok(Some(match (ty, wire) {
        ("bool", Wire::Number(n)) => (*n != 0).into(),
        ("int32" | "int64", Wire::Number(n)) => n.cast_signed().into(),
        ("string", Wire::Bytes(b)) => text(b)?.into(),
        ("bytes", Wire::Bytes(b)) => STANDARD.encode(b).into(),
        ("quantity", Wire::Bytes(b)) => match first(b, 1)? {
            Some(Wire::Bytes(b)) => text(b)?.into(),
            _ => return Ok(None),
        },
        ("raw", Wire::Bytes(b)) => match first(b, 1)? {
            Some(Wire::Bytes(b)) => serde_json::from_slice(b).ok().ok_or(Unreadable)?,
            _ => return Ok(None),
        },
        ("intstr", Wire::Bytes(b)) => int_or_string(b)?,
        ("time" | "micro", Wire::Bytes(b)) => match time(b, ty == "micro")? {
            Some(time) => time.into(),
            None => return Ok(None),
        },
        ("verbs", Wire::Bytes(b)) => text(b)?.into(),
        (message, Wire::Bytes(b)) => Value::Object(read(message, b, depth + 1)?),
        _ => return Err(Unreadable),
    }))
}

/// The first field with a number.
fn first(bytes: &[u8], wanted: u64) -> Outcome<Option<Wire<'_>>> {
    let mut reader = Reader(bytes);
    while let Some((number, wire)) = reader.next()? {
        if number == wanted {
            return Ok(Some(wire));
        }
    }
    Ok(None)
}

fn int_or_string(bytes: &[u8]) -> Outcome<Value> {
    let is_text = matches!(first(bytes, 1)?, Some(Wire::Number(1)));
    Ok(match (is_text, first(bytes, 2)?, first(bytes, 3)?) {
        (true, _, Some(Wire::Bytes(b))) => text(b)?.into(),
        (false, Some(Wire::Number(n)), _) => n.cast_signed().into(),
        (true, ..) => "".into(),
        _ => 0.into(),
    })
}

fn time(bytes: &[u8], micro: bool) -> Outcome<Option<String>> {
    let number = |wanted| -> Outcome<i64> {
        Ok(match first(bytes, wanted)? {
            Some(Wire::Number(n)) => n.cast_signed(),
            _ => 0,
        })
    };
    if bytes.is_empty() {
        return Ok(None);
    }
    let nanos = i32::try_from(number(2)?).ok().ok_or(Unreadable)?;
    let time = jiff::Timestamp::new(number(1)?, nanos).ok().ok_or(Unreadable)?;
    let format = if micro { "%Y-%m-%dT%H:%M:%S%.6fZ" } else { "%Y-%m-%dT%H:%M:%SZ" };
    Ok(Some(time.strftime(format).to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn part(number: u8, body: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2, u8::try_from(body.len()).unwrap()];
        out.extend_from_slice(body);
        out
    }

    fn envelope(api_version: &str, kind: &str, body: &[u8]) -> Vec<u8> {
        let meta = [part(1, api_version.as_bytes()), part(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), part(1, &meta), part(2, body)].concat()
    }

    #[test]
    fn a_config_map_is_read() {
        let meta = [part(1, b"a"), part(3, b"")].concat();
        let data = [part(1, b"k"), part(2, b"v")].concat();
        let body = [part(1, &meta), part(2, &data)].concat();
        let expected = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
        assert_eq!(decode(&envelope("v1", "ConfigMap", &body)), Ok(expected));
    }

    #[test]
    fn every_type_in_the_table_is_known() {
        let scalars =
            ["bool", "int32", "int64", "string", "bytes", "quantity", "raw", "intstr", "time", "micro", "verbs"];
        for (name, message) in MESSAGES.iter() {
            for field in message.values() {
                let known = scalars.contains(&field.ty) || MESSAGES.contains_key(field.ty);
                assert!(known || field.ty.starts_with("scheduling.v1alpha3"), "{name}.{}: {}", field.json, field.ty);
            }
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&body);
            let _ = decode(&envelope("v1", "Pod", &body[..body.len().min(120)]));
        }
    }
}
