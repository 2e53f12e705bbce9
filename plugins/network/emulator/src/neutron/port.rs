//! Ports: addresses on a network.

use serde_json::{Value, json};

use super::address::{Address, Cidr, stored_pools};
use super::table::Row;
use super::{Caller, Document, Kind, Neutron};
use crate::answer::{Refusal, Result};

impl Neutron {
    pub(super) fn create_port(&mut self, mut value: Document, caller: &Caller) -> Result<Row> {
        let network_id = text(&value, "network_id").to_owned();
        let network = self.visible(Kind::Network, &network_id, caller)?;
        let wanted = value.get("fixed_ips").and_then(Value::as_array).cloned();
        let names_address = wanted.iter().flatten().any(|ip| ip.get("ip_address").is_some());
        if names_address && !caller.owns(network) {
            return Err(Refusal::policy(
                "(rule:create_port and (rule:create_port:fixed_ips and (rule:create_port:fixed_ips:ip_address)))",
            ));
        }
        self.check_quota(Kind::Port, &value)?;
        let mac = match value.get("mac_address").and_then(Value::as_str) {
            None => new_mac(),
            Some(mac) => mac.to_owned(),
        };
        if self.ports.of_network(&network_id).any(|row| row.text("mac_address").eq_ignore_ascii_case(&mac)) {
            return Err(Refusal::conflict(
                "MacAddressInUse",
                format!("Unable to complete operation for network {network_id}. The mac address {mac} is in use."),
            ));
        }
        let addresses = self.allocate(&network_id, wanted.as_deref(), "")?;
        let project = text(&value, "project_id").to_owned();
        if !value.get("security_groups").is_some_and(Value::is_array) {
            value.insert("security_groups".to_owned(), json!([self.security_group(&project)]));
        }
        value.insert("mac_address".to_owned(), json!(mac));
        value.insert("fixed_ips".to_owned(), Value::Array(addresses));
        value.insert("status".to_owned(), json!("DOWN"));
        value.entry("binding:vnic_type").or_insert_with(|| json!("normal"));
        value.insert("binding:vif_type".to_owned(), json!("unbound"));
        Ok(self.ports.insert(Row::new(value, 1)))
    }

    pub(super) fn update_port(&mut self, id: &str, mut given: Document) -> Result<()> {
        let network = self.ports.get(id).map(|row| row.text("network_id").to_owned()).unwrap_or_default();
        if let Some(Value::Array(wanted)) = given.get("fixed_ips") {
            let addresses = self.allocate(&network, Some(wanted.as_slice()), id)?;
            given.insert("fixed_ips".to_owned(), Value::Array(addresses));
        }
        self.ports.merge(id, given);
        Ok(())
    }

    /// Resolves `fixed_ips`. `None` asks for one address of each family of the network.
    ///
    /// `own` is the requesting port: its present addresses are free for it.
    fn allocate(&self, network: &str, wanted: Option<&[Value]>, own: &str) -> Result<Vec<Value>> {
        let subnets: Vec<&Row> = self.subnets.of_network(network).collect();
        let mut addresses: Vec<Value> = Vec::new();
        match wanted {
            None => {
                for family in ["4", "6"] {
                    let of_family: Vec<&&Row> = subnets.iter().filter(|s| version(s) == family).collect();
                    if !of_family.is_empty() {
                        let free = of_family.iter().find_map(|s| self.free_address(s, own, &addresses));
                        addresses.push(free.ok_or_else(|| exhausted(network))?);
                    }
                }
            }
            Some(wanted) => {
                for entry in wanted {
                    let address = self.allocate_one(network, &subnets, entry, own, &addresses)?;
                    addresses.push(address);
                }
            }
        }
        Ok(addresses)
    }

