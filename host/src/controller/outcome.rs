//! The retry table: from the end of a reconcile to the next step of its key.

use super::annotations::PAUSED;
use crate::apply::status::{ConditionStatus, Ready};
use crate::apply::{Change, WriteError};
use crate::plugin::CallError;
use crate::secrets::KnownSecrets;
use std::time::Duration;

/// Retry interval of a deleting object that cannot be cleaned up as it is.
const SLOW_RETRY: Duration = Duration::from_secs(60);

/// Retry interval of an apply that conflicts with another field manager.
const CONFLICT_RETRY: Duration = Duration::from_secs(30);

/// Longest retry interval of a failed key whose status is not written either.
const STATUS_RETRY: Duration = Duration::from_secs(30);

/// The API server's message about such a conflict begins so.
const APPLY_CONFLICT: &str = "Apply failed";

/// The end of a reconcile.
#[derive(Debug)]
pub(super) enum End {
    /// Nothing to do, not even a status.
    Nothing,
    /// Desired and actual agree.
    Synced {
        /// The plugin's requeue delay.
        requeue_after: Option<Duration>,
    },
    /// Patched, but desired and actual still differ.
    Progressing {
        /// The plugin's requeue delay.
        requeue_after: Option<Duration>,
    },
    /// All created objects are gone, and the plugin's finalizer too.
    CleanedUp,
    /// An annotation pauses the object: the plugin was not called.
    Paused,
}

impl End {
    /// For the log.
    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing to do",
            Self::Synced { .. } => "synced",
            Self::Progressing { .. } => "progressing",
            Self::CleanedUp => "cleaned up",
            Self::Paused => "paused",
        }
    }

    /// When the plugin wants to look again, in milliseconds.
    pub(super) fn requeue_after_ms(&self) -> Option<u64> {
        match self {
            Self::Synced { requeue_after } | Self::Progressing { requeue_after } => {
                requeue_after.map(crate::milliseconds)
            }
            Self::Nothing | Self::CleanedUp | Self::Paused => None,
        }
    }
}

/// Why a reconcile failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// A call failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A change, the finalizer or status not written.
    #[error("cannot {what}: {error}{place}")]
    Write {
        /// Verb and object.
        what: String,
        /// Of a change, where it stands among the changes of its patch, and what helps.
        place: String,
        /// Why.
        error: WriteError,
    },
    /// The read of the object failed.
    #[error("cannot read the object: {0}")]
    Read(String),
    /// The grant does not let the plugin read its own primary.
    #[error("{0}")]
    NotGranted(String),
    /// The candidate of a rollout gives the key back to the version that runs.
    #[error("the version that runs reconciles the object: {0}")]
    HandedBack(String),
}

/// The next step of the key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Forget the backoff; plan nothing.
    Done,
    /// Forget the backoff; run again after this delay.
    After(Duration),
    /// The key could not run now; its backoff stays.
    Later(Duration),
    /// Another host may be the leader by now: plan nothing here.
    LeaseLost,
    /// Failed; no retry before a change.
    GivenUp,
    /// Failed; run again after this delay, which the error names.
    RetryAfter(Duration),
    /// Failed; run again with the key's backoff.
    Retry,
}

impl Next {
    /// For the log.
    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::After(_) => "requeue",
            Self::Later(_) => "later",
            Self::LeaseLost => "lease lost",
            Self::GivenUp => "given up",
            Self::RetryAfter(_) => "retry",
            Self::Retry => "retry with backoff",
        }
    }

    /// The delay that is known, in milliseconds.
    pub(super) fn after_ms(&self) -> Option<u64> {
        match self {
            Self::After(delay) | Self::Later(delay) | Self::RetryAfter(delay) => Some(crate::milliseconds(*delay)),
            Self::Done | Self::LeaseLost | Self::GivenUp | Self::Retry => None,
        }
    }

    /// The next step of a failed key whose status is missing: without it, nothing tells why the reconcile failed.
    ///
    /// * `status` - what the failure of the status alone would lead to.
    pub(super) fn with_status(self, status: Self) -> Self {
        match (self, status) {
            (next, Self::GivenUp) => next,
            (Self::GivenUp, status) | (_, status @ Self::LeaseLost) => status,
            (Self::RetryAfter(delay), Self::RetryAfter(soon)) => Self::RetryAfter(delay.min(soon)),
            (Self::RetryAfter(delay), _) => Self::RetryAfter(delay.min(STATUS_RETRY)),
            (next, _) => next,
        }
    }

    /// For `controller_runtime_reconcile_total`.
    pub(super) fn result(&self) -> crate::metrics::ReconcileResult {
        use crate::metrics::ReconcileResult as R;
        match self {
            Self::Done => R::Success,
            Self::After(_) | Self::Later(_) | Self::LeaseLost => R::RequeueAfter,
            Self::GivenUp | Self::RetryAfter(_) | Self::Retry => R::Error,
        }
    }
}

