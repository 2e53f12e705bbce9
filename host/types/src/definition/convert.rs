//! From JSON Schema to structural schemas: objects, lists, and what has no type.

use super::{
    error::Error,
    flat::{Flat, References},
    scalars, union,
};
use crate::build::short;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Deepest nesting that is followed. An API server rejects deeper schemas by their size.
const MAX_DEPTH: usize = 64;
/// Most bytes of the whole schema. An API server cannot store a larger one: etcd refuses it.
const MAX_BYTES: usize = 1_500_000;
/// Keywords that are copied, beside those of Kubernetes.
const COPIED: [&str; 17] = [
    "description",
    "default",
    "enum",
    "const",
    "pattern",
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "format",
];
const OPEN: &str = "x-kubernetes-preserve-unknown-fields";

const RULE: &str = "write it as a CEL rule in x-kubernetes-validations";
const KEYS: &str = "use additionalProperties, and check the keys with a CEL rule in x-kubernetes-validations";
/// Keywords that restrict values, and that no structural schema has.
const REFUSED: [(&str, &str); 14] = [
    ("if", RULE),
    ("then", RULE),
    ("else", RULE),
    ("not", RULE),
    ("dependentRequired", RULE),
    ("dependentSchemas", RULE),
    ("dependencies", RULE),
    ("contains", RULE),
    ("patternProperties", KEYS),
    ("propertyNames", KEYS),
    ("unevaluatedProperties", "use additionalProperties"),
    ("unevaluatedItems", "use items"),
    ("$dynamicRef", "use $ref"),
    ("$recursiveRef", "use $ref"),
];

/// A structural schema while it is made.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Structural {
    /// All keywords but those below.
    pub(super) keywords: Map<String, Value>,
    pub(super) properties: BTreeMap<String, Value>,
    pub(super) required: BTreeSet<String>,
}

impl Structural {
    pub(super) fn properties(&mut self) -> &mut BTreeMap<String, Value> {
        &mut self.properties
    }

    pub(super) fn set(&mut self, keyword: &str, value: impl Into<Value>) {
        self.keywords.insert(keyword.to_owned(), value.into());
    }

    pub(super) fn text(&self, keyword: &str) -> &str {
        self.keywords.get(keyword).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn finish(self) -> Map<String, Value> {
        let mut keywords = self.keywords;
        if !self.properties.is_empty() {
            keywords.insert("properties".to_owned(), Value::Object(self.properties.into_iter().collect()));
        }
        if !self.required.is_empty() {
            keywords.insert("required".to_owned(), self.required.into_iter().collect());
        }
        keywords
    }
}

/// Converts the schemas of one document.
#[derive(Debug)]
pub(super) struct Converter<'a> {
    document: &'a Value,
    references: References<'a>,
    depth: usize,
    /// Of the schemas so far. A `$ref` counts each time: few definitions can name each other very often.
    bytes: usize,
}

impl<'a> Converter<'a> {
    pub(super) fn new(document: &'a Value) -> Self {
        Self { document, references: References::new(document), depth: 0, bytes: 0 }
    }

    /// The whole object, without its metadata.
    pub(super) fn root(&mut self) -> Result<Structural, Error> {
        let mut flat = self.references.flatten(self.document, "the object")?;
        let has_spec = ["spec", "metadata"].iter().any(|name| flat.properties.contains_key(name));
        if !has_spec && !["oneOf", "anyOf"].iter().any(|key| flat.get(key).is_some()) {
            let names: Vec<&str> = flat.properties.keys().copied().collect();
            let found = if names.is_empty() { "no fields".to_owned() } else { format!("only {}", names.join(", ")) };
            return Err(Error::NoObject { found: short(&found) });
        }
        for name in ["apiVersion", "kind", "metadata"] {
            flat.properties.remove(name);
            flat.required.remove(name);
        }
        // A client cannot set the status when it creates an object.
        flat.required.remove("status");
        for keyword in ["additionalProperties", "default", OPEN] {
            flat.keywords.remove(keyword);
        }
        let mut made = self.typed(&flat, "")?;
        made.keywords.remove("nullable");
        Ok(made)
    }

    /// The structural schema of a value.
    fn value(&mut self, schema: &'a Value, path: &str) -> Result<Structural, Error> {
        let open = self.references.open.len();
        let made = self.nested(path, |this| this.flat_value(schema, path))?;
        self.references.open.truncate(open);
        Ok(made)
    }

    fn nested<T>(&mut self, path: &str, inner: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if self.depth >= MAX_DEPTH {
            return Err(Error::Depth { path: short(path), limit: MAX_DEPTH });
        }
        self.depth += 1;
        let made = inner(self)?;
        self.depth -= 1;
        Ok(made)
    }

