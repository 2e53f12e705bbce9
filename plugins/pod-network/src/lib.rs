//! Reconciler and admission of Pods with ports in the Neutron networks of Network objects.
//!
//! A port has the Pod's uid in `device_id`, written by the creating request. The plugin searches for that uid before it creates a port.
//! The last run of a deleted Pod's key deletes the port. Ports of Pods whose deletion was missed are found from their Network: see
//! `sweep`.

mod door;
mod objects;
mod port;
mod sweep;
#[cfg(test)]
mod tests;

use crate::objects::{NETWORK, Object, network_kind, pod_kind};
use crate::port::PortState;
use neutron_client::declare_configuration;
use oarlock_guest::{AdmissionRule, Context, Manifest, Mapping, Observation, Outcome, Reconciler, Result, export};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Reconciles Pods that name a Network, and Networks with ports of Pods; reviews both.
#[derive(Debug, Default)]
pub struct PodNetwork;

/// The compared state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// For a Pod: its port.
    Port(PortState),
    /// For a Network: ids of its ports whose Pods no longer need them. Never desired.
    LeftBehind(Vec<String>),
    /// For a Pod under review.
    Review(door::Review),
}

/// Resync period of every Pod; Pods with a port, and Networks, have shorter intervals (see there).
const RESYNC_SECONDS: u32 = 300;

/// Timeout of a review; then the failure policy decides.
const REVIEW_SECONDS: u32 = 5;

impl Reconciler for PodNetwork {
    type Object = Object;
    type State = State;

    fn manifest() -> Manifest {
        let annotated = |object: &str| {
            format!("has({object}.metadata.annotations) && '{NETWORK}' in {object}.metadata.annotations")
        };
        let now = annotated("object");
        let moved = format!(
            "!({}) || oldObject.metadata.annotations['{NETWORK}'] != object.metadata.annotations['{NETWORK}']",
            annotated("oldObject")
        );
        let asks = json!({"name": "asks-for-a-network", "expression": now});
        let asks_anew = json!({"name": "asks-for-another-one", "expression": moved});
        let networks = AdmissionRule { validate: true, ..rule("DELETE", "samplecrd.k8s.io", "networks", None) };
        let manifest = Manifest::new("pod-network", env!("CARGO_PKG_VERSION"))
            .description("Gives Pods ports in the networks of Network objects, and guards both at admission")
            .primary(pod_kind())
            .primary(network_kind())
            .watch(
                network_kind(),
                Mapping::ReferencedBy { pointer: "/metadata/annotations/samplecrd.k8s.io~1network".into() },
            )
            .admission(rule("CREATE", "", "pods", Some(json!([asks]))))
            .admission(rule("UPDATE", "", "pods", Some(json!([asks, asks_anew]))))
            .admission(networks)
            .permission("", "pods", &["patch"])
            .workers(4)
            .resync_seconds(RESYNC_SECONDS);
        declare_configuration(manifest)
    }

    fn desired(&self, cx: &Context<Object>) -> Result<Option<State>> {
        match (is_pod(cx), cx.review()?) {
            (true, Some(review)) => door::wanted_of_pod(cx, review),
            (false, Some(_)) => door::may_network_go(cx).map(|()| None),
            (true, None) => port::desired(cx),
            (false, None) => Ok(None),
        }
    }

    fn actual(&self, cx: &Context<Object>) -> Result<Observation<State>> {
        match (is_pod(cx), cx.review()?) {
            (true, Some(review)) => door::found_of_pod(cx, review),
            (false, Some(_)) => Ok(Observation::absent()),
            (true, None) => port::observe(cx),
            (false, None) => sweep::observe(cx),
        }
    }

    fn patch(&self, cx: &Context<Object>, desired: Option<State>, actual: Option<State>) -> Result<Outcome> {
        match (desired, actual) {
            (Some(State::Port(wanted)), _) => port::ensure(cx, &wanted),
            (_, Some(State::Review(found))) => door::answer(cx, &found),
            (_, Some(State::LeftBehind(ports))) => sweep::give_back(&ports),
            _ => port::release(cx),
        }
    }
}

fn is_pod(cx: &Context<Object>) -> bool {
    *cx.kind() == pod_kind()
}

/// A rule without side effects that fails closed.
fn rule(operation: &str, group: &str, resource: &str, conditions: Option<Value>) -> AdmissionRule {
    AdmissionRule {
        operations: vec![operation.to_owned()],
        api_groups: vec![group.to_owned()],
        api_versions: vec!["v1".to_owned()],
        resources: vec![resource.to_owned()],
        validate: false,
        scope: Some("Namespaced".to_owned()),
        namespace_selector: None,
        object_selector: None,
        match_conditions: conditions,
        side_effects: Some("None".to_owned()),
        match_policy: Some("Equivalent".to_owned()),
        reinvocation_policy: None,
        failure_policy: Some("Fail".to_owned()),
        timeout_seconds: Some(REVIEW_SECONDS),
    }
}

export!(PodNetwork);
