//! One reconcile: from a key to the key's next step.

mod annotated;
mod written;

use super::annotations::Annotations;
use super::dependencies::Recording;
use super::outcome::{End, Failure, Next, ReconcileEnd, next, ready};
use super::{Controller, ReconcileKey, Version, compare};
use crate::api::GroupVersionKind;
use crate::apply::events::{Event, Regarding};
use crate::apply::{WriteError, WriteIdentity};
use crate::informer::Object;
use crate::lease::LeadershipGuard;
use crate::metrics::Call;
use crate::plugin::{CallError, Observation, Request, Run};
use crate::workqueue::{Cause, Item};
use serde_json::Value;
use std::sync::Arc;
use tokio::time::Instant;
use written::Written;

/// A reconcile in flight.
pub(super) struct Reconcile<'a> {
    controller: &'a Controller,
    version: &'a Version,
    item: &'a Item<ReconcileKey>,
    /// The identity of the writes, and the leadership in which they are allowed.
    write_identity: WriteIdentity,
    correlation_id: String,
    began: Instant,
    /// The reads of the plugin.
    recording: Arc<Recording>,
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
    /// Events about annotations.
    warnings: Vec<Event>,
}

impl<'a> Reconcile<'a> {
    pub(super) fn new(
        controller: &'a Controller,
        version: &'a Version,
        item: &'a Item<ReconcileKey>,
        guard: &LeadershipGuard,
    ) -> Self {
        let correlation_id = uuid::Uuid::new_v4().simple().to_string();
        let correlation_id = crate::shorten(&correlation_id, 12).to_owned();
        let write_identity = version.write_identity.within(guard);
        let recording = controller.dependencies.begin(&item.key);
        Self { controller, version, item, write_identity, correlation_id, began: Instant::now(), recording }
    }

    /// The control loop: read the object, get-desired, get-actual. If they are equal, write the status; otherwise patch, apply,
    /// get-actual again, status.
    pub(super) async fn run(&self) -> ReconcileEnd {
        let mut progress = Progress::default();
        let end = self.drive(&mut progress).await;
        let deleting = progress.object.as_ref().is_some_and(|o| o.deleting());
        let end = self.conclude(end, &mut progress, deleting).await;
        self.acknowledge(&end, &mut progress).await;
        self.warn(&mut progress);
        let mut next = next(&end, deleting);
        if progress.acknowledge_again {
            next = annotated::not_later(next);
        }
        if let Ok(end) = &end {
            let (key, version) = (&self.item.key, &self.controller.version);
            let progressing = matches!(end, End::Progressing { .. });
            self.controller.marks.out_of_sync.set(key, progressing, || version.reaches(key));
            if matches!(end, End::Nothing | End::CleanedUp | End::Paused) {
                self.controller.dependencies.forget(key);
            } else {
                self.recording.end(matches!(end, End::Synced { .. }) && !progress.saw_outside);
            }
        }
        self.report(&end, &progress, &next);
        let failure = end.as_ref().err();
        ReconcileEnd {
            next,
            error: failure.map(ToString::to_string),
            strike: failure.is_some_and(Failure::is_strike),
            reason: failure.map_or("", Failure::reason),
            progressing: matches!(end, Ok(End::Progressing { .. })),
            paused: progress.paused,
            wrote: !progress.written.is_empty(),
            correlation_id: self.correlation_id.clone(),
        }
    }

