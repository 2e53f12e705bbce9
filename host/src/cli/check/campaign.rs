//! Many programs: which are played, and which findings count as one.

use super::oracles::{Found, Oracle, named};
use super::program::{self, Program, Traits};
use super::progress::Progress;
use super::report::Finding;
use super::shrink::{Shrunk, shrink};
use super::source::Source;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Most findings that are shrunk. The report counts the others, which have likely the same reasons.
const FINDINGS: usize = 10;

/// Plays programs of a controller and judges what it sees.
pub(super) trait Referee: Sync {
    /// What programs must know of the controller.
    fn traits(&self) -> Traits {
        Traits::default()
    }

    /// Whether the user ended the check. What is known is reported.
    fn stopped(&self) -> bool;

    /// Plays a program, and everything that must hold after it.
    ///
    /// # Errors
    ///
    /// The machine fails: no thread, no folder.
    fn judge(&self, program: &Program) -> anyhow::Result<Option<Found>>;

    /// As [`judge`](Self::judge), where only findings of one oracle count.
    ///
    /// * `work` - the reconciles are added to it; of a referee without [`patience`](Self::patience).
    ///
    /// # Errors
    ///
    /// As in [`judge`](Self::judge).
    fn shows(&self, program: &Program, oracle: Oracle, work: &mut u64) -> anyhow::Result<Option<Found>>;

    /// Most programs that are played to shrink one finding.
    fn tries(&self, oracle: Oracle) -> usize;

    /// Most real time for that. None: the number of programs bounds it.
    fn patience(&self) -> Option<Duration> {
        None
    }

    /// What a person plays to see a finding, and whether it was seen so.
    ///
    /// * `program` - after shrinking.
    ///
    /// # Errors
    ///
    /// As in [`judge`](Self::judge).
    fn scenario(&self, program: &Program, original: &Program, found: &Found) -> anyhow::Result<(Program, bool)>;
}

/// The oracle, of which kind, and whether there are faults: outcomes with the same shape have likely the same reason.
type Shape = (Oracle, String, bool);

/// The first case of a shape, the number of such cases, and what the first shows.
type First = (u64, u64, Program, Found);

/// What a case shows.
type Outcome = Option<(Program, Found)>;

/// How many programs are played.
#[derive(Clone, Copy)]
pub(super) enum Bound {
    Cases(u64),
    Until(Instant),
}

/// What came of a check.
pub(super) struct Played {
    pub(super) cases: u64,
    /// Real time of the cases, and of making the findings short.
    pub(super) took: (Duration, Duration),
    pub(super) findings: Vec<Finding>,
    /// Outcomes of more shapes, which were not shrunk.
    pub(super) others: usize,
}

/// Plays drawn programs, and shrinks what they show.
///
/// * `jobs` - how many programs run side by side.
///
/// # Errors
///
/// See [`Referee::judge`].
pub(super) fn campaign<R: Referee>(
    referee: &R,
    sources: &[Source],
    (seed, bound, jobs): (u64, Bound, usize),
) -> anyhow::Result<Played> {
    let (began, progress) = (Instant::now(), Progress::new());
    let outcomes = side_by_side(jobs, |number| {
        let over = match bound {
            Bound::Cases(cases) => number >= cases,
            Bound::Until(end) => Instant::now() >= end,
        };
        if over || referee.stopped() {
            return None;
        }
        let outcome = case(referee, sources, seed, number);
        if let Ok(outcome) = &outcome {
            progress.ended(number, outcome.as_ref().map(|(_, found)| (found.oracle, found.shape.as_str())));
        }
        // A case that the user ended has no result.
        Some(outcome).filter(|outcome| outcome.is_ok() || !referee.stopped())
    })?;
    progress.end();
    let (cases, played) = (outcomes.len() as u64, began.elapsed());
    let found = outcomes.iter().flatten().count();
    if found > 0 && !referee.stopped() {
        progress.line(&format!("{found} of {cases} cases show something; their steps are made fewer"));
    }
    let (findings, others) = findings(referee, sources, jobs, outcomes)?;
    Ok(Played { cases, took: (played, began.elapsed().saturating_sub(played)), findings, others })
}

/// Plays one program. The results are as in [`campaign`].
///
/// # Errors
///
/// See [`Referee::judge`].
pub(super) fn replay<R: Referee>(referee: &R, program: &Program) -> anyhow::Result<Played> {
    let began = Instant::now();
    // In a thread without a runtime.
    let found = side_by_side(1, |number| (number == 0).then(|| referee.judge(program)))?.pop().flatten();
    let finding = found.map(|found| {
        let (oracle, file) = (named(found.oracle, program), String::new());
        let scenario = program.clone();
        let shrunk = Shrunk { oracle, shape: found.shape, lines: found.lines, scenario, fails: true };
        Finding { case: 0, cases: 1, file, shrunk }
    });
    Ok(Played { cases: 1, took: (began.elapsed(), Duration::ZERO), findings: finding.into_iter().collect(), others: 0 })
}

