//! Ports whose Pods went while nobody looked: found from the Network they are in, which lives on.

use crate::State;
use crate::objects::{OWNER, Object, few, pod_kind, pods};
use neutron_client::{Neutron, Port};
use oarlock_guest::{Context, Observation, Outcome, Result, cluster};
use std::time::Duration;

/// How often a Network is looked through although nothing changed.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// The ports in a Network whose Pods no longer want them. One request where there are none.
///
/// # Errors
///
/// What Neutron, or the cache, answers.
pub(crate) fn observe(cx: &Context<Object>) -> Result<Observation<State>> {
    let left = left_behind(cx)?;
    let state = (!left.is_empty()).then(|| State::LeftBehind(left.into_iter().map(|port| port.id).collect()));
    Ok(Observation::of(state).requeue_after(LOOK_EVERY))
}

/// Deletes them.
///
/// # Errors
///
/// What Neutron answers.
pub(crate) fn give_back(ports: &[String]) -> Result<Outcome> {
    let neutron = Neutron::from_config()?;
    for id in ports {
        neutron.delete("ports", id)?;
    }
    let ids: Vec<&str> = ports.iter().map(String::as_str).collect();
    Ok(Outcome::new()
        .event_normal("PortsReleased", format!("Ports of Pods that are gone were given back: {}", few(&ids))))
}

/// Every port of a Pod in a Network. None where there is no network yet.
///
/// # Errors
///
/// What Neutron answers.
pub(crate) fn ports_of_pods(network: &Object) -> Result<Vec<Port>> {
    let Some(network_id) = &network.status.network_id else { return Ok(Vec::new()) };
    let mut ports: Vec<Port> =
        Neutron::from_config()?.list("ports", &[("network_id", network_id), ("device_owner", OWNER)])?;
    // A server that ignores the filter shows everybody's.
    ports.retain(|port| port.network_id == *network_id && port.device_owner == OWNER);
    Ok(ports)
}

fn left_behind(cx: &Context<Object>) -> Result<Vec<Port>> {
    // First the ports, then the Pods: whose port is in the list was in the cache before.
    let mut ports = ports_of_pods(cx.object()?)?;
    let wants =
        |pod: &Object, port: &Port| pod.metadata.uid == port.device_id && pod.wanted_network() == Some(cx.name());
    for port in std::mem::take(&mut ports) {
        // The name tells where to look, so that not all Pods have to be read; anybody may have edited it.
        let name = port.name.split_once('/').map_or("", |(_, name)| name);
        let pod: Option<Object> = if name.is_empty() { None } else { cluster::get(&pod_kind(), cx.namespace(), name)? };
        if !pod.is_some_and(|pod| wants(&pod, &port)) {
            ports.push(port);
        }
    }
    if !ports.is_empty() {
        let pods = pods(cx.namespace())?;
        ports.retain(|port| !pods.iter().any(|pod| wants(pod, port)));
    }
    Ok(ports)
}
