//! Rollout of a new version: a plan, a shadow and a canary, beside the version that runs.
//!
//! In each step the host compares what the two versions would do about an object. In the canary, the candidate then reconciles its share of
//! the objects. A key belongs to one version: the share decides when a worker takes the key, and the queue gives a key to one worker only.

mod approval;
mod basis;
mod comparison;
mod entry;
mod journal;
mod preview;
mod reconcile;
mod share;
mod steps;
mod tally;
mod values;

pub(super) use comparison::{Decision, hash};
pub use journal::Journals;
pub use preview::Preview;

use super::annotations::Annotations;
use super::health_monitor::{Happened, Notice};
use super::version::EventMode;
use super::{Controller, ReconcileKey, Version};
use crate::grants::RolloutSteps;
use crate::informer::Object;
use crate::workqueue::Trigger;
use basis::Basis;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tally::Tally;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Most objects that stay with the version that runs, because a write could not be undone, for example.
const MOST_HELD: usize = 10_000;

/// Objects named in a view.
const SHOWN: usize = 20;

/// Drain time of the candidate's reconciles when its rollout ends. They are not cancelled at once: a request that is on its way could be
/// carried out after it was undone.
const DRAIN: Duration = Duration::from_secs(20);

/// A message of a rollout to the lifecycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RolloutEvent {
    /// A step began, in words.
    Step(String),
    /// The rollout waits for an approval, for this reason.
    AwaitingApproval(String),
    /// Every step went well.
    Passed,
    /// The rollout has to end, for this reason. No key is the candidate's any more.
    Failed(String),
}

/// A step of a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No step has begun yet.
    Beginning,
    /// Another host leads.
    Standby,
    Plan,
    AwaitingApproval,
    Shadow,
    /// With a share in percent.
    Canary(u32),
    Passed,
    Failed,
}

impl Phase {
    fn as_str(self) -> &'static str {
        match self {
            Self::Beginning => "beginning",
            Self::Standby => "standby",
            Self::Plan => "plan",
            Self::AwaitingApproval => "awaiting-approval",
            Self::Shadow => "shadow",
            Self::Canary(_) => "canary",
            Self::Passed => "passed",
            Self::Failed => "failed",
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Rollout {
    pub(super) version: Arc<Version>,
    plugin: String,
    steps: RolloutSteps,
    notices: mpsc::UnboundedSender<Notice>,
    /// The candidate's share of the objects, in percent.
    share: AtomicU32,
    /// The hash of an object that belongs to a share in any case. 0: there is none.
    chosen: AtomicU64,
    /// Set when the rollout fails: no key is the candidate's any more.
    over: AtomicBool,
    /// Objects that stay with the version that runs, and why.
    held: Mutex<BTreeMap<ReconcileKey, String>>,
    progress: Mutex<Progress>,
    tally: Mutex<Tally>,
    /// What the plan rests on, until it is approved: of the version that runs, and of the candidate.
    basis: Mutex<Option<[Arc<Basis>; 2]>>,
    /// The answer of a person to the plan.
    answer: watch::Sender<Option<Answer>>,
    cancel: CancellationToken,
    /// Whether a comparison follows the changes of each version until nothing is left to do.
    follows: bool,
}

#[derive(Debug)]
struct Progress {
    phase: Phase,
    since: Instant,
    /// Counts of the plan.
    plan: Option<Value>,
    approvable: Option<Plan>,
    reason: String,
}

/// A plan that a person can approve.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Plan {
    id: String,
    /// Stands for the resourceVersions of the primaries.
    stamp: u64,
    /// Objects that the candidate would not reconcile any more.
    left: usize,
}

/// See [`Controller::approve_plan`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Approved,
    Outdated,
}

impl Rollout {
    fn new(plugin: &str, version: Arc<Version>, steps: RolloutSteps, notices: mpsc::UnboundedSender<Notice>) -> Self {
        let progress = Progress {
            phase: Phase::Beginning,
            since: Instant::now(),
            plan: None,
            approvable: None,
            reason: String::new(),
        };
        Self {
            version,
            plugin: plugin.to_owned(),
            steps,
            notices,
            share: AtomicU32::new(0),
            chosen: AtomicU64::new(0),
            over: AtomicBool::new(false),
            held: Mutex::default(),
            progress: Mutex::new(progress),
            tally: Mutex::default(),
            basis: Mutex::default(),
            answer: watch::Sender::new(None),
            cancel: CancellationToken::new(),
            follows: false,
        }
    }