    async fn drive(&self, progress: &mut Progress) -> Result<End, Failure> {
        // Read before the object: an object that is deleted between the two reads keeps its last run.
        let last = self.controller.tombstones.get(&self.item.key);
        let found = self.object().await?;
        self.read_annotations(found.as_deref(), progress);
        let Some(object) = found else { return self.gone(progress).await };
        if progress.paused {
            self.write_identity.add_handover_hint(&self.item.key.kind, &object);
            return Ok(self.leave_alone(object, progress));
        }
        self.may_see().await?;
        if let Some(last) = last {
            if last.uid() == object.uid() {
                // The object was only missing from the watch.
                self.controller.tombstones.remove(&self.item.key, &last);
            } else if let progressing @ End::Progressing { .. } = self.gone(progress).await? {
                // Another object had this name before: its cleanup comes first.
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
            let with_ours = finalizers
                .add(write_identity, kind, &object)
                .await
                .map_err(|error| Failure::write("add the finalizer", error))?;
            progress.object = Some(with_ours);
            progress.written.note(|| "add finalizer".to_owned());
        }
        let object = progress.object.clone().unwrap_or(object);
        let request = self.request(Some(&object), None);
        let agree = self.converge(&request, progress).await?;
        let requeue_after = progress.observed.as_ref().and_then(|o| o.requeue_after);
        if !agree {
            return Ok(End::Progressing { requeue_after });
        }
        if !object.deleting() {
            return Ok(End::Synced { requeue_after });
        }
        finalizers
            .remove(write_identity, kind, &object)
            .await
            .map_err(|error| Failure::write("remove the finalizer", error))?;
        progress.written.note(|| "remove finalizer".to_owned());
        Ok(End::CleanedUp)
    }

    /// Calls get-desired and get-actual; where they differ, calls patch and get-actual again. Returns whether they agree in the end.
    async fn converge(&self, request: &Request, progress: &mut Progress) -> Result<bool, Failure> {
        let run = Run {
            reads: Some(Arc::clone(&self.version.reads)),
            observer: Some(Arc::clone(&self.recording) as _),
            key: self.item.key.key.to_string(),
            correlation_id: self.correlation_id.clone(),
            dry_run: false,
            at_most: None,
            guard: self.write_identity.guard.clone(),
        };
        let mut instance = self.version.pool.take(run).await?;
        let desired = if request.deleting || request.object.is_none() {
            None
        } else {
            self.timed(Call::GetDesired, instance.get_desired(request)).await?
        };
        let observed = self.timed(Call::GetActual, instance.get_actual(request)).await?;
        let actual = observed.state.clone();
        progress.observed = Some(observed);
        if compare::same(desired.as_deref(), actual.as_deref()) {
            progress.saw_outside |= !instance.depends_on_reads_only();
            self.version.pool.give_back(instance);
            return Ok(true);
        }
        progress.patched = true;
        let outcome = self.timed(Call::Patch, instance.patch(request, desired.as_ref(), actual.as_ref())).await?;
        let (writer, of) = (&self.controller.shared.writer, outcome.changes.len());
        for (before, change) in outcome.changes.iter().enumerate() {
            let carried_out = writer.carry_out(&self.write_identity, change).await;
            carried_out.map_err(|error| Failure::change(change, before + 1, of, error))?;
            progress.written.note(|| change.summary());
        }
        for event in outcome.events {
            self.record(progress.object.as_deref(), event);
        }
        let mut again = self.timed(Call::GetActual, instance.get_actual(request)).await?;
        again.requeue_after = earlier(again.requeue_after, outcome.requeue_after);
        let agree = compare::same(desired.as_deref(), again.state.as_deref());
        progress.observed = Some(again);
        progress.saw_outside |= !instance.depends_on_reads_only();
        self.version.pool.give_back(instance);
        if self.controller.breaker.patched(&self.item.key) {
            self.fight(progress, desired.as_deref(), actual.as_deref());
        }
        Ok(agree)
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
        if !self.version.loaded.manifest.cleanup && !Annotations::of(&last).paused {
            let request = self.request(None, Some(&last));
            // Its observation is not one of an object that has the same name now.
            let mut of_last = Progress { written: std::mem::take(&mut progress.written), ..Progress::default() };
            let agree = self.converge(&request, &mut of_last).await;
            (progress.patched, progress.written) = (of_last.patched, of_last.written);
            if !agree? {
                return Ok(End::Progressing { requeue_after: None });
            }
        }
        self.controller.tombstones.remove(&self.item.key, &last);
        Ok(End::Nothing)
    }

    fn request(&self, object: Option<&Arc<Object>>, last_seen: Option<&Arc<Object>>) -> Request {
        let last_known = object.or(last_seen);
        Request {
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
        }
    }

    /// Writes status, Ready condition and events. When the status write fails, the reconcile fails, and the workqueue retries its key.
    async fn conclude(
        &self,
        end: Result<End, Failure>,
        progress: &mut Progress,
        deleting: bool,
    ) -> Result<End, Failure> {
        let Some(object) = progress.object.clone() else { return end };
        // The API server is overloaded and names a retry time: it would also reject a status or an event.
        if matches!(end, Err(Failure::Write { error: WriteError::TooManyRequests { .. }, .. })) {
            return end;
        }
        if let Err(failure) = &end {
            if let Failure::Call(e) = failure
                && let Some(cause) = e.cause()
            {
                self.controller.metrics.trapped(cause);
            }
            let (reason, message) = (failure.reason().to_owned(), failure.to_string());
            self.record(Some(&object), Event { warning: true, reason, message });
        }
        let ready = ready(&end, deleting).filter(|_| self.version.manages_status(&self.item.key.kind));
        // A plugin that observed and returned no status has no fields: the fields of an earlier version are removed.
        let observed = progress.observed.as_ref().map(|o| o.status.clone().unwrap_or_default());
        let wrote = || object.managed().is_some_and(|managed| managed.contains(&self.write_identity.host_manager()));
        let something = ready.is_some() || observed.as_ref().is_some_and(|fields| !fields.is_empty() || wrote());
        if matches!(end, Ok(End::Nothing | End::CleanedUp)) || !something {
            return end;
        }
        let kind = &self.item.key.kind;
        let status = self.controller.shared.writer.status();
        match status.write(&self.write_identity, kind, &object, observed.as_ref(), ready.as_ref()).await {
            Ok(None) => end,
            Ok(Some(written)) => {
                progress.object = Some(written);
                progress.written.note(|| "apply status".to_owned());
                end
            }
            Err(error) => {
                tracing::warn!(plugin = self.controller.name, key = %self.item.key, %error, "status not written");
                end.and(Err(Failure::write("write the status", error)))
            }
        }
    }

    fn fight(&self, progress: &Progress, desired: Option<&Value>, actual: Option<&Value>) {
        let place = compare::place(desired, actual);
        let message = format!(
            "patched again and again, last because {place} differed: another writer changes it back, or the plugin never \
             wants the same twice; slowed down"
        );
        tracing::warn!(plugin = self.controller.name, key = %self.item.key, place, "patched again and again; slowed down");
        self.record(progress.object.as_deref(), Event { warning: true, reason: "Fighting".to_owned(), message });
    }

    fn record(&self, object: Option<&Object>, event: Event) {
        if let Some(object) = object {
            let about = Regarding::new(&self.item.key.kind, object);
            self.controller.shared.recorder.record(&self.write_identity, &about, event);
        }
    }

    async fn timed<T>(&self, call: Call, work: impl Future<Output = Result<T, CallError>>) -> Result<T, CallError> {
        let began = Instant::now();
        let answer = work.await;
        self.controller.metrics.called(call, began.elapsed());
        answer
    }

    /// The event that enqueued the key, for the log: `ConfigMap team-a/settings modified`.
    fn cause(&self) -> Option<String> {
        self.item.cause.as_ref().map(|cause| match cause {
            Cause::Own(happened) => format!("{} {happened}", self.item.key),
            Cause::Other(event) => event.to_string(),
        })
    }

    /// Writes the reconcile's log line.
    fn report(&self, end: &Result<End, Failure>, progress: &Progress, next: &Next) {
        let plugin = &self.controller.name;
        let key = self.item.key.to_string();
        let attempt = self.item.attempt;
        let trigger = self.item.trigger.as_str();
        let duration_ms = (self.began.elapsed().as_secs_f64() * 1e6).round() / 1e3;
        let correlation_id = &self.correlation_id;
        // The level of an event is a constant.
        macro_rules! reconciled {
            ($level:ident, $result:expr, $requeue_after_ms:expr) => {
                tracing::$level!(
                    plugin,
                    key,
                    attempt,
                    duration_ms,
                    trigger,
                    cause = self.cause(),
                    written = progress.written.list(),
                    correlation_id,
                    result = $result,
                    requeue_after_ms = $requeue_after_ms,
                    "reconciled"
                )
            };
        }
        match end {
            Ok(end) if progress.patched => reconciled!(info, end.as_str(), end.requeue_after_ms()),
            Ok(end) => reconciled!(debug, end.as_str(), end.requeue_after_ms()),
            Err(e) => {
                let (reason, retry_after_ms, next) = (e.reason(), next.after_ms(), next.as_str());
                tracing::warn!(plugin, key, attempt, duration_ms, trigger, cause = self.cause(), written = progress.written.list(), correlation_id, reason, error = %e, next, retry_after_ms, "reconcile failed");
            }
        }
    }
}

fn earlier(a: Option<std::time::Duration>, b: Option<std::time::Duration>) -> Option<std::time::Duration> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
