//! Strategic merge patch, server-side apply and field ownership, as Kubernetes has them.
//!
//! Pure functions over [`serde_json::Value`]; nothing here does I/O or knows a clock.
//!
//! * [`schema`] tells, for a kind, how lists and maps merge: built-in kinds from a table, custom ones from their schema.
//! * [`strategic`] makes and applies strategic merge patches (two-way and three-way).
//! * [`fields`] reads, writes and combines FieldsV1 sets, and cuts the owned part out of an object.
//! * [`json_patch`] applies JSON Patches within bounds.
//! * [`size`] measures documents; [`steps`] counts the work on them, and ends it.
//! * [`apply`] is server-side apply and the bookkeeping of `metadata.managedFields` for every other write.
//!
//! ```
//! use oarlock_merge::{apply::{self, Write}, schema::Schema};
//! use serde_json::json;
//!
//! let schema = Schema::builtin("", "v1", "ConfigMap").unwrap_or_default();
//! let alice = Write::new(&schema, "alice", "2024-01-01T00:00:00Z");
//! let bob = Write::new(&schema, "bob", "2024-01-01T00:00:01Z");
//! let config = |v: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": v}});
//!
//! let live = apply::apply(None, &config("1"), &alice, false).unwrap();
//! let refused = apply::apply(Some(&live), &config("2"), &bob, false).unwrap_err();
//! assert_eq!(refused.to_string(), r#"Apply failed with 1 conflict: conflict with "alice": .data.k"#);
//! ```

pub mod apply;
pub mod fields;
mod go;
pub mod json_patch;
pub mod schema;
pub mod size;
pub mod steps;
pub mod strategic;
mod typed;
