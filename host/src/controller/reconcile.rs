//! One reconcile: from a key to the key's next step.

mod annotated;
mod flight;
mod report;
mod writes;
mod written;

use super::annotations::Annotations;
use super::dependencies::Recording;
use super::flight_recorder::MadeWrite;
use super::last_writes::Writing;
use super::outcome::{End, Failure, Next, ReconcileEnd, next};
use super::rollout::{Decision, Rollout};
use super::{Controller, PinnedVersion, ReconcileKey, Version, compare, traced};
use crate::api::GroupVersionKind;
use crate::apply::WriteIdentity;
use crate::apply::events::Event;
use crate::informer::Object;
use crate::lease::LeadershipGuard;
use crate::metrics::Call;
use crate::plugin::{CallError, Observation, Outcome, Request, Run};
use crate::workqueue::Item;
use flight::Flight;
use std::sync::{Arc, OnceLock};
use tokio::time::Instant;
use writes::HostWrite;
use written::Written;

/// A reconcile in flight.
pub(super) struct Reconcile<'a> {
    controller: &'a Controller,
    version: &'a Version,
    /// The rollout, if the version is its candidate.
    rollout: Option<&'a Rollout>,
    item: &'a Item<ReconcileKey>,
    /// The identity of the writes, and the leadership in which they are allowed.
    write_identity: WriteIdentity,
    correlation_id: String,
    began: Instant,
    /// The reads of the plugin.
    recording: Arc<Recording>,
    /// What is remembered of the reconcile with its writes.
    writing: OnceLock<Arc<Writing>>,
}

/// Results of the calls so far; they also count when the reconcile fails halfway.
#[derive(Default)]
struct Progress {
    object: Option<Arc<Object>>,
    observed: Option<Observation>,
    patched: bool,
    /// Whether the plugin depends on something that changes without an event.
    saw_outside: bool,
    written: Written,
    /// Whether an annotation pauses the object.
    paused: bool,
    /// The value of `oarlock.dev/reconcile-at` when the reconcile began.
    asked: Option<String>,
    /// Whether that value has to be acknowledged later.
    acknowledge_again: bool,
    /// What the status needs, if the reconcile failed and its status could not be written.
    status_missing: Option<Next>,
    /// Events about annotations.
    warnings: Vec<Event>,
    /// What the version that runs would do, if a candidate reconciles.
    current: Option<Decision>,
    /// Recordings of the plugin's calls: one for each instance.
    flights: Vec<Flight>,
    /// Writes before the calls of the next recording.
    before: Vec<MadeWrite>,
}

impl<'a> Reconcile<'a> {
    pub(super) fn new(
        controller: &'a Controller,
        pinned: &'a PinnedVersion,
        item: &'a Item<ReconcileKey>,
        guard: &LeadershipGuard,
    ) -> Self {
        let (version, rollout) = (&**pinned.held(), pinned.rollout().map(|rollout| &**rollout));
        let of = format!("reconcile {} {}", controller.name, item.key);
        let correlation_id = oarlock_simulation::unique_id(&of).simple().to_string();
        let correlation_id = crate::shorten(&correlation_id, 12).to_owned();
        let write_identity = version.write_identity.within(guard);
        let recording = controller.dependencies.begin(&item.key);
        Self {
            controller,
            version,
            rollout,
            item,
            write_identity,
            correlation_id,
            began: Instant::now(),
            recording,
            writing: OnceLock::new(),
        }
    }

