//! A YAML value with the place of each scalar in its file, so that `--update` can replace it.

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::Spanned;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// A value, and the bytes of each of its scalars by JSON pointer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Located {
    pub(super) value: Value,
    pub(super) scalars: BTreeMap<String, Range<usize>>,
}

impl Located {
    fn scalar(value: Value) -> Self {
        Self { value, scalars: BTreeMap::new() }
    }

    /// Adopts the places of a part.
    fn adopt(&mut self, field: &str, part: Spanned<Self>) -> Value {
        let step = format!("/{}", field.replace('~', "~0").replace('/', "~1"));
        let Spanned { referenced, defined, value: part, .. } = part;
        // A value behind an alias or a merge is written elsewhere.
        if !part.value.is_object()
            && !part.value.is_array()
            && referenced == defined
            && let (Some(offset), Some(length)) = (referenced.span().byte_offset(), referenced.span().byte_len())
            && let (Ok(begin), Ok(length)) = (usize::try_from(offset), usize::try_from(length))
        {
            self.scalars.insert(step.clone(), begin..begin + length);
        }
        self.scalars.extend(part.scalars.into_iter().map(|(path, place)| (format!("{step}{path}"), place)));
        part.value
    }
}

impl<'de> Deserialize<'de> for Located {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Any)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Located;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Located, E> {
        Ok(Located::default())
    }

    fn visit_none<E>(self) -> Result<Located, E> {
        Ok(Located::default())
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Located, D::Error> {
        Located::deserialize(from)
    }

    fn visit_bool<E>(self, bool: bool) -> Result<Located, E> {
        Ok(Located::scalar(bool.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Located, E> {
        Ok(Located::scalar(number.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Located, E> {
        Ok(Located::scalar(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Located, E> {
        Ok(Located::scalar(Number::from_f64(number).map_or(Value::Null, Value::Number)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Located, E> {
        Ok(Located::scalar(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Located, A::Error> {
        let (mut all, mut list) = (Located::default(), Vec::new());
        while let Some(item) = items.next_element::<Spanned<Located>>()? {
            let value = all.adopt(&list.len().to_string(), item);
            list.push(value);
        }
        Ok(Located { value: list.into(), ..all })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Located, A::Error> {
        let (mut all, mut map) = (Located::default(), Map::new());
        while let Some((name, value)) = entries.next_entry::<String, Spanned<Located>>()? {
            let value = all.adopt(&name, value);
            if map.insert(name.clone(), value).is_some() {
                return Err(A::Error::custom(format_args!("two fields {name:?}")));
            }
        }
        Ok(Located { value: map.into(), ..all })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_of_scalars_are_known_in_every_style() {
        let text = "# ä\na: plain text\nb: {c: \"quo\\\"ted\", d: [1, 'x', true]}\ne:\n- f: 7 # comment\n";
        let located: Located = serde_saphyr::from_str(text).unwrap();
        let places: Vec<_> = located.scalars.iter().map(|(path, place)| (&**path, &text[place.clone()])).collect();
        let expected = [
            ("/a", "plain text"),
            ("/b/c", "\"quo\\\"ted\""),
            ("/b/d/0", "1"),
            ("/b/d/1", "'x'"),
            ("/b/d/2", "true"),
            ("/e/0/f", "7"),
        ];
        assert_eq!(places, expected);
        assert_eq!(located.value["b"]["c"], "quo\"ted");
    }
}
