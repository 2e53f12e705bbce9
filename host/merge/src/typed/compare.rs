//! Comparison of two typed documents.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{entries, has_content, items, named};
use crate::fields::{FieldSet, PathElement};
use crate::go;
use crate::schema::{Atom, TypeRef};

/// The fields in which two documents differ.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    pub(crate) added: FieldSet,
    pub(crate) modified: FieldSet,
    pub(crate) removed: FieldSet,
}

impl Comparison {
    /// Without fields at or below the given paths.
    pub(crate) fn without(self, set: &FieldSet) -> Self {
        Self {
            added: self.added.recursive_difference(set),
            modified: self.modified.recursive_difference(set),
            removed: self.removed.recursive_difference(set),
        }
    }
}

/// Compares the old document with the new one.
pub(crate) fn compare(old: &Value, new: &Value, ty: TypeRef<'_>) -> Comparison {
    let mut walker = Walker { path: Vec::new(), found: Comparison::default() };
    walker.visit(Some(old), Some(new), ty);
    walker.found
}

struct Walker {
    path: Vec<PathElement>,
    found: Comparison,
}

impl Walker {
    fn visit(&mut self, old: Option<&Value>, new: Option<&Value>, ty: TypeRef<'_>) {
        if old.is_none() && new.is_none() {
            return;
        }
        // A null takes the shape of the other side.
        let shape = |value: Option<&Value>, other: Option<&Value>| {
            let shape = value.filter(|v| !v.is_null() || other.is_none()).or(value.and(other));
            shape.map(|shape| ty.atom(Some(shape)))
        };
        let (old_atom, new_atom) = (shape(old, new), shape(new, old));
        let new_atom = new_atom.filter(|new| !old_atom.is_some_and(|old| same_shape(old, *new)));
        let mut leaf = false;
        for atom in old_atom.into_iter().chain(new_atom) {
            leaf |= self.atom(atom, old, new);
        }
        if leaf {
            self.leaf(old, new);
        } else if old.is_none() {
            self.found.added.insert(self.path.iter().cloned());
        } else if new.is_none() {
            self.found.removed.insert(self.path.iter().cloned());
        }
    }

    /// Compares the content and returns `false`, or returns `true`: the value is compared as a whole.
    fn atom<'v>(&mut self, atom: Atom<'_>, old: Option<&'v Value>, new: Option<&'v Value>) -> bool {
        // Two empty values are compared as a whole, otherwise the difference between null and empty would be lost.
        if atom.is_leaf() || !(has_content(old) || has_content(new)) {
            return true;
        }
        match atom {
            Atom::Scalar(_) => {}
            Atom::Map { owner, .. } => {
                let (old, new) = (entries(old), entries(new));
                let names: BTreeSet<&String> = old.into_iter().chain(new).flat_map(|map| map.keys()).collect();
                for name in names {
                    let pick = |map: Option<&'v Map<String, Value>>| map.and_then(|map| map.get(name));
                    let (old, new) = (pick(old), pick(new));
                    self.path.push(PathElement::field(name));
                    self.visit(old, new, owner.field(name));
                    self.path.pop();
                }
            }
            Atom::List { kind, element } => {
                let mut pairs: BTreeMap<PathElement, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
                for (name, item) in named(kind, items(old)) {
                    pairs.entry(name).or_default().0.push(item);
                }
                for (name, item) in named(kind, items(new)) {
                    pairs.entry(name).or_default().1.push(item);
                }
                for (name, (old, new)) in pairs {
                    self.path.push(name);
                    match (old.as_slice(), new.as_slice()) {
                        ([] | [_], [] | [_]) => self.visit(old.first().copied(), new.first().copied(), element),
                        (old, new) => self.duplicates(old, new),
                    }
                    self.path.pop();
                }
            }
        }
        false
    }

    /// A key that occurs more than once is compared as a whole.
    fn duplicates(&mut self, old: &[&Value], new: &[&Value]) {
        let same = old.len() == new.len() && old.iter().zip(new).all(|(a, b)| go::equal(a, b));
        let set = match (old.is_empty(), new.is_empty()) {
            (true, _) => &mut self.found.added,
            (_, true) => &mut self.found.removed,
            _ if same => return,
            _ => &mut self.found.modified,
        };
        set.insert(self.path.iter().cloned());
    }

    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>) {
        let set = match (old, new) {
            (None, _) => &mut self.found.added,
            (_, None) => &mut self.found.removed,
            (Some(old), Some(new)) if go::equal(old, new) => return,
            _ => &mut self.found.modified,
        };
        set.insert(self.path.iter().cloned());
    }
}

fn same_shape(a: Atom<'_>, b: Atom<'_>) -> bool {
    matches!(
        (a, b),
        (Atom::Scalar(_), Atom::Scalar(_))
            | (Atom::Map { .. }, Atom::Map { .. })
            | (Atom::List { .. }, Atom::List { .. })
    )
}
