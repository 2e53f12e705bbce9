//! Which records of a plugin stay: the newest of each outcome, failures, changes, slow reconciles, and a sample of the rest.

use super::Record;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Most failures, and most changes.
const EACH: usize = 32;

/// Most failures and changes of one object with one outcome: one object must not displace the others.
const EACH_OBJECT: usize = 4;

/// Most slow reconciles, and how long each counts.
const SLOW: usize = 8;
const SLOW_FOR: Duration = Duration::from_secs(600);

/// Most records of the sample, and the least time between two.
const SAMPLE: usize = 16;
const SAMPLE_EVERY: Duration = Duration::from_secs(10);

/// Reconciles that changed nothing and did not fail are looked at one by one up to so many in this time. A record of a busy plugin would be
/// replaced at once, and costs a few microseconds.
const BUSY: u32 = 100;
const BUSY_EVERY: Duration = Duration::from_secs(1);

/// The records of one plugin.
#[derive(Debug, Default)]
pub(super) struct Ring {
    /// By outcome. Outcomes are constants of the host.
    newest: BTreeMap<&'static str, Arc<Record>>,
    failures: VecDeque<Arc<Record>>,
    changes: VecDeque<Arc<Record>>,
    slow: VecDeque<(Instant, Arc<Record>)>,
    sample: VecDeque<Arc<Record>>,
    sampled: Option<Instant>,
    /// The time since which reconciles that changed nothing are counted, and their number.
    counted: Option<(Instant, u32)>,
}

