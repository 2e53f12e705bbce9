//! OpenStack Neutron v2.0 for plugins: authentication, requests, and classification of responses.

mod auth;
mod client;
mod port;

pub use auth::declare_configuration;
pub use client::{Neutron, Refusal};
pub use port::{FixedIp, Port};
