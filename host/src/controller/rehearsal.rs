//! Rehearsal: reconciles against a copy of the cluster, until nothing is left to do.
//!
//! The controller is the real one. The rehearsal only replaces the retry table: a real host retries for ever, and waits for changes that
//! never come in a copy.

use super::outcome::{Next, ReconcileEnd};
use super::{Controller, ReconcileKey};
use crate::plugin::WithheldRequests;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Failures in a row after which an object is given up. The first ones may only be early: another object comes first.
const FAILURES: u32 = 5;

/// Reconciles in a row that changed nothing, after which an object that is not in sync is left as it is.
const UNCHANGED: u32 = 3;

/// Reconciles of one object that may change something. Below the burst of the breaker, which would slow down the object.
const CHANGES: u32 = 20;

/// The first pause before a retry; each further one is twice as long, up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LAST_PAUSE: Duration = Duration::from_millis(500);

/// What a rehearsal found out about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Desired and actual agree.
    InSync,
    /// Nothing changes any more, but desired and actual differ: the plugin waits for somebody else.
    Waiting,
    /// The reconcile fails.
    Failed {
        /// As in the Ready condition; `NotGranted` when the grant rejects the change.
        reason: &'static str,
        /// For people.
        message: String,
    },
    /// Every reconcile changes something again.
    Unsettled,
    /// An HTTP request with effects would decide what follows.
    Withheld,
    /// The rehearsal ended before.
    NotReached,
}

/// An object that a rehearsal reconciled.
#[derive(Clone, Debug)]
pub struct RehearsedObject {
    /// The plugin.
    pub plugin: String,
    /// The object.
    pub key: ReconcileKey,
    /// The end of its last reconcile.
    pub finding: Finding,
    /// Whether its reconciles changed something.
    pub changed: bool,
}

type Selects = dyn Fn(&ReconcileKey) -> bool + Send + Sync;
type Revision = dyn Fn() -> u64 + Send + Sync;

/// See the module.
pub struct Rehearsal {
    selects: Box<Selects>,
    revision: Box<Revision>,
    /// The revision at the beginning.
    first: u64,
    withheld: Arc<WithheldRequests>,
    objects: Mutex<BTreeMap<(String, ReconcileKey), Rehearsed>>,
    reconciles: AtomicU64,
}

/// The reconciles of one object.
#[derive(Debug)]
struct Rehearsed {
    finding: Finding,
    failures: u32,
    unchanged: u32,
    changes: u32,
    /// Of the API server, at the end of its last reconcile.
    revision: u64,
}

impl std::fmt::Debug for Rehearsal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rehearsal").field("reconciles", &self.reconciles).finish_non_exhaustive()
    }
}

impl Rehearsal {
    /// A rehearsal of the keys that `selects` selects.
    ///
    /// * `revision` - the last revision of the API server: a number that grows with each change.
    /// * `withheld` - of the HTTP client of the plugins.
    #[must_use]
    pub fn new(
        selects: impl Fn(&ReconcileKey) -> bool + Send + Sync + 'static,
        revision: impl Fn() -> u64 + Send + Sync + 'static,
        withheld: Arc<WithheldRequests>,
    ) -> Self {
        Self {
            selects: Box::new(selects),
            first: revision(),
            revision: Box::new(revision),
            withheld,
            objects: Mutex::default(),
            reconciles: AtomicU64::new(0),
        }
    }

    /// The number of reconciles so far.
    #[must_use]
    pub fn reconciles(&self) -> u64 {
        self.reconciles.load(Relaxed)
    }

    /// The last revision of the API server.
    #[must_use]
    pub fn revision(&self) -> u64 {
        (self.revision)()
    }

    /// The number of objects so far.
    #[must_use]
    pub fn checked(&self) -> usize {
        self.lock().len()
    }

    /// The HTTP requests with effects.
    #[must_use]
    pub fn withheld(&self) -> &Arc<WithheldRequests> {
        &self.withheld
    }

    /// The objects so far, in the order of plugins and keys.
    #[must_use]
    pub fn objects(&self) -> Vec<RehearsedObject> {
        let objects = self.lock();
        let all = objects.iter().map(|((plugin, key), rehearsed)| RehearsedObject {
            plugin: plugin.clone(),
            key: key.clone(),
            finding: rehearsed.finding.clone(),
            changed: rehearsed.changes > 0,
        });
        all.collect()
    }

    /// Records the objects that were not reconciled in time.
    pub fn out_of_time(&self, plugin: &str, keys: impl IntoIterator<Item = ReconcileKey>) {
        let mut objects = self.lock();
        for key in keys.into_iter().filter(|key| (self.selects)(key)) {
            objects.entry((plugin.to_owned(), key)).or_insert_with(|| Rehearsed::new(Finding::NotReached, self.first));
        }
    }

    /// Whether a key runs.
    pub(super) fn admits(&self, plugin: &str, key: &ReconcileKey) -> bool {
        if !(self.selects)(key) {
            return false;
        }
        let objects = self.lock();
        !objects.get(&(plugin.to_owned(), key.clone())).is_some_and(|object| object.finding == Finding::Unsettled)
    }

    /// Records the end of a reconcile, and decides what comes next.
    pub(super) fn ended(&self, plugin: &str, key: &ReconcileKey, end: &ReconcileEnd) -> Next {
        self.reconciles.fetch_add(1, Relaxed);
        let revision = self.revision();
        let withheld = self.withheld.end(&end.correlation_id);
        let mut objects = self.lock();
        let object = objects.entry((plugin.to_owned(), key.clone()));
        object.or_insert_with(|| Rehearsed::new(Finding::InSync, self.first)).ended(end, withheld, revision)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(String, ReconcileKey), Rehearsed>> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Controller {
    /// Whether no key waits, has a timer or is in work.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let queue = self.queue.snapshot(0);
        queue.ready == 0 && queue.processing == 0 && queue.delayed == 0
    }

    /// Whether no key waits for a worker or is in work. Keys may have timers.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        let queue = self.queue.snapshot(0);
        queue.ready == 0 && queue.processing == 0
    }

