//! Reconciler of `Network` objects: a network and its subnets in OpenStack Neutron for each.
//!
//! Everything it creates has the object's uid in its description, written by the creating request. The plugin searches for that uid
//! before it creates anything. So the next reconcile finds everything left by a crash or a timeout after success.

mod address;
mod neutron;
mod reconcile;
#[cfg(test)]
mod tests;
mod versions;

use crate::address::{Cidr, Pool, joined};
use crate::neutron::AllocationPool;
use crate::reconcile::Reconcile;
use neutron_client::{Neutron, declare_configuration};
use oarlock_guest::{Context, Converter as _, Error, Manifest, Observation, Outcome, Reconciler, Result, export, kind};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Reconciles `networks.samplecrd.k8s.io`, and converts them between v1 and v2.
#[derive(Debug, Default)]
pub struct NetworkReconciler;

/// The fields of a Network that this plugin reads, in the form of v2. Networks arrive as v1.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "Value")]
pub struct Network {
    spec: NetworkSpec,
    status: NetworkStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NetworkSpec {
    subnets: Vec<SubnetSpec>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SubnetSpec {
    name: String,
    cidr: String,
    /// Empty: the first address of the range.
    gateway: String,
    /// Empty: every host address but the gateway.
    allocation_pools: Vec<AllocationPool>,
}

/// The status fields; the ids serve as hints later.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct NetworkStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    network_id: Option<String>,
    /// Of the first subnet, as are `cidr` and `gateway`.
    #[serde(skip_serializing_if = "Option::is_none")]
    subnet_id: Option<String>,
    /// The OpenStack project. Known only with Keystone credentials, which have a project.
    #[serde(skip_serializing_if = "Option::is_none")]
    project_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cidr: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gateway: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subnets: Vec<SubnetStatus>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SubnetStatus {
    name: String,
    subnet_id: String,
    cidr: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    gateway: Option<String>,
}

impl TryFrom<Value> for Network {
    type Error = String;

    fn try_from(object: Value) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Fields {
            #[serde(default)]
            spec: NetworkSpec,
            #[serde(default)]
            status: NetworkStatus,
        }
        let object = NetworkReconciler::convert(object, versions::V2)?;
        let Fields { spec, status } = serde_json::from_value(object).map_err(|error| error.to_string())?;
        Ok(Self { spec, status })
    }
}

/// The compared state: only what this plugin owns, in a canonical form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// By name.
    subnets: BTreeMap<String, SubnetState>,
    /// Ids of younger, unused networks of this object, created by a request with a late response. Never desired.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    surplus: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SubnetState {
    /// Without host bits.
    cidr: String,
    gateway: Option<String>,
    /// `first-last`, in order, neighbours joined: the covered addresses, however Neutron splits them.
    pools: Vec<String>,
}

impl NetworkSpec {
    fn subnet_states(&self) -> Result<BTreeMap<String, SubnetState>> {
        let mut states = BTreeMap::new();
        for subnet in &self.subnets {
            // A v1 client knows the fields of its only subnet.
            let alone = self.subnets.len() == 1 && subnet.name == versions::DEFAULT_NAME;
            let path = if alone { "spec".to_owned() } else { format!("spec.subnets[{}]", subnet.name) };
            if states.insert(subnet.name.clone(), subnet.state(&path)?).is_some() {
                return Err(Error::terminal(format_args!("spec.subnets has two subnets named {:?}", subnet.name)));
            }
        }
        Ok(states)
    }
}

impl SubnetSpec {
    /// * `path` - of this subnet in the object, for errors.
    fn state(&self, path: &str) -> Result<SubnetState> {
        let wrong = |field: &str, why: String| Error::terminal(format_args!("{path}.{field}: {why}"));
        let cidr = Cidr::parse(&self.cidr).map_err(|why| wrong("cidr", why))?;
        let gateway = match self.gateway.as_str() {
            "" => cidr.first_host(),
            text => cidr.gateway(text).map_err(|why| wrong("gateway", why))?,
        };
        let pools = match self.allocation_pools.as_slice() {
            [] => cidr.pools_around(gateway),
            pools => pools_within(cidr, gateway, pools).map_err(|why| wrong("allocationPools", why))?,
        };
        let pools = pools.iter().map(ToString::to_string).collect();
        Ok(SubnetState { cidr: cidr.to_string(), gateway: Some(gateway.to_string()), pools })
    }
}

/// The pools of a subnet, with neighbours joined.
fn pools_within(cidr: Cidr, gateway: IpAddr, pools: &[AllocationPool]) -> Result<Vec<Pool>, String> {
    let pools: Vec<Pool> = pools.iter().map(|pool| Pool::parse(&pool.start, &pool.end)).collect::<Result<_, _>>()?;
    if let Some(pool) = pools.iter().find(|pool| !cidr.has_hosts(pool)) {
        return Err(format!("{pool} is not a range of host addresses of {cidr}"));
    }
    if let Some(pool) = pools.iter().find(|pool| pool.contains(gateway)) {
        return Err(format!("{pool} contains the gateway {gateway}"));
    }
    Ok(joined(pools))
}

impl Reconciler for NetworkReconciler {
    type Object = Network;
    type State = State;

    fn manifest() -> Manifest {
        let manifest = Manifest::new("network", env!("CARGO_PKG_VERSION"))
            .description("Makes a Network object a network and its subnets in OpenStack Neutron")
            .primary(kind(versions::V1, "Network"))
            .converts("networks.samplecrd.k8s.io")
            .cleanup()
            .manage_status()
            .workers(4)
            .resync_seconds(30);
        declare_configuration(manifest)
    }

    fn desired(&self, cx: &Context<Network>) -> Result<Option<State>> {
        Ok(Some(State { subnets: cx.object()?.spec.subnet_states()?, surplus: Vec::new() }))
    }

    fn actual(&self, cx: &Context<Network>) -> Result<Observation<State>> {
        Reconcile::new(cx, &Neutron::from_config()?).observe()
    }

    fn patch(&self, cx: &Context<Network>, desired: Option<State>, _: Option<State>) -> Result<Outcome> {
        let neutron = Neutron::from_config()?;
        let reconcile = Reconcile::new(cx, &neutron);
        match desired {
            Some(state) => reconcile.ensure(&state.subnets),
            None => reconcile.remove(),
        }
    }
}

export!(NetworkReconciler);
