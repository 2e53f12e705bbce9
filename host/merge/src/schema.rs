//! Merge schemas: granular and atomic maps and lists, and merge keys.

mod build;
mod builtin;
mod openapi;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

pub use build::SchemaBuilder;

/// The merge rules of one kind. Cheap to clone.
///
/// The default applies to documents without a schema: maps merge key by key, lists are replaced as a whole, and `metadata` is an
/// ObjectMeta.
#[derive(Debug, Clone)]
pub struct Schema {
    types: Arc<[TypeSchema]>,
    root: TypeId,
}

/// A type within one [`SchemaBuilder`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeId(usize);

/// A type: its possible values and their merge rule.
#[derive(Debug, Clone)]
pub enum TypeSchema {
    /// Any value: maps merge key by key, lists are atomic.
    Any,
    /// Any value, replaced as a whole.
    AnyAtomic,
    /// A single value.
    Scalar(Scalar),
    /// A list of `element`.
    List {
        /// The identity of elements.
        kind: ListKind,
        /// The type of each element.
        element: TypeId,
    },
    /// A map with keys chosen by users.
    Map {
        /// The type of each value.
        element: TypeId,
        /// Replaced as a whole (`x-kubernetes-map-type: atomic`).
        atomic: bool,
    },
    /// An object with declared fields.
    Struct {
        /// By JSON name.
        fields: BTreeMap<String, Field>,
        /// The type of undeclared fields; `None` rejects them.
        rest: Option<TypeId>,
        /// Replaced as a whole.
        atomic: bool,
    },
}

/// The type of a scalar. `null` is always accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    /// A string.
    String,
    /// An integer or float.
    Number,
    /// `true` or `false`.
    Bool,
    /// Any of these: quantities, int-or-string, times.
    Any,
}

/// The identity of list elements (`x-kubernetes-list-type`).
#[derive(Debug, Clone, PartialEq)]
pub enum ListKind {
    /// The list is replaced as a whole.
    Atomic,
    /// Scalars, each at most once.
    Set,
    /// Objects, identified by these keys (`x-kubernetes-list-map-keys`).
    Map(Vec<ListKey>),
}

/// One key of a list of objects.
#[derive(Debug, Clone, PartialEq)]
pub struct ListKey {
    /// The name of the field.
    pub name: String,
    /// The value of an element without the field, e.g. `TCP` for `protocol`.
    pub default: Option<Value>,
}

/// One declared field of a struct.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its type.
    pub ty: TypeId,
    /// Its treatment in a strategic merge patch.
    pub patch: Patch,
    /// The API server always stores this field, even empty (a Go struct that is no pointer). Writing it does not make the writer its
    /// owner.
    pub present: bool,
}

impl Field {
    /// A field without a patch strategy.
    #[must_use]
    pub fn new(ty: TypeId) -> Self {
        Self { ty, patch: Patch::default(), present: false }
    }
}

/// The treatment of a field in a strategic merge patch (`patchStrategy` and `patchMergeKey` of the API types).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patch {
    /// The elements of the list merge.
    pub merge: bool,
    /// The field that identifies elements; empty for lists of scalars.
    pub merge_key: String,
    /// A patch lists the keys to keep (`retainKeys`).
    pub retain_keys: bool,
}

/// A type together with its table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TypeRef<'s> {
    types: &'s [TypeSchema],
    id: TypeId,
}

/// The structure of one value by its type.
#[derive(Clone, Copy)]
pub(crate) enum Atom<'s> {
    Scalar(Scalar),
    List { kind: &'s ListKind, element: TypeRef<'s> },
    Map { fields: Option<&'s BTreeMap<String, Field>>, rest: Option<TypeRef<'s>>, atomic: bool, owner: TypeRef<'s> },
}

impl Atom<'_> {
    /// Whether the value as a whole has one owner.
    pub(crate) fn is_leaf(self) -> bool {
        match self {
            Self::Scalar(_) => true,
            Self::List { kind, .. } => *kind == ListKind::Atomic,
            Self::Map { atomic, .. } => atomic,
        }
    }
}

static ANY: TypeSchema = TypeSchema::Any;
static NO_PATCH: Patch = Patch { merge: false, merge_key: String::new(), retain_keys: false };
static ATOMIC_LIST: ListKind = ListKind::Atomic;

impl<'s> TypeRef<'s> {
    fn at(self, id: TypeId) -> Self {
        Self { types: self.types, id }
    }

