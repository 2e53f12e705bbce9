//! The plugin directory: which files are plugins, what was granted to each, and when either changes.
//!
//! [`DirectoryWatch`] hands out a [`Snapshot`] whenever the directory has come to rest in another state. inotify makes that quick;
//! a slow poll makes it sure, for notifications get lost (queue overflow, network file systems) and never tell of changes behind
//! a symlink.

mod settle;
mod sources;
mod stamp;
#[cfg(test)]
mod tests;
mod watch;

pub use sources::Sources;
pub use stamp::Stamp;

use oarlock_manifest::PluginGrant;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Largest grant file.
const GRANT_LIMIT_BYTES: u64 = 1 << 20;

/// What lies in the plugin directory, as far as it is settled (no file half-written).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// By file name: `network.wasm`.
    pub files: BTreeMap<String, Found>,
    /// The grants, by file name, those without a plugin beside them as well.
    pub grants: BTreeMap<String, Stamp>,
}

/// One plugin file and its grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The file.
    pub candidate: Candidate,
    /// Which state of the file.
    pub wasm: Stamp,
    /// Which state of the grant beside it and of the files its `secretFiles` name. None: there is no grant.
    pub grant: Option<Stamp>,
}

/// A file that may be a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// `network.wasm`.
    pub file_name: String,
    /// Where it lies.
    pub path: PathBuf,
    /// What is known of a plugin that comes from elsewhere: its grant is not what lies beside it.
    pub pulled: Option<Pulled>,
}

/// What is known of a file that was pulled from a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pulled {
    /// The name that its manifest must have.
    pub plugin: String,
    /// SHA-256 of the file, in hex. None: there is no file.
    pub digest: Option<String>,
    /// The grant for it, in the plugin directory.
    pub grant: PathBuf,
    /// Why the newest version must not be used; the file is of one before then.
    pub refused: Option<String>,
}

/// Why a candidate cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The directory or a file in it.
    #[error("{} cannot be read", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Not a file with content: a directory, a pipe, a device.
    #[error("{} is not a regular file", path.display())]
    NotAFile {
        /// Which.
        path: PathBuf,
    },
    /// The file is larger than a plugin or a grant may be.
    #[error("{} has {size_bytes} bytes; it may have {limit_bytes}", path.display())]
    TooLarge {
        /// Which.
        path: PathBuf,
        /// How large.
        size_bytes: u64,
        /// How large it may be.
        limit_bytes: u64,
    },
    /// The grant is not one.
    #[error("{} is not a grant: {reason}", path.display())]
    Grant {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// The `.wasm` files of a directory, by name; hidden ones are left out.
///
/// # Errors
///
/// The directory cannot be read.
pub fn scan(folder: &Path) -> Result<Vec<Candidate>, Error> {
    let io = |source| Error::Io { path: folder.to_owned(), source };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let Some(file_name) = path.file_name().map(|n| n.to_string_lossy().into_owned()) else { continue };
        if file_name.starts_with('.') || path.extension().is_none_or(|e| e != "wasm") || !path.is_file() {
            continue;
        }
        found.push(Candidate { file_name, path, pulled: None });
    }
    found.sort_by(|a, b| a.file_name.cmp(&b.file_name));
    Ok(found)
}

impl Candidate {
    /// The plugin's name, unless its grant states another: the file stem, or the name of the source it was pulled from.
    #[must_use]
    pub fn own_name(&self) -> String {
        let stem = || self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        self.pulled.as_ref().map_or_else(stem, |pulled| pulled.plugin.clone())
    }

    /// The bytes of the file.
    ///
    /// # Errors
    ///
    /// It cannot be read, is no regular file, or is larger than a plugin may be.
    pub fn read(&self) -> Result<Vec<u8>, Error> {
        read_regular(&self.path, super::load::FILE_LIMIT_BYTES)
    }

    /// The grant beside the file: `network.yaml` beside `network.wasm`. None: there is none.
    ///
    /// # Errors
    ///
    /// It cannot be read, is no regular file, or is not a grant.
    pub fn grant(&self) -> Result<Option<PluginGrant>, Error> {
        read_grant(&self.grant_path())
    }

    /// Where the grant lies, or would lie.
    #[must_use]
    pub fn grant_path(&self) -> PathBuf {
        self.pulled.as_ref().map_or_else(|| self.path.with_extension("yaml"), |pulled| pulled.grant.clone())
    }
}

