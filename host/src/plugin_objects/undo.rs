//! `spec.undo`: while the source of a plugin has one version, every host runs another one, which ran before.

use super::Live;
use crate::lifecycle::{Action, GoBack, Handle, UNDONE, WaitingVersion};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::task::AbortOnDropHandle;

/// Pause after the end of an attempt.
const AGAIN: Duration = Duration::from_secs(5);

/// The states of a plugin with a version that runs. In others the digest is that of a version that may come.
const RUNS: [&str; 3] = ["active", "paused", "quarantined"];

/// What `spec.undo` asks of this host now.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wish {
    GoBack {
        to: GoBack,
        /// The version of the source, with its digest, if it does not run.
        from: Option<String>,
    },
    /// The version of the source, with this digest, may run again.
    Return(String),
}

/// The attempts to obey, by plugin.
#[derive(Debug, Default)]
pub(super) struct Undoing {
    began: BTreeMap<String, Attempt>,
    failed: Arc<Mutex<BTreeMap<String, String>>>,
}

#[derive(Debug)]
struct Attempt {
    wish: Wish,
    /// The request, and the pause after it. A pull may take long, and its version may not be wanted any more.
    task: AbortOnDropHandle<()>,
}

impl Attempt {
    fn begin(wish: Wish, request: impl Future<Output = ()> + Send + 'static) -> Self {
        let task = tokio::spawn(async move {
            request.await;
            tokio::time::sleep(AGAIN).await;
        });
        Self { wish, task: AbortOnDropHandle::new(task) }
    }

