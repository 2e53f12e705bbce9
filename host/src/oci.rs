//! Plugins from OCI registries: found, checked, kept and looked after.
//!
//! A registry is a stranger: whatever it answers is bounded in size and time, everything is named by the digest of its bytes, and
//! an artifact is code and nothing else. What a plugin may do is never part of it.

mod artifact;
mod cache;
mod client;
mod credentials;
mod error;
mod fetch;
mod puller;
mod push;
mod reference;
mod signature;
mod trust;

pub use artifact::Descriptor;
pub use client::{Client, ClientOptions};
pub use error::Error;
pub use fetch::{Found, pull};
pub use puller::{Content, Options, Puller, Refused, Standing, Standings, Wanted};
pub use push::{Pushed, push};
pub use reference::{Digest, Reference, SCHEME};
pub use signature::{PublicKey, SigningKey};
pub use trust::Trust;

/// Largest manifest, index or other document that is read whole.
const MANIFEST_BYTES: u64 = 4 << 20;

/// Largest layer: that of a plugin file.
pub(crate) const LAYER_BYTES: u64 = 256 << 20;
