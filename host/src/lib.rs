#![doc = include_str!("../README.md")]

pub mod admin;
pub mod admission;
pub mod api;
pub mod apply;
mod buckets;
pub mod cases;
pub mod controller;
#[doc(hidden)]
pub mod fuzzing;
pub mod grants;
pub mod informer;
pub mod lease;
pub mod lifecycle;
pub mod logging;
pub mod metrics;
pub mod oci;
pub mod plugin;
pub mod rbac;
pub mod runtime;
pub mod text;
pub mod workqueue;

pub(crate) use text::{one_line, quoted, shorten};

/// A duration for logs and answers: JSON has no larger integers that everybody reads.
pub(crate) fn milliseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// An error with its causes, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // Many errors repeat their source in their own message.
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
