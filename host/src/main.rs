//! The `oarlock` command.

mod cli;

use clap::Parser as _;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Returns freed memory to the system after a second instead of ten: 6 MiB less after a burst of 10,000 reconciles (docs/performance.md).
/// The environment variable `_RJEM_MALLOC_CONF` overrides it.
#[expect(unsafe_code, reason = "jemalloc reads its options from this symbol: the address of a C string")]
#[unsafe(export_name = "_rjem_malloc_conf")]
static ALLOCATOR_OPTIONS: &[u8; 20] = b"dirty_decay_ms:1000\0";

fn main() -> ExitCode {
    let args = cli::Args::parse();
    oarlock::api::client::install_crypto_provider();
    match cli::run(args) {
        Ok(code) => code,
        Err(e) => {
            cli::complain(&e);
            ExitCode::FAILURE
        }
    }
}