    /// The control loop: read the object, get-desired, get-actual. If they are equal, write the status; otherwise patch, apply,
    /// get-actual again, status.
    pub(super) async fn run(&self) -> ReconcileEnd {
        let mut progress = Progress::default();
        let end = self.drive(&mut progress).await.map_err(|failure| failure.hidden(&self.write_identity.secrets));
        let deleting = progress.object.as_ref().is_some_and(|o| o.deleting());
        let end = self.conclude(end, &mut progress, deleting).await;
        self.acknowledge(&end, &mut progress).await;
        self.warn(&mut progress);
        let mut next = next(&end, deleting);
        if let Some(status) = progress.status_missing.take() {
            next = next.with_status(status);
        }
        if progress.acknowledge_again {
            next = annotated::not_later(next);
        }
        let (key, version) = (&self.item.key, &self.controller.version);
        // No event and no resync runs the key of an object that is gone: its marks would stay.
        let marked = || version.reaches(key) && (next != Next::GivenUp || self.version.cached(key).is_some());
        if let Ok(end) = &end {
            let progressing = matches!(end, End::Progressing { .. });
            self.controller.marks.out_of_sync.set(key, progressing, || version.reaches(key));
            if matches!(end, End::Nothing | End::CleanedUp | End::Paused) {
                self.controller.dependencies.forget(key);
            } else {
                self.recording.end(matches!(end, End::Synced { .. }) && !progress.saw_outside);
            }
        } else if !marked() {
            self.controller.marks.out_of_sync.set(key, false, marked);
        }
        self.report(&end, &progress, &next);
        traced::ended(&end, &self.correlation_id);
        let failure = end.as_ref().err();
        self.remember_end(&end, &progress);
        self.keep_flights(&end, &mut progress);
        // After the recording, which tells of the failure.
        if !matches!(end, Err(Failure::HandedBack(_))) {
            self.controller.marks.failed.set(key, end.is_err(), marked);
        }
        ReconcileEnd {
            next,
            error: failure.map(ToString::to_string),
            strike: failure.is_some_and(Failure::is_strike),
            reason: failure.map_or("", Failure::reason),
            progressing: matches!(end, Ok(End::Progressing { .. })),
            paused: progress.paused,
            handed_back: matches!(failure, Some(Failure::HandedBack(_))),
            wrote: !progress.written.is_empty(),
            correlation_id: self.correlation_id.clone(),
        }
    }

    async fn drive(&self, progress: &mut Progress) -> Result<End, Failure> {
        // Read before the object: an object that is deleted between the two reads keeps its last run.
        let last = self.controller.tombstones.get(&self.item.key);
        let mut found = self.object().await?;
        if self.settle(found.as_ref(), progress).await? {
            found = self.object().await?;
        }
        self.read_annotations(found.as_deref(), progress);
        let Some(object) = found else { return self.gone(progress).await };
        if progress.paused {
            self.write_identity.add_handover_hint(&self.item.key.kind, &object);
            return Ok(self.leave_alone(object, progress));
        }
        if let Some(rollout) = self.rollout {
            self.controller.is_of_both(rollout, &self.item.key)?;
        }
        self.may_see().await?;
        if let Some(last) = last {
            if last.uid() == object.uid() {
                // The object was only missing from the watch.
                self.controller.tombstones.remove(&self.item.key, &last);
            } else if let Some(rollout) = self.rollout {
                let why = "another object had this name before, and the version that runs cleans up after it";
                return Err(rollout.give_back(&self.item.key, why));
            } else if let progressing @ End::Progressing { .. } = self.gone(progress).await? {
                // Another object had this name before: its cleanup comes first.
                let reason = "CleanupOfPredecessor".to_owned();
                let message = format!(
                    "waits for the cleanup of the deleted object that had this name (uid {}): get-actual still returns a state",
                    last.uid()
                );
                self.record(Some(&object), Event { warning: true, reason, message });
                return Ok(progressing);
            }
        }
        progress.object = Some(Arc::clone(&object));
        self.write_identity.add_handover_hint(&self.item.key.kind, &object);
        let finalizers = self.controller.shared.writer.finalizers();
        let (write_identity, kind) = (&self.write_identity, &self.item.key.kind);
        if self.lets_go(&object) {
            return Ok(End::Nothing);
        }
        // The finalizer is stored before the first side effect.
        let cleanup = self.version.loaded.manifest.cleanup;
        if cleanup && !object.deleting() && !object.has_finalizer(&write_identity.finalizer()) {
            if let Some(rollout) = self.rollout {
                self.controller.enter_finalizer(rollout, write_identity, &self.item.key).await?;
            }
            let began = Instant::now();
            let with_ours = finalizers.add(write_identity, kind, &object).await;
            self.host_wrote(progress, HostWrite::AddFinalizer, &with_ours, began.elapsed());
            progress.object = Some(with_ours.map_err(|error| Failure::write("add the finalizer", error))?);
        }
        let object = progress.object.clone().unwrap_or(object);
        if let Some(rollout) = self.rollout {
            let admitted = self.controller.admit(rollout, &self.item.key, &self.write_identity.guard).await?;
            progress.current = Some(admitted);
        }
        let request = self.request(Some(&object), None);
        let agree = self.converge(&request, progress).await?;
        let requeue_after = progress.observed.as_ref().and_then(|o| o.requeue_after);
        if !agree {
            return Ok(End::Progressing { requeue_after });
        }
        if !object.deleting() {
            return Ok(End::Synced { requeue_after });
        }
        let began = Instant::now();
        let removed = finalizers.remove(write_identity, kind, &object).await;
        self.host_wrote(progress, HostWrite::RemoveFinalizer, &removed, began.elapsed());
        removed.map_err(|error| Failure::write("remove the finalizer", error))?;
        Ok(End::CleanedUp)
    }

