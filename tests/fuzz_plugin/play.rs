//! One plan, played in one world.

use super::harm::unharmed;
use super::plan::{Operation, Plan, Step};
use super::run::Limits;
use super::settle::Stage;
use super::shipped;
use super::source::Expected;
use super::subject::Subject;
use super::verdict::{Finding, Oracle, Seen, Verdict};
use crate::harness::{api_code, eventually, steady, text};
use anyhow::{Result, ensure};
use serde_json::Value;
use std::ops::ControlFlow;
use tokio::time::Instant;

/// What one object is like.
#[derive(Clone, Debug)]
struct Slot {
    name: String,
    /// What its user wrote last that was accepted.
    live: Option<Value>,
    going: bool,
    /// See [`Seen::drifted`].
    drifted: bool,
    /// Reconciles before the last change.
    mark: usize,
}

/// Counts of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Done {
    pub(super) operations: usize,
    /// Of them, refused by the API server.
    pub(super) refused: usize,
    /// Objects that settled with an error.
    pub(super) errors: usize,
    /// Most writes for one change between two times of rest.
    pub(super) most_writes: f64,
}

/// What is left of a world when its plan was played.
#[derive(Debug)]
pub(super) struct Played {
    pub(super) seen: Seen,
    /// The objects that were there in the end.
    pub(super) last: Vec<(usize, Value)>,
    pub(super) done: Done,
}

/// Plays a plan in a world of its own, to the end, and clears up.
///
/// * `quiet` - resyncs that must pass without a write; 0: that is not looked at.
pub(super) async fn play(
    subject: &Subject,
    plan: &Plan,
    limits: &Limits,
    quiet: usize,
) -> Result<Result<Played, Stopped>> {
    let stage = Stage::set(subject, plan, limits).await?;
    let mut playing = Playing::new(&stage, limits, &plan.steps);
    let mut at = 0;
    let ended = playing.play(&plan.steps, if plan.resyncs() { quiet } else { 0 }, &mut at).await?;
    let finding = match (ended, unharmed(&stage.world)) {
        (_, Err(harm)) => harm,
        (ControlFlow::Break(finding), Ok(())) => finding,
        (ControlFlow::Continue(seen), Ok(())) => {
            let last = playing.slots.iter().enumerate().filter_map(|(at, slot)| Some((at, slot.last.clone()?)));
            return Ok(Ok(Played { seen, last: last.collect(), done: playing.done }));
        }
    };
    let account = stage.world.account().await;
    Ok(Err(Stopped { finding, at, account, done: playing.done }))
}

/// A world in which something did not hold.
#[derive(Debug)]
pub(super) struct Stopped {
    pub(super) finding: Finding,
    /// After so many steps.
    pub(super) at: usize,
    /// The end of the log and of the journals.
    pub(super) account: String,
    pub(super) done: Done,
}

struct Playing<'a> {
    stage: &'a Stage<'a>,
    limits: &'a Limits,
    slots: Vec<Slotted>,
    done: Done,
    /// Writes at the last time of rest, and operations since.
    rested: (u64, u32),
}

/// A slot, and what it held before everything was cleared up.
#[derive(Clone, Debug)]
struct Slotted {
    slot: Slot,
    last: Option<Value>,
}

/// Goes on, or stops with a finding.
type Flow<T> = Result<ControlFlow<Finding, T>>;

macro_rules! or_stop {
    ($found:expr) => {
        match $found {
            Ok(value) => value,
            Err(finding) => return Ok(ControlFlow::Break(finding)),
        }
    };
}

impl<'a> Playing<'a> {
    fn new(stage: &'a Stage<'a>, limits: &'a Limits, steps: &[Step]) -> Self {
        let objects = steps.iter().map(|step| step.object + 1).max().unwrap_or(0);
        let slot = |at| Slot { name: name(at), live: None, going: false, drifted: false, mark: 0 };
        let slots = (0..objects).map(|at| Slotted { slot: slot(at), last: None }).collect();
        Self { stage, limits, slots, done: Done::default(), rested: (stage.writes(), 0) }
    }

