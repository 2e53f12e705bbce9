//! Field sets: paths of the fields that a manager owns.
//!
//! A [`FieldSet`] is the content of one `fieldsV1` in `metadata.managedFields`.

mod json;
mod path;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

pub use path::{Path, PathElement};

use crate::schema::{Atom, ListKind, Schema, TypeRef};
use crate::typed;

/// Why a `fieldsV1` cannot be parsed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A node of the set is no JSON object.
    #[error("a field set must consist of objects, got {0}")]
    NotAnObject(String),
    /// A path element has a known prefix and invalid content.
    #[error("path element {element:?} cannot be read")]
    Element {
        /// The key as written.
        element: String,
        /// The JSON fault behind the prefix, if that is the cause.
        #[source]
        source: Option<serde_json::Error>,
    },
    /// An entry of managedFields has an unknown type.
    #[error("unknown {what} {value:?} in managedFields")]
    Unknown {
        /// The unknown part of the entry.
        what: &'static str,
        /// Its value.
        value: String,
    },
}

/// A set of paths. A path may be in the set, have paths below it in the set, or both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSet {
    nodes: BTreeMap<PathElement, Node>,
}

/// Never empty: a member, or with members below it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Node {
    member: bool,
    below: FieldSet,
}

impl FieldSet {
    /// The empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A set of paths that consist of field names only.
    ///
    /// ```
    /// # use oarlock_merge::fields::FieldSet;
    /// assert_eq!(FieldSet::of_fields(&[&["status"], &["metadata", "labels"]]).to_json().to_string(),
    ///     r#"{"f:metadata":{"f:labels":{}},"f:status":{}}"#);
    /// ```
    #[must_use]
    pub fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::new();
        for path in paths {
            set.insert(path.iter().map(|name| PathElement::field(*name)));
        }
        set
    }

    /// All fields of a document, as server-side apply counts them: the fields that an applier of it owns.
    #[must_use]
    pub fn of(value: &Value, schema: &Schema) -> Self {
        typed::field_set(value, schema.root())
    }

    /// Whether no path is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Adds a path. The empty path cannot be in a set.
    pub fn insert(&mut self, path: impl IntoIterator<Item = PathElement>) {
        let mut path = path.into_iter().peekable();
        let mut set = self;
        while let Some(element) = path.next() {
            let node = set.nodes.entry(element).or_default();
            node.member |= path.peek().is_none();
            set = &mut node.below;
        }
    }

    /// Adds all of `below` under `element`.
    pub(crate) fn graft(&mut self, element: PathElement, member: bool, below: Self) {
        if member || !below.is_empty() {
            let node = self.nodes.entry(element).or_default();
            node.member |= member;
            if node.below.is_empty() {
                node.below = below;
            } else {
                node.below.extend(below);
            }
        }
    }

    /// Adds all paths of another set.
    pub(crate) fn extend(&mut self, other: Self) {
        for (element, node) in other.nodes {
            self.graft(element, node.member, node.below);
        }
    }

    /// Whether exactly this path is in the set.
    #[must_use]
    pub fn contains(&self, path: &[PathElement]) -> bool {
        match path {
            [] => false,
            [last] => self.has(last),
            [first, rest @ ..] => self.below(first).is_some_and(|below| below.contains(rest)),
        }
    }

    pub(crate) fn has(&self, element: &PathElement) -> bool {
        self.nodes.get(element).is_some_and(|node| node.member)
    }

    /// The non-empty set below `element`.
    #[must_use]
    pub fn below(&self, element: &PathElement) -> Option<&Self> {
        self.nodes.get(element).map(|node| &node.below).filter(|below| !below.is_empty())
    }

    /// Paths in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut union = self.clone();
        union.extend(other.clone());
        union
    }

    /// Paths in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let mut both = Self::new();
        for (element, node) in &self.nodes {
            if let Some(theirs) = other.nodes.get(element) {
                both.graft(element.clone(), node.member && theirs.member, node.below.intersection(&theirs.below));
            }
        }
        both
    }

    /// Paths in this set and not in the other. Paths below a removed one stay.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.subtract(other, false)
    }

    /// Like [`difference`](Self::difference), but also without all paths below a path of the other.
    #[must_use]
    pub fn recursive_difference(&self, other: &Self) -> Self {
        self.subtract(other, true)
    }

    fn subtract(&self, other: &Self, recursive: bool) -> Self {
        let mut rest = Self::new();
        for (element, node) in &self.nodes {
            match other.nodes.get(element) {
                None => rest.graft(element.clone(), node.member, node.below.clone()),
                Some(theirs) if recursive && theirs.member => {}
                Some(theirs) => rest.graft(
                    element.clone(),
                    node.member && !theirs.member,
                    node.below.subtract(&theirs.below, recursive),
                ),
            }
        }
        rest
    }

    /// Paths with nothing of the set below them.
    #[must_use]
    pub fn leaves(&self) -> Self {
        let mut leaves = Self::new();
        for (element, node) in &self.nodes {
            let leaf = node.member && node.below.is_empty();
            leaves.graft(element.clone(), leaf, node.below.leaves());
        }
        leaves
    }

    /// All paths, in the order the API server lists them.
    #[must_use]
    pub fn paths(&self) -> Vec<Path> {
        let mut paths = Vec::new();
        self.collect(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect(&self, prefix: &mut Vec<PathElement>, paths: &mut Vec<Path>) {
        // Members of one level come before all paths below them.
        for (element, _) in self.nodes.iter().filter(|(_, node)| node.member) {
            let mut path = prefix.clone();
            path.push(element.clone());
            paths.push(Path(path));
        }
        for (element, node) in &self.nodes {
            prefix.push(element.clone());
            node.below.collect(prefix, paths);
            prefix.pop();
        }
    }

    /// The set with every declared struct field on the way to one of its paths.
    pub(crate) fn with_named_fields(&self, ty: TypeRef<'_>) -> Self {
        let mut all = Self::new();
        for (element, node) in &self.nodes {
            let (declared, child) = match element {
                PathElement::Field(name) => (ty.declared(name).is_some(), ty.field(name)),
                PathElement::Key(_) | PathElement::Value(_) | PathElement::Index(_) => (false, ty.element()),
            };
            let member = node.member || (declared && !node.below.is_empty());
            all.graft(element.clone(), member, node.below.with_named_fields(child));
        }
        all
    }

    /// The set after a change of the schema: paths inside a value that is now atomic become the path of the value.
    pub(crate) fn reconciled(&self, ty: TypeRef<'_>) -> Self {
        let mut set = Self::new();
        for (element, node) in &self.nodes {
            let child = match element {
                PathElement::Field(name) => ty.field(name),
                PathElement::Key(_) | PathElement::Value(_) | PathElement::Index(_) => ty.element(),
            };
            if child.is_atomic() {
                set.graft(element.clone(), true, Self::new());
            } else {
                set.graft(element.clone(), node.member, node.below.reconciled(child));
            }
        }
        set
    }

    /// Reads the JSON of a `fieldsV1`. Elements with an unknown prefix are skipped, as the API server does.
    ///
    /// # Errors
    ///
    /// [`Error`] when a node is no object, or a key, value or index cannot be read.
    pub fn from_json(value: &Value) -> Result<Self, Error> {
        json::parse(value)
    }

    /// The JSON of a `fieldsV1`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json::print(self)
    }
}

