//! A reconcile during a rollout: the candidate's is compared first and its writes are entered in the journal; that of the version that runs
//! begins with undoing the candidate's writes.

use super::comparison::{Decision, Difference, Terms, decide};
use super::entry::{Found, entry, has_elements, object_of};
use super::tally::Tally;
use super::{Controller, Journals, Rollout, RolloutEvent};
use crate::apply::{Change, Identity, ObjectRef, WriteError, WriteIdentity};
use crate::controller::outcome::{Failure, Next};
use crate::controller::{ReconcileKey, Version};
use crate::informer::Object;
use crate::lease::LeadershipGuard;
use crate::workqueue::Trigger;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Pause before the journals are read again.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// Pause before a host that was not allowed to read the journals asks again, if its plugin has a canary.
const ASK_AGAIN: Duration = Duration::from_secs(60);

/// The key returns to the version that runs.
fn back(why: &str) -> Failure {
    Failure::HandedBack(why.to_owned())
}

impl Rollout {
    /// From now on the object stays with the version that runs, which reconciles it next.
    pub(in crate::controller) fn give_back(&self, key: &ReconcileKey, why: &str) -> Failure {
        self.hold(key, why);
        back(why)
    }

    /// Counts the end of a candidate's reconcile.
    pub(in crate::controller) fn ended(&self, key: &ReconcileKey, error: Option<&str>, strike: bool) {
        let fault = {
            let mut tally = self.tally();
            tally.failed(key, error, strike);
            tally.fault()
        };
        if let Some(fault) = fault {
            self.fail(&fault);
        }
    }

    /// Counts differing writes with `count`, unless they exceed the limit of the canary.
    ///
    /// # Errors
    ///
    /// [`Failure::HandedBack`]: the rollout is aborted.
    fn count(
        &self,
        key: &ReconcileKey,
        differences: &[Difference],
        count: impl FnOnce(&mut Tally),
    ) -> Result<(), Failure> {
        let most = self.steps.canary.as_ref().and_then(|canary| canary.max_different_writes);
        let fault = {
            let mut tally = self.tally();
            match most.filter(|most| tally.would_exceed(differences, *most)) {
                Some(most) => {
                    let first = differences.first().map(|one| one.field.clone()).unwrap_or_default();
                    Some(format!(
                        "it would make more than {most} writes that the version that runs would not make (maxDifferentWrites); the \
                         next, of {key}: {first}"
                    ))
                }
                None => {
                    count(&mut tally);
                    tally.fault()
                }
            }
        };
        let Some(fault) = fault else { return Ok(()) };
        self.fail(&fault);
        Err(back("the rollout is aborted"))
    }
}

impl Controller {
    /// Compares the two versions before a reconcile of the candidate. Returns what the version that runs would do.
    ///
    /// # Errors
    ///
    /// [`Failure::HandedBack`]: the key returns to the version that runs.
    pub(in crate::controller) async fn admit(
        &self,
        rollout: &Rollout,
        key: &ReconcileKey,
        guard: &LeadershipGuard,
    ) -> Result<Decision, Failure> {
        let Some(found) = self.compare(rollout, key, guard).await else {
            return Err(back("the object is gone or paused"));
        };
        rollout.count(key, &found.differences, |tally| {
            tally.compared(key, &found.current, &found.candidate, &found.differences);
        })?;
        Ok(found.current)
    }

    /// Counts those of the candidate's changes that the comparison before the reconcile did not see, such as changes after an HTTP request with
    /// effects. Returns what the version that runs would do now. None: there are no such changes, or nobody knows.
    ///
    /// # Errors
    ///
    /// [`Failure::HandedBack`]: the key returns to the version that runs.
    async fn count_unforeseen(
        &self,
        rollout: &Rollout,
        (write_identity, key, object): (&WriteIdentity, &ReconcileKey, &Arc<Object>),
        current: &Decision,
        changes: &[Change],
    ) -> Result<Option<Decision>, Failure> {
        let before = current.unlike(key, changes, &write_identity.secrets);
        if rollout.tally().new_among(&before) == 0 {
            return Ok(None);
        }
        let Some(version) = self.version.get().filter(|version| version.reaches(key)) else {
            return Err(back("the version that runs does not reconcile it any more"));
        };
        // What the versions read may have changed since the comparison.
        let terms = Terms { guard: &write_identity.guard, follows: false, observer: None };
        let now = decide(&version, key, object, &terms).await;
        // It would send a request of its own first.
        if now.undecidable {
            return Ok(None);
        }
        let mut differences = now.unlike(key, changes, &write_identity.secrets);
        differences.retain(|one| before.iter().any(|known| known.id == one.id));
        rollout.count(key, &differences, |tally| tally.differ(key, &differences))?;
        Ok(Some(now))
    }

    /// Checks that the version that runs reconciles the object, too: it is the one that undoes the candidate's writes.
    ///
    /// # Errors
    ///
    /// [`Failure::HandedBack`]: it does not.
    pub(in crate::controller) fn is_of_both(&self, rollout: &Rollout, key: &ReconcileKey) -> Result<(), Failure> {
        if self.version.get().is_some_and(|current| current.sees(&key.kind, &key.key)) {
            return Ok(());
        }
        Err(rollout.give_back(key, "the version that runs does not reconcile it, and would not undo the writes"))
    }

