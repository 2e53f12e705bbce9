//! Reconciler of `Network` objects: a network and a subnet in OpenStack Neutron for each.
//!
//! Everything it creates has the object's uid in its description, written by the creating request. The plugin searches for that uid
//! before it creates anything. So the next reconcile finds everything left by a crash or a timeout after success.

mod address;
mod neutron;
mod reconcile;
#[cfg(test)]
mod tests;

use crate::address::Cidr;
use crate::reconcile::Reconcile;
use neutron_client::{Neutron, declare_configuration};
use oarlock_guest::{Context, Error, Manifest, Observation, Outcome, Reconciler, Result, export, kind};
use serde::{Deserialize, Serialize};

/// Reconciles `networks.samplecrd.k8s.io`.
#[derive(Debug, Default)]
pub struct NetworkReconciler;

/// The fields of a Network that this plugin reads.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Network {
    spec: NetworkSpec,
    status: NetworkStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NetworkSpec {
    cidr: String,
    /// Empty: the first address of the range.
    gateway: String,
}

/// The status fields; the ids serve as hints later.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct NetworkStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    network_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subnet_id: Option<String>,
    /// The OpenStack project. Known only with Keystone credentials, which have a project.
    #[serde(skip_serializing_if = "Option::is_none")]
    project_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cidr: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gateway: Option<String>,
}

/// The compared state: only what this plugin owns, in a canonical form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// None: the network has no subnet of this plugin (yet).
    subnet: Option<SubnetState>,
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

impl Reconciler for NetworkReconciler {
    type Object = Network;
    type State = State;

    fn manifest() -> Manifest {
        let manifest = Manifest::new("network", env!("CARGO_PKG_VERSION"))
            .description("Makes a Network object a network and a subnet in OpenStack Neutron")
            .primary(kind("samplecrd.k8s.io/v1", "Network"))
            .cleanup()
            .manage_status()
            .workers(4)
            .resync_seconds(30);
        declare_configuration(manifest)
    }

    fn desired(&self, cx: &Context<Network>) -> Result<Option<State>> {
        let NetworkSpec { cidr, gateway } = &cx.object()?.spec;
        let cidr = Cidr::parse(cidr).map_err(|why| Error::terminal(format_args!("spec.cidr: {why}")))?;
        let gateway = match gateway.as_str() {
            "" => cidr.first_host(),
            text => cidr.gateway(text).map_err(|why| Error::terminal(format_args!("spec.gateway: {why}")))?,
        };
        let pools = cidr.pools_around(gateway).iter().map(ToString::to_string).collect();
        let subnet = SubnetState { cidr: cidr.to_string(), gateway: Some(gateway.to_string()), pools };
        Ok(Some(State { subnet: Some(subnet), surplus: Vec::new() }))
    }

    fn actual(&self, cx: &Context<Network>) -> Result<Observation<State>> {
        Reconcile::new(cx, &Neutron::from_config()?).observe()
    }

    fn patch(&self, cx: &Context<Network>, desired: Option<State>, _: Option<State>) -> Result<Outcome> {
        let neutron = Neutron::from_config()?;
        let reconcile = Reconcile::new(cx, &neutron);
        match desired.and_then(|state| state.subnet) {
            Some(subnet) => reconcile.ensure(&subnet),
            None => reconcile.remove(),
        }
    }
}

export!(NetworkReconciler);
