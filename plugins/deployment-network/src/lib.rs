#![doc = include_str!("../README.md")]

mod parameters;
#[cfg(test)]
mod tests;

use crate::parameters::Parameters;
use oarlock_guest::{
    Context, Error, Kind, Manifest, Mapping, Observation, Outcome, Reconciler, Result, cluster, export, kind,
    object_ref,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Reconciles Deployments.
#[derive(Debug, Default)]
pub struct DeploymentNetwork;

/// The fields of a Deployment that this plugin reads.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Deployment {
    metadata: DeploymentMetadata,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DeploymentMetadata {
    annotations: BTreeMap<String, String>,
}

/// The fields of a Network that this plugin reads.
#[derive(Debug, Deserialize)]
struct Network {
    metadata: NetworkMetadata,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NetworkMetadata {
    uid: String,
    /// Set while the Network is being deleted: a finalizer still holds it for cleanup.
    deletion_timestamp: Option<String>,
    #[serde(default)]
    owner_references: Vec<Owner>,
}

#[derive(Debug, Deserialize)]
struct Owner {
    uid: String,
    #[serde(default)]
    controller: bool,
}

impl Network {
    fn is_controlled_by(&self, uid: &str) -> bool {
        self.metadata.owner_references.iter().any(|owner| owner.controller && owner.uid == uid)
    }

    fn is_going(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }
}

impl Reconciler for DeploymentNetwork {
    type Object = Deployment;
    /// The Network document as it is applied.
    type State = Value;

    fn manifest() -> Manifest {
        Manifest::new("deployment-network", env!("CARGO_PKG_VERSION"))
            .description("Gives every Deployment a Network of its own")
            .primary(kind("apps/v1", "Deployment"))
            .watch(network_kind(), Mapping::OwnerReference)
            .permission("samplecrd.k8s.io", "networks", &["get", "list", "watch", "create", "patch", "delete"])
    }

    fn desired(&self, cx: &Context<Deployment>) -> Result<Option<Value>> {
        let Some(Parameters { cidr, gateway }) = Parameters::read(&cx.object()?.metadata.annotations)? else {
            return Ok(None);
        };
        Ok(Some(json!({
            "apiVersion": "samplecrd.k8s.io/v1", "kind": "Network",
            "metadata": {"name": cx.name(), "namespace": cx.namespace(), "ownerReferences": [cx.owner_reference()]},
            "spec": {"cidr": cidr, "gateway": gateway},
        })))
    }

    fn actual(&self, cx: &Context<Deployment>) -> Result<Observation<Value>> {
        // The owner reference deletes the Network with its Deployment, unless the user asked for orphans to be kept.
        if cx.deleting() {
            return Ok(Observation::absent());
        }
        let network: Option<Network> = cluster::get(&network_kind(), cx.namespace(), cx.name())?;
        if !network.is_some_and(|network| network.is_controlled_by(cx.uid()) && !network.is_going()) {
            return Ok(Observation::absent());
        }
        let applied = cluster::get_applied(&network_kind(), cx.namespace(), cx.name())?;
        // The Network belongs to this Deployment, though other managers took over all its fields: it exists, and differs from any desired
        // state.
        Ok(Observation::present(applied.unwrap_or_else(|| json!({}))))
    }

    fn patch(&self, cx: &Context<Deployment>, desired: Option<Value>, actual: Option<Value>) -> Result<Outcome> {
        // Read from the API server if the cache has none: a Network that another client has just created must not be taken over.
        let read = if actual.is_some() { cluster::get } else { cluster::get_live };
        let network: Option<Network> = read(&network_kind(), cx.namespace(), cx.name())?;
        let ours = network.as_ref().is_none_or(|network| network.is_controlled_by(cx.uid()));
        if ours && desired.is_some() && network.as_ref().is_some_and(Network::is_going) {
            let name = cx.name();
            return Err(Error::transient(format_args!(
                "Network {name} is being deleted: a new one is made when it is gone"
            )));
        }
        let uid = network.map(|network| network.metadata.uid);
        match desired {
            Some(_) if !ours => Err(Error::terminal(format_args!(
                "Network {} exists and does not belong to this Deployment: it is left alone. Remove it, or set the \
                 annotation {} to \"false\"",
                cx.name(),
                parameters::WANTED
            ))),
            Some(network) => Ok(Outcome::new()
                .apply_with(&network, |change| change.precondition.uid = uid)
                .event_normal("NetworkApplied", format!("Network {} applied", cx.name()))),
            None if !ours || uid.is_none() => Ok(Outcome::new()),
            None => Ok(Outcome::new()
                .delete_with(object_ref(&network_kind(), cx.namespace(), cx.name()), |change| {
                    change.precondition.uid = uid;
                })
                .event_normal("NetworkDeleted", format!("Network {} deleted: it is no longer wanted", cx.name()))),
        }
    }
}

fn network_kind() -> Kind {
    kind("samplecrd.k8s.io/v1", "Network")
}

export!(DeploymentNetwork);
