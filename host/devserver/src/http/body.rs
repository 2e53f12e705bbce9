//! Request bodies: JSON and YAML, with warnings about duplicate fields.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};

mod yaml;

/// A parsed body and the messages about duplicate fields; the last value counts.
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
    let duplicates = duplicates.iter().map(|path| format!("duplicate field \"{path}\"")).collect();
    Ok(Parsed { value, duplicates })
}

/// Parses YAML 1.1 as Kubernetes does: `y`, `yes`, `on` and their opposites are booleans, and only the first document counts.
pub(crate) fn yaml(bytes: &[u8]) -> Result<Parsed, String> {
    let text = first_document(std::str::from_utf8(bytes).map_err(|e| e.to_string())?);
    let options = serde_saphyr::options! {
        strict_booleans: false,
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins
    };
    let document: yaml::Document =
        serde_saphyr::from_str_with_options(text, options).map_err(|e| yaml::why(&e.to_string()))?;
    Ok(Parsed { value: document.value, duplicates: document.duplicates })
}

/// The text before its second document, which begins at a line with the mark at its start.
fn first_document(text: &str) -> &str {
    let (mut end, mut begun) = (0, false);
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        let mark = bare == "---" || line.starts_with("--- ");
        if mark && begun {
            return text.get(..end).unwrap_or(text);
        }
        begun |= mark || !(bare.is_empty() || bare.starts_with('#'));
        end += line.len();
    }
    text
}

/// A key of JSON.
struct Key(String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self)
    }
}

/// Parses a body of `apply-patch+yaml`: JSON is also parsed as YAML.
pub(crate) fn yaml_or_json(bytes: &[u8]) -> Result<Parsed, String> {
    match json(bytes) {
        Ok(parsed) if parsed.duplicates.is_empty() => Ok(parsed),
        _ => yaml(bytes),
    }
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

/// Go's name for the JSON type of a value.
pub(crate) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The fault of a JSON text, in Go's words.
pub(crate) fn go_message(error: &serde_json::Error, bytes: &[u8]) -> String {
    if error.is_eof() {
        return "unexpected end of JSON input".to_owned();
    }
    let text = error.to_string();
    let place = |from: &str| text.starts_with(from);
    let (character, rest) = character(error, bytes);
    let context = match () {
        () if place("trailing characters") => "after top-level value",
        () if place("key must be a string") => "looking for beginning of object key string",
        () if place("expected `:`") => "after object key",
        () if place("expected `,` or `}`") => "after object key:value pair",
        () if place("expected `,` or `]`") => "after array element",
        () if place("expected value") || place("trailing comma") => "looking for beginning of value",
        () if place("expected ident") => return literal(rest),
        () if place("invalid escape") => "in string escape code",
        () if place("control character") => "in string literal",
        () if place("invalid number") => "in numeric literal",
        () => return text,
    };
    format!("invalid character {character} {context}")
}

/// The character at which the parser stopped, quoted as in Go, and the text from the start of its word.
fn character<'a>(error: &serde_json::Error, bytes: &'a [u8]) -> (String, &'a [u8]) {
    let before: usize =
        bytes.split_inclusive(|b| *b == b'\n').take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
    let at = before + error.column().saturating_sub(1);
    let character = match bytes.get(at).copied().unwrap_or_default() {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        byte if byte.is_ascii_control() => format!("'{}'", byte.escape_ascii()),
        byte => format!("'{}'", char::from(byte)),
    };
    let word = (0..=at).rev().find(|i| !bytes.get(*i).is_some_and(u8::is_ascii_lowercase)).map_or(0, |i| i + 1);
    (character, bytes.get(word..).unwrap_or_default())
}

/// The position where a word differs from the literal it resembles.
fn literal(word: &[u8]) -> String {
    for literal in ["true", "false", "null"] {
        if word.first() != literal.as_bytes().first() {
            continue;
        }
        let same = word.iter().zip(literal.bytes()).take_while(|(a, b)| **a == *b).count();
        if let (Some(found), Some(wanted)) = (word.get(same), literal.as_bytes().get(same)) {
            let (found, wanted) = (char::from(*found), char::from(*wanted));
            return format!("invalid character '{found}' in literal {literal} (expecting '{wanted}')");
        }
    }
    let found = char::from(word.first().copied().unwrap_or(b' '));
    format!("invalid character '{found}' looking for beginning of value")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_fields_are_named_and_the_last_one_wins() {
        let parsed = json(br#"{"a":{"x":1,"x":2},"b":[{"c":1,"c":1}]}"#).unwrap();
        assert_eq!(parsed.duplicates, ["duplicate field \"a.x\"", "duplicate field \"b[0].c\""]);
        assert_eq!(parsed.value, serde_json::json!({"a": {"x": 2}, "b": [{"c": 1}]}));
    }

    #[test]
    fn yaml_booleans_are_those_of_version_1_1() {
        let parsed = yaml(b"a: y\nb: \"y\"\nc: off\n").unwrap();
        assert_eq!(parsed.value, serde_json::json!({"a": true, "b": "y", "c": false}));
    }

    #[test]
    fn duplicates_of_yaml_are_told_with_their_lines() {
        let parsed = yaml(b"a: 1\nb:\n  c: 1\n  c: 2\na: 3\n").unwrap();
        assert_eq!(parsed.duplicates, ["line 4: key \"c\" already set in map", "line 5: key \"a\" already set in map"]);
        assert_eq!(parsed.value, serde_json::json!({"a": 3, "b": {"c": 2}}));
    }

    #[test]
    fn only_the_first_document_counts() {
        let parsed = yaml(b"# of two\n---\na: \"--- b\"\n---\nb: 1\n").unwrap();
        assert_eq!(parsed.value, serde_json::json!({"a": "--- b"}));
        assert!(yaml(b"a: {~: 1}").is_err());
    }

    #[test]
    fn what_is_wrong_is_said_in_the_words_of_go() {
        for (text, message) in [
            ("not json", "invalid character 'o' in literal null (expecting 'u')"),
            ("{} x", "invalid character 'x' after top-level value"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("[1 2]", "invalid character '2' after array element"),
            ("{", "unexpected end of JSON input"),
            ("x", "invalid character 'x' looking for beginning of value"),
            ("{a: 1}", "invalid character 'a' looking for beginning of object key string"),
        ] {
            let error = json(text.as_bytes()).unwrap_err();
            assert_eq!(go_message(&error, text.as_bytes()), message, "{text}");
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        assert!(json("[".repeat(100_000).as_bytes()).is_err());
        assert!(yaml("[".repeat(100_000).as_bytes()).is_err());
    }
}
