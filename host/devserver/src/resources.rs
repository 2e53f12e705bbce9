//! The rules of the kinds: which are served, their defaults, validation, field ownership, deletion and tables. Nothing here knows
//! requests.

pub(crate) mod crd;
pub(crate) mod defaults;
pub(crate) mod deletion;
pub(crate) mod managed;
pub(crate) mod namespaces;
pub(crate) mod partial;
pub(crate) mod registry;
pub(crate) mod strategy;
pub(crate) mod table;
pub(crate) mod validation;
pub(crate) mod write;
