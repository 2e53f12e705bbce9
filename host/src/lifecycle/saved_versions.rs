//! The last versions of each plugin, which one of them is good, and which was rolled back last, on disk: a host that restarts can still go
//! back.
//!
//! The folder contains files of plugins, so it has the rules of the code cache: it belongs to the host's user, and no other user may write
//! to it. Hosts with other plugin directories may share it.

use crate::api::GroupVersionKind;
use crate::oci::LAYER_BYTES;
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most bytes of all files together; the oldest ones go.
const MAX_BYTES: u64 = 1 << 30;

/// Longest record, in bytes: ten grants.
const RECORD_BYTES: u64 = 16 << 20;

/// Most revisions of a plugin.
const REVISIONS: usize = 10;

const WASM: &str = ".wasm";
const RECORD: &str = ".json";

/// In the name of the file about removed plugins; no plugin has this name.
const LEFT: &str = "LEFT";

/// The folder, for the plugins of one directory.
#[derive(Clone, Debug)]
pub(super) struct SavedVersions {
    folder: PathBuf,
    /// Distinguishes the plugin directories.
    directory: String,
    max_bytes: u64,
    /// Held while a record changes.
    turn: Arc<Mutex<()>>,
}

/// The versions of one plugin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Record {
    /// The plugin's file: the version of one file never runs for another.
    file: String,
    /// SHA-256 of the good version, in hex. Empty: none.
    good: String,
    /// SHA-256 of the version that was rolled back last, and why.
    rejected: Option<(String, String)>,
    /// Digest of its configuration, if its code is that of the good version.
    #[serde(default)]
    rejected_config: Option<String>,
    /// The versions that ran, the newest first.
    #[serde(default)]
    revisions: Vec<Revision>,
}

/// A version that ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Revision {
    /// Counts from 1.
    pub(super) revision: u64,
    pub(super) version: String,
    /// SHA-256 of the file, in hex.
    pub(super) digest: String,
    /// When it began to run, as RFC 3339.
    pub(super) since: String,
    /// Its grant, as JSON.
    pub(super) grant: serde_json::Value,
}

/// A plugin, and the kinds whose objects may carry its finalizer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftBehind {
    /// The plugin's file, or its reference.
    pub file: String,
    /// The version that ran last.
    pub version: String,
    /// SHA-256 of its file, in hex.
    pub digest: String,
    /// The kinds.
    pub kinds: BTreeSet<GroupVersionKind>,
    /// It was not removed: its file may go while no host runs.
    #[serde(default)]
    pub runs: bool,
}

