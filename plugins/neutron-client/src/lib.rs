//! OpenStack Neutron v2.0 for plugins: who the plugin is to it, requests, and what the answers mean.

mod auth;
mod client;
mod port;

pub use auth::declare_configuration;
pub use client::{Neutron, Refusal};
pub use port::{FixedIp, Port};
