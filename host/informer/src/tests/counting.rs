//! A counting allocator for the heap of one thread, so that tests can measure used and peak bytes.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

struct Counting;

/// Bytes that the system's allocator takes for `size` bytes: eight for itself, in steps of sixteen, at least 32.
fn chunk(size: usize) -> isize {
    isize::try_from((size + 8).next_multiple_of(16).max(32)).unwrap_or(isize::MAX)
}

fn count(change: isize) {
    // An ending thread has no counters any more.
    let _ = NOW.try_with(|now| {
        now.set(now.get() + change);
        PEAK.with(|peak| peak.set(peak.get().max(now.get())));
    });
}

#[expect(unsafe_code, reason = "an allocator cannot be written without; it only counts and hands on")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(chunk(layout.size()));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-chunk(layout.size()));
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(chunk(size) - chunk(layout.size()));
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Bytes that this thread has allocated and not freed; a free by another thread does not count.
pub(super) fn now() -> isize {
    NOW.get()
}

/// The peak since [`watch_peak`].
pub(super) fn peak() -> isize {
    PEAK.get()
}

pub(super) fn watch_peak() {
    PEAK.set(now());
}
