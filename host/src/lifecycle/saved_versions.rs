//! The last good version of each plugin, and the version that was rolled back last, on disk: a host that restarts can still go back.
//!
//! The folder contains files of plugins, so it has the rules of the code cache: it belongs to the host's user, and no other user may write
//! to it. Hosts with other plugin directories may share it.

use crate::oci::LAYER_BYTES;
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Most bytes of all files together; the oldest ones go.
const MAX_BYTES: u64 = 1 << 30;

/// Longest record, in bytes.
const RECORD_BYTES: u64 = 64 << 10;

const WASM: &str = ".wasm";
const RECORD: &str = ".json";

/// The folder, for the plugins of one directory.
#[derive(Clone, Debug)]
pub(super) struct SavedVersions {
    folder: PathBuf,
    /// Distinguishes the plugin directories.
    directory: String,
    max_bytes: u64,
}

/// The versions of one plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// The plugin's file: the version of one file never runs for another.
    file: String,
    /// SHA-256 of the good version, in hex.
    good: String,
    /// SHA-256 of the version that was rolled back last, and why.
    rejected: Option<(String, String)>,
}

/// The good version of a plugin whose file has another one.
#[derive(Debug)]
pub(super) struct Saved {
    pub(super) wasm: Vec<u8>,
    /// Why the version in the file was rolled back. None: it was not.
    pub(super) rejected: Option<String>,
}

impl SavedVersions {
    /// Opens the folder `versions` in the folder of caches, or logs why there is none.
    ///
    /// * `plugins` - the plugin directory.
    pub(super) fn open_or_warn(caches: &Path, plugins: &Path) -> Option<Self> {
        let folder = caches.join("versions");
        match Self::open(&folder, plugins) {
            Ok(saved) => Some(saved),
            Err(reason) => {
                let folder = folder.display();
                tracing::warn!(%folder, reason, "after a restart there is no earlier version for a rollback");
                None
            }
        }
    }

    fn open(folder: &Path, plugins: &Path) -> Result<Self, String> {
        let text = |error: std::io::Error| error.to_string();
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(text)?;
        let found = fs::symlink_metadata(folder).map_err(text)?;
        if !found.is_dir() || found.uid() != rustix::process::geteuid().as_raw() || found.mode() & 0o022 != 0 {
            return Err("other users own it or may write to it: chmod go-w".to_owned());
        }
        let plugins = fs::canonicalize(plugins).unwrap_or_else(|_| plugins.to_owned());
        let digest = HEXLOWER.encode(&Sha256::digest(plugins.as_os_str().as_encoded_bytes()));
        let directory = digest.get(..16).unwrap_or(&digest).to_owned();
        Ok(Self { folder: folder.to_owned(), directory, max_bytes: MAX_BYTES })
    }

    /// Saves a version that works as the good one.
    ///
    /// * `only_if_none` - keep an earlier good version.
    pub(super) fn good(&self, plugin: &str, file: &str, wasm: &[u8], only_if_none: bool) -> std::io::Result<()> {
        let digest = HEXLOWER.encode(&Sha256::digest(wasm));
        let before = self.record(plugin).filter(|record| record.file == file);
        if before.as_ref().is_some_and(|record| only_if_none || record.good == digest && record.rejected.is_none()) {
            return Ok(());
        }
        self.write(&self.path(plugin, WASM), wasm)?;
        let record = Record { file: file.to_owned(), good: digest, rejected: None };
        self.write(&self.path(plugin, RECORD), &serde_json::to_vec(&record)?)?;
        self.make_room();
        Ok(())
    }

    /// Records that a version was rolled back.
    pub(super) fn rejected(&self, plugin: &str, file: &str, digest: &str, why: &str) -> std::io::Result<()> {
        let Some(mut record) = self.record(plugin).filter(|record| record.file == file) else { return Ok(()) };
        record.rejected = Some((digest.to_owned(), why.to_owned()));
        self.write(&self.path(plugin, RECORD), &serde_json::to_vec(&record)?)
    }

