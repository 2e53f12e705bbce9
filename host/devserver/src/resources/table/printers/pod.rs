//! Columns of pods and their templates.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Printer, age, flag, labels, list, name, number, or_none, since, text, workload::containers};

pub(super) fn printer(plural: &str) -> Printer {
    match plural {
        "podtemplates" => ("Name*|Containers|Images|Pod Labels", |o| {
            let [names, images] = containers(o, "/template/spec/containers");
            vec![name(o), names, images, labels(o.pointer("/template/metadata/labels"))]
        }),
        _ => ("Name*|Ready|Status|Restarts|Age|IP+|Node+|Nominated Node+|Readiness Gates+", pod),
    }
}

/// The conditions of a pod's row.
pub(in crate::resources::table) fn row_conditions(o: &Value) -> Option<Value> {
    let (reason, message) = match text(o, "/status/phase") {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([{"type": "Completed", "status": "True", "reason": reason, "message": message}]))
}

/// The sum of the container statuses.
#[derive(Debug, Default)]
struct Summary {
    ready: usize,
    restarts: i64,
    /// The last end of a restarted container.
    last: String,
    reason: String,
}

impl Summary {
    fn restarted(&mut self, status: &Value) {
        self.restarts += number(status, "/restartCount");
        let ended = text(status, "/lastState/terminated/finishedAt");
        // Times of one form compare as strings.
        if *ended > *self.last {
            ended.clone_into(&mut self.last);
        }
    }
}

fn condition(o: &Value, kind: &str) -> bool {
    list(o, "/status/conditions").iter().any(|c| text(c, "/type") == kind && text(c, "/status") == "True")
}

fn ended(status: &Value) -> String {
    let reason = text(status, "/state/terminated/reason");
    match (reason, number(status, "/state/terminated/signal")) {
        ("", 0) => format!("ExitCode:{}", number(status, "/state/terminated/exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

/// The init containers; the reason names the one that blocks the pod, if any.
fn initial(o: &Value, sidecars: &BTreeMap<&str, bool>, summary: &mut Summary) -> (bool, Summary) {
    let mut beside = Summary::default();
    for (i, status) in list(o, "/status/initContainerStatuses").iter().enumerate() {
        summary.restarted(status);
        let sidecar = sidecars.get(text(status, "/name")).copied().unwrap_or(false);
        if sidecar {
            beside.restarted(status);
        }
        let terminated = status.pointer("/state/terminated").is_some_and(Value::is_object);
        let waiting = text(status, "/state/waiting/reason");
        if terminated && number(status, "/state/terminated/exitCode") == 0 {
            continue;
        }
        if sidecar && flag(status, "/started") {
            summary.ready += usize::from(flag(status, "/ready"));
            continue;
        }
        summary.reason = if terminated {
            format!("Init:{}", ended(status))
        } else if waiting.is_empty() || waiting == "PodInitializing" {
            format!("Init:{i}/{}", list(o, "/spec/initContainers").len())
        } else {
            format!("Init:{waiting}")
        };
        return (true, beside);
    }
    (false, beside)
}

fn main_containers(o: &Value, summary: &mut Summary) {
    let (mut running, mut failed) = (false, String::new());
    for status in list(o, "/status/containerStatuses").iter().rev() {
        summary.restarted(status);
        let waiting = text(status, "/state/waiting/reason");
        if !waiting.is_empty() {
            waiting.clone_into(&mut summary.reason);
        } else if status.pointer("/state/terminated").is_some_and(Value::is_object) {
            summary.reason = ended(status);
            if number(status, "/state/terminated/exitCode") != 0 {
                failed.clone_from(&summary.reason);
            }
        } else if flag(status, "/ready") && status.pointer("/state/running").is_some_and(Value::is_object) {
            running = true;
            summary.ready += 1;
        }
    }
    if summary.reason == "Completed" {
        if running && condition(o, "Ready") {
            "Running".clone_into(&mut summary.reason);
        } else if !failed.is_empty() {
            summary.reason = failed;
        } else if running {
            "NotReady".clone_into(&mut summary.reason);
        }
    }
}

fn summary(o: &Value, sidecars: &BTreeMap<&str, bool>) -> Summary {
    let phase = text(o, "/status/phase");
    let own = text(o, "/status/reason");
    let mut summary = Summary { reason: super::or(own, phase).to_owned(), ..Summary::default() };
    let gated = |c: &Value| text(c, "/type") == "PodScheduled" && text(c, "/reason") == "SchedulingGated";
    if list(o, "/status/conditions").iter().any(gated) {
        "SchedulingGated".clone_into(&mut summary.reason);
    }
    let (initializing, beside) = initial(o, sidecars, &mut summary);
    if !initializing || condition(o, "Initialized") {
        summary.restarts = beside.restarts;
        summary.last = beside.last;
        main_containers(o, &mut summary);
    }
    if o.pointer("/metadata/deletionTimestamp").is_some() {
        if own == "NodeLost" {
            "Unknown".clone_into(&mut summary.reason);
        } else if !matches!(phase, "Succeeded" | "Failed") {
            "Terminating".clone_into(&mut summary.reason);
        }
    }
    summary
}

fn pod(o: &Value) -> Vec<Value> {
    let sidecars: BTreeMap<&str, bool> = list(o, "/spec/initContainers")
        .iter()
        .map(|c| (text(c, "/name"), text(c, "/restartPolicy") == "Always"))
        .collect();
    let total = list(o, "/spec/containers").len() + sidecars.values().filter(|s| **s).count();
    let summary = summary(o, &sidecars);
    let restarts = match (summary.restarts, summary.last.as_str()) {
        (0, _) | (_, "") => summary.restarts.to_string(),
        (count, last) => format!("{count} ({} ago)", since(last)),
    };
    let gates = list(o, "/spec/readinessGates");
    let met = gates.iter().filter(|g| condition(o, text(g, "/conditionType"))).count();
    let gates = if gates.is_empty() { "<none>".to_owned() } else { format!("{met}/{}", gates.len()) };
    vec![
        name(o),
        format!("{}/{total}", summary.ready).into(),
        summary.reason.into(),
        restarts.into(),
        age(o),
        or_none(text(o, "/status/podIPs/0/ip")),
        or_none(text(o, "/spec/nodeName")),
        or_none(text(o, "/status/nominatedNodeName")),
        gates.into(),
    ]
}
