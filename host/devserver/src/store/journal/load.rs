//! Loading of a data directory.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use super::{Record, at, name, record};
use crate::{
    model::error::Error,
    store::{Content, Key, Store},
};

/// Reads all files into a store; returns the number of the log to continue, and the size of its snapshot.
pub(super) fn load(store: &Store, dir: &Path) -> Result<(u64, u64), Error> {
    let found = found(dir).map_err(at(dir))?;
    let snapshot = found.iter().filter(|(kind, _)| kind == "snapshot").map(|(_, n)| *n).max();
    let first = snapshot.unwrap_or(1);
    let newest = found.iter().filter(|(kind, _)| kind == "log").map(|(_, n)| *n).max().unwrap_or(first).max(first);
    let mut size = 0;
    if let Some(generation) = snapshot {
        let path = dir.join(name("snapshot", generation));
        size = read(store, &path, Tail::Whole)?;
    }
    for generation in first..=newest {
        let path = dir.join(name("log", generation));
        if !path.exists() && !found.is_empty() {
            return Err(Error::Damaged { file: path, offset: 0, why: "it is missing".to_owned() });
        }
        if path.exists() {
            read(store, &path, if generation == newest { Tail::Torn } else { Tail::Log })?;
        }
    }
    remove_before(dir, first).map_err(at(dir))?;
    Ok((newest, size))
}

/// The possible ends of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tail {
    /// An incomplete line from the end of the server, which is cut off.
    Torn,
    /// A complete line.
    Log,
    /// The line that marks the snapshot as complete.
    Whole,
}

/// Reads a file into a store; returns its size.
fn read(store: &Store, path: &Path, tail: Tail) -> Result<u64, Error> {
    let bytes = fs::read(path).map_err(at(path))?;
    let damaged = |offset: usize, why: &str| Error::Damaged { file: path.to_owned(), offset, why: why.to_owned() };
    let (mut rest, mut offset, mut whole) = (bytes.as_slice(), 0, false);
    while let Some(end) = rest.iter().position(|b| *b == b'\n') {
        let (line, after) = rest.split_at(end);
        let record = Record::parse(line).map_err(|why| damaged(offset, &why))?;
        match record {
            Record::Format(record::FORMAT) if offset == 0 => {}
            Record::Format(_) => return Err(damaged(offset, "another version of the embedded API server wrote it")),
            _ if offset == 0 => return Err(damaged(offset, "it does not begin with its format")),
            Record::End {} => whole = true,
            record => apply(store, record, tail),
        }
        rest = after.get(1..).unwrap_or_default();
        offset += end + 1;
    }
    match tail {
        Tail::Torn if !rest.is_empty() => {
            tracing::info!(file = %path.display(), offset, bytes = rest.len(), "a change that was not finished is dropped");
            let kept = u64::try_from(offset).unwrap_or(u64::MAX);
            File::options().write(true).open(path).and_then(|f| f.set_len(kept)).map_err(at(path))?;
        }
        Tail::Torn => {}
        _ if !rest.is_empty() => return Err(damaged(offset, "its last line is not whole")),
        Tail::Whole if !whole => return Err(damaged(offset, "its end is missing")),
        Tail::Log | Tail::Whole => {}
    }
    Ok(u64::try_from(bytes.len()).unwrap_or(u64::MAX))
}

fn apply(store: &Store, record: Record<'static>, tail: Tail) {
    match record {
        Record::Put { shelf, revision, namespace, name, version, value } => {
            let key = Key::new(&namespace, &name);
            let content = Content { value: value.into_owned(), version: version.map(Into::into) };
            match tail {
                Tail::Whole => store.place(&shelf, revision, &key, content),
                Tail::Torn | Tail::Log => store.replay(&shelf, revision, &key, Some(content)),
            }
        }
        Record::Gone { shelf, revision, namespace, name } => {
            store.replay(&shelf, revision, &Key::new(&namespace, &name), None);
        }
        Record::Begun { revision } => store.go_on_from(revision),
        Record::Dropped { shelf } => store.remove_resource_store(&shelf),
        Record::Shelf { shelf, revision } => store.begin_at(&shelf, revision),
        Record::Format(_) | Record::End {} => {}
    }
}

/// Kind and number of the files of a directory.
fn found(dir: &Path) -> io::Result<Vec<(String, u64)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let file = entry?.file_name();
        let parts = file.to_str().and_then(|f| f.split_once('-'));
        if let Some((kind @ ("log" | "snapshot"), number)) = parts
            && let Ok(number) = number.parse()
        {
            found.push((kind.to_owned(), number));
        }
    }
    Ok(found)
}

