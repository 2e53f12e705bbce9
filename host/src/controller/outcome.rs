//! The one table from how a reconcile ended to what happens to its key.

use crate::apply::WriteError;
use crate::apply::status::Ready;
use crate::plugin::CallError;
use std::time::Duration;

/// Between two tries of an object that is going but cannot be cleaned up as it is.
const SLOW_RETRY: Duration = Duration::from_secs(60);

/// Between two tries of an apply that another field manager stands against.
const CONFLICT_RETRY: Duration = Duration::from_secs(30);

/// How a reconcile ended.
#[derive(Debug)]
pub(super) enum End {
    /// There was nothing to do, not even a status.
    Nothing,
    /// Desired and actual agree.
    Synced {
        /// The plugin wants to look again.
        requeue_after: Option<Duration>,
    },
    /// Patched, and they do not agree yet.
    Progressing {
        /// The plugin wants to look again.
        requeue_after: Option<Duration>,
    },
    /// Everything made for it is gone, and our finalizer with it.
    CleanedUp,
}

/// Why a reconcile failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// A call had no answer.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A change, the finalizer or the status could not be written.
    #[error("{what}: {error}")]
    Write {
        /// Which.
        what: &'static str,
        /// Why.
        error: WriteError,
    },
    /// The object could not be read.
    #[error("the object could not be read: {0}")]
    Read(String),
    /// The plugin may not see its own primary.
    #[error("{0}")]
    NotGranted(String),
}

/// What happens to the key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Backoff forgotten, nothing planned.
    Done,
    /// Backoff forgotten, again after this long.
    After(Duration),
    /// It could not run now; its backoff stays as it is.
    Later(Duration),
    /// Another host may reconcile it by now: nothing is planned here.
    LeaseLost,
    /// Failed, and nobody tries again before something changes.
    GivenUp,
    /// Failed; again after this long, because somebody named the delay.
    RetryAfter(Duration),
    /// Failed; again with the key's own backoff.
    Retry,
}

impl Next {
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

/// The retry table.
pub(super) fn next(end: &Result<End, Failure>, deleting: bool) -> Next {
    match end {
        Ok(End::Nothing | End::CleanedUp | End::Synced { requeue_after: None }) => Next::Done,
        Ok(End::Synced { requeue_after: Some(delay) } | End::Progressing { requeue_after: Some(delay) }) => {
            Next::After(*delay)
        }
        Ok(End::Progressing { requeue_after: None }) => Next::Retry,
        Err(Failure::Call(CallError::Transient { delay: Some(delay), .. })) => Next::RetryAfter(*delay),
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
        Err(Failure::Write { error: WriteError::Conflict(message), .. }) if message.starts_with("Apply failed") => {
            Next::RetryAfter(CONFLICT_RETRY)
        }
        Err(_) => Next::Retry,
    }
}

impl Failure {
    /// Whether only a change of the object (or of the grant) can help.
    pub(super) fn is_terminal(&self) -> bool {
        match self {
            Self::Call(CallError::Terminal(_) | CallError::Denied { .. }) | Self::NotGranted(_) => true,
            Self::Write { error, .. } => {
                matches!(error, WriteError::Denied(_) | WriteError::Malformed(_) | WriteError::Invalid(_))
            }
            Self::Call(_) | Self::Read(_) => false,
        }
    }

    /// Whether the plugin itself is at fault in a way that only its author can mend; failures of the world outside are not.
    pub(super) fn is_strike(&self) -> bool {
        match self {
            Self::Call(error) => error.cause().is_some(),
            Self::Write { error, .. } => matches!(error, WriteError::Malformed(_)),
            Self::Read(_) | Self::NotGranted(_) => false,
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
        }
    }
}

/// What the Ready condition says.
pub(super) fn ready(end: &Result<End, Failure>, deleting: bool) -> Option<Ready> {
    let said = |ready: bool, reason: &str, message: String| Some(Ready { ready, reason: reason.to_owned(), message });
    match end {
        Ok(End::Nothing | End::CleanedUp) => None,
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
        Err(Failure::Write { what: "w", error })
    }

    #[test]
    fn the_retry_table() {
        let second = Duration::from_secs(1);
        let trap = CallError::Trap { call: "patch", reason: "unreachable".into() };
        let transient = |delay| CallError::Transient { delay, message: "m".into() };
        for (end, deleting, expected) in [
            (Ok(End::Nothing), false, Next::Done),
            (Ok(End::CleanedUp), true, Next::Done),
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