    /// Stands for the resourceVersions of all objects now.
    fn stamp(&self) -> u64 {
        self.version.keys().fold(0, |stamp, key| stamp ^ self.stamp_of(&key))
    }

    fn stamp_of(&self, key: &ReconcileKey) -> u64 {
        self.version.cached(key).map_or(0, |object| stamp_of(key, object.resource_version()))
    }

    /// From now on the object stays with the version that runs.
    fn hold(&self, key: &ReconcileKey, why: &str) {
        let why = self.version.write_identity.secrets.hidden(why.to_owned());
        let full = {
            let mut held = self.held();
            held.insert(key.clone(), crate::shorten(&why, 300).to_owned());
            held.len() > MOST_HELD
        };
        if full {
            self.fail(&format!(
                "more than {MOST_HELD} objects stay with the version that runs; the last, {key}: {why}"
            ));
        }
    }

    /// Ends the rollout: no key is the candidate's any more, and the lifecycle aborts it.
    fn fail(&self, why: &str) {
        if self.over.swap(true, Relaxed) {
            return;
        }
        let mut progress = self.progress();
        (progress.phase, progress.reason) = (Phase::Failed, why.to_owned());
        drop(progress);
        self.tell(RolloutEvent::Failed(why.to_owned()));
    }

    fn begin(&self, phase: Phase, words: &str) {
        let mut progress = self.progress();
        (progress.phase, progress.since, progress.reason) = (phase, Instant::now(), String::new());
        drop(progress);
        self.tell(RolloutEvent::Step(words.to_owned()));
    }

    /// Whether the candidate reconciled an object that did not go back to the version that runs.
    fn has_proof(&self) -> bool {
        let tally = self.tally();
        let held = self.held();
        tally.objects().any(|key| !held.contains_key(key))
    }

    /// Says once why the canary waits for objects.
    ///
    /// * `why` - None: it does not wait any more.
    fn wait_for_objects(&self, why: Option<&str>) {
        let reason = why.map(|why| format!("{why}; the canary waits for one, or for `oarlock rollout promote`"));
        let mut progress = self.progress();
        if !matches!(progress.phase, Phase::Canary(_)) {
            return;
        }
        let began = progress.reason.is_empty();
        progress.reason = reason.clone().unwrap_or_default();
        drop(progress);
        if let Some(reason) = reason.filter(|_| began) {
            self.tell(RolloutEvent::Step(reason));
        }
    }

    fn tell(&self, event: RolloutEvent) {
        let digest = self.version.loaded.component.digest.clone();
        // The send fails while the host stops.
        let _ = self.notices.send(Notice { plugin: self.plugin.clone(), digest, what: Happened::Rollout(event) });
    }

    /// The number of objects and writes that the rollout remembers.
    pub(super) fn remembered(&self) -> usize {
        let basis = self.basis().iter().flatten().map(|basis| basis.len()).sum::<usize>();
        self.tally().remembered() + self.held().len() + basis
    }

    /// The candidate's share, in percent.
    fn percent(&self) -> u32 {
        if self.over.load(Relaxed) { 0 } else { self.share.load(Relaxed) }
    }

    /// The candidate is the current version now.
    pub(super) fn promoted(&self) {
        self.cancel.cancel();
    }

