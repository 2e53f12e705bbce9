//! Ports, as far as plugins read them.

use serde::Deserialize;

/// A port as Neutron describes it.
#[derive(Clone, Debug, Deserialize)]
pub struct Port {
    /// Its id.
    pub id: String,
    /// For people; whoever makes a port chooses it.
    #[serde(default)]
    pub name: String,
    /// The network it is in.
    #[serde(default)]
    pub network_id: String,
    /// What uses it, by an id of its owner's choice.
    #[serde(default)]
    pub device_id: String,
    /// What kind of thing uses it: `compute:nova`, `network:dhcp`.
    #[serde(default)]
    pub device_owner: String,
    /// Its addresses.
    #[serde(default)]
    pub fixed_ips: Vec<FixedIp>,
    /// In a spelling whose order is that of time, to the second.
    #[serde(default)]
    pub created_at: String,
}

/// An address of a port.
#[derive(Clone, Debug, Deserialize)]
pub struct FixedIp {
    /// The address.
    pub ip_address: String,
}
