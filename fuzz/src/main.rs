//! libFuzzer's entry points: the program fuzzes the target that the environment variable `TARGET` names. scripts/fuzz.sh builds and runs it.

#![no_main]
#![expect(unsafe_code, reason = "libFuzzer, which brings `main`, calls these by their names")]

use oarlock_fuzz::{TARGETS, Target};
use std::ffi::c_int;
use std::sync::OnceLock;

static CHOSEN: OnceLock<Target> = OnceLock::new();

/// Called once, before anything else.
#[unsafe(no_mangle)]
extern "C" fn LLVMFuzzerInitialize(_arguments: *mut c_int, _values: *mut *mut *mut u8) -> c_int {
    let said = std::panic::take_hook();
    // libFuzzer keeps the input of a program that aborts.
    std::panic::set_hook(Box::new(move |panic| {
        said(panic);
        std::process::abort();
    }));
    let name = std::env::var("TARGET").unwrap_or_default();
    let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    let target = TARGETS.iter().find(|(known, _)| *known == name);
    assert!(target.is_some(), "TARGET is {name:?}; there are {}", names.join(", "));
    target.map(|target| CHOSEN.set(*target));
    0
}

/// Called with each input.
///
/// # Safety
///
/// `data` must point to `size` bytes, or `size` be 0.
#[unsafe(no_mangle)]
unsafe extern "C" fn LLVMFuzzerTestOneInput(data: *const u8, size: usize) -> c_int {
    // SAFETY: libFuzzer lends the bytes for the call.
    let data = if size == 0 { &[] } else { unsafe { std::slice::from_raw_parts(data, size) } };
    if let Some((_, run)) = CHOSEN.get() {
        run(data);
    }
    0
}
