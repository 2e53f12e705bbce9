//! Why a call could not answer.

use crate::{http, raw};
use std::fmt::{self, Display};
use std::time::Duration;

/// `Result` with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call could not answer, which says who tries again.
///
/// Text reaches people through the Ready condition, an event and the log; the host keeps 1024 bytes of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// The world outside is at fault for now.
    Transient {
        /// What went wrong.
        message: String,
        /// Try again after this long. None: the key's own exponential backoff.
        after: Option<Duration>,
    },
    /// The object is at fault: only a change of it, the next resync or a swap tries again.
    Terminal {
        /// What is wrong with it.
        message: String,
    },
    /// Admission only: refuse the request.
    Denied {
        /// HTTP status the user's client sees, 403 for instance.
        code: u16,
        /// UpperCamelCase, `Forbidden` for instance.
        reason: String,
        /// What the user is told.
        message: String,
    },
}

impl Error {
    /// Try again with the key's own backoff.
    #[must_use]
    pub fn transient(message: impl Display) -> Self {
        Self::Transient { message: message.to_string(), after: None }
    }

    /// Try again after `delay` (the host lowers more than a day to a day).
    #[must_use]
    pub fn transient_after(delay: Duration, message: impl Display) -> Self {
        Self::Transient { message: message.to_string(), after: Some(delay) }
    }

    /// The object is at fault: do not try again by yourself.
    #[must_use]
    pub fn terminal(message: impl Display) -> Self {
        Self::Terminal { message: message.to_string() }
    }

    /// Refuse the request under review with 403 Forbidden.
    #[must_use]
    pub fn denied(message: impl Display) -> Self {
        Self::Denied { code: 403, reason: "Forbidden".to_owned(), message: message.to_string() }
    }

    /// What went wrong, without what kind of error it is.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Self::Transient { message, .. } | Self::Terminal { message } | Self::Denied { message, .. } => message,
        }
    }

    /// The same error with `what: ` in front of its message.
    #[must_use]
    pub fn context(mut self, what: impl Display) -> Self {
        let (Self::Transient { message, .. } | Self::Terminal { message } | Self::Denied { message, .. }) = &mut self;
        *message = format!("{what}: {message}");
        self
    }

    /// Whether the host tries again by itself.
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

/// Terminal: a document that does not have the expected shape does not change by itself. Bodies from the network are
/// different, see [`http::Response::json`].
impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::terminal(format_args!("not the JSON that was expected: {error}"))
    }
}

/// Transient where the world may be at fault, terminal where trying again cannot help (a request not granted or senseless).
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

/// Rounded up, so that a short delay does not become none.
pub(crate) fn whole_milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}
