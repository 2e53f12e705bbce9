//! The results of one step of a rollout: differing writes, strikes, failures, times; and when they end the rollout.

use super::comparison::{Decision, Difference};
use crate::controller::{PROBATION_SHARE, ReconcileKey};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Most differing writes that a tally counts; it ignores further ones.
const WRITES: usize = 100_000;

/// Most fields that are counted by name.
const FIELDS: usize = 1000;

/// Most differences that are kept with their object.
const EXAMPLES: usize = 100;

/// Differing fields in a view.
const SHOWN: usize = 20;

/// As on probation, a few objects of many may strike.
const PROBATION_RECONCILES: std::ops::RangeInclusive<usize> = 20..=1000;

/// The rollout ends when more than this share of the objects, and more than a few, fail only with the candidate.
const FAILING_SHARE: f64 = 0.02;
const FEW: usize = 2;

/// The rollout ends when the candidate takes this many times as long as the version that runs, and this much longer.
const SLOWER: u32 = 3;
const LONGER: Duration = Duration::from_millis(50);

/// Comparisons before times count.
const SAMPLES: u32 = 20;

/// The results of one step.
#[derive(Debug, Default)]
pub(super) struct Tally {
    objects: BTreeSet<ReconcileKey>,
    /// Objects for which the candidate would write something.
    changing: BTreeSet<ReconcileKey>,
    different: BTreeSet<ReconcileKey>,
    /// Objects with which the candidate stopped at a request that was not sent.
    undecidable: BTreeSet<ReconcileKey>,
    writes: BTreeSet<u64>,
    deletes: BTreeSet<u64>,
    fields: BTreeMap<String, u64>,
    examples: Vec<(ReconcileKey, Difference)>,
    struck: BTreeSet<ReconcileKey>,
    failing: BTreeSet<ReconcileKey>,
    /// Objects with which the version that runs failed when they were compared last.
    failing_before: BTreeSet<ReconcileKey>,
    samples: u32,
    current_took: Duration,
    candidate_took: Duration,
    last_failure: String,
}

impl Tally {
    /// Counts a comparison.
    pub(super) fn compared(
        &mut self,
        key: &ReconcileKey,
        current: &Decision,
        candidate: &Decision,
        differences: &[Difference],
    ) {
        self.objects.insert(key.clone());
        if candidate.writes() > 0 {
            self.changing.insert(key.clone());
        }
        if candidate.undecidable {
            self.undecidable.insert(key.clone());
        }
        self.differ(key, differences);
        self.samples += 1;
        self.current_took += current.took;
        self.candidate_took += candidate.took;
        if current.failure().is_some() {
            self.failing_before.insert(key.clone());
        } else {
            self.failing_before.remove(key);
        }
        self.failed(key, candidate.failure(), candidate.strike);
    }

    /// Counts differing writes.
    pub(super) fn differ(&mut self, key: &ReconcileKey, differences: &[Difference]) {
        if !differences.is_empty() {
            self.different.insert(key.clone());
        }
        for one in differences {
            let known = !self.count(one.id);
            if one.deletes {
                self.deletes.insert(one.id);
            }
            if known {
                continue;
            }
            if self.fields.len() < FIELDS || self.fields.contains_key(&one.field) {
                *self.fields.entry(one.field.clone()).or_default() += 1;
            }
            if self.examples.len() < EXAMPLES {
                self.examples.push((key.clone(), one.clone()));
            }
        }
    }

    /// Counts the end of a candidate's reconcile. Its failure does not count if the version that runs fails with the object, too.
    pub(super) fn failed(&mut self, key: &ReconcileKey, failure: Option<&str>, strike: bool) {
        let Some(failure) = failure.filter(|_| !self.failing_before.contains(key)) else {
            self.failing.remove(key);
            return;
        };
        self.last_failure = format!("the last, of {key}: {}", crate::shorten(failure, 300));
        self.failing.insert(key.clone());
        if strike {
            self.struck.insert(key.clone());
        }
    }

