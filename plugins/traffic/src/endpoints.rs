//! The endpoints of destinations: ready Pods with the labels, or those of a Service.

use crate::route::{Problem, Target};
use oarlock_guest::{Kind, Result, cluster, kind};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The label of an EndpointSlice with the name of its Service.
const SERVICE: &str = "kubernetes.io/service-name";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Pod {
    metadata: Metadata,
    spec: PodSpec,
    status: PodStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata {
    deletion_timestamp: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PodSpec {
    volumes: Vec<Volume>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Volume {
    config_map: Option<Named>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Named {
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PodStatus {
    phase: String,
    #[serde(rename = "podIP")]
    pod_ip: Option<IpAddr>,
    conditions: Vec<Condition>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

impl Pod {
    fn finished(&self) -> bool {
        matches!(self.status.phase.as_str(), "Succeeded" | "Failed")
    }

    /// Whether it may get traffic.
    fn ready(&self) -> bool {
        let ready = |condition: &Condition| condition.kind == "Ready" && condition.status == "True";
        self.metadata.deletion_timestamp.is_none() && !self.finished() && self.status.conditions.iter().any(ready)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Service {
    spec: ServiceSpec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ServiceSpec {
    ports: Vec<Port>,
}

/// A port of a Service or of an EndpointSlice.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Port {
    #[serde(deserialize_with = "or_default")]
    name: String,
    port: Option<u16>,
    protocol: Option<String>,
}

impl Port {
    /// Requests in HTTP need TCP. A Service may have a port of the same number for UDP.
    fn is_tcp(&self) -> bool {
        self.protocol.as_deref().is_none_or(|protocol| protocol == "TCP")
    }
}

/// API servers write null for a list without items: a Service without Pods has such a slice.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EndpointSlice {
    #[serde(deserialize_with = "or_default")]
    endpoints: Vec<Endpoint>,
    #[serde(deserialize_with = "or_default")]
    ports: Vec<Port>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Endpoint {
    /// Names in a slice of the type FQDN.
    #[serde(deserialize_with = "or_default")]
    addresses: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    conditions: EndpointConditions,
}

/// Null as the default.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> std::result::Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EndpointConditions {
    /// None counts as ready.
    ready: Option<bool>,
}

pub(crate) fn pod_kind() -> Kind {
    kind("v1", "Pod")
}

pub(crate) fn service_kind() -> Kind {
    kind("v1", "Service")
}

pub(crate) fn slice_kind() -> Kind {
    kind("discovery.k8s.io/v1", "EndpointSlice")
}

/// Addresses and ports of a target, in order.
#[derive(Debug, PartialEq)]
pub(crate) enum Endpoints {
    Found(Vec<(IpAddr, u16)>),
    /// What the target names does not exist.
    Missing(Problem),
}

/// The endpoints of a target in its route's namespace.
///
/// # Errors
///
/// The error of reading the cache.
pub(crate) fn of(namespace: &str, target: &Target) -> Result<Endpoints> {
    let found = match &target.service {
        Some(service) => of_service(namespace, service, target)?,
        None => of_pods(namespace, target)?,
    };
    Ok(match found {
        Endpoints::Found(mut endpoints) => {
            endpoints.sort_unstable();
            endpoints.dedup();
            Endpoints::Found(endpoints)
        }
        missing @ Endpoints::Missing(_) => missing,
    })
}

fn of_pods(namespace: &str, target: &Target) -> Result<Endpoints> {
    let selector = selector(&target.pods);
    let pods: Vec<Pod> = list(&pod_kind(), namespace, selector.clone())?;
    if !pods.iter().any(|pod| !pod.finished()) {
        return Ok(missing(target, &format!("namespace {namespace} has no Pod with the labels {selector}")));
    }
    let ready = pods.iter().filter(|pod| pod.ready()).filter_map(|pod| pod.status.pod_ip);
    Ok(Endpoints::Found(ready.map(|address| (address, target.port)).collect()))
}

fn of_service(namespace: &str, name: &str, target: &Target) -> Result<Endpoints> {
    let Some(service) = cluster::get::<Service>(&service_kind(), namespace, name)? else {
        return Ok(missing(target, &format!("Service {namespace}/{name} does not exist")));
    };
    let Some(port) = service.spec.ports.iter().find(|port| port.port == Some(target.port) && port.is_tcp()) else {
        return Ok(missing(target, &format!("Service {namespace}/{name} has no port {}", target.port)));
    };
    let slices: Vec<EndpointSlice> = list(&slice_kind(), namespace, format!("{SERVICE}={name}"))?;
    let mut endpoints = Vec::new();
    for slice in &slices {
        // The port of the containers: the Service's own port is known only to its address.
        let same = slice.ports.iter().find(|of| of.name == port.name && of.is_tcp());
        let Some(number) = same.and_then(|of| of.port) else { continue };
        let ready = slice.endpoints.iter().filter(|endpoint| endpoint.conditions.ready != Some(false));
        let addresses = ready.flat_map(|endpoint| &endpoint.addresses).filter_map(|address| address.parse().ok());
        endpoints.extend(addresses.map(|address: IpAddr| (address, number)));
    }
    Ok(Endpoints::Found(endpoints))
}

fn missing(target: &Target, what: &str) -> Endpoints {
    Endpoints::Missing(Problem::new("DestinationNotFound", format!("destination {}: {what}", target.name)))
}

/// How many Pods of a namespace mount this ConfigMap.
///
/// # Errors
///
/// The error of reading the cache.
pub(crate) fn mounting(namespace: &str, label_selector: &str, config_map: &str) -> Result<usize> {
    let pods: Vec<Pod> = list(&pod_kind(), namespace, label_selector.to_owned())?;
    let mounts = |volume: &Volume| volume.config_map.as_ref().is_some_and(|map| map.name == config_map);
    Ok(pods.iter().filter(|pod| !pod.finished() && pod.spec.volumes.iter().any(mounts)).count())
}

fn list<T: serde::de::DeserializeOwned>(kind: &Kind, namespace: &str, label_selector: String) -> Result<Vec<T>> {
    let namespace = namespace.to_owned();
    cluster::list(kind, &cluster::ListOptions { namespace, label_selector, ..cluster::ListOptions::default() })
}

fn selector(labels: &BTreeMap<String, String>) -> String {
    labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
}