    /// Calls get-desired and get-actual; where they differ, calls patch and get-actual again. Returns whether they agree in the end.
    async fn converge(&self, request: &Arc<Request>, progress: &mut Progress) -> Result<bool, Failure> {
        let tape = self.controller.records.as_ref().map(|records| records.tape(request));
        progress.begin_flight(tape.as_ref());
        let run = Run {
            reads: Some(Arc::clone(&self.version.reads)),
            observer: Some(Arc::clone(&self.recording) as _),
            key: self.item.key.key.to_string(),
            correlation_id: self.correlation_id.clone(),
            dry_run: false,
            withheld: self.controller.shared.rehearsal.as_ref().map(|rehearsal| Arc::clone(rehearsal.withheld())),
            forgets: false,
            at_most: None,
            guard: self.write_identity.guard.clone(),
            tape,
            replay: None,
        };
        let mut instance = self.version.pool.take(run).await?;
        let desired = if request.deleting || request.object.is_none() {
            None
        } else {
            self.timed(Call::GetDesired, progress, instance.get_desired(request)).await?
        };
        progress.record(|results| results.desired = Some(desired.clone()));
        let observed = self.timed(Call::GetActual, progress, instance.get_actual(request)).await?;
        let actual = observed.state.clone();
        progress.observed = Some(observed);
        if compare::same(desired.as_deref(), actual.as_deref()) {
            progress.saw_outside |= !instance.depends_on_reads_only();
            self.version.pool.give_back(instance);
            return Ok(true);
        }
        progress.patched = true;
        let patched = instance.patch(request, desired.as_ref(), actual.as_ref());
        let outcome = self.timed(Call::Patch, progress, patched).await?;
        let carried_out = self.carry_out(&outcome, progress).await;
        let patch_requeue = outcome.requeue_after;
        progress.record(|results| results.outcome = Some(outcome));
        carried_out?;
        let mut again = self.timed(Call::GetActual, progress, instance.get_actual(request)).await?;
        progress.observe_again(&again);
        again.requeue_after = earlier(again.requeue_after, patch_requeue);
        let agree = compare::same(desired.as_deref(), again.state.as_deref());
        progress.observed = Some(again);
        progress.saw_outside |= !instance.depends_on_reads_only();
        self.version.pool.give_back(instance);
        if self.controller.breaker.patched(&self.item.key) {
            self.fight(progress, desired.as_deref(), actual.as_deref());
        }
        Ok(agree)
    }

    /// Makes the changes of a patch, and records its events.
    async fn carry_out(&self, outcome: &Outcome, progress: &mut Progress) -> Result<(), Failure> {
        if let (Some(rollout), Some(current), Some(object)) = (self.rollout, &progress.current, &progress.object) {
            let of = (&self.write_identity, &self.item.key, object);
            self.controller.enter(rollout, of, current, &outcome.changes).await?;
        }
        let (writer, of) = (&self.controller.shared.writer, outcome.changes.len());
        for (before, change) in outcome.changes.iter().enumerate() {
            let gives = self.gives(change);
            let began = Instant::now();
            let carried_out = writer.carry_out(&self.write_identity, change).await;
            let carried_out = carried_out.map_err(|error| error.hidden(&self.write_identity.secrets));
            self.changed(progress, change, gives, &carried_out, began.elapsed());
            carried_out.map_err(|error| Failure::change(change, before + 1, of, error))?;
            progress.written.note(|| change.summary());
        }
        for event in &outcome.events {
            self.record(progress.object.as_deref(), event.clone());
        }
        Ok(())
    }

