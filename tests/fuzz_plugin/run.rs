//! Rounds: a plan is played, its last objects in a fresh world, and the two are compared.

use super::plan::{Operation, Plan, Step, plan};
use super::play::{Done, play};
use super::shrink::shrink;
use super::subject::Subject;
use super::verdict::{Finding, compare};
use anyhow::Result;
use std::fmt;
use std::time::Duration;
use tokio::time::Instant;

/// How much, and how much is too much.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Objects of a plan.
    pub objects: usize,
    /// Operations of a plan.
    pub steps: usize,
    /// Writes that one change may cost, to Kubernetes (events and status too) and to other servers together, where nothing
    /// fails.
    pub writes_per_change: f64,
    /// Resyncs that must pass without a write in the end.
    pub quiet_resyncs: usize,
    /// How long they take at least. [`fuzz`] waits so long once, in the first plan that has resyncs.
    pub quiet: Duration,
    /// How long it may take until an object is in sync, fails for good, or is gone.
    pub settle: Duration,
    /// How long what was made for deleted objects may take to go.
    pub clean_up: Duration,
    /// How often a plan that failed is tried again with less in it.
    pub shrink_tries: usize,
}

impl Default for Limits {
    fn default() -> Self {
        // A Network costs its finalizer, two requests that make, a status and an event to create: 5; deleting it 4.
        // For slow machines.
        let (settle, clean_up) = (Duration::from_secs(60), Duration::from_secs(60));
        Self {
            objects: 4,
            steps: 24,
            writes_per_change: 10.0,
            quiet_resyncs: 5,
            quiet: Duration::ZERO,
            settle,
            clean_up,
            shrink_tries: 24,
        }
    }
}

/// What was done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    /// Plans that were played, each in a world of its own and in a fresh one.
    pub rounds: usize,
    done: Done,
}

impl Report {
    fn add(&mut self, done: &Done) {
        self.done.operations += done.operations;
        self.done.refused += done.refused;
        self.done.errors += done.errors;
        self.done.most_writes = self.done.most_writes.max(done.most_writes);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Done { operations, refused, errors, most_writes } = self.done;
        write!(
            f,
            "{} rounds, {operations} operations, {refused} of them refused; objects came to rest with an error {errors} times; at \
             most {most_writes:.1} writes for a change",
            self.rounds
        )
    }
}

/// A plan that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What did not hold.
    pub findings: Vec<Finding>,
    /// What was played, as far as it came.
    pub plan: Plan,
    /// The end of the log and of the journals; empty: the world itself went well, but a fresh one looks otherwise.
    pub account: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, after {} operations:", self.plan.seed, self.plan.steps.len())?;
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        for step in &self.plan.steps {
            let what = match &step.operation {
                Operation::Apply(value) => format!("apply {value}"),
                Operation::EditWhileGoing(value) => format!("edit while going {value}"),
                Operation::Delete => "delete".to_owned(),
            };
            let settle = if step.settle { ", then wait" } else { "" };
            writeln!(f, "  object {}: {what}{settle}  ({})", step.object, step.note)?;
        }
        write!(f, "{}", self.account)
    }
}

/// Plays a plan, and its last objects in a fresh world. None: everything held.
///
/// # Errors
///
/// When it could not be played at all: something does not start, or an API server does not answer.
pub async fn play_once(
    subject: &Subject,
    plan: &Plan,
    limits: &Limits,
    report: &mut Report,
) -> Result<Option<Failure>> {
    report.rounds += 1;
    let played = match play(subject, plan, limits, limits.quiet_resyncs).await? {
        Ok(played) => played,
        Err(stopped) => {
            report.add(&stopped.done);
            let mut plan = plan.clone();
            plan.steps.truncate(stopped.at);
            return Ok(Some(Failure { findings: vec![stopped.finding], plan, account: stopped.account }));
        }
    };
    report.add(&played.done);
    let anew = |(object, value): &(usize, _)| {
        let operation = Operation::Apply(Clone::clone(value));
        Step { object: *object, operation, settle: false, note: "anew".to_owned() }
    };
    let steps: Vec<Step> = played.last.iter().map(anew).collect();
    let failure = |findings, account| Some(Failure { findings, plan: plan.clone(), account });
    Ok(match play(subject, &Plan { steps, ..plan.clone() }, limits, 0).await? {
        Ok(fresh) => {
            let findings = compare(&played.seen, &fresh.seen);
            if findings.is_empty() { None } else { failure(findings, String::new()) }
        }
        Err(stopped) => {
            let mut finding = stopped.finding;
            finding.text = format!("in a fresh world: {}", finding.text);
            failure(vec![finding], stopped.account)
        }
    })
}

/// Plays plans of one seed after the other until the time is over or one fails; that one is made shorter.
///
/// * `period` - no plan is begun after that; the first always is, and what [`Limits::quiet`] waits for.
/// * `tell` - is told what happens, for people.
///
/// # Errors
///
/// As [`play_once`], or when no plan can be drawn.
pub async fn fuzz(
    subject: &Subject,
    seed: u64,
    period: Duration,
    limits: &Limits,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<(Report, Option<Failure>)> {
    let (mut report, began) = (Report::default(), Instant::now());
    let (mut seed, mut limits) = (seed, limits.clone());
    let quiet = std::mem::take(&mut limits.quiet);
    let mut quiet_is_due = !quiet.is_zero();
    loop {
        let drawn = plan(&subject.source, seed, limits.objects, limits.steps)?;
        let now = quiet_is_due && drawn.resyncs();
        limits.quiet = if now { quiet } else { Duration::ZERO };
        let failure = play_once(subject, &drawn, &limits, &mut report).await?;
        let Some(failure) = failure else {
            quiet_is_due &= !now;
            let waited = if now { format!(", and {} s of quiet", quiet.as_secs()) } else { String::new() };
            tell(&format!("seed {seed}: {} operations{waited}, everything held", drawn.steps.len()));
            if began.elapsed() >= period && !quiet_is_due {
                return Ok((report, None));
            }
            seed += 1;
            continue;
        };
        tell(&format!("seed {seed} fails: {}", failure.findings.first().map_or_else(String::new, ToString::to_string)));
        return Ok((report, Some(shortened(subject, failure, &limits, tell).await?)));
    }
}

/// A shorter plan that fails in the same way, and how it fails.
async fn shortened(
    subject: &Subject,
    failure: Failure,
    limits: &Limits,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Failure> {
    let mut shortest = failure;
    let oracle = shortest.findings.first().map(|finding| finding.oracle);
    let whole = shortest.plan.clone();
    shrink(whole.steps.clone(), limits.shrink_tries, async |steps: &[Step]| {
        let plan = Plan { steps: steps.to_vec(), ..whole.clone() };
        let failure = play_once(subject, &plan, limits, &mut Report::default()).await?;
        let Some(failure) = failure.filter(|new| new.findings.first().map(|finding| finding.oracle) == oracle) else {
            return Ok(false);
        };
        tell(&format!("  {} operations fail as well", failure.plan.steps.len()));
        shortest = failure;
        Ok(true)
    })
    .await?;
    Ok(shortest)
}
