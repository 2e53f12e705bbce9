//! Effects of fault rules on a request.

use std::{io, os::unix::fs::MetadataExt as _, sync::Arc, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::StatusCode;
use rustix::process::{Pid, Signal, getuid, kill_process};

use super::plan::{End, FaultDecision};
use crate::{
    api::Api,
    http::{request::Request, response::Response},
    model::status::{ApiError, Result},
    server,
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

/// Handles a request with a fault.
pub(crate) async fn carry_out(
    api: &Arc<Api>,
    call: &mut Request,
    decision: &FaultDecision,
) -> std::result::Result<Result<Response>, Cut> {
    if decision.compact {
        api.store.compact();
    }
    call.past = decision.stale.as_ref().map(|s| s.revision);
    wait(api, decision.before).await;
    match &decision.end {
        Some(End::Answer { code, reason, message, retry_after, after_effect }) => {
            if *after_effect {
                carried_out(api, call, decision).await;
            }
            let code = StatusCode::from_u16(*code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            Ok(Err(ApiError::injected(code, reason.as_deref(), message.as_deref(), *retry_after)))
        }
        Some(End::Hang { rule, after_effect }) => {
            if *after_effect {
                carried_out(api, call, decision).await;
            }
            until_gone(api, rule).await;
            Err(Cut)
        }
        Some(End::Cut { after_effect }) => {
            if *after_effect {
                carried_out(api, call, decision).await;
            }
            Err(Cut)
        }
        Some(End::Crash { kill }) => {
            carried_out(api, call, decision).await;
            if let Some(pid) = kill {
                end_process(*pid);
            }
            Err(Cut)
        }
        None => {
            let outcome = server::act(api, call).await;
            wait(api, decision.after).await;
            Ok(outcome)
        }
    }
}

/// Carries out a request without a visible response.
async fn carried_out(api: &Arc<Api>, call: &Request, decision: &FaultDecision) {
    if let Err(error) = server::act(api, call).await {
        tracing::debug!(status = %error.code(), path = call.path, "a request whose answer is lost was refused");
    }
    wait(api, decision.after).await;
}

async fn wait(api: &Api, time: Duration) {
    if time.is_zero() {
        return;
    }
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        () = api.stop.cancelled() => {}
    }
}

/// Waits until a rule is removed.
async fn until_gone(api: &Api, rule: &str) {
    let mut changed = api.faults.changed.subscribe();
    while api.faults.ask(|plan| plan.holds(rule)) {
        tokio::select! {
            // The sender lives in the fault state, so an error is impossible.
            _ = changed.changed() => {}
            () = api.stop.cancelled() => return,
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
