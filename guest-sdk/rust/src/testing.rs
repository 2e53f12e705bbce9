//! Runs a reconciler natively, in plain `cargo test`: no wasm, no cluster.
//!
//! A [`Runner`] does what the host does for one object: it asks for desired and actual, compares them as JSON, asks for the
//! patch when they differ, carries the changes out in a small cluster of its own, asks for actual again and keeps the
//! finalizer and the status. HTTP goes to a closure. What the host refuses without a grant (an undeclared kind, an origin the
//! manifest does not name) is refused here too.

pub(crate) mod imports;
mod runner;
mod world;

pub use runner::{Report, Runner};
pub use world::LogLine;
