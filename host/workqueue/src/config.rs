//! Configuration of the queue: triggers, priorities, and the pace of retries.

use std::fmt::{self, Debug, Display};
use std::sync::Arc;
use std::time::Duration;

/// The longest delay a timer takes, 180 days; longer ones are lowered to it, so that no sum of times overflows.
pub const MAX_DELAY: Duration = Duration::from_secs(180 * 24 * 60 * 60);

/// Why a key is to be reconciled. It decides the [`Priority`] and is shown to people; the reconcile itself does not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// An object changed.
    Event,
    /// The object was in the informer's first list or in a relist.
    InitialList,
    /// No event: state outside Kubernetes may have changed.
    Resync,
    /// The last reconcile asked for a requeue after a delay.
    Requeue,
    /// The last reconcile failed.
    Retry,
    /// The controller got a new version.
    Swap,
}

/// The event behind a [`Trigger::Event`], for people. The queue holds the last one of a key.
#[derive(Clone)]
pub enum Cause {
    /// The object of the key itself; the word says what happened to it, for example `modified`.
    Own(&'static str),
    /// Another object, and what happened to it. Keys of one event share it.
    Other(Arc<dyn Display + Send + Sync>),
}

/// The order of service, declared from first to last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Priority {
    /// Live events.
    High,
    /// Requeues and retries.
    Normal,
    /// Initial list, resync and swap: many keys at once, none of them urgent.
    Low,
}

/// How a [`WorkQueue`](super::WorkQueue) paces retries and shares out its workers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// Backoff after the first failure of a key; it doubles with each further one. Default 5 ms, as client-go.
    pub base_delay: Duration,
    /// Where the doubling ends. Default 1000 s (16 min 40 s), as client-go. At most [`MAX_DELAY`].
    pub max_delay: Duration,
    /// Each backoff grows by a random part of itself, up to this fraction, so that keys that failed together do not return together. The
    /// longest backoff is then `max_delay` × (1 + `jitter`). Default 0.0, as client-go; clamped to 0.0 to 1.0.
    pub jitter: f64,
    /// Retries per second that this queue allows over all its keys, besides `retry_burst`. Default 10.0, as client-go. Zero,
    /// negative, infinite or not a number: no overall limit. Retries over it are delayed, never dropped, and may then
    /// wait longer than `max_delay`. Only retries count, not events or requeues.
    pub retry_rate: f64,
    /// Retries that may run at once after a pause without retries. Default 100, as client-go. At least 1.
    pub retry_burst: u32,
    /// While keys of a lower priority wait, every n-th key handed out is the one that has waited longest of all that are
    /// not events. Default 8. At least 2.
    pub starvation_bound: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            base_delay: Duration::from_millis(5),
            max_delay: Duration::from_secs(1000),
            jitter: 0.0,
            retry_rate: 10.0,
            retry_burst: 100,
            starvation_bound: 8,
        }
    }
}

impl Trigger {
    /// The priority of keys with this trigger.
    #[must_use]
    pub const fn priority(self) -> Priority {
        match self {
            Self::Event => Priority::High,
            Self::Requeue | Self::Retry => Priority::Normal,
            Self::InitialList | Self::Resync | Self::Swap => Priority::Low,
        }
    }

    /// The trigger's name in logs and responses, for example `initial-list`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::InitialList => "initial-list",
            Self::Resync => "resync",
            Self::Requeue => "requeue",
            Self::Retry => "retry",
            Self::Swap => "swap",
        }
    }

    /// The trigger that remains of two coalesced adds: the higher priority, the earlier of equals.
    pub(super) fn coalesce(self, later: Self) -> Self {
        if later.priority().goes_before(self.priority()) { later } else { self }
    }
}

impl Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(happened) => f.write_str(happened),
            Self::Other(event) => Display::fmt(event, f),
        }
    }
}

impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for Cause {}

impl Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

impl Priority {
    /// All priorities, first to last.
    pub(super) const ALL: [Self; 3] = [Self::High, Self::Normal, Self::Low];

    pub(super) const fn goes_before(self, other: Self) -> bool {
        (self as u8) < (other as u8)
    }
}
