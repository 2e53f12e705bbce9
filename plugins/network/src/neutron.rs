//! Fields of Neutron's documents that this plugin reads.

use serde::Deserialize;

/// A network as Neutron describes it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Network {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) description: String,
    #[serde(default)]
    pub(crate) created_at: String,
    pub(crate) project_id: Option<String>,
}

/// A subnet as Neutron describes it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Subnet {
    pub(crate) id: String,
    pub(crate) network_id: String,
    #[serde(default)]
    pub(crate) description: String,
    #[serde(default)]
    pub(crate) created_at: String,
    pub(crate) cidr: String,
    pub(crate) gateway_ip: Option<String>,
    #[serde(default)]
    pub(crate) allocation_pools: Vec<AllocationPool>,
    /// None: the server does not count revisions.
    pub(crate) revision_number: Option<u64>,
}

/// Addresses for ports, from the first to the last. A Network has them in the same form.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct AllocationPool {
    pub(crate) start: String,
    pub(crate) end: String,
}
