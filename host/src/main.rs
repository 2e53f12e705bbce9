//! The `oarlock` command.

mod cli;

use clap::Parser as _;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

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
