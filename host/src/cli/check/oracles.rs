//! What must hold of any controller, and how that is seen in its objects.

use super::super::test::scenarios::Seen;
use super::compare::{absent, holding, identity, is_same_object, merge};
use super::program::{Program, SETTLE, is_fault, reference};
use super::source::text;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A property that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Oracle {
    LastState,
    Faults,
    Quiet,
    Loop,
    Deletion,
    Leftovers,
    Generation,
    Secret,
    Trap,
    Classified,
    Unanswered,
    Restart,
    Exit,
    Step,
}

impl Oracle {
    /// Its name in reports and files.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::LastState => "last-state",
            Self::Faults => "faults",
            Self::Quiet => "quiet",
            Self::Loop => "loop",
            Self::Deletion => "deletion",
            Self::Leftovers => "leftovers",
            Self::Generation => "observed-generation",
            Self::Secret => "secret",
            Self::Trap => "plugin-error",
            Self::Classified => "errors",
            Self::Unanswered => "unanswered",
            Self::Restart => "restart",
            Self::Exit => "exit",
            Self::Step => "step",
        }
    }

    /// What does not hold, a sentence.
    pub(super) fn sentence(self) -> &'static str {
        match self {
            Self::LastState => "The result depends on more than the last objects",
            Self::Faults => "The result differs from that of a run without faults",
            Self::Quiet => "The controller writes although nothing changes",
            Self::Loop => "The controller reconciles again and again although nothing changes",
            Self::Deletion => "A deletion does not end",
            Self::Leftovers => "Something is left after all objects are deleted",
            Self::Generation => "The status claims another generation than it shows",
            Self::Secret => "The value of a Secret is readable elsewhere",
            Self::Trap => "The plugin traps, or gives an invalid answer",
            Self::Classified => "The plugin gives up because of a failure that passes",
            Self::Unanswered => "The plugin does not answer, or asks a service that no stub answers for",
            Self::Restart => "The controller writes when it starts although nothing has changed",
            Self::Exit => "The command ends by itself",
            Self::Step => "A step of the program fails",
        }
    }
}

/// What was found in one program.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) oracle: Oracle,
    /// Of which kind, without names.
    pub(super) shape: String,
    /// What was expected and what was found.
    pub(super) lines: Vec<String>,
    /// The steps that fail after the program.
    pub(super) checks: Vec<Value>,
}

/// The last objects of a program that exist in a world.
pub(super) fn existing(last: &BTreeMap<String, Value>, seen: &Seen) -> Vec<Value> {
    let exists = |wanted: &&Value| seen.objects.iter().any(|object| is_same_object(wanted, object));
    last.values().filter(exists).cloned().collect()
}

/// The status shows the generation that it claims.
pub(super) fn generations(objects: &[Value], seen: &Seen) -> Option<Found> {
    let is_primary = |object: &&Value| objects.iter().any(|wanted| is_same_object(wanted, object));
    for object in seen.objects.iter().filter(is_primary) {
        let Some(generation) = object.pointer("/metadata/generation") else { continue };
        let found = |line: String, status: Value| {
            let mut resource = identity(object);
            merge(&mut resource, json!({"status": status}));
            Some(Found {
                oracle: Oracle::Generation,
                shape: text(object, "/kind").to_owned(),
                lines: vec![line],
                checks: vec![json!({"assert": {"resource": resource, "timeout": SETTLE}})],
            })
        };
        let observed = object.pointer("/status/observedGeneration");
        if let Some(observed) = observed.filter(|observed| *observed != generation) {
            let line = format!("status.observedGeneration: expected {generation}, found {observed}");
            return found(line, json!({"observedGeneration": generation}));
        }
        let conditions = object.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
        let mut ready = conditions.filter(|one| text(one, "/type") == "Ready" && text(one, "/status") == "True");
        if let Some(of) = ready.find_map(|one| one.get("observedGeneration").filter(|of| *of != generation)) {
            let line = format!("Ready is True for generation {of}: expected {generation}");
            let status = json!({"conditions": [{"type": "Ready", "observedGeneration": generation}]});
            return found(line, status);
        }
    }
    None
}

/// Finds a log line, an event or an object with the value of a Secret.
pub(super) fn secret(seen: &Seen, secrets: &[String]) -> Option<Found> {
    let told = |line: &String| secrets.iter().find(|secret| line.contains(secret.as_str()));
    if let Some(secret) = seen.lines.iter().find_map(told) {
        return Some(Found {
            oracle: Oracle::Secret,
            shape: "log".to_owned(),
            lines: vec!["a log line has the value of a Secret".to_owned()],
            checks: vec![json!({"logs": {"without": secret}})],
        });
    }
    let typed = |event: &Value| {
        let mut event = event.clone();
        merge(&mut event, json!({"apiVersion": "v1", "kind": "Event"}));
        event
    };
    let events: Vec<Value> = seen.events.iter().map(typed).collect();
    let others = seen.objects.iter().filter(|object| text(object, "/kind") != "Secret").chain(&events);
    for object in others {
        let Some(mut part) = secrets.iter().find_map(|secret| holding(object, secret)) else { continue };
        // The name of an event is no part of what it says.
        let mut resource = identity(object);
        if text(object, "/kind") == "Event" {
            resource = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"namespace": text(object, "/metadata/namespace")}});
        }
        merge(&mut resource, std::mem::take(&mut part));
        let kind = text(object, "/kind");
        return Some(Found {
            oracle: Oracle::Secret,
            shape: kind.to_owned(),
            lines: vec![format!("{kind} {} has the value of a Secret", text(object, "/metadata/name"))],
            checks: vec![json!({"error": {"resource": resource, "timeout": "1s"}})],
        });
    }
    None
}

