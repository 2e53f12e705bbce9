//! What people ask for in Plugin objects, and what a standby takes over from the leader.

use super::entries::{aborted_elsewhere, needs_plan, waiting_for_confirmation};
use super::{Live, PluginObjects, kind, status, undo};
use crate::apply::WriteIdentity;
use crate::apply::events::{Event, Regarding};
use crate::controller::{RECONCILE_AT, Shared};
use crate::lifecycle::{Action, Handle, UNDONE, WaitingVersion, undone_on_the_leader};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// Longest value of the annotation, in bytes; a longer one is ignored.
const RECONCILE_AT_BYTES: usize = 256;

/// An approval that this host answered: it counts once.
#[derive(Debug)]
pub(super) struct Answered {
    digest: String,
    plan: Option<String>,
    at: Instant,
}

impl Answered {
    /// Whether a version waits for another approval by now.
    ///
    /// * `waits` - for how many seconds a rollout has waited.
    fn is_over(&self, waits: Option<u64>) -> bool {
        // A rollout that began to wait after the answer has another plan, or this host leads again.
        waits.is_some_and(|seconds| self.at.elapsed() >= Duration::from_secs(seconds + 1))
    }
}

impl PluginObjects {
    /// Reconciles all objects of the plugins that this host leads and whose objects have a new value of the annotation `reconcile-at`. Adds
    /// the last value to the entries.
    pub(super) async fn reconcile(&mut self, live: &BTreeMap<String, Live>, entries: &mut BTreeMap<String, Value>) {
        self.reconciled.retain(|name, _| live.contains_key(name));
        for (name, entry) in entries {
            let Some(live) = live.get(name) else { continue };
            let annotations = live.json.pointer("/metadata/annotations");
            let asked = annotations.and_then(|all| all.get(RECONCILE_AT)?.as_str());
            let asked = asked.filter(|asked| !asked.is_empty() && asked.len() <= RECONCILE_AT_BYTES);
            let shown = live.json.pointer("/status").and_then(|status| status.get(status::RECONCILED)?.as_str());
            if shown == self.reconciled.get(name).map(String::as_str) {
                // Another host may lead next, and handle the next value.
                self.reconciled.remove(name);
            }
            let handled = self.reconciled.get(name).map(String::as_str).or(shown);
            let leads = || self.lifecycle.controller(name).is_some_and(|controller| controller.guard().is_some());
            let mut last = handled.map(str::to_owned);
            if let Some(asked) = asked.filter(|asked| handled != Some(asked))
                && leads()
                // Before a version runs there is nothing to reconcile yet.
                && let Ok(said) = self.lifecycle.act(Action::Reconcile(name.clone(), None)).await
            {
                tracing::info!(plugin = name, "{RECONCILE_AT} of its Plugin object: {said}");
                self.reconciled.insert(name.clone(), asked.to_owned());
                last = Some(asked.to_owned());
            }
            if let (Some(entry), Some(last)) = (entry.as_object_mut(), last) {
                entry.insert(status::RECONCILED.to_owned(), last.into());
            }
        }
    }

    /// A plugin also waits until this host runs the version of `spec.undo`. Returns whether another plugin is paused than before.
    pub(super) fn pause(&self, live: &BTreeMap<String, Live>, entries: &BTreeMap<String, Value>) -> bool {
        let failed = self.undoing.faults();
        let why = |name: &String, live: &Live| {
            if live.json.pointer("/spec/paused") == Some(&Value::Bool(true)) {
                return Some("spec.paused of its Plugin object is true");
            }
            let undo = live.json.pointer("/spec/undo")?;
            let waits = undo::is_pending(undo, entries.get(name)) && !failed.contains_key(name);
            waits.then_some("the version of spec.undo of its Plugin object does not run yet")
        };
        let paused: BTreeMap<String, &'static str> =
            live.iter().filter_map(|(name, live)| Some((name.clone(), why(name, live)?))).collect();
        let changed = self.shared.pauses.set(paused.clone());
        if changed {
            tracing::info!(paused = paused.into_keys().collect::<Vec<_>>().join(", "), "paused plugins");
        }
        changed
    }

