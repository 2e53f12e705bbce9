//! What goes into a call of a plugin and what comes out of it, in the host's own types.

use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::Change;
use crate::apply::events::Event;
use crate::apply::reviewed::ReviewedPatch;
use crate::metrics::TrapCause;
pub use crate::workqueue::Trigger;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

/// What a plugin is asked about.
#[derive(Clone, Debug)]
pub struct Request {
    /// One of its primaries.
    pub kind: GroupVersionKind,
    /// The object's place.
    pub key: ObjectKey,
    /// The object's uid, also when it is gone.
    pub uid: String,
    /// The object as JSON. None: it is gone.
    pub object: Option<Arc<str>>,
    /// When it is gone: its last state.
    pub last_seen: Option<Arc<str>>,
    /// It is going.
    pub deleting: bool,
    /// Why.
    pub trigger: Trigger,
    /// 1 for the first try since the last success.
    pub attempt: u32,
    /// Ties log lines together.
    pub correlation_id: String,
    /// At admission: the AdmissionRequest without its object, as JSON.
    pub review: Option<Arc<str>>,
    /// Nothing may change.
    pub dry_run: bool,
}

/// A checked answer of `get-actual`.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// None: it does not exist.
    pub state: Option<Value>,
    /// Fields for the status.
    pub status: Option<Map<String, Value>>,
    /// Look again.
    pub requeue_after: Option<Duration>,
}

/// A checked answer of `patch`.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// To be carried out in order.
    pub changes: Vec<Change>,
    /// At admission: of the object under review, in order.
    pub patches: Vec<ReviewedPatch>,
    /// At admission: for the user who sent the request.
    pub warnings: Vec<String>,
    /// To be written after them.
    pub events: Vec<Event>,
    /// Look again.
    pub requeue_after: Option<Duration>,
}

/// Why a call has no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallError {
    /// The guest says: try again.
    #[error("{message}")]
    Transient {
        /// Its own delay. None: the key's backoff.
        delay: Option<Duration>,
        /// What went wrong.
        message: String,
    },
    /// The guest says: this object cannot be reconciled as it is.
    #[error("{0}")]
    Terminal(String),
    /// The guest refuses the object under review.
    #[error("denied outside admission: {message}")]
    Denied {
        /// HTTP status for the user.
        code: u16,
        /// UpperCamelCase; may be empty.
        reason: String,
        /// For the user.
        message: String,
    },
    /// The guest ended abnormally.
    #[error("the plugin trapped in {call}: {reason}")]
    Trap {
        /// Which call.
        call: &'static str,
        /// wasmtime's words.
        reason: String,
    },
    /// The guest took too long.
    #[error(
        "the plugin did not finish {call} within its deadline of {seconds} s for one reconcile (limits.deadlineSeconds)"
    )]
    Deadline {
        /// Which call.
        call: &'static str,
        /// The deadline.
        seconds: u32,
    },
    /// The guest's time went by while others had the threads.
    #[error(
        "the host is busy: the plugin did not finish {call} within {seconds} s, most of which it waited for other plugins"
    )]
    Starved {
        /// Which call.
        call: &'static str,
        /// The deadline.
        seconds: u32,
    },
    /// The guest wanted more memory than it may have.
    #[error("the plugin needs more than its {mib} MiB of memory in {call} (limits.memoryMib)")]
    Memory {
        /// Which call.
        call: &'static str,
        /// The limit.
        mib: u32,
    },
    /// The guest wanted more table elements than it may have.
    #[error("the plugin needs more than its {elements} table elements in {call} (limits.tableElements)")]
    Table {
        /// Which call.
        call: &'static str,
        /// The limit.
        elements: u32,
    },
    /// The guest handed more to the host at once than it may: as an answer, or to an import.
    #[error(
        "the plugin handed more than {kib} KiB to the host at once in {call} (twice the larger of limits.answerKib and limits.httpRequestKib)"
    )]
    HandedTooMuch {
        /// Which call.
        call: &'static str,
        /// The limit.
        kib: usize,
    },
    /// The guest answered what the contract does not allow.
    #[error("the plugin answered {call} with {reason}")]
    BadAnswer {
        /// Which call.
        call: &'static str,
        /// What is wrong with it.
        reason: String,
    },
}

impl CallError {
    /// For metrics, and a strike against the plugin. None: the guest itself said so, or it never had its turn.
    #[must_use]
    pub fn cause(&self) -> Option<TrapCause> {
        match self {
            Self::Transient { .. } | Self::Terminal(_) | Self::Denied { .. } | Self::Starved { .. } => None,
            Self::Trap { .. } => Some(TrapCause::Trap),
            Self::Deadline { .. } => Some(TrapCause::Deadline),
            Self::Memory { .. } | Self::Table { .. } => Some(TrapCause::Memory),
            Self::BadAnswer { .. } | Self::HandedTooMuch { .. } => Some(TrapCause::BadAnswer),
        }
    }
}
