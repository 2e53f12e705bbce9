//! Strikes, probation and quarantine of plugin versions.
//!
//! A strike is a failure that only the plugin's author can fix: a trap, a missed deadline, refused memory, an invalid answer. Strikes
//! have two consequences. A new version is on probation for its first reconciles; when it strikes on too many objects, it is reported as
//! failing, and the lifecycle rolls it back. Any version that mostly strikes is quarantined: its keys wait, longer each time.

use super::ReconcileKey;
use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// A version fails its probation when more than this share of the reconciles strike, counted by object.
pub const PROBATION_SHARE: f64 = 0.005;

/// Probation lasts as many reconciles as the plugin has objects, within these bounds…
const PROBATION_RECONCILES: std::ops::RangeInclusive<usize> = 20..=1000;

/// …and no longer than this.
const PROBATION_TIME: Duration = Duration::from_secs(600);

/// The quarantine window has this many reconciles. Quarantine begins when half of them were strikes of this weight.
const WINDOW: usize = 20;
const WEIGHT: u32 = 10;

/// A strike weighs one, but a strike that occupied a worker for this long weighs more.
const LONG: Duration = Duration::from_secs(1);
const LONG_WEIGHT: u32 = 5;

/// The first pause; each further one is twice as long, up to the last.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(300);

/// Most keys remembered because their last reconcile was a strike; further ones count as new at the next swap.
const MOST_STRUCK: usize = 10_000;

/// The consequence of a reconcile for the version it ran on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HealthVerdict {
    /// No change.
    Fine,
    /// The version passed its probation.
    Proven,
    /// The version failed its probation, for this reason.
    Failing(String),
    /// The keys wait for this long from now on.
    Quarantined(Duration),
}

/// The health of one plugin, across its versions.
#[derive(Debug, Default)]
pub(super) struct Health {
    inner: Mutex<HealthState>,
}

#[derive(Debug, Default)]
struct HealthState {
    /// Weights of the last reconciles of the current version; zero is no strike.
    window: VecDeque<u32>,
    /// Keys whose last reconcile was a strike, including keys of deleted objects.
    struck: HashSet<ReconcileKey>,
    /// The value of `struck` at the beginning of a version that failed since.
    before_failing: HashSet<ReconcileKey>,
    probation: Option<Probation>,
    until: Option<Instant>,
    /// The pause of the last quarantine, until a window without many strikes has passed.
    pause: Option<Duration>,
}

#[derive(Debug)]
struct Probation {
    length: usize,
    done: usize,
    began: Instant,
    /// Keys that also struck on the previous version; they do not count against this one.
    excused: HashSet<ReconcileKey>,
    struck: HashSet<ReconcileKey>,
}

impl Health {
    /// Begins the probation of another version.
    ///
    /// * `objects` - the number of its objects.
    /// * `back` - whether the previous version failed its probation; its strikes do not excuse objects.
    pub(super) fn begin(&self, objects: usize, back: bool) {
        let mut inner = self.lock();
        let before_it = std::mem::take(&mut inner.before_failing);
        if back {
            inner.struck = before_it;
        }
        let excused = inner.struck.clone();
        inner.window.clear();
        inner.until = None;
        inner.pause = None;
        inner.probation = Some(Probation {
            length: objects.clamp(*PROBATION_RECONCILES.start(), *PROBATION_RECONCILES.end()),
            done: 0,
            began: Instant::now(),
            excused,
            struck: HashSet::new(),
        });
    }

    /// A reconcile in flight at a swap succeeded on the previous version, so this key counts for the new one.
    pub(super) fn went_well_before(&self, key: &ReconcileKey) {
        let mut inner = self.lock();
        inner.struck.remove(key);
        if let Some(probation) = &mut inner.probation {
            probation.excused.remove(key);
        }
    }

    /// The object of this key is paused: its strikes are forgotten, and it counts neither for nor against the version.
    pub(super) fn left_alone(&self, key: &ReconcileKey) {
        self.lock().struck.remove(key);
    }

