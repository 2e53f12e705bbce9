//! The plugin directory: plugin files, their grants, and changes of either.
//!
//! [`DirectoryWatch`] returns a [`Snapshot`] whenever the directory has settled in another state. inotify makes that fast. A slow poll
//! makes it reliable, because notifications get lost (queue overflow, network file systems) and never report changes behind a symlink.

mod declared;
mod settle;
mod sources;
mod stamp;
#[cfg(test)]
mod tests;
mod watch;

pub use declared::{Declarations, Declared, DeclaredSource, Fate, InlineGrant, key_of, plugin_of};
pub use sources::Sources;
pub use stamp::Stamp;

use oarlock_manifest::PluginGrant;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest grant file.
const GRANT_LIMIT_BYTES: u64 = 1 << 20;

/// The settled content of the plugin directory, without half-written files.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Snapshot {
    /// Plugin files by name: `network.wasm`.
    pub files: BTreeMap<String, Found>,
    /// Grants by file name, including those without a plugin beside them.
    pub grants: BTreeMap<String, Stamp>,
}

impl Snapshot {
    /// The present content of a directory in which no file is being written.
    ///
    /// * `number` - of the state: in another one, every file may be another.
    fn present(folder: &Path, number: u64) -> Result<Self, Error> {
        let stamp = || Stamp::of_text(number.to_string());
        let mut snapshot = Self::default();
        for candidate in scan(folder)? {
            let grant_path = candidate.grant_path();
            let grant = grant_path.exists().then(stamp);
            if let (Some(grant), Some(name)) = (&grant, grant_path.file_name()) {
                snapshot.grants.insert(name.to_string_lossy().into_owned(), grant.clone());
            }
            snapshot.files.insert(candidate.file_name.clone(), Found { candidate, wasm: stamp(), grant });
        }
        Ok(snapshot)
    }
}

/// One plugin file and its grant.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The file.
    pub candidate: Candidate,
    /// The state of the file.
    pub wasm: Stamp,
    /// The state of the grant beside it and of the files in its `secretFiles`. None: no grant.
    pub grant: Option<Stamp>,
}

impl Found {
    /// Whether another source has the same code and grant: another tag of one version, for example.
    #[must_use]
    pub fn differs_in_source_only(&self, other: &Self) -> bool {
        let mut same = self.clone();
        if let (Some(declared), Some(of)) = (&mut same.candidate.declared, &other.candidate.declared) {
            declared.source.clone_from(&of.source);
        }
        self != other && same == *other
    }
}

/// A file that may contain a plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// `network.wasm`.
    pub file_name: String,
    /// Path of the file.
    pub path: PathBuf,
    /// Set for a plugin from a registry: its grant is not beside the file.
    pub pulled: Option<Pulled>,
    /// Set for a plugin that an object declares.
    pub declared: Option<DeclaredPlugin>,
}

/// What an object says of a plugin beside its code.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredPlugin {
    /// The plugin's name, whatever its manifest says.
    pub plugin: String,
    /// Where the code comes from: the source of before while that of the object is pulled.
    pub source: DeclaredSource,
    /// The grant. None: the plugin waits for one.
    pub grant: Option<Arc<InlineGrant>>,
}

/// A file that was pulled from a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pulled {
    /// The name that its manifest must have.
    pub plugin: String,
    /// SHA-256 of the file, in hex. None: no file yet.
    pub digest: Option<String>,
    /// Path of its grant in the plugin directory.
    pub grant: PathBuf,
    /// Why the newest version is refused; the file contains an earlier version.
    pub refused: Option<String>,
}

/// Why a candidate cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The directory or a file in it cannot be accessed.
    #[error("{} cannot be read", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The path is no regular file but a directory, a pipe or a device.
    #[error("{} is not a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The file exceeds the size limit of plugins or grants.
    #[error("{} has {size_bytes} bytes; the limit is {limit_bytes}", path.display())]
    TooLarge {
        /// The path.
        path: PathBuf,
        /// The size of the file.
        size_bytes: u64,
        /// The limit.
        limit_bytes: u64,
    },
    /// The content of a grant file is no grant.
    #[error("{} is not a grant: {reason}", path.display())]
    Grant {
        /// The path.
        path: PathBuf,
        /// The fault.
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
        found.push(Candidate::file(file_name, path));
    }
    found.sort_by(|a, b| a.file_name.cmp(&b.file_name));
    Ok(found)
}

impl Candidate {
    /// A file of a directory.
    #[must_use]
    pub fn file(file_name: String, path: PathBuf) -> Self {
        Self { file_name, path, pulled: None, declared: None }
    }

    /// The plugin's name, unless its grant states another: the file stem, or the name of the registry source.
    #[must_use]
    pub fn own_name(&self) -> String {
        if let Some(declared) = &self.declared {
            return declared.plugin.clone();
        }
        let stem = || self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        self.pulled.as_ref().map_or_else(stem, |pulled| pulled.plugin.clone())
    }

    /// The bytes of the file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is no regular file, or exceeds the size limit.
    pub fn read(&self) -> Result<Vec<u8>, Error> {
        read_regular(&self.path, super::load::FILE_LIMIT_BYTES)
    }

    /// The grant beside the file: `network.yaml` beside `network.wasm`. None: no such file.
    ///
    /// # Errors
    ///
    /// The grant cannot be read, is no regular file, or is invalid.
    pub fn grant(&self) -> Result<Option<PluginGrant>, Error> {
        if let Some(declared) = &self.declared {
            return Ok(declared.grant.as_ref().map(|inline| inline.grant.clone()));
        }
        read_grant(&self.grant_path())
    }

