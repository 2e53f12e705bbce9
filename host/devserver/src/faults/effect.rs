//! Effects of fault rules on a request.

use std::{io, os::unix::fs::MetadataExt as _, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::StatusCode;
use rustix::process::{Pid, Signal, getuid, kill_process};

use super::{
    FaultState,
    plan::{End, FaultDecision},
};
use crate::{
    http::{request::Request, response::Response},
    model::status::{ApiError, Result},
};

/// The connection is cut instead of a response.
#[derive(Debug)]
pub(crate) struct Cut;

impl Cut {
    /// A body that fails before its first byte: the connection ends without one.
    pub(crate) fn body() -> Body {
        Body::from_stream(stream::once(async { Err::<Bytes, _>(Self::error()) }))
    }

    /// The error at the end of a cut stream.
    pub(crate) fn error() -> io::Error {
        io::Error::new(io::ErrorKind::ConnectionReset, "cut by a fault rule")
    }
}

impl FaultState {
    /// Wraps the handling of a request into its faults.
    ///
    /// * `act` - the handling of the request; not polled when a fault prevents it.
    pub(crate) async fn around(
        &self,
        call: &Request,
        decision: &FaultDecision,
        act: impl Future<Output = Result<Response>> + Send,
    ) -> std::result::Result<Result<Response>, Cut> {
        if decision.compact {
            self.store.compact();
        }
        self.wait(decision.before).await;
        let Some(end) = &decision.end else {
            let outcome = act.await;
            self.wait(decision.after).await;
            return Ok(outcome);
        };
        // The handling of a request without a visible response.
        let unseen = async {
            if let Err(error) = act.await {
                tracing::debug!(status = %error.code(), path = call.path, "a request whose answer is lost was refused");
            }
            self.wait(decision.after).await;
        };
        match end {
            End::Answer { code, reason, message, retry_after, after_effect } => {
                if *after_effect {
                    unseen.await;
                }
                let code = StatusCode::from_u16(*code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                Ok(Err(ApiError::injected(code, reason.as_deref(), message.as_deref(), *retry_after)))
            }
            End::Hang { rule, after_effect } => {
                if *after_effect {
                    unseen.await;
                }
                self.until_gone(rule).await;
                Err(Cut)
            }
            End::Cut { after_effect } => {
                if *after_effect {
                    unseen.await;
                }
                Err(Cut)
            }
            End::Crash { kill } => {
                unseen.await;
                if let Some(pid) = kill {
                    end_process(*pid);
                }
                Err(Cut)
            }
        }
    }

    async fn wait(&self, time: Duration) {
        if time.is_zero() {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = self.stop.cancelled() => {}
        }
    }

    /// Waits until a rule is removed.
    async fn until_gone(&self, rule: &str) {
        let mut changed = self.changed.subscribe();
        while self.ask(|plan| plan.holds(rule)) {
            tokio::select! {
                // The sender lives in the fault state, so an error is impossible.
                _ = changed.changed() => {}
                () = self.stop.cancelled() => return,
            }
        }
    }
}

/// Kills a process of the same user.
fn end_process(pid: i32) {
    let own = std::fs::metadata(format!("/proc/{pid}")).is_ok_and(|m| m.uid() == getuid().as_raw());
    let this = u32::try_from(pid).is_ok_and(|pid| pid == std::process::id());
    let Some(target) = Pid::from_raw(pid).filter(|_| own && !this) else {
        tracing::warn!(pid, "a fault rule kills no process that is gone, another user's, or the server itself");
        return;
    };
    match kill_process(target, Signal::KILL) {
        Ok(()) => tracing::info!(pid, "killed by a fault rule"),
        Err(error) => tracing::warn!(pid, %error, "a process could not be killed"),
    }
}

/// Sends a body in pieces with pauses.
pub(crate) fn slow(body: Body, bytes: usize, pause: Duration) -> Body {
    let pieces = body.into_data_stream().flat_map(move |chunk| {
        let pieces: Vec<std::result::Result<Bytes, axum::Error>> = match chunk {
            Ok(chunk) => (0..chunk.len())
                .step_by(bytes.max(1))
                .map(|start| Ok(chunk.slice(start..chunk.len().min(start + bytes.max(1)))))
                .collect(),
            Err(error) => vec![Err(error)],
        };
        stream::iter(pieces)
    });
    Body::from_stream(pieces.then(move |piece| async move {
        tokio::time::sleep(pause).await;
        piece
    }))
}
