//! Networks: segments, MTU, deletion.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::table::Row;
use super::{Document, Neutron, attribute};
use crate::answer::{Refusal, Result};

/// Tunnel ids that networks get; a Neutron's operator sets them as `vni_ranges`.
const TUNNEL_IDS: std::ops::RangeInclusive<i64> = 1..=65_536;

/// MTU of a network without tunnel overhead.
const PLAIN_MTU: i64 = 1500;
/// VXLAN needs 50 bytes of it.
const TUNNEL_MTU: i64 = 1450;

/// The segment of a network.
struct Segment {
    network_type: String,
    physical_network: Option<String>,
    segmentation_id: Option<i64>,
}

impl Neutron {
    pub(super) fn create_network(&mut self, mut value: Document) -> Result<Row> {
        self.check_quota(super::Kind::Network, &value)?;
        let segment = self.segment(&value)?;
        let largest = if segment.network_type == "vxlan" { TUNNEL_MTU } else { PLAIN_MTU };
        let mtu = check_mtu(value.get("mtu"), largest)?;
        value.insert("mtu".to_owned(), json!(mtu));
        value.insert("status".to_owned(), json!("ACTIVE"));
        value.insert("provider:network_type".to_owned(), json!(segment.network_type));
        value.insert("provider:physical_network".to_owned(), json!(segment.physical_network));
        value.insert("provider:segmentation_id".to_owned(), json!(segment.segmentation_id));
        value.remove("is_default");
        Ok(self.networks.insert(Row::new(value, 1)))
    }

    pub(super) fn update_network(&mut self, id: &str, mut given: Document) -> Result<()> {
        let network_type = self.networks.get(id).map(|row| row.text("provider:network_type").to_owned());
        if given.keys().any(|name| name.starts_with("provider:")) {
            if network_type.as_deref() != Some("vlan") {
                return Err(Refusal::input("Only VLAN type networks can be updated."));
            }
            return Err(Refusal::input("Plugin does not support updating provider attributes"));
        }
        if let Some(mtu) = given.get("mtu") {
            let largest = if network_type.as_deref() == Some("vxlan") { TUNNEL_MTU } else { PLAIN_MTU };
            let mtu = check_mtu(Some(mtu), largest)?;
            given.insert("mtu".to_owned(), json!(mtu));
        }
        given.remove("is_default");
        self.networks.merge(id, given);
        Ok(())
    }

    pub(super) fn check_network_unused(&self, id: &str) -> Result<()> {
        let ports: Vec<&str> = self.ports.of_network(id).map(Row::id).collect();
        if ports.is_empty() {
            return Ok(());
        }
        Err(Refusal::conflict(
            "NetworkInUse",
            format!(
                "Unable to complete operation on network {id}. There are one or more ports still in use on the network, \
                 id for these ports is: {}.",
                ports.join(",")
            ),
        ))
    }

    fn segment(&self, value: &Document) -> Result<Segment> {
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let wanted = match value.get("provider:segmentation_id") {
            None | Some(Value::Null) => None,
            Some(given) => Some(attribute::whole(given)?),
        };
        let network_type = text("provider:network_type").unwrap_or_else(|| "vxlan".to_owned());
        let physical_network = text("provider:physical_network");
        match network_type.as_str() {
            "vxlan" => {
                let id = self.pick_id("vxlan", None, wanted, TUNNEL_IDS).map_err(|id| {
                    Refusal::conflict(
                        "TunnelIdInUse",
                        format!("Unable to create the network. The tunnel ID {id} is in use."),
                    )
                })?;
                Ok(Segment { network_type, physical_network: None, segmentation_id: Some(id) })
            }
            "vlan" => {
                let physical = physical_network.unwrap_or_else(|| "physnet1".to_owned());
                if physical != "physnet1" {
                    let reason = format!("physical_network '{physical}' unknown for VLAN provider network");
                    return Err(Refusal::input(reason));
                }
                let id = self.pick_id("vlan", Some(&physical), wanted, 100..=199).map_err(|id| {
                    Refusal::conflict(
                        "VlanIdInUse",
                        format!(
                            "Unable to create the network. The VLAN {id} on physical network {physical} is in use."
                        ),
                    )
                })?;
                Ok(Segment { network_type, physical_network: Some(physical), segmentation_id: Some(id) })
            }
            "flat" | "local" => Ok(Segment { network_type, physical_network, segmentation_id: None }),
            other => Err(Refusal::input(format!("network_type value '{other}' not supported"))),
        }
    }

    /// The requested id, or the lowest free one. The error is an id in use.
    fn pick_id(
        &self,
        network_type: &str,
        physical: Option<&str>,
        wanted: Option<i64>,
        range: std::ops::RangeInclusive<i64>,
    ) -> std::result::Result<i64, i64> {
        let same = |row: &&Row| {
            row.text("provider:network_type") == network_type
                && row.text("provider:physical_network") == physical.unwrap_or_default()
        };
        let id = |row: &Row| row.value.get("provider:segmentation_id").and_then(Value::as_i64);
        let taken: HashSet<i64> = self.networks.rows().filter(same).filter_map(id).collect();
        match wanted {
            Some(id) if taken.contains(&id) => Err(id),
            Some(id) => Ok(id),
            None => {
                let last = *range.end();
                range.into_iter().find(|id| !taken.contains(id)).ok_or(last)
            }
        }
    }
}

/// The given MTU, or the largest one; 0 also means the largest.
fn check_mtu(given: Option<&Value>, largest: i64) -> Result<i64> {
    match given.and_then(Value::as_i64) {
        None | Some(0) => Ok(largest),
        Some(mtu) if mtu > largest => Err(Refusal::input(format!("Requested MTU is too big, maximum is {largest}"))),
        Some(mtu) => Ok(mtu),
    }
}