    /// Whether the grant states a limit by itself, instead of leaving it at its default.
    #[must_use]
    pub fn states_limit(&self, name: &str) -> bool {
        if let Some(declared) = &self.declared {
            return declared.grant.as_ref().is_some_and(|inline| inline.stated_limits.contains(name));
        }
        let text =
            read_regular(&self.grant_path(), GRANT_LIMIT_BYTES).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let grant: Option<serde_json::Value> = text.and_then(|text| serde_saphyr::from_str(&text).ok());
        grant.is_some_and(|grant| grant.get("limits").and_then(|limits| limits.get(name)).is_some())
    }

    /// Where the grant lies, or would lie. Of a declared plugin, it is no path but the field of its object.
    #[must_use]
    pub fn grant_path(&self) -> PathBuf {
        if let Some(declared) = &self.declared {
            return format!("spec.grant of Plugin {}", declared.plugin).into();
        }
        self.pulled.as_ref().map_or_else(|| self.path.with_extension("yaml"), |pulled| pulled.grant.clone())
    }
}

/// A grant file. None: there is none.
///
/// # Errors
///
/// It cannot be read, is no regular file, or is not a grant.
pub fn read_grant(path: &Path) -> Result<Option<PluginGrant>, Error> {
    let bytes = match read_regular(path, GRANT_LIMIT_BYTES) {
        Ok(bytes) => bytes,
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    parse_grant(bytes).map(Some).map_err(|reason| Error::Grant { path: path.to_owned(), reason })
}

/// Parses the text of a grant file, or says why it is no grant.
pub(super) fn parse_grant(bytes: Vec<u8>) -> Result<PluginGrant, String> {
    let text = String::from_utf8(bytes).map_err(|e| e.to_string())?;
    serde_saphyr::from_str(&text).map_err(|e: serde_saphyr::Error| e.to_string())
}

/// Reads a file without ever blocking: a pipe in its place is refused rather than read.
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
    // The file may have grown since.
    file.by_ref().take(limit_bytes + 1).read_to_end(&mut bytes).map_err(io)?;
    let size_bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if size_bytes > limit_bytes {
        return Err(Error::TooLarge { path: path.to_owned(), size_bytes, limit_bytes });
    }
    Ok(bytes)
}

/// Whether a file of this name is a plugin or a grant. Files that editors and copy tools create temporarily (`.network.wasm.swp`,
/// `network.wasm~`, `network.wasm.tmp`, `4913`) are not.
fn counts(name: &str) -> bool {
    !name.starts_with('.') && Path::new(name).extension().is_some_and(|e| e == "wasm" || e == "yaml")
}

/// A watch of the plugin directory.
///
/// A thread of its own watches, and ends when this is dropped.
#[derive(Debug)]
pub struct DirectoryWatch {
    folder: PathBuf,
    states: tokio::sync::watch::Receiver<watch::State>,
    /// The last snapshot returned.
    last: Option<Snapshot>,
    wake: std::sync::mpsc::SyncSender<watch::Message>,
}

impl DirectoryWatch {
    /// Starts watching. Never fails: without inotify the poll alone watches, after one warning.
    ///
    /// * `folder` - need not exist; each poll follows the symlinks on its path again.
    #[must_use]
    pub fn start(folder: PathBuf) -> Self {
        Self::start_with(folder, watch::Notices::Kernel)
    }

    /// The present content of a directory, at once. No thread watches.
    ///
    /// * `number` - of this state of the directory.
    #[must_use]
    pub fn fixed(folder: PathBuf, number: u64) -> Self {
        let state = match Snapshot::present(&folder, number) {
            Ok(snapshot) => watch::State::Settled(snapshot),
            Err(Error::Io { source, .. }) => watch::State::Unreadable(source.raw_os_error().unwrap_or_default()),
            Err(_) => watch::State::Settled(Snapshot::default()),
        };
        let (sender, states) = tokio::sync::watch::channel(watch::State::Unknown);
        sender.send_replace(state);
        let (wake, _) = std::sync::mpsc::sync_channel(1);
        Self { folder, states, last: None, wake }
    }

    fn start_with(folder: PathBuf, notices: watch::Notices) -> Self {
        let (states, wake) = watch::spawn(folder.clone(), notices);
        Self { folder, states, last: None, wake }
    }

    /// The next snapshot that differs from the last one returned.
    ///
    /// The first call returns the present content: at once, or when files written within the last 300 ms have settled. A file that is
    /// being written is omitted, or keeps its earlier state, until it settles. It settles 10 ms after it was renamed into place or closed
    /// after writing, otherwise 300 ms after its last change. Simultaneous changes of a plugin and of its grant come in one snapshot. A
    /// file counts as removed after 500 ms of absence, so that its replacement is no removal. Every change is in a snapshot within 1.5 s;
    /// of several changes in between, only the last appears.
    ///
    /// A directory that does not exist counts as empty, after the same 500 ms.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]: the directory cannot be read for another reason. Each reason is returned once; the next call waits until the
    /// directory is readable again or the reason changes. Meanwhile its content counts as unchanged.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost: a snapshot is either returned or left for the next call.
    pub async fn next(&mut self) -> Result<Snapshot, Error> {
        loop {
            if self.states.changed().await.is_err() {
                // The thread ends only with this value; without the thread nothing changes any more.
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
