//! Code of single functions, for compilers. The next version of a plugin shares most functions with this one, and all plugins in one
//! interpreter share nearly all.
//!
//! Compilers only append to the two files: a function to [`CODE`], then a record of fixed size to [`INDEX`], which says where the function
//! is. A record whose function is missing, cut short or damaged finds nothing, so several compilers may write at once, and any may be
//! killed. A function is found by all that Cranelift compiles it from: its own code, the settings, and Cranelift's version.

use super::{Error, open_folder, trusted};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The code of the functions.
const CODE: &str = "functions";

/// Where each of them is.
const INDEX: &str = "functions.index";

/// From this size or number of functions on, the next compiler starts both files anew. A compiler has the index in its memory, so a plugin of
/// very many small functions must not make it large.
const MAX: Room = Room { bytes: 256 << 20, functions: 200_000 };

/// Key, offset, length (little endian), checksum.
const RECORD_BYTES: usize = 32 + 8 + 8 + 16;

type Key = [u8; 32];

#[derive(Clone, Copy, Debug)]
struct Room {
    bytes: u64,
    functions: usize,
}

/// The functions that compilers have written, for one compiler.
#[derive(Debug)]
pub(in crate::plugin) struct FunctionCache {
    code: File,
    index: Mutex<Index>,
}

#[derive(Debug)]
struct Index {
    file: File,
    places: HashMap<Key, Place>,
    /// Whether a write failed, or there is enough.
    is_full: bool,
    max: Room,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    offset: u64,
    length: u64,
    checksum: [u8; 16],
}

impl FunctionCache {
    /// * `folder` - of the code cache.
    ///
    /// # Errors
    ///
    /// The folder is not trusted, or the files cannot be opened in it.
    pub(in crate::plugin) fn open(folder: &Path) -> Result<Self, Error> {
        Self::open_up_to(folder, MAX)
    }

    fn open_up_to(folder: &Path, max: Room) -> Result<Self, Error> {
        let (open, user) = open_folder(folder)?;
        let io = |source| Error::Io { folder: folder.to_owned(), source };
        let fits = |[code, index]: &[(File, u64); 2]| {
            let record = RECORD_BYTES as u64;
            code.1 < max.bytes && index.1 < max.functions as u64 * record && index.1 % record == 0
        };
        let [(code, code_bytes), (mut file, _)] = match files(&open, user).ok().filter(fits) {
            Some(found) => found,
            None => {
                for name in [CODE, INDEX] {
                    match rustix::fs::unlinkat(&open, name, AtFlags::empty()) {
                        // Another compiler may remove them at the same time.
                        Ok(()) | Err(Errno::NOENT) => {}
                        Err(e) => return Err(io(e.into())),
                    }
                }
                files(&open, user).map_err(|reason| io(std::io::Error::other(reason)))?
            }
        };
        let mut records = Vec::new();
        file.read_to_end(&mut records).map_err(io)?;
        let places = records.chunks_exact(RECORD_BYTES).filter_map(record);
        let places = places.filter(|(_, place)| place.offset.saturating_add(place.length) <= code_bytes).collect();
        Ok(Self { code, index: Mutex::new(Index { file, places, is_full: false, max }) })
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, key: &[u8]) -> Option<Vec<u8>> {
        let place = *self.index().places.get(key)?;
        let mut code = vec![0; usize::try_from(place.length).ok()?];
        self.code.read_exact_at(&mut code, place.offset).ok()?;
        (checksum(key, &code) == place.checksum).then_some(code)
    }

    fn write(&self, index: &mut Index, key: Key, code: &[u8]) -> std::io::Result<()> {
        let length = code.len() as u64;
        (&self.code).write_all(code)?;
        // The system has put it behind what others have written meanwhile.
        let end = (&self.code).stream_position()?;
        let place = Place { offset: end.saturating_sub(length), length, checksum: checksum(&key, code) };
        let mut record = Vec::with_capacity(RECORD_BYTES);
        record.extend_from_slice(&key);
        record.extend_from_slice(&place.offset.to_le_bytes());
        record.extend_from_slice(&length.to_le_bytes());
        record.extend_from_slice(&place.checksum);
        index.file.write_all(&record)?;
        index.places.insert(key, place);
        index.is_full = end >= index.max.bytes || index.places.len() >= index.max.functions;
        Ok(())
    }
}

impl wasmtime::CacheStore for FunctionCache {
    fn get(&self, key: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.read(key).map(Cow::Owned)
    }

    fn insert(&self, key: &[u8], value: Vec<u8>) -> bool {
        let Ok(key) = Key::try_from(key) else { return false };
        let mut index = self.index();
        if index.is_full {
            return false;
        }
        let written = self.write(&mut index, key, &value);
        index.is_full |= written.is_err();
        written.is_ok()
    }
}

/// Both files with their sizes, created if absent.
fn files(folder: &OwnedFd, user: u32) -> Result<[(File, u64); 2], String> {
    let open = |name: &str| {
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let open = rustix::fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR).map_err(|e| e.to_string())?;
        let (file, metadata) = trusted(open, user)?;
        Ok::<_, String>((file, metadata.len()))
    };
    Ok([open(CODE)?, open(INDEX)?])
}

