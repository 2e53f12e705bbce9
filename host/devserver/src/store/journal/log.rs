//! Journal: the log that is being written.

use std::{
    fs::File,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use rustix::fs::{FlockOperation, flock};
use tokio::sync::Notify;

use super::{Record, name, record};

/// The log of a server; holds the lock of its directory.
#[derive(Debug)]
pub(crate) struct Journal {
    dir: PathBuf,
    state: Mutex<JournalState>,
    grown: Notify,
    /// Size of the log at which a snapshot replaces it.
    limit: u64,
    lock: File,
    /// Held while a snapshot is written.
    saving: Mutex<()>,
}

#[derive(Debug)]
struct JournalState {
    file: File,
    generation: u64,
    length: u64,
    /// The size of the newest snapshot: a new one is not worthwhile before the log is as large.
    snapshot: u64,
    /// A change was partly written and could not be rolled back: no further change can be stored.
    broken: bool,
    /// The directory may belong to another server.
    closed: bool,
}

impl Journal {
    /// Continues the log of a generation; `snapshot` is the size of its snapshot.
    pub(super) fn open(dir: &Path, generation: u64, snapshot: u64, limit: u64, lock: File) -> io::Result<Self> {
        let (file, length) = begin(dir, generation)?;
        let state = JournalState { file, generation, length, snapshot, broken: false, closed: false };
        let (state, saving) = (Mutex::new(state), Mutex::new(()));
        Ok(Self { dir: dir.to_owned(), state, grown: Notify::new(), limit, lock, saving })
    }

    /// Ends the writing and unlocks the directory, after a snapshot that is being written. Later changes are refused.
    pub(crate) fn close(&self) -> io::Result<()> {
        let _saved = self.saving();
        self.state().closed = true;
        // Not left to the end of the file: programs that are just being started may share it.
        Ok(flock(&self.lock, FlockOperation::Unlock)?)
    }

    /// Keeps the directory locked while a snapshot is written.
    pub(super) fn saving(&self) -> MutexGuard<'_, ()> {
        self.saving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes a change; after the return, the change survives the process.
    ///
    /// # Errors
    ///
    /// The file cannot be written; then nothing of the change is stored.
    pub(crate) fn append(&self, record: &Record<'_>) -> io::Result<()> {
        let line = record.to_line();
        let mut state = self.state();
        state.open()?;
        if state.broken {
            return Err(io::Error::other("an earlier change could not be written"));
        }
        if let Err(error) = state.file.write_all(&line) {
            state.broken = state.file.set_len(state.length).is_err();
            return Err(error);
        }
        state.length += u64::try_from(line.len()).unwrap_or(u64::MAX);
        if state.length > self.limit.max(state.snapshot) {
            self.grown.notify_one();
        }
        Ok(())
    }

    /// Waits until a snapshot is worthwhile.
    pub(super) async fn grown(&self) {
        self.grown.notified().await;
    }

    /// Begins a new log; returns its generation.
    pub(super) fn rotate(&self) -> io::Result<u64> {
        let mut state = self.state();
        state.open()?;
        let generation = state.generation + 1;
        let (file, length) = begin(&self.dir, generation)?;
        state.file = file;
        state.length = length;
        state.generation = generation;
        Ok(generation)
    }

    /// Notes the size of a snapshot.
    pub(super) fn saved(&self, snapshot: u64) {
        self.state().snapshot = snapshot;
    }

    fn state(&self) -> MutexGuard<'_, JournalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl JournalState {
    fn open(&self) -> io::Result<()> {
        if self.closed { Err(io::Error::other("the server has ended")) } else { Ok(()) }
    }
}

/// Opens the log of a generation at its end, and returns its length; it begins with its format.
fn begin(dir: &Path, generation: u64) -> io::Result<(File, u64)> {
    let mut file = File::options().append(true).create(true).open(dir.join(name("log", generation)))?;
    if file.metadata()?.len() == 0 {
        file.write_all(&Record::Format(record::FORMAT).to_line())?;
    }
    let length = file.metadata()?.len();
    Ok((file, length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Key, Store, WriteError};
    use serde_json::json;

    #[test]
    fn a_change_that_cannot_be_written_is_not_made() {
        let dir = tempfile::tempdir().unwrap();
        let lock = File::create(dir.path().join("lock")).unwrap();
        let journal = Journal::open(dir.path(), 1, 0, 1000, lock).unwrap();
        let store = Store::new(10, tokio::sync::mpsc::unbounded_channel().0);
        store.keep_in(journal);
        let (resource_store, key) = (store.resource_store("maps"), |name: &str| Key::new("n", name));
        let object = |name: &str| json!({"metadata": {"name": name, "namespace": "n"}});
        let kept = resource_store.create(&key("a"), object("a")).unwrap();
        let full = File::options().write(true).open("/dev/full").unwrap();
        let file = std::mem::replace(&mut store.journal().unwrap().state().file, full);
        assert_eq!(resource_store.create(&key("b"), object("b")).unwrap_err(), WriteError::Unsaved);
        assert_eq!(resource_store.delete(&key("a"), kept.revision).unwrap_err(), WriteError::Unsaved);
        assert_eq!(resource_store.list("").objects.len(), 1);
        // The written part is unknown: later lines would be unreadable.
        store.journal().unwrap().state().file = file;
        assert_eq!(resource_store.create(&key("c"), object("c")).unwrap_err(), WriteError::Unsaved);
    }
    #[test]
    fn a_closed_journal_stores_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let lock = File::create(dir.path().join("lock")).unwrap();
        let journal = Journal::open(dir.path(), 1, 0, 1000, lock).unwrap();
        journal.close().unwrap();
        let before = std::fs::read(dir.path().join(name("log", 1))).unwrap();
        assert!(journal.append(&Record::Begun { revision: 7 }).is_err() && journal.rotate().is_err());
        assert_eq!(std::fs::read(dir.path().join(name("log", 1))).unwrap(), before);
        assert!(!dir.path().join(name("log", 2)).exists());
    }
}