/// Removes the files a snapshot replaces.
pub(super) fn remove_before(dir: &Path, generation: u64) -> io::Result<()> {
    let old: Vec<PathBuf> =
        found(dir)?.into_iter().filter(|(_, n)| *n < generation).map(|(kind, n)| dir.join(name(&kind, n))).collect();
    old.into_iter().try_for_each(fs::remove_file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Object;
    use serde_json::json;
    use tokio::sync::mpsc;

    fn object(name: &str, revision: u64) -> Object {
        Object::new(json!({"metadata": {"name": name, "namespace": "n"}}), revision)
    }

    fn lines(records: &[Record<'_>]) -> Vec<Vec<u8>> {
        [&Record::Format(record::FORMAT)].into_iter().chain(records).map(Record::to_line).collect()
    }

    fn log() -> Vec<Vec<u8>> {
        lines(&[
            Record::put("maps", &Key::new("n", "a"), &object("a", 101)),
            Record::put("maps", &Key::new("n", "b"), &object("b", 102)),
            Record::gone("maps", &Key::new("n", "a"), 103),
            Record::put("maps", &Key::new("n", "c"), &object("c", 104)),
        ])
    }

    fn loaded(dir: &Path) -> Result<(Store, (u64, u64)), Error> {
        let store = Store::new(100, mpsc::unbounded_channel().0);
        let end = load(&store, dir)?;
        Ok((store, end))
    }

    fn names(store: &Store) -> Vec<String> {
        let resource_store = store.existing("maps");
        resource_store.map(|s| s.list("").objects.iter().map(|o| o.key().name).collect()).unwrap_or_default()
    }

    #[test]
    fn a_last_record_torn_at_any_byte_is_dropped_and_what_follows_is_kept() {
        let lines = log();
        let (last, first) = lines.split_last().unwrap();
        let whole: Vec<u8> = first.concat();
        for cut in 0..last.len() {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("log-000001");
            fs::write(&path, [whole.as_slice(), &last[..cut]].concat()).unwrap();
            let (store, _) = loaded(dir.path()).unwrap();
            assert_eq!((names(&store), store.revision()), (vec!["b".to_owned()], 103), "cut at {cut}");
            assert_eq!(fs::read(&path).unwrap(), whole, "cut at {cut}");
            fs::write(&path, [whole.as_slice(), last].concat()).unwrap();
            assert_eq!(names(&loaded(dir.path()).unwrap().0), ["b", "c"]);
        }
    }

    #[test]
    fn a_byte_that_changed_anywhere_else_is_told_with_file_and_offset() {
        let bytes = log().concat();
        for at in 0..bytes.len() - 1 {
            let dir = tempfile::tempdir().unwrap();
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            fs::write(dir.path().join("log-000001"), &changed).unwrap();
            let Err(Error::Damaged { file, offset, .. }) = loaded(dir.path()) else {
                panic!("byte {at} went unnoticed")
            };
            assert!(file.ends_with("log-000001") && offset <= at, "{offset} for {at}");
        }
    }

    #[test]
    fn a_snapshot_and_the_logs_from_it_on_are_read_and_older_ones_go() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, lines: &[Vec<u8>]| fs::write(dir.path().join(name), lines.concat()).unwrap();
        write("log-000001", &log());
        let snapshot = lines(&[
            Record::Shelf { shelf: "maps".into(), revision: 110 },
            Record::put("maps", &Key::new("n", "a"), &object("a", 110)),
            Record::End {},
        ]);
        write("snapshot-000002", &snapshot);
        // The deletion is older than the snapshot's state of this kind: it concerns another `a`.
        write("log-000002", &lines(&[Record::gone("maps", &Key::new("n", "a"), 109)]));
        write("log-000003", &lines(&[Record::put("maps", &Key::new("n", "b"), &object("b", 111))]));
        let (store, (generation, size)) = loaded(dir.path()).unwrap();
        assert_eq!((names(&store), generation), (vec!["a".to_owned(), "b".to_owned()], 3));
        assert_eq!(size, u64::try_from(snapshot.concat().len()).unwrap());
        assert!(!dir.path().join("log-000001").exists());
        let resource_store = store.existing("maps").unwrap();
        assert!(resource_store.begin_after(110).is_ok() && resource_store.begin_after(109).is_err());

        fs::remove_file(dir.path().join("log-000002")).unwrap();
        let Err(Error::Damaged { file, why, .. }) = loaded(dir.path()) else { panic!("a missing log went unnoticed") };
        assert!(file.ends_with("log-000002") && why.contains("missing"));
        write("log-000002", &lines(&[]));
        write("snapshot-000002", &snapshot[..2]);
        assert!(matches!(loaded(dir.path()), Err(Error::Damaged { .. })), "half a snapshot");
    }

    #[test]
    fn a_kind_that_was_dropped_stays_dropped_and_its_successor_begins_empty() {
        let dir = tempfile::tempdir().unwrap();
        let mut all = log();
        all.push(Record::Dropped { shelf: "maps".into() }.to_line());
        all.push(Record::put("maps", &Key::new("n", "d"), &object("d", 105)).to_line());
        fs::write(dir.path().join("log-000001"), all.concat()).unwrap();
        assert_eq!(names(&loaded(dir.path()).unwrap().0), ["d"]);
    }

    #[test]
    fn an_empty_directory_and_a_log_without_its_first_line_are_beginnings() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(loaded(dir.path()).unwrap().1, (1, 0));
        fs::write(dir.path().join("log-000001"), b"").unwrap();
        assert_eq!(loaded(dir.path()).unwrap().1, (1, 0));
        fs::write(dir.path().join("log-000001"), b"0123").unwrap();
        loaded(dir.path()).unwrap();
        assert_eq!(fs::read(dir.path().join("log-000001")).unwrap(), b"");
    }
}
