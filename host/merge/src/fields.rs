//! Sets of field paths: who owns what in an object.
//!
//! A [`FieldSet`] is the content of one `fieldsV1` in `metadata.managedFields`.

mod json;
mod path;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

pub use path::{Path, PathElement};

use crate::go;
use crate::schema::{Atom, ListKind, Schema, TypeRef};
use crate::typed;

/// Why a `fieldsV1` cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A node of the set is no JSON object.
    #[error("a field set must consist of objects, got {0}")]
    NotAnObject(String),
    /// A path element has a known prefix and content that cannot be read.
    #[error("path element {element:?} cannot be read")]
    Element {
        /// The key as it was spelled.
        element: String,
        /// What is wrong with the JSON behind the prefix, if that is the reason.
        #[source]
        source: Option<serde_json::Error>,
    },
    /// An entry of managedFields is of a kind that is not known.
    #[error("unknown {what} {value:?} in managedFields")]
    Unknown {
        /// Which part of the entry.
        what: &'static str,
        /// What it says.
        value: String,
    },
}

/// A set of paths. A path may be in the set, have paths below it in the set, or both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSet {
    nodes: BTreeMap<PathElement, Node>,
}

/// Never empty: a member, or something below.
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

    /// All fields of a document, as server-side apply counts them: what somebody owns who applies it.
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

    /// Adds everything of `below`, under `element`.
    pub(crate) fn graft(&mut self, element: PathElement, member: bool, below: Self) {
        if member || !below.is_empty() {
            let node = self.nodes.entry(element).or_default();
            node.member |= member;
            node.below.extend(below);
        }
    }

    fn extend(&mut self, other: Self) {
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

    /// The non-empty set of what is below `element`.
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

    /// Paths in this set and not in the other. Paths below one that is taken away stay.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.subtract(other, false)
    }

    /// Like [`difference`](Self::difference), and without all that is below a path of the other.
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
        // Members of one level come before what is below any of them.
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

    /// The set, and with it every declared struct field on the way to one of its paths.
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

    /// The set after the schema changed: what was owned inside of a value that now is atomic is owned as a whole.
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

/// The part of `value` that is in `set`: what an apply by its owner would have to say.
///
/// A map or list element comes with what is below it in the set. A path with nothing below it brings its whole value if
/// that is a scalar or atomic, and an empty map or list if others may own what is inside. Where the two cannot be told
/// apart, without a schema and where it leaves the type open, it brings the whole value. Elements of lists are found by
/// the keys in the set; one none of whose keys is owned brings all of them, so that it can be told apart. `apiVersion`,
/// `kind`, name and namespace belong to no set; [`crate::apply::applied_part`] adds them.
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
    // What is below in the set was not atomic when it was written, whatever the schema says now.
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

/// Where the elements of a list are that a set may name.
struct Index<'v> {
    named: BTreeMap<PathElement, usize>,
    /// Objects without one of the keys: it may have a default that only a schema tells.
    incomplete: Vec<(usize, &'v Map<String, Value>)>,
}

impl<'v> Index<'v> {
    fn new(items: &'v [Value], set: &FieldSet, ty: Option<TypeRef<'_>>) -> Self {
        let mut index = Self { named: BTreeMap::new(), incomplete: Vec::new() };
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
        let keys: BTreeSet<Vec<&String>> = set.nodes.keys().filter_map(PathElement::key_names).collect();
        for (position, item) in items.iter().enumerate() {
            index.named.entry(PathElement::Value(item.clone())).or_insert(position);
            let Value::Object(item) = item else { continue };
            for names in &keys {
                let pairs = names.iter().map(|name| Some(((*name).clone(), item.get(*name)?.clone())));
                match pairs.collect() {
                    Some(pairs) => drop(index.named.entry(PathElement::Key(pairs)).or_insert(position)),
                    None => index.incomplete.push((position, item)),
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
            let fits =
                |item: &Map<String, Value>| keys.iter().all(|(k, v)| item.get(k).is_none_or(|have| go::equal(have, v)));
            self.incomplete.iter().find(|(_, item)| fits(item)).map(|(position, _)| *position)
        };
        self.named.get(element).copied().or_else(incomplete)
    }
}

/// Takes the paths of `set`, and all that is below them, out of `value`.
#[must_use]
pub fn remove(value: &Value, set: &FieldSet, schema: &Schema) -> Value {
    let empty = || if value.is_object() { Value::Object(Map::new()) } else { Value::Null };
    typed::remove(value, set, schema.root()).unwrap_or_else(empty)
}
