//! YAML to JSON: scalar keys become strings, and duplicate fields are reported with their lines.

use std::{cell::RefCell, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};
use serde_saphyr::Spanned;

/// A document.
pub(super) struct Document {
    pub(super) value: Value,
    /// `line 5: key "name" already set in map`
    pub(super) duplicates: Vec<String>,
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let duplicates = RefCell::default();
        let value = Node(&duplicates).deserialize(deserializer)?;
        Ok(Self { value, duplicates: duplicates.into_inner() })
    }
}

/// A key: numbers and booleans become their text.
struct Key(String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Node(&RefCell::default()).deserialize(deserializer)? {
            Value::String(text) => Ok(Self(text)),
            scalar @ (Value::Number(_) | Value::Bool(_)) => Ok(Self(scalar.to_string())),
            Value::Null => Err(D::Error::custom("unsupported map key of type: %!s(<nil>), key: <nil>")),
            _ => Err(D::Error::custom("unsupported map key of type: map")),
        }
    }
}

/// An error message without its source excerpt.
pub(super) fn why(error: &str) -> String {
    error.lines().next().unwrap_or_default().to_owned()
}

struct Node<'a>(&'a RefCell<Vec<String>>);

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
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
        // JSON has one kind of number.
        let whole = (v.fract() == 0.0 && v.abs() < 1e15).then(|| format!("{v:.0}").parse::<i64>().ok()).flatten();
        if let Some(whole) = whole {
            return Ok(whole.into());
        }
        Number::from_f64(v).map(Value::Number).ok_or_else(|| E::custom("json: unsupported value"))
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

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut out = Vec::new();
        while let Some(value) = seq.next_element_seed(Node(self.0))? {
            out.push(value);
        }
        Ok(Value::Array(out))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut out = Map::new();
        while let Some(key) = map.next_key::<Spanned<Key>>()? {
            if out.len() > 1_000_000 {
                return Err(A::Error::custom("too many fields"));
            }
            let (line, Key(key)) = (key.referenced.line(), key.value);
            if out.contains_key(&key) {
                self.0.borrow_mut().push(format!("line {line}: key {key:?} already set in map"));
            }
            let value = map.next_value_seed(Node(self.0))?;
            out.insert(key, value);
        }
        Ok(Value::Object(out))
    }
}