    /// The rollout, for people and the metrics.
    fn describe(&self) -> Value {
        let (phase, seconds, plan, reason) = {
            let progress = self.progress();
            (progress.phase, progress.since.elapsed().as_secs(), progress.plan.clone(), progress.reason.clone())
        };
        let (summary, fields, examples) = {
            let tally = self.tally();
            (tally.summary(), tally.fields(), tally.examples())
        };
        let held: Vec<Value> = {
            let held = self.held();
            let some = held.iter().take(SHOWN);
            some.map(|(key, why)| json!({"object": key.to_string(), "reason": why})).collect()
        };
        let mut described = json!({
            "phase": phase.as_str(), "seconds": seconds, "percent": self.percent(),
            "version": self.version.loaded.manifest.version, "digest": format!("sha256:{}", self.version.loaded.component.digest),
            "compared": summary, "differences": fields, "examples": examples, "held": self.held().len(),
        });
        if let Some(all) = described.as_object_mut() {
            if !held.is_empty() {
                all.insert("heldObjects".to_owned(), json!(held));
            }
            if let Some(plan) = plan {
                all.insert("plan".to_owned(), plan);
            }
            if !reason.is_empty() {
                all.insert("reason".to_owned(), json!(reason));
            }
        }
        described
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<ReconcileKey, String>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn basis(&self) -> Option<[Arc<Basis>; 2]> {
        self.basis.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_basis(&self, basis: Option<[Arc<Basis>; 2]>) {
        *self.basis.lock().unwrap_or_else(PoisonError::into_inner) = basis;
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stands for one state of one object.
fn stamp_of(key: &ReconcileKey, resource_version: &str) -> u64 {
    hash(&[&key.kind.to_string(), &key.key.namespace, &key.key.name, resource_version])
}

/// Whether a version would be called for an object at all.
fn is_called(object: &Object, plugin: &str) -> bool {
    !Annotations::of(object, plugin).paused
}

impl Controller {
    /// Begins the rollout of a version beside the current one. Ends an earlier rollout.
    ///
    /// * `version` - from [`Self::prepare`], in sync.
    pub fn begin_rollout(self: &Arc<Self>, version: &Arc<Version>, steps: &RolloutSteps) {
        self.end_rollout();
        let notices = self.health.notices();
        let rollout = Arc::new(Rollout::new(&self.name, Arc::clone(version), steps.clone(), notices));
        self.version.set_rollout(Some(Arc::clone(&rollout)));
        self.tasks.spawn(Arc::clone(self).roll_out(rollout));
    }

    /// Ends the rollout: the candidate's keys return to the current version, which undoes what the candidate wrote.
    pub fn end_rollout(&self) {
        let Some(rollout) = self.version.set_rollout(None) else { return };
        rollout.over.store(true, Relaxed);
        let keys = rollout.returning();
        rollout.cancel.cancel();
        self.metrics.set_rollout(0, 0);
        rollout.version.set_event_mode(EventMode::Disabled);
        // What the candidate left in sync is not so for the version that runs: a resync must not skip it.
        self.dependencies.renew();
        if self.leads() {
            let written = self.shared.journals.as_ref().map(|journals| journals.keys(&self.name)).unwrap_or_default();
            for key in keys.into_iter().chain(written) {
                self.queue.add(key, Trigger::Swap);
            }
        }
        self.retire(Arc::clone(&rollout.version), DRAIN);
    }

    /// The rollout: its step, and what the comparisons found. None: there is none.
    #[must_use]
    pub fn describe_rollout(&self) -> Option<Value> {
        self.version.rollout().map(|rollout| rollout.describe())
    }

    /// Publishes the gauges of the rollout.
    pub fn publish_rollout(&self) {
        if let Some(rollout) = self.version.rollout() {
            let writes = rollout.tally().writes();
            self.metrics.set_rollout(rollout.percent(), writes);
        }
    }

    /// The digests of code and configuration of the version that the leader runs.
    #[must_use]
    pub fn leaders_version(&self) -> Option<(String, String)> {
        let lease = self.lead.election.describe()?;
        let text = |field: &str| lease.get(field).and_then(Value::as_str);
        let digest = text("holderDigest")?;
        Some((digest.strip_prefix("sha256:").unwrap_or(digest).to_owned(), text("holderConfig")?.to_owned()))
    }

    /// The step of the rollout, in a few words.
    #[must_use]
    pub fn rollout_step(&self) -> Option<String> {
        let rollout = self.version.rollout()?;
        let phase = rollout.progress().phase;
        Some(match phase {
            Phase::Canary(share) => format!("canary of {share} %"),
            phase => phase.as_str().to_owned(),
        })
    }
}