/// The end of a reconcile, for the queue and the statistics.
pub(super) struct ReconcileEnd {
    /// The next step of the key.
    pub(super) next: Next,
    /// The error, if it failed.
    pub(super) error: Option<String>,
    /// Whether the failure is a strike.
    pub(super) strike: bool,
    /// The error's reason, as in the Ready condition.
    pub(super) reason: &'static str,
    /// Whether desired and actual still differ.
    pub(super) progressing: bool,
    /// Whether an annotation pauses the object: no strike and no success of the plugin.
    pub(super) paused: bool,
    /// Whether the candidate of a rollout gave the key back.
    pub(super) handed_back: bool,
    /// Whether it sent a write.
    pub(super) wrote: bool,
    /// Its correlation id.
    pub(super) correlation_id: String,
}

impl ReconcileEnd {
    /// The host panicked.
    pub(super) fn panicked() -> Self {
        Self {
            next: Next::Retry,
            error: Some("the host panicked; please report this".to_owned()),
            strike: false,
            reason: "HostError",
            progressing: false,
            paused: false,
            handed_back: false,
            wrote: false,
            correlation_id: String::new(),
        }
    }
}

/// The retry table.
pub(super) fn next(end: &Result<End, Failure>, deleting: bool) -> Next {
    match end {
        Ok(End::Nothing | End::CleanedUp | End::Paused | End::Synced { requeue_after: None }) => Next::Done,
        Ok(End::Synced { requeue_after: Some(delay) } | End::Progressing { requeue_after: Some(delay) }) => {
            Next::After(*delay)
        }
        Ok(End::Progressing { requeue_after: None }) => Next::Retry,
        Err(Failure::Call(CallError::Transient { delay: Some(delay), .. })) => Next::RetryAfter(*delay),
        Err(Failure::HandedBack(_)) => Next::Later(Duration::ZERO),
        Err(Failure::Write { error: WriteError::LeaseLost, .. }) => Next::LeaseLost,
        Err(failure) if failure.is_terminal() => {
            if deleting {
                Next::RetryAfter(SLOW_RETRY)
            } else {
                Next::GivenUp
            }
        }
        Err(Failure::Write { error: WriteError::TooManyRequests { retry_after: Some(delay), .. }, .. }) => {
            Next::RetryAfter(*delay)
        }
        Err(Failure::Write { error: WriteError::Conflict(message), .. }) if message.starts_with(APPLY_CONFLICT) => {
            Next::RetryAfter(CONFLICT_RETRY)
        }
        Err(_) => Next::Retry,
    }
}

impl Failure {
    /// The host's own write failed.
    ///
    /// * `what` - verb and object, after "cannot".
    pub(super) fn write(what: &str, error: WriteError) -> Self {
        Self::Write { what: what.to_owned(), place: String::new(), error }
    }

    /// A change failed.
    ///
    /// * `number` - from 1.
    pub(super) fn change(change: &Change, number: usize, of: usize, error: WriteError) -> Self {
        let mut place = if of > 1 { format!(" (change {number} of {of})") } else { String::new() };
        if matches!(&error, WriteError::Conflict(message) if message.starts_with(APPLY_CONFLICT)) {
            place.push_str("; an apply with force takes the fields over");
        }
        Self::Write { what: change.summary(), place, error }
    }

