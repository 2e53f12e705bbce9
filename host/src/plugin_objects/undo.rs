//! `spec.undo`: while the source of a plugin has one version, every host runs another one, which ran before.

use super::Live;
use crate::lifecycle::{Action, GoBack, Handle, UNDONE, WaitingVersion};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Pause after an attempt.
const AGAIN: Duration = Duration::from_secs(5);

/// The states of a plugin with a version that runs. In others the digest is that of a version that may come.
const RUNS: [&str; 3] = ["active", "paused", "quarantined"];

/// What `spec.undo` asks of this host now.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wish {
    GoBack(GoBack),
    /// The version of the source, with this digest, may run again.
    Return(String),
}

/// The attempts to obey, by plugin.
#[derive(Debug, Default)]
pub(super) struct Undoing {
    began: BTreeMap<String, (Wish, Instant)>,
    failed: Arc<Mutex<BTreeMap<String, String>>>,
}

impl Undoing {
    /// Obeys where the plugins differ from the wishes. It does not wait.
    pub(super) fn obey(
        &mut self,
        live: &BTreeMap<String, Live>,
        entries: &BTreeMap<String, Value>,
        lifecycle: &Handle,
    ) {
        self.began.retain(|name, _| entries.contains_key(name));
        for (name, entry) in entries {
            let undo = live.get(name).and_then(|live| live.json.pointer("/spec/undo"));
            if let Some(fault) = too_early(name, undo, entry) {
                self.began.remove(name);
                self.failed().insert(name.clone(), fault);
                continue;
            }
            let Some(wish) = wish(undo, entry) else {
                self.began.remove(name);
                self.failed().remove(name);
                continue;
            };
            if self.began.get(name).is_some_and(|(before, at)| *before == wish && at.elapsed() < AGAIN) {
                continue;
            }
            if self.began.insert(name.clone(), (wish.clone(), Instant::now())).is_none_or(|(before, _)| before != wish)
            {
                // Why another wish could not be obeyed says nothing about this one.
                self.failed().remove(name);
            }
            let (lifecycle, name, failed) = (lifecycle.clone(), name.clone(), Arc::clone(&self.failed));
            tokio::spawn(async move {
                let action = match wish {
                    Wish::GoBack(to) => Action::GoBack(name.clone(), to),
                    Wish::Return(digest) => {
                        let version = WaitingVersion { plugin: name.clone(), digest, config: None };
                        Action::About(version, Box::new(Action::Confirm(name.clone())))
                    }
                };
                let done = lifecycle.act(action).await;
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                match done {
                    Ok(said) => {
                        tracing::info!(plugin = name, "spec.undo: {said}");
                        failed.remove(&name);
                    }
                    Err(why) => drop(failed.insert(name, format!("spec.undo cannot be obeyed: {why}"))),
                }
            });
        }
    }

    /// Whether this host obeys just now, with an open end.
    pub(super) fn is_under_way(&self, name: &str) -> bool {
        self.began.contains_key(name) && !self.failed().contains_key(name)
    }

    /// Why this host does not obey, by plugin.
    pub(super) fn faults(&self) -> BTreeMap<String, String> {
        self.failed().clone()
    }

