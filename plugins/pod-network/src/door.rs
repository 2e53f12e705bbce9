//! Admission: Pods that ask for a Network, Networks that Pods hold.

use crate::objects::{NETWORK, Object, few, get_network, pods};
use crate::{State, sweep};
use oarlock_guest::{Context, Error, Observation, Outcome, PatchType, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What is compared of a Pod under review.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Review {
    /// What keeps its Network from being used.
    not_ready: Option<String>,
    /// Annotations that only this plugin writes: on a new Pod they are another's, copied along.
    copied: Vec<String>,
}

/// What a Pod under review should be: one whose Network is Ready.
///
/// Where it has to be changed as well, that its Network is not Ready is no difference: it still is not after the change.
///
/// # Errors
///
/// Denied, where it could never get a port.
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

/// What a Pod under review is.
///
/// # Errors
///
/// What reading the cache answers.
pub(crate) fn found_of_pod(cx: &Context<Object>, review: &Value) -> Result<Observation<State>> {
    let pod = cx.object()?;
    let Some(name) = pod.wanted_network() else { return Ok(Observation::absent()) };
    let network = get_network(cx.namespace(), name)?;
    let not_ready = network.as_ref().and_then(|network| network.not_ready()).map(str::to_owned);
    Ok(Observation::present(State::Review(Review { not_ready, copied: copied(pod, review) })))
}

/// What only this plugin writes, on a Pod that is new.
fn copied(pod: &Object, review: &Value) -> Vec<String> {
    let new = review.get("operation").and_then(Value::as_str) == Some("CREATE");
    pod.written().filter(|_| new).map(str::to_owned).collect()
}

/// Warns of a Network that is not Ready, and takes off what was copied along.
///
/// # Errors
///
/// When the Pod cannot be read.
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

/// Whether a Network may be deleted: not while a Pod that runs, or will, asks for it, nor while a port of one that is gone is left.
///
/// # Errors
///
/// Denied, with the Pods' names; transient, where Neutron does not say which ports there are.
pub(crate) fn may_network_go(cx: &Context<Object>) -> Result<()> {
    let network = cx.object()?;
    if network.going() {
        return Ok(());
    }
    // Of a collection that is deleted, the request has no names.
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
