//! Fuzzing entry points for the parsers that are private to this crate. The host does not use them, and they have no stability guarantee.

pub use crate::admission::fuzzing::review;
pub use crate::apply::fuzzing::write;
pub use crate::cases::fuzzing::case;
pub use crate::plugin::fuzzing::{entry, grant, manifest, request, wasm};
pub use oarlock_informer::fuzzing::{list, watch};
pub use oarlock_oci::fuzzing::{answer, document, reference};
