//! Reconcile of one Network: find its resources, correct them, remove them.

use crate::address::{Cidr, Pool, joined};
use crate::neutron::{Network, Subnet};
use crate::{NetworkStatus, State, SubnetState};
use neutron_client::{Neutron, Port, Refusal};
use oarlock_guest::{Context, Error, Observation, Outcome, Result, cache, info, warn};
use serde_json::{Value, json};
use std::time::Duration;

/// Requeue delay after a deletion: a Neutron whose lists lag behind still shows the deleted network.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Most ports named in a message. There may be thousands.
const PORTS_NAMED: usize = 5;

/// Owners of ports that Neutron deletes together with their network.
const GO_WITH_THE_NETWORK: [&str; 3] = ["network:dhcp", "network:distributed", "network:floatingip_agent_gateway"];

/// Longest name in Neutron, in characters.
const LONGEST_NAME: usize = 255;

/// One object, and the Neutron client.
pub(crate) struct Reconcile<'a> {
    cx: &'a Context<crate::Network>,
    neutron: &'a Neutron,
    /// The mark of this object's resources: its uid, in the description.
    mark: String,
}

impl<'a> Reconcile<'a> {
    pub(crate) fn new(cx: &'a Context<crate::Network>, neutron: &'a Neutron) -> Self {
        Self { cx, neutron, mark: format!("oarlock:{}", cx.uid()) }
    }

    /// The actual state. Takes two requests when everything is in place.
    pub(crate) fn observe(&self) -> Result<Observation<State>> {
        let networks = self.networks()?;
        let Some((network, younger)) = networks.split_first() else { return Ok(Observation::absent()) };
        let subnet = self.subnets(network)?.into_iter().next();
        let described = subnet.as_ref().map(describe).transpose()?;
        let status = NetworkStatus {
            network_id: Some(network.id.clone()),
            subnet_id: subnet.map(|subnet| subnet.id),
            project_id: self.neutron.project_id().and(network.project_id.clone()),
            cidr: described.as_ref().map(|subnet| subnet.cidr.clone()),
            gateway: described.as_ref().and_then(|subnet| subnet.gateway.clone()),
        };
        let mut surplus = Vec::new();
        if !self.cx.deleting() {
            for network in younger {
                let ports = self.ports(network)?;
                if ports.is_empty() {
                    surplus.push(network.id.clone());
                } else {
                    warn!(
                        "network {} is a second one of this object and stays: ports {} use it",
                        network.id,
                        named(&ports)
                    );
                }
            }
        }
        Ok(Observation::present(State { subnet: described, surplus }).status(status))
    }

    /// Creates missing resources, corrects differences, removes surplus ones.
    pub(crate) fn ensure(&self, desired: &SubnetState) -> Result<Outcome> {
        let networks = self.networks()?;
        let (subnet, younger) = match networks.split_first() {
            Some((network, younger)) => match self.subnets(network)?.into_iter().next() {
                Some(subnet) => (self.corrected(subnet, desired)?, younger),
                None => (self.make_subnet(&network.id, desired)?, younger),
            },
            None => (self.make_subnet(&self.make_network()?.id, desired)?, networks.as_slice()),
        };
        cache::set(&self.remembered("subnet"), &subnet.id, None);
        for network in younger {
            self.remove_unused(network)?;
        }
        Ok(Outcome::new().event_normal("Synced", "Network synced successfully"))
    }

    /// Removes all resources of this object.
    pub(crate) fn remove(&self) -> Result<Outcome> {
        for network in self.networks()? {
            match self.delete(&network) {
                Err(Refusal::InUse(said)) => {
                    let ports = self.ports(&network)?;
                    let by = if ports.is_empty() { said } else { format!("in use by ports {}", named(&ports)) };
                    return Err(Error::transient(format_args!("network {} cannot be deleted yet: {by}", network.id)));
                }
                other => other?,
            }
        }
        Ok(Outcome::new().requeue_after(LOOK_AGAIN))
    }

