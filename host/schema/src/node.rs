//! The structural schema as a tree, parsed once per CustomResourceDefinition version.

use std::collections::{BTreeMap, HashMap};

use regex::Regex;
use serde_json::Value;

/// Greatest nesting of schemas and objects that is followed; a server rejects deeper schemas by their size.
pub(crate) const MAX_DEPTH: usize = 64;

/// One level of a schema.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Node {
    /// Allowed JSON types; empty means any. Two for int-or-string.
    pub(crate) types: Vec<String>,
    pub(crate) format: String,
    pub(crate) nullable: bool,
    pub(crate) preserve_unknown: bool,
    pub(crate) embedded: bool,
    pub(crate) int_or_string: bool,
    pub(crate) default: Option<Value>,
    pub(crate) properties: BTreeMap<String, Self>,
    pub(crate) additional: Option<Additional>,
    pub(crate) items: Option<Box<Self>>,
    pub(crate) list_type: ListType,
    pub(crate) atomic_map: bool,
    pub(crate) required: Vec<String>,
    pub(crate) enumeration: Vec<Value>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) minimum: Option<f64>,
    pub(crate) maximum: Option<f64>,
    pub(crate) exclusive_minimum: bool,
    pub(crate) exclusive_maximum: bool,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) min_length: Option<u64>,
    pub(crate) max_length: Option<u64>,
    pub(crate) min_items: Option<u64>,
    pub(crate) max_items: Option<u64>,
    pub(crate) unique_items: bool,
    pub(crate) min_properties: Option<u64>,
    pub(crate) max_properties: Option<u64>,
    pub(crate) all_of: Vec<Self>,
    pub(crate) any_of: Vec<Self>,
    pub(crate) one_of: Vec<Self>,
    pub(crate) not: Option<Box<Self>>,
    pub(crate) rules: Vec<Value>,
    /// Whether this node or one below it has rules.
    pub(crate) has_rules: bool,
}

/// `additionalProperties`: the allowed values of keys outside `properties`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Additional {
    /// `true`: anything, `false`: nothing.
    Any(bool),
    Schema(Box<Node>),
}

/// `x-kubernetes-list-type` with its keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ListType {
    /// No list type: atomic, but validation compares elements with the same index.
    #[default]
    Unsaid,
    Atomic,
    Set,
    Map(Vec<String>),
}

