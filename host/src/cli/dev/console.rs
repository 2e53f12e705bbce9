//! The output of `oarlock dev --watch`: a view that is redrawn on a terminal, lines elsewhere.

use super::board::{Board, News};
use crate::cli::{admin, say, terminal};
use oarlock::controller::FinishedReconcile;
use oarlock::logging::recent;
use rustix::process::{Signal, getpid, kill_process};
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// Interval between two looks at the plugins, and between two drawings.
const EVERY: Duration = Duration::from_millis(200);

/// Deadline of the host's answer to a look.
const ANSWER: Duration = Duration::from_secs(2);

/// The sources of what is shown.
pub(super) struct Console {
    pub(super) board: Board,
    pub(super) news: mpsc::Receiver<News>,
    pub(super) reconciles: Receiver<Arc<FinishedReconcile>>,
    /// The admin address of the host.
    pub(super) admin: SocketAddr,
    /// Gets the digests of versions that the host has compiled.
    pub(super) compiled: watch::Sender<Vec<String>>,
}

impl Console {
    /// Shows everything until `stop`. The terminal is in order afterwards.
    pub(super) async fn run(mut self, stop: CancellationToken) -> anyhow::Result<()> {
        terminal::enter();
        let shown = tokio::select! {
            () = stop.cancelled() => Ok(()),
            shown = self.show() => shown,
        };
        terminal::leave();
        shown
    }

    async fn show(&mut self) -> anyhow::Result<()> {
        let mut resized = signal(SignalKind::window_change())?;
        let mut suspended = signal(SignalKind::from_raw(Signal::TSTP.as_raw()))?;
        // Of all plugins: the kept lines are of one.
        let (_, mut logged) = recent::lines().of("");
        let mut looking = std::pin::pin!(look(self.admin));
        let mut tick = tokio::time::interval(EVERY);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let lines = tokio::select! {
                Some(news) = self.news.recv() => self.board.news(news),
                finished = self.reconciles.recv() => match finished {
                    Ok(finished) => self.reconciled(&finished),
                    Err(RecvError::Lagged(_)) => Vec::new(),
                    Err(RecvError::Closed) => return Ok(()),
                },
                Ok(line) = logged.recv() => {
                    self.board.logged(&line.json);
                    continue;
                }
                // Beside the rest: a busy host answers late.
                document = &mut looking => {
                    self.looked(document);
                    looking.set(look(self.admin));
                    continue;
                }
                _ = tick.tick() => {
                    self.draw().await;
                    continue;
                }
                _ = resized.recv() => {
                    self.draw().await;
                    continue;
                }
                _ = suspended.recv() => {
                    suspend().await?;
                    continue;
                }
            };
            // Also after a panic, which left the view.
            if !terminal::is_entered() && !lines.is_empty() {
                say(&lines.join("\n"))?;
            }
        }
    }

    /// A reconcile has ended. The news of its build comes first: the edit loop sends it before it installs the plugin.
    fn reconciled(&mut self, finished: &FinishedReconcile) -> Vec<String> {
        let news = std::iter::from_fn(|| self.news.try_recv().ok());
        let mut lines: Vec<String> = news.flat_map(|news| self.board.news(news)).collect();
        lines.extend(self.board.reconciled(finished));
        lines
    }

    /// * `document` - the answer of the host about its plugins.
    fn looked(&mut self, document: Option<Value>) {
        let Some(document) = document else { return };
        let compiled = self.board.plugins(&document);
        self.compiled.send_if_modified(|last| std::mem::replace(last, compiled.clone()) != compiled);
    }

    async fn draw(&self) {
        if !terminal::is_entered() {
            return;
        }
        let (columns, rows) = terminal::size();
        let screen = self.board.screen(columns, rows);
        // A terminal that takes nothing blocks this thread only.
        let _ = tokio::task::spawn_blocking(move || terminal::draw(&screen)).await;
    }
}

/// Asks the host for its plugins, after a while. None: nobody answers, as while the host starts.
async fn look(admin: SocketAddr) -> Option<Value> {
    tokio::time::sleep(EVERY).await;
    let answer = admin::exchange(admin, "GET", "/plugins", bytes::Bytes::new(), ANSWER).await;
    serde_json::from_str(&answer.ok()?).ok()
}

/// Ctrl-Z: the shell gets its terminal back until `fg`.
async fn suspend() -> anyhow::Result<()> {
    let view = terminal::is_entered();
    let mut continued = signal(SignalKind::from_raw(Signal::CONT.as_raw()))?;
    terminal::leave();
    kill_process(getpid(), Signal::STOP)?;
    // Another thread gets the signal, and this one goes on for a moment.
    continued.recv().await;
    if view {
        terminal::enter();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    /// Found on a busy machine, where both came during one look at the plugins: the reconcile was never reported.
    #[tokio::test]
    async fn a_reconcile_that_comes_together_with_its_build_is_reported() {
        let (news, news_receiver) = mpsc::channel(16);
        let (_reconciles, reconciles) = tokio::sync::broadcast::channel(16);
        let mut console = Console {
            board: Board::default(),
            news: news_receiver,
            reconciles,
            admin: ([127, 0, 0, 1], 1).into(),
            compiled: watch::Sender::default(),
        };
        let (took, saved) = (Duration::from_secs(3), Instant::now());
        let built = News::Built { took, saved, digest: "one".to_owned(), output: String::new() };
        news.send(built).await.unwrap();
        let finished = FinishedReconcile {
            plugin: "greeter".to_owned(),
            version: "0.1.0".to_owned(),
            digest: "one".to_owned(),
            key: "ConfigMap default/a".to_owned(),
            took: Duration::from_millis(3),
            error: None,
        };
        let lines = console.reconciled(&finished);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[1].contains("greeter 0.1.0 reconciled ConfigMap default/a"), "{lines:?}");
    }
}
