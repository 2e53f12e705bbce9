//! Subnets: the gateway, the allocation pools and their conflicts.

use http::StatusCode;
use serde_json::{Value, json};

use super::address::{Address, Cidr, Pool, default_pools, parse_pools, pools_value, stored_pools};
use super::table::Row;
use super::{Caller, Document, Kind, Neutron};
use crate::answer::{Refusal, Result};

/// Attributes in separate tables: writing them does not count as a change of the subnet.
const UNCOUNTED: &[&str] = &["allocation_pools", "dns_nameservers", "host_routes"];
/// Attributes whose change counts for the subnet, but not for its network.
const OWN: &[&str] = &["description"];

impl Neutron {
    pub(super) fn create_subnet(&mut self, mut value: Document, caller: &Caller) -> Result<Row> {
        let network_id = text(&value, "network_id").to_owned();
        let network = self.networks.get(&network_id).ok_or_else(|| Kind::Network.not_found(&network_id))?;
        if !caller.owns(network) {
            return Err(Refusal::policy("rule:create_subnet"));
        }
        self.check_quota(Kind::Subnet, &value)?;
        let cidr = check_cidr(&value)?;
        let gateway = match value.get("gateway_ip") {
            None => Some(cidr.default_gateway()),
            Some(given) => check_gateway(cidr, given)?,
        };
        if cidr.prefix == 31 && !cidr.v6 && gateway == Some(cidr.address(cidr.last())) {
            return Err(Refusal::conflict(
                "IpamValueInvalid",
                format!(
                    "Gateway IP {} cannot be the network or broadcast IP address {cidr}",
                    cidr.address(cidr.last())
                ),
            ));
        }
        let pools = match value.get("allocation_pools").and_then(Value::as_array).filter(|p| !p.is_empty()) {
            None => default_pools(cidr, gateway),
            Some(given) => parse_pools(cidr, given)?,
        };
        check_gateway_outside(cidr, gateway, &pools)?;
        let overlaps = |row: &Row| Cidr::parse(row.text("cidr")).is_some_and(|other| other.overlaps(cidr));
        if self.subnets.of_network(&network_id).any(overlaps) {
            return Err(Refusal::input(format!(
                "Requested subnet with cidr: {cidr} for network: {network_id} overlaps with another subnet"
            )));
        }
        value.insert("cidr".to_owned(), json!(cidr.to_string()));
        value.insert("gateway_ip".to_owned(), json!(gateway.map(|g| g.to_string())));
        value.insert("allocation_pools".to_owned(), pools_value(cidr, &pools));
        value.remove("prefixlen");
        self.networks.touch(&network_id);
        Ok(self.subnets.insert(Row::new(value, 0)))
    }

    pub(super) fn update_subnet(&mut self, id: &str, mut given: Document) -> Result<()> {
        let row = self.subnets.get(id).ok_or_else(|| Kind::Subnet.not_found(id))?;
        let cidr = Cidr::parse(row.text("cidr")).ok_or_else(Refusal::internal)?;
        let old_gateway = Address::parse(row.text("gateway_ip"));
        let gateway = match given.get("gateway_ip") {
            None => old_gateway,
            Some(value) => check_gateway(cidr, value)?,
        };
        let mut pools = match given.get("allocation_pools").and_then(Value::as_array) {
            None => stored_pools(cidr, row.items("allocation_pools")),
            Some(value) => parse_pools(cidr, value)?,
        };
        if gateway != old_gateway {
            self.check_gateway_unused(row)?;
        }
        if given.contains_key("gateway_ip") || given.contains_key("allocation_pools") {
            check_gateway_outside(cidr, gateway, &pools)?;
        }
        if given.contains_key("allocation_pools") {
            // The real server returns them in another order than they were sent.
            pools.reverse();
            given.insert("allocation_pools".to_owned(), pools_value(cidr, &pools));
        }
        let network = row.text("network_id").to_owned();
        let (uncounted, counted): (Document, Document) =
            given.into_iter().partition(|(name, _)| UNCOUNTED.contains(&name.as_str()));
        if let Some(row) = self.subnets.get_mut(id) {
            row.value.extend(uncounted);
        }
        let changed = self.subnets.merge(id, counted);
        if changed.iter().any(|name| !OWN.contains(&name.as_str())) {
            self.networks.touch(&network);
        }
        Ok(())
    }

