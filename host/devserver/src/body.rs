//! Request bodies: JSON that tells about its duplicate fields, and YAML.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};

/// A parsed body and the paths of fields that occur twice; the last one won.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) value: Value,
    pub(crate) duplicates: Vec<String>,
}

/// Parses JSON.
pub(crate) fn json(bytes: &[u8]) -> Result<Parsed, serde_json::Error> {
    let mut duplicates = Vec::new();
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Node { path: String::new(), duplicates: &mut duplicates }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(Parsed { value, duplicates })
}

/// Parses YAML 1.1 as Kubernetes reads it: `y`, `yes`, `on` and their opposites are booleans.
pub(crate) fn yaml(bytes: &[u8]) -> Result<Parsed, String> {
    let text = std::str::from_utf8(bytes).map_err(|e| e.to_string())?;
    let options = serde_saphyr::options! {
        strict_booleans: false,
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins
    };
    let document: Document = serde_saphyr::from_str_with_options(text, options).map_err(|e| e.to_string())?;
    Ok(Parsed { value: document.0, duplicates: Vec::new() })
}

/// A YAML document as JSON.
struct Document(Value);

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut ignored = Vec::new();
        Node { path: String::new(), duplicates: &mut ignored }.deserialize(deserializer).map(Self)
    }
}

/// A key: YAML's numbers and booleans become their text.
struct Key(String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut ignored = Vec::new();
        match (Node { path: String::new(), duplicates: &mut ignored }).deserialize(deserializer)? {
            Value::String(text) => Ok(Self(text)),
            other => Ok(Self(other.to_string())),
        }
    }
}

/// Parses JSON, else YAML: what `apply-patch+yaml` carries.
pub(crate) fn yaml_or_json(bytes: &[u8]) -> Result<Parsed, String> {
    json(bytes).or_else(|_| yaml(bytes))
}

struct Node<'a> {
    path: String,
    duplicates: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, v: bool) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_i64<E>(self, v: i64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_u64<E>(self, v: u64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_f64<E: serde::de::Error>(self, v: f64) -> Result<Value, E> {
        Number::from_f64(v).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, v: &str) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_string<E>(self, v: String) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut out = Vec::new();
        loop {
            let path = format!("{}[{}]", self.path, out.len());
            match seq.next_element_seed(Node { path, duplicates: &mut *self.duplicates })? {
                Some(value) => out.push(value),
                None => return Ok(Value::Array(out)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut out = Map::new();
        while let Some(Key(key)) = map.next_key()? {
            if out.len() > 1_000_000 {
                return Err(A::Error::custom("too many fields"));
            }
            let path = if self.path.is_empty() { key.clone() } else { format!("{}.{key}", self.path) };
            if out.contains_key(&key) {
                self.duplicates.push(path.clone());
            }
            let value = map.next_value_seed(Node { path, duplicates: &mut *self.duplicates })?;
            out.insert(key, value);
        }
        Ok(Value::Object(out))
    }
}

/// What is wrong with JSON, in Go's words as far as clients look at them.
pub(crate) fn go_message(error: &serde_json::Error) -> String {
    if error.is_eof() { "unexpected end of JSON input".to_owned() } else { error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_fields_are_named_and_the_last_one_wins() {
        let parsed = json(br#"{"a":{"x":1,"x":2},"b":[{"c":1,"c":1}]}"#).unwrap();
        assert_eq!(parsed.duplicates, ["a.x", "b[0].c"]);
        assert_eq!(parsed.value, serde_json::json!({"a": {"x": 2}, "b": [{"c": 1}]}));
    }

    #[test]
    fn yaml_booleans_are_those_of_version_1_1() {
        let parsed = yaml(b"a: y\nb: \"y\"\nc: off\n").unwrap();
        assert_eq!(parsed.value, serde_json::json!({"a": true, "b": "y", "c": false}));
    }

    #[test]
    fn deep_nesting_is_refused() {
        assert!(json("[".repeat(100_000).as_bytes()).is_err());
        assert!(yaml("[".repeat(100_000).as_bytes()).is_err());
    }
}
