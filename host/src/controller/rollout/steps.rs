//! The steps of a rollout, one after the other.

use super::basis::Basis;
use super::comparison::{Decision, Difference, Terms, decide, differences, hash};
use super::{Answer, Phase, Plan, Rollout, RolloutEvent, is_called, stamp_of};
use crate::controller::version::EventMode;
use crate::controller::{Controller, ReconcileKey};
use crate::grants::PlanLimits;
use crate::lease::LeadershipGuard;
use crate::plugin::ReadObserver;
use crate::workqueue::Trigger;
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::time::Instant;

/// Interval of the checks of a step.
const LOOK: Duration = Duration::from_millis(100);

/// While keys wait for the version that runs, and after every object was compared once, a comparison is followed by a pause of this many
/// times its own time: it costs the plugin's reconciles less than a tenth of their throughput.
const PAUSE: u32 = 14;

/// What a comparison of the two versions found.
pub(super) struct Comparison {
    pub(super) current: Decision,
    pub(super) candidate: Decision,
    pub(super) differences: Vec<Difference>,
    /// Of the object.
    resource_version: String,
}

impl Controller {
    /// Runs the steps of a rollout while this host leads; from the beginning when it leads again.
    pub(super) async fn roll_out(self: Arc<Self>, rollout: Arc<Rollout>) {
        loop {
            if self.lead.guard().is_none() {
                rollout.progress().phase = Phase::Standby;
            }
            let guard = tokio::select! {
                () = rollout.cancel.cancelled() => return,
                () = self.stop.cancelled() => return,
                () = self.lead.wait() => self.lead.guard(),
            };
            let Some(guard) = guard else { continue };
            let ended = tokio::select! {
                biased;
                () = rollout.cancel.cancelled() => return,
                () = self.stop.cancelled() => return,
                () = guard.over() => {
                    rollout.share.store(0, Relaxed);
                    rollout.version.set_event_mode(EventMode::Disabled);
                    rollout.begin(Phase::Standby, "another host leads");
                    continue;
                }
                ended = self.steps(&rollout, &guard) => ended,
            };
            match ended {
                // A reconcile may have failed it after the last look at the tally.
                Ok(()) if rollout.over.load(Relaxed) => {}
                Ok(()) => {
                    rollout.progress().phase = Phase::Passed;
                    rollout.tell(RolloutEvent::Passed);
                }
                Err(why) => rollout.fail(&why),
            }
            return;
        }
    }

    async fn steps(&self, rollout: &Rollout, guard: &LeadershipGuard) -> Result<(), String> {
        if let Some(limits) = rollout.steps.plan {
            while !self.plan(rollout, guard, limits).await? {}
            rollout.set_basis(None);
        }
        if let Some(least) = rollout.steps.shadow {
            rollout.begin(Phase::Shadow, "shadow: its changes are compared, and not made");
            *rollout.tally() = super::Tally::default();
            self.shadow(rollout, guard, Instant::now() + least).await?;
        }
        if let Some(canary) = &rollout.steps.canary {
            self.prepare_journals().await?;
            *rollout.tally() = super::Tally::default();
            for &share in &canary.shares {
                self.canary(rollout, share, canary.each).await?;
            }
        }
        Ok(())
    }

