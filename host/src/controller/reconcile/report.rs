//! What a reconcile reports: status, Ready condition, events, and its log line.

use super::super::compare;
use super::super::outcome::{End, Failure, Next, next, ready};
use super::{HostWrite, Progress, Reconcile};
use crate::apply::WriteError;
use crate::apply::events::{Event, Regarding};
use crate::informer::Object;
use crate::workqueue::Cause;
use serde_json::Value;
use tokio::time::Instant;

impl Reconcile<'_> {
    /// Writes status, Ready condition and events. When the status write fails, the reconcile fails, and the workqueue retries its key.
    pub(super) async fn conclude(
        &self,
        end: Result<End, Failure>,
        progress: &mut Progress,
        deleting: bool,
    ) -> Result<End, Failure> {
        let Some(object) = progress.object.clone() else { return end };
        if matches!(end, Err(Failure::HandedBack(_))) {
            return end;
        }
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
        let began = Instant::now();
        let stored = status.write(&self.write_identity, kind, &object, observed.as_ref(), ready.as_ref()).await;
        if !matches!(stored, Ok(None)) {
            self.host_wrote(progress, HostWrite::Status, &stored, began.elapsed());
        }
        match stored {
            Ok(None) => end,
            Ok(Some(written)) => {
                progress.object = Some(written);
                end
            }
            Err(error) => {
                let error = error.hidden(&self.write_identity.secrets);
                tracing::warn!(plugin = self.controller.name, key = %self.item.key, %error, "status not written");
                let failure = Err(Failure::write("write the status", error));
                if end.is_ok() {
                    return failure;
                }
                progress.status_missing = Some(next(&failure, deleting));
                end
            }
        }
    }

    /// Tells of a key that is patched again and again.
    pub(super) fn fight(&self, progress: &Progress, desired: Option<&Value>, actual: Option<&Value>) {
        let place = self.write_identity.secrets.hidden(compare::place(desired, actual));
        let message = format!(
            "patched again and again, last because {place} differed: another writer changes it back, or the plugin never \
             wants the same twice; slowed down"
        );
        tracing::warn!(plugin = self.controller.name, key = %self.item.key, place, "patched again and again; slowed down");
        self.record(progress.object.as_deref(), Event { warning: true, reason: "Fighting".to_owned(), message });
    }

    /// Records an event about the object, if there is one.
    pub(super) fn record(&self, object: Option<&Object>, event: Event) {
        if let Some(object) = object {
            let about = Regarding::new(&self.item.key.kind, object);
            self.controller.shared.recorder.record(&self.write_identity, &about, event);
        }
    }

    /// The event that enqueued the key, for the log: `ConfigMap team-a/settings modified`.
    pub(super) fn cause(&self) -> Option<String> {
        self.item.cause.as_ref().map(|cause| match cause {
            Cause::Own(happened) => format!("{} {happened}", self.item.key),
            Cause::Other(event) => event.to_string(),
        })
    }

    /// Writes the reconcile's log line.
    pub(super) fn report(&self, end: &Result<End, Failure>, progress: &Progress, next: &Next) {
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
            Err(Failure::HandedBack(why)) => tracing::debug!(plugin, key, why, "handed back to the version that runs"),
            Err(e) => {
                let (reason, retry_after_ms, next) = (e.reason(), next.after_ms(), next.as_str());
                tracing::warn!(plugin, key, attempt, duration_ms, trigger, cause = self.cause(), written = progress.written.list(), correlation_id, reason, error = %e, next, retry_after_ms, "reconcile failed");
            }
        }
    }
}
