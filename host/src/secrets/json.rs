//! JSON whose maps keep their order, so that a plugin gets a recorded document letter by letter.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Number;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
}

impl Json {
    /// Parses JSON. None: it is none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// A document, in a form that YAML can hold: a map where that says the same letter by letter, else the text.
    pub(crate) fn document(text: &str) -> Self {
        Self::parse(text).filter(|parsed| parsed.to_string() == text).unwrap_or_else(|| Self::Text(text.to_owned()))
    }

    /// The text of a document.
    pub(crate) fn document_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            other => other.to_string(),
        }
    }

    /// A field of a map.
    pub(crate) fn get(&self, field: &str) -> Option<&Self> {
        let Self::Map(fields) = self else { return None };
        fields.iter().find(|(name, _)| name == field).map(|(_, value)| value)
    }

    /// The text of a field.
    pub(crate) fn text_of(&self, field: &str) -> Option<&str> {
        match self.get(field) {
            Some(Self::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// A map without the fields that are `None`.
    pub(crate) fn map<const N: usize>(fields: [(&str, Option<Self>); N]) -> Self {
        let fields = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Self::Map(fields.collect())
    }
}

impl std::fmt::Display for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_invalid| std::fmt::Error)?)
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Self {
        use serde_json::Value;
        match value {
            Value::Null => Self::Null,
            Value::Bool(bool) => Self::Bool(bool),
            Value::Number(number) => Self::Number(number),
            Value::String(text) => Self::Text(text),
            Value::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            Value::Object(fields) => Self::Map(fields.into_iter().map(|(name, value)| (name, value.into())).collect()),
        }
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Json {
    fn from(number: u64) -> Self {
        Self::Number(number.into())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => to.serialize_unit(),
            Self::Bool(bool) => to.serialize_bool(*bool),
            Self::Number(number) => number.serialize(to),
            Self::Text(text) => to.serialize_str(text),
            Self::List(items) => items.serialize(to),
            Self::Map(fields) => {
                let mut map = to.serialize_map(Some(fields.len()))?;
                for (name, value) in fields {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Json;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a JSON value")
            }

            fn visit_unit<E>(self) -> Result<Json, E> {
                Ok(Json::Null)
            }

            fn visit_none<E>(self) -> Result<Json, E> {
                Ok(Json::Null)
            }

            fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Json, D::Error> {
                Json::deserialize(from)
            }

            fn visit_bool<E>(self, bool: bool) -> Result<Json, E> {
                Ok(Json::Bool(bool))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
                Ok(Json::Number(number.into()))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Json, E> {
                Ok(Json::Number(number.into()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Json, E> {
                Ok(Number::from_f64(number).map_or(Json::Null, Json::Number))
            }

            fn visit_str<E>(self, text: &str) -> Result<Json, E> {
                Ok(Json::Text(text.to_owned()))
            }

            fn visit_string<E>(self, text: String) -> Result<Json, E> {
                Ok(Json::Text(text))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Json::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
                let (mut map, mut names) = (Vec::new(), std::collections::HashSet::new());
                while let Some((name, value)) = entries.next_entry::<String, Json>()? {
                    if !names.insert(name.clone()) {
                        return Err(serde::de::Error::custom(format_args!("two fields {name:?}")));
                    }
                    map.push((name, value));
                }
                Ok(Json::Map(map))
            }
        }
        from.deserialize_any(Any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_survives_yaml_letter_by_letter() {
        for text in [
            r#"{"z":1,"a":{"c":[1,-2,2.5,null,true,""],"b":"x: y\n# no\ttab\u0007"},"n":18446744073709551615}"#,
            r#"{"a":"1e3","b":"0x1F","c":"~","d":"yes","e":" lead","f":"trail ","g":"a\nb\n","h":"'\"","i":"- x"}"#,
            r#"{"spaced": 1.50, "odd":1E2}"#,
            r#"{"a":1,"a":2}"#,
            "{}",
        ] {
            let document = Json::document(text);
            let yaml = serde_saphyr::to_string(&document).unwrap();
            let back: Json = serde_saphyr::from_str(&yaml).unwrap();
            assert_eq!(back.document_text(), text, "{yaml}");
        }
        assert!(matches!(Json::document(r#"{"z":1,"a":2.0}"#), Json::Map(_)));
    }
}
