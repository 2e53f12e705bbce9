//! Why no types are made of a schema.

/// A fault of the input, and its place in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The document is of another kind.
    #[error("the document is no CustomResourceDefinition of apiextensions.k8s.io/v1, but {found}")]
    NotADefinition {
        /// Its `apiVersion` and `kind`.
        found: String,
    },
    /// The definition has no such version.
    #[error("CustomResourceDefinition {crd} has no version {version:?}; it has {known}")]
    NoVersion {
        /// The definition.
        crd: String,
        /// The version that was asked for.
        version: String,
        /// Those that it has.
        known: String,
    },
    /// A version without `schema.openAPIV3Schema`.
    #[error("version {version} of CustomResourceDefinition {crd} has no schema.openAPIV3Schema")]
    NoSchema {
        /// The definition.
        crd: String,
        /// The version.
        version: String,
    },
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
    /// The schema is nested too deeply.
    #[error(
        "{path}: the schema is nested more than {limit} levels deep; mark a level as x-kubernetes-preserve-unknown-fields"
    )]
    Depth {
        /// The place in the schema.
        path: String,
        /// The limit.
        limit: usize,
    },
    /// The schema has too many fields.
    #[error("{path}: the schema has more than {limit} fields; mark a part as x-kubernetes-preserve-unknown-fields")]
    Size {
        /// The place in the schema.
        path: String,
        /// The limit.
        limit: usize,
    },
    /// A `$ref` that leads nowhere.
    #[error("{path}: the schema refers to {reference:?}, which the document does not contain")]
    Reference {
        /// The place in the schema.
        path: String,
        /// The reference, shortened.
        reference: String,
    },
}
