//! A guest that misbehaves in the ways of Rust: the configuration's key `mode` says how get-desired does it. Any other mode: it behaves
//! well, and does nothing.
//!
//! | mode | what get-desired does |
//! | --- | --- |
//! | `throw` | panics with `the answer is 42`, two functions deep |
//! | `exit` | ends the process with code 3 |
//! | `print` | prints to standard output and standard error, then answers |
//! | `sleep` | sleeps for a second |
//! | `open` | reads `/etc/passwd` |
//! | `env` | reads the environment variable HOME |
//! | `thread` | starts a thread and waits for it |
//! | `loop` | computes for ever |
//! | `nonsense` | answers text that is no JSON |
//! | `chance` | answers what is not the same twice: clocks, a random number, the number of its calls in this instance |
//!
//! Where Rust's library answers with an error, the guest panics with it, as a program does that did not expect it.

use oarlock_guest::raw::{Error, Guest, Observation, Outcome, Request};
use oarlock_guest::{Manifest, config, kind, raw};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The guest.
#[derive(Debug)]
pub struct Unruly;

oarlock_guest::export_raw!(Unruly);

const STATE: &str = r#"{"ok": true}"#;

impl Guest for Unruly {
    fn describe() -> String {
        raw::log_panics();
        let manifest = Manifest::new("unruly-rust", env!("CARGO_PKG_VERSION"))
            .description("Misbehaves as it is told")
            .primary(kind("v1", "ConfigMap"));
        serde_json::to_string(manifest.document()).unwrap_or_default()
    }

    fn get_desired(_: Request) -> Result<Option<String>, Error> {
        raw::log_panics();
        Ok(Some(misbehave(&config::get("mode").unwrap_or_default())))
    }

    fn get_actual(_: Request) -> Result<Observation, Error> {
        Ok(Observation { state: Some(STATE.to_owned()), status: None, requeue_after_ms: None })
    }

    fn patch(_: Request, _: Option<String>, _: Option<String>) -> Result<Outcome, Error> {
        Ok(Outcome { changes: Vec::new(), events: Vec::new(), warnings: Vec::new(), requeue_after_ms: None })
    }
}

#[expect(clippy::expect_used, reason = "what a program does that did not expect an error")]
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "that is the misbehaviour")]
#[expect(clippy::disallowed_methods, reason = "sleeping is the misbehaviour")]
fn misbehave(mode: &str) -> String {
    match mode {
        "throw" => ask(),
        "exit" => std::process::exit(3),
        "print" => {
            println!("a line on standard output");
            eprintln!("a line on standard error");
        }
        "sleep" => std::thread::sleep(Duration::from_secs(1)),
        "open" => drop(std::fs::read_to_string("/etc/passwd").expect("/etc/passwd cannot be read")),
        "env" => drop(std::env::var("HOME").expect("HOME cannot be read")),
        "thread" => std::thread::spawn(|| {}).join().expect("the thread panicked"),
        "loop" => loop {
            std::hint::black_box(());
        },
        "nonsense" => return "this is no JSON".to_owned(),
        "chance" => return chance(),
        _ => {}
    }
    STATE.to_owned()
}

/// Clocks, random numbers, and what an earlier reconcile left in memory.
fn chance() -> String {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let calls = CALLS.fetch_add(1, Ordering::Relaxed) + 1;
    let (mut wall, mut monotonic, mut random) = (0, 0, [0; 8]);
    let failed = wasi::clock_time_get(0, 1, &mut wall)
        + wasi::clock_time_get(1, 1, &mut monotonic)
        + wasi::random_get(&mut random, 8);
    let random = u64::from_le_bytes(random);
    format!(
        r#"{{"ok": false, "failed": {failed}, "wall": {wall}, "monotonic": {monotonic}, "random": "{random:x}", "calls": {calls}}}"#
    )
}

/// What the standard library imports in a program that is built for WASI. Without it there are neither clocks nor random numbers.
#[cfg(target_arch = "wasm32")]
#[expect(unsafe_code, reason = "the declarations of what is imported")]
mod wasi {
    #[link(wasm_import_module = "wasi_snapshot_preview1")]
    unsafe extern "C" {
        /// * `clock` - 0: the time of day; 1: the monotonic clock.
        pub(super) safe fn clock_time_get(clock: u32, precision: u64, nanoseconds: &mut u64) -> u32;
        pub(super) safe fn random_get(bytes: &mut [u8; 8], length: u32) -> u32;
    }
}

/// A native build has no host to ask.
#[cfg(not(target_arch = "wasm32"))]
mod wasi {
    pub(super) fn clock_time_get(_clock: u32, _precision: u64, _nanoseconds: &mut u64) -> u32 {
        0
    }

    pub(super) fn random_get(_bytes: &mut [u8; 8], _length: u32) -> u32 {
        0
    }
}

#[inline(never)]
fn ask() {
    answer(42);
}

#[inline(never)]
#[expect(clippy::panic, reason = "that is the misbehaviour")]
fn answer(number: u32) {
    panic!("the answer is {number}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unless_it_is_told_it_behaves_well() {
        assert_eq!(misbehave(""), STATE);
        assert_eq!(misbehave("unheard-of"), STATE);
        let manifest: serde_json::Value = serde_json::from_str(&Unruly::describe()).unwrap();
        assert_eq!(manifest["name"], "unruly-rust");
    }

    #[test]
    fn it_panics_with_the_words_the_tests_of_the_host_look_for() {
        let caught = std::panic::catch_unwind(|| misbehave("throw")).unwrap_err();
        assert_eq!(caught.downcast_ref::<String>().map(String::as_str), Some("the answer is 42"));
    }
}
