//! Source of the imported functions: the contract in a component, the runner's host in a native test.

#[cfg(target_arch = "wasm32")]
pub(crate) use crate::bindings::oarlock::reconciler::{cache, cluster, config, http, log, merge};

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use crate::testing::imports::{cache, cluster, config, http, log, merge};