    /// Networks of this object, oldest first. Usually one; two when a request that seemed to fail was carried out.
    fn networks(&self) -> Result<Vec<Network>> {
        if self.cx.uid().is_empty() {
            return Err(Error::terminal("the object has no uid: nothing could be found again"));
        }
        let mut found: Vec<Network> = self.neutron.list("networks", &[("description", &self.mark)])?;
        // A server that ignores the filter returns the networks of all owners.
        found.retain(|network| network.description == self.mark);
        if found.is_empty() {
            let known = self.known("network", |status| status.network_id.as_ref());
            let known: Option<Network> = self.known_to_neutron("networks", known)?;
            found.extend(known.filter(|network| network.description == self.mark));
        }
        if found.is_empty() {
            self.check_project()?;
        }
        found.sort_by(|a, b| (&a.created_at, &a.id).cmp(&(&b.created_at, &b.id)));
        Ok(found)
    }

    /// Subnets of this object in its network, oldest first.
    fn subnets(&self, network: &Network) -> Result<Vec<Subnet>> {
        let known = self.known("subnet", |status| status.subnet_id.as_ref());
        let ours = |subnet: &Subnet| {
            subnet.network_id == network.id && (subnet.description == self.mark || known.contains(&subnet.id))
        };
        let mut found: Vec<Subnet> = self.neutron.list("subnets", &[("network_id", &network.id)])?;
        found.retain(&ours);
        if found.is_empty() {
            found.extend(self.known_to_neutron("subnets", known.clone())?.filter(&ours));
        }
        found.sort_by(|a, b| (&a.created_at, &a.id).cmp(&(&b.created_at, &b.id)));
        Ok(found)
    }

    /// Ids from the cache and the status: where a list lags behind, these still lead to the resources.
    fn known(&self, what: &str, in_status: impl Fn(&NetworkStatus) -> Option<&String>) -> Vec<String> {
        let mut ids: Vec<String> = cache::get(&self.remembered(what)).into_iter().collect();
        // An unreadable object is cleaned up without the hint.
        let in_status = self.cx.object().ok().and_then(|object| in_status(&object.status));
        ids.extend(in_status.cloned());
        ids.dedup();
        ids
    }

    fn known_to_neutron<T: serde::de::DeserializeOwned>(
        &self,
        collection: &str,
        ids: Vec<String>,
    ) -> Result<Option<T>> {
        for id in ids {
            match self.neutron.get(collection, &id) {
                Ok(found) => return Ok(Some(found)),
                Err(Refusal::NotFound(_)) => {}
                Err(refusal) => return Err(refusal.into()),
            }
        }
        Ok(None)
    }

    fn remembered(&self, what: &str) -> String {
        format!("{what} {}", self.cx.uid())
    }

    /// With credentials of another project the network appears absent: the plugin then neither creates another nor removes the finalizer.
    fn check_project(&self) -> Result<()> {
        let ours = self.neutron.project_id();
        let theirs = self.cx.object().ok().and_then(|object| object.status.project_id.clone());
        match (ours, theirs) {
            (Some(ours), Some(theirs)) if ours != theirs => Err(Error::transient(format_args!(
                "the network was made in project {theirs}, but the plugin's credentials are for project {ours}"
            ))),
            _ => Ok(()),
        }
    }

    fn make_network(&self) -> Result<Network> {
        let body = json!({"name": self.name(), "description": self.mark});
        let network: Network = self.neutron.create("networks", &body)?;
        cache::set(&self.remembered("network"), &network.id, None);
        info!("made network {}", network.id);
        Ok(network)
    }

    fn make_subnet(&self, network_id: &str, desired: &SubnetState) -> Result<Subnet> {
        let version = Cidr::parse(&desired.cidr).map_err(Error::terminal)?.version();
        let subnet: Subnet = self.neutron.create(
            "subnets",
            &json!({
                "network_id": network_id, "name": self.name(), "description": self.mark, "ip_version": version,
                "cidr": desired.cidr, "gateway_ip": desired.gateway, "allocation_pools": allocation_pools(desired)?,
            }),
        )?;
        info!("made subnet {} with {} in network {network_id}", subnet.id, desired.cidr);
        Ok(subnet)
    }

