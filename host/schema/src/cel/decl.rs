//! CEL declarations of schemas: types, and the largest sizes of values.
//!
//! # Source
//!
//! apiserver `pkg/cel/common/schemas.go`, `SchemaDeclType`, and `pkg/cel/types.go`.

use std::{
    collections::{BTreeMap, HashMap},
    rc::Rc,
};

use super::{types::Type, value::escape_name};
use crate::node::{Additional, Node};

/// Bytes of the largest request.
pub(crate) const REQUEST: u64 = 3 * 1024 * 1024;

/// The CEL declaration of one level of a schema.
#[derive(Debug)]
pub(crate) struct Decl {
    pub(super) ty: Type,
    /// Most characters, elements or entries of a value. Zero for values of fixed size, and for objects.
    pub(super) max: u64,
    /// Length of the shortest JSON text of a value.
    least: u64,
    /// Fields of an object by their names in CEL.
    pub(super) fields: BTreeMap<String, Rc<Self>>,
    pub(super) key: Option<Rc<Self>>,
    /// Elements of a list, values of a map.
    pub(super) element: Option<Rc<Self>>,
}

impl Decl {
    fn simple(ty: Type, least: u64, max: u64) -> Self {
        Self { ty, max, least, fields: BTreeMap::new(), key: None, element: None }
    }

    /// The declaration of a schema; `None` where CEL cannot access it.
    ///
    /// * `is_root` - whether it describes a whole resource, which also has type and metadata.
    pub(crate) fn of(node: &Node, is_root: bool) -> Option<Self> {
        // A server numbers this type by the clock.
        Self::named(node, is_root || node.embedded, "selfType")
    }

    fn named(node: &Node, is_resource: bool, name: &str) -> Option<Self> {
        if node.int_or_string {
            let max = node.max_length.map_or(REQUEST - 2, |max| max.saturating_mul(4));
            return Some(Self::simple(Type::Dyn, 1, max));
        }
        match node.types.first().map(String::as_str) {
            Some("array") => Self::list(node, name),
            Some("object") => match &node.additional {
                Some(Additional::Schema(values)) => Self::map(node, values, name),
                _ => Some(Self::object(node, is_resource, name)),
            },
            Some("string") => Some(Self::text(node)),
            Some("boolean") => Some(Self::simple(Type::Bool, 4, 0)),
            Some("number") => Some(Self::simple(Type::Double, 1, 0)),
            Some("integer") => Some(Self::simple(Type::Int, 1, 0)),
            _ => None,
        }
    }

    fn list(node: &Node, name: &str) -> Option<Self> {
        let items = node.items.as_deref()?;
        let element = Self::named(items, items.embedded, &format!("{name}.@idx"))?;
        let max = node.max_items.unwrap_or_else(|| (REQUEST - 2) / (element.least + 1));
        let mut list = Self::simple(Type::list(element.ty.clone()), 2, max);
        list.element = Some(Rc::new(element));
        Some(list)
    }

    fn map(node: &Node, values: &Node, name: &str) -> Option<Self> {
        let element = Self::named(values, values.embedded, &format!("{name}.@elem"))?;
        let max = node.max_properties.unwrap_or_else(|| (REQUEST - 2) / (element.least + 6));
        let mut map = Self::simple(Type::map(Type::String, element.ty.clone()), 2, max);
        map.key = Some(Rc::new(Self::simple(Type::String, 2, 0)));
        map.element = Some(Rc::new(element));
        Some(map)
    }

    fn object(node: &Node, is_resource: bool, name: &str) -> Self {
        let mut object = Self::simple(Type::Struct(name.into()), 2, 0);
        let mut add = |field: &str, declared: Self, has_default: bool| {
            if node.required.iter().any(|required| required == field) && !has_default {
                object.least += u64::try_from(field.len()).unwrap_or(u64::MAX) + declared.least + 4;
            }
            if let Some(escaped) = escape_name(field) {
                object.fields.insert(escaped, Rc::new(declared));
            }
        };
        let implied = is_resource && !declares_metadata(node);
        for (field, child) in &node.properties {
            if implied && ["metadata", "kind", "apiVersion"].contains(&field.as_str()) {
                continue;
            }
            let path = format!("{name}.{}", escape_name(field).as_deref().unwrap_or(field));
            if let Some(declared) = Self::named(child, child.embedded, &path) {
                add(field, declared, child.default.is_some());
            }
        }
        if implied {
            let text = || Self::simple(Type::String, 2, REQUEST - 2);
            let mut metadata = Self::simple(Type::Struct(format!("{name}.metadata").into()), 2, 0);
            metadata.fields.extend(["name", "generateName"].map(|field| (field.to_owned(), Rc::new(text()))));
            add("metadata", metadata, false);
            add("kind", text(), false);
            add("apiVersion", text(), false);
        }
        object
    }

    fn text(node: &Node) -> Self {
        match node.format.as_str() {
            "byte" => Self::simple(Type::Bytes, 2, node.max_length.unwrap_or(REQUEST - 2)),
            "duration" => Self::simple(Type::Duration, 3, 32),
            "date" => Self::simple(Type::Timestamp, 12, 12),
            "date-time" => Self::simple(Type::Timestamp, 21, 32),
            _ => {
                let longest = node.enumeration.iter().map(|value| value.as_str().map_or(0, str::len)).max();
                // Four bytes per character.
                let max = match (node.max_length, longest) {
                    (Some(max), _) => max.saturating_mul(4),
                    (None, Some(longest)) => u64::try_from(longest).unwrap_or(u64::MAX),
                    (None, None) => REQUEST - 2,
                };
                Self::simple(Type::String, 2, max)
            }
        }
    }

    /// The most values of this declaration in one request.
    pub(crate) fn most_in_a_request(&self) -> u64 {
        REQUEST / (self.least + 1)
    }

    /// All objects in the declaration, by the names of their types.
    pub(super) fn objects<'a>(&'a self, found: &mut HashMap<&'a str, &'a Self>) {
        if let Type::Struct(name) = &self.ty {
            found.insert(name, self);
        }
        self.fields.values().for_each(|field| field.objects(found));
        if let Some(element) = self.element.as_deref() {
            element.objects(found);
        }
    }
}

/// Whether a schema declares all fields that every resource has; then its own limits count.
fn declares_metadata(node: &Node) -> bool {
    let is = |node: Option<&Node>, ty: &str| node.is_some_and(|node| node.types == [ty]);
    let property = |node: &Node, name: &str, ty: &str| is(node.properties.get(name), ty);
    property(node, "kind", "string")
        && property(node, "apiVersion", "string")
        && property(node, "metadata", "object")
        && node.properties.get("metadata").is_some_and(|metadata| {
            property(metadata, "name", "string") && property(metadata, "generateName", "string")
        })
}
