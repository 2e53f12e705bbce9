//! Code cache: compiled plugins on disk, so that a restart does not compile them again.
//!
//! An entry is code that runs in the host: write access to it is control of the host. So the folder belongs to the host's user, and no
//! other user may write to it. The host uses an entry only if this host, with these settings, compiled it from this very file; it
//! compiles everything else again. The checksum detects damage, not malice: it is not a signature.

mod functions;
mod marks;
#[cfg(test)]
mod tests;

pub(super) use functions::FunctionCache;
pub(super) use marks::Mark;

use super::native::{CodeBuffer, NativeCode};
use data_encoding::HEXLOWER;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::hash::{Hash as _, Hasher};
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Most bytes of all entries together.
const MAX_BYTES: u64 = 2 << 30;

/// The part of the key, beside wasmtime's version and settings, that distinguishes the code of different hosts.
const SETTINGS: &str = concat!("oarlock ", env!("CARGO_PKG_VERSION"), ", code 1");

/// The same of code that was compiled quickly.
const QUICK_SETTINGS: &str = concat!("oarlock ", env!("CARGO_PKG_VERSION"), ", quick code 1");

const MAGIC: [u8; 16] = *b"oarlock code 1\r\n";

/// Magic number, key, length of the code (little endian), SHA-256 of the code.
const HEADER_BYTES: usize = 16 + 32 + 8 + 32;

const ENTRY: &str = ".code";
const UNFINISHED: &str = ".tmp";

/// An unfinished entry of this age was left behind by a host that ended while it wrote.
const LEFT_BEHIND: Duration = Duration::from_secs(600);

/// Why the host has no code cache.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("cannot create or open {}", folder.display())]
    Io {
        folder: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{} belongs to user {owner}, not to user {user}", folder.display())]
    Owner { folder: PathBuf, owner: u32, user: u32 },
    #[error("{} can be written to by others (mode {mode:o}): chmod go-w", folder.display())]
    Writable { folder: PathBuf, mode: u32 },
}

/// The key of one file's code on one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key([u8; 32]);

impl Key {
    pub(super) fn name(&self) -> String {
        format!("{}{ENTRY}", HEXLOWER.encode(&self.0))
    }
}

/// The folder of compiled code. All access uses the open folder, so no other folder can take its place.
#[derive(Debug)]
pub(super) struct CodeCache {
    folder: PathBuf,
    open: OwnedFd,
    user: u32,
    max_bytes: u64,
    settings: [u8; 32],
    /// Files that were compiling when a host ended, and how often that happened.
    interrupted: HashMap<Key, u32>,
}

impl CodeCache {
    /// Opens the cache, or logs once why there is none.
    ///
    /// * `quick` - see [`EngineOptions::quick`](super::EngineOptions::quick): its code has entries of its own.
    pub(super) fn open_or_warn(folder: &Path, engine: &wasmtime::Engine, quick: bool) -> Option<Self> {
        match Self::open(folder, MAX_BYTES, settings_of(engine, if quick { QUICK_SETTINGS } else { SETTINGS })) {
            Ok(cache) => Some(cache),
            Err(e) => {
                tracing::warn!(reason = crate::chain(&e), "no code cache: plugins are compiled at every start");
                None
            }
        }
    }

