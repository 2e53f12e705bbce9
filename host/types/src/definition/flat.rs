//! A schema without `$ref` and `allOf`: what they say is said beside the other keywords.

use super::error::Error;
use crate::build::short;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Most references that are followed within each other.
const MAX_REFERENCES: usize = 256;
/// Keywords for people: the outermost one counts.
const ANNOTATIONS: [&str; 4] = ["description", "title", "default", "additionalProperties"];

/// The keywords of a schema.
#[derive(Clone, Debug, Default)]
pub(super) struct Flat<'a> {
    /// All but those below.
    pub(super) keywords: BTreeMap<&'a str, &'a Value>,
    pub(super) properties: BTreeMap<&'a str, &'a Value>,
    pub(super) required: BTreeSet<&'a str>,
    /// `x-kubernetes-validations` of the type and of the field.
    pub(super) rules: Vec<&'a Value>,
}

impl<'a> Flat<'a> {
    pub(super) fn get(&self, keyword: &str) -> Option<&'a Value> {
        self.keywords.get(keyword).copied()
    }

    pub(super) fn text(&self, keyword: &str) -> &'a str {
        self.get(keyword).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn flag(&self, keyword: &str) -> bool {
        self.get(keyword) == Some(&Value::Bool(true))
    }

    /// Whether only null matches.
    pub(super) fn is_null(&self) -> bool {
        let only_null = |value: &Value| value.as_array().is_some_and(|all| matches!(all.as_slice(), [Value::Null]));
        self.text("type") == "null"
            || self.get("const") == Some(&Value::Null)
            || self.get("enum").is_some_and(only_null)
    }

    /// Adds what another schema says of the same value. Where `outer`, its properties replace those that are known.
    pub(super) fn add(&mut self, other: Self, path: &str, outer: bool) -> Result<(), Error> {
        let conflict = |subject: &str| Error::Conflict { path: short(path), subject: short(subject) };
        for (keyword, value) in other.keywords {
            let known = self.keywords.get(keyword);
            let disagrees = known.is_some_and(|known| *known != value);
            if disagrees && !outer && !ANNOTATIONS.contains(&keyword) {
                return Err(conflict(keyword));
            }
            if known.is_none() || outer {
                self.keywords.insert(keyword, value);
            }
        }
        for (name, value) in other.properties {
            if !outer && self.properties.get(name).is_some_and(|known| *known != value) {
                return Err(conflict(name));
            }
            self.properties.insert(name, value);
        }
        self.required.extend(other.required);
        self.rules.extend(other.rules);
        Ok(())
    }
}

/// The schemas of a document, and those that are being followed.
#[derive(Debug)]
pub(super) struct References<'a> {
    document: &'a Value,
    pub(super) open: Vec<&'a str>,
}

impl<'a> References<'a> {
    pub(super) fn new(document: &'a Value) -> Self {
        Self { document, open: Vec::new() }
    }

    /// The keywords of a schema. The references that it followed stay in `open`.
    pub(super) fn flatten(&mut self, schema: &'a Value, path: &str) -> Result<Flat<'a>, Error> {
        let mut flat = Flat::default();
        let Value::Object(keywords) = schema else { return Ok(flat) };
        if let Some(reference) = keywords.get("$ref").and_then(Value::as_str) {
            if self.open.contains(&reference) {
                return Err(Error::Recursion { path: short(path), name: name_of(reference) });
            }
            if self.open.len() >= MAX_REFERENCES {
                return Err(Error::Depth { path: short(path), limit: MAX_REFERENCES });
            }
            self.open.push(reference);
            let missing = || Error::Reference { path: short(path), reference: short(reference) };
            let target = self.target(reference).ok_or_else(missing)?;
            flat = self.flatten(target, path)?;
        }
        for part in keywords.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            let part = self.flatten(part, path)?;
            flat.add(part, path, false)?;
        }
        let mut own = Flat::default();
        for (keyword, value) in keywords {
            match (keyword.as_str(), value) {
                ("$ref" | "allOf", _) => {}
                ("properties", Value::Object(properties)) => {
                    own.properties = properties.iter().map(|(name, value)| (name.as_str(), value)).collect();
                }
                ("required", Value::Array(names)) => own.required = names.iter().filter_map(Value::as_str).collect(),
                ("x-kubernetes-validations", Value::Array(rules)) => own.rules = rules.iter().collect(),
                (keyword, value) => {
                    own.keywords.insert(keyword, value);
                }
            }
        }
        flat.add(own, path, true)?;
        Ok(flat)
    }

    /// The schema at a JSON Pointer of the document, as a fragment of a URL.
    fn target(&self, reference: &str) -> Option<&'a Value> {
        self.document.pointer(&decoded(reference.strip_prefix('#')?))
    }
}

/// The name of a definition, for messages.
fn name_of(reference: &str) -> String {
    let name = decoded(reference.rsplit('/').next().unwrap_or_default());
    if name.is_empty() || name == "#" { "of the whole object".to_owned() } else { short(&name) }
}

/// Percent-encoding decoded: generators write `Page%3CItem%3E`. A text that is no encoding stays.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| first == b'%').and_then(|code| std::str::from_utf8(code).ok());
        if let Some(byte) = code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            bytes.push(byte);
            rest = after.get(2..).unwrap_or_default();
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_binary| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_fragments_of_urls() {
        assert_eq!(decoded("/definitions/Page%3CItem%3E"), "/definitions/Page<Item>");
        assert_eq!(decoded("100%"), "100%");
        assert_eq!(decoded("%zz%C3%A9"), "%zzé");
        assert_eq!(name_of("#/$defs/Tree"), "Tree");
    }
}
