//! Native runner for unit tests of a reconciler, in plain `cargo test`: no wasm, no cluster.
//!
//! A [`Runner`] does the host's work for one object. It calls desired and actual, compares the results as JSON, and calls patch when they
//! differ. It carries out the changes in a small cluster of its own, calls actual again, and writes the finalizer and the status. HTTP
//! goes to a closure. The runner refuses what the host refuses without a grant (an undeclared kind, an origin outside of the manifest).

pub(crate) mod imports;
mod runner;
mod world;

pub use runner::{Report, Runner};
pub use world::LogLine;
