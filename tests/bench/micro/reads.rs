//! The record of reads alone.

use anyhow::Result;
use oarlock::controller::measure_reads;
use serde_json::json;

/// Of how many keys and reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Keys, each of which reads objects of its own
    #[arg(long, default_value_t = 10_000)]
    keys: usize,
    /// Objects that a key reads
    #[arg(long, default_value_t = 2)]
    reads: usize,
    /// Reconciles of each key
    #[arg(long, default_value_t = 20)]
    rounds: usize,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let [recorded, changed] = measure_reads(args.keys, args.reads, args.rounds).map(|time| time.as_secs_f64() * 1e6);
    crate::print(
        &json!({"keys": args.keys, "reads": args.reads, "record_of_a_key_us": recorded, "keys_of_a_change_us": changed}),
    );
    Ok(())
}