    /// Counts a reconcile of the current version.
    pub(super) fn reconciled(&self, key: &ReconcileKey, took: Duration, strike: Option<&str>) -> HealthVerdict {
        let mut inner = self.lock();
        if strike.is_some() {
            if inner.struck.len() < MOST_STRUCK {
                inner.struck.insert(key.clone());
            }
        } else {
            inner.struck.remove(key);
        }
        let on_probation =
            inner.probation.as_mut().map_or(HealthVerdict::Fine, |probation| probation.count(key, strike));
        match on_probation {
            HealthVerdict::Fine => {}
            ended => {
                let excused = inner.probation.take().map(|probation| probation.excused).unwrap_or_default();
                if matches!(ended, HealthVerdict::Failing(_)) {
                    inner.before_failing = excused;
                }
                return ended;
            }
        }
        inner.count(match strike {
            None => 0,
            Some(_) if took >= LONG => LONG_WEIGHT,
            Some(_) => 1,
        })
    }

    /// The end of the quarantine.
    pub(super) fn quarantined_until(&self) -> Option<Instant> {
        let inner = self.lock();
        inner.until.filter(|until| *until > Instant::now())
    }

    /// The number of keys remembered because of strikes.
    pub(super) fn remembered(&self) -> usize {
        let inner = self.lock();
        let of_probation = inner.probation.as_ref().map_or(0, |one| one.excused.len() + one.struck.len());
        inner.struck.len() + inner.before_failing.len() + of_probation
    }

