//! The plugin's configuration: values of its grant, and of secrets it was granted, as text.

use crate::{Error, Result, imports};

/// A value. None: not set, or set to nothing.
#[must_use]
pub fn get(key: &str) -> Option<String> {
    imports::config::get(key).filter(|value| !value.is_empty())
}

/// A value that must be set.
///
/// # Errors
///
/// Terminal, naming the key.
pub fn require(key: &str) -> Result<String> {
    get(key).ok_or_else(|| Error::terminal(format_args!("the plugin's configuration does not set {key}")))
}

/// Every key that is set, in order.
#[must_use]
pub fn keys() -> Vec<String> {
    imports::config::keys()
}