    /// How many reconciles ended since the start.
    #[must_use]
    pub fn reconciles(&self) -> u64 {
        self.stats.reconciles()
    }

    /// The keys of all objects that the current version reconciles.
    #[must_use]
    pub fn keys(&self) -> Vec<ReconcileKey> {
        self.current().map(|version| version.keys().collect()).unwrap_or_default()
    }
}

impl Rehearsed {
    fn new(finding: Finding, revision: u64) -> Self {
        Self { finding, failures: 0, unchanged: 0, changes: 0, revision }
    }

    fn ended(&mut self, end: &ReconcileEnd, withheld: bool, revision: u64) -> Next {
        let changed = end.wrote && revision > std::mem::replace(&mut self.revision, revision);
        self.unchanged = if changed { 0 } else { self.unchanged + 1 };
        self.changes += u32::from(changed);
        self.failures = if end.error.is_some() { self.failures + 1 } else { 0 };
        self.finding = match &end.error {
            // What follows stays unknown, whatever later reconciles find.
            _ if withheld || self.finding == Finding::Withheld => Finding::Withheld,
            _ if self.changes >= CHANGES => Finding::Unsettled,
            Some(message) => Finding::Failed { reason: end.reason, message: message.clone() },
            None if end.progressing => Finding::Waiting,
            None => Finding::InSync,
        };
        match self.finding {
            Finding::InSync => Next::Done,
            Finding::Withheld | Finding::Unsettled | Finding::NotReached => Next::GivenUp,
            Finding::Failed { .. } if self.failures >= FAILURES || end.next == Next::GivenUp => Next::GivenUp,
            Finding::Waiting if self.unchanged >= UNCHANGED => Next::GivenUp,
            Finding::Failed { .. } => Next::RetryAfter(pause(self.failures)),
            Finding::Waiting => Next::RetryAfter(pause(self.unchanged + self.changes)),
        }
    }
}

/// * `attempt` - from 1.
fn pause(attempt: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(1 << attempt.saturating_sub(1).min(8)).min(LAST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{GroupVersionKind, ObjectKey};
    use std::sync::atomic::AtomicU64;

    fn end(next: Next, error: Option<&str>, progressing: bool, wrote: bool) -> ReconcileEnd {
        let error = error.map(str::to_owned);
        ReconcileEnd {
            next,
            error,
            strike: false,
            reason: "",
            progressing,
            paused: false,
            handed_back: false,
            wrote,
            correlation_id: "id".to_owned(),
        }
    }

    fn rehearsal(revision: &Arc<AtomicU64>) -> (Rehearsal, ReconcileKey) {
        let revision = Arc::clone(revision);
        let kind = Arc::new(GroupVersionKind::new("", "v1", "ConfigMap"));
        let key = ReconcileKey { kind, key: ObjectKey::new("n", "a") };
        let selects = |key: &ReconcileKey| &*key.key.namespace == "n";
        (Rehearsal::new(selects, move || revision.load(Relaxed), Arc::default()), key)
    }

    #[test]
    fn an_object_that_waits_for_somebody_else_is_left_after_a_few_looks() {
        let revision = Arc::new(AtomicU64::new(7));
        let (rehearsal, key) = rehearsal(&revision);
        let looks = (1..20).find(|_| {
            let next = rehearsal.ended("p", &key, &end(Next::Retry, None, true, true));
            next == Next::GivenUp
        });
        assert_eq!(looks, Some(UNCHANGED));
        let found = &rehearsal.objects()[0];
        assert_eq!((&found.finding, found.changed), (&Finding::Waiting, false));
        assert!(rehearsal.admits("p", &key), "an event wakes it again");
    }

    #[test]
    fn an_object_that_changes_for_ever_is_stopped_and_stays_so() {
        let revision = Arc::new(AtomicU64::new(7));
        let (rehearsal, key) = rehearsal(&revision);
        for _ in 0..CHANGES {
            assert!(rehearsal.admits("p", &key));
            revision.fetch_add(1, Relaxed);
            rehearsal.ended("p", &key, &end(Next::Done, None, false, true));
        }
        assert_eq!(rehearsal.objects()[0].finding, Finding::Unsettled);
        assert!(!rehearsal.admits("p", &key));
        assert!(rehearsal.admits("other", &key));
    }

    #[test]
    fn a_failure_is_retried_unless_a_retry_cannot_help() {
        let (rehearsal, key) = rehearsal(&Arc::default());
        for _ in 1..FAILURES {
            let next = rehearsal.ended("p", &key, &end(Next::Retry, Some("it broke"), false, false));
            assert!(matches!(next, Next::RetryAfter(_)), "{next:?}");
        }
        assert_eq!(rehearsal.ended("p", &key, &end(Next::Retry, Some("it broke"), false, false)), Next::GivenUp);
        assert_eq!(rehearsal.ended("p", &key, &end(Next::Done, None, false, false)), Next::Done);
        assert_eq!(rehearsal.ended("p", &key, &end(Next::GivenUp, Some("never"), false, false)), Next::GivenUp);
        assert_eq!((rehearsal.reconciles(), rehearsal.checked()), (u64::from(FAILURES) + 2, 1));
    }

    #[test]
    fn an_object_outside_the_selection_does_not_run() {
        let (rehearsal, mut key) = rehearsal(&Arc::default());
        key.key = ObjectKey::new("elsewhere", "a");
        assert!(!rehearsal.admits("p", &key));
    }
}
