//! Waiting for conditions instead of fixed times.

use anyhow::{Context, Result, bail};
use std::{future::Future, time::Duration};
use tokio::time::{Instant, sleep, timeout_at};

const POLL: Duration = Duration::from_millis(25);

/// Repeats the condition until it returns `Ok`, and returns its value.
///
/// * `deadline` - from now. A condition that itself hangs is cancelled then, too.
/// * `what` - completes the sentence "waited for …".
///
/// # Errors
///
/// The deadline passes: the last error of the condition is the cause, so that a failed test shows what it saw.
pub async fn eventually<T, F, Fut>(deadline: Duration, what: &str, mut condition: F) -> Result<T>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T>>,
{
    let end = Instant::now() + deadline;
    let mut last = None;
    loop {
        match timeout_at(end, condition()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => last = Some(error),
            Err(_) => {}
        }
        if Instant::now() >= end {
            break;
        }
        sleep(POLL).await;
    }
    let context = format!("waited {} s for {what}", deadline.as_secs_f32());
    match last {
        Some(error) => Err(error).context(context),
        None => bail!("{context}; the condition never answered"),
    }
}

/// Repeats the condition for the whole `period` and fails at the first `Err`: for a state that must not change.
///
/// # Errors
///
/// The first error of the condition.
pub async fn steady<F, Fut>(period: Duration, what: &str, mut condition: F) -> Result<()>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<()>>,
{
    let end = Instant::now() + period;
    while Instant::now() < end {
        condition().await.with_context(|| format!("{what} did not last"))?;
        sleep(POLL).await;
    }
    Ok(())
}