fn read_grant(path: &Path) -> Result<Option<PluginGrant>, Error> {
    let bytes = match read_regular(path, GRANT_LIMIT_BYTES) {
        Ok(bytes) => bytes,
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    let refused = |reason| Error::Grant { path: path.to_owned(), reason };
    let text = String::from_utf8(bytes).map_err(|e| refused(e.to_string()))?;
    serde_saphyr::from_str(&text).map(Some).map_err(|e: serde_saphyr::Error| refused(e.to_string()))
}

/// The content of a file, without ever waiting for it: a pipe in its place is refused rather than read.
fn read_regular(path: &Path, limit_bytes: u64) -> Result<Vec<u8>, Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let mut file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(io)?;
    let metadata = file.metadata().map_err(io)?;
    if !metadata.is_file() {
        return Err(Error::NotAFile { path: path.to_owned() });
    }
    let size_bytes = metadata.len();
    if size_bytes > limit_bytes {
        return Err(Error::TooLarge { path: path.to_owned(), size_bytes, limit_bytes });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size_bytes).unwrap_or_default());
    // It may have grown since.
    file.by_ref().take(limit_bytes + 1).read_to_end(&mut bytes).map_err(io)?;
    let size_bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if size_bytes > limit_bytes {
        return Err(Error::TooLarge { path: path.to_owned(), size_bytes, limit_bytes });
    }
    Ok(bytes)
}

/// Whether a file of this name counts: a plugin or a grant. What editors and copiers put beside a file while they work on it
/// (`.network.wasm.swp`, `network.wasm~`, `network.wasm.tmp`, `4913`) does not.
fn counts(name: &str) -> bool {
    !name.starts_with('.') && Path::new(name).extension().is_some_and(|e| e == "wasm" || e == "yaml")
}

/// The plugin directory under watch.
///
/// The watching is done by a thread of its own, which ends when this is dropped.
#[derive(Debug)]
pub struct DirectoryWatch {
    folder: PathBuf,
    states: tokio::sync::watch::Receiver<watch::State>,
    /// What was handed out last.
    last: Option<Snapshot>,
    wake: std::sync::mpsc::SyncSender<watch::Message>,
}

impl DirectoryWatch {
    /// Starts watching. Never fails: without inotify the poll does it (warned of once).
    ///
    /// * `folder` - need not exist; symlinks on the way to it are followed anew at every poll.
    #[must_use]
    pub fn start(folder: PathBuf) -> Self {
        Self::start_with(folder, watch::Notices::Kernel)
    }

    fn start_with(folder: PathBuf, notices: watch::Notices) -> Self {
        let (states, wake) = watch::spawn(folder.clone(), notices);
        Self { folder, states, last: None, wake }
    }

    /// The next snapshot that differs from the last one handed out.
    ///
    /// The first call answers with what is there: at once, or when files that were written within the last 300 ms had time to
    /// settle. A file that is still being written is left out, or stays what it was, until it has settled: 20 ms after it was
    /// renamed into place or closed after writing, 300 ms after its last change otherwise. Changes of a plugin and of its grant at
    /// the same time come together. A file is gone after 500 ms of absence, so that one put in its place is no removal.
    /// Every change is in a snapshot within 1.5 s; of changes in between only the last is.
    ///
    /// A directory that does not exist is an empty one, after the same 500 ms.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]: the directory cannot be read for another reason. Said once for each reason; the next call waits until the
    /// directory can be read again, or cannot be for another reason. What was in it counts as unchanged meanwhile.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost: a snapshot is either returned or handed out by the next call.
    pub async fn next(&mut self) -> Result<Snapshot, Error> {
        loop {
            if self.states.changed().await.is_err() {
                // The thread only ends with this value; without it nothing ever changes.
                std::future::pending::<()>().await;
            }
            match &*self.states.borrow_and_update() {
                watch::State::Unknown => {}
                watch::State::Unreadable(code) => {
                    let source = std::io::Error::from_raw_os_error(*code);
                    return Err(Error::Io { path: self.folder.clone(), source });
                }
                watch::State::Settled(snapshot) if self.last.as_ref() == Some(snapshot) => {}
                watch::State::Settled(snapshot) => {
                    self.last = Some(snapshot.clone());
                    return Ok(snapshot.clone());
                }
            }
        }
    }
}

impl Drop for DirectoryWatch {
    fn drop(&mut self) {
        let _ = self.wake.try_send(watch::Message::Stop);
    }
}