    /// Forgets that a version was rolled back: a person wants to run it.
    pub(super) fn forgive(&self, plugin: &str) -> std::io::Result<()> {
        let Some(record) = self.record(plugin).filter(|record| record.rejected.is_some()) else { return Ok(()) };
        self.write(&self.path(plugin, RECORD), &serde_json::to_vec(&Record { rejected: None, ..record })?)
    }

    /// Forgets the good version if it is this one, which fails.
    pub(super) fn not_good(&self, plugin: &str, digest: &str) {
        if self.record(plugin).is_some_and(|record| record.good == digest) {
            self.removed(plugin);
        }
    }

    /// Forgets a plugin that was removed.
    pub(super) fn removed(&self, plugin: &str) {
        for ending in [RECORD, WASM] {
            let _ = fs::remove_file(self.path(plugin, ending));
        }
    }

    /// The good version, if the file has another one.
    ///
    /// * `digest` - of the version in the file.
    pub(super) fn earlier(&self, plugin: &str, file: &str, digest: &str) -> Option<Saved> {
        let record = self.record(plugin).filter(|record| record.file == file && record.good != digest)?;
        let wasm = read(&self.path(plugin, WASM), LAYER_BYTES)?;
        // A crash between the two writes, or damage.
        if HEXLOWER.encode(&Sha256::digest(&wasm)) != record.good {
            return None;
        }
        let rejected = record.rejected.filter(|(rejected, _)| rejected == digest).map(|(_, why)| why);
        Some(Saved { wasm, rejected })
    }

    fn record(&self, plugin: &str) -> Option<Record> {
        serde_json::from_slice(&read(&self.path(plugin, RECORD), RECORD_BYTES)?).ok()
    }

    fn path(&self, plugin: &str, ending: &str) -> PathBuf {
        self.folder.join(format!("{plugin}-{}{ending}", self.directory))
    }

    /// Writes a file in one step.
    fn write(&self, path: &Path, content: &[u8]) -> std::io::Result<()> {
        let new = self.folder.join(format!("{}.tmp", uuid::Uuid::new_v4().simple()));
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        let written = std::io::Write::write_all(&mut file, content).and_then(|()| fs::rename(&new, path));
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written
    }

    /// Removes the oldest files beyond the limit.
    fn make_room(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let mut files: Vec<_> = entries
            .flatten()
            .filter_map(|entry| {
                let metadata = entry.metadata().ok()?;
                Some((metadata.modified().ok()?, metadata.len(), entry.path()))
            })
            .collect();
        files.sort();
        let mut bytes: u64 = files.iter().map(|(_, length, _)| length).sum();
        for (_, length, path) in files {
            if bytes <= self.max_bytes {
                return;
            }
            bytes -= length;
            let _ = fs::remove_file(path);
        }
    }
}

