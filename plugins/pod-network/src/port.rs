//! The Neutron port of a Pod: find, create, correct, delete.

use crate::State;
use crate::objects::{ADDRESS, OWNER, Object, PORT_ID, get_network, pod_kind};
use neutron_client::{Neutron, Port, Refusal};
use oarlock_guest::{Context, Error, Observation, Outcome, PatchType, Result, cache, cluster, info, object_ref};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// Interval of comparing a Pod with a Network with Neutron, without a change.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// Requeue delay after a deletion: a Neutron whose lists lag behind still shows the deleted port.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Longest name in Neutron, in characters.
const LONGEST_NAME: usize = 255;

/// The compared state of a Pod's port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PortState {
    /// The Neutron network of the port. None: there is no port, only annotations of one.
    network_id: Option<String>,
    /// Whether it has an address.
    addressed: bool,
    /// Whether the Pod's annotations name it.
    annotated: bool,
    /// Ids of further ports of the same Pod: from a request with a late response, or in an earlier Network.
    surplus: Vec<String>,
}

/// The desired state: a port in the Neutron network of the Pod's Network.
///
/// # Errors
///
/// Terminal, when it does not exist: a change of the Network enqueues the Pod.
pub(crate) fn desired(cx: &Context<Object>) -> Result<Option<State>> {
    let pod = cx.object()?;
    let Some(name) = pod.wanted_network() else { return Ok(None) };
    if pod.on_host_network() {
        return Err(Error::terminal(format_args!("a Pod with hostNetwork can have no port in Network {name:?}")));
    }
    let Some(network) = get_network(cx.namespace(), name)? else {
        return Err(Error::terminal(format_args!("Network {name:?} does not exist in namespace {}", cx.namespace())));
    };
    if network.status.network_id.is_none() {
        return Err(not_ready(name, &network));
    }
    let network_id = network.status.network_id;
    Ok(Some(State::Port(PortState { network_id, addressed: true, annotated: true, surplus: Vec::new() })))
}

/// The actual state. No request for Pods without a Network, one request when everything is in place.
///
/// # Errors
///
/// The error of Neutron or of the cache.
pub(crate) fn observe(cx: &Context<Object>) -> Result<Observation<State>> {
    let pod = cx.object()?;
    // A client that replaces the whole Pod may remove both annotations at once.
    let known = cache::get::<String>(&remembered(cx)).is_some();
    let concerned = known || pod.network().is_some() || pod.written().next().is_some();
    // While the Pod is only being deleted, its containers still run.
    let runs_out = cx.deleting() && !cx.is_gone() && !pod.finished();
    if !concerned || runs_out {
        return Ok(Observation::absent());
    }
    let wanted = match pod.wanted_network() {
        Some(name) => get_network(cx.namespace(), name)?.and_then(|network| network.status.network_id),
        None => None,
    };
    let ports = ports(cx, &Neutron::from_config()?, wanted.as_deref())?;
    if known && ports.is_empty() && pod.wanted_network().is_none() {
        cache::remove(&remembered(cx));
    }
    let annotations = annotations(cx)?;
    let state = match ports.split_first() {
        Some((port, others)) => Some(PortState {
            network_id: Some(port.network_id.clone()),
            addressed: !port.fixed_ips.is_empty(),
            annotated: told(port).iter().all(|(key, value)| annotations.get(*key).map(String::as_str) == *value),
            surplus: others.iter().map(|port| port.id.clone()).collect(),
        }),
        None if annotations.is_empty() => None,
        None => Some(PortState { network_id: None, addressed: false, annotated: true, surplus: Vec::new() }),
    };
    let observation = Observation::of(state.map(State::Port));
    Ok(if pod.wanted_network().is_some() { observation.requeue_after(LOOK_EVERY) } else { observation })
}

/// Creates a missing port, gives it an address, writes both to the Pod, and deletes further ports.
///
/// # Errors
///
/// The error of Neutron, or the state of a Network in which no port can be created now.
pub(crate) fn ensure(cx: &Context<Object>, wanted: &PortState) -> Result<Outcome> {
    let neutron = Neutron::from_config()?;
    let name = cx.object()?.network().unwrap_or_default();
    let Some(network) = get_network(cx.namespace(), name)? else {
        return Err(Error::transient(format_args!("Network {name:?} has just gone")));
    };
    let mut others = ports(cx, &neutron, wanted.network_id.as_deref())?;
    let in_place = others.first().is_some_and(|port| Some(&port.network_id) == wanted.network_id.as_ref());
    let port = if in_place {
        let port = others.remove(0);
        if port.fixed_ips.is_empty() { with_address(&neutron, &port, &network)? } else { port }
    } else {
        make(cx, &neutron, name, &network)
            .map_err(|error| error.context(format_args!("no port in Network {name:?}")))?
    };
    cache::set(&remembered(cx), &port.id, None);
    for other in &others {
        neutron.delete("ports", &other.id)?;
        info!("removed port {} in network {}: a further one of this Pod", other.id, other.network_id);
    }
    let said = format!("Port {} with address {} in Network {name}", port.id, address(&port).unwrap_or("none"));
    Ok(tell(cx, told(&port)).event_normal("PortAssigned", said))
}

