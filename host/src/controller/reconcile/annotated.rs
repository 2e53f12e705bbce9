//! What a reconcile does because of annotations: it leaves a paused object alone, and acknowledges a request.

use super::{HostWrite, Progress, Reconcile};
use crate::apply::{WriteError, acknowledgement};
use crate::controller::annotations::{self, Annotations, PAUSED, RECONCILE_AT, warning};
use crate::controller::outcome::{End, Failure, Next};
use crate::informer::Object;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Retry interval of an acknowledgement that the API server could not store.
const ACKNOWLEDGE_AGAIN: Duration = Duration::from_secs(30);

impl Reconcile<'_> {
    /// Reads the annotations of the object, and records whether it is paused.
    ///
    /// A paused object that is being deleted is let go when the plugin does not hold it.
    pub(super) fn read_annotations(&self, object: Option<&Object>, progress: &mut Progress) {
        let found = object.map(|object| Annotations::of(object, &self.controller.name)).unwrap_or_default();
        progress.warnings.extend(found.warnings());
        progress.paused = found.paused && !object.is_some_and(|object| self.lets_go(object));
        progress.asked = found.reconcile_at;
        let Self { controller, item, .. } = self;
        controller.marks.paused.set(&item.key, progress.paused, || controller.version.reaches(&item.key));
    }

    /// Whether the object is being deleted, and the plugin has nothing to clean up.
    pub(super) fn lets_go(&self, object: &Object) -> bool {
        let cleanup = self.version.loaded.manifest.cleanup;
        object.deleting() && !(cleanup && object.has_finalizer(&self.write_identity.finalizer()))
    }

    /// Ends a reconcile before it begins.
    pub(super) fn leave_alone(&self, object: Arc<Object>, progress: &mut Progress) -> End {
        if object.deleting() {
            let message = format!(
                "the deletion waits: the annotation {PAUSED}, of all plugins or of this one, pauses the object; remove it, and plugin {} cleans up",
                self.controller.name
            );
            progress.warnings.push(warning("Paused", message));
        }
        progress.object = Some(object);
        End::Paused
    }

    /// Acknowledges the value of `oarlock.dev/reconcile-at` that the object had when the reconcile began. A failure does not fail the
    /// reconcile: it is logged and told in an event.
    pub(super) async fn acknowledge(&self, end: &Result<End, Failure>, progress: &mut Progress) {
        let (Ok(End::Synced { .. } | End::Progressing { .. }), Some(asked)) = (end, progress.asked.take()) else {
            return;
        };
        let Some(object) = progress.object.clone() else { return };
        let name = acknowledgement(&self.controller.name);
        if annotations::value(&object, &name).as_ref() == Some(&asked) {
            return;
        }
        let cleans_up = self.version.loaded.manifest.cleanup;
        let (writer, kind) = (self.controller.shared.writer.annotations(), &self.item.key.kind);
        let began = Instant::now();
        let stored = writer.acknowledge(&self.write_identity, kind, &object, &asked, cleans_up).await;
        self.host_wrote(progress, HostWrite::Acknowledgement, &stored, began.elapsed());
        if let Err(error) = stored {
            progress.acknowledge_again = is_temporary(&error);
            let remedy = if matches!(error, WriteError::Denied(_)) { "; grant it patch on its primary" } else { "" };
            let message = format!("reconciled as {RECONCILE_AT} asks, but cannot write {name}: {error}{remedy}");
            progress.warnings.push(warning("NotAcknowledged", message));
        }
    }

    /// Records the warnings of this reconcile that the last one did not have.
    pub(super) fn warn(&self, progress: &mut Progress) {
        let warnings = std::mem::take(&mut progress.warnings);
        let uid = progress.object.as_ref().map(|object| object.uid().to_owned()).unwrap_or_default();
        for event in self.controller.marks.complaints.news(&self.item.key, &uid, warnings) {
            tracing::warn!(plugin = self.controller.name, key = %self.item.key, reason = event.reason, "{}", event.message);
            self.record(progress.object.as_deref(), event);
        }
    }
}

/// The next step of a key whose acknowledgement is missing: at the latest it runs again after a while.
pub(super) fn not_later(next: Next) -> Next {
    match next {
        Next::Done => Next::After(ACKNOWLEDGE_AGAIN),
        Next::After(delay) => Next::After(delay.min(ACKNOWLEDGE_AGAIN)),
        other => other,
    }
}

/// Whether a later attempt may succeed without a change of the object, the grant or RBAC.
fn is_temporary(error: &WriteError) -> bool {
    matches!(error, WriteError::Server(_) | WriteError::Transport(_) | WriteError::TooManyRequests { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_acknowledgement_delays_no_retry_and_fails_nothing() {
        let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
        for (next, expected) in [
            (Next::Done, Next::After(ACKNOWLEDGE_AGAIN)),
            (Next::After(second), Next::After(second)),
            (Next::After(minute), Next::After(ACKNOWLEDGE_AGAIN)),
            (Next::Retry, Next::Retry),
        ] {
            assert_eq!(not_later(next), expected);
        }
        assert!(is_temporary(&WriteError::Server("500".into())));
        assert!(!is_temporary(&WriteError::Denied("d".into())) && !is_temporary(&WriteError::Forbidden("f".into())));
    }
}
