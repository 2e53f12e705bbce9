//! What came of it, as a table.

use super::churn::Done;
use super::host_log::HostLog;
use super::replays::Replays;
use super::swaps::Swaps;
use super::verdict::Verdict;
use super::vitals::Vitals;
use std::fmt;
use std::time::Duration;

/// Examples that are shown of each violation.
const EXAMPLES: usize = 5;

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub(super) objects: usize,
    pub(super) done: Done,
    pub(super) kills: usize,
    pub(super) swaps: Swaps,
    /// From a change to its arrival in the ledger.
    pub(super) arrivals: Vec<Duration>,
    pub(super) touches: u64,
    pub(super) first_sync: Duration,
    pub(super) settling: Duration,
    pub(super) before: Vitals,
    pub(super) after: Vitals,
    pub(super) doubles: u64,
    pub(super) overlaps: u64,
    pub(super) violations: Vec<String>,
    pub(super) verdict: Verdict,
    pub(super) log: HostLog,
    /// Plugins that do not run the version they should.
    pub(super) complaints: Vec<String>,
    pub(super) replays: Replays,
}

impl Report {
    /// The number of recorded reconciles that were replayed.
    #[must_use]
    pub fn replayed(&self) -> usize {
        self.replays.cases
    }

    /// What must not be, in words. Empty: everything is well.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        let Verdict { lost, not_converged, stuck, left_over, double } = &self.verdict;
        let mut failures = Vec::new();
        let mut count = |what: &str, number: u64, examples: &[String]| {
            if number > 0 {
                let examples: Vec<_> = examples.iter().take(EXAMPLES).map(String::as_str).collect();
                failures.push(format!("{number} {what}: {}", examples.join("; ")));
            }
        };
        count("lost events", lost.len() as u64, lost);
        count("objects not converged", not_converged.len() as u64, not_converged);
        count("deleted objects still there", stuck.len() as u64, stuck);
        count("external objects left over", left_over.len() as u64, left_over);
        count("external objects double", self.doubles + double.len() as u64, &self.violations);
        count("keys worked on twice at once, as the ledger saw it", self.overlaps, &self.violations);
        let HostLog { overlaps, panics, .. } = &self.log;
        count("keys worked on twice at once, as the host's log has it", overlaps.len() as u64, overlaps);
        count("panics of the host", panics.len() as u64, panics);
        let failed = &self.replays.failures;
        count("versions whose recordings do not replay", failed.len() as u64, failed);
        count("complaints", self.complaints.len() as u64, &self.complaints);
        if !self.after.is_back_to(&self.before) {
            failures.push(format!("not back to the baseline: {:?}, before {:?}", self.after, self.before));
        }
        failures
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Verdict { lost, not_converged, stuck, left_over, double } = &self.verdict;
        let mut row = |what: &str, value: String| writeln!(f, "  {what:<58} {value}");
        row("objects", self.objects.to_string())?;
        row("edits, creates, deletes", format!("{}, {}, {}", self.done.edits, self.done.creates, self.done.deletes))?;
        row("versions put in place, of them broken", format!("{}, {}", self.swaps.placed, self.swaps.broken))?;
        row("good versions overtaken before they ran", self.swaps.overtaken.to_string())?;
        row("versions rolled back", self.log.rolled_back.to_string())?;
        row("hosts killed", self.kills.to_string())?;
        row("reconciles, requests to the ledger", format!("{}, {}", self.log.reconciles, self.touches))?;
        row("lost events", lost.len().to_string())?;
        row("objects not converged", not_converged.len().to_string())?;
        row("deleted objects still there", stuck.len().to_string())?;
        row("external objects left over", left_over.len().to_string())?;
        row("external objects double", (self.doubles + double.len() as u64).to_string())?;
        row("keys worked on twice at once, by the ledger, by the log", {
            format!("{}, {}", self.overlaps, self.log.overlaps.len())
        })?;
        row("recorded reconciles that were replayed", self.replays.cases.to_string())?;
        row("panics of the host", self.log.panics.len().to_string())?;
        row("instances, before and after", format!("{}, {}", self.before.instances, self.after.instances))?;
        row("resident memory, before and after", format!("{:.1}, {:.1} MiB", self.before.rss_mib, self.after.rss_mib))?;
        let (before, after) = (self.before, self.after);
        row("threads, before and after", format!("{}, {}", before.threads, after.threads))?;
        row("open files and connections, before and after", format!("{}, {}", before.descriptors, after.descriptors))?;
        row("file in place → first reconcile on it, p50 / p99", quantiles(&self.swaps.times))?;
        row("change → in the ledger, p50 / p99", quantiles(&self.arrivals))?;
        row("all objects converged at first, and at the end, after", {
            format!("{:.1} s, {:.1} s", self.first_sync.as_secs_f64(), self.settling.as_secs_f64())
        })
    }
}

fn quantiles(times: &[Duration]) -> String {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let at = |percent: usize| {
        let place = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
        sorted.get(place).map_or_else(|| "-".to_owned(), |time| format!("{:.0}", time.as_secs_f64() * 1e3))
    };
    format!("{} / {} ms (n={})", at(50), at(99), sorted.len())
}