    fn failed(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, String>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn of(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Whether this host has, or may soon have, the version that was undone, and does not run the other one yet.
///
/// * `entry` - the plugin. None: this host has not loaded it yet.
pub(super) fn is_pending(undo: &Value, entry: Option<&Value>) -> bool {
    let (from, to) = (of(undo, "/from"), of(undo, "/to"));
    let running = entry.map(|entry| of(entry, "/digest")).unwrap_or_default();
    let newest = entry.map(|entry| of(entry, "/next/digest")).filter(|digest| !digest.is_empty());
    let newest = newest.unwrap_or_else(|| running.clone());
    let may_be_undone = newest.is_empty() || newest == from;
    !to.is_empty() && to != from && may_be_undone && (running.is_empty() || running == from)
}

/// Why a wish about a version that does not run yet is a fault. It would be obeyed at some later time, when that version runs.
fn too_early(name: &str, undo: Option<&Value>, entry: &Value) -> Option<String> {
    let (from, to) = (of(undo?, "/from"), of(undo?, "/to"));
    let candidate = of(entry, "/next/digest");
    let asks = !from.is_empty() && from == candidate && !to.is_empty() && to != from;
    let state = of(entry, "/next/state");
    let first = match &*state {
        "rolling-out" => format!("abort the rollout first: oarlock rollout abort {name}"),
        "awaiting-confirmation" if entry.get("rollout").is_some() => {
            format!("abort the rollout first: oarlock rollout abort {name}")
        }
        "awaiting-confirmation" | "awaiting-grant" => "put the source of before in its place first".to_owned(),
        _ => return None,
    };
    asks.then(|| format!("spec.undo is about a version that does not run yet: {first}"))
}

/// None: the plugin is as the object wants it, or does not run yet.
fn wish(undo: Option<&Value>, entry: &Value) -> Option<Wish> {
    if !RUNS.contains(&of(entry, "/state").as_str()) {
        return None;
    }
    let running = of(entry, "/digest");
    let candidate = of(entry, "/next/digest");
    let newest = if candidate.is_empty() { &running } else { &candidate };
    let (from, to) = (undo.map(|undo| of(undo, "/from")), undo.map(|undo| of(undo, "/to")));
    if from.as_ref() == Some(newest) {
        let to = to.filter(|to| *to != running && to != newest)?;
        // Only from a version that runs, or that was rolled back.
        let state = of(entry, "/next/state");
        let digest = to.strip_prefix("sha256:").unwrap_or(&to).to_owned();
        let reference = undo.map(|undo| of(undo, "/reference")).filter(|reference| !reference.is_empty());
        return (!running.is_empty() && (state.is_empty() || state == "failed"))
            .then_some(Wish::GoBack(GoBack::Digest { digest, reference }));
    }
    let by_object = format!("rolled back: {UNDONE} with spec.undo");
    of(entry, "/next/reason").starts_with(&by_object).then_some(Wish::Return(candidate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_wish_is_for_one_version_of_the_source() {
        let undo = json!({"from": "sha256:b", "to": "sha256:a"});
        let back = Wish::GoBack(GoBack::Digest { digest: "a".to_owned(), reference: None });
        assert_eq!(wish(Some(&undo), &json!({"state": "active", "digest": "sha256:b"})), Some(back));
        let syncing = json!({"state": "syncing", "digest": "sha256:b"});
        assert_eq!(wish(Some(&undo), &syncing), None, "it does not run yet");
        assert_eq!(
            wish(Some(&undo), &json!({"state": "active", "digest": "sha256:c"})),
            None,
            "the source has another version"
        );
        for (entry, pending) in [
            (None, true),
            (Some(json!({"digest": ""})), true),
            (Some(json!({"digest": "", "next": {"digest": "sha256:b"}})), true),
            (Some(json!({"digest": "sha256:b"})), true),
            (Some(json!({"digest": "sha256:a", "next": {"digest": "sha256:b"}})), false),
            (Some(json!({"digest": "sha256:c"})), false),
            (Some(json!({"digest": "sha256:b", "next": {"digest": "sha256:c"}})), false),
        ] {
            assert_eq!(is_pending(&undo, entry.as_ref()), pending, "{entry:?}");
        }
        assert!(!is_pending(&json!({"from": "sha256:b", "to": "sha256:b"}), None), "it asks for nothing");
        let undone = |why: &str| {
            json!({"state": "active", "digest": "sha256:a",
            "next": {"digest": "sha256:b", "state": "failed", "reason": format!("rolled back: {why}")}})
        };
        let by_object = undone("a person went back with spec.undo of its Plugin object");
        assert_eq!(wish(Some(&undo), &by_object), None, "it is done");
        assert_eq!(wish(None, &by_object), Some(Wish::Return("sha256:b".to_owned())));
        assert_eq!(wish(None, &undone("a person went back")), None, "that was a person at the host");
        assert_eq!(wish(None, &undone("it traps")), None);
        let compiling =
            json!({"state": "active", "digest": "sha256:a", "next": {"digest": "sha256:b", "state": "syncing"}});
        assert_eq!(wish(Some(&undo), &compiling), None);
    }

    #[test]
    fn a_wish_about_a_version_that_does_not_run_yet_is_a_fault() {
        let undo = json!({"from": "sha256:b", "to": "sha256:0"});
        let entry = |state: &str| {
            json!({"state": "active", "digest": "sha256:a", "rollout": {"phase": "canary"},
                "next": {"digest": "sha256:b", "state": state}})
        };
        for state in ["rolling-out", "awaiting-confirmation"] {
            let fault = too_early("p", Some(&undo), &entry(state)).unwrap();
            assert!(fault.ends_with("abort the rollout first: oarlock rollout abort p"), "{fault}");
        }
        for state in ["failed", "syncing"] {
            assert_eq!(too_early("p", Some(&undo), &entry(state)), None, "{state}");
        }
        let itself = json!({"from": "sha256:b", "to": "sha256:b"});
        assert_eq!(too_early("p", Some(&itself), &entry("rolling-out")), None, "it asks for nothing");
        assert_eq!(too_early("p", None, &entry("rolling-out")), None);
    }
}
