//! Marks of files that are compiling, beside the cache entries. A host locks its marks. So a mark without a lock that is found at the start
//! belongs to a file whose compilation was in progress when a host ended, and one with a lock to a host that compiles the file now.

use super::{CodeCache, Key, age, changed};
use data_encoding::HEXLOWER;
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::time::Duration;

const MARK: &str = ".compiling";

/// Older marks are ignored and removed.
const FORGOTTEN: Duration = Duration::from_secs(24 * 60 * 60);

/// Most marks that are read: many hosts may share the folder.
const MOST: usize = 1000;

/// Waiting time after the first end of a host, and the longest.
const FIRST_WAIT: Duration = Duration::from_secs(10);
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// Marks a file as compiling until this value is dropped.
#[derive(Debug)]
pub(in crate::plugin) struct Mark {
    folder: OwnedFd,
    name: String,
    /// The mark, which is locked.
    lock: File,
}

#[cfg(test)]
impl Mark {
    /// Leaves the mark as the end of the host does.
    pub(super) fn end_of_host(self) {
        flock(&self.lock, FlockOperation::Unlock).unwrap();
        std::mem::forget(self);
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        let _ = rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty());
        let _ = flock(&self.lock, FlockOperation::Unlock);
    }
}

impl CodeCache {
    /// How long a file waits because the host ended while compiling it: ten seconds after the first time, then twice as long each time.
    /// None: that never happened.
    pub(in crate::plugin) fn interrupted(&self, key: &Key) -> Option<Duration> {
        let times = self.interrupted.get(key)?;
        let factor = 1_u32.checked_shl(times.saturating_sub(1)).unwrap_or(u32::MAX);
        Some(FIRST_WAIT.saturating_mul(factor).min(LONGEST_WAIT))
    }

    /// Marks a file as compiling. A failure is logged: after an end of the host, its next start compiles the file without waiting.
    pub(in crate::plugin) fn mark(&self, key: &Key) -> Option<Mark> {
        let name = format!("{}{MARK}", HEXLOWER.encode(&key.0));
        let times = self.interrupted.get(key).copied().unwrap_or_default().saturating_add(1);
        let written = (|| -> std::io::Result<Mark> {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mut file = File::from(rustix::fs::openat(&self.open, &name, flags, Mode::RUSR | Mode::WUSR)?);
            // It fails where another host compiles the file too, and on file systems without locks.
            let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
            file.write_all(times.to_string().as_bytes())?;
            Ok(Mark { folder: self.open.as_fd().try_clone_to_owned()?, name, lock: file })
        })();
        written
            .inspect_err(|e| {
                tracing::warn!(folder = %self.folder.display(), error = %e, "cannot mark the file that is being compiled");
            })
            .ok()
    }
}

/// The marks of hosts that ended, and how often each did. Unreadable marks are skipped.
pub(super) fn left(folder: &OwnedFd) -> HashMap<Key, u32> {
    let mut found = HashMap::new();
    let Ok(entries) = Dir::read_from(folder) else { return found };
    for name in entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()) {
        let Some(key) = name.strip_suffix(MARK).and_then(key) else { continue };
        let old = rustix::fs::statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| age(changed(&stat)) > FORGOTTEN);
        if old {
            let _ = rustix::fs::unlinkat(folder, &name, AtFlags::empty());
        } else if found.len() < MOST {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let Ok(file) = rustix::fs::openat(folder, &name, flags, Mode::empty()) else { continue };
            let file = File::from(file);
            if flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK) {
                continue;
            }
            let mut text = String::new();
            // The end of the host may have truncated the mark; the file was compiling all the same.
            let _ = file.take(16).read_to_string(&mut text);
            found.insert(key, text.parse().unwrap_or(1));
        }
    }
    found
}

fn key(text: &str) -> Option<Key> {
    HEXLOWER.decode(text.as_bytes()).ok()?.try_into().ok().map(Key)
}