/// The part of `value` in `set`: the configuration that its owner would have to apply.
///
/// A map or list element includes the content of the set below it. A path without content below it includes its whole value if that is a
/// scalar or atomic. It includes an empty map or list if other managers may own the content. Where the two cannot be distinguished,
/// without a schema or with an open type, it includes the whole value. Elements of lists are found by the keys in the set; an element
/// without any owned key includes all its keys, for identification. `apiVersion`, `kind`, name and namespace belong to no set;
/// [`crate::apply::applied_part`] adds them.
#[must_use]
pub fn extract(value: &Value, set: &FieldSet, schema: Option<&Schema>) -> Value {
    let ty = schema.map(Schema::root);
    match value {
        Value::Object(map) => Value::Object(extract_map(map, set, ty)),
        Value::Array(items) => Value::Array(extract_items(items, set, ty)),
        scalar => scalar.clone(),
    }
}

fn extract_node(value: &Value, node: &Node, ty: Option<TypeRef<'_>>) -> Value {
    let ty = ty.filter(|ty| !ty.is_open());
    // Content below it in the set was not atomic when it was written, whatever the schema is now.
    if node.below.is_empty() && ty.is_none_or(|ty| ty.atom(Some(value)).is_leaf()) {
        return value.clone();
    }
    match value {
        Value::Object(map) => Value::Object(extract_map(map, &node.below, ty)),
        Value::Array(items) => Value::Array(extract_items(items, &node.below, ty)),
        scalar => scalar.clone(),
    }
}

