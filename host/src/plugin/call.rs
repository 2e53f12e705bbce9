//! Arguments and results of plugin calls, in the host's own types.

use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::Change;
use crate::apply::events::Event;
use crate::apply::reviewed::ReviewedPatch;
use crate::metrics::TrapCause;
use crate::secrets::KnownSecrets;
pub use crate::workqueue::Trigger;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

/// The request of a call: object, trigger, attempt.
#[derive(Clone, Debug)]
pub struct Request {
    /// The kind: one of the plugin's primaries.
    pub kind: GroupVersionKind,
    /// Namespace and name of the object.
    pub key: ObjectKey,
    /// The object's uid, also after its deletion.
    pub uid: String,
    /// The object as JSON. None: it is deleted.
    pub object: Option<Arc<str>>,
    /// The last state of a deleted object.
    pub last_seen: Option<Arc<str>>,
    /// Whether the object has a deletion timestamp.
    pub deleting: bool,
    /// The cause of the reconcile.
    pub trigger: Trigger,
    /// 1 for the first attempt since the last success.
    pub attempt: u32,
    /// Connects the log lines of the reconcile.
    pub correlation_id: String,
    /// At admission: the AdmissionRequest without its objects, as JSON.
    pub review: Option<Arc<str>>,
    /// Whether the request is a dry run, which must have no effects.
    pub dry_run: bool,
}

#[cfg(test)]
impl Request {
    /// A request about an object that is gone.
    pub(crate) fn of(kind: GroupVersionKind, key: ObjectKey) -> Self {
        Self {
            kind,
            key,
            uid: String::new(),
            object: None,
            last_seen: None,
            deleting: true,
            trigger: Trigger::Event,
            attempt: 1,
            correlation_id: String::new(),
            review: None,
            dry_run: false,
        }
    }
}

/// A state that a plugin returned. The host compares it as a value, and passes it to `patch` in the plugin's own words, so that the order
/// of its keys survives. Cheap to clone.
#[derive(Clone, Debug)]
pub struct State(Arc<Document>);

#[derive(Debug)]
struct Document {
    text: String,
    value: Value,
}

impl State {
    /// Parses a state.
    ///
    /// # Errors
    ///
    /// It is not JSON.
    pub fn parse(text: String) -> Result<Self, serde_json::Error> {
        Ok(Self(Arc::new(Document { value: serde_json::from_str(&text)?, text })))
    }

    /// As the plugin wrote it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0.text
    }
}

impl std::ops::Deref for State {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0.value
    }
}

/// A checked answer of `get-actual`.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// None: it does not exist.
    pub state: Option<State>,
    /// Fields for the status.
    pub status: Option<Map<String, Value>>,
    /// The plugin's requeue delay.
    pub requeue_after: Option<Duration>,
}

/// A validated result of `patch`.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Changes to apply, in order.
    pub changes: Vec<Change>,
    /// At admission: patches of the object under review, in order.
    pub patches: Vec<ReviewedPatch>,
    /// At admission: warnings for the user of the request.
    pub warnings: Vec<String>,
    /// Events to record after the changes.
    pub events: Vec<Event>,
    /// The plugin's requeue delay.
    pub requeue_after: Option<Duration>,
}

/// Why a call failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallError {
    /// The guest returned a transient error.
    #[error("{message}")]
    Transient {
        /// The guest's retry delay. None: the key's backoff.
        delay: Option<Duration>,
        /// The guest's message.
        message: String,
    },
    /// The guest returned a terminal error: this object cannot be reconciled as it is.
    #[error("{0}")]
    Terminal(String),
    /// The guest denies the object under review.
    #[error("denied outside admission: {message}")]
    Denied {
        /// HTTP status of the response.
        code: u16,
        /// UpperCamelCase; may be empty.
        reason: String,
        /// Message for the user.
        message: String,
    },
    /// The guest trapped.
    #[error("the plugin trapped in {call}: {reason}")]
    Trap {
        /// The call.
        call: &'static str,
        /// The reason in wasmtime's words.
        reason: String,
    },
    /// The guest missed its deadline.
    #[error(
        "the plugin did not finish {call} within its deadline of {seconds} s for one reconcile (limits.deadlineSeconds)"
    )]
    Deadline {
        /// The call.
        call: &'static str,
        /// The deadline.
        seconds: u32,
    },
    /// The guest missed its deadline because other work occupied the threads.
    #[error(
        "the host is busy: the plugin did not finish {call} within {seconds} s, most of which it waited for other plugins"
    )]
    Starved {
        /// The call.
        call: &'static str,
        /// The deadline.
        seconds: u32,
    },
    /// The guest asked for more memory than its limit.
    #[error("the plugin needs more than its {mib} MiB of memory in {call} (limits.memoryMib)")]
    Memory {
        /// The call.
        call: &'static str,
        /// The limit.
        mib: u32,
    },
    /// The guest asked for more table elements than its limit.
    #[error("the plugin needs more than its {elements} table elements in {call} (limits.tableElements)")]
    Table {
        /// The call.
        call: &'static str,
        /// The limit.
        elements: u32,
    },
    /// The guest passed more data to the host at once than its limit, in a result or in an import's arguments.
    #[error(
        "the plugin passed more than {kib} KiB to the host at once in {call} (twice the larger of limits.answerKib and limits.httpRequestKib)"
    )]
    HandedTooMuch {
        /// The call.
        call: &'static str,
        /// The limit.
        kib: usize,
    },
    /// The guest's result violates the contract.
    #[error("the plugin answered {call} with {reason}")]
    BadAnswer {
        /// The call.
        call: &'static str,
        /// The violation.
        reason: String,
    },
}

impl CallError {
    /// The error without its texts, for traces.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Transient { .. } => "transient",
            Self::Terminal(_) => "terminal",
            Self::Denied { .. } => "denied",
            Self::Trap { .. } => "trap",
            Self::Deadline { .. } => "deadline",
            Self::Starved { .. } => "starved",
            Self::Memory { .. } | Self::Table { .. } => "memory",
            Self::HandedTooMuch { .. } | Self::BadAnswer { .. } => "bad_answer",
        }
    }

    /// The same error with placeholders for secrets in its reason.
    #[must_use]
    pub fn hidden(self, secrets: &KnownSecrets) -> Self {
        match self {
            Self::Trap { call, reason } => Self::Trap { call, reason: secrets.hidden(reason) },
            Self::BadAnswer { call, reason } => Self::BadAnswer { call, reason: secrets.hidden(reason) },
            other => other,
        }
    }

    /// The cause for metrics, and for a strike against the plugin. None: the guest returned the error itself, or it never had its turn.
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
