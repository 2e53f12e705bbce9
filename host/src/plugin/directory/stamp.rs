//! File stamps: detect a changed file without reading it.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The state of a file and of the files it names. It changes whenever the content may have changed: device, inode, size, and mtime and
/// ctime in nanoseconds, of the targets of symlinks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    files: Vec<Option<FileStamp>>,
    /// The digest of a text that is in no file.
    text: Option<String>,
}

impl Stamp {
    /// * `own` - state of the file.
    /// * `named` - states of the files it names, in a fixed order; none: no such file.
    pub(super) fn new(own: FileStamp, named: impl IntoIterator<Item = Option<FileStamp>>) -> Self {
        Self { files: std::iter::once(Some(own)).chain(named).collect(), text: None }
    }

    /// The constant state of a file whose path names its content.
    pub(crate) fn fixed() -> Self {
        Self { files: Vec::new(), text: None }
    }

    /// The state of a text that is in no file.
    pub(super) fn of_text(digest: String) -> Self {
        Self { files: Vec::new(), text: Some(digest) }
    }

    /// Time since the last change of any of the files; zero for a change in the future (clocks differ).
    pub(super) fn age(&self) -> Duration {
        let now = SystemTime::now();
        let ages = self.files.iter().flatten().map(|s| now.duration_since(s.changed()).unwrap_or_default());
        ages.min().unwrap_or_default()
    }
}

/// The state of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileStamp {
    device: u64,
    inode: u64,
    size_bytes: u64,
    /// Seconds and nanoseconds since 1970.
    mtime: (i64, i64),
    ctime: (i64, i64),
}

impl FileStamp {
    fn changed(&self) -> SystemTime {
        let (seconds, nanoseconds) = self.mtime.max(self.ctime);
        let since = u64::try_from(seconds).ok().zip(u32::try_from(nanoseconds).ok());
        let at = since.and_then(|(s, ns)| SystemTime::UNIX_EPOCH.checked_add(Duration::new(s, ns)));
        at.unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// Device and inode: whether a path leads to another file than before.
    pub(super) fn identity(&self) -> (u64, u64) {
        (self.device, self.inode)
    }
}

/// The result of checking a path.
pub(super) enum Look {
    /// Whether the target is a regular file, and its state.
    There(bool, FileStamp),
    /// No file, or a symlink without a target.
    Absent,
    /// The state cannot be determined (no permission on the path, an IO error).
    Unknown,
}

/// Checks the target of a path without opening it, so a pipe cannot block.
pub(super) fn look(path: &Path) -> Look {
    match std::fs::metadata(path) {
        Ok(metadata) => Look::There(metadata.is_file(), stamp_of(&metadata)),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Look::Absent,
        // A circle of symlinks has no target.
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => Look::Absent,
        Err(_) => Look::Unknown,
    }
}

/// The error code of an IO error.
pub(super) fn code_of(error: &std::io::Error) -> i32 {
    error.raw_os_error().unwrap_or_else(|| rustix::io::Errno::IO.raw_os_error())
}

fn stamp_of(metadata: &Metadata) -> FileStamp {
    FileStamp {
        device: metadata.dev(),
        inode: metadata.ino(),
        size_bytes: metadata.size(),
        mtime: (metadata.mtime(), metadata.mtime_nsec()),
        ctime: (metadata.ctime(), metadata.ctime_nsec()),
    }
}
