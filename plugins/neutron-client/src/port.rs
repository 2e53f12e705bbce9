//! Fields of ports that plugins read.

use serde::Deserialize;

/// A Neutron port.
#[derive(Clone, Debug, Deserialize)]
pub struct Port {
    /// Its id.
    pub id: String,
    /// For people; chosen by the creator of the port.
    #[serde(default)]
    pub name: String,
    /// The network it is in.
    #[serde(default)]
    pub network_id: String,
    /// Id of the port's user, in a form of the owner's choice.
    #[serde(default)]
    pub device_id: String,
    /// Type of the port's user: `compute:nova`, `network:dhcp`.
    #[serde(default)]
    pub device_owner: String,
    /// Its addresses.
    #[serde(default)]
    pub fixed_ips: Vec<FixedIp>,
    /// In a format whose text order is the order of time, to the second.
    #[serde(default)]
    pub created_at: String,
}

/// An address of a port.
#[derive(Clone, Debug, Deserialize)]
pub struct FixedIp {
    /// The address.
    pub ip_address: String,
}
