//! Routers: just enough to hold a subnet's gateway address.

use http::StatusCode;
use serde_json::{Value, json};

use super::table::Row;
use super::{Call, Document, Kind, Neutron, parse_body};
use crate::answer::{Answer, Refusal, Result};

impl Neutron {
    pub(super) fn create_router(&mut self, mut value: Document) -> Result<Row> {
        self.check_quota(Kind::Router, &value)?;
        value.insert("status".to_owned(), json!("ACTIVE"));
        Ok(self.routers.insert(Row::new(value, 1)))
    }

    pub(super) fn check_router_unused(&self, id: &str) -> Result<()> {
        let ports: Vec<&str> = self.ports.rows().filter(|p| p.text("device_id") == id).map(Row::id).collect();
        if ports.is_empty() {
            return Ok(());
        }
        Err(Refusal::conflict("RouterInUse", format!("Router {id} has ports still attached: {}", ports.join(", "))))
    }

    /// Adds or removes the interface of a router on a subnet; it has the subnet's gateway address.
    pub(super) fn router_interface(&mut self, id: &str, action: &str, call: &Call<'_>) -> Result {
        let project = self.changeable(Kind::Router, id, action, call.caller)?.text("project_id").to_owned();
        let body = parse_body(call.body)?;
        let Some(subnet_id) = body.get("subnet_id").and_then(Value::as_str) else {
            return Err(bad_router("Either subnet_id or port_id must be specified."));
        };
        let subnet = self.visible(Kind::Subnet, subnet_id, call.caller)?;
        let network_id = subnet.text("network_id").to_owned();
        let gateway = subnet.text("gateway_ip").to_owned();
        let interface = self.ports.rows().find(|port| {
            port.text("device_id") == id
                && port.items("fixed_ips").any(|ip| ip.get("subnet_id").and_then(Value::as_str) == Some(subnet_id))
        });
        let port_id = match (action, interface.map(|port| port.id().to_owned())) {
            ("add_router_interface", Some(_)) => {
                return Err(bad_router(&format!("Router already has a port on subnet {subnet_id}.")));
            }
            ("add_router_interface", None) if gateway.is_empty() => {
                return Err(bad_router("Subnet for router interface must have a gateway IP."));
            }
            ("add_router_interface", None) => self.add_interface(id, &network_id, subnet_id, &gateway, &project)?,
            (_, Some(port)) => {
                self.ports.remove(&port);
                port
            }
            (_, None) => {
                return Err(Refusal::missing(
                    "RouterInterfaceNotFoundForSubnet",
                    format!("Router {id} has no interface on subnet {subnet_id}"),
                ));
            }
        };
        Ok(Answer::ok(json!({
            "id": id, "project_id": project, "port_id": port_id, "network_id": network_id,
            "subnet_id": subnet_id, "subnet_ids": [subnet_id],
        })))
    }

    fn add_interface(&mut self, id: &str, network: &str, subnet: &str, gateway: &str, project: &str) -> Result<String> {
        let value = json!({
            "name": "", "description": "", "network_id": network, "project_id": project,
            "mac_address": super::port::new_mac(), "admin_state_up": true, "status": "DOWN",
            "device_id": id, "device_owner": "network:router_interface",
            "fixed_ips": [{"subnet_id": subnet, "ip_address": gateway}],
            "port_security_enabled": false, "security_groups": [], "allowed_address_pairs": [], "extra_dhcp_opts": [],
            "binding:vnic_type": "normal", "binding:profile": {}, "binding:host_id": "",
            "binding:vif_type": "unbound", "binding:vif_details": {},
        });
        let Value::Object(value) = value else { return Err(Refusal::internal()) };
        let taken = self.ports.of_network(network).any(|port| {
            port.items("fixed_ips").any(|ip| ip.get("ip_address").and_then(Value::as_str) == Some(gateway))
        });
        if taken {
            let message = format!("IP address {gateway} already allocated in subnet {subnet}");
            return Err(Refusal::conflict("IpAddressAlreadyAllocated", message));
        }
        Ok(self.ports.insert(Row::new(value, 1)).id().to_owned())
    }
}

fn bad_router(message: &str) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, "BadRequest", format!("Bad router request: {message}"))
}