fn record(bytes: &[u8]) -> Option<(Key, Place)> {
    let (key, rest) = bytes.split_first_chunk()?;
    let (offset, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let checksum = rest.try_into().ok()?;
    Some((*key, Place { offset: u64::from_le_bytes(*offset), length: u64::from_le_bytes(*length), checksum }))
}

fn checksum(key: &[u8], code: &[u8]) -> [u8; 16] {
    let whole: [u8; 32] = Sha256::new().chain_update(key).chain_update(code).finalize().into();
    let (half, _) = whole.split_first_chunk().unwrap_or((&[0; 16], &[]));
    *half
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use wasmtime::CacheStore as _;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        folder
    }

    fn open(folder: &Path) -> FunctionCache {
        FunctionCache::open_up_to(folder, Room { bytes: 1 << 20, functions: 1000 }).unwrap()
    }

    fn key(number: usize) -> Key {
        checksum(&number.to_le_bytes(), b"").repeat(2).try_into().unwrap()
    }

    fn code(number: usize) -> Vec<u8> {
        format!("code {number} ").into_bytes().repeat(number + 1)
    }

    fn found(cache: &FunctionCache, number: usize) -> Option<Vec<u8>> {
        cache.get(&key(number)).map(Cow::into_owned)
    }

    #[test]
    fn a_later_compiler_finds_what_several_wrote_at_once() {
        let folder = folder();
        std::thread::scope(|scope| {
            for first in 0..4 {
                let folder = folder.path();
                scope.spawn(move || {
                    let cache = open(folder);
                    for number in (first..200).step_by(4) {
                        assert!(cache.insert(&key(number), code(number)));
                        assert_eq!(found(&cache, number), Some(code(number)));
                    }
                });
            }
        });
        let cache = open(folder.path());
        assert!((0..200).all(|number| found(&cache, number) == Some(code(number))));
        assert_eq!(found(&cache, 200), None);
        assert!(cache.get(b"no key").is_none() && !cache.insert(b"no key", Vec::new()));
    }

    #[test]
    fn a_function_that_is_damaged_or_cut_short_is_not_found_and_the_others_are() {
        let folder = folder();
        let cache = open(folder.path());
        for number in 0..10 {
            cache.insert(&key(number), code(number));
        }
        let path = folder.path().join(CODE);
        let mut bytes = fs::read(&path).unwrap();
        *bytes.first_mut().unwrap() ^= 1;
        bytes.pop();
        fs::write(&path, bytes).unwrap();
        let cache = open(folder.path());
        let there: Vec<bool> = (0..10).map(|number| found(&cache, number) == Some(code(number))).collect();
        assert_eq!(there, [false, true, true, true, true, true, true, true, true, false]);
        for number in [0, 9] {
            assert_eq!(found(&cache, number), None);
            cache.insert(&key(number), code(number));
        }
        let cache = open(folder.path());
        assert!((0..10).all(|number| found(&cache, number) == Some(code(number))), "it heals");
    }

    #[test]
    fn an_index_of_nonsense_finds_nothing_and_takes_no_memory() {
        let folder = folder();
        open(folder.path()).insert(&key(1), code(1));
        let mut record = key(2).to_vec();
        record.extend([0xff; RECORD_BYTES - 32]);
        fs::write(folder.path().join(INDEX), &record).unwrap();
        assert_eq!(found(&open(folder.path()), 2), None);
        // Half a record: the next functions start anew.
        fs::write(folder.path().join(INDEX), b"half").unwrap();
        let cache = open(folder.path());
        assert!(cache.insert(&key(3), code(3)));
        assert_eq!(found(&open(folder.path()), 3), Some(code(3)));
    }

    #[test]
    fn files_that_are_full_start_anew() {
        for (bytes, functions) in [(1000, 1000), (1 << 20, 2)] {
            let folder = folder();
            let small = || FunctionCache::open_up_to(folder.path(), Room { bytes, functions }).unwrap();
            let cache = small();
            assert!(cache.insert(&key(1), vec![1; 999]) && cache.insert(&key(2), vec![2; 999]));
            assert!(!cache.insert(&key(3), vec![3; 1]), "it is full");
            let next = small();
            assert_eq!(found(&next, 1), None);
            assert!(next.insert(&key(4), code(4)));
            assert_eq!(
                cache.get(&key(1)).map(Cow::into_owned),
                Some(vec![1; 999]),
                "an older compiler keeps its files"
            );
            assert_eq!(found(&small(), 4), Some(code(4)));
        }
    }

    #[test]
    fn files_that_others_could_have_written_are_replaced() {
        let folder = folder();
        let elsewhere = folder.path().join("elsewhere");
        open(folder.path()).insert(&key(1), code(1));
        fs::rename(folder.path().join(CODE), &elsewhere).unwrap();
        symlink(&elsewhere, folder.path().join(CODE)).unwrap();
        let cache = open(folder.path());
        assert_eq!(found(&cache, 1), None);
        cache.insert(&key(1), code(1));
        fs::set_permissions(folder.path().join(INDEX), fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(found(&open(folder.path()), 1), None);
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(FunctionCache::open(folder.path()), Err(Error::Writable { .. })));
    }
}
