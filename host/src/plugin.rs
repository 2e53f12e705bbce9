//! Plugins: artefact + manifest → component (compiled) → instance (one live store per reconcile).

mod bindings;
pub mod cache;
mod call;
mod capabilities;
mod code_cache;
mod compile;
pub mod directory;
pub mod engine;
pub(crate) mod fuzzing;
mod http_gate;
pub mod identity;
pub(crate) mod indexes;
pub mod inspect;
mod instance;
mod load;
mod native;
mod offload;
mod pool;
mod reads;
pub mod recorded;
pub mod validate;
mod wasi;
mod withheld;

pub use call::{CallError, Observation, Outcome, Request, State, Trigger};
pub use compile::{CompileLimits, serve as serve_compiler};
pub use engine::{Engine, EngineOptions};
pub use http_gate::{HttpFailure, HttpGate};
pub use instance::{Guest, Instance, Run};
pub use load::{CONTRACT_VERSION, Component, LoadError, load};
pub use pool::{Idle, Pool};
pub use reads::{ReadError, ReadObserver, Reads, StoreOf};
pub use validate::is_plugin_name;
pub use withheld::{WithheldRequest, WithheldRequests};
