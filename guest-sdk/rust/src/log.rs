//! Lines in the host's log, with the plugin's name and the reconcile's key.
//!
//! The macros take what `format!` takes: `oarlock_guest::info!("made network {id}")`. Fields a machine should find go through
//! [`with_fields`]. The host keeps 4096 bytes of a line and a bounded number of lines per reconcile.

use crate::imports;

pub use crate::bindings::oarlock::reconciler::log::Level;

/// One line.
pub fn line(level: Level, message: &str) {
    with_fields(level, message, &[]);
}

/// One line with fields by name.
pub fn with_fields(level: Level, message: &str, fields: &[(&str, &str)]) {
    let fields: Vec<_> = fields.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    imports::log::log(level, message, &fields);
}

/// A line for those who debug the plugin.
#[macro_export]
macro_rules! debug {
    ($($text:tt)*) => { $crate::log::line($crate::log::Level::Debug, &::std::format!($($text)*)) };
}

/// A line for those who run it.
#[macro_export]
macro_rules! info {
    ($($text:tt)*) => { $crate::log::line($crate::log::Level::Info, &::std::format!($($text)*)) };
}

/// Something is odd, and the plugin goes on.
#[macro_export]
macro_rules! warn {
    ($($text:tt)*) => { $crate::log::line($crate::log::Level::Warn, &::std::format!($($text)*)) };
}

/// Something went wrong. An error a call returns is logged by the host already.
#[macro_export]
macro_rules! error {
    ($($text:tt)*) => { $crate::log::line($crate::log::Level::Error, &::std::format!($($text)*)) };
}