    /// The same failure with placeholders for secrets in what it says of the plugin's changes.
    pub(super) fn hidden(self, secrets: &KnownSecrets) -> Self {
        match self {
            Self::Write { what, place, error } => {
                Self::Write { what: secrets.hidden(what), place, error: error.hidden(secrets) }
            }
            other => other,
        }
    }

    /// Whether only a change of the object (or of the grant) can help.
    pub(super) fn is_terminal(&self) -> bool {
        match self {
            Self::Call(CallError::Terminal(_) | CallError::Denied { .. }) | Self::NotGranted(_) => true,
            Self::Write { error, .. } => {
                matches!(error, WriteError::Denied(_) | WriteError::Malformed(_) | WriteError::Invalid(_))
            }
            Self::Call(_) | Self::Read(_) | Self::HandedBack(_) => false,
        }
    }

    /// Whether the failure is a strike: a fault of the plugin that only its author can fix. Failures outside the plugin are none.
    pub(super) fn is_strike(&self) -> bool {
        match self {
            Self::Call(error) => error.cause().is_some(),
            Self::Write { error, .. } => matches!(error, WriteError::Malformed(_)),
            Self::Read(_) | Self::NotGranted(_) | Self::HandedBack(_) => false,
        }
    }

    /// UpperCamelCase, for the Ready condition and the event.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Call(CallError::Transient { .. } | CallError::Starved { .. }) => "ReconcileError",
            Self::Call(CallError::Terminal(_) | CallError::Denied { .. }) => "TerminalError",
            Self::Call(_) => "PluginError",
            Self::NotGranted(_) | Self::Write { error: WriteError::Denied(_), .. } => "NotGranted",
            Self::Write { error: WriteError::Conflict(_), .. } => "Conflict",
            Self::Write { .. } | Self::Read(_) => "ApiError",
            Self::HandedBack(_) => "HandedBack",
        }
    }
}