fn extract_map(map: &Map<String, Value>, set: &FieldSet, ty: Option<TypeRef<'_>>) -> Map<String, Value> {
    let mut part = Map::new();
    for (element, node) in &set.nodes {
        if let PathElement::Field(name) = element
            && let Some(child) = map.get(name)
        {
            part.insert(name.clone(), extract_node(child, node, ty.map(|ty| ty.field(name))));
        }
    }
    part
}

fn extract_items(items: &[Value], set: &FieldSet, ty: Option<TypeRef<'_>>) -> Vec<Value> {
    let element_ty = ty.map(TypeRef::element);
    let index = Index::new(items, set, ty);
    // In the order of the list, which an apply keeps.
    let mut found: BTreeMap<usize, Value> = BTreeMap::new();
    for (element, node) in &set.nodes {
        let Some(position) = index.position(element) else { continue };
        let Some(item) = items.get(position) else { continue };
        let mut part = extract_node(item, node, element_ty);
        if let (PathElement::Key(keys), Value::Object(part)) = (element, &mut part)
            && !keys.keys().any(|key| part.contains_key(key))
        {
            part.extend(keys.iter().map(|(k, v)| (k.clone(), v.clone())));
        }
        found.insert(position, part);
    }
    found.into_values().collect()
}

/// Most combinations of keys that identify elements of one list, and most keys of each. A list has one combination, and another after a
/// change of its definition. Each combination is searched for in every element.
const MOST_KEYS: usize = 8;

/// Positions of elements by their present keys, and by the names of these keys.
type ByPresent = BTreeMap<Vec<String>, BTreeMap<PathElement, usize>>;

/// Positions of the list elements that a set may name.
struct Index {
    named: BTreeMap<PathElement, usize>,
    /// By the names of the keys, and by the names of the present ones: elements without the other keys, whose defaults only a schema has.
    incomplete: BTreeMap<Vec<String>, ByPresent>,
}

impl Index {
    fn new(items: &[Value], set: &FieldSet, ty: Option<TypeRef<'_>>) -> Self {
        let mut index = Self { named: BTreeMap::new(), incomplete: BTreeMap::new() };
        if let Some(Atom::List { kind, .. }) = ty.map(|ty| ty.atom(Some(&Value::Array(Vec::new()))))
            && *kind != ListKind::Atomic
        {
            for (position, item) in items.iter().enumerate() {
                if let Ok(name) = typed::element_of(kind, item) {
                    index.named.entry(name).or_insert(position);
                }
            }
            return index;
        }
        let mut keys: BTreeSet<Vec<&String>> = BTreeSet::new();
        for names in set.nodes.keys().filter_map(PathElement::key_names).filter(|names| names.len() <= MOST_KEYS) {
            if keys.len() < MOST_KEYS {
                keys.insert(names);
            }
        }
        for (position, item) in items.iter().enumerate() {
            index.named.entry(PathElement::Value(item.clone())).or_insert(position);
            let Value::Object(item) = item else { continue };
            for names in &keys {
                let present: Vec<String> =
                    names.iter().filter(|n| item.contains_key(**n)).map(|n| (*n).clone()).collect();
                let pairs = present.iter().filter_map(|name| Some((name.clone(), item.get(name)?.clone())));
                let element = PathElement::Key(pairs.collect());
                if present.len() == names.len() {
                    index.named.entry(element).or_insert(position);
                    continue;
                }
                let names = names.iter().map(|name| (*name).clone()).collect();
                let by_present = index.incomplete.entry(names).or_default();
                if by_present.len() < MOST_KEYS || by_present.contains_key(&present) {
                    by_present.entry(present).or_default().entry(element).or_insert(position);
                }
            }
        }
        index
    }

    fn position(&self, element: &PathElement) -> Option<usize> {
        if let PathElement::Index(index) = element {
            return usize::try_from(*index).ok();
        }
        let incomplete = || {
            let PathElement::Key(keys) = element else { return None };
            let names: Vec<String> = keys.keys().cloned().collect();
            let of = |present: &Vec<String>| {
                PathElement::Key(present.iter().filter_map(|k| Some((k.clone(), keys.get(k)?.clone()))).collect())
            };
            let found = self.incomplete.get(&names)?.iter().filter_map(|(present, items)| items.get(&of(present)));
            found.min().copied()
        };
        self.named.get(element).copied().or_else(incomplete)
    }
}

/// Removes the paths of `set`, and everything below them, from `value`.
#[must_use]
pub fn remove(value: &Value, set: &FieldSet, schema: &Schema) -> Value {
    let empty = || if value.is_object() { Value::Object(Map::new()) } else { Value::Null };
    typed::remove(value, set, schema.root()).unwrap_or_else(empty)
}
