//! Emulator of OpenStack Neutron and Keystone, for development and fault tests.
//!
//! The emulator keeps networks, subnets, ports, routers, tags and quotas in memory. It answers the Networking v2.0 API like the
//! recordings of a real server (`tests/neutron/fixtures`): the same statuses, error types and messages, the same conflicts between
//! gateways and allocation pools, the same revision numbers. With accounts it also serves Keystone v3 and rejects requests without a
//! valid token.
//!
//! Two features make it useful in tests. A journal records every request, and [`Fault`]s break chosen requests in the ways a cloud breaks
//! (lost responses, stale lists, expired tokens, throttling, slow or huge bodies).
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> anyhow::Result<()> {
//! use neutron_emulator::{Action, Emulator, Fault, Options};
//!
//! let neutron = Emulator::start(Options::default()).await?;
//! neutron.set_faults(vec![Fault::new(Action::reset_after_effect()).on("POST", "/v2.0/networks").times(1)]);
//! assert!(neutron.url().starts_with("http://127.0.0.1:"));
//! assert!(neutron.networks().is_empty());
//! neutron.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! Emulated: the functions that reconcilers of networks, subnets and ports need. Not emulated: security group rules, RBAC policies,
//! subnet pools, address scopes, agents, floating IPs and asynchronous status (everything is `ACTIVE` at once).

mod answer;
mod body;
mod connection;
mod control;
mod direct;
mod fault;
mod journal;
mod keystone;
mod neutron;
mod server;

pub use direct::Direct;
pub use fault::{Action, Fault};
pub use journal::Request;
pub use keystone::{Account, Auth};
pub use server::{Emulator, Options, Running};
