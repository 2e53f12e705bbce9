//! Signals: the first one shuts down gracefully, the second one at once.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Exit status after a second signal, by the shells' convention for SIGINT.
const ABORTED: i32 = 130;

/// A token that the first SIGTERM or SIGINT cancels.
pub(super) fn stop_token() -> anyhow::Result<CancellationToken> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let stop = CancellationToken::new();
    let first = stop.clone();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if first.is_cancelled() {
                tracing::warn!("second signal: aborting");
                super::terminal::leave();
                std::process::exit(ABORTED);
            }
            first.cancel();
        }
    });
    Ok(stop)
}
