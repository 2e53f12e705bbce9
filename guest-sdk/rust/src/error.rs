//! Errors of a reconcile: transient, terminal, denied.

use crate::{http, raw};
use std::fmt::{self, Display};
use std::time::Duration;

/// `Result` with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a call, which decides about retries.
///
/// Its text appears in the Ready condition, an event and the log; the host keeps 1024 bytes of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// A failure outside of the plugin, for now.
    Transient {
        /// The failure.
        message: String,
        /// Retry delay. None: the key's own exponential backoff.
        after: Option<Duration>,
    },
    /// The object is invalid: only a change of it, the next resync or a swap runs it again.
    Terminal {
        /// The fault.
        message: String,
    },
    /// Admission only: deny the request.
    Denied {
        /// HTTP status of the response, 403 for instance.
        code: u16,
        /// UpperCamelCase, `Forbidden` for instance.
        reason: String,
        /// Message for the user.
        message: String,
    },
}

impl Error {
    /// A transient error with the key's own backoff.
    #[must_use]
    pub fn transient(message: impl Display) -> Self {
        Self::Transient { message: message.to_string(), after: None }
    }

    /// A transient error with a retry delay (the host limits it to a day).
    #[must_use]
    pub fn transient_after(delay: Duration, message: impl Display) -> Self {
        Self::Transient { message: message.to_string(), after: Some(delay) }
    }

    /// A terminal error: the object is invalid, and a retry would not help.
    #[must_use]
    pub fn terminal(message: impl Display) -> Self {
        Self::Terminal { message: message.to_string() }
    }

    /// Denies the request under review with 403 Forbidden.
    #[must_use]
    pub fn denied(message: impl Display) -> Self {
        Self::Denied { code: 403, reason: "Forbidden".to_owned(), message: message.to_string() }
    }

    /// The message, without the kind of error.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Self::Transient { message, .. } | Self::Terminal { message } | Self::Denied { message, .. } => message,
        }
    }

    /// The same error with the prefix `what: `.
    #[must_use]
    pub fn context(mut self, what: impl Display) -> Self {
        let (Self::Transient { message, .. } | Self::Terminal { message } | Self::Denied { message, .. }) = &mut self;
        *message = format!("{what}: {message}");
        self
    }

    /// Whether the host retries.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Transient { .. })
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for Error {}

/// Terminal: a document with a wrong shape does not change by itself. Bodies from the network are different, see
/// [`http::Response::json`].
impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::terminal(format_args!("not the JSON that was expected: {error}"))
    }
}

/// Transient for failures outside of the plugin, terminal where a retry cannot help (a request that is not granted or malformed).
impl From<http::Failure> for Error {
    fn from(failure: http::Failure) -> Self {
        match failure {
            http::Failure::Denied(_) | http::Failure::Invalid(_) => Self::terminal(failure),
            http::Failure::Unreachable(_) | http::Failure::TimedOut | http::Failure::TooLarge(_) => {
                Self::transient(failure)
            }
        }
    }
}

impl From<raw::Error> for Error {
    fn from(error: raw::Error) -> Self {
        match error {
            raw::Error::Transient(retry) => {
                Self::Transient { message: retry.message, after: retry.delay_ms.map(Duration::from_millis) }
            }
            raw::Error::Terminal(message) => Self::Terminal { message },
            raw::Error::Denied(denial) => {
                Self::Denied { code: denial.code, reason: denial.reason, message: denial.message }
            }
        }
    }
}

impl From<Error> for raw::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Transient { message, after } => {
                Self::Transient(raw::Retry { delay_ms: after.map(whole_milliseconds), message })
            }
            Error::Terminal { message } => Self::Terminal(message),
            Error::Denied { code, reason, message } => Self::Denied(raw::Denial { code, reason, message }),
        }
    }
}

/// Rounded up, so that a short delay does not become zero.
pub(crate) fn whole_milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}
