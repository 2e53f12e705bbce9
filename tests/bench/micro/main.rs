//! Figures of single parts, each printed as one line of JSON: `queue`, `merge`, `reads`, `plugin`, `list` (our informer) and `reflector`
//! (kube-rs', for comparison). `fill` makes the objects they need. `tests/bench/run.sh` runs all of it.

mod fill;
mod list;
mod memory;
mod merge;
mod plugin;
mod queue;
mod reads;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// That of the host.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Figures of single parts.
#[derive(Debug, Parser)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Times add, get and done of many keys
    Queue(queue::Args),
    /// Times strategic merge patches of Pods
    Merge(merge::Args),
    /// Times instances, calls and reconciles of any plugin file, and takes the memory of its instances
    Plugin(plugin::Args),
    /// Times the record of the reads of reconciles, and the search for the keys that a changed object concerns
    Reads(reads::Args),
    /// Creates Networks or ConfigMaps, many at once
    Fill(fill::Args),
    /// Times a first list and a relist of all ConfigMaps with this host's informer
    List,
    /// The same with kube-rs' reflector
    Reflector,
}

#[tokio::main]
async fn main() -> Result<()> {
    match Args::parse().command {
        Command::Queue(args) => queue::run(&args).await,
        Command::Merge(args) => merge::run(&args),
        Command::Plugin(args) => plugin::run(args).await,
        Command::Reads(args) => reads::run(&args),
        Command::Fill(args) => fill::run(args).await,
        Command::List => list::informer().await,
        Command::Reflector => list::kube_rs().await,
    }
}

/// A result, as one line on standard output.
#[expect(clippy::print_stdout, reason = "it is what the program is for")]
fn print(value: &serde_json::Value) {
    println!("{value}");
}