    async fn play(&mut self, steps: &[Step], quiet: usize, at: &mut usize) -> Flow<Seen> {
        for step in steps {
            *at += 1;
            self.done.operations += 1;
            self.rested.1 += 1;
            if let ControlFlow::Break(finding) = self.step(step).await? {
                return Ok(ControlFlow::Break(finding));
            }
            if step.settle {
                or_stop!(self.settle().await?);
            }
        }
        let mut seen = or_stop!(self.settle().await?);
        if quiet > 0 {
            or_stop!(self.quiet(&seen, quiet).await?);
        }
        seen.outside = self.stage.described().await?;
        or_stop!(shipped::agrees(self.stage, &seen).await?);
        self.clear_up().await.map(|cleared| match cleared {
            Ok(()) => ControlFlow::Continue(seen),
            Err(finding) => ControlFlow::Break(finding),
        })
    }

    async fn step(&mut self, step: &Step) -> Flow<()> {
        let stage = self.stage;
        let Some(Slotted { slot, .. }) = self.slots.get_mut(step.object) else { return Ok(ControlFlow::Continue(())) };
        match &step.operation {
            Operation::Delete => {
                if slot.live.is_some() && !slot.going {
                    stage.world.cluster.delete(&stage.path(&slot.name)).await?;
                    slot.going = true;
                }
            }
            Operation::EditWhileGoing(value) if slot.going => {
                if stage.world.cluster.get(&stage.path(&slot.name)).await?.is_some() {
                    // It may be gone by now, or refuse: that is the API server's business.
                    let _ = stage.put(&stage.subject.named(value, &slot.name), &slot.name, true).await;
                }
            }
            Operation::Apply(value) | Operation::EditWhileGoing(value) => {
                if slot.going {
                    or_stop!(stage.gone(&slot.name).await);
                    (slot.live, slot.going, slot.drifted) = (None, false, false);
                }
                return self.apply(step.object, value).await;
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    async fn apply(&mut self, at: usize, value: &Value) -> Flow<()> {
        let (stage, source) = (self.stage, &self.stage.subject.source);
        let Some(Slotted { slot, .. }) = self.slots.get_mut(at) else { return Ok(ControlFlow::Continue(())) };
        let value = stage.subject.named(value, &slot.name);
        let expected = source.expected(slot.live.as_ref(), &value);
        let before = stage.reconciled(&slot.name).await?;
        let answer = stage.put(&value, &slot.name, slot.live.is_some()).await;
        let stop =
            |oracle, text: String| Ok(ControlFlow::Break(Finding::new(oracle, format!("{}: {text}", slot.name))));
        match (answer, expected) {
            (Ok(_), Expected::Refused(why)) => {
                return stop(Oracle::Invalid, format!("the API server took what it should refuse ({why}): {value}"));
            }
            (Ok(changed), _) => {
                slot.drifted |= slot.live.as_ref().is_some_and(|live| source.changes_what_is_fixed(live, &value));
                slot.live = Some(value);
                // What changes nothing wakes nobody. What is under way may have begun before; with resyncs there are more to come.
                if changed {
                    slot.mark = if stage.resyncs { stage.reconciled(&slot.name).await? } else { before };
                }
            }
            (Err(error), expected) => match api_code(&error) {
                Some(400..500) if expected != Expected::Accepted => self.done.refused += 1,
                Some(400..500) => {
                    return stop(Oracle::Invalid, format!("the API server refused what is valid: {error:#}: {value}"));
                }
                Some(_) => return stop(Oracle::Unharmed, format!("the API server failed: {error:#}: {value}")),
                None => return Err(error),
            },
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Waits until every object is in sync, fails for good, or is gone; counts what that took.
    async fn settle(&mut self) -> Result<Result<Seen, Finding>> {
        let mut seen = Seen::default();
        for Slotted { slot, .. } in &mut self.slots {
            if slot.going {
                if let Err(finding) = self.stage.gone(&slot.name).await {
                    return Ok(Err(finding));
                }
                (slot.live, slot.going, slot.drifted) = (None, false, false);
            }
            if slot.live.is_none() {
                continue;
            }
            match self.stage.verdict(&slot.name, slot.mark).await {
                Ok(verdict) => seen.verdicts.insert(slot.name.clone(), verdict),
                Err(finding) => return Ok(Err(finding)),
            };
            if slot.drifted {
                seen.drifted.insert(slot.name.clone());
            }
        }
        let failing = seen.verdicts.values().filter(|verdict| **verdict != Verdict::InSync).count();
        self.done.errors += failing;
        let (before, operations) = std::mem::replace(&mut self.rested, (self.stage.writes(), 0));
        // What fails is tried again and again: that is not counted here.
        if failing == 0 && operations > 0 {
            let written = u32::try_from(self.stage.writes() - before).unwrap_or(u32::MAX);
            let each = f64::from(written) / f64::from(operations);
            self.done.most_writes = self.done.most_writes.max(each);
            if each > self.limits.writes_per_change {
                let text = format!("{written} writes for {operations} changes");
                return Ok(Err(Finding::new(Oracle::Bounded, text)));
            }
        }
        Ok(Ok(seen))
    }

    /// Nothing is written while everything is looked at again and again.
    async fn quiet(&self, seen: &Seen, resyncs: usize) -> Result<Result<(), Finding>> {
        let of = |wanted: bool| {
            let found = seen.verdicts.iter().filter(move |(_, verdict)| (**verdict == Verdict::InSync) == wanted);
            found.map(|(name, _)| name.as_str()).collect::<Vec<_>>()
        };
        let (calm, failing) = (of(true), of(false));
        // Events are written after the fact.
        self.stage.resyncs(&calm, 1).await?;
        let (began, marks) = (Instant::now(), self.stage.marks());
        let silence = || async {
            let written = self.stage.written_since(&marks, &failing);
            let since = began.elapsed().as_secs();
            ensure!(written.is_empty(), "{} writes in {since} s in which nothing changed: {written:#?}", written.len());
            Ok(())
        };
        self.stage.resyncs(&calm, resyncs).await?;
        let mut held = steady(self.limits.quiet.saturating_sub(began.elapsed()), "silence", silence).await;
        if held.is_ok() {
            // It still looks.
            self.stage.resyncs(&calm, 1).await?;
            held = silence().await;
        }
        Ok(held.map_err(|error| Finding::new(Oracle::Quiet, format!("{error:#}"))))
    }

    /// Deletes everything; nothing may be left.
    async fn clear_up(&mut self) -> Result<Result<(), Finding>> {
        let stage = self.stage;
        for Slotted { slot, last } in &mut self.slots {
            *last = slot.live.take();
            if last.is_some() {
                stage.world.cluster.delete(&stage.path(&slot.name)).await?;
            }
        }
        for Slotted { slot, .. } in &self.slots {
            if let Err(finding) = stage.gone(&slot.name).await {
                return Ok(Err(finding));
            }
        }
        let nothing = eventually(self.limits.clean_up, "nothing to be left of what was deleted", || async {
            let left: Vec<String> =
                stage.added().await?.iter().map(|one| format!("{}: {}", one.place, one.value)).collect();
            ensure!(left.is_empty(), "{} things: {left:#?}", left.len());
            Ok(())
        });
        Ok(nothing.await.map_err(|error| Finding::new(Oracle::LeavesNothing, format!("{error:#}"))))
    }
}

/// The name of an object. None is the beginning of another, and none a word of anything else.
fn name(at: usize) -> String {
    let letter = u8::try_from(at % 26).map_or('z', |at| char::from(b'a' + at));
    format!("fuzz-{letter}{}", at / 26)
}

/// The uids of objects that are in sync, by name.
pub(super) async fn in_sync(stage: &Stage<'_>, seen: &Seen) -> Result<Vec<Value>> {
    let all = stage.world.cluster.list(&stage.resource.collection(None)).await?;
    let is = |object: &Value| seen.verdicts.get(&text(object, "/metadata/name")) == Some(&Verdict::InSync);
    Ok(all.into_iter().filter(is).collect())
}
