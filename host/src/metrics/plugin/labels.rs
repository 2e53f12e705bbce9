//! Label values of plugin metrics.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};

/// The states that [`PluginMetrics::set_state`](super::PluginMetrics::set_state) reports, in the order of a plugin's life.
pub const PLUGIN_STATES: [&str; 12] = [
    "discovered",
    "compiling",
    "awaiting-grant",
    "awaiting-confirmation",
    "syncing",
    "rolling-out",
    "active",
    "paused",
    "quarantined",
    "draining",
    "retired",
    "failed",
];

/// The result of a reconcile, by controller-runtime's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReconcileResult {
    /// Nothing more to do until something changes.
    Success,
    /// Failed, whether it is retried or not.
    Error,
    /// Runs again as soon as its backoff allows, without a failure.
    Requeue,
    /// Runs again after a requeue delay.
    RequeueAfter,
}

/// A call into a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// Instantiation: its memory and its start function.
    Instantiate,
    /// `get-desired`.
    GetDesired,
    /// `get-actual`.
    GetActual,
    /// `patch`.
    Patch,
    /// `convert`.
    Convert,
}

/// The verb of a request to the API server: RBAC's verbs, and server-side apply apart from the other patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiVerb {
    /// Reads one object.
    Get,
    /// Reads the objects of a kind.
    List,
    /// Creates an object.
    Create,
    /// Replaces an object.
    Update,
    /// Changes a part of an object: JSON Patch, merge patch, strategic merge patch.
    Patch,
    /// Server-side apply.
    Apply,
    /// Deletes an object.
    Delete,
}

/// Why a call into a plugin gave no valid result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrapCause {
    /// The guest trapped.
    Trap,
    /// The guest missed its deadline.
    Deadline,
    /// The guest asked for more memory, or table elements, than its limit.
    Memory,
    /// The guest's result was invalid.
    BadAnswer,
}

impl ReconcileResult {
    pub(super) const ALL: [Self; 4] = [Self::Success, Self::Error, Self::Requeue, Self::RequeueAfter];

    /// The value of the label `result`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Requeue => "requeue",
            Self::RequeueAfter => "requeue_after",
        }
    }
}

impl Call {
    /// The value of the label `call`: `instantiate`, or the call's name in the contract.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Instantiate => "instantiate",
            Self::GetDesired => "get-desired",
            Self::GetActual => "get-actual",
            Self::Patch => "patch",
            Self::Convert => "convert",
        }
    }
}

impl ApiVerb {
    pub(super) const ALL: [Self; 7] =
        [Self::Get, Self::List, Self::Create, Self::Update, Self::Patch, Self::Apply, Self::Delete];

    /// The value of the label `verb`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Apply => "apply",
            Self::Delete => "delete",
        }
    }
}

impl TrapCause {
    pub(super) const ALL: [Self; 4] = [Self::Trap, Self::Deadline, Self::Memory, Self::BadAnswer];

    /// The value of the label `cause`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trap => "trap",
            Self::Deadline => "deadline",
            Self::Memory => "memory",
            Self::BadAnswer => "bad-answer",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
pub(super) struct ControllerLabels {
    pub(super) controller: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
pub(super) struct PluginLabels {
    pub(super) plugin: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
pub(super) struct ResultLabels {
    pub(super) controller: Arc<str>,
    pub(super) result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
pub(super) struct CallLabels {
    pub(super) plugin: Arc<str>,
    pub(super) call: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
pub(super) struct TrapLabels {
    pub(super) plugin: Arc<str>,
    pub(super) cause: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
pub(super) struct ApiLabels {
    pub(super) plugin: Arc<str>,
    pub(super) verb: &'static str,
    pub(super) code: Code,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
pub(super) struct HttpLabels {
    pub(super) plugin: Arc<str>,
    pub(super) code: Code,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
pub(super) struct RolloutLabels {
    pub(super) plugin: Arc<str>,
    pub(super) result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
pub(super) struct StateLabels {
    pub(super) plugin: Arc<str>,
    pub(super) state: &'static str,
}

/// An HTTP status, or none without a response, which client-go spells `<error>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Code(pub(super) Option<u16>);

impl EncodeLabelValue for Code {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), fmt::Error> {
        match self.0 {
            Some(code) => write!(encoder, "{code}"),
            None => encoder.write_str("<error>"),
        }
    }
}
