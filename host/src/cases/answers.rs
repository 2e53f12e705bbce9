//! Results of a plugin in the format of a case's `expect`.

use crate::apply::events::Event;
use crate::apply::reviewed::ReviewedPatch;
use crate::apply::{Change, ObjectRef, PatchKind, Precondition, Propagation};
use crate::plugin::{CallError, Observation, Outcome, State};
use serde_json::{Map, Value, json};

/// All results of one reconcile. Results of calls that were not made are absent.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    pub(super) fields: Map<String, Value>,
}

impl Answers {
    pub(super) fn set(&mut self, field: &str, value: impl Into<Value>) {
        self.fields.insert(field.to_owned(), value.into());
    }

    /// Records the result of `get-desired`.
    pub(super) fn desired(&mut self, desired: Option<&State>) {
        self.set("desired", desired.map(|state| Value::clone(state)));
    }

    /// Records the first result of `get-actual`. Without a patch, there are no changes.
    pub(super) fn observed(&mut self, observed: &Observation) {
        for (field, value) in observation(observed) {
            self.set(field, value);
        }
        self.set("changes", Vec::<Value>::new());
    }

    /// Records the result of `get-actual` after `patch`.
    pub(super) fn after(&mut self, observed: &Observation) {
        let fields = observation(observed).map(|(field, value)| (field.to_owned(), value));
        self.set("after", Value::Object(fields.into_iter().collect()));
    }

    /// Records the result of `patch`.
    pub(super) fn outcome(&mut self, outcome: &Outcome) {
        let patches = outcome.patches.iter().map(reviewed);
        self.set("changes", outcome.changes.iter().map(change).chain(patches).collect::<Vec<_>>());
        self.set("events", outcome.events.iter().map(event).collect::<Vec<_>>());
        self.set("warnings", outcome.warnings.clone());
        let earlier = self.fields.get("requeueAfterMs").and_then(Value::as_u64);
        let requeue = [earlier, outcome.requeue_after.map(crate::milliseconds)].into_iter().flatten().min();
        self.set("requeueAfterMs", requeue);
    }

    /// Records the failure of a call.
    pub(super) fn error(&mut self, error: &CallError) {
        let told = match error {
            CallError::Transient { delay: None, message } => json!({"transient": message}),
            CallError::Transient { delay: Some(delay), message } => {
                json!({"transient": message, "delayMs": crate::milliseconds(*delay)})
            }
            CallError::Terminal(message) => json!({"terminal": message}),
            CallError::Denied { code, reason, message } => {
                json!({"denied": message, "code": code, "reason": reason})
            }
            failed => json!({"failed": failed.to_string()}),
        };
        self.set("error", told);
    }
}

fn observation(observed: &Observation) -> [(&'static str, Value); 3] {
    [
        ("actual", observed.state.as_deref().cloned().into()),
        ("status", observed.status.clone().map(Value::from).into()),
        ("requeueAfterMs", observed.requeue_after.map(crate::milliseconds).into()),
    ]
}

fn change(change: &Change) -> Value {
    let (mut told, precondition) = match change {
        Change::Apply { object, subresource, force, precondition } => {
            let mut told = json!({"apply": object});
            if *force {
                put(&mut told, "force", true.into());
            }
            put_text(&mut told, "subresource", subresource);
            (told, precondition)
        }
        Change::Create(object) => return json!({"create": object}),
        Change::Patch { target, kind, patch, subresource, precondition } => {
            let mut told = json!({"patch": {"target": target_of(target), "type": type_of(*kind), "patch": patch}});
            put_text(&mut told, "subresource", subresource);
            (told, precondition)
        }
        Change::Delete { target, propagation, precondition } => {
            let mut told = json!({"delete": target_of(target)});
            let propagation = match propagation {
                Propagation::Background => "",
                Propagation::Foreground => "foreground",
                Propagation::Orphan => "orphan",
            };
            put_text(&mut told, "propagation", propagation);
            (told, precondition)
        }
    };
    let Precondition { uid, resource_version } = precondition;
    for (field, value) in [("uid", uid), ("resourceVersion", resource_version)] {
        if let Some(value) = value {
            put(&mut told, field, value.as_str().into());
        }
    }
    told
}

fn reviewed(patch: &ReviewedPatch) -> Value {
    json!({"patch": {"type": type_of(patch.kind), "patch": patch.patch}})
}

fn event(event: &Event) -> Value {
    let severity = if event.warning { "warning" } else { "normal" };
    json!({"severity": severity, "reason": event.reason, "message": event.message})
}

fn target_of(target: &ObjectRef) -> Value {
    let mut told =
        json!({"apiVersion": target.kind.api_version(), "kind": &*target.kind.kind, "name": &*target.key.name});
    put_text(&mut told, "namespace", &target.key.namespace);
    told
}

fn type_of(kind: PatchKind) -> &'static str {
    match kind {
        PatchKind::Json => "json",
        PatchKind::Merge => "merge",
        PatchKind::Strategic => "strategic",
    }
}

fn put(told: &mut Value, field: &str, value: Value) {
    if let Some(told) = told.as_object_mut() {
        told.insert(field.to_owned(), value);
    }
}

fn put_text(told: &mut Value, field: &str, value: &str) {
    if !value.is_empty() {
        put(told, field, value.into());
    }
}