impl Ring {
    /// Whether a reconcile that changed nothing and did not fail is one too many to look at, and no slow one.
    pub(super) fn passes_over(&mut self, took: Duration) -> bool {
        let now = Instant::now();
        let (since, count) = self.counted.get_or_insert((now, 0));
        if now.duration_since(*since) >= BUSY_EVERY {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        *count > BUSY && self.slow.len() == SLOW && self.slow.iter().all(|(_, slow)| slow.took >= took)
    }

    /// Takes a record, which is the newest of its outcome. The one before it stays if it is interesting. Returns the records that go.
    pub(super) fn offer(&mut self, record: Arc<Record>) -> Vec<Arc<Record>> {
        let Some(before) = self.newest.insert(record.outcome, record) else { return Vec::new() };
        if before.error.is_some() {
            return add(&mut self.failures, before);
        }
        if before.patched() {
            return add(&mut self.changes, before);
        }
        let now = Instant::now();
        let mut gone = Vec::new();
        while self.slow.front().is_some_and(|(since, _)| now.duration_since(*since) > SLOW_FOR) {
            gone.extend(self.slow.pop_front().map(|(_, record)| record));
        }
        let quickest = self.slow.iter().map(|(_, record)| record.took).min();
        if self.slow.len() < SLOW || quickest.is_some_and(|quickest| quickest < before.took) {
            self.slow.push_back((now, before));
            if self.slow.len() > SLOW {
                gone.extend(self.drop_quickest());
            }
        } else if self.sampled.is_none_or(|last| now.duration_since(last) >= SAMPLE_EVERY) {
            self.sampled = Some(now);
            self.sample.push_back(before);
            if self.sample.len() > SAMPLE {
                gone.extend(self.sample.pop_front());
            }
        } else {
            gone.push(before);
        }
        gone
    }

    /// All records.
    pub(super) fn records(&self) -> impl Iterator<Item = &Arc<Record>> {
        let slow = self.slow.iter().map(|(_, record)| record);
        self.newest.values().chain(&self.failures).chain(&self.changes).chain(slow).chain(&self.sample)
    }

    /// Drops the least interesting record.
    pub(super) fn drop_one(&mut self) -> Option<Arc<Record>> {
        let dropped = self.sample.pop_front().or_else(|| self.drop_quickest());
        let dropped = dropped.or_else(|| self.changes.pop_front()).or_else(|| self.failures.pop_front());
        dropped.or_else(|| {
            let oldest = self.newest.iter().min_by_key(|(_, record)| record.at).map(|(outcome, _)| *outcome)?;
            self.newest.remove(oldest)
        })
    }

    fn drop_quickest(&mut self) -> Option<Arc<Record>> {
        let quickest = self.slow.iter().enumerate().min_by_key(|(_, (_, record))| record.took).map(|(at, _)| at)?;
        self.slow.remove(quickest).map(|(_, record)| record)
    }
}

/// Adds a record; the oldest of its object and outcome, or of all, makes room.
fn add(records: &mut VecDeque<Arc<Record>>, record: Arc<Record>) -> Vec<Arc<Record>> {
    let alike =
        |other: &Arc<Record>| other.key == record.key && other.kind == record.kind && other.outcome == record.outcome;
    let alike: Vec<usize> = records.iter().enumerate().filter(|(_, other)| alike(other)).map(|(at, _)| at).collect();
    let displaced = match alike.first() {
        Some(oldest) if alike.len() >= EACH_OBJECT => records.remove(*oldest),
        _ if records.len() >= EACH => records.pop_front(),
        _ => None,
    };
    records.push_back(record);
    displaced.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::record;
    use super::super::{FlightRecorder, PluginRecords};
    use super::*;
    use crate::plugin::Outcome;

    fn names(ring: &Ring) -> Vec<String> {
        ring.records().map(|record| record.key.name.to_string()).collect()
    }

    fn rest(records: &PluginRecords, name: &str, took: u64) -> Arc<Record> {
        Arc::new(Record { took: Duration::from_millis(took), ..record(records, name, "synced", None) })
    }

    #[tokio::test(start_paused = true)]
    async fn failures_and_changes_stay_while_the_rest_is_sampled() {
        let records = FlightRecorder::new(64 << 20).plugin("p");
        let mut ring = Ring::default();
        ring.offer(Arc::new(record(&records, "failed", "ApiError", Some("no answer"))));
        let mut changed = record(&records, "changed", "synced", None);
        changed.results.outcome = Some(Outcome::default());
        ring.offer(Arc::new(changed));
        ring.offer(rest(&records, "slow", 500));
        for number in 0..10_000 {
            tokio::time::advance(Duration::from_millis(20)).await;
            ring.offer(rest(&records, &number.to_string(), 1));
        }
        let names = names(&ring);
        for name in ["failed", "changed", "slow", "9999"] {
            assert!(names.iter().any(|found| found == name), "{name}: {names:?}");
        }
        assert!(names.len() <= 2 + SLOW + SAMPLE + 1, "{names:?}");
        assert_eq!(ring.sample.len(), SAMPLE);
        tokio::time::advance(SLOW_FOR).await;
        ring.offer(rest(&records, "last", 1));
        ring.offer(rest(&records, "last", 1));
        assert!(!names_of(&ring).contains(&"slow".to_owned()), "slow for a while only");
    }

    fn names_of(ring: &Ring) -> Vec<String> {
        names(ring)
    }

    #[tokio::test(start_paused = true)]
    async fn of_a_busy_plugin_only_slow_reconciles_are_looked_at() {
        let records = FlightRecorder::new(64 << 20).plugin("p");
        let mut ring = Ring::default();
        let quick = Duration::from_millis(1);
        for number in 0..SLOW + 2 {
            ring.offer(rest(&records, &number.to_string(), 2));
        }
        assert!((0..BUSY).all(|_| !ring.passes_over(quick)));
        assert!(ring.passes_over(quick) && !ring.passes_over(Duration::from_millis(3)));
        tokio::time::advance(BUSY_EVERY).await;
        assert!(!ring.passes_over(quick), "the next second");
    }

    #[test]
    fn one_object_that_fails_all_the_time_does_not_displace_the_failures_of_others() {
        let records = FlightRecorder::new(64 << 20).plugin("p");
        let mut ring = Ring::default();
        let mut failed = |name: &str| {
            ring.offer(Arc::new(record(&records, name, "ApiError", Some("no answer"))));
        };
        failed("other");
        for _ in 0..1000 {
            failed("same");
        }
        let found = names(&ring);
        assert_eq!(found.iter().filter(|name| *name == "same").count(), EACH_OBJECT + 1, "{found:?}");
        assert!(found.contains(&"other".to_owned()));
        for number in 0..1000 {
            ring.offer(Arc::new(record(&records, &number.to_string(), "ApiError", Some("no answer"))));
        }
        assert_eq!(ring.records().count(), EACH + 1);
    }

    #[test]
    fn the_newest_of_an_outcome_goes_last() {
        let records = FlightRecorder::new(64 << 20).plugin("p");
        let mut ring = Ring::default();
        for name in ["first", "second", "third"] {
            ring.offer(Arc::new(record(&records, name, "ApiError", Some("no answer"))));
        }
        let dropped: Vec<_> = std::iter::from_fn(|| ring.drop_one()).map(|one| one.key.name.to_string()).collect();
        assert_eq!(dropped, ["first", "second", "third"]);
    }
}