    fn lock(&self) -> MutexGuard<'_, HealthState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Probation {
    fn count(&mut self, key: &ReconcileKey, strike: Option<&str>) -> HealthVerdict {
        self.done += 1;
        if let Some(what) = strike
            && !self.excused.contains(key)
        {
            self.struck.insert(key.clone());
            if !within_share(self.struck.len(), self.length) {
                return HealthVerdict::Failing(format!(
                    "{} of its first {} reconciles went wrong, more than {} %; the last, of {key}: {what}",
                    self.struck.len(),
                    self.done,
                    PROBATION_SHARE * 100.0
                ));
            }
        }
        if self.done >= self.length || self.began.elapsed() >= PROBATION_TIME {
            HealthVerdict::Proven
        } else {
            HealthVerdict::Fine
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers up to a thousand")]
fn within_share(struck: usize, length: usize) -> bool {
    struck as f64 <= length as f64 * PROBATION_SHARE
}

impl HealthState {
    fn count(&mut self, weight: u32) -> HealthVerdict {
        self.window.push_back(weight);
        if self.window.len() > WINDOW {
            self.window.pop_front();
        }
        let strikes = self.window.iter().filter(|weight| **weight > 0).count();
        if self.window.iter().sum::<u32>() >= WEIGHT && strikes * 2 >= self.window.len() {
            let pause = self.pause.map_or(FIRST_PAUSE, |last| (last * 2).min(LAST_PAUSE));
            self.pause = Some(pause);
            self.until = Some(Instant::now() + pause);
            self.window.clear();
            return HealthVerdict::Quarantined(pause);
        }
        if self.window.len() == WINDOW {
            self.pause = None;
        }
        HealthVerdict::Fine
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{GroupVersionKind, ObjectKey};

    fn key(number: usize) -> ReconcileKey {
        ReconcileKey {
            kind: GroupVersionKind::new("", "v1", "ConfigMap").into(),
            key: ObjectKey::new("n", format!("o{number}")),
        }
    }

    fn reconciled(health: &Health, key: &ReconcileKey, strike: Option<&str>) -> HealthVerdict {
        health.reconciled(key, Duration::from_millis(1), strike)
    }

    #[tokio::test(start_paused = true)]
    async fn keys_that_struck_are_bounded() {
        let health = Health::default();
        for number in 0..2 * MOST_STRUCK {
            reconciled(&health, &key(number), Some("trap"));
        }
        assert_eq!(health.remembered(), MOST_STRUCK);
    }

    #[tokio::test(start_paused = true)]
    async fn h10_one_object_in_a_hundred_is_too_many_and_one_in_a_thousand_is_not() {
        let health = Health::default();
        health.begin(300, false);
        assert_eq!(reconciled(&health, &key(0), Some("trap")), HealthVerdict::Fine);
        // The same object counts once.
        assert_eq!(reconciled(&health, &key(0), Some("trap")), HealthVerdict::Fine);
        assert!(
            matches!(reconciled(&health, &key(1), Some("trap")), HealthVerdict::Failing(why) if why.contains("o1: trap"))
        );

        health.begin(1000, false);
        let verdicts: Vec<_> = (0..1000).map(|i| reconciled(&health, &key(i), (i == 500).then_some("trap"))).collect();
        assert_eq!(
            verdicts.iter().filter(|v| **v != HealthVerdict::Fine).collect::<Vec<_>>(),
            [&HealthVerdict::Proven]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn of_few_objects_one_is_too_many_and_a_proven_version_is_not_taken_back() {
        let health = Health::default();
        health.begin(3, false);
        assert!(matches!(reconciled(&health, &key(0), Some("trap")), HealthVerdict::Failing(_)));
        health.begin(3, false);
        let proven = (0..20).map(|i| reconciled(&health, &key(i), None)).position(|v| v == HealthVerdict::Proven);
        assert_eq!(proven, Some(19));
        assert_eq!(reconciled(&health, &key(0), Some("trap")), HealthVerdict::Fine);
    }

    #[tokio::test(start_paused = true)]
    async fn what_went_wrong_under_the_version_before_does_not_count_against_the_next() {
        let health = Health::default();
        health.begin(1000, false);
        reconciled(&health, &key(7), Some("trap"));
        health.begin(10, false);
        assert_eq!(reconciled(&health, &key(7), Some("trap")), HealthVerdict::Fine);
        assert!(matches!(reconciled(&health, &key(8), Some("trap")), HealthVerdict::Failing(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn what_ended_well_on_the_version_before_after_the_swap_counts_against_the_next() {
        let health = Health::default();
        health.begin(1000, false);
        reconciled(&health, &key(7), Some("trap"));
        health.begin(10, false);
        health.went_well_before(&key(7));
        assert!(matches!(reconciled(&health, &key(7), Some("trap")), HealthVerdict::Failing(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn what_struck_under_a_version_that_was_taken_back_counts_against_the_next() {
        let health = Health::default();
        health.begin(10, false);
        reconciled(&health, &key(1), Some("trap"));
        health.begin(10, false);
        assert_eq!(reconciled(&health, &key(1), Some("trap")), HealthVerdict::Fine);
        assert!(matches!(reconciled(&health, &key(7), Some("trap")), HealthVerdict::Failing(_)));
        health.begin(10, true);
        // The restored version has not reconciled these objects before it is replaced.
        health.begin(10, false);
        assert_eq!(reconciled(&health, &key(1), Some("trap")), HealthVerdict::Fine);
        assert!(matches!(reconciled(&health, &key(7), Some("trap")), HealthVerdict::Failing(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn strikes_that_take_long_weigh_more() {
        let health = Health::default();
        health.begin(1000, false);
        assert_eq!(health.reconciled(&key(0), LONG, Some("deadline")), HealthVerdict::Fine);
        assert_eq!(health.reconciled(&key(1), LONG, Some("deadline")), HealthVerdict::Quarantined(FIRST_PAUSE));
    }

    #[tokio::test(start_paused = true)]
    async fn strikes_lead_to_quarantine_with_growing_pauses_and_good_conduct_ends_the_growth() {
        let health = Health::default();
        health.begin(1000, false);
        let pause = |health: &Health| {
            (0..20).find_map(|i| match reconciled(health, &key(i), Some("trap")) {
                HealthVerdict::Quarantined(pause) => Some(pause),
                _ => None,
            })
        };
        assert_eq!(pause(&health), Some(FIRST_PAUSE));
        assert!(health.quarantined_until().is_some());
        tokio::time::advance(FIRST_PAUSE).await;
        assert!(health.quarantined_until().is_none());
        assert_eq!(pause(&health), Some(FIRST_PAUSE * 2));
        for _ in 0..20 {
            assert!(pause(&health).unwrap() <= LAST_PAUSE);
        }
        for i in 0..20 {
            reconciled(&health, &key(i), None);
        }
        assert_eq!(pause(&health), Some(FIRST_PAUSE));
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_bad_objects_among_many_are_no_reason_for_quarantine() {
        let health = Health::default();
        health.begin(1000, false);
        for i in 0..1000 {
            let verdict = reconciled(&health, &key(i), (i % 3 == 0).then_some("trap"));
            assert!(!matches!(verdict, HealthVerdict::Quarantined(_)), "{i}: {verdict:?}");
        }
    }
}