    fn flat_value(&mut self, schema: &'a Value, path: &str) -> Result<Structural, Error> {
        // The mark ends the search: what is behind it may contain itself.
        if schema.get(OPEN) == Some(&Value::Bool(true)) && schema.get("properties").is_none() {
            let mut made = Structural::default();
            let mut flat = Flat::default();
            for (keyword, value) in schema.as_object().into_iter().flatten() {
                flat.keywords.insert(keyword, value);
            }
            self.count(&flat, path)?;
            common(&mut made, &flat);
            if flat.text("type") == "object" {
                made.set("type", "object")
            } else {
                made.set("nullable", true)
            }
            return Ok(made);
        }
        let flat = self.references.flatten(schema, path)?;
        self.typed(&flat, path)
    }

    /// Counts what the schema will say itself.
    fn count(&mut self, flat: &Flat<'a>, path: &str) -> Result<(), Error> {
        let is_copied = |keyword: &str| COPIED.contains(&keyword) || keyword.starts_with("x-kubernetes-");
        let copied = flat.keywords.iter().filter(|(keyword, _)| is_copied(keyword));
        let values = copied.map(|(_, value)| *value).chain(flat.rules.iter().copied());
        let names = flat.properties.keys().chain(&flat.required);
        // Each value has a type or a keyword, and each name its quotes.
        self.bytes += 20 + values.map(|value| 10 + value.to_string().len()).sum::<usize>();
        self.bytes += names.map(|name| 3 + name.len()).sum::<usize>();
        if self.bytes > MAX_BYTES {
            return Err(Error::Size { path: shown(path), limit: MAX_BYTES });
        }
        Ok(())
    }

    fn typed(&mut self, flat: &Flat<'a>, path: &str) -> Result<Structural, Error> {
        refuse(flat, path)?;
        self.count(flat, path)?;
        let mut made = Structural::default();
        common(&mut made, flat);
        if let Some((keyword, branches)) = union::branches(flat) {
            return self.union(made, flat, (keyword, branches), path);
        }
        let types = scalars::types(flat);
        if types.contains("null") {
            made.set("nullable", true);
        }
        let types: Vec<&str> = types.into_iter().filter(|ty| *ty != "null").collect();
        match types.as_slice() {
            [] if flat.is_null() => Err(Error::Union { path: short(path), found: "always null".to_owned() }),
            [] => {
                made.set(OPEN, true);
                made.set("nullable", true);
                Ok(made)
            }
            ["object"] => self.object(made, flat, path),
            ["array"] => self.array(made, flat, path),
            types => scalars::convert(made, flat, types, path),
        }
    }

