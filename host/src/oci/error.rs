//! What goes wrong with registries, and what each kind of it is answered with.

use super::Digest;
use std::path::PathBuf;
use std::time::Duration;

/// Why an artifact could not be had, or must not be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No connection, or it broke before the answer was whole.
    #[error("{what}: no answer from {registry}: {reason}")]
    Unreachable {
        /// What was asked.
        what: String,
        /// Who was asked.
        registry: String,
        /// Why.
        reason: String,
    },
    /// Not in time.
    #[error("{what}: {registry} does not answer within {seconds} s")]
    TimedOut {
        /// What was asked.
        what: String,
        /// Who was asked.
        registry: String,
        /// How long was waited.
        seconds: u64,
    },
    /// 401, or a login that cannot be made.
    #[error("{what}: not logged in to {registry}: {reason}")]
    Unauthorized {
        /// What was asked.
        what: String,
        /// Who was asked.
        registry: String,
        /// Why.
        reason: String,
    },
    /// 403.
    #[error("{what}: {registry} forbids it{said}")]
    Forbidden {
        /// What was asked.
        what: String,
        /// Who was asked.
        registry: String,
        /// What it said about it, after a colon.
        said: String,
    },
    /// 404.
    #[error("{what}: {registry} has no such thing{said}")]
    NotFound {
        /// What was asked.
        what: String,
        /// Who was asked.
        registry: String,
        /// What it said about it, after a colon.
        said: String,
    },
    /// 429.
    #[error("{what}: {registry} is asked too often{said}")]
    TooMany {
        /// What was asked.
        what: String,
        /// Who was asked.
        registry: String,
        /// What it said about it, after a colon.
        said: String,
        /// When it wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// Any other status.
    #[error("{what}: {registry} answers {status}{said}")]
    Status {
        /// What was asked.
        what: String,
        /// Who was asked.
        registry: String,
        /// Its status.
        status: u16,
        /// What it said about it, after a colon.
        said: String,
        /// When it wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// It leads somewhere where nobody should follow.
    #[error("{what}: {registry} leads elsewhere: {reason}")]
    Redirect {
        /// What was asked.
        what: String,
        /// Who was asked.
        registry: String,
        /// Where, and why not there.
        reason: String,
    },
    /// The bytes are not those that were named.
    #[error("{what}: its digest is {found}, not {wanted}")]
    Digest {
        /// What was asked.
        what: String,
        /// What was asked for.
        wanted: Digest,
        /// What came.
        found: Digest,
    },
    /// Fewer or more bytes than the manifest says.
    #[error("{what}: the manifest says {wanted} bytes, {found} came")]
    Length {
        /// What was asked.
        what: String,
        /// In the manifest.
        wanted: u64,
        /// As they came; one more than wanted when more came.
        found: u64,
    },
    /// More than may be.
    #[error("{what}: more than the {limit_bytes} bytes it may have")]
    TooLarge {
        /// What was asked.
        what: String,
        /// How large it may be.
        limit_bytes: u64,
    },
    /// It is there, but no plugin in a form that is known.
    #[error("not an artifact with one WebAssembly file: {0}")]
    Artifact(String),
    /// It is there, but nobody vouched for it.
    #[error("not trusted: {0}")]
    Untrusted(String),
    /// The system gives no random numbers.
    #[error("cannot sign: the system gives no random numbers")]
    NoRandom,
    /// Keys, pins, certificates or credentials on this machine.
    #[error("{} cannot be used: {reason}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl Error {
    /// Whether what the registry has was seen, and is no good: not its being out of reach.
    #[must_use]
    pub fn refuses(&self) -> bool {
        matches!(self, Self::Digest { .. } | Self::TooLarge { .. } | Self::Artifact(_) | Self::Untrusted(_))
    }

    /// Whether it may be over in seconds.
    #[must_use]
    pub fn passes(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::TooMany { .. }
            | Self::Digest { .. }
            | Self::Length { .. } => true,
            Self::Status { status, .. } => *status >= 500,
            _ => false,
        }
    }

    /// When the registry wants to be asked again.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::TooMany { retry_after, .. } | Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}
