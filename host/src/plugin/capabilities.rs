//! What the host lends a guest: each import, denied unless granted.

mod cluster;
mod http;
mod local;
mod merge;

use super::bindings::types;

impl types::Host for super::instance::State {}

/// What a guest is told that uses an import while it is asked to describe itself.
const DESCRIBING: &str = "describe is asked without any import but log";