    /// Undoes what the candidate of an aborted rollout wrote about the object. Returns whether something was undone.
    async fn settle(&self, object: Option<&Arc<Object>>, progress: &mut Progress) -> Result<bool, Failure> {
        let of = (&self.write_identity, self.version.identity.as_str());
        let (undone, refused) = self.controller.settle(of, &self.item.key, object, self.rollout).await?;
        if !refused.is_empty() {
            let message = format!("these writes of an aborted canary stay: {}", refused.join("; "));
            self.record(
                object.map(|object| &**object),
                Event { warning: true, reason: "CanaryNotUndone".to_owned(), message },
            );
        }
        let count = undone.len();
        undone.into_iter().for_each(|target| self.undid(target));
        if count > 0 {
            progress.written.note(|| format!("undo the canary's writes of {count} objects"));
        }
        Ok(count > 0)
    }

    /// The cached object, not older than the host's own last write.
    async fn object(&self) -> Result<Option<Arc<Object>>, Failure> {
        let ReconcileKey { kind, key } = &self.item.key;
        let found = self.version.reads.get_unchecked(kind, key).await;
        found.map_err(|e| Failure::Read(e.to_string()))
    }

    /// Checks that the grant lets the plugin read the object.
    async fn may_see(&self) -> Result<(), Failure> {
        let ReconcileKey { kind, key } = &self.item.key;
        let seen = self.version.reads.may_see(kind, key).await;
        // Only a missing grant is terminal. A failed request to the API server is retried.
        if seen.map_err(|e| Failure::Read(e.to_string()))? {
            return Ok(());
        }
        Err(Failure::NotGranted(format!(
            "the grant of plugin {} does not allow it to get {kind} {key}",
            self.controller.name
        )))
    }

    /// Runs the key of a deleted object once, for plugins without a finalizer. An object that was paused to its end is left alone.
    async fn gone(&self, progress: &mut Progress) -> Result<End, Failure> {
        let Some(last) = self.controller.tombstones.get(&self.item.key) else { return Ok(End::Nothing) };
        if !self.version.loaded.manifest.cleanup && !Annotations::of(&last, &self.controller.name).paused {
            let request = self.request(None, Some(&last));
            // Its observation is not one of an object that has the same name now.
            let mut of_last = Progress { written: std::mem::take(&mut progress.written), ..Progress::default() };
            let agree = self.converge(&request, &mut of_last).await;
            of_last.land();
            (progress.patched, progress.written) = (of_last.patched, of_last.written);
            progress.flights = of_last.flights;
            if !agree? {
                return Ok(End::Progressing { requeue_after: None });
            }
        }
        self.controller.tombstones.remove(&self.item.key, &last);
        Ok(End::Nothing)
    }

    fn request(&self, object: Option<&Arc<Object>>, last_seen: Option<&Arc<Object>>) -> Arc<Request> {
        let last_known = object.or(last_seen);
        Arc::new(Request {
            kind: GroupVersionKind::clone(&self.item.key.kind),
            key: self.item.key.key.clone(),
            uid: last_known.map(|o| o.uid().to_owned()).unwrap_or_default(),
            object: object.map(|o| o.json().into()),
            last_seen: last_seen.map(|o| o.json().into()),
            deleting: object.is_none_or(|o| o.deleting()),
            trigger: self.item.trigger,
            attempt: self.item.attempt,
            correlation_id: self.correlation_id.clone(),
            review: None,
            dry_run: false,
        })
    }

    async fn timed<T>(
        &self,
        call: Call,
        progress: &mut Progress,
        work: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        let began = Instant::now();
        let answer = work.await;
        let took = began.elapsed();
        self.controller.metrics.called(call, took);
        progress.record(|results| results.durations.push((call.as_str(), took)));
        answer
    }
}

fn earlier(a: Option<std::time::Duration>, b: Option<std::time::Duration>) -> Option<std::time::Duration> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
