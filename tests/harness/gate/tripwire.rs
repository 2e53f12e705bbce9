//! Tripwire: stops all traffic after the n-th write.

use super::{BoxError, lock};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Number of writes so far.
    entered: u64,
    /// After this many writes nothing passes.
    limit: Option<u64>,
    /// The server has responded to the write with number `limit`.
    tripped: bool,
    /// Events are not counted.
    spare_events: bool,
    /// Number of disarmings: requests held before one are cut off, not passed.
    epoch: u64,
}

/// Counts writes over all gates that share it, and holds them after the n-th.
///
/// Armed with n, the first n writes take effect, the n-th gets no response, and no later one reaches a server. This is exactly the state
/// after a process is killed at that moment.
#[derive(Clone, Debug)]
pub struct Tripwire {
    state: Arc<Mutex<State>>,
    changed: watch::Sender<u64>,
}

impl Default for Tripwire {
    fn default() -> Self {
        Self { state: Arc::default(), changed: watch::Sender::new(0) }
    }
}

/// A counted write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    number: u64,
    epoch: u64,
}

impl Tripwire {
    /// The number of writes so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        lock(&self.state).entered
    }

    /// Trips after the `n`-th write from now; `n` is at least 1.
    pub fn arm(&self, n: u64) {
        let mut state = lock(&self.state);
        state.limit = Some(state.entered + n);
        state.tripped = false;
    }

    /// Stops counting Events: the state after the end of a process is the same before and after one.
    pub fn spare_events(&self) {
        lock(&self.state).spare_events = true;
    }

    /// Disarms the tripwire. Held requests are cut off; later writes pass.
    pub fn disarm(&self) {
        {
            let mut state = lock(&self.state);
            state.limit = None;
            state.tripped = false;
            state.epoch += 1;
        }
        self.changed.send_modify(|turn| *turn += 1);
    }

    /// Completes when the n-th write has taken effect.
    pub async fn tripped(&self) {
        let mut changed = self.changed.subscribe();
        while !lock(&self.state).tripped {
            // The sender lives as long as `self`.
            if changed.changed().await.is_err() {
                return;
            }
        }
    }

    /// Counts a write before it passes.
    pub(super) async fn enter(&self, event: bool) -> Result<Ticket, BoxError> {
        let epoch = {
            let mut state = lock(&self.state);
            if state.limit.is_none_or(|limit| state.entered < limit) {
                if event && state.spare_events {
                    // The first counted write has number 1.
                    return Ok(Ticket { number: 0, epoch: state.epoch });
                }
                state.entered += 1;
                return Ok(Ticket { number: state.entered, epoch: state.epoch });
            }
            state.epoch
        };
        self.held(epoch).await
    }

    /// Handles a write's response before it passes.
    pub(super) async fn answered(&self, ticket: Ticket) -> Result<(), BoxError> {
        {
            let mut state = lock(&self.state);
            if state.epoch == ticket.epoch && state.limit != Some(ticket.number) {
                return Ok(());
            }
            if state.epoch == ticket.epoch {
                state.tripped = true;
            }
        }
        self.changed.send_modify(|turn| *turn += 1);
        self.held(ticket.epoch).await
    }

    /// Never passes: waits for the disarming, then cuts the connection.
    async fn held<T>(&self, epoch: u64) -> Result<T, BoxError> {
        let mut changed = self.changed.subscribe();
        while lock(&self.state).epoch == epoch {
            changed.changed().await?;
        }
        Err("held by the tripwire until it was disarmed".into())
    }
}
