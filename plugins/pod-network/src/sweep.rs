//! Sweep of leftover ports: the Network finds ports of Pods whose deletion was missed.

use crate::State;
use crate::objects::{OWNER, Object, few, pod_kind, pods};
use neutron_client::{Neutron, Port};
use oarlock_guest::{Context, Observation, Outcome, Result, cluster};
use std::time::Duration;

/// Interval of a Network's sweep without a change.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// The ports in a Network whose Pods no longer need them. One request if there are none.
///
/// # Errors
///
/// The error of Neutron or of the cache.
pub(crate) fn observe(cx: &Context<Object>) -> Result<Observation<State>> {
    let left = left_behind(cx)?;
    let state = (!left.is_empty()).then(|| State::LeftBehind(left.into_iter().map(|port| port.id).collect()));
    Ok(Observation::of(state).requeue_after(LOOK_EVERY))
}

/// Deletes these ports.
///
/// # Errors
///
/// Neutron's error.
pub(crate) fn give_back(ports: &[String]) -> Result<Outcome> {
    let neutron = Neutron::from_config()?;
    for id in ports {
        neutron.delete("ports", id)?;
    }
    let ids: Vec<&str> = ports.iter().map(String::as_str).collect();
    Ok(Outcome::new()
        .event_normal("PortsReleased", format!("Ports of Pods that are gone were given back: {}", few(&ids))))
}

/// All Pod ports in a Network. None before it has a Neutron network.
///
/// # Errors
///
/// Neutron's error.
pub(crate) fn ports_of_pods(network: &Object) -> Result<Vec<Port>> {
    let Some(network_id) = &network.status.network_id else { return Ok(Vec::new()) };
    let mut ports: Vec<Port> =
        Neutron::from_config()?.list("ports", &[("network_id", network_id), ("device_owner", OWNER)])?;
    // A server that ignores the filter returns the ports of all owners.
    ports.retain(|port| port.network_id == *network_id && port.device_owner == OWNER);
    Ok(ports)
}

fn left_behind(cx: &Context<Object>) -> Result<Vec<Port>> {
    // First the ports, then the Pods: the Pod of each listed port was in the cache before.
    let mut ports = ports_of_pods(cx.object()?)?;
    let wants =
        |pod: &Object, port: &Port| pod.metadata.uid == port.device_id && pod.wanted_network() == Some(cx.name());
    for port in std::mem::take(&mut ports) {
        // The name shows where to look, so that not all Pods have to be read; it may have been edited.
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
