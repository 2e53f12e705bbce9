//! Plugins from OCI registries: references, pull, trust, cache, and updates.
//!
//! A registry is untrusted: its responses are bounded in size and time, and the digest of its bytes identifies each of them. An artifact
//! contains only code, never permissions of a plugin.

mod artifact;
mod cache;
mod client;
mod credentials;
mod error;
mod fetch;
#[doc(hidden)]
pub mod fuzzing;
mod puller;
mod push;
mod reference;
mod sections;
mod signature;
mod trust;

pub use artifact::Descriptor;
pub use client::{Client, ClientOptions};
pub use error::Error;
pub use fetch::{Found, pull};
pub use puller::{Content, Options, PullStatus, PullStatuses, Puller, Refused, Wanted};
pub use push::{Pushed, push};
pub use reference::{Digest, Reference, SCHEME};
pub use sections::{custom_sections, with_custom_sections};
pub use signature::{PublicKey, SigningKey};
pub use trust::Trust;

/// Largest manifest, index or other document that is read as a whole.
const MANIFEST_BYTES: u64 = 4 << 20;

/// Largest layer, which is a plugin file.
pub const LAYER_BYTES: u64 = 256 << 20;