    /// Opens the folder `code` in `folder`, and creates both if absent.
    pub(super) fn open(folder: &Path, max_bytes: u64, settings: [u8; 32]) -> Result<Self, Error> {
        let code = folder.join("code");
        let io = |source| Error::Io { folder: code.clone(), source };
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&code).map_err(io)?;
        let (open, user) = open_folder(&code)?;
        let interrupted = marks::left(&open);
        Ok(Self { folder: code, open, user, max_bytes, settings, interrupted })
    }

    /// The folder of the entries, where compilers find functions.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The key of a file with this SHA-256.
    pub(super) fn key(&self, digest: &[u8; 32]) -> Key {
        Key(Sha256::new().chain_update(self.settings).chain_update(digest).finalize().into())
    }

    /// The code of a key. None: no entry, or an entry that the host does not trust and logs.
    pub(super) fn get(&self, key: &Key) -> Option<NativeCode> {
        match self.read(key) {
            Ok(code) => code,
            Err(reason) => {
                let entry = self.folder.join(key.name());
                tracing::warn!(entry = %entry.display(), reason, "entry of the code cache is not trusted: compiling again");
                None
            }
        }
    }

    fn read(&self, key: &Key) -> Result<Option<NativeCode>, String> {
        // A pipe in its place must not block the host.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let open = match rustix::fs::openat(&self.open, key.name(), flags, Mode::empty()) {
            Ok(open) => open,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err("it is a symlink".to_owned()),
            Err(e) => return Err(e.to_string()),
        };
        let (mut file, metadata) = trusted(open, self.user)?;
        if metadata.len() > self.max_bytes {
            return Err(format!("it has {} bytes", metadata.len()));
        }
        let size = usize::try_from(metadata.len()).map_err(|e| e.to_string())?;
        let mut bytes = CodeBuffer::new(size).map_err(|e| e.to_string())?;
        file.read_exact(bytes.bytes_mut()).map_err(|e| e.to_string())?;
        check(bytes.bytes(), key)?;
        // The modification time records the last use of the entry.
        let now = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
        let _ = rustix::fs::futimens(&file, &rustix::fs::Timestamps { last_access: now, last_modification: now });
        Ok(Some(NativeCode::trust(bytes, HEADER_BYTES)))
    }

    /// Stores code under a key, and removes the least recently used entries beyond the size limit. A failure is logged; it only makes the
    /// next start slower.
    pub(super) fn put(&self, key: &Key, code: &[u8]) {
        if let Err(e) = self.write(key, code) {
            tracing::warn!(folder = %self.folder.display(), error = %e, "cannot store compiled code in the code cache");
        }
    }

    fn write(&self, key: &Key, code: &[u8]) -> Result<(), std::io::Error> {
        let size_bytes = HEADER_BYTES as u64 + code.len() as u64;
        if size_bytes > self.max_bytes {
            return Ok(());
        }
        self.make_room(size_bytes)?;
        let unfinished = format!("{}{UNFINISHED}", uuid::Uuid::new_v4());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&self.open, &unfinished, flags, Mode::RUSR | Mode::WUSR)?);
        let written = (|| {
            file.write_all(&header(key, code))?;
            file.write_all(code)?;
            file.sync_all()?;
            rustix::fs::renameat(&self.open, &unfinished, &self.open, key.name())?;
            // The name is durable only after the folder is synced.
            rustix::fs::fsync(&self.open)?;
            Ok(())
        })();
        if written.is_err() {
            let _ = rustix::fs::unlinkat(&self.open, &unfinished, AtFlags::empty());
        }
        written
    }

    /// Removes the least recently used entries until `size_bytes` more fit.
    fn make_room(&self, size_bytes: u64) -> Result<(), std::io::Error> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.open)? {
            let name = entry?.file_name().to_owned();
            let text = name.to_string_lossy();
            let Ok(stat) = rustix::fs::statat(&self.open, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                continue;
            }
            if text.ends_with(ENTRY) {
                entries.push((changed(&stat), u64::try_from(stat.st_size).unwrap_or_default(), name));
            } else if text.ends_with(UNFINISHED) && age(changed(&stat)) > LEFT_BEHIND {
                let _ = rustix::fs::unlinkat(&self.open, &name, AtFlags::empty());
            }
        }
        entries.sort();
        let mut used: u64 = entries.iter().map(|(_, size, _)| size).sum();
        for (_, size, name) in entries {
            if used.saturating_add(size_bytes) <= self.max_bytes {
                break;
            }
            match rustix::fs::unlinkat(&self.open, &name, AtFlags::empty()) {
                // Another host may remove entries at the same time.
                Ok(()) | Err(Errno::NOENT) => {}
                Err(e) => return Err(e.into()),
            }
            used = used.saturating_sub(size);
        }
        Ok(())
    }
}

/// Opens a folder that belongs to this user and that no other user can write to. Returns the user, too.
fn open_folder(folder: &Path) -> Result<(OwnedFd, u32), Error> {
    let io = |e: Errno| Error::Io { folder: folder.to_owned(), source: e.into() };
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = rustix::fs::open(folder, flags, Mode::empty()).map_err(io)?;
    let stat = rustix::fs::fstat(&open).map_err(io)?;
    let user = rustix::process::geteuid().as_raw();
    if stat.st_uid != user {
        return Err(Error::Owner { folder: folder.to_owned(), owner: stat.st_uid, user });
    }
    if stat.st_mode & 0o022 != 0 {
        return Err(Error::Writable { folder: folder.to_owned(), mode: stat.st_mode & 0o7777 });
    }
    Ok((open, user))
}

/// A regular file of this user that no other user can write to, or why it is none.
fn trusted(open: OwnedFd, user: u32) -> Result<(File, Metadata), String> {
    let file = File::from(open);
    let metadata = file.metadata().map_err(|e| e.to_string())?;
    if !metadata.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    if metadata.uid() != user {
        return Err(format!("it belongs to user {}", metadata.uid()));
    }
    if metadata.mode() & 0o022 != 0 {
        return Err(format!("it can be written to by others (mode {:o})", metadata.mode() & 0o7777));
    }
    Ok((file, metadata))
}

/// Seconds and nanoseconds since 1970.
fn changed(stat: &Stat) -> (i64, u64) {
    (stat.st_mtime, stat.st_mtime_nsec)
}

fn age((seconds, _): (i64, u64)) -> Duration {
    let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
    SystemTime::now().duration_since(changed).unwrap_or_default()
}

fn header(key: &Key, code: &[u8]) -> Vec<u8> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    header.extend_from_slice(&MAGIC);
    header.extend_from_slice(&key.0);
    header.extend_from_slice(&(code.len() as u64).to_le_bytes());
    header.extend_from_slice(&Sha256::digest(code));
    header
}

/// Whether the bytes of an entry are exactly those written under this key.
fn check(bytes: &[u8], key: &Key) -> Result<(), String> {
    let Some((found, code)) = bytes.split_at_checked(HEADER_BYTES) else {
        return Err(format!("it has only {} bytes", bytes.len()));
    };
    if !found.starts_with(&MAGIC) {
        return Err("it does not begin as entries do".to_owned());
    }
    if found.get(16..48) != Some(&key.0) {
        return Err("it is the entry of another key".to_owned());
    }
    if found.get(48..56) != Some(&(code.len() as u64).to_le_bytes()) {
        return Err("it is not as long as it says".to_owned());
    }
    if found != header(key, code) {
        return Err("its checksum is wrong".to_owned());
    }
    Ok(())
}

/// The settings, beside the file, that determine which code is right.
fn settings_of(engine: &wasmtime::Engine, host: &str) -> [u8; 32] {
    struct Digest(Sha256);
    impl Hasher for Digest {
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
        fn finish(&self) -> u64 {
            0
        }
    }
    let mut digest = Digest(Sha256::new());
    host.hash(&mut digest);
    engine.precompile_compatibility_hash().hash(&mut digest);
    digest.0.finalize().into()
}