/// Finds an event about a call that ended without a valid answer.
pub(super) fn trap(seen: &Seen) -> Option<Found> {
    let event = seen.events.iter().find(|event| text(event, "/reason") == "PluginError")?;
    let namespace = event.pointer("/metadata/namespace").cloned().unwrap_or_default();
    let resource =
        json!({"apiVersion": "v1", "kind": "Event", "metadata": {"namespace": namespace}, "reason": "PluginError"});
    let lines = vec![format!("event: {}", text(event, "/message"))];
    let shape = text(event, "/involvedObject/kind").to_owned();
    let checks = vec![json!({"error": {"resource": resource, "timeout": "1s"}})];
    Some(Found { oracle: Oracle::Trap, shape, lines, checks })
}

/// The steps that delete the last objects.
pub(super) fn deletions(last: &BTreeMap<String, Value>) -> Vec<Value> {
    last.values().map(|one| json!({"delete": {"ref": reference(one, &json!({}))}})).collect()
}

/// Finds an object that is left after all deletions.
///
/// * `before` - the world without these objects.
pub(super) fn left(before: &Seen, last: &BTreeMap<String, Value>, seen: &Seen) -> Option<Found> {
    let known: BTreeSet<String> = before.objects.iter().map(|object| identity(object).to_string()).collect();
    let left = seen.objects.iter().find(|object| !known.contains(&identity(object).to_string()));
    left.map(|object| {
        let mut checks = deletions(last);
        checks.push(absent(object));
        let place = reference(object, &json!({}));
        let (kind, name) = (text(&place, "/kind"), text(&place, "/name"));
        let lines = vec![format!("{kind} {name}: expected none, found one")];
        Found { oracle: Oracle::Leftovers, shape: kind.to_owned(), lines, checks }
    })
}

/// Names of the objects that are not ready, or about which there is a warning.
pub(super) fn failing(seen: &Seen, objects: &[Value]) -> BTreeSet<String> {
    let mut failing = BTreeSet::new();
    for wanted in objects {
        let (kind, name) = (text(wanted, "/kind"), text(wanted, "/metadata/name"));
        let live = seen.objects.iter().find(|object| is_same_object(object, wanted));
        let conditions = live.and_then(|object| object.pointer("/status/conditions")).and_then(Value::as_array);
        let ready = conditions.into_iter().flatten().find(|one| text(one, "/type") == "Ready");
        let warned = seen.events.iter().any(|event| {
            let about = text(event, "/involvedObject/kind") == kind && text(event, "/involvedObject/name") == name;
            about && text(event, "/type") == "Warning"
        });
        if ready.map_or(warned, |ready| text(ready, "/status") != "True") {
            failing.insert(name.to_owned());
        }
    }
    failing
}

/// Objects about which the plugin said that no retry helps: the kind, the name, and what it said.
pub(super) fn given_up(seen: &Seen) -> BTreeMap<(String, String), String> {
    let events = seen.events.iter().filter(|event| text(event, "/reason") == "TerminalError");
    let of = |event: &Value, field: &str| text(event, &format!("/involvedObject/{field}")).to_owned();
    events.map(|event| ((of(event, "kind"), of(event, "name")), text(event, "/message").to_owned())).collect()
}

/// The oracle of a finding whose program is as short as it can be.
pub(super) fn named(oracle: Oracle, program: &Program) -> Oracle {
    match oracle {
        Oracle::LastState if program.steps.iter().any(is_fault) => Oracle::Faults,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A status of an older generation, and a Ready condition of one. Neither has to be there.
    #[test]
    fn a_status_of_another_generation_is_found() {
        let object = json!({"apiVersion": "a.b/v1", "kind": "Site", "metadata": {"name": "a", "namespace": "n"}});
        let found = |status: Value| {
            let mut live = object.clone();
            merge(&mut live, json!({"metadata": {"generation": 3}, "status": status}));
            let seen = Seen { objects: vec![live], ..Seen::default() };
            generations(std::slice::from_ref(&object), &seen).map(|found| found.lines.concat())
        };
        let ready = |of: u32, status: &str| {
            let condition = json!({"type": "Ready", "status": status, "observedGeneration": of});
            json!({"observedGeneration": 3, "conditions": [condition]})
        };
        assert_eq!(found(json!({"phase": "up"})), None);
        assert_eq!(found(ready(3, "True")), None);
        assert_eq!(found(ready(2, "False")), None);
        let expected = "status.observedGeneration: expected 3, found 2";
        assert_eq!(found(json!({"observedGeneration": 2})).as_deref(), Some(expected));
        assert_eq!(found(ready(2, "True")).as_deref(), Some("Ready is True for generation 2: expected 3"));
    }
}