    /// Whether it is too early for another one.
    fn goes_on(&self, wish: &Wish) -> bool {
        self.wish == *wish && !self.task.is_finished()
    }
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
            if let Some(fault) = too_early(undo, entry) {
                self.began.remove(name);
                self.failed().insert(name.clone(), fault);
                continue;
            }
            let Some(wish) = wish(undo, entry) else {
                self.began.remove(name);
                self.failed().remove(name);
                continue;
            };
            let before = self.began.get(name);
            if before.is_some_and(|before| before.goes_on(&wish)) {
                continue;
            }
            if before.is_none_or(|before| before.wish != wish) {
                // Why another wish could not be obeyed says nothing about this one.
                self.failed().remove(name);
            }
            let request = request(name.clone(), wish.clone(), lifecycle.clone(), Arc::clone(&self.failed));
            self.began.insert(name.clone(), Attempt::begin(wish, request));
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

/// Asks for what the object wants, and notes why it cannot be.
async fn request(name: String, wish: Wish, lifecycle: Handle, failed: Arc<Mutex<BTreeMap<String, String>>>) {
    let about = |digest: String, action: Action| {
        let version = WaitingVersion { plugin: name.clone(), digest, config: None };
        Action::About(version, Box::new(action))
    };
    let action = match wish {
        Wish::GoBack { to, from: None } => Action::GoBack(name.clone(), to),
        Wish::GoBack { to, from: Some(digest) } => about(digest, Action::GoBack(name.clone(), to)),
        Wish::Return(digest) => about(digest, Action::Confirm(name.clone())),
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

/// Why a wish about a version that waits, and is not rolled out, is a fault. It would be obeyed at some later time, when that version runs.
fn too_early(undo: Option<&Value>, entry: &Value) -> Option<String> {
    let undo = undo.filter(|undo| takes_back(undo, &of(entry, "/next/digest")));
    let waits = ["awaiting-confirmation", "awaiting-grant"].contains(&of(entry, "/next/state").as_str());
    let fault = "spec.undo is about a version that does not run yet: put the source of before in its place first";
    (undo.is_some() && waits && !is_rolled_out(entry)).then(|| fault.to_owned())
}

/// Whether `spec.undo` takes a version back. Then an approval of this version does not count.
///
/// * `digest` - of the version.
pub(super) fn takes_back(undo: &Value, digest: &str) -> bool {
    let (from, to) = (of(undo, "/from"), of(undo, "/to"));
    !digest.is_empty() && from == digest && !to.is_empty() && to != from
}

/// Whether the version of the source is rolled out beside the one that runs.
fn is_rolled_out(entry: &Value) -> bool {
    match of(entry, "/next/state").as_str() {
        "rolling-out" => true,
        // For an approval of its plan.
        "awaiting-confirmation" => entry.get("rollout").is_some(),
        _ => false,
    }
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
        // The rollout of a version ends, also if the version that runs is the right one.
        let rolled_out = is_rolled_out(entry);
        let to = to.filter(|to| !to.is_empty() && to != newest && (rolled_out || *to != running))?;
        // Only from a version that runs, is rolled out, or was rolled back.
        let state = of(entry, "/next/state");
        let digest = to.strip_prefix("sha256:").unwrap_or(&to).to_owned();
        let reference = undo.map(|undo| of(undo, "/reference")).filter(|reference| !reference.is_empty());
        let to = GoBack::Digest { digest, reference };
        return (!running.is_empty() && (state.is_empty() || state == "failed" || rolled_out))
            .then(|| Wish::GoBack { to, from: Some(candidate).filter(|candidate| !candidate.is_empty()) });
    }
    is_undone(entry).then_some(Wish::Return(candidate))
}

/// Whether the version of the source does not run because of `spec.undo`, as somebody wants it.
pub(super) fn is_undone(entry: &Value) -> bool {
    of(entry, "/next/reason").starts_with(&format!("rolled back: {UNDONE} with spec.undo"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test(start_paused = true)]
    async fn an_attempt_that_takes_long_is_followed_by_a_pause() {
        let wish = Wish::Return("sha256:b".to_owned());
        let attempt = Attempt::begin(wish.clone(), tokio::time::sleep(Duration::from_secs(60)));
        assert!(!attempt.goes_on(&Wish::Return("sha256:c".to_owned())), "another wish does not wait");
        tokio::time::sleep(Duration::from_secs(64)).await;
        assert!(attempt.goes_on(&wish));
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(!attempt.goes_on(&wish));
    }

    #[test]
    fn a_wish_is_for_one_version_of_the_source() {
        let undo = json!({"from": "sha256:b", "to": "sha256:a"});
        let back = |from: Option<&str>| Wish::GoBack {
            to: GoBack::Digest { digest: "a".to_owned(), reference: None },
            from: from.map(str::to_owned),
        };
        assert_eq!(wish(Some(&undo), &json!({"state": "active", "digest": "sha256:b"})), Some(back(None)));
        // A rollout ends, whichever version runs beside it.
        for (running, state) in [("a", "rolling-out"), ("a", "awaiting-confirmation"), ("0", "rolling-out")] {
            let rolled_out = json!({"state": "active", "digest": format!("sha256:{running}"), "rollout": {},
                "next": {"digest": "sha256:b", "state": state}});
            assert_eq!(wish(Some(&undo), &rolled_out), Some(back(Some("sha256:b"))), "{state} beside {running}");
        }
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
    fn a_wish_about_a_version_that_waits_and_is_not_rolled_out_is_a_fault() {
        let undo = json!({"from": "sha256:b", "to": "sha256:0"});
        let entry = |state: &str| json!({"state": "active", "digest": "sha256:a", "next": {"digest": "sha256:b", "state": state}});
        for state in ["awaiting-confirmation", "awaiting-grant"] {
            let fault = too_early(Some(&undo), &entry(state)).unwrap();
            assert!(fault.ends_with("put the source of before in its place first"), "{fault}");
            assert_eq!(wish(Some(&undo), &entry(state)), None, "{state}");
        }
        for state in ["failed", "syncing", "rolling-out"] {
            assert_eq!(too_early(Some(&undo), &entry(state)), None, "{state}");
        }
        let mut plan = entry("awaiting-confirmation");
        plan["rollout"] = json!({"phase": "awaiting-approval"});
        assert_eq!(too_early(Some(&undo), &plan), None, "the rollout is aborted");
        let itself = json!({"from": "sha256:b", "to": "sha256:b"});
        assert_eq!(too_early(Some(&itself), &entry("awaiting-grant")), None, "it asks for nothing");
        assert_eq!(too_early(None, &entry("awaiting-grant")), None);
        assert!(takes_back(&undo, "sha256:b") && !takes_back(&undo, "sha256:c") && !takes_back(&json!({}), ""));
    }
}
