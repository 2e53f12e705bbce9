//! Journal of a store: an append-only log of changes, and a snapshot that replaces the log when it has grown.
//!
//! A change is in the log before its response is sent, so answered changes survive any end of the process. Snapshots are synced to the
//! disk, single changes are not: after a power failure the last changes may be missing.
//!
//! | file | content |
//! | --- | --- |
//! | `lock` | locked while a server uses the directory |
//! | `log-N` | changes, one per line |
//! | `snapshot-N` | all objects when `log-N` was begun |
//!
//! The server reads the newest snapshot and the logs from its number on. A change in both counts once: each kind has its own position in
//! the snapshot.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::fs::{FlockOperation, flock};
use tokio_util::sync::CancellationToken;

use super::Store;
use crate::model::error::Error;

mod load;
mod log;
mod record;

pub(crate) use log::Journal;
pub(crate) use record::Record;

/// Gap between the last stored revision and the first one of a restarted server. A killed server may have returned a revision whose
/// change was not stored yet, but at most as many as there were concurrent writes.
const MARGIN: u64 = 1000;

fn at(path: &Path) -> impl Fn(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::DataDir { path: path.clone(), source }
}

/// Reads a directory into an empty store, and stores its further changes there until `stop`.
///
/// * `limit` - size of the log in bytes at which a snapshot replaces it.
///
/// # Errors
///
/// [`Error::DataDir`], [`Error::DataDirInUse`] and [`Error::Damaged`] when the directory is unusable.
pub(crate) fn open(store: &Arc<Store>, dir: &Path, limit: u64, stop: CancellationToken) -> Result<(), Error> {
    fs::create_dir_all(dir).map_err(at(dir))?;
    let lock = lock(dir)?;
    let (generation, size) = load::load(store, dir)?;
    let journal = Journal::open(dir, generation, size, limit, lock).map_err(at(dir))?;
    let revision = store.revision() + MARGIN;
    journal.append(&Record::Begun { revision }).map_err(at(dir))?;
    store.go_on_from(revision);
    store.keep_in(journal);
    tokio::spawn(snapshots(Arc::clone(store), stop));
    Ok(())
}

fn lock(dir: &Path) -> Result<File, Error> {
    let path = dir.join("lock");
    let file = File::options().write(true).create(true).truncate(false).open(&path).map_err(at(&path))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(Error::DataDirInUse { dir: dir.to_owned() }),
        Err(error) => Err(at(&path)(error.into())),
    }
}

/// Writes a snapshot whenever the log has grown, until the server stops.
async fn snapshots(store: Arc<Store>, stop: CancellationToken) {
    let Some(journal) = store.journal() else { return };
    loop {
        tokio::select! {
            () = journal.grown() => {}
            () = stop.cancelled() => return,
        }
        let this = Arc::clone(&store);
        match tokio::task::spawn_blocking(move || save(&this)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the objects could not be written to a snapshot; the log goes on"),
            Err(error) => tracing::warn!(%error, "a snapshot was not finished; the log goes on"),
        }
    }
}

/// Begins a new log, and writes the state before it into a snapshot.
fn save(store: &Store) -> io::Result<()> {
    let Some(journal) = store.journal() else { return Ok(()) };
    let _saving = journal.saving();
    let generation = journal.rotate()?;
    let (new, path) = (journal.dir().join("snapshot.new"), journal.dir().join(name("snapshot", generation)));
    let mut out = BufWriter::new(File::create(&new)?);
    out.write_all(&Record::Format(record::FORMAT).to_line())?;
    out.write_all(&Record::Begun { revision: store.revision() }.to_line())?;
    // Every change of the earlier logs is applied to its resource store, or will be before the resource store can be read.
    for resource_store in store.resource_stores() {
        let (revision, objects) = resource_store.saved();
        out.write_all(&Record::Shelf { shelf: resource_store.name.clone(), revision }.to_line())?;
        for (key, object) in objects {
            out.write_all(&Record::put(&resource_store.name, &key, &object).to_line())?;
        }
    }
    out.write_all(&Record::End {}.to_line())?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    fs::rename(&new, &path)?;
    File::open(journal.dir())?.sync_all()?;
    journal.saved(file.metadata()?.len());
    load::remove_before(journal.dir(), generation)
}

/// The file name of a generation.
fn name(kind: &str, generation: u64) -> PathBuf {
    PathBuf::from(format!("{kind}-{generation:06}"))
}
