//! Admission of Pods that ask for a Network, and of deletions of Networks that Pods use.

use crate::objects::{NETWORK, Object, few, get_network, pods};
use crate::{State, sweep};
use oarlock_guest::{Context, Error, Observation, Outcome, PatchType, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The compared state of a Pod under review.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Review {
    /// Why its Network is not ready.
    not_ready: Option<String>,
    /// Annotations that only this plugin writes: on a new Pod they are copied from another one.
    copied: Vec<String>,
}

/// The desired state of a Pod under review: its Network is Ready.
///
/// If the Pod has to be changed as well, a Network that is not Ready is no difference, because it still is not Ready after the change.
///
/// # Errors
///
/// Denied, if the Pod could never get a port.
pub(crate) fn wanted_of_pod(cx: &Context<Object>, review: &Value) -> Result<Option<State>> {
    let pod = cx.object()?;
    let Some(name) = pod.wanted_network() else { return Ok(None) };
    if pod.on_host_network() {
        return Err(Error::denied(format_args!(
            "a Pod with hostNetwork has its node's addresses and can have none in Network {name:?}: drop hostNetwork, or the \
             annotation {NETWORK}"
        )));
    }
    let namespace = cx.namespace();
    let Some(network) = get_network(namespace, name)? else {
        return Err(Error::denied(format_args!(
            "Network {name:?} does not exist in namespace {namespace}: create it before the Pod, or correct the annotation {NETWORK}"
        )));
    };
    if network.going() {
        return Err(Error::denied(format_args!(
            "Network {name:?} is being deleted: no Pod gets a port in it any more"
        )));
    }
    let not_ready = if copied(pod, review).is_empty() { None } else { network.not_ready().map(str::to_owned) };
    Ok(Some(State::Review(Review { not_ready, copied: Vec::new() })))
}

/// The actual state of a Pod under review.
///
/// # Errors
///
/// The error of reading the cache.
pub(crate) fn found_of_pod(cx: &Context<Object>, review: &Value) -> Result<Observation<State>> {
    let pod = cx.object()?;
    let Some(name) = pod.wanted_network() else { return Ok(Observation::absent()) };
    let network = get_network(cx.namespace(), name)?;
    let not_ready = network.as_ref().and_then(|network| network.not_ready()).map(str::to_owned);
    Ok(Observation::present(State::Review(Review { not_ready, copied: copied(pod, review) })))
}

/// Annotations of this plugin on a new Pod.
fn copied(pod: &Object, review: &Value) -> Vec<String> {
    let new = review.get("operation").and_then(Value::as_str) == Some("CREATE");
    pod.written().filter(|_| new).map(str::to_owned).collect()
}

/// Warns about a Network that is not Ready, and removes copied annotations.
///
/// # Errors
///
/// The Pod cannot be read.
pub(crate) fn answer(cx: &Context<Object>, found: &Review) -> Result<Outcome> {
    let mut outcome = Outcome::new();
    if !found.copied.is_empty() {
        let remove =
            |key: &String| json!({"op": "remove", "path": format!("/metadata/annotations/{}", key.replace('/', "~1"))});
        outcome = outcome.patch(None, PatchType::JsonPatch, found.copied.iter().map(remove).collect::<Value>());
    }
    if let Some(why) = &found.not_ready {
        let name = cx.object()?.network().unwrap_or_default();
        outcome = outcome.warning(format!("Network {name:?} is not Ready ({why}): the Pod gets its port once it is"));
    }
    Ok(outcome)
}

/// Whether a Network may be deleted: not while a present or starting Pod asks for it, nor while a deleted Pod's port is left.
///
/// # Errors
///
/// Denied, with the names of the Pods; transient, when Neutron does not list the ports.
pub(crate) fn may_network_go(cx: &Context<Object>) -> Result<()> {
    let network = cx.object()?;
    if network.going() {
        return Ok(());
    }
    // In a deletecollection, the request has no names.
    let name = network.metadata.name.as_str();
    let pods = pods(cx.namespace())?;
    let holders: Vec<&str> = pods
        .iter()
        .filter(|pod| pod.wanted_network() == Some(name) && !pod.on_host_network())
        .map(|pod| pod.metadata.name.as_str())
        .collect();
    if !holders.is_empty() {
        return Err(in_use(format!("Network {name:?} is in use by Pods {}: delete them first", few(&holders))));
    }
    let ports = sweep::ports_of_pods(network)?;
    let names: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
    if names.is_empty() {
        return Ok(());
    }
    Err(in_use(format!(
        "Network {name:?} still has ports of Pods that have ended, {}: try again in a moment",
        few(&names)
    )))
}

fn in_use(message: String) -> Error {
    Error::Denied { code: 409, reason: "Conflict".to_owned(), message }
}
