//! What every other part names: kinds, paths, selectors, field types, users, errors and the settings of a cluster. Nothing here knows stored objects or requests.

pub(crate) mod custom;
pub(crate) mod error;
pub(crate) mod fields;
pub(crate) mod in_process;
pub(crate) mod json_patch;
pub(crate) mod kinds;
pub(crate) mod members;
pub(crate) mod path;
pub(crate) mod quantity;
pub(crate) mod selector;
pub(crate) mod settings;
pub(crate) mod status;
pub(crate) mod time;
pub(crate) mod types;
pub(crate) mod user;
pub(crate) mod versions;

pub(crate) use oarlock_selector::names;