    /// Compares each object once, and waits for an approval if that is necessary. False: the plan is outdated.
    async fn plan(&self, rollout: &Rollout, guard: &LeadershipGuard, limits: PlanLimits) -> Result<bool, String> {
        rollout.begin(Phase::Plan, "plan: each object is compared once");
        // An answer to a plan of an earlier leadership is none to this one.
        rollout.answer.send_replace(None);
        *rollout.tally() = super::Tally::default();
        let current = self.version.get().unwrap_or_else(|| Arc::clone(&rollout.version));
        let basis = [Arc::clone(&current), Arc::clone(&rollout.version)].map(|version| Arc::new(Basis::new(version)));
        rollout.set_basis(Some(basis.clone()));
        let stamp = self.compare_all(rollout, guard, None).await?;
        let (mut summary, changes, deletes, differences) = {
            let tally = rollout.tally();
            (tally.summary(), tally.writes(), tally.deletes(), tally.digest())
        };
        let left = rollout.left(&current, |_, _| true);
        let [current, candidate] = basis.map(|basis| basis.stamp().to_string());
        let numbers = [stamp.to_string(), current, candidate, differences.to_string(), left.to_string()].join(" ");
        let id = [&*rollout.version.identity, &numbers];
        let plan = Plan { id: format!("{:016x}", hash(&id)), stamp, left };
        if let Some(fields) = summary.as_object_mut() {
            fields.insert("id".to_owned(), json!(plan.id));
            fields.insert("left".to_owned(), json!(left));
        }
        let mut why = format!(
            "plan {}: it would make {changes} writes that the version that runs would not make, {deletes} of them deletions",
            plan.id
        );
        if left > 0 {
            let objects = if left == 1 { "object" } else { "objects" };
            let _ = write!(why, ", and not reconcile {left} {objects} any more");
        }
        let over = |count: usize, most: Option<u32>| most.is_some_and(|most| count > most as usize);
        let waits =
            limits.always_waits || over(changes + left, limits.max_changes) || over(deletes, limits.max_deletes);
        {
            let mut progress = rollout.progress();
            (progress.plan, progress.approvable) = (Some(summary), Some(plan));
            if waits {
                (progress.phase, progress.since, progress.reason) =
                    (Phase::AwaitingApproval, Instant::now(), why.clone());
            }
        }
        if !waits {
            if left > 0 {
                rollout.tell(RolloutEvent::Step(why));
            }
            return Ok(true);
        }
        rollout.tell(RolloutEvent::AwaitingApproval(why));
        let mut answers = rollout.answer.subscribe();
        // An error is impossible: `rollout` owns the sender.
        let answer = answers.wait_for(Option::is_some).await.map(|answer| *answer).unwrap_or_default();
        rollout.answer.send_replace(None);
        Ok(answer == Some(Answer::Approved))
    }

    /// Compares every object once, and then again and again until the time is over.
    async fn shadow(&self, rollout: &Rollout, guard: &LeadershipGuard, until: Instant) -> Result<(), String> {
        self.compare_all(rollout, guard, None).await?;
        while Instant::now() < until {
            self.compare_all(rollout, guard, Some(until)).await?;
            tokio::time::sleep_until(until.min(Instant::now() + LOOK)).await;
        }
        Ok(())
    }

    /// Compares every object once. Returns a number that stands for the resourceVersions of the objects.
    ///
    /// * `until` - when to stop in between; then an idle host pauses, too, so that a long shadow does not keep a core busy.
    async fn compare_all(
        &self,
        rollout: &Rollout,
        guard: &LeadershipGuard,
        until: Option<Instant>,
    ) -> Result<u64, String> {
        let keys: BTreeSet<ReconcileKey> = rollout.version.keys().collect();
        let mut stamp = 0;
        for key in keys {
            if until.is_some_and(|until| Instant::now() >= until) {
                break;
            }
            let rest = until.is_some();
            stamp ^= self.compare_next(rollout, &key, guard, rest).await.unwrap_or_else(|| rollout.stamp_of(&key));
            if let Some(fault) = rollout.tally().fault() {
                return Err(fault);
            }
        }
        Ok(stamp)
    }

    /// Compares one object for the tally, and pauses while keys of the plugin wait. Returns a number that stands for the state of the object.
    /// None: it is gone, or paused.
    ///
    /// * `rest` - pause in any case.
    pub(super) async fn compare_next(
        &self,
        rollout: &Rollout,
        key: &ReconcileKey,
        guard: &LeadershipGuard,
        rest: bool,
    ) -> Option<u64> {
        self.shared.pauses.wait(&self.name).await;
        let began = Instant::now();
        let found = self.compare(rollout, key, guard).await?;
        rollout.tally().compared(key, &found.current, &found.candidate, &found.differences);
        let queue = self.queue.snapshot(0);
        if rest || queue.ready + queue.processing > 0 {
            tokio::time::sleep(began.elapsed() * PAUSE).await;
        }
        Some(stamp_of(key, &found.resource_version))
    }

