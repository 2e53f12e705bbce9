//! Types in Rust, TypeScript and Python for the objects of a CustomResourceDefinition.
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
mod error;
mod model;
mod names;
mod python;
mod rust;
mod text;
mod typescript;

pub use crate::{
    error::Error,
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
}

impl Language {
    /// Every language.
    pub const ALL: [Self; 3] = [Self::Rust, Self::TypeScript, Self::Python];
}

impl Model {
    /// The source file with the types.
    #[must_use]
    pub fn write(&self, language: Language) -> String {
        match language {
            Language::Rust => rust::write(self),
            Language::TypeScript => typescript::write(self),
            Language::Python => python::write(self),
        }
    }
}
