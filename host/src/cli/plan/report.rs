//! The result of a plan: what changes, what cannot be decided, and the exit code.

mod text;

use super::changes::{Action, Change, ChangedValue};
use super::cluster::{ListRead, Name};
use super::grants::GrantChange;
use super::primaries::Kinds;
use super::secrets::Secrets;
use super::{CHANGES, ERRORS, Output};
use crate::cli::output::{json as in_json, yaml as in_yaml};
use oarlock::api::GroupVersionKind;
use oarlock::controller::{Finding, RehearsedObject};
use oarlock::plugin::WithheldRequest;
use serde_json::{Map, Value, json};

/// The reason of a failed reconcile whose change the grant does not allow.
const NOT_GRANTED: &str = "NotGranted";

/// The findings of a plan.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) kinds: Vec<Kinds>,
    /// None: without `--base`.
    pub(super) grants: Option<Vec<GrantChange>>,
    pub(super) changes: Vec<Change>,
    pub(super) requests: Vec<WithheldRequest>,
    /// The lists that the plan rests on.
    pub(super) read: Vec<ListRead>,
    pub(super) problems: Vec<String>,
}

/// The result of a plan, with digests in place of secret values.
#[derive(Debug)]
pub(super) struct Report {
    found: Found,
    checked: usize,
    in_sync: usize,
    rejected: Vec<Noted>,
    undecidable: Vec<Noted>,
    waiting: Vec<Noted>,
}

/// A primary with a sentence about it.
#[derive(Debug)]
struct Noted {
    plugin: String,
    name: Name,
    reason: String,
}

impl Report {
    pub(super) fn new(mut found: Found, objects: &[RehearsedObject], secrets: &Secrets) -> Self {
        let hidden = |text: String| secrets.hide_in(&text).unwrap_or(text);
        found.problems = found.problems.into_iter().map(hidden).collect();
        for object in objects.iter().filter(|object| object.finding == Finding::Withheld) {
            // The status tells of a request that failed only here.
            let name = name_of(object);
            found.changes.retain_mut(|change| change.name != name || change.drop_status());
        }
        for change in &mut found.changes {
            change.before = secrets.hide(&change.name, std::mem::take(&mut change.before));
            change.after = secrets.hide(&change.name, std::mem::take(&mut change.after));
        }
        for request in &mut found.requests {
            request.url = hidden(std::mem::take(&mut request.url));
        }
        let (rejected, undecidable, waiting) = (Vec::new(), Vec::new(), Vec::new());
        let mut report = Self { found, checked: objects.len(), in_sync: 0, rejected, undecidable, waiting };
        objects.iter().for_each(|object| report.note(object, hidden));
        report
    }

    fn note(&mut self, object: &RehearsedObject, hidden: impl Fn(String) -> String) {
        let (list, reason) = match &object.finding {
            Finding::InSync => {
                self.in_sync += usize::from(!object.changed);
                return;
            }
            Finding::Waiting => (&mut self.waiting, "waits for a change that no plugin of this plan makes".to_owned()),
            Finding::Failed { reason: NOT_GRANTED, message } => (&mut self.rejected, message.clone()),
            Finding::Failed { reason, message } => (&mut self.undecidable, format!("{reason}: {message}")),
            Finding::Unsettled => {
                (&mut self.undecidable, "does not settle: every reconcile changes something again".to_owned())
            }
            Finding::Withheld => {
                (&mut self.undecidable, "the answer to an HTTP request with effects decides what follows".to_owned())
            }
            Finding::NotReached => (&mut self.undecidable, "not reconciled within the time limit".to_owned()),
        };
        list.push(Noted { plugin: object.plugin.clone(), name: name_of(object), reason: hidden(reason) });
    }

    /// As `kubectl diff`: 0 without changes, 1 with changes, more for errors.
    pub(super) fn exit_code(&self) -> u8 {
        if !(self.found.problems.is_empty() && self.undecidable.is_empty() && self.rejected.is_empty()) {
            ERRORS
        } else if self.found.changes.is_empty()
            && self.found.requests.is_empty()
            && !self.found.kinds.iter().any(|kinds| kinds.drops)
        {
            0
        } else {
            CHANGES
        }
    }

    pub(super) fn print(&self, output: Output) -> anyhow::Result<()> {
        match output {
            Output::Diff => {
                for change in &self.found.changes {
                    crate::cli::say(text::diff(change)?.trim_end())?;
                }
                crate::cli::say(text::summary(self).trim_end())
            }
            Output::Summary => crate::cli::say(text::summary(self).trim_end()),
            Output::Json => crate::cli::say(&in_json(&self.document())?),
            Output::Yaml => crate::cli::say(&in_yaml(&self.document())?),
        }
    }