/// The good version of a plugin whose file has another one.
#[derive(Debug)]
pub(super) struct Saved {
    pub(super) wasm: Vec<u8>,
    /// The grant with which it ran last, as JSON. None: it is not among the revisions.
    pub(super) grant: Option<serde_json::Value>,
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
        Ok(Self { folder: folder.to_owned(), directory, max_bytes: MAX_BYTES, turn: Arc::default() })
    }

    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Saves a version that works as the good one.
    ///
    /// * `digest` - SHA-256 of its file, in hex.
    /// * `wasm` - its file. None: the file has another version by now, and what is known about that one stays.
    /// * `only_if_none` - keep an earlier good version.
    pub(super) fn good(
        &self,
        plugin: &str,
        file: &str,
        digest: &str,
        wasm: Option<Vec<u8>>,
        only_if_none: bool,
    ) -> std::io::Result<()> {
        let _turn = self.turn();
        let before = self.record(plugin).filter(|record| record.file == file).unwrap_or_default();
        // The file has the good version: only its configuration can be rejected still.
        let rejected = before.rejected.clone().filter(|_| wasm.is_none() || before.rejected_config.is_some());
        if !before.good.is_empty() && (only_if_none || before.good == digest && before.rejected == rejected) {
            return Ok(());
        }
        if wasm.is_none() && self.code(plugin, digest).is_none() {
            return Err(std::io::Error::new(std::io::ErrorKind::NotFound, "another version has replaced its file"));
        }
        self.add_code(plugin, digest, || wasm)?;
        self.put(plugin, &Record { file: file.to_owned(), good: digest.to_owned(), rejected, ..before })?;
        self.make_room();
        Ok(())
    }

    /// Records that a version began to run. The same version again is no other revision.
    ///
    /// * `revision` - its number is counted here.
    /// * `good` - it is the good one, too: it was promoted.
    /// * `wasm` - the file, asked for if the folder does not have it.
    pub(super) fn ran(
        &self,
        plugin: &str,
        file: &str,
        revision: Revision,
        good: bool,
        wasm: impl FnOnce() -> Option<Vec<u8>>,
    ) -> std::io::Result<()> {
        let _turn = self.turn();
        let mut record = self.record(plugin).filter(|record| record.file == file).unwrap_or_default();
        file.clone_into(&mut record.file);
        let newest = record.revisions.first().map_or(0, |newest| newest.revision);
        self.add_code(plugin, &revision.digest, wasm)?;
        let good = good && self.code(plugin, &revision.digest).is_some();
        let is_good = !good || record.good == revision.digest;
        if good {
            // One write: a host that is killed in between would run the version before it.
            record.good.clone_from(&revision.digest);
            (record.rejected, record.rejected_config) = (None, None);
        }
        match record.revisions.first_mut().filter(|newest| newest.digest == revision.digest) {
            Some(newest)
                if is_good && newest.grant == revision.grant && self.path(plugin, &code(&revision.digest)).exists() =>
            {
                return Ok(());
            }
            Some(newest) => newest.grant = revision.grant,
            None => record.revisions.insert(0, Revision { revision: newest + 1, ..revision.clone() }),
        }
        record.revisions.truncate(REVISIONS);
        self.put(plugin, &record)?;
        self.make_room();
        Ok(())
    }

    /// The versions that ran, the newest first.
    pub(super) fn revisions(&self, plugin: &str) -> Vec<Revision> {
        self.record(plugin).map(|record| record.revisions).unwrap_or_default()
    }

    /// The file of a version that ran. None: it made room for newer ones, or never was here.
    pub(super) fn code(&self, plugin: &str, digest: &str) -> Option<Vec<u8>> {
        let wasm = read(&self.path(plugin, &code(digest)), LAYER_BYTES)?;
        // A crash while it was written, or damage.
        (HEXLOWER.encode(&Sha256::digest(&wasm)) == digest).then_some(wasm)
    }

    /// Records that a version was rolled back.
    ///
    /// * `config` - digest of its configuration, if its code is that of the version that runs.
    pub(super) fn rejected(
        &self,
        plugin: &str,
        file: &str,
        (digest, config): (&str, Option<&str>),
        why: &str,
    ) -> std::io::Result<()> {
        let _turn = self.turn();
        let Some(mut record) = self.record(plugin).filter(|record| record.file == file) else { return Ok(()) };
        record.rejected = Some((digest.to_owned(), why.to_owned()));
        record.rejected_config = config.map(str::to_owned);
        self.put(plugin, &record)
    }

    /// Records that a person went back to another version, whose file is in the folder.
    pub(super) fn undone(&self, plugin: &str, file: &str, from: &str, why: &str, to: &[u8]) -> std::io::Result<()> {
        let _turn = self.turn();
        let digest = HEXLOWER.encode(&Sha256::digest(to));
        let before = self.record(plugin).filter(|record| record.file == file).unwrap_or_default();
        self.add_code(plugin, &digest, || Some(to.to_vec()))?;
        // One write: a host that is killed in between would run the version that was undone.
        let rejected = Some((from.to_owned(), why.to_owned()));
        self.put(plugin, &Record { file: file.to_owned(), good: digest, rejected, rejected_config: None, ..before })?;
        self.make_room();
        Ok(())
    }

    /// Forgets that a version was rolled back: a person wants to run it.
    pub(super) fn forgive(&self, plugin: &str) -> std::io::Result<()> {
        let _turn = self.turn();
        let Some(record) = self.record(plugin).filter(|record| record.rejected.is_some()) else { return Ok(()) };
        self.put(plugin, &Record { rejected: None, rejected_config: None, ..record })
    }

    /// Forgets that a version is good if it is this one, which fails.
    pub(super) fn not_good(&self, plugin: &str, digest: &str) {
        let _turn = self.turn();
        if let Some(record) = self.record(plugin).filter(|record| record.good == digest) {
            let _ = self.put(plugin, &Record { good: String::new(), ..record });
        }
    }

    /// Forgets a plugin that was removed.
    pub(super) fn removed(&self, plugin: &str) {
        let _turn = self.turn();
        let _ = fs::remove_file(self.path(plugin, RECORD));
        self.remove_code(plugin, &Record::default());
    }

    /// Whether there is a record of the plugin.
    pub(super) fn knows(&self, plugin: &str, file: &str) -> bool {
        self.record(plugin).is_some_and(|record| record.file == file)
    }

    /// The good version, if the file has another one. Until a version is good, the one that ran last counts.
    ///
    /// * `digest` - of the version in the file.
    /// * `config` - digest of its configuration. None: the good version is the same code with any configuration.
    pub(super) fn earlier(&self, plugin: &str, file: &str, (digest, config): (&str, Option<&str>)) -> Option<Saved> {
        let record = self.record(plugin).filter(|record| record.file == file)?;
        let good = Some(&record.good).filter(|good| !good.is_empty());
        let good = good.or_else(|| record.revisions.first().map(|newest| &newest.digest))?;
        let same_code = good == digest;
        let grant = record.revisions.iter().find(|of| of.digest == *good).map(|of| of.grant.clone());
        if same_code && (config.is_none() || grant.is_none()) {
            return None;
        }
        let wasm = self.code(plugin, good)?;
        let is_rejected = record.rejected_config.as_deref().map_or(!same_code, |rejected| config == Some(rejected));
        let rejected = record.rejected.filter(|(rejected, _)| rejected == digest && is_rejected).map(|(_, why)| why);
        Some(Saved { wasm, grant, rejected })
    }

    /// The plugins whose finalizers may be left, by name.
    pub(super) fn left_behind(&self) -> BTreeMap<String, LeftBehind> {
        let text = read(&self.path(LEFT, RECORD), RECORD_BYTES);
        text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }

    /// Replaces these plugins.
    pub(super) fn set_left_behind(&self, plugins: &BTreeMap<String, LeftBehind>) -> std::io::Result<()> {
        let path = self.path(LEFT, RECORD);
        if !plugins.is_empty() {
            return self.write(&path, &serde_json::to_vec(plugins)?);
        }
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn record(&self, plugin: &str) -> Option<Record> {
        serde_json::from_slice(&read(&self.path(plugin, RECORD), RECORD_BYTES)?).ok()
    }

    /// Writes the record, and removes code that it does not name.
    fn put(&self, plugin: &str, record: &Record) -> std::io::Result<()> {
        self.write(&self.path(plugin, RECORD), &serde_json::to_vec(record)?)?;
        self.remove_code(plugin, record);
        Ok(())
    }

    fn add_code(&self, plugin: &str, digest: &str, wasm: impl FnOnce() -> Option<Vec<u8>>) -> std::io::Result<()> {
        let path = self.path(plugin, &code(digest));
        if self.code(plugin, digest).is_some() {
            return Ok(());
        }
        wasm().map_or(Ok(()), |wasm| self.write(&path, &wasm))
    }

    fn remove_code(&self, plugin: &str, record: &Record) {
        let kept = |name: &str| {
            record.good.get(..DIGITS).is_some_and(|digits| name == digits)
                || record.revisions.iter().any(|revision| revision.digest.get(..DIGITS) == Some(name))
        };
        let begin = format!("{plugin}-{}-", self.directory);
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let digits = name.strip_prefix(&begin).and_then(|rest| rest.strip_suffix(WASM));
            if digits.is_some_and(|digits| digits.len() == DIGITS && !kept(digits)) {
                let _ = fs::remove_file(entry.path());
            }
        }
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
                // It is small, and nothing else knows what is in it.
                if entry.file_name().to_string_lossy().starts_with(LEFT) {
                    return None;
                }
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

/// Digits of a digest in the name of a file.
const DIGITS: usize = 16;

/// The end of the name of the file with this code.
fn code(digest: &str) -> String {
    format!("-{}{WASM}", digest.get(..DIGITS).unwrap_or(digest))
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

    fn good(saved: &SavedVersions, plugin: &str, wasm: &[u8], only_if_none: bool) {
        saved.good(plugin, "p.wasm", &digest(wasm), Some(wasm.to_vec()), only_if_none).unwrap();
    }

    fn ran(saved: &SavedVersions, wasm: &str) {
        let revision = Revision { digest: digest(wasm.as_bytes()), ..Revision::default() };
        saved.ran("p", "p.wasm", revision, false, || Some(wasm.as_bytes().to_vec())).unwrap();
    }

    #[test]
    fn until_a_version_is_good_the_one_that_ran_last_counts() {
        let folder = tempfile::tempdir().unwrap();
        let saved = SavedVersions::open_or_warn(folder.path(), Path::new("/plugins")).unwrap();
        ran(&saved, "zero");
        ran(&saved, "one");
        assert_eq!(saved.earlier("p", "p.wasm", (&digest(b"two"), None)).unwrap().wasm, b"one");
        assert!(saved.earlier("p", "p.wasm", (&digest(b"one"), None)).is_none(), "the file has it");
        good(&saved, "p", b"zero", true);
        assert_eq!(saved.earlier("p", "p.wasm", (&digest(b"two"), None)).unwrap().wasm, b"zero");
    }

    #[test]
    fn a_version_becomes_good_although_another_has_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let saved = SavedVersions::open_or_warn(folder.path(), Path::new("/plugins")).unwrap();
        good(&saved, "p", b"zero", true);
        ran(&saved, "one");
        saved.rejected("p", "p.wasm", (&digest(b"two"), None), "it traps").unwrap();
        saved.good("p", "p.wasm", &digest(b"one"), None, false).unwrap();
        let found = saved.earlier("p", "p.wasm", (&digest(b"two"), None)).unwrap();
        assert_eq!((found.wasm.as_slice(), found.rejected.as_deref()), (&b"one"[..], Some("it traps")));
        saved.good("p", "p.wasm", &digest(b"three"), None, false).expect_err("nothing has its code");
        assert_eq!(saved.earlier("p", "p.wasm", (&digest(b"two"), None)).unwrap().wasm, b"one");
    }

    #[test]
    fn a_good_version_is_there_for_its_own_file_of_its_own_directory_only() {
        let folder = tempfile::tempdir().unwrap();
        let of = |plugins: &str| SavedVersions::open_or_warn(folder.path(), Path::new(plugins)).unwrap();
        let saved = of("/plugins");
        good(&saved, "p", b"one", true);
        assert!(saved.earlier("p", "p.wasm", (&digest(b"one"), None)).is_none(), "the file has it");
        let found = saved.earlier("p", "p.wasm", (&digest(b"two"), None)).unwrap();
        assert_eq!((found.wasm.as_slice(), found.rejected), (&b"one"[..], None));
        assert!(saved.earlier("p", "q.wasm", (&digest(b"two"), None)).is_none());
        assert!(saved.earlier("q", "p.wasm", (&digest(b"two"), None)).is_none());
        assert!(of("/elsewhere").earlier("p", "p.wasm", (&digest(b"two"), None)).is_none());
        good(&saved, "p", b"two", true);
        assert!(
            saved.earlier("p", "p.wasm", (&digest(b"two"), None)).is_some(),
            "an unproven version does not replace it"
        );
        good(&saved, "p", b"two", false);
        assert!(saved.earlier("p", "p.wasm", (&digest(b"two"), None)).is_none());
        saved.not_good("p", &digest(b"one"));
        assert!(saved.earlier("p", "p.wasm", (&digest(b"three"), None)).is_some());
        saved.not_good("p", &digest(b"two"));
        assert!(saved.earlier("p", "p.wasm", (&digest(b"three"), None)).is_none());
    }

    #[test]
    fn a_rejected_version_is_remembered_until_it_is_forgiven_or_another_proves_itself() {
        let folder = tempfile::tempdir().unwrap();
        let saved = SavedVersions::open_or_warn(folder.path(), Path::new("/plugins")).unwrap();
        good(&saved, "p", b"one", false);
        let bad = digest(b"two");
        saved.rejected("p", "p.wasm", (&bad, None), "it traps").unwrap();
        assert_eq!(saved.earlier("p", "p.wasm", (&bad, None)).unwrap().rejected.as_deref(), Some("it traps"));
        assert_eq!(saved.earlier("p", "p.wasm", (&digest(b"three"), None)).unwrap().rejected, None);
        saved.forgive("p").unwrap();
        assert_eq!(saved.earlier("p", "p.wasm", (&bad, None)).unwrap().rejected, None);
        saved.rejected("p", "p.wasm", (&bad, None), "it traps").unwrap();
        good(&saved, "p", b"three", false);
        assert_eq!(saved.earlier("p", "p.wasm", (&bad, None)).unwrap().rejected, None);
    }

    #[test]
    fn a_configuration_of_the_good_code_has_the_configuration_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let saved = SavedVersions::open_or_warn(folder.path(), Path::new("/plugins")).unwrap();
        let code = digest(b"one");
        good(&saved, "p", b"one", false);
        assert!(saved.earlier("p", "p.wasm", (&code, Some("c2"))).is_none(), "its configuration is not known");
        let grant = serde_json::json!({"config": {"mode": "one"}});
        let revision = Revision { digest: code.clone(), grant: grant.clone(), ..Revision::default() };
        saved.ran("p", "p.wasm", revision, false, || None).unwrap();
        let found = |config| saved.earlier("p", "p.wasm", (&code, config)).map(|found| (found.grant, found.rejected));
        assert_eq!(found(Some("c2")), Some((Some(grant.clone()), None)));
        assert_eq!(found(None), None);
        saved.rejected("p", "p.wasm", (&code, Some("c2")), "too many writes").unwrap();
        // The good version proves itself again after a restart.
        good(&saved, "p", b"one", false);
        assert_eq!(found(Some("c2")), Some((Some(grant.clone()), Some("too many writes".to_owned()))));
        assert_eq!(found(Some("c3")), Some((Some(grant.clone()), None)));
        saved.forgive("p").unwrap();
        assert_eq!(found(Some("c2")), Some((Some(grant), None)));
    }

    #[test]
    fn the_oldest_versions_make_room() {
        let folder = tempfile::tempdir().unwrap();
        let mut saved = SavedVersions::open_or_warn(folder.path(), Path::new("/plugins")).unwrap();
        saved.max_bytes = 3000;
        for plugin in ["a", "b", "c", "d"] {
            good(&saved, plugin, &[0; 900], false);
            let age = std::time::Duration::from_secs(u64::from(b'd' - plugin.as_bytes()[0]));
            let wasm = fs::File::options().write(true).open(saved.path(plugin, &code(&digest(&[0; 900])))).unwrap();
            wasm.set_modified(std::time::SystemTime::now() - age).unwrap();
        }
        let bytes: u64 =
            fs::read_dir(&saved.folder).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
        assert!(bytes <= 3000, "{bytes}");
        let there = |plugin: &str| saved.earlier(plugin, "p.wasm", ("another", None)).is_some();
        assert_eq!(["a", "d"].map(there), [false, true]);
    }

    #[test]
    fn the_last_ten_versions_that_ran_stay_with_their_grants() {
        let folder = tempfile::tempdir().unwrap();
        let saved = SavedVersions::open_or_warn(folder.path(), Path::new("/plugins")).unwrap();
        let ran = |text: &str, grant: u64| {
            let (version, grant) = (text.to_owned(), serde_json::json!({"workers": grant}));
            let revision = Revision { version, digest: digest(text.as_bytes()), grant, ..Revision::default() };
            saved.ran("p", "p.wasm", revision, false, || Some(text.as_bytes().to_vec())).unwrap();
        };
        good(&saved, "p", b"0", false);
        for number in 0..12 {
            ran(&number.to_string(), 1);
        }
        ran("11", 2);
        let all = saved.revisions("p");
        assert_eq!(all.iter().map(|one| one.revision).collect::<Vec<_>>(), [12, 11, 10, 9, 8, 7, 6, 5, 4, 3]);
        assert_eq!(all[0].grant["workers"], 2);
        let there = |text: &str| saved.code("p", &digest(text.as_bytes())).is_some();
        assert!(there("0") && !there("1") && there("2") && there("11"), "the good one stays as well");
        saved.undone("p", "p.wasm", &digest(b"11"), "a person", b"5").unwrap();
        let earlier = saved.earlier("p", "p.wasm", (&digest(b"11"), None)).unwrap();
        assert_eq!((earlier.wasm.as_slice(), earlier.rejected.as_deref()), (&b"5"[..], Some("a person")));
        assert_eq!(saved.revisions("p").len(), 10);
        saved.not_good("p", &digest(b"5"));
        assert!(saved.earlier("p", "p.wasm", (&digest(b"11"), None)).is_none() && saved.revisions("p").len() == 10);
        saved.removed("p");
        assert!(saved.revisions("p").is_empty() && !there("5"));
    }

    #[test]
    fn damaged_files_are_no_versions() {
        let folder = tempfile::tempdir().unwrap();
        let saved = SavedVersions::open_or_warn(folder.path(), Path::new("/plugins")).unwrap();
        good(&saved, "p", b"one", false);
        fs::write(saved.path("p", &code(&digest(b"one"))), b"other").unwrap();
        assert!(saved.earlier("p", "p.wasm", (&digest(b"two"), None)).is_none());
        good(&saved, "p", b"three", false);
        for content in [&b""[..], b"{", b"null", &[b' '; 17 << 20]] {
            fs::write(saved.path("p", RECORD), content).unwrap();
            assert!(saved.earlier("p", "p.wasm", (&digest(b"two"), None)).is_none());
        }
        good(&saved, "p", b"four", true);
        assert!(saved.earlier("p", "p.wasm", (&digest(b"two"), None)).is_some());
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
