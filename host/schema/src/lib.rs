//! Structural schemas of custom resources: validation, pruning, defaulting and CEL rules.
//!
//! Pure functions over `serde_json::Value` that do what a Kubernetes API server does with a
//! CustomResourceDefinition and with the objects of its kind. A server keeps one [`Crd`] per definition:
//!
//! ```
//! use serde_json::json;
//!
//! let definition = json!({
//!     "metadata": {"name": "networks.example.com"},
//!     "spec": {
//!         "group": "example.com", "scope": "Namespaced",
//!         "names": {"plural": "networks", "kind": "Network"},
//!         "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
//!             "type": "object",
//!             "properties": {"spec": {"type": "object", "properties": {"mtu": {"type": "integer", "default": 1500}}}},
//!         }}}],
//!     },
//! });
//! let crd = oarlock_schema::Crd::parse(&definition).map_err(|errors| errors[0].to_string())?;
//! let schema = &crd.version("v1").ok_or("no v1")?.schema;
//!
//! let mut object = json!({"metadata": {"name": "n"}, "spec": {"mto": 9000}});
//! assert_eq!(schema.prune(&mut object), ["spec.mto"]);
//! schema.default(&mut object);
//! assert_eq!(object["spec"]["mtu"], 1500);
//! assert!(schema.validate(&object, None).is_empty());
//! # Ok::<(), String>(())
//! ```

mod cel;
mod columns;
mod crd;
mod defaults;
pub mod draw;
mod error;
mod formats;
mod go;
mod lists;
mod meta;
mod names;
mod node;
mod numbers;
mod openapi;
mod prune;
mod schema;
mod validate;

pub use crate::{
    cel::Condition,
    columns::{PrinterColumn, age, cells, column_definitions, human_duration},
    crd::{
        BreakingChange, Crd, Names, Scale, Version, breaking_changes, default_crd, is_protected_group, prune_crd,
        reconcile_status, validate_crd, validate_crd_update,
    },
    defaults::normalize_numbers,
    error::{FieldError, Reason, invalid_status},
    formats::unknown_formats,
    openapi::{openapi_v2, openapi_v3},
    schema::StructuralSchema,
};