/// Deletes the Pod's ports, and its annotations of them.
///
/// # Errors
///
/// Neutron's error.
pub(crate) fn release(cx: &Context<Object>) -> Result<Outcome> {
    let neutron = Neutron::from_config()?;
    let ports = ports(cx, &neutron, None)?;
    for port in &ports {
        neutron.delete("ports", &port.id)?;
        info!("removed port {} of Pod {}/{}", port.id, cx.namespace(), cx.name());
    }
    cache::remove(&remembered(cx));
    if cx.is_gone() {
        return Ok(Outcome::new());
    }
    let outcome = tell(cx, [(ADDRESS, None), (PORT_ID, None)]).requeue_after(LOOK_AGAIN);
    Ok(if ports.is_empty() { outcome } else { outcome.event_normal("PortReleased", "The Pod's port was given back") })
}

/// The Pod's ports: those in the desired network first, oldest first among them.
fn ports(cx: &Context<Object>, neutron: &Neutron, wanted: Option<&str>) -> Result<Vec<Port>> {
    let uid = cx.uid();
    if uid.is_empty() {
        return Err(Error::terminal("the Pod has no uid: nothing could be found again"));
    }
    // A server that ignores the filter returns the ports of all owners.
    let ours = |port: &Port| port.device_id == uid && port.device_owner == OWNER;
    let mut found: Vec<Port> = neutron.list("ports", &[("device_id", uid), ("device_owner", OWNER)])?;
    found.retain(ours);
    if found.is_empty() {
        // Where a list lags behind, these ids still lead to the ports.
        let mut known: Vec<String> = cache::get(&remembered(cx)).into_iter().collect();
        known.extend(cx.object()?.metadata.annotations.get(PORT_ID).cloned());
        known.dedup();
        for id in known {
            match neutron.get::<Port>("ports", &id) {
                Ok(port) if ours(&port) => found.push(port),
                Ok(_) | Err(Refusal::NotFound(_)) => {}
                Err(refusal) => return Err(refusal.into()),
            }
        }
    }
    let order = |port: &Port| (Some(port.network_id.as_str()) != wanted, port.created_at.clone(), port.id.clone());
    found.sort_by_key(order);
    Ok(found)
}

fn remembered(cx: &Context<Object>) -> String {
    format!("port {}", cx.uid())
}

fn make(cx: &Context<Object>, neutron: &Neutron, name: &str, network: &Object) -> Result<Port> {
    if network.going() {
        return Err(Error::terminal("it is being deleted"));
    }
    let ids = network.status.network_id.as_ref().zip(network.status.subnet_id.as_ref());
    let (Some((network_id, subnet_id)), None) = (ids, network.not_ready()) else {
        return Err(not_ready(name, network));
    };
    let whose: String = format!("{}/{}", cx.namespace(), cx.name()).chars().take(LONGEST_NAME).collect();
    let port: Port = neutron.create(
        "ports",
        &json!({
            "network_id": network_id, "name": whose, "device_id": cx.uid(), "device_owner": OWNER,
            "fixed_ips": [{"subnet_id": subnet_id}],
        }),
    )?;
    info!("made port {} in network {network_id}", port.id);
    Ok(port)
}

/// The port, with an address from the Network's subnet.
fn with_address(neutron: &Neutron, port: &Port, network: &Object) -> Result<Port> {
    let Some(subnet_id) = &network.status.subnet_id else {
        return Err(Error::terminal("the Network has no subnet to take an address from"));
    };
    Ok(neutron.update("ports", &port.id, None, &json!({"fixed_ips": [{"subnet_id": subnet_id}]}))?)
}

fn not_ready(name: &str, network: &Object) -> Error {
    let why = network.not_ready().unwrap_or("its status has no ids");
    Error::terminal(format_args!("Network {name:?} is not Ready ({why}): the port is made once it is"))
}

fn address(port: &Port) -> Option<&str> {
    port.fixed_ips.first().map(|ip| ip.ip_address.as_str())
}

/// The annotations about a port.
fn told(port: &Port) -> [(&'static str, Option<&str>); 2] {
    [(ADDRESS, address(port)), (PORT_ID, Some(&port.id))]
}

/// This plugin's present annotations: the request may be older than its last write.
fn annotations(cx: &Context<Object>) -> Result<BTreeMap<String, String>> {
    if cx.is_gone() {
        return Ok(BTreeMap::new());
    }
    let pod: Option<Object> = cluster::get(&pod_kind(), cx.namespace(), cx.name())?;
    let Some(pod) = pod.filter(|pod| pod.metadata.uid == cx.uid()) else { return Ok(BTreeMap::new()) };
    Ok(pod.metadata.annotations.into_iter().filter(|(key, _)| [ADDRESS, PORT_ID].contains(&key.as_str())).collect())
}

/// Writes annotations to the Pod; none removes one.
fn tell(cx: &Context<Object>, annotations: [(&'static str, Option<&str>); 2]) -> Outcome {
    let annotations: Value = annotations.into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect();
    let patch = json!({"metadata": {"annotations": annotations}});
    let pod = object_ref(&pod_kind(), cx.namespace(), cx.name());
    Outcome::new().patch_with(Some(pod), PatchType::MergePatch, patch, |change| {
        change.precondition.uid = Some(cx.uid().to_owned());
    })
}
