//! The resident pages of the program file.
//!
//! The kernel maps 64 KiB of the file around each page that runs, and never unmaps them while memory is plentiful. Most of them belong to
//! the start of a host. They are three quarters of an idle host's RSS, on which alerts, `kubectl top` and autoscalers are based. A page
//! that is unmapped stays in the page cache, and comes back with a fault that reads no disk.

use std::ffi::c_void;
use std::io;
use std::ops::Range;
use std::time::Duration;

/// After this time a host has started.
const STARTED: Duration = Duration::from_secs(3);

/// Interval afterwards. A busy host maps some 300 blocks again, from the page cache.
const INTERVAL: Duration = Duration::from_secs(5);

/// Unmaps the pages periodically; never returns.
pub(super) async fn keep_small() {
    tokio::time::sleep(STARTED).await;
    loop {
        if let Err(error) = unmap_pages() {
            tracing::debug!(%error, "the pages of the program stay mapped");
            std::future::pending().await
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Unmaps the code and the constants of the program.
fn unmap_pages() -> io::Result<()> {
    let program = std::fs::read_link("/proc/self/exe")?;
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    for range in unchanged(&maps, &program.to_string_lossy()) {
        unmap(range)?;
    }
    Ok(())
}

#[expect(unsafe_code, reason = "a range of addresses says nothing about the memory behind it")]
fn unmap(range: Range<usize>) -> io::Result<()> {
    let start = std::ptr::without_provenance_mut::<c_void>(range.start);
    // SAFETY: nothing writes to a mapping of the program's code or constants, so that its pages equal those of the file. An access to one
    // reads it from there again.
    unsafe { rustix::mm::madvise(start, range.len(), rustix::mm::Advice::LinuxDontNeed)? };
    Ok(())
}

/// The mappings of the file `program` that hold what is in the file: code, and the first one, with headers and constants. Other
/// read-only ones may be relocated.
///
/// * `maps` - `/proc/PID/maps`: lines of `START-END PERMISSIONS OFFSET DEVICE INODE PATH`, numbers in hexadecimal digits.
fn unchanged<'m>(maps: &'m str, program: &'m str) -> impl Iterator<Item = Range<usize>> + 'm {
    maps.lines().filter_map(move |line| {
        let mut fields = line.splitn(6, ' ');
        let (range, permissions, offset) = (fields.next()?, fields.next()?, fields.next()?);
        let path = fields.nth(2)?.trim_start();
        let first = permissions == "r--p" && offset.bytes().all(|digit| digit == b'0');
        if path != program || !(first || permissions == "r-xp") {
            return None;
        }
        let (start, end) = range.split_once('-')?;
        let address = |text| usize::from_str_radix(text, 16).ok();
        Some(address(start)?..address(end)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
5581c6a00000-5581c78b3000 r--p 00000000 fe:00 1337                       /usr/bin/my host
5581c78b3000-5581c99a2000 r-xp 00eb2000 fe:00 1337                       /usr/bin/my host
5581c99a2000-5581c9b0a000 r--p 02fa1000 fe:00 1337                       /usr/bin/my host
5581c9b0a000-5581c9b11000 rw-p 03108000 fe:00 1337                       /usr/bin/my host
7f0000000000-7f0000001000 rwxp 00000000 00:00 0
7f1000000000-7f1000028000 r--p 00000000 fe:00 4711                       /usr/lib/libc.so.6
7f1000028000-7f1000180000 r-xp 00028000 fe:00 4711                       /usr/lib/libc.so.6
";

    #[test]
    fn relocated_and_written_mappings_and_those_of_other_files_are_left_alone() {
        let found: Vec<_> = unchanged(MAPS, "/usr/bin/my host").collect();
        assert_eq!(found, [0x5581_c6a0_0000..0x5581_c78b_3000, 0x5581_c78b_3000..0x5581_c99a_2000]);
        assert_eq!(unchanged(MAPS, "/usr/bin/other").count(), 0);
        assert_eq!(unchanged("nonsense\n\n0-1\n- r-xp 0 0 0 p\n", "p").count(), 0);
    }

    #[test]
    fn the_program_runs_on() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let program = std::fs::read_link("/proc/self/exe").unwrap();
        assert!(unchanged(&maps, &program.to_string_lossy()).count() >= 2, "{maps}");
        for _ in 0..10 {
            unmap_pages().unwrap();
            assert_eq!(serde_json::to_string(&serde_json::json!({"a": [1.5, "b"]})).unwrap(), r#"{"a":[1.5,"b"]}"#);
        }
    }
}