    fn count(&self, action: Action) -> usize {
        self.found.changes.iter().filter(|change| change.action == action).count()
    }

    /// The document of `-o json` and `-o yaml`.
    fn document(&self) -> Value {
        let noted = |list: &[Noted]| -> Vec<Value> {
            let one = |noted: &Noted| {
                let mut entry = name(&noted.name);
                entry.insert("plugin".to_owned(), noted.plugin.clone().into());
                entry.insert("reason".to_owned(), noted.reason.clone().into());
                Value::Object(entry)
            };
            list.iter().map(one).collect()
        };
        let requests = self.found.requests.iter().map(|request| {
            json!({"plugin": request.plugin, "key": request.key, "method": request.method, "url": request.url,
                "bodySha256": request.body_sha256})
        });
        json!({
            "summary": {
                "checked": self.checked, "inSync": self.in_sync, "changed": self.count(Action::Changed),
                "created": self.count(Action::Created), "deleted": self.count(Action::Deleted),
                "rejected": self.rejected.len(), "undecidable": self.undecidable.len(), "waiting": self.waiting.len(),
            },
            "plugins": self.found.kinds.iter().map(plugin).collect::<Vec<_>>(),
            "grants": self.found.grants.as_ref().map(|changes| changes.iter().map(grant).collect::<Vec<_>>()),
            "read": self.found.read.iter().map(list).collect::<Vec<_>>(),
            "objects": self.found.changes.iter().map(change).collect::<Vec<_>>(),
            "rejected": noted(&self.rejected),
            "undecidable": noted(&self.undecidable),
            "waiting": noted(&self.waiting),
            "requests": requests.collect::<Vec<_>>(),
            "problems": self.found.problems,
        })
    }
}

fn name_of(object: &RehearsedObject) -> Name {
    let key = &object.key;
    Name {
        kind: GroupVersionKind::clone(&key.kind),
        namespace: key.key.namespace.to_string(),
        name: key.key.name.to_string(),
    }
}

fn name(name: &Name) -> Map<String, Value> {
    let mut entry = Map::new();
    entry.insert("apiVersion".to_owned(), name.kind.api_version().into());
    entry.insert("kind".to_owned(), name.kind.kind.clone().into());
    if !name.namespace.is_empty() {
        entry.insert("namespace".to_owned(), name.namespace.clone().into());
    }
    entry.insert("name".to_owned(), name.name.clone().into());
    entry
}

fn grant(change: &GrantChange) -> Value {
    json!({"plugin": change.plugin, "before": change.before, "after": change.after, "lines": change.lines,
        "rbac": change.rbac})
}

fn list(read: &ListRead) -> Value {
    let mut entry = Map::new();
    entry.insert("apiVersion".to_owned(), read.kind.api_version().into());
    entry.insert("kind".to_owned(), read.kind.kind.clone().into());
    let place = [("namespace", &read.list.namespace), ("name", &read.list.name)];
    entry.extend(place.into_iter().filter_map(|(field, value)| Some((field.to_owned(), value.clone()?.into()))));
    entry.insert("resourceVersion".to_owned(), read.resource_version.clone().into());
    Value::Object(entry)
}

fn change(change: &Change) -> Value {
    let value = |changed: ChangedValue| {
        let sides = [("before", changed.before), ("after", changed.after)];
        let mut entry = Map::from_iter([("path".to_owned(), changed.path.into())]);
        entry.extend(sides.into_iter().filter_map(|(side, value)| Some((side.to_owned(), value?))));
        Value::Object(entry)
    };
    let mut entry = name(&change.name);
    entry.insert("action".to_owned(), change.action.as_str().into());
    entry.insert("fieldManagers".to_owned(), json!(change.managers));
    if !change.resource_version.is_empty() {
        entry.insert("resourceVersion".to_owned(), change.resource_version.clone().into());
    }
    entry.insert("values".to_owned(), change.values().into_iter().map(value).collect());
    Value::Object(entry)
}

fn plugin(kinds: &Kinds) -> Value {
    let primaries = kinds.primaries.iter().map(|primary| {
        json!({"apiVersion": primary.kind.api_version(), "kind": primary.kind.kind, "objects": primary.objects,
            "state": primary.state.as_str(), "finalizersLeft": primary.objects.map(|_| primary.left)})
    });
    json!({
        "name": kinds.plugin, "version": kinds.version, "digest": format!("sha256:{}", kinds.digest),
        "primaries": primaries.collect::<Vec<_>>(),
        "finalizer": {"name": kinds.finalizer, "added": kinds.added, "removed": kinds.removed},
    })
}
