//! Files.

use crate::head;
use oarlock::fuzzing;
use std::path::Path;

/// A line of what is damaged: place (two bytes), change, and what is cut off or added; a line with the code; what is foreign.
pub(crate) fn code_cache(data: &[u8]) {
    let (damage, rest) = head(data);
    let (code, foreign) = head(rest);
    let byte = |at: usize| damage.get(at).copied().unwrap_or_default();
    let place = usize::from(u16::from_le_bytes([byte(0), byte(1)]));
    // Every entry is synced: on a disk that is all there would be time for.
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let folder = folder.expect("there is a place for temporary files");
    fuzzing::entry(folder.path(), code, (place, byte(2), byte(3).cast_signed()), foreign);
}

pub(crate) fn wasm(data: &[u8]) {
    fuzzing::wasm(data);
}
