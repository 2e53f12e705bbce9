//! What no guest should do.

use std::hint::black_box;

/// Never returns.
pub(crate) fn spin() -> ! {
    let mut turns = 0_u64;
    loop {
        turns = black_box(turns.wrapping_add(1));
    }
}

/// Computes for this many turns.
pub(crate) fn compute(turns: usize) {
    let mut done = 0_usize;
    while done < turns {
        done = black_box(done.wrapping_add(1));
    }
}

/// Takes memory until there is none, page by page; then the allocator traps.
pub(crate) fn grow() -> ! {
    let mut held: Vec<Vec<u8>> = Vec::new();
    loop {
        held.push(black_box(vec![1; 64 * 1024]));
        black_box(&held);
    }
}

/// Calls itself until the engine's stack ends. Nothing of it lies in linear memory.
#[inline(never)]
pub(crate) fn recurse(depth: u64) -> u64 {
    // Never, but then there is an end. What is done with the result keeps the call from becoming a loop.
    if depth == u64::MAX { 0 } else { recurse(depth + 1).wrapping_mul(3) ^ depth }
}

/// Calls itself until the guest's own stack, in linear memory, ends.
pub(crate) fn pile_up(depth: u64) -> u64 {
    // Much more than a frame takes of the engine's stack.
    let room = black_box([depth; 512]);
    if black_box(depth) == u64::MAX {
        return 0;
    }
    black_box(pile_up(depth + 1)) + room.iter().sum::<u64>()
}

/// The instruction itself: without message, without hook.
pub(crate) fn trap() -> ! {
    core::arch::wasm32::unreachable()
}

/// With a message.
#[expect(clippy::panic, reason = "that is the mode")]
pub(crate) fn panic() -> ! {
    panic!("misfit panics as told")
}

/// A JSON string of `bytes` bytes, quotes included.
pub(crate) fn string(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes);
    text.push('"');
    text.extend(std::iter::repeat_n('x', bytes.saturating_sub(2)));
    text.push('"');
    text
}