    /// Whether these differences would exceed the limit of differing writes.
    pub(super) fn would_exceed(&self, differences: &[Difference], most: u32) -> bool {
        let new = self.new_among(differences);
        new > 0 && self.writes.len() + new > most as usize
    }

    /// The number of writes among these differences that it has not counted.
    pub(super) fn new_among(&self, differences: &[Difference]) -> usize {
        let new = differences.iter().map(|one| one.id).filter(|id| !self.writes.contains(id));
        new.collect::<BTreeSet<_>>().len()
    }

    /// Why the rollout has to end. None: it goes on.
    pub(super) fn fault(&self) -> Option<String> {
        let objects = self.objects.len();
        let length = objects.clamp(*PROBATION_RECONCILES.start(), *PROBATION_RECONCILES.end());
        if above(self.struck.len(), length, PROBATION_SHARE) {
            let struck = self.struck.len();
            return Some(format!("{struck} of {objects} objects went wrong with it; {}", self.last_failure));
        }
        if self.failing.len() > FEW && above(self.failing.len(), objects, FAILING_SHARE) {
            let failing = self.failing.len();
            return Some(format!("{failing} of {objects} objects fail only with it; {}", self.last_failure));
        }
        let (before, now) = (self.current_took, self.candidate_took);
        if self.samples >= SAMPLES && now > before * SLOWER && (now - before) > LONGER * self.samples {
            let mean = |took: Duration| crate::milliseconds(took / self.samples);
            return Some(format!(
                "it takes {} ms for an object on average, and the version that runs {} ms",
                mean(now),
                mean(before)
            ));
        }
        None
    }

    /// The words of the last failure. Empty: nothing failed.
    pub(super) fn last_failure(&self) -> &str {
        &self.last_failure
    }

    /// Whether an object was compared.
    pub(super) fn knows(&self, key: &ReconcileKey) -> bool {
        self.objects.contains(key)
    }

    /// The objects that were compared.
    pub(super) fn objects(&self) -> impl Iterator<Item = &ReconcileKey> {
        self.objects.iter()
    }

    /// The number of differing writes.
    pub(super) fn writes(&self) -> usize {
        self.writes.len()
    }

    /// A number that stands for the differing writes.
    pub(super) fn digest(&self) -> u64 {
        self.writes.iter().fold(0, |digest, id| digest ^ id)
    }

    /// The number of objects with which the candidate stopped at a request that was not sent.
    pub(super) fn undecidable(&self) -> usize {
        self.undecidable.len()
    }

    /// The number of deletions among them.
    pub(super) fn deletes(&self) -> usize {
        self.deletes.len()
    }

    /// The number of entries.
    pub(super) fn remembered(&self) -> usize {
        let keys = [&self.objects, &self.changing, &self.different, &self.undecidable];
        let failed = [&self.struck, &self.failing, &self.failing_before];
        keys.iter().chain(&failed).map(|keys| keys.len()).sum::<usize>()
            + self.writes.len()
            + self.fields.len()
            + self.examples.len()
    }

    /// Counts of the step.
    pub(super) fn summary(&self) -> Value {
        json!({
            "objects": self.objects.len(), "changing": self.changing.len(), "different": self.different.len(),
            "differentWrites": self.writes.len(), "deletes": self.deletes.len(), "failing": self.failing.len(),
        })
    }

    /// The differing fields, the most frequent first.
    pub(super) fn fields(&self) -> Value {
        let mut fields: Vec<(&String, &u64)> = self.fields.iter().collect();
        fields.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let shown = fields.into_iter().take(SHOWN).map(|(field, writes)| json!({"field": field, "writes": writes}));
        shown.collect()
    }

    /// The first differences, with their objects.
    pub(super) fn examples(&self) -> Value {
        let shown = self
            .examples
            .iter()
            .map(|(key, one)| json!({"object": key.to_string(), "write": one.write, "field": one.field}));
        shown.collect()
    }

