//! Why a JSON Schema becomes no CustomResourceDefinition.

/// A fault of the input, its place in the object, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name that no API server accepts.
    #[error("{field} is {value:?}, which is no {expected}")]
    Name {
        /// The field.
        field: &'static str,
        /// Its value, shortened.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
    /// The schema describes something else.
    #[error(
        "the schema describes no object of Kubernetes: it has {found}; print the schema of the type of the whole object, with its field spec"
    )]
    NoObject {
        /// What the root is.
        found: String,
    },
    /// A `$ref` that leads nowhere.
    #[error(
        "{path}: $ref {reference:?} is not in the document; let the generator print one document with every definition"
    )]
    Reference {
        /// The place in the object.
        path: String,
        /// The reference, shortened.
        reference: String,
    },
    /// A type that contains itself.
    #[error(
        "{path}: the type {name} contains itself, which no schema of Kubernetes can say; set x-kubernetes-preserve-unknown-fields: true on this field, or refer to the inner object by its name"
    )]
    Recursion {
        /// The place in the object.
        path: String,
        /// The definition.
        name: String,
    },
    /// A keyword that Kubernetes does not have.
    #[error("{path}: {keyword} is not part of structural schemas; {advice}")]
    Keyword {
        /// The place in the object.
        path: String,
        /// The keyword.
        keyword: String,
        /// What to do.
        advice: &'static str,
    },
    /// A union of types that have no common form.
    #[error(
        "{path}: the value is {found}, and a field of Kubernetes has one type; make it an object with a field for each, or set x-kubernetes-preserve-unknown-fields: true on this field"
    )]
    Union {
        /// The place in the object.
        path: String,
        /// The types.
        found: String,
    },
    /// Two variants of a union, or two parts of an object, that disagree on a field.
    #[error(
        "{path}: {subject} has two different schemas in the parts of this type; give the fields different names or one type"
    )]
    Conflict {
        /// The place in the object.
        path: String,
        /// The field or keyword.
        subject: String,
    },
    /// A column of a field that is not there.
    #[error("column {name}: {path}: {reason}")]
    Column {
        /// Its heading.
        name: String,
        /// Its path.
        path: String,
        /// The fault.
        reason: &'static str,
    },
    /// The schema is nested too deeply.
    #[error(
        "{path}: the schema is nested more than {limit} levels deep; set x-kubernetes-preserve-unknown-fields: true on a level"
    )]
    Depth {
        /// The place in the object.
        path: String,
        /// The limit.
        limit: usize,
    },
    /// The schema is too large once each `$ref` is replaced by its type.
    #[error(
        "{path}: the schema has more than {limit} bytes when each $ref is replaced by its type; set x-kubernetes-preserve-unknown-fields: true on a part"
    )]
    Size {
        /// The place in the object.
        path: String,
        /// The limit.
        limit: usize,
    },
}