    /// Corrects gateway and pools in one request: one without the other would conflict.
    fn corrected(&self, subnet: Subnet, desired: &SubnetState) -> Result<Subnet> {
        let actual = describe(&subnet)?;
        if actual.cidr != desired.cidr {
            return Err(Error::terminal(format_args!(
                "spec.cidr is {}, but the subnet was made with {}, and the range of a subnet cannot be changed: set it \
                 back, or make a new Network",
                desired.cidr, actual.cidr
            )));
        }
        if actual == *desired {
            return Ok(subnet);
        }
        let body = json!({"gateway_ip": desired.gateway, "allocation_pools": allocation_pools(desired)?});
        let update = |subnet: &Subnet| self.neutron.update("subnets", &subnet.id, subnet.revision_number, &body);
        let corrected = match update(&subnet) {
            // The subnet changed after the read. The request contains only the plugin's own fields, so it is repeated with the new
            // revision.
            Err(Refusal::Stale(_)) => update(&self.neutron.get("subnets", &subnet.id)?)?,
            other => other?,
        };
        info!("corrected subnet {}: gateway {}", subnet.id, desired.gateway.as_deref().unwrap_or("none"));
        Ok(corrected)
    }

    /// Deletes a second network, unless it came into use meanwhile.
    fn remove_unused(&self, network: &Network) -> Result<()> {
        match self.delete(network) {
            Ok(()) => info!("removed network {}, a second one of this object that nothing used", network.id),
            Err(Refusal::InUse(said)) => {
                warn!("network {} is a second one of this object and stays: {said}", network.id)
            }
            Err(refusal) => return Err(refusal.into()),
        }
        Ok(())
    }

    fn delete(&self, network: &Network) -> Result<(), Refusal> {
        for subnet in self.subnets(network)? {
            self.neutron.delete("subnets", &subnet.id)?;
        }
        self.neutron.delete("networks", &network.id)
    }

    /// Ports that block the deletion of a network. Ports of Neutron's own agents are deleted with it.
    fn ports(&self, network: &Network) -> Result<Vec<Port>> {
        let mut ports: Vec<Port> = self.neutron.list("ports", &[("network_id", &network.id)])?;
        ports.retain(|port| !GO_WITH_THE_NETWORK.contains(&port.device_owner.as_str()));
        Ok(ports)
    }

    /// A name for people who use Neutron; the plugin does not search by it.
    fn name(&self) -> String {
        format!("{}/{}", self.cx.namespace(), self.cx.name()).chars().take(LONGEST_NAME).collect()
    }
}

/// A subnet in the compared form.
fn describe(subnet: &Subnet) -> Result<SubnetState> {
    let odd = |why: String| Error::transient(format_args!("Neutron describes subnet {} oddly: {why}", subnet.id));
    let pools = subnet.allocation_pools.iter().map(|pool| Pool::parse(&pool.start, &pool.end));
    let pools = joined(pools.collect::<Result<_, _>>().map_err(odd)?);
    Ok(SubnetState {
        cidr: Cidr::parse(&subnet.cidr).map_err(odd)?.to_string(),
        gateway: subnet.gateway_ip.clone().filter(|gateway| !gateway.is_empty()),
        pools: pools.iter().map(ToString::to_string).collect(),
    })
}

fn allocation_pools(desired: &SubnetState) -> Result<Vec<Value>> {
    let pool = |range: &String| {
        let (start, end) = Pool::parse_range(range).map_err(Error::terminal)?.ends();
        Ok(json!({"start": start, "end": end}))
    };
    desired.pools.iter().map(pool).collect()
}

/// Ids with names, by which the owners know their ports.
fn named(ports: &[Port]) -> String {
    let named = |port: &Port| {
        if port.name.is_empty() { port.id.clone() } else { format!("{} ({})", port.id, port.name) }
    };
    let named: Vec<String> = ports.iter().take(PORTS_NAMED).map(named).collect();
    let more = ports.len().saturating_sub(PORTS_NAMED);
    if more == 0 { named.join(", ") } else { format!("{} and {more} more", named.join(", ")) }
}