    fn count(&mut self, id: u64) -> bool {
        self.writes.len() < WRITES && self.writes.insert(id)
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of objects")]
fn above(part: usize, of: usize, share: f64) -> bool {
    part as f64 > of as f64 * share
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{GroupVersionKind, ObjectKey};

    fn key(number: usize) -> ReconcileKey {
        let kind = GroupVersionKind::new("", "v1", "ConfigMap").into();
        ReconcileKey { kind, key: ObjectKey::new("n", format!("o{number}")) }
    }

    fn difference(id: u64) -> Difference {
        Difference {
            missing: false,
            field: "apply ConfigMap /data".to_owned(),
            write: format!("apply ConfigMap n/{id}"),
            id,
            deletes: id == 7,
        }
    }

    fn took(milliseconds: u64) -> Decision {
        let mut decision = Decision::default();
        decision.took = Duration::from_millis(milliseconds);
        decision
    }

    #[test]
    fn a_write_counts_once_however_often_it_is_compared() {
        let mut tally = Tally::default();
        for _ in 0..3 {
            tally.compared(&key(0), &took(1), &took(1), &[difference(7), difference(8)]);
        }
        assert_eq!((tally.writes(), tally.deletes(), tally.objects.len()), (2, 1, 1));
        assert!(!tally.would_exceed(&[difference(7)], 2) && tally.would_exceed(&[difference(9)], 2));
        assert_eq!(tally.fields(), json!([{"field": "apply ConfigMap /data", "writes": 2}]));
        assert_eq!(tally.examples().as_array().unwrap().len(), 2);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut tally = Tally::default();
        for id in 0..2 * WRITES as u64 {
            let one = Difference { field: id.to_string(), ..difference(id) };
            tally.compared(&key(0), &took(1), &took(1), &[one]);
        }
        assert_eq!((tally.writes(), tally.fields.len(), tally.examples.len()), (WRITES, FIELDS, EXAMPLES));
    }

    #[test]
    fn strikes_failures_and_slowness_end_a_rollout() {
        let fault = |count: &dyn Fn(&mut Tally)| {
            let mut tally = Tally::default();
            for number in 0..300 {
                tally.compared(&key(number), &took(1), &took(1), &[]);
            }
            count(&mut tally);
            tally.fault().unwrap_or_default()
        };
        assert_eq!(fault(&|_| {}), "");
        assert_eq!(fault(&|tally| tally.failed(&key(0), Some("trap"), true)), "");
        let two = |tally: &mut Tally| (0..2).for_each(|number| tally.failed(&key(number), Some("trap"), true));
        assert!(fault(&two).starts_with("2 of 300 objects went wrong with it; the last, of ConfigMap n/o1: trap"));
        let some = |tally: &mut Tally, most: usize| {
            (0..most).for_each(|number| tally.failed(&key(number), Some("no answer"), false));
        };
        assert_eq!(fault(&|tally| some(tally, 6)), "");
        assert!(fault(&|tally| some(tally, 7)).starts_with("7 of 300 objects fail only with it"));
        let recovered = |tally: &mut Tally| {
            some(tally, 7);
            tally.failed(&key(0), None, false);
        };
        assert_eq!(fault(&recovered), "");
        let failing_before = |tally: &mut Tally| {
            let failing = Decision::failing("no answer");
            (0..7).for_each(|number| tally.compared(&key(number), &failing, &failing, &[]));
            some(tally, 7);
        };
        assert_eq!(fault(&failing_before), "");
    }

    #[test]
    fn a_slow_candidate_ends_its_rollout_and_a_small_absolute_difference_does_not() {
        let compared = |current: u64, candidate: u64, samples: usize| {
            let mut tally = Tally::default();
            for number in 0..samples {
                tally.compared(&key(number), &took(current), &took(candidate), &[]);
            }
            tally.fault().unwrap_or_default()
        };
        assert_eq!(compared(1, 200, 19), "");
        assert!(compared(1, 200, 20).contains("takes 200 ms for an object on average, and the version that runs 1 ms"));
        assert_eq!(compared(1, 40, 50), "");
        assert_eq!(compared(200, 300, 50), "");
    }
}