    /// Enters how to undo the candidate's changes, before they are made.
    ///
    /// * `object` - which the candidate reconciles.
    ///
    /// # Errors
    ///
    /// [`Failure::HandedBack`]: a change could not be undone, so none is made. Otherwise the API server's error.
    pub(in crate::controller) async fn enter(
        &self,
        rollout: &Rollout,
        (write_identity, key, object): (&WriteIdentity, &ReconcileKey, &Arc<Object>),
        current: &Decision,
        changes: &[Change],
    ) -> Result<(), Failure> {
        let now = self.count_unforeseen(rollout, (write_identity, key, object), current, changes).await?;
        let current = now.as_ref().unwrap_or(current);
        let writer = &self.shared.writer;
        let mut all = Vec::new();
        for change in changes {
            let live = match object_of(change) {
                Some(target) if !target.key.name.is_empty() => {
                    let read =
                        writer.requests().read(write_identity, Identity::Plugin, &target.kind, &target.key).await;
                    read.map_err(|error| Failure::write("read the object before the canary's write", error))?
                }
                _ => None,
            };
            let mut made = entry(change, live.as_deref(), current, (write_identity, writer));
            if let Ok(Some(found)) = &made
                && let Some(target) = found.entry.deletes()
                && !writer.allows(write_identity, "delete", &target).await.unwrap_or(false)
            {
                made = Err(format!("{}: the grant does not allow to delete it again", change.summary()));
            }
            if let (Ok(Some(_)), Some(live)) = (&made, &live)
                && let Some(why) = self.takes_elements(write_identity, change, live).await?
            {
                made = Err(format!("{}: {why}", change.summary()));
            }
            match made {
                Ok(None) => {}
                Ok(Some(found)) => all.push(found),
                Err(why) => {
                    rollout.hold(key, &why);
                    return Err(Failure::HandedBack(why));
                }
            }
        }
        self.enter_all(rollout, write_identity, key, all).await
    }