/// The content of a regular file of at most `limit` bytes. None: there is none.
fn read(path: &Path, limit: u64) -> Option<Vec<u8>> {
    let metadata = fs::symlink_metadata(path).ok().filter(|metadata| metadata.is_file() && metadata.len() <= limit)?;
    let mut content = Vec::with_capacity(usize::try_from(metadata.len()).ok()?);
    fs::File::open(path).ok()?.take(limit).read_to_end(&mut content).ok()?;
    Some(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(wasm: &[u8]) -> String {
        HEXLOWER.encode(&Sha256::digest(wasm))
    }

    #[test]
    fn a_good_version_is_there_for_its_own_file_of_its_own_directory_only() {
        let folder = tempfile::tempdir().unwrap();
        let of = |plugins: &str| SavedVersions::open_or_warn(folder.path(), Path::new(plugins)).unwrap();
        let saved = of("/plugins");
        saved.good("p", "p.wasm", b"one", true).unwrap();
        assert!(saved.earlier("p", "p.wasm", &digest(b"one")).is_none(), "the file has it");
        let found = saved.earlier("p", "p.wasm", &digest(b"two")).unwrap();
        assert_eq!((found.wasm.as_slice(), found.rejected), (&b"one"[..], None));
        assert!(saved.earlier("p", "q.wasm", &digest(b"two")).is_none());
        assert!(saved.earlier("q", "p.wasm", &digest(b"two")).is_none());
        assert!(of("/elsewhere").earlier("p", "p.wasm", &digest(b"two")).is_none());
        saved.good("p", "p.wasm", b"two", true).unwrap();
        assert!(saved.earlier("p", "p.wasm", &digest(b"two")).is_some(), "an unproven version does not replace it");
        saved.good("p", "p.wasm", b"two", false).unwrap();
        assert!(saved.earlier("p", "p.wasm", &digest(b"two")).is_none());
        saved.not_good("p", &digest(b"one"));
        assert!(saved.earlier("p", "p.wasm", &digest(b"three")).is_some());
        saved.not_good("p", &digest(b"two"));
        assert!(saved.earlier("p", "p.wasm", &digest(b"three")).is_none());
    }

    #[test]
    fn a_rejected_version_is_remembered_until_it_is_forgiven_or_another_proves_itself() {
        let folder = tempfile::tempdir().unwrap();
        let saved = SavedVersions::open_or_warn(folder.path(), Path::new("/plugins")).unwrap();
        saved.good("p", "p.wasm", b"one", false).unwrap();
        let bad = digest(b"two");
        saved.rejected("p", "p.wasm", &bad, "it traps").unwrap();
        assert_eq!(saved.earlier("p", "p.wasm", &bad).unwrap().rejected.as_deref(), Some("it traps"));
        assert_eq!(saved.earlier("p", "p.wasm", &digest(b"three")).unwrap().rejected, None);
        saved.forgive("p").unwrap();
        assert_eq!(saved.earlier("p", "p.wasm", &bad).unwrap().rejected, None);
        saved.rejected("p", "p.wasm", &bad, "it traps").unwrap();
        saved.good("p", "p.wasm", b"three", false).unwrap();
        assert_eq!(saved.earlier("p", "p.wasm", &bad).unwrap().rejected, None);
    }

    #[test]
    fn the_oldest_versions_make_room() {
        let folder = tempfile::tempdir().unwrap();
        let mut saved = SavedVersions::open_or_warn(folder.path(), Path::new("/plugins")).unwrap();
        saved.max_bytes = 3000;
        for plugin in ["a", "b", "c", "d"] {
            saved.good(plugin, "p.wasm", &[0; 900], false).unwrap();
            let age = std::time::Duration::from_secs(u64::from(b'd' - plugin.as_bytes()[0]));
            let wasm = fs::File::options().write(true).open(saved.path(plugin, WASM)).unwrap();
            wasm.set_modified(std::time::SystemTime::now() - age).unwrap();
        }
        let bytes: u64 =
            fs::read_dir(&saved.folder).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
        assert!(bytes <= 3000, "{bytes}");
        let there = |plugin: &str| saved.earlier(plugin, "p.wasm", "another").is_some();
        assert_eq!(["a", "d"].map(there), [false, true]);
    }

    #[test]
    fn damaged_files_are_no_versions() {
        let folder = tempfile::tempdir().unwrap();
        let saved = SavedVersions::open_or_warn(folder.path(), Path::new("/plugins")).unwrap();
        saved.good("p", "p.wasm", b"one", false).unwrap();
        fs::write(saved.path("p", WASM), b"other").unwrap();
        assert!(saved.earlier("p", "p.wasm", &digest(b"two")).is_none());
        saved.good("p", "p.wasm", b"three", false).unwrap();
        for content in [&b""[..], b"{", b"null", &[b' '; 70_000]] {
            fs::write(saved.path("p", RECORD), content).unwrap();
            assert!(saved.earlier("p", "p.wasm", &digest(b"two")).is_none());
        }
        saved.good("p", "p.wasm", b"four", true).unwrap();
        assert!(saved.earlier("p", "p.wasm", &digest(b"two")).is_some());
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let versions = folder.path().join("versions");
        fs::create_dir(&versions).unwrap();
        fs::set_permissions(&versions, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        assert!(SavedVersions::open_or_warn(folder.path(), Path::new("/plugins")).is_none());
    }
}