    fn union(
        &mut self,
        mut made: Structural,
        flat: &Flat<'a>,
        (keyword, branches): (&str, &'a [Value]),
        path: &str,
    ) -> Result<Structural, Error> {
        let mut rest = flat.clone();
        rest.keywords.retain(|key, _| !matches!(*key, "oneOf" | "anyOf" | "description" | "default"));
        rest.keywords.retain(|key, _| !key.starts_with("x-"));
        rest.rules.clear();
        let is_object = scalars::types(&rest).contains("object");
        let mut variants = Vec::new();
        for branch in branches {
            let open = self.references.open.len();
            let mut branch = self.references.flatten(branch, path)?;
            if branch.is_null() {
                made.set("nullable", true);
            } else {
                // `type` and limits beside the variants are those of each variant.
                if !is_object && scalars::types(&branch).is_empty() {
                    branch.add(rest.clone(), path, false)?;
                }
                variants.push(self.nested(path, |this| this.typed(&branch, path))?);
            }
            self.references.open.truncate(open);
        }
        let says_more = !rest.properties.is_empty() || !rest.required.is_empty();
        let rest = if is_object && says_more { Some(self.typed(&rest, path)?) } else { None };
        union::join(made, rest, keyword, variants, path)
    }

    fn object(&mut self, mut made: Structural, flat: &Flat<'a>, path: &str) -> Result<Structural, Error> {
        made.set("type", "object");
        for (&name, &property) in &flat.properties {
            let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            // A field that takes no value: the API server drops fields outside the schema.
            if *property == Value::Bool(false) || property.get("not") == Some(&json!({})) {
                continue;
            }
            let mut value = self.value(property, &path)?;
            if !flat.required.contains(name) && allows_null_in_enum(&value) {
                // The API server removes null of such a field before it checks the enum.
                value.keywords.remove("nullable");
            }
            let value = checked(value, &path)?;
            made.properties.insert(name.to_owned(), Value::Object(value));
        }
        made.required = flat.required.iter().map(|name| (*name).to_owned()).collect();
        made.required.retain(|name| made.properties.contains_key(name) || flat.properties.is_empty());
        scalars::counts(&mut made, flat, &["minProperties", "maxProperties"]);
        match flat.get("additionalProperties") {
            None | Some(Value::Bool(false)) => {}
            Some(Value::Bool(true)) => made.set(OPEN, true),
            Some(more) => {
                let inner = format!("{path}[*]");
                let value = checked(self.value(more, &inner)?, &inner)?;
                if value.contains_key(OPEN) && !value.contains_key("type") {
                    made.set(OPEN, true);
                } else if made.properties.is_empty() {
                    made.set("additionalProperties", value);
                } else {
                    return Err(Error::Keyword {
                        path: short(path),
                        keyword: "additionalProperties beside properties".to_owned(),
                        advice: "put the map into a field of its own",
                    });
                }
            }
        }
        // Without a word about fields, any fields: the API server would drop all of them.
        let is_closed = flat.get("additionalProperties") == Some(&Value::Bool(false));
        let says_more = ["additionalProperties", OPEN].iter().any(|keyword| made.keywords.contains_key(*keyword));
        if made.properties.is_empty() && made.required.is_empty() && !is_closed && !says_more {
            made.set(OPEN, true);
        }
        Ok(made)
    }

    fn array(&mut self, mut made: Structural, flat: &Flat<'a>, path: &str) -> Result<Structural, Error> {
        made.set("type", "array");
        scalars::counts(&mut made, flat, &["minItems", "maxItems"]);
        let inner = format!("{path}[]");
        let tuple = flat.get("prefixItems").or(flat.get("items").filter(|items| items.is_array()));
        let items = if let Some(tuple) = tuple.and_then(Value::as_array) {
            let items: Vec<_> = tuple.iter().map(|item| self.value(item, &inner)).collect::<Result<_, _>>()?;
            let same = items.first().filter(|first| items.iter().all(|item| item == *first)).cloned();
            made.set("minItems", made.keywords.get("minItems").cloned().unwrap_or(tuple.len().into()));
            made.set("maxItems", tuple.len());
            same.ok_or_else(|| Error::Keyword {
                path: short(path),
                keyword: "a tuple of different types".to_owned(),
                advice: "make it an object with a field for each",
            })?
        } else {
            self.value(flat.get("items").unwrap_or(&Value::Bool(true)), &inner)?
        };
        if flat.flag("uniqueItems") && !made.keywords.contains_key("x-kubernetes-list-type") {
            if !matches!(items.text("type"), "string" | "integer" | "number" | "boolean") {
                return Err(Error::Keyword {
                    path: short(path),
                    keyword: "uniqueItems of objects or lists".to_owned(),
                    advice: "set x-kubernetes-list-type: map and x-kubernetes-list-map-keys",
                });
            }
            made.set("x-kubernetes-list-type", "set");
        }
        made.set("items", checked(items, &inner)?);
        Ok(made)
    }
}

fn allows_null_in_enum(value: &Structural) -> bool {
    let is_enum = |limits: &Value| limits.get("enum").is_some();
    let variants = ["anyOf", "oneOf"].iter().filter_map(|key| value.keywords.get(*key)?.as_array()).flatten();
    value.keywords.contains_key("nullable")
        && value.text("type") != "object"
        && (value.keywords.contains_key("enum") || variants.into_iter().any(is_enum))
}

/// The schema, unless it is an enum that allows null: an API server refuses null of an enum, whatever `nullable` says.
fn checked(value: Structural, path: &str) -> Result<Map<String, Value>, Error> {
    if allows_null_in_enum(&value) {
        return Err(Error::Keyword {
            path: short(path),
            keyword: "null beside an enum".to_owned(),
            advice: "make the field optional, or give the enum a value for null",
        });
    }
    Ok(value.finish())
}

/// The description, the default, and what Kubernetes adds to JSON Schema.
fn common(made: &mut Structural, flat: &Flat<'_>) {
    let description = flat.text("description").trim();
    if !description.is_empty() {
        made.set("description", description);
    }
    if flat.flag("nullable") {
        made.set("nullable", true);
    }
    if let Some(default) = flat.get("default").filter(|default| !default.is_null()) {
        made.set("default", default.clone());
    }
    for (keyword, value) in flat.keywords.iter().filter(|(keyword, _)| keyword.starts_with("x-kubernetes-")) {
        made.set(keyword, (*value).clone());
    }
    if !flat.rules.is_empty() {
        made.set("x-kubernetes-validations", flat.rules.iter().map(|rule| (*rule).clone()).collect::<Value>());
    }
}

fn refuse(flat: &Flat<'_>, path: &str) -> Result<(), Error> {
    let is_trivial = |value: &Value| matches!(value, Value::Bool(_)) || *value == json!({});
    for (keyword, advice) in REFUSED {
        if flat.get(keyword).is_some_and(|value| keyword == "not" || !is_trivial(value)) {
            return Err(Error::Keyword { path: shown(path), keyword: keyword.to_owned(), advice });
        }
    }
    Ok(())
}

/// A path for messages.
fn shown(path: &str) -> String {
    if path.is_empty() { "the object".to_owned() } else { short(path) }
}