    /// On a standby: aborts the rollouts that the leader aborted.
    pub(super) async fn follow_aborts(&self, live: &BTreeMap<String, Live>, entries: &BTreeMap<String, Value>) {
        for (name, entry) in entries {
            let Some(candidate) = live.get(name).and_then(|live| live.json.pointer("/status/candidate")) else {
                continue;
            };
            let Some(why) = aborted_elsewhere(entry, candidate) else { continue };
            let text = |field: &str| candidate.get(field).and_then(Value::as_str).map(str::to_owned);
            let (digest, config) = (text("digest").unwrap_or_default(), text("config"));
            let version = WaitingVersion { plugin: name.clone(), digest, config };
            // The person may change their mind on that host, and this one follows.
            let why = if why == UNDONE { undone_on_the_leader() } else { why.to_owned() };
            let abort = Action::FollowAbort(name.clone(), why);
            if let Err(error) = self.lifecycle.act(Action::About(version, Box::new(abort))).await {
                tracing::warn!(plugin = name, error, "the rollout that the leader aborted goes on here");
            }
        }
    }

    /// Confirms versions that wait for a confirmation and whose digest is approved. The configuration of the code that runs needs its plan, too.
    pub(super) fn approve(&mut self, live: &BTreeMap<String, Live>, entries: &BTreeMap<String, Value>) {
        let spec =
            |name: &str, field: &str| live.get(name)?.json.pointer("/spec")?.get(field)?.as_str().map(str::to_owned);
        self.approved.retain(|name, answered| {
            entries.contains_key(name) && spec(name, "approve").as_ref() == Some(&answered.digest)
        });
        for (name, entry) in entries {
            let Some(digest) = waiting_for_confirmation(entry) else { continue };
            let undo = live.get(name).and_then(|live| live.json.pointer("/spec/undo"));
            // An approval from before the undo would let the version run, and the undo take it back.
            if spec(name, "approve").as_deref() != Some(digest)
                || undo.is_some_and(|undo| undo::takes_back(undo, digest))
            {
                continue;
            }
            let (plan, waits) = (spec(name, "approvePlan"), entry.pointer("/rollout/seconds").and_then(Value::as_u64));
            if self.approved.get(name).is_some_and(|answered| answered.plan == plan && !answered.is_over(waits)) {
                continue;
            }
            let answered = Answered { digest: digest.to_owned(), plan: plan.clone(), at: Instant::now() };
            self.approved.insert(name.clone(), answered);
            let action = match plan.filter(|_| entry.get("rollout").is_some()) {
                Some(plan) => Ok(Action::Approve(name.clone(), Some(plan))),
                None if needs_plan(entry) => {
                    Err("the version that runs has the same digest: spec.approvePlan has to name the plan".to_owned())
                }
                None => Ok(Action::Confirm(name.clone())),
            };
            let version = WaitingVersion { plugin: name.clone(), digest: digest.to_owned(), config: None };
            let action = action.map(|action| Action::About(version, Box::new(action)));
            let (lifecycle, shared) = (self.lifecycle.clone(), self.shared.clone());
            let regarding = live.get(name).map(|live| Regarding::new(&kind(), &live.object));
            // The host may read many objects again before it answers.
            tokio::spawn(request_approval(lifecycle, shared, action, (name.clone(), digest.to_owned()), regarding));
        }
    }
}

/// Asks for an approval, and tells in the log, and in an event of the Plugin object, when it does not count.
async fn request_approval(
    lifecycle: Handle,
    shared: Shared,
    action: Result<Action, String>,
    (plugin, digest): (String, String),
    regarding: Option<Regarding>,
) {
    let done = match action {
        Ok(action) => lifecycle.act(action).await,
        Err(why) => Err(why),
    };
    match done {
        Ok(said) => tracing::info!(plugin, digest, "approved: {said}"),
        Err(error) => {
            tracing::warn!(plugin, digest, error, "the approved version cannot be confirmed");
            if let Some(regarding) = regarding {
                let message = format!("spec.approve does not count: {error}");
                let event = Event { warning: true, reason: "ApprovalRejected".to_owned(), message };
                shared.recorder.record(&WriteIdentity::host(), &regarding, event);
            }
        }
    }
}
