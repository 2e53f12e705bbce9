//! The model between the schema and the languages: structs, enums and the types of their fields.

/// The types of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// API group; empty for the core group.
    pub group: String,
    /// Such as `v1`.
    pub version: String,
    /// Such as `Deployment`.
    pub kind: String,
    /// The structs; the first one is the object itself.
    pub structs: Vec<Struct>,
    /// The enums.
    pub enums: Vec<Enum>,
}

impl Model {
    /// `GROUP/VERSION`, or `VERSION` in the core group.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

/// An object with known fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Struct {
    /// Its name in every language: upper camel case, unique among structs and enums.
    pub name: String,
    /// Its description, and which fields exclude each other.
    pub doc: String,
    /// In the order of their names.
    pub fields: Vec<Field>,
    /// Whether objects may have more fields (`x-kubernetes-preserve-unknown-fields`), which are kept.
    pub open: bool,
}

/// A field of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name in JSON.
    pub json: String,
    /// Its description and default.
    pub doc: String,
    /// Whether every object has it.
    pub required: bool,
    /// Whether null means an empty list or map: Go writes that of a field that every object has.
    pub null_is_empty: bool,
    /// The type of its value.
    pub ty: Type,
}

/// The allowed values of a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enum {
    /// Its name in every language, unique among structs and enums.
    pub name: String,
    /// The description of the field.
    pub doc: String,
    /// Without duplicates, in the order of the schema; never empty.
    pub values: Vec<String>,
}

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// `true` or `false`.
    Bool,
    /// An integer of 32 bits.
    Int32,
    /// An integer of 64 bits.
    Int64,
    /// A number.
    Float,
    /// A string.
    String,
    /// A string that is always this one: `apiVersion` and `kind` of the object.
    Constant(String),
    /// A string with a time in RFC 3339.
    Time,
    /// A string of Base64.
    Bytes,
    /// An integer or a string.
    IntOrString,
    /// A quantity such as `100m`: an integer or a string.
    Quantity,
    /// Any JSON value.
    Any,
    /// A list.
    List(Box<Self>),
    /// An object with any keys.
    Map(Box<Self>),
    /// The value or null.
    Nullable(Box<Self>),
    /// An index of [`Model::structs`].
    Struct(usize),
    /// A struct that contains this field, at some depth.
    Recursive(usize),
    /// An index of [`Model::enums`].
    Enum(usize),
}

impl Type {
    /// The type without null, and whether null is allowed.
    #[must_use]
    pub fn non_null(&self) -> (&Self, bool) {
        match self {
            Self::Nullable(inner) => (inner, true),
            other => (other, false),
        }
    }

    /// Whether the predicate holds of this type or one within it. Structs are not entered.
    pub(crate) fn any(&self, predicate: &impl Fn(&Self) -> bool) -> bool {
        predicate(self)
            || match self {
                Self::List(inner) | Self::Map(inner) | Self::Nullable(inner) => inner.any(predicate),
                _ => false,
            }
    }
}

impl Model {
    /// Whether a field anywhere has a type within its own for which the predicate holds.
    pub(crate) fn uses(&self, predicate: impl Fn(&Type) -> bool) -> bool {
        self.structs.iter().flat_map(|one| &one.fields).any(|field| field.ty.any(&predicate))
    }

    /// Whether a field may be absent, null, or have a value.
    pub(crate) fn has_nullable_fields(&self) -> bool {
        self.structs.iter().flat_map(|one| &one.fields).any(|field| !field.required && field.ty.non_null().1)
    }

    /// Whether null means an empty list or map in a field.
    pub(crate) fn has_null_for_empty(&self) -> bool {
        self.structs.iter().flat_map(|one| &one.fields).any(|field| field.null_is_empty)
    }

    /// Whether a struct takes unknown fields.
    pub(crate) fn has_open(&self) -> bool {
        self.structs.iter().any(|one| one.open)
    }

    /// The name of a struct.
    pub(crate) fn struct_name(&self, index: usize) -> &str {
        self.structs.get(index).map_or("", |one| &one.name)
    }

    /// The name of an enum.
    pub(crate) fn enum_name(&self, index: usize) -> &str {
        self.enums.get(index).map_or("", |one| &one.name)
    }
}
