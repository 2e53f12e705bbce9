//! Faults of a program: those of the API server, and those of HTTP services.

use super::Traits;
use fastrand::Rng;
use serde_json::{Value, json};

impl Traits {
    /// The faults that the API server and services show to the host.
    pub(super) fn faults(&self, random: &mut Rng) -> Vec<Value> {
        loop {
            let drawn = drawn(random, self.services);
            let crashes = drawn.iter().any(|step| step.pointer("/fault/fault/crash").is_some());
            // Without an answer to its review the API server refuses operations.
            if !(crashes && self.reviews) {
                return drawn;
            }
        }
    }
}

fn drawn(random: &mut Rng, services: bool) -> Vec<Value> {
    if services && random.u8(..100) < 60 {
        return vec![service_fault(random)];
    }
    let writes = json!({"verbs": ["create", "update", "patch", "apply", "delete"]});
    let (skip, times) = (random.u8(..4), random.u8(1..4));
    let crash_after = later(random, skip, 3);
    let struck = |requests: &Value, skip: u8, fault: Value| {
        vec![json!({"fault": {"id": "fault", "requests": requests, "skip": skip, "times": times, "fault": fault}})]
    };
    let rule = |requests: &Value, fault: Value| struck(requests, skip, fault);
    // Writes of the host come before a live read of the plugin: so half of these faults strike reads alone.
    let asked = |fault: Value| match skip {
        0 | 1 => struck(&json!({"verbs": ["create", "update", "patch", "apply", "delete", "get"]}), skip, fault),
        _ => struck(&json!({"verbs": ["get"]}), 0, fault),
    };
    match random.u8(..24) {
        0..6 => vec![
            json!({"fault": {"id": "crash", "requests": writes, "skip": crash_after, "times": 1, "fault": {"crash": {}}}}),
        ],
        6 => rule(&writes, json!({"answer": {"code": 409}})),
        7 => asked(json!({"answer": {"code": 429, "retryAfterSeconds": 1}})),
        8 => asked(json!({"answer": {"code": 500}})),
        9 => asked(json!({"answer": {"code": 503}})),
        10 => rule(&writes, json!({"answer": {"code": 500, "afterEffect": true}})),
        11 => rule(&writes, json!({"cut": {"afterEffect": true}})),
        12 => asked(json!({"delay": {"milliseconds": 3000}})),
        13 => rule(
            &writes,
            json!({"answer": {"code": 403, "message": "admission webhook \"policy.example.com\" denied the request"}}),
        ),
        14 => rule(&json!({"verbs": ["watch"]}), json!({"closeWatch": {"afterEvents": skip}})),
        15 => vec![
            json!({"fault": {"id": "fault", "requests": {"verbs": ["watch"]}, "fault": {"delayEvents": {"milliseconds": 5000}}}}),
        ],
        // The host's lists are consistent, so a real API server shows no past. Children made in it are garbage, records are not.
        16..22 if !services => {
            vec![json!({"fault": {"id": "past", "requests": {"verbs": ["list", "watch"]}, "fault": {"stale": {}}}})]
        }
        _ => vec![
            json!({"fault": {"id": "fault", "fault": {"stale": {"cachedOnly": true}}}}),
            json!({"restart": {"crash": true}}),
        ],
    }
}

/// The write after which the host crashes, counted from 0: mostly an early one, as each plugin has, and the last value stands for later ones.
fn later(random: &Rng, skip: u8, last: u8) -> u8 {
    // Of a copy, so that this draw changes no other one; and not its first number, which decides for the crash.
    let mut random = random.clone();
    random.u32(..);
    if skip == last { last + random.u8(..8) } else { skip }
}

/// A fault of HTTP services.
fn service_fault(random: &mut Rng) -> Value {
    let writes = json!({"methods": ["POST", "PUT", "PATCH", "DELETE"]});
    let (skip, times) = (random.u8(..3), random.u8(1..4));
    let crash_after = later(random, skip, 2);
    let rule = |requests: &Value, fault: Value| json!({"fault": {"id": "fault", "http": requests, "skip": skip, "times": times, "fault": fault}});
    let all = json!({});
    match random.u8(..16) {
        0..7 => {
            json!({"fault": {"id": "crash", "http": writes, "skip": crash_after, "times": 1, "fault": {"crash": {}}}})
        }
        7 => rule(&all, json!({"answer": {"code": 429, "retryAfterSeconds": 1}})),
        8 => rule(&all, json!({"answer": {"code": 500}})),
        9 => rule(&all, json!({"answer": {"code": 503}})),
        10 => rule(&writes, json!({"answer": {"code": 500, "afterEffect": true}})),
        11 => rule(&writes, json!({"cut": {"afterEffect": true}})),
        12 => rule(&writes, json!({"hang": {"afterEffect": true}})),
        13 => rule(&all, json!({"cut": {}})),
        14 => rule(&all, json!({"hang": {}})),
        _ => rule(&all, json!({"delay": {"milliseconds": 3000}})),
    }
}

/// Whether a step is the fault of an API server that lags behind: a host that starts later sees the past.
pub(super) fn is_past(step: &Value) -> bool {
    step.pointer("/fault/id").is_some_and(|id| id == "past")
}

/// Whether a step disturbs the host.
pub(in crate::cli::check) fn is_fault(step: &Value) -> bool {
    ["fault", "restart", "swap", "takeover"].iter().any(|operation| step.get(operation).is_some())
}

/// Whether the steps have faults, all of which pass by themselves and show nothing that is wrong.
pub(in crate::cli::check) fn passes(steps: &[Value]) -> bool {
    let mut faults = steps.iter().filter_map(|step| step.pointer("/fault/fault")).peekable();
    let passing = |fault: &Value| {
        let code = fault.pointer("/answer/code").and_then(Value::as_u64);
        code.is_some_and(|code| code == 429 || code >= 500)
            || ["cut", "hang", "crash"].iter().any(|name| fault.get(name).is_some())
    };
    faults.peek().is_some() && faults.all(passing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Each fault of docs/check.md is drawn, and the host crashes after each of the first writes.
    #[test]
    fn every_fault_is_drawn() {
        let mut all = BTreeSet::new();
        let mut random = Rng::with_seed(3);
        for services in [false, true].repeat(4000) {
            for step in drawn(&mut random, services) {
                let Some(fault) = step.get("fault") else { continue };
                let of = if fault.get("http").is_some() { "service" } else { "cluster" };
                let (kind, how) = fault["fault"].as_object().and_then(|fault| fault.iter().next()).unwrap();
                let number = if kind == "crash" { &fault["skip"] } else { &how["code"] };
                all.insert(format!("{of} {kind} {number}"));
            }
        }
        let after = |of: &'static str, writes: u8| (0..writes).map(move |write| format!("{of} crash {write}"));
        let answers = |of: &str| [429, 500, 503].map(|code| format!("{of} answer {code}"));
        let others =
            ["answer 403", "answer 409", "cut null", "delay null", "closeWatch null", "delayEvents null", "stale null"]
                .map(|fault| format!("cluster {fault}"));
        let of_services = ["cut null", "hang null", "delay null"].map(|fault| format!("service {fault}"));
        let expected: BTreeSet<String> = after("cluster", 11)
            .chain(after("service", 10))
            .chain(answers("cluster"))
            .chain(answers("service"))
            .chain(others)
            .chain(of_services)
            .collect();
        assert_eq!(all, expected);
    }
}
