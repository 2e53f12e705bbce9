//! Capabilities: the host functions that a guest imports, each denied unless granted.

mod cluster;
pub(super) mod http;
mod local;
mod merge;

use super::bindings::types;

impl types::Host for super::instance::State {}

/// The error of an import that a guest calls in `describe` or `convert`.
const DESCRIBING: &str = "describe and convert can use no import except log";