    fn schema(self) -> &'s TypeSchema {
        self.types.get(self.id.0).unwrap_or(&ANY)
    }

    /// Whether the schema does not describe values of this type.
    pub(crate) fn is_open(self) -> bool {
        matches!(self.schema(), TypeSchema::Any)
    }

    /// Whether this is a map or list that the schema declares atomic.
    pub(crate) fn is_atomic(self) -> bool {
        match self.schema() {
            TypeSchema::List { kind, .. } => *kind == ListKind::Atomic,
            TypeSchema::Map { atomic, .. } | TypeSchema::Struct { atomic, .. } => *atomic,
            TypeSchema::Any | TypeSchema::AnyAtomic | TypeSchema::Scalar(_) => false,
        }
    }

    /// The structure of this type; `value` decides where the type is open.
    pub(crate) fn atom(self, value: Option<&Value>) -> Atom<'s> {
        match self.schema() {
            TypeSchema::Scalar(scalar) => Atom::Scalar(*scalar),
            TypeSchema::List { kind, element } => Atom::List { kind, element: self.at(*element) },
            TypeSchema::Map { element, atomic } => {
                Atom::Map { fields: None, rest: Some(self.at(*element)), atomic: *atomic, owner: self }
            }
            TypeSchema::Struct { fields, rest, atomic } => {
                Atom::Map { fields: Some(fields), rest: rest.map(|r| self.at(r)), atomic: *atomic, owner: self }
            }
            any => match value {
                Some(Value::Object(_)) => {
                    let atomic = matches!(any, TypeSchema::AnyAtomic);
                    Atom::Map { fields: None, rest: Some(self), atomic, owner: self }
                }
                Some(Value::Array(_)) => Atom::List { kind: &ATOMIC_LIST, element: self },
                _ => Atom::Scalar(Scalar::Any),
            },
        }
    }

    /// The declared field of that name.
    pub(crate) fn declared(self, name: &str) -> Option<&'s Field> {
        match self.schema() {
            TypeSchema::Struct { fields, .. } => fields.get(name),
            _ => None,
        }
    }

    /// The type of the value under `name`; any type if unknown.
    pub(crate) fn field(self, name: &str) -> Self {
        let unknown = self.at(TypeId(usize::MAX));
        match self.schema() {
            TypeSchema::Struct { fields, rest, .. } => {
                fields.get(name).map(|f| f.ty).or(*rest).map_or(unknown, |id| self.at(id))
            }
            TypeSchema::Map { element, .. } => self.at(*element),
            _ => unknown,
        }
    }

    /// The type of the value under `name`, and its treatment in a strategic merge patch; none for fields that are not declared.
    pub(crate) fn member(self, name: &str) -> (Self, &'s Patch) {
        match self.declared(name) {
            Some(field) => (self.at(field.ty), &field.patch),
            None => (self.field(name), &NO_PATCH),
        }
    }

    /// The type of list elements; any type if unknown.
    pub(crate) fn element(self) -> Self {
        match self.schema() {
            TypeSchema::List { element, .. } => self.at(*element),
            _ => self.at(TypeId(usize::MAX)),
        }
    }
}

impl Default for Schema {
    fn default() -> Self {
        let mut builder = SchemaBuilder::new();
        let any = builder.any();
        let root = builder.document(BTreeMap::new(), Some(any));
        builder.build(root)
    }
}

impl Schema {
    /// The rules of a built-in kind of the API server; `None` for other kinds.
    ///
    /// * `group` - empty for the core group.
    ///
    /// # Source
    ///
    /// The API types of Kubernetes 1.36: `patchStrategy`, `patchMergeKey`, `x-kubernetes-list-type`,
    /// `x-kubernetes-list-map-keys`, `x-kubernetes-map-type`.
    #[must_use]
    pub fn builtin(group: &str, version: &str, kind: &str) -> Option<Self> {
        builtin::find(group, version, kind)
    }

    /// The rules of a custom resource, from the `openAPIV3Schema` of one CRD version.
    ///
    /// `apiVersion`, `kind` and `metadata` follow the rules of every object, regardless of the schema. Unreadable parts count as untyped,
    /// as does everything without a schema.
    #[must_use]
    pub fn from_openapi(schema: &Value) -> Self {
        openapi::document(schema)
    }

    pub(crate) fn root(&self) -> TypeRef<'_> {
        TypeRef { types: &self.types, id: self.root }
    }

    /// Adds the fields that a stored object always has, from the root down, so that a comparison with an object without them is fair.
    pub fn fill(&self, value: &mut Value) {
        fill(value, self.root());
    }
}

fn fill(value: &mut Value, ty: TypeRef<'_>) {
    match (value, ty.schema()) {
        (Value::Object(map), TypeSchema::Struct { fields, .. }) => {
            for (name, field) in fields.iter().filter(|(_, f)| f.present) {
                if !map.contains_key(name) {
                    let empty = match ty.at(field.ty).schema() {
                        TypeSchema::List { .. } => Value::Null,
                        TypeSchema::Scalar(Scalar::String) => "".into(),
                        TypeSchema::Scalar(Scalar::Number) => 0.into(),
                        TypeSchema::Scalar(Scalar::Bool) => false.into(),
                        _ => Value::Object(Map::new()),
                    };
                    map.insert(name.clone(), empty);
                }
            }
            for (name, child) in map.iter_mut() {
                fill(child, ty.field(name));
            }
        }
        (Value::Array(items), TypeSchema::List { .. }) => {
            for item in items {
                fill(item, ty.element());
            }
        }
        _ => {}
    }
}
