//! The status of a TrafficRoute: whether its configuration is accepted, and where it is programmed.

use crate::acceptance;
use crate::config_map;
use crate::endpoints;
use crate::route::{Phase, TrafficRoute};
use oarlock_guest::{Error, Observation, Outcome, Result};
use serde_json::{Value, json};
use std::time::Duration;

/// The label of Pods with Envoy.
const INJECTED: &str = "initializer.kubernetes.io/envoy-injected=true";
/// At most this many namespaces are listed; the counts have all.
const LISTED: usize = 50;

/// In a state: the problem.
const PROBLEM: &str = "problem";

/// The compared state of a TrafficRoute is its problem; none is desired.
pub(crate) fn desired() -> Result<Option<Value>> {
    Ok(Some(json!({})))
}

/// Observes a TrafficRoute. `None`: it is gone.
///
/// # Errors
///
/// The error of reading the cache.
pub(crate) fn observe(route: Option<&TrafficRoute>) -> Result<Observation<Value>> {
    let Some(route) = route else { return Ok(Observation::absent()) };
    let verdict = acceptance::judge(route)?;
    let (mut listed, mut lacking, mut pods, mut count) = (Vec::new(), Vec::new(), 0, 0);
    if let Some(accepted) = &verdict.accepted {
        let (with, without) = config_map::namespaces(route, accepted)?;
        (lacking, count) = (without, with.len());
        for (i, namespace) in with.into_iter().enumerate() {
            let mounting = endpoints::mounting(&namespace, INJECTED, config_map::NAME)?;
            pods += mounting;
            if i < LISTED {
                listed.push(json!({"namespace": namespace, "pods": mounting}));
            }
        }
    }
    let accepted = match &verdict.problem {
        None => condition("Accepted", true, "Accepted", ""),
        Some(problem) => condition("Accepted", false, problem.reason, &problem.message),
    };
    let programmed = match (&verdict.accepted, lacking.first()) {
        (None, _) => condition("Programmed", false, "NeverAccepted", "no configuration was valid yet"),
        (Some(_), Some(first)) => {
            condition("Programmed", false, "Pending", &format!("namespace {first} has an older one"))
        }
        (Some(_), None) if count == 0 => condition(
            "Programmed",
            false,
            "NoNamespace",
            "no namespace has the label initializer.kubernetes.io/envoy=true",
        ),
        (Some(_), None) => condition("Programmed", true, "Programmed", &format!("{count} namespaces, {pods} Pods")),
    };
    let advancing = verdict.canary.as_ref().filter(|progress| progress.phase == Phase::Advancing);
    let mut status = json!({
        "conditions": [accepted, programmed],
        "programmed": listed, "namespaces": count, "pods": pods,
    });
    if let Value::Object(fields) = &mut status {
        fields.extend(verdict.accepted.map(|accepted| ("accepted".to_owned(), json!(accepted))));
        fields.extend(verdict.canary.as_ref().map(|progress| ("canary".to_owned(), json!(progress))));
    }
    let state = verdict.problem.map_or_else(|| json!({}), |problem| json!({PROBLEM: problem.message}));
    let observation = Observation::present(state).status(status);
    // Often enough for steps of a second's precision, and seldom enough for Prometheus.
    Ok(if advancing.is_some() { observation.requeue_after(Duration::from_secs(5)) } else { observation })
}

fn condition(kind: &str, holds: bool, reason: &str, message: &str) -> Value {
    json!({"type": kind, "status": if holds { "True" } else { "False" }, "reason": reason, "message": message})
}

/// Reports the problem; nothing is to be changed.
///
/// # Errors
///
/// Terminal, with the problem: an edit of this route, or of what it names, is the next attempt.
pub(crate) fn patch(actual: Option<&Value>) -> Result<Outcome> {
    match actual.and_then(|state| state.get(PROBLEM)?.as_str()) {
        Some(problem) => Err(Error::terminal(problem)),
        None => Ok(Outcome::new()),
    }
}
