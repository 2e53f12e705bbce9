//! Plugins: artefact + manifest → component (compiled) → instance (one live store per reconcile).

mod bindings;
pub mod cache;
mod capabilities;
pub mod directory;
pub mod engine;
mod http_gate;
pub mod inspect;
mod instance;
mod load;
mod reads;
pub mod validate;

pub use engine::Engine;
pub use http_gate::HttpGate;
pub use instance::{CallError, Guest, Instance, Observation, Outcome, Request, Run, Trigger};
pub use load::{Component, LoadError, load};
pub use reads::{Reads, StoreOf};