    fn allocate_one(
        &self,
        network: &str,
        subnets: &[&Row],
        entry: &Value,
        own: &str,
        taken: &[Value],
    ) -> Result<Value> {
        let part = |name: &str| entry.get(name).and_then(Value::as_str);
        let ip = part("ip_address");
        let address = ip.and_then(Address::parse);
        let within = |row: &Row| Cidr::parse(row.text("cidr")).zip(address).is_some_and(|(c, a)| c.contains(a));
        let subnet = match part("subnet_id") {
            Some(id) => {
                let subnet = self.subnets.get(id).ok_or_else(|| Kind::Subnet.not_found(id))?;
                if subnet.text("network_id") != network {
                    return Err(Refusal::input(format!(
                        "Failed to create port on network {network}, because fixed_ips included invalid subnet {id}"
                    )));
                }
                if ip.is_some() && !within(subnet) {
                    let message =
                        format!("IP address {} is not a valid IP for the specified subnet.", ip.unwrap_or_default());
                    return Err(Refusal::new(http::StatusCode::BAD_REQUEST, "InvalidIpForSubnet", message));
                }
                subnet
            }
            None if ip.is_some() => subnets.iter().find(|s| within(s)).ok_or_else(|| {
                let ip = ip.unwrap_or_default();
                let message =
                    format!("IP address {ip} is not a valid IP for any of the subnets on the specified network.");
                Refusal::new(http::StatusCode::BAD_REQUEST, "InvalidIpForNetwork", message)
            })?,
            None => return Err(Refusal::input("IP allocation requires subnet_id or ip_address")),
        };
        let Some(address) = address else {
            return self.free_address(subnet, own, taken).ok_or_else(|| exhausted(network));
        };
        let value = json!({"subnet_id": subnet.id(), "ip_address": address.to_string()});
        if self.in_use(network, &value, own, taken) {
            return Err(Refusal::conflict(
                "IpAddressAlreadyAllocated",
                format!("IP address {address} already allocated in subnet {}", subnet.id()),
            ));
        }
        Ok(value)
    }

    /// The lowest free address of a subnet's pools. The real server picks at random.
    fn free_address(&self, subnet: &Row, own: &str, taken: &[Value]) -> Option<Value> {
        let cidr = Cidr::parse(subnet.text("cidr"))?;
        let network = subnet.text("network_id");
        stored_pools(cidr, subnet.items("allocation_pools"))
            .into_iter()
            .flat_map(|pool| pool.start..=pool.end)
            .map(|number| json!({"subnet_id": subnet.id(), "ip_address": cidr.address(number).to_string()}))
            .find(|address| !self.in_use(network, address, own, taken))
    }

    fn in_use(&self, network: &str, address: &Value, own: &str, taken: &[Value]) -> bool {
        taken.contains(address)
            || self.ports.of_network(network).filter(|port| port.id() != own).any(|port| {
                port.value.get("fixed_ips").and_then(Value::as_array).is_some_and(|ips| ips.contains(address))
            })
    }
}

/// Ports of a router are deleted only with the router's interface.
pub(super) fn check_deletable(port: &Row) -> Result<()> {
    let owner = port.text("device_owner");
    if owner != "network:router_interface" {
        return Ok(());
    }
    Err(Refusal::conflict(
        "ServicePortInUse",
        format!("Port {} cannot be deleted directly via the port API: has device owner {owner}.", port.id()),
    ))
}

fn exhausted(network: &str) -> Refusal {
    let message = format!("No more IP addresses available on network {network}.");
    Refusal::conflict("IpAddressGenerationFailure", message)
}

fn version(subnet: &Row) -> String {
    subnet.value.get("ip_version").map(ToString::to_string).unwrap_or_default()
}

fn text<'a>(value: &'a Document, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// OpenStack's prefix and three random bytes.
pub(super) fn new_mac() -> String {
    let [a, b, c, ..] = *uuid::Uuid::new_v4().as_bytes();
    format!("fa:16:3e:{a:02x}:{b:02x}:{c:02x}")
}
