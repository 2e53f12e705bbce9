//! Fields of Pods and Networks that this plugin reads.

use oarlock_guest::{Kind, Result, cluster, kind};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The annotation by which a Pod asks for a port: the name of a Network in its namespace.
pub(crate) const NETWORK: &str = "samplecrd.k8s.io/network";

/// The annotation with the port's address. Written by this plugin.
pub(crate) const ADDRESS: &str = "samplecrd.k8s.io/network-ip";

/// The annotation with the port's id. Written by this plugin.
pub(crate) const PORT_ID: &str = "samplecrd.k8s.io/network-port-id";

/// `device_owner` of Pod ports; their `device_id` is the Pod's uid.
pub(crate) const OWNER: &str = "oarlock:pod";

/// A Pod or a Network; fields that a kind lacks stay at their defaults.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Object {
    pub(crate) metadata: Metadata,
    spec: Spec,
    pub(crate) status: Status,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Metadata {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) annotations: BTreeMap<String, String>,
    deletion_timestamp: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    host_network: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Status {
    /// For a Pod.
    phase: String,
    /// For a Network, as are all following fields.
    pub(crate) network_id: Option<String>,
    pub(crate) subnet_id: Option<String>,
    conditions: Vec<Condition>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    message: String,
}

impl Object {
    /// The Network in which a Pod asks for a port.
    pub(crate) fn network(&self) -> Option<&str> {
        self.metadata.annotations.get(NETWORK).map(String::as_str)
    }

    /// The same, unless the Pod has finished and needs none any more.
    pub(crate) fn wanted_network(&self) -> Option<&str> {
        self.network().filter(|_| !self.finished())
    }

    /// Whether all containers of a Pod have ended for good.
    pub(crate) fn finished(&self) -> bool {
        matches!(self.status.phase.as_str(), "Succeeded" | "Failed")
    }

    /// Whether a Pod shares the network of its node.
    pub(crate) fn on_host_network(&self) -> bool {
        self.spec.host_network
    }

    /// Annotations that this plugin writes.
    pub(crate) fn written(&self) -> impl Iterator<Item = &str> {
        self.metadata.annotations.keys().map(String::as_str).filter(|key| [ADDRESS, PORT_ID].contains(key))
    }

    pub(crate) fn going(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// Why a Network is not ready. None: it is Ready.
    pub(crate) fn not_ready(&self) -> Option<&str> {
        match self.status.conditions.iter().find(|condition| condition.kind == "Ready") {
            Some(ready) if ready.status == "True" => None,
            Some(ready) if !ready.message.is_empty() => Some(&ready.message),
            _ => Some("nothing was reported about it yet"),
        }
    }
}

pub(crate) fn pod_kind() -> Kind {
    kind("v1", "Pod")
}

pub(crate) fn network_kind() -> Kind {
    kind("samplecrd.k8s.io/v1", "Network")
}

/// A Network from the cache.
///
/// # Errors
///
/// As [`cluster::get`].
pub(crate) fn get_network(namespace: &str, name: &str) -> Result<Option<Object>> {
    cluster::get(&network_kind(), namespace, name)
}

/// All Pods of a namespace, from the cache.
///
/// # Errors
///
/// As [`cluster::list`].
pub(crate) fn pods(namespace: &str) -> Result<Vec<Object>> {
    let options = cluster::ListOptions { namespace: namespace.to_owned(), ..cluster::ListOptions::default() };
    cluster::list(&pod_kind(), &options)
}

/// The first few names, in words.
pub(crate) fn few(names: &[&str]) -> String {
    const NAMED: usize = 5;
    let named = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