/// Works in threads without a runtime, until `job` answers None. The results are in the order of their numbers.
pub(super) fn side_by_side<T: Send>(
    threads: usize,
    job: impl Fn(u64) -> Option<anyhow::Result<T>> + Sync,
) -> anyhow::Result<Vec<T>> {
    let next = AtomicU64::new(0);
    let results: Mutex<BTreeMap<u64, anyhow::Result<T>>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Relaxed);
                    let Some(result) = job(number) else { return };
                    results.lock().unwrap_or_else(PoisonError::into_inner).insert(number, result);
                }
            });
        }
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

fn case<R: Referee>(referee: &R, sources: &[Source], seed: u64, number: u64) -> anyhow::Result<Outcome> {
    let program = program::program(sources, &referee.traits(), seed, number)?;
    Ok(referee.judge(&program)?.map(|found| (program, found)))
}

/// Shrinks the first outcome of each shape, and names the files. Answers how many shapes it left out, too.
fn findings<R: Referee>(
    referee: &R,
    sources: &[Source],
    jobs: usize,
    outcomes: Vec<Outcome>,
) -> anyhow::Result<(Vec<Finding>, usize)> {
    let mut shapes: BTreeMap<Shape, First> = BTreeMap::new();
    for (number, outcome) in (0..).zip(outcomes) {
        let Some((program, found)) = outcome else { continue };
        let faulty = program.steps.iter().any(program::is_fault);
        let known = shapes.entry((found.oracle, found.shape.clone(), faulty));
        known.and_modify(|known| known.1 += 1).or_insert((number, 1, program, found));
    }
    let mut firsts: Vec<_> = shapes.into_values().collect();
    firsts.sort_by_key(|(number, ..)| *number);
    let others = firsts.len().saturating_sub(FINDINGS);
    firsts.truncate(FINDINGS);
    let shrunk = side_by_side(jobs, |number| {
        let (_, _, program, found) = firsts.get(usize::try_from(number).ok()?)?;
        Some(shrink(referee, sources, program.clone(), found.clone()))
    })?;
    let mut findings: Vec<Finding> = Vec::new();
    for ((case, cases, ..), shrunk) in firsts.into_iter().zip(shrunk) {
        let same = |other: &Shrunk| (other.oracle, &other.shape) == (shrunk.oracle, &shrunk.shape);
        if let Some(known) = findings.iter_mut().find(|finding| same(&finding.shrunk)) {
            known.cases += cases;
            continue;
        }
        let of_oracle = findings.iter().filter(|finding| finding.shrunk.oracle == shrunk.oracle).count();
        let number = if of_oracle == 0 { String::new() } else { format!("-{}", of_oracle + 1) };
        let file = format!("{}{number}.yaml", shrunk.oracle.name());
        findings.push(Finding { case, cases, file, shrunk });
    }
    Ok((findings, others))
}

#[cfg(test)]
mod tests {
    use super::super::report::{Report, Subject};
    use super::*;
    use serde_json::Value;

    /// Everything fails, each case for a reason of its own.
    struct Strict(AtomicU64);

    impl Referee for Strict {
        fn stopped(&self) -> bool {
            false
        }

        fn judge(&self, _: &Program) -> anyhow::Result<Option<Found>> {
            let shape = format!("reason {}", self.0.fetch_add(1, Relaxed));
            Ok(Some(Found { oracle: Oracle::Quiet, shape, lines: Vec::new(), checks: Vec::new() }))
        }

        fn shows(&self, _: &Program, _: Oracle, _: &mut u64) -> anyhow::Result<Option<Found>> {
            Ok(None)
        }

        fn tries(&self, _: Oracle) -> usize {
            0
        }

        fn scenario(&self, program: &Program, _: &Program, _: &Found) -> anyhow::Result<(Program, bool)> {
            Ok((program.clone(), true))
        }
    }

    #[test]
    fn findings_that_are_not_shrunk_are_counted() {
        let text = include_str!("../../../../tests/fixtures/check/crd.yaml");
        let definition: Value = serde_saphyr::from_str(text).unwrap();
        let kinds = [("check.oarlock.test/v1".to_owned(), "Site".to_owned())];
        let sources = super::super::source::sources(&kinds, &[definition], &[]).unwrap();
        let played = campaign(&Strict(AtomicU64::new(0)), &sources, (3, Bound::Cases(13), 1)).unwrap();
        assert_eq!((played.findings.len(), played.others), (FINDINGS, 3));
        let Played { cases, findings, others, .. } = played;
        let report = Report { subject: Subject::Command("x".to_owned()), seed: 3, cases, findings, others };
        let told = "x: 13 cases, 10 findings, 3 more not shrunk: mend these first (seed 3)\n";
        assert!(report.text().ends_with(told), "{}", report.text());
        assert_eq!(report.json()["findingsNotShrunk"], 3);
    }
}