    pub(super) fn check_subnet_unused(&self, id: &str) -> Result<()> {
        let network = self.subnets.get(id).map_or("", |subnet| subnet.text("network_id"));
        if self.ports.of_network(network).any(|port| port.items("fixed_ips").any(|ip| text(ip, "subnet_id") == id)) {
            return Err(Refusal::conflict(
                "SubnetInUse",
                format!(
                    "Unable to complete operation on subnet {id}: One or more ports have an IP allocation from this \
                     subnet."
                ),
            ));
        }
        Ok(())
    }

    /// A gateway address that a router interface uses cannot change; any other port may have it.
    fn check_gateway_unused(&self, subnet: &Row) -> Result<()> {
        let gateway = subnet.text("gateway_ip");
        let holder = self.ports.of_network(subnet.text("network_id")).find(|port| {
            port.text("device_owner") == "network:router_interface"
                && port
                    .items("fixed_ips")
                    .any(|ip| text(ip, "subnet_id") == subnet.id() && text(ip, "ip_address") == gateway)
        });
        match holder {
            None => Ok(()),
            Some(port) => Err(Refusal::conflict(
                "GatewayIpInUse",
                format!("Current gateway ip {gateway} already in use by port {}. Unable to update.", port.id()),
            )),
        }
    }
}

fn text<'a>(value: &'a Document, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn check_cidr(value: &Document) -> Result<Cidr> {
    let Some(given) = value.get("cidr").and_then(Value::as_str) else {
        return Err(Refusal::new(
            StatusCode::BAD_REQUEST,
            "BadRequest",
            "Bad subnets request: a subnetpool must be specified in the absence of a cidr.",
        ));
    };
    let cidr = Cidr::parse(given).ok_or_else(|| Refusal::input(format!("{given} is not in a CIDR format")))?;
    let version = value.get("ip_version").and_then(Value::as_u64).unwrap_or_default();
    if version != if cidr.v6 { 6 } else { 4 } {
        return Err(Refusal::input(format!("cidr '{given}' does not match the ip_version '{version}'")));
    }
    if value.get("enable_dhcp") == Some(&Value::Bool(true)) {
        check_dhcp(cidr)?;
    }
    let mode = |name: &str| ["slaac", "dhcpv6-stateless"].contains(&text(value, name));
    if cidr.v6 && cidr.prefix != 64 && (mode("ipv6_address_mode") || mode("ipv6_ra_mode")) {
        return Err(Refusal::input(format!(
            "Invalid CIDR {given} for IPv6 address mode. OpenStack uses the EUI-64 address format, which requires the \
             prefix to be /64"
        )));
    }
    Ok(cidr)
}

fn check_dhcp(cidr: Cidr) -> Result<()> {
    let first = cidr.address(cidr.first());
    let is_v4 = |prefix: u128, bits: u32| !cidr.v6 && cidr.first() >> (32 - bits) == prefix;
    if cidr.prefix >= if cidr.v6 { 127 } else { 31 } {
        Err(Refusal::input("Subnet has a prefix length that is incompatible with DHCP service enabled"))
    } else if is_v4(0b1110, 4) || (cidr.v6 && cidr.first() >> 120 == 0xff) {
        Err(Refusal::input("Multicast IP subnet is not supported if enable_dhcp is True"))
    } else if is_v4(127, 8) {
        Err(Refusal::input("Loopback IP subnet is not supported if enable_dhcp is True"))
    } else if is_v4(0, 8) {
        Err(Refusal::input(format!("First IP '{first}' of network is not supported if enable_dhcp is True.")))
    } else {
        Ok(())
    }
}

/// An address outside the prefix is accepted, as in the real server.
fn check_gateway(cidr: Cidr, given: &Value) -> Result<Option<Address>> {
    let Some(given) = given.as_str() else { return Ok(None) };
    let gateway = Address::parse(given)
        .ok_or_else(|| Refusal::attribute("gateway_ip", format!("'{given}' is not a valid IP address")))?;
    if gateway.v6 != cidr.v6 {
        let version = cidr.address(0).version();
        return Err(Refusal::input(format!("gateway_ip '{given}' does not match the ip_version '{version}'")));
    }
    if cidr.is_reserved(gateway) {
        return Err(Refusal::input("Gateway is not valid on subnet"));
    }
    Ok(Some(gateway))
}

fn check_gateway_outside(cidr: Cidr, gateway: Option<Address>, pools: &[Pool]) -> Result<()> {
    let Some(gateway) = gateway else { return Ok(()) };
    match pools.iter().find(|pool| pool.contains(gateway.number)) {
        None => Ok(()),
        Some(pool) => Err(Refusal::conflict(
            "GatewayConflictWithAllocationPools",
            format!("Gateway ip {gateway} conflicts with allocation pool {}.", pool.describe(cidr)),
        )),
    }
}
