//! Types in Rust, TypeScript, Python, Go and C for the objects of a CustomResourceDefinition.
//!
//! ```
//! use oarlock_types::{Language, Model};
//! use serde_json::json;
//!
//! let definition = json!({
//!     "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
//!     "metadata": {"name": "networks.example.com"},
//!     "spec": {"group": "example.com", "names": {"kind": "Network"}, "versions": [
//!         {"name": "v1", "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {
//!             "spec": {"type": "object", "properties": {"mtu": {"type": "integer", "format": "int32"}}},
//!         }}}},
//!     ]},
//! });
//! let model = Model::of_definition(&definition, None)?;
//! let text = model.write(Language::TypeScript);
//! assert!(text.contains("mtu?: number;"));
//! # Ok::<(), oarlock_types::Error>(())
//! ```

mod build;
mod c;
mod definition;
mod error;
mod example;
mod go;
mod meta;
mod model;
mod names;
mod python;
mod rust;
mod text;
mod typescript;
mod unions;

pub use crate::{
    c::c_prefix,
    definition::{Column, Definition, DefinitionError},
    error::Error,
    example::example,
    model::{Enum, Field, Model, Struct, Type},
};

/// A language that types are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// Structs and enums of serde.
    Rust,
    /// Interfaces and unions of literals.
    TypeScript,
    /// Typed dictionaries.
    Python,
    /// Structs with tags of encoding/json.
    Go,
    /// Structs, and functions between them and the JSON values of the SDK, in one header.
    C,
}

impl Language {
    /// Every language.
    pub const ALL: [Self; 5] = [Self::Rust, Self::TypeScript, Self::Python, Self::Go, Self::C];
}

impl Model {
    /// The source file with the types.
    #[must_use]
    pub fn write(&self, language: Language) -> String {
        match language {
            Language::Rust => rust::write(self),
            Language::TypeScript => typescript::write(self),
            Language::Python => python::write(self),
            Language::Go => go::write(self),
            Language::C => c::write(self),
        }
    }
}
