//! The plugin's configuration: text values from its grant, and from granted secrets.

use crate::{Error, Result, imports};

/// A value. None: not set, or empty.
#[must_use]
pub fn get(key: &str) -> Option<String> {
    imports::config::get(key).filter(|value| !value.is_empty())
}

/// A value that must be set.
///
/// # Errors
///
/// Terminal, with the key's name.
pub fn require(key: &str) -> Result<String> {
    get(key).ok_or_else(|| Error::terminal(format_args!("the plugin's configuration does not set {key}")))
}

/// All keys that are set, in order.
#[must_use]
pub fn keys() -> Vec<String> {
    imports::config::keys()
}
