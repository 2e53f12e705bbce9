//! Lines in the host's log, with the plugin's name and the reconcile's key.
//!
//! The macros take the arguments of `format!`: `oarlock_guest::info!("made network {id}")`. Fields for machines go through
//! [`with_fields`]. The host keeps 4096 bytes of a line and a bounded number of lines per reconcile.

use crate::imports;

pub use crate::bindings::oarlock::reconciler::log::Level;

/// Logs one line.
pub fn line(level: Level, message: &str) {
    with_fields(level, message, &[]);
}

/// Logs one line with named fields.
pub fn with_fields(level: Level, message: &str, fields: &[(&str, &str)]) {
    let fields: Vec<_> = fields.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    imports::log::log(level, message, &fields);
}

/// Logs a line for developers of the plugin.
#[macro_export]
macro_rules! debug {
    ($($text:tt)*) => { $crate::log::line($crate::log::Level::Debug, &::std::format!($($text)*)) };
}

/// Logs a line for operators.
#[macro_export]
macro_rules! info {
    ($($text:tt)*) => { $crate::log::line($crate::log::Level::Info, &::std::format!($($text)*)) };
}

/// Logs an unusual condition that does not stop the plugin.
#[macro_export]
macro_rules! warn {
    ($($text:tt)*) => { $crate::log::line($crate::log::Level::Warn, &::std::format!($($text)*)) };
}

/// Logs a failure. The host logs the error of a call already.
#[macro_export]
macro_rules! error {
    ($($text:tt)*) => { $crate::log::line($crate::log::Level::Error, &::std::format!($($text)*)) };
}