/// A `pattern` with its original text.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(crate) text: String,
    /// `None` when this engine cannot compile it: then no value matches, which fails closed.
    pub(crate) regex: Option<Regex>,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Node {
    /// Parses a schema. Parts of the wrong JSON type count as absent: they were validated when the schema was registered.
    pub(crate) fn parse(schema: &Value) -> Self {
        Self::parse_at(schema, 0)
    }

    fn parse_at(schema: &Value, depth: usize) -> Self {
        if depth > MAX_DEPTH {
            return Self::default();
        }
        let flag = |key: &str| schema.get(key).and_then(Value::as_bool).unwrap_or(false);
        let text = |key: &str| schema.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let count = |key: &str| schema.get(key).and_then(Value::as_u64);
        let float = |key: &str| schema.get(key).and_then(Value::as_f64);
        let child = |v: &Value| Self::parse_at(v, depth + 1);
        let list = |key: &str| schema.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let boxed = |key: &str| schema.get(key).filter(|v| v.is_object()).map(|v| Box::new(child(v)));

        let int_or_string = flag("x-kubernetes-int-or-string");
        let ty = text("type");
        let types = match (int_or_string, ty.is_empty()) {
            (true, _) => vec!["integer".to_owned(), "string".to_owned()],
            (false, true) => Vec::new(),
            (false, false) => vec![ty],
        };
        let strings = |v: &[Value]| v.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>();
        let list_type = match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
            Some("set") => ListType::Set,
            Some("map") => ListType::Map(strings(list("x-kubernetes-list-map-keys"))),
            Some("atomic") => ListType::Atomic,
            _ => ListType::Unsaid,
        };
        let mut node = Self {
            types,
            format: text("format"),
            nullable: flag("nullable"),
            preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
            embedded: flag("x-kubernetes-embedded-resource"),
            int_or_string,
            default: schema.get("default").cloned(),
            properties: schema
                .get("properties")
                .and_then(Value::as_object)
                .map(|p| p.iter().map(|(k, v)| (k.clone(), child(v))).collect())
                .unwrap_or_default(),
            additional: match schema.get("additionalProperties") {
                Some(Value::Bool(b)) => Some(Additional::Any(*b)),
                Some(v) if v.is_object() => Some(Additional::Schema(Box::new(child(v)))),
                _ => None,
            },
            items: boxed("items"),
            list_type,
            atomic_map: text("x-kubernetes-map-type") == "atomic",
            required: strings(list("required")),
            enumeration: list("enum").to_vec(),
            pattern: Some(text("pattern"))
                .filter(|p| !p.is_empty())
                .map(|text| Pattern { regex: Regex::new(&text).ok(), text }),
            minimum: float("minimum"),
            maximum: float("maximum"),
            exclusive_minimum: flag("exclusiveMinimum"),
            exclusive_maximum: flag("exclusiveMaximum"),
            multiple_of: float("multipleOf").filter(|m| *m != 0.0),
            min_length: count("minLength"),
            max_length: count("maxLength"),
            min_items: count("minItems"),
            max_items: count("maxItems"),
            unique_items: flag("uniqueItems"),
            min_properties: count("minProperties"),
            max_properties: count("maxProperties"),
            all_of: list("allOf").iter().map(child).collect(),
            any_of: list("anyOf").iter().map(child).collect(),
            one_of: list("oneOf").iter().map(child).collect(),
            not: boxed("not"),
            rules: list("x-kubernetes-validations").to_vec(),
            has_rules: false,
        };
        node.drop_int_or_string_alternatives();
        node.require_embedded_type();
        node.has_rules = !node.rules.is_empty()
            || node.properties.values().any(|n| n.has_rules)
            || node.items.as_ref().is_some_and(|n| n.has_rules)
            || matches!(node.additional.as_ref(), Some(Additional::Schema(n)) if n.has_rules);
        node
    }

    /// `anyOf: [integer, string]` is redundant beside int-or-string; a server drops it.
    fn drop_int_or_string_alternatives(&mut self) {
        let says_it = |any_of: &[Self]| match any_of {
            [a, b] => a.types == ["integer"] && b.types == ["string"],
            _ => false,
        };
        if !self.int_or_string {
            return;
        }
        if says_it(&self.any_of) {
            self.any_of.clear();
        } else if self.all_of.first().is_some_and(|first| says_it(&first.any_of))
            && let Some(first) = self.all_of.first_mut()
        {
            first.any_of.clear();
        }
    }

    fn require_embedded_type(&mut self) {
        if !self.embedded {
            return;
        }
        for key in ["apiVersion", "kind"] {
            if !self.required.iter().any(|r| r == key) {
                self.required.push(key.to_owned());
            }
            let property = self.properties.entry(key.to_owned()).or_default();
            if property.types.is_empty() {
                property.types.push("string".to_owned());
            }
        }
        let metadata = self.properties.entry("metadata".to_owned()).or_default();
        if metadata.types.is_empty() {
            metadata.types.push("object".to_owned());
            metadata.preserve_unknown = true;
        }
    }

    /// The schema of the value under `key`, if there is one.
    pub(crate) fn child(&self, key: &str) -> Option<&Self> {
        self.properties.get(key).or(match self.additional.as_ref() {
            Some(Additional::Schema(node)) => Some(node),
            _ => None,
        })
    }

    /// Whether `value` is a null that this schema does not allow.
    pub(crate) fn refuses_null(&self, value: &Value) -> bool {
        value.is_null() && !self.nullable
    }
}

/// The values of a list-map's keys in one element; a missing key takes its default, else null.
pub(crate) fn map_key(node: &Node, keys: &[String], item: &Value) -> Option<serde_json::Map<String, Value>> {
    let object = item.as_object()?;
    let default = |key: &str| node.items.as_ref()?.properties.get(key)?.default.clone();
    Some(
        keys.iter().filter_map(|key| Some((key.clone(), object.get(key).cloned().or_else(|| default(key))?))).collect(),
    )
}

/// The earlier members of a list, found by their keys. Only members of list-maps have an identity.
#[derive(Debug, Default)]
pub(crate) struct Members<'a> {
    list: &'a [Value],
    by_key: HashMap<String, &'a Value>,
}

impl<'a> Members<'a> {
    /// * `old` - the earlier value, if it was a list.
    pub(crate) fn new(node: &Node, old: Option<&'a Value>) -> Self {
        let list = old.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let mut by_key = HashMap::new();
        if let ListType::Map(keys) = &node.list_type {
            for item in list {
                if let Some(key) = map_key(node, keys, item) {
                    by_key.entry(Value::Object(key).to_string()).or_insert(item);
                }
            }
        }
        Self { list, by_key }
    }

    /// The earlier member with the identity of `item`.
    pub(crate) fn same(&self, node: &Node, item: &Value) -> Option<&'a Value> {
        let ListType::Map(keys) = &node.list_type else { return None };
        self.by_key.get(&Value::Object(map_key(node, keys, item)?).to_string()).copied()
    }

    /// The earlier value of `item`, at `index` of a list, for detecting a change.
    pub(crate) fn counterpart(&self, node: &Node, index: usize, item: &Value) -> Option<&'a Value> {
        match node.list_type {
            ListType::Map(_) => self.same(node, item),
            ListType::Unsaid => self.list.get(index),
            ListType::Atomic | ListType::Set => None,
        }
    }
}