    /// Compares what the two versions would do about an object now. None: it is gone, or paused.
    pub(super) async fn compare(
        &self,
        rollout: &Rollout,
        key: &ReconcileKey,
        guard: &LeadershipGuard,
    ) -> Option<Comparison> {
        let first = self.compare_once(rollout, key, guard).await?;
        if first.differences.is_empty() {
            return Some(first);
        }
        // What one of them read may have changed before the other one read it.
        let mut second = self.compare_once(rollout, key, guard).await?;
        second.differences.retain(|one| first.differences.iter().any(|before| before.id == one.id));
        Some(second)
    }

    async fn compare_once(&self, rollout: &Rollout, key: &ReconcileKey, guard: &LeadershipGuard) -> Option<Comparison> {
        let object = rollout.version.cached(key).filter(|object| is_called(object, &self.name))?;
        let basis = rollout.basis();
        let terms = |of: usize| {
            let observer = basis.as_ref().and_then(|basis| basis.get(of));
            let observer = observer.map(|basis| Arc::clone(basis) as Arc<dyn ReadObserver>);
            Terms { guard, follows: rollout.follows, observer }
        };
        let mut current = match self.version.get().filter(|current| current.reaches(key)) {
            Some(current) => decide(&current, key, &object, &terms(0)).await,
            None => Decision::default(),
        };
        let candidate = decide(&rollout.version, key, &object, &terms(1)).await;
        for (basis, decision) in basis.iter().flatten().zip([&current, &candidate]) {
            basis.writes(decision);
        }
        current.learn_applied(&candidate, &rollout.version.reads).await;
        let differences = differences(key, &current, &candidate, &rollout.version.write_identity.secrets);
        let resource_version = object.resource_version().to_owned();
        Some(Comparison { current, candidate, differences, resource_version })
    }

    fn choose(&self, rollout: &Rollout) -> Result<Option<ReconcileKey>, String> {
        self.version.get().map_or(Ok(None), |current| rollout.choose(&current))
    }

    /// Gives the candidate a share of the objects for some time, and at least until each of them was reconciled. While there are objects, and it
    /// may reconcile none of them, the canary waits.
    async fn canary(&self, rollout: &Rollout, share: u32, each: Duration) -> Result<(), String> {
        // Before the share, so that no event of its objects is lost.
        rollout.version.set_event_mode(EventMode::Enqueue);
        rollout.share.store(share, Relaxed);
        let may_run = |key: &ReconcileKey| self.version.get().is_some_and(|current| rollout.may_run(key, &current));
        let mut keys = rollout.keys();
        if !rollout.has_proof() && !keys.iter().any(may_run) {
            // An error tells the first look.
            keys.extend(self.choose(rollout).ok().flatten());
        }
        let count = keys.len();
        let words = format!("canary: the candidate reconciles {share} % of the objects, now {count}");
        rollout.begin(Phase::Canary(share), &words);
        for key in keys {
            self.queue.add(key, Trigger::Swap);
        }
        let (mut until, mut waits) = (Instant::now() + each, false);
        loop {
            if let Some(fault) = rollout.tally().fault() {
                return Err(fault);
            }
            let began = Instant::now();
            let has_proof = rollout.has_proof();
            if has_proof || rollout.keys().iter().any(may_run) {
                // The time of the share begins with the first object that it has.
                if std::mem::take(&mut waits) {
                    rollout.wait_for_objects(None);
                    until = Instant::now() + each;
                }
                if has_proof && began >= until && all_ran(rollout, &self.name) {
                    return Ok(());
                }
            } else {
                // Its objects are paused, for instance.
                match self.choose(rollout) {
                    Ok(None) if began >= until => return Ok(()),
                    Ok(None) => {}
                    Ok(Some(key)) => {
                        waits = true;
                        self.queue.add(key, Trigger::Swap);
                    }
                    Err(why) => {
                        waits = true;
                        rollout.wait_for_objects(Some(&why));
                    }
                }
            }
            // Of many objects a look takes long.
            tokio::time::sleep(LOOK.max(began.elapsed() * PAUSE)).await;
        }
    }
}

/// Whether the candidate reconciled each of its objects.
fn all_ran(rollout: &Rollout, plugin: &str) -> bool {
    let called = |key: &ReconcileKey| rollout.version.cached(key).is_some_and(|object| is_called(&object, plugin));
    let ran = |key: &ReconcileKey| rollout.tally().knows(key);
    rollout.keys().iter().all(|key| ran(key) || !called(key))
}