    /// Why an apply cannot be undone, if it takes elements of lists over from other writers: nobody else could tell later whose they were. The API
    /// server knows.
    async fn takes_elements(
        &self,
        write_identity: &WriteIdentity,
        change: &Change,
        live: &Object,
    ) -> Result<Option<&'static str>, Failure> {
        let Change::Apply { object, force: true, .. } = change else { return Ok(None) };
        if live.managed().is_none() || !has_elements(object) {
            return Ok(None);
        }
        match self.shared.writer.conflicts(write_identity, object).await {
            // As in `.spec.containers[name="app"].image`.
            Ok(conflicts) if conflicts.contains('[') => {
                Ok(Some("it would take elements of a list over that another writer applied"))
            }
            Ok(_) => Ok(None),
            Err(error) => Err(Failure::write("ask for conflicts before the canary's write", error)),
        }
    }

    /// Enters that the candidate adds the plugin's finalizer, which the version that runs does not know.
    pub(in crate::controller) async fn enter_finalizer(
        &self,
        rollout: &Rollout,
        write_identity: &WriteIdentity,
        key: &ReconcileKey,
    ) -> Result<(), Failure> {
        if self.version.get().is_some_and(|current| current.cleans_up(&key.kind)) {
            return Ok(());
        }
        self.enter_all(rollout, write_identity, key, vec![Found::finalizer(key)]).await
    }

    async fn enter_all(
        &self,
        rollout: &Rollout,
        write_identity: &WriteIdentity,
        key: &ReconcileKey,
        found: Vec<Found>,
    ) -> Result<(), Failure> {
        if rollout.over.load(Relaxed) {
            return Err(back("the rollout is over"));
        }
        let Some(journals) = self.shared.journals.as_ref().filter(|_| !found.is_empty()) else { return Ok(()) };
        match journals.record(write_identity, &rollout.version.identity, key, found).await {
            Ok(()) => Ok(()),
            Err(WriteError::Denied(why)) => {
                rollout.hold(key, &why);
                Err(Failure::HandedBack(why))
            }
            Err(error @ (WriteError::Forbidden(_) | WriteError::Invalid(_))) => {
                rollout.fail(&format!("its journal cannot be stored: {error}"));
                Err(back("the rollout is aborted"))
            }
            Err(error) => Err(Failure::write("store the journal of the canary", error)),
        }
    }

    /// Undoes what another version wrote about an object as a canary. Returns the objects of the writes, and why some of them stay.
    ///
    /// * `identity` - of the version that reconciles: its own writes stay.
    /// * `rollout` - the candidate's own journal stays, too, until the candidate is the current version.
    pub(in crate::controller) async fn settle(
        &self,
        (write_identity, identity): (&WriteIdentity, &str),
        key: &ReconcileKey,
        primary: Option<&Arc<Object>>,
        rollout: Option<&Rollout>,
    ) -> Result<(Vec<ObjectRef>, Vec<String>), Failure> {
        let nothing = || Ok((Vec::new(), Vec::new()));
        let Some(journals) = &self.shared.journals else { return nothing() };
        let Some(wrote) = journals.rollout_of(&self.name, key) else { return nothing() };
        if rollout.is_some() && wrote == identity {
            return nothing();
        }
        // The candidate of then may have been promoted before its keys ran again.
        let promoted = wrote == identity || self.version.get().is_some_and(|current| current.identity == wrote);
        let settled = journals.settle(write_identity, key, primary, promoted).await;
        let (undone, refused) = settled.map_err(|error| Failure::write("undo the writes of the canary", error))?;
        if !undone.is_empty() {
            tracing::info!(plugin = self.name, %key, objects = undone.len(), "writes of an aborted canary undone");
        }
        let refused: Vec<String> = refused.into_iter().map(|why| write_identity.secrets.hidden(why)).collect();
        for why in &refused {
            tracing::warn!(plugin = self.name, %key, why, "a write of an aborted canary stays");
        }
        Ok((undone, refused))
    }

    /// Undoes what a canary wrote about an object that the current version does not reconcile. Returns the key's next step.
    ///
    /// * `version` - the current one.
    pub(in crate::controller) async fn settle_unreached(
        &self,
        version: &Version,
        key: &ReconcileKey,
        guard: &LeadershipGuard,
    ) -> Next {
        let write_identity = version.write_identity.within(guard);
        match self.settle((&write_identity, &version.identity), key, None, None).await {
            Ok(_) => Next::Done,
            Err(error) => {
                tracing::warn!(plugin = self.name, %key, %error, "writes of an aborted canary cannot be undone yet");
                Next::Retry
            }
        }
    }

    /// Reads the journals of earlier canaries once in a leadership, before the first reconcile: also if no version has a canary any more. A host
    /// that may not read them reconciles all the same, and begins no canary.
    pub(in crate::controller) async fn know_journals(&self) {
        let Some(journals) = self.shared.journals.as_ref().filter(|_| !self.journals_are_settled()) else { return };
        let _reads = self.journals_reads.lock().await;
        while !self.journals_are_settled() {
            // A host without canaries does not need the permission.
            if !self.has_canary() && !journals.may_load().await {
                self.forbid_journals();
                return;
            }
            match self.load_journals(journals).await {
                Ok(()) => return,
                Err(WriteError::Forbidden(why)) => {
                    tracing::warn!(
                        plugin = self.name,
                        why,
                        "the journals of canaries cannot be read, so none begins: apply the output of `oarlock rbac`"
                    );
                    self.forbid_journals();
                    return;
                }
                Err(error) => {
                    tracing::warn!(plugin = self.name, %error, "the journals of canaries cannot be read: the keys wait");
                    tokio::time::sleep(TRY_AGAIN).await;
                }
            }
        }
    }

    /// Whether the journals are known in this leadership, or the host was not allowed to read them.
    fn journals_are_settled(&self) -> bool {
        let leadership = self.leaderships.load(Relaxed);
        if self.journals_known.load(Relaxed) == leadership {
            return true;
        }
        let forbidden = *self.journals_forbidden.lock().unwrap_or_else(PoisonError::into_inner);
        forbidden.is_some_and(|(in_leadership, at)| {
            in_leadership == leadership && (at.elapsed() < ASK_AGAIN || !self.has_canary())
        })
    }

    fn forbid_journals(&self) {
        let now = (self.leaderships.load(Relaxed), Instant::now());
        *self.journals_forbidden.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
    }

    /// Reads the journals, and enqueues their keys.
    async fn load_journals(&self, journals: &Journals) -> Result<(), WriteError> {
        let leadership = self.leaderships.load(Relaxed);
        journals.load(&self.name).await?;
        self.journals_known.store(leadership, Relaxed);
        for key in journals.keys(&self.name) {
            self.queue.add(key, Trigger::Swap);
        }
        Ok(())
    }

    fn has_canary(&self) -> bool {
        self.version.get().is_some_and(|version| version.loaded.guest.grants.has_canary())
    }

    /// Checks that a canary can keep its journals.
    pub(super) async fn prepare_journals(&self) -> Result<(), String> {
        let Some(journals) = &self.shared.journals else {
            return Err(
                "a canary needs a namespace for its journal: run the host with --plugin-objects NAMESPACE".to_owned()
            );
        };
        let _reads = self.journals_reads.lock().await;
        if self.journals_known.load(Relaxed) != self.leaderships.load(Relaxed) {
            let loaded = self.load_journals(journals).await;
            loaded.map_err(|error| {
                format!("the journals of canaries cannot be read: {error}; apply the output of `oarlock rbac`")
            })?;
        }
        Ok(())
    }
}

/// For the log of the lifecycle.
impl std::fmt::Display for RolloutEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Step(words) => f.write_str(words),
            Self::AwaitingApproval(why) => write!(f, "awaiting approval: {why}"),
            Self::Passed => f.write_str("passed"),
            Self::Failed(why) => write!(f, "failed: {why}"),
        }
    }
}
