#![doc = include_str!("../README.md")]

pub mod admin;
pub mod admission;
pub use oarlock_api as api;
pub mod apply;
mod buckets;
pub mod cases;
pub mod controller;
#[doc(hidden)]
pub mod fuzzing;
pub mod grants;
pub use oarlock_informer as informer;
pub use oarlock_lease as lease;
pub mod lifecycle;
pub mod logging;
pub mod metrics;
pub use oarlock_oci as oci;
pub mod plugin;
pub mod plugin_objects;
pub mod rbac;
pub mod runtime;
pub mod secrets;
pub mod telemetry;
pub use oarlock_text as text;
pub use oarlock_workqueue as workqueue;

pub(crate) use text::{chain, one_line, quoted, shorten};

/// A duration for logs and answers: JSON has no larger integers that everybody reads.
pub(crate) fn milliseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
