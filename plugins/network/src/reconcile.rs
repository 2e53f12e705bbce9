//! Reconcile of one Network: find its resources, correct them, remove them.

use crate::address::{Cidr, Pool, joined};
use crate::neutron::{Network, Subnet};
use crate::versions::DEFAULT_NAME;
use crate::{NetworkStatus, State, SubnetState, SubnetStatus};
use neutron_client::{Neutron, Port, Refusal};
use oarlock_guest::{Context, Error, Observation, Outcome, Result, cache, info, warn};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
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
        let subnets = self.subnets(network)?;
        let described: BTreeMap<String, SubnetState> =
            subnets.iter().map(|(name, subnet)| Ok((name.clone(), describe(subnet)?))).collect::<Result<_>>()?;
        let status = NetworkStatus {
            network_id: Some(network.id.clone()),
            project_id: self.neutron.project_id().and(network.project_id.clone()),
            ..self.subnet_status(&subnets, &described)
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
        Ok(Observation::present(State { subnets: described, surplus }).status(status))
    }

    /// The part of the status about subnets, in the order of the spec.
    fn subnet_status(
        &self,
        subnets: &BTreeMap<String, Subnet>,
        described: &BTreeMap<String, SubnetState>,
    ) -> NetworkStatus {
        let of = |name: &String| {
            let (subnet, described) = (subnets.get(name)?, described.get(name)?.clone());
            let (cidr, gateway) = (described.cidr, described.gateway);
            Some(SubnetStatus { name: name.clone(), subnet_id: subnet.id.clone(), cidr, gateway })
        };
        let specified = self.specified();
        let surplus = subnets.keys().filter(|name| !specified.contains(name));
        let all: Vec<SubnetStatus> = specified.iter().chain(surplus).filter_map(of).collect();
        let first = all.iter().find(|subnet| specified.first() == Some(&subnet.name));
        NetworkStatus {
            subnet_id: first.map(|subnet| subnet.subnet_id.clone()),
            cidr: first.map(|subnet| subnet.cidr.clone()),
            gateway: first.and_then(|subnet| subnet.gateway.clone()),
            subnets: all,
            ..NetworkStatus::default()
        }
    }

    /// Creates missing resources, corrects differences, removes surplus ones.
    pub(crate) fn ensure(&self, desired: &BTreeMap<String, SubnetState>) -> Result<Outcome> {
        let networks = self.networks()?;
        let (id, mut subnets, younger) = match networks.split_first() {
            Some((network, younger)) => (network.id.clone(), self.subnets(network)?, younger),
            None => (self.make_network()?.id, BTreeMap::new(), networks.as_slice()),
        };
        // First, for a new subnet may have the range of one that goes.
        let blocked = self.remove_undesired(&mut subnets, desired)?;
        for (name, desired) in desired {
            let subnet = match subnets.remove(name) {
                Some(subnet) => self.corrected(name, subnet, desired)?,
                None => self.make_subnet(&id, name, desired)?,
            };
            cache::set(&self.remembered_subnet(name), &subnet.id, None);
        }
        for network in younger {
            self.remove_unused(network)?;
        }
        match blocked {
            Some(error) => Err(error),
            None => Ok(Outcome::new().event_normal("Synced", "Network synced successfully")),
        }
    }

    /// Deletes subnets that the object no longer has. Returns an error about one that is in use, which stays.
    fn remove_undesired(
        &self,
        subnets: &mut BTreeMap<String, Subnet>,
        desired: &BTreeMap<String, SubnetState>,
    ) -> Result<Option<Error>> {
        let mut blocked = None;
        for (name, subnet) in subnets.extract_if(.., |name, _| !desired.contains_key(name)) {
            match self.neutron.delete("subnets", &subnet.id) {
                Ok(()) => info!("removed subnet {} ({name}) with {}", subnet.id, subnet.cidr),
                Err(Refusal::InUse(said)) => {
                    let why = format_args!("subnet {} ({name}) cannot be deleted yet: {said}", subnet.id);
                    blocked = Some(Error::transient(why));
                }
                Err(refusal) => return Err(refusal.into()),
            }
        }
        Ok(blocked)
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
            let known: Option<Network> = self.known_to_neutron("networks", self.known_networks())?;
            found.extend(known.filter(|network| network.description == self.mark));
        }
        if found.is_empty() {
            self.check_project()?;
        }
        found.sort_by(|a, b| (&a.created_at, &a.id).cmp(&(&b.created_at, &b.id)));
        Ok(found)
    }

    /// Subnets of this object in its network, by name.
    fn subnets(&self, network: &Network) -> Result<BTreeMap<String, Subnet>> {
        let known = self.known_subnets();
        let name_of = |subnet: &Subnet| {
            let by_id = || known.iter().find(|(_, ids)| ids.contains(&subnet.id)).map(|(name, _)| name.clone());
            if subnet.network_id == network.id { self.marked_name(subnet).or_else(by_id) } else { None }
        };
        let mut found: Vec<Subnet> = self.neutron.list("subnets", &[("network_id", &network.id)])?;
        // The older of two stays.
        found.sort_by(|a, b| (&b.created_at, &b.id).cmp(&(&a.created_at, &a.id)));
        let mut subnets: BTreeMap<String, Subnet> =
            found.into_iter().filter_map(|subnet| Some((name_of(&subnet)?, subnet))).collect();
        for (name, ids) in &known {
            if !subnets.contains_key(name)
                && let Some(subnet) = self.known_to_neutron::<Subnet>("subnets", ids.clone())?
                && name_of(&subnet).as_ref() == Some(name)
            {
                subnets.insert(name.clone(), subnet);
            }
        }
        Ok(subnets)
    }

    /// Names of the subnets in the spec, in order. The default name without a readable object.
    fn specified(&self) -> Vec<String> {
        let subnets = self.cx.object().map(|object| object.spec.subnets.as_slice()).unwrap_or_default();
        let names: Vec<String> = subnets.iter().map(|subnet| subnet.name.clone()).collect();
        if names.is_empty() { vec![DEFAULT_NAME.to_owned()] } else { names }
    }

    /// Ids of subnets by name, from the cache and the status.
    fn known_subnets(&self) -> BTreeMap<String, Vec<String>> {
        let specified = self.specified();
        let status = self.cx.object().ok().map(|object| &object.status);
        let in_status = status.map(|status| status.subnets.as_slice()).unwrap_or_default();
        let names: BTreeSet<&String> = specified.iter().chain(in_status.iter().map(|subnet| &subnet.name)).collect();
        let ids = |name: &String| {
            let mut ids: Vec<String> = cache::get(&self.remembered_subnet(name)).into_iter().collect();
            ids.extend(in_status.iter().filter(|subnet| subnet.name == *name).map(|subnet| subnet.subnet_id.clone()));
            if specified.first() == Some(name) {
                ids.extend(status.and_then(|status| status.subnet_id.clone()));
            }
            ids.dedup();
            ids
        };
        names.into_iter().map(|name| (name.clone(), ids(name))).collect()
    }

    /// The description of a subnet.
    fn subnet_mark(&self, name: &str) -> String {
        if name == DEFAULT_NAME { self.mark.clone() } else { format!("{}/{name}", self.mark) }
    }

    /// The name in the description of a subnet of this object.
    fn marked_name(&self, subnet: &Subnet) -> Option<String> {
        match subnet.description.strip_prefix(&self.mark)? {
            "" => Some(DEFAULT_NAME.to_owned()),
            name => name.strip_prefix('/').map(str::to_owned),
        }
    }

    /// Ids of the network from the cache and the status: where a list lags behind, these still lead to the network.
    fn known_networks(&self) -> Vec<String> {
        let mut ids: Vec<String> = cache::get(&self.remembered("network")).into_iter().collect();
        // An unreadable object is cleaned up without the hint.
        ids.extend(self.cx.object().ok().and_then(|object| object.status.network_id.clone()));
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

    fn remembered_subnet(&self, name: &str) -> String {
        let subnet = self.remembered("subnet");
        if name == DEFAULT_NAME { subnet } else { format!("{subnet} {name}") }
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

    fn make_subnet(&self, network_id: &str, name: &str, desired: &SubnetState) -> Result<Subnet> {
        let version = Cidr::parse(&desired.cidr).map_err(Error::terminal)?.version();
        let subnet: Subnet = self.neutron.create(
            "subnets",
            &json!({
                "network_id": network_id, "name": self.subnet_name(name), "description": self.subnet_mark(name), "ip_version": version,
                "cidr": desired.cidr, "gateway_ip": desired.gateway, "allocation_pools": allocation_pools(desired)?,
            }),
        )?;
        info!("made subnet {} with {} in network {network_id}", subnet.id, desired.cidr);
        Ok(subnet)
    }

    /// Corrects gateway and pools in one request: one without the other would conflict.
    fn corrected(&self, name: &str, subnet: Subnet, desired: &SubnetState) -> Result<Subnet> {
        let actual = describe(&subnet)?;
        if actual.cidr != desired.cidr {
            let field = if name == DEFAULT_NAME { "spec.cidr".to_owned() } else { format!("the cidr of {name}") };
            return Err(Error::terminal(format_args!(
                "{field} is {}, but the subnet was made with {}, and the range of a subnet cannot be changed: set it \
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
        for subnet in self.subnets(network)?.into_values() {
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

    /// The same for a subnet.
    fn subnet_name(&self, name: &str) -> String {
        if name == DEFAULT_NAME {
            return self.name();
        }
        format!("{}/{name}", self.name()).chars().take(LONGEST_NAME).collect()
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