/// The Ready condition of this end.
pub(super) fn ready(end: &Result<End, Failure>, deleting: bool) -> Option<Ready> {
    let said = |ready: bool, reason: &str, message: String| {
        let status = if ready { ConditionStatus::True } else { ConditionStatus::False };
        Some(Ready { status, reason: reason.to_owned(), message })
    };
    match end {
        Ok(End::Nothing | End::CleanedUp) => None,
        Ok(End::Paused) => {
            let waits =
                if deleting { "the deletion waits until the annotation is removed" } else { "no plugin changes it" };
            let message = format!("the annotation {PAUSED}, of all plugins or of this one, pauses the object: {waits}");
            Some(Ready { status: ConditionStatus::Unknown, reason: "Paused".to_owned(), message })
        }
        Ok(End::Synced { .. }) => said(true, "Synced", "the desired state is the actual state".to_owned()),
        Ok(End::Progressing { .. }) if deleting => {
            said(false, "Deleting", "waiting until everything made for this object is gone".to_owned())
        }
        Ok(End::Progressing { .. }) => {
            said(false, "Progressing", "patched; the actual state is not yet the desired one".to_owned())
        }
        Err(failure) => said(false, failure.reason(), failure.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(error: CallError) -> Result<End, Failure> {
        Err(Failure::Call(error))
    }

    fn write(error: WriteError) -> Result<End, Failure> {
        Err(Failure::write("w", error))
    }

    #[test]
    fn n1_log_event_and_condition_name_the_change_that_failed() {
        let binding = serde_json::json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": {"name": "admins", "namespace": "team-blue"}});
        let not_found = || WriteError::NotFound("namespaces \"team-blue\" not found".to_owned());
        let failed = |of| Failure::change(&Change::Create(binding.clone()), 2.min(of), of, not_found());
        let message = "cannot create RoleBinding team-blue/admins: namespaces \"team-blue\" not found (change 2 of 3)";
        assert_eq!(failed(3).to_string(), message);
        assert_eq!(ready(&Err(failed(3)), false).map(|ready| ready.message).as_deref(), Some(message));
        assert!(failed(1).to_string().ends_with("not found"), "{}", failed(1));
        let own = Failure::write("add the finalizer", WriteError::LeaseLost);
        assert!(own.to_string().starts_with("cannot add the finalizer: "), "{own}");
    }

    #[test]
    fn the_condition_of_a_paused_object_names_the_annotation_and_the_deletion_that_waits() {
        for (deleting, part) in [(false, "no plugin changes it"), (true, "the deletion waits")] {
            let ready = ready(&Ok(End::Paused), deleting).unwrap();
            assert_eq!((ready.status, ready.reason.as_str()), (ConditionStatus::Unknown, "Paused"));
            assert!(ready.message.contains(PAUSED) && ready.message.contains(part), "{}", ready.message);
        }
    }

    #[test]
    fn a_failure_whose_status_is_not_written_is_retried() {
        let (soon, late) = (Duration::from_secs(1), Duration::from_secs(3600));
        let of = |error| next(&write(error), false);
        let busy = || of(WriteError::TooManyRequests { retry_after: Some(soon), message: "m".into() });
        let broken = || of(WriteError::Server("500".into()));
        for (next, status, expected) in [
            (Next::GivenUp, busy(), Next::RetryAfter(soon)),
            (Next::GivenUp, broken(), Next::Retry),
            (Next::GivenUp, of(WriteError::Denied("d".into())), Next::GivenUp),
            (Next::RetryAfter(late), busy(), Next::RetryAfter(soon)),
            (Next::RetryAfter(late), broken(), Next::RetryAfter(STATUS_RETRY)),
            (Next::Retry, busy(), Next::Retry),
            (Next::Retry, of(WriteError::LeaseLost), Next::LeaseLost),
        ] {
            assert_eq!(next.with_status(status), expected);
        }
    }

    #[test]
    fn the_retry_table() {
        let second = Duration::from_secs(1);
        let trap = CallError::Trap { call: "patch", reason: "unreachable".into() };
        let transient = |delay| CallError::Transient { delay, message: "m".into() };
        for (end, deleting, expected) in [
            (Ok(End::Nothing), false, Next::Done),
            (Ok(End::CleanedUp), true, Next::Done),
            (Ok(End::Paused), false, Next::Done),
            (Ok(End::Paused), true, Next::Done),
            (Ok(End::Synced { requeue_after: None }), false, Next::Done),
            (Ok(End::Synced { requeue_after: Some(second) }), false, Next::After(second)),
            (Ok(End::Progressing { requeue_after: None }), false, Next::Retry),
            (Ok(End::Progressing { requeue_after: Some(second) }), true, Next::After(second)),
            (call(transient(None)), false, Next::Retry),
            (call(transient(Some(second))), false, Next::RetryAfter(second)),
            (call(trap), false, Next::Retry),
            (call(CallError::Starved { call: "patch", seconds: 5 }), false, Next::Retry),
            (call(CallError::Terminal("t".into())), false, Next::GivenUp),
            (call(CallError::Terminal("t".into())), true, Next::RetryAfter(SLOW_RETRY)),
            (write(WriteError::Denied("d".into())), false, Next::GivenUp),
            (write(WriteError::Invalid("i".into())), false, Next::GivenUp),
            (write(WriteError::Conflict("Operation cannot be fulfilled".into())), false, Next::Retry),
            (
                write(WriteError::Conflict("Apply failed with 1 conflict".into())),
                false,
                Next::RetryAfter(CONFLICT_RETRY),
            ),
            (
                write(WriteError::TooManyRequests { message: String::new(), retry_after: Some(second) }),
                false,
                Next::RetryAfter(second),
            ),
            (write(WriteError::TooManyRequests { message: String::new(), retry_after: None }), false, Next::Retry),
            (write(WriteError::Forbidden("f".into())), false, Next::Retry),
            (write(WriteError::Server("500".into())), false, Next::Retry),
            (write(WriteError::Transport("t".into())), false, Next::Retry),
            (Err(Failure::Read("could not list the resources of v1".into())), false, Next::Retry),
            (Err(Failure::NotGranted("n".into())), false, Next::GivenUp),
        ] {
            assert_eq!(next(&end, deleting), expected, "{end:?} deleting: {deleting}");
            let failed = expected.result() == crate::metrics::ReconcileResult::Error;
            assert!(failed || end.is_ok(), "{end:?} is counted as a success");
        }
    }
}
