//! Errors of registries, by how the host reacts to them.

use super::Digest;
use std::path::PathBuf;
use std::time::Duration;

/// Why an artifact is unavailable or must not be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No connection, or it broke before the end of the response.
    #[error("{what}: no response from {registry}: {reason}")]
    Unreachable {
        /// The operation.
        what: String,
        /// The registry.
        registry: String,
        /// The cause.
        reason: String,
    },
    /// The deadline passed.
    #[error("{what}: {registry} does not answer within {seconds} s")]
    TimedOut {
        /// The operation.
        what: String,
        /// The registry.
        registry: String,
        /// The deadline in seconds.
        seconds: u64,
    },
    /// 401, or the login failed.
    #[error("{what}: not logged in to {registry}: {reason}")]
    Unauthorized {
        /// The operation.
        what: String,
        /// The registry.
        registry: String,
        /// The cause.
        reason: String,
    },
    /// 403.
    #[error("{what}: {registry} forbids it{said}")]
    Forbidden {
        /// The operation.
        what: String,
        /// The registry.
        registry: String,
        /// The registry's error text, after a colon.
        said: String,
    },
    /// 404.
    #[error("{what}: not found at {registry}{said}")]
    NotFound {
        /// The operation.
        what: String,
        /// The registry.
        registry: String,
        /// The registry's error text, after a colon.
        said: String,
    },
    /// 429.
    #[error("{what}: {registry} limits the rate of requests{said}")]
    TooMany {
        /// The operation.
        what: String,
        /// The registry.
        registry: String,
        /// The registry's error text, after a colon.
        said: String,
        /// Retry-After of the registry.
        retry_after: Option<Duration>,
    },
    /// Any other status.
    #[error("{what}: {registry} answers {status}{said}")]
    Status {
        /// The operation.
        what: String,
        /// The registry.
        registry: String,
        /// The HTTP status.
        status: u16,
        /// The registry's error text, after a colon.
        said: String,
        /// Retry-After of the registry.
        retry_after: Option<Duration>,
    },
    /// A redirect that the client refuses.
    #[error("{what}: refused a redirect from {registry}: {reason}")]
    Redirect {
        /// The operation.
        what: String,
        /// The registry.
        registry: String,
        /// The target, and why the client refuses it.
        reason: String,
    },
    /// The bytes do not match their digest.
    #[error("{what}: its digest is {found}, not {wanted}")]
    Digest {
        /// The operation.
        what: String,
        /// The expected digest.
        wanted: Digest,
        /// The digest of the bytes.
        found: Digest,
    },
    /// The size differs from the one in the manifest.
    #[error("{what}: received {found} bytes, but the manifest says {wanted}")]
    Length {
        /// The operation.
        what: String,
        /// The size in the manifest.
        wanted: u64,
        /// The received size; one more than expected if there were more bytes.
        found: u64,
    },
    /// The content exceeds a size limit.
    #[error("{what}: larger than the limit of {limit_bytes} bytes")]
    TooLarge {
        /// The operation.
        what: String,
        /// The limit.
        limit_bytes: u64,
    },
    /// The artifact exists, but is no plugin in a known format.
    #[error("not an artifact with one WebAssembly file: {0}")]
    Artifact(String),
    /// The artifact exists, but no trusted key or pin covers it.
    #[error("not trusted: {0}")]
    Untrusted(String),
    /// The operating system provides no random numbers.
    #[error("cannot sign: the system gives no random numbers")]
    NoRandom,
    /// A file on this machine with keys, pins, certificates or credentials is unusable.
    #[error("{} cannot be used: {reason}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
}

impl Error {
    /// Whether the registry has the content and the host rejects it, as opposed to an unreachable registry.
    #[must_use]
    pub fn refuses(&self) -> bool {
        matches!(self, Self::Digest { .. } | Self::TooLarge { .. } | Self::Artifact(_) | Self::Untrusted(_))
    }

    /// Whether the error may be gone within seconds.
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

    /// Retry-After of the registry.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::TooMany { retry_after, .. } | Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}
