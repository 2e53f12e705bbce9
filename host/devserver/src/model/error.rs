//! Errors of the crate: why a server did not start, or its configuration is invalid.

use std::{io, net::SocketAddr, path::PathBuf};

/// Why a server did not start, or its tokens or fault rules are invalid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address is unusable.
    #[error("cannot listen on {addr}")]
    Listen {
        /// The requested address.
        addr: SocketAddr,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
    /// A line of a token file is invalid.
    #[error("line {line} of the tokens: {why}")]
    Tokens {
        /// The number of the line; the first is 1.
        line: usize,
        /// The fault.
        why: &'static str,
    },
    /// A certificate or a key is invalid.
    #[error("the {what} cannot be used: {why}")]
    Tls {
        /// The name of the text.
        what: &'static str,
        /// The fault.
        why: String,
    },
    /// An AdmissionConfiguration, or one of its files, is invalid.
    #[error("cannot use {}: {why}", file.display())]
    AdmissionConfig {
        /// The file.
        file: PathBuf,
        /// The fault.
        why: String,
    },
    /// A file of the data directory is unusable.
    #[error("cannot use {} for the data of the API server", path.display())]
    DataDir {
        /// The file or the directory.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
    /// Another server uses the data directory.
    #[error("the data directory {} is in use by another API server", dir.display())]
    DataDirInUse {
        /// The directory.
        dir: PathBuf,
    },
    /// A file of the data directory is damaged.
    #[error("{} is damaged at byte {offset}: {why}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// Offset of the first unreadable line.
        offset: usize,
        /// The fault.
        why: String,
    },
    /// A fault rule is invalid.
    #[error("fault rule {rule}, {field}: {why}")]
    Fault {
        /// The number of the rule in its list, from 1; 0 is the document itself.
        rule: usize,
        /// The path of the field in the rule; `.` is the rule itself.
        field: String,
        /// The fault.
        why: String,
    },
}
