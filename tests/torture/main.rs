//! `make torture`.

use anyhow::Result;
use clap::Parser;
use oarlock_tests::torture::{Options, run};
use std::{process::ExitCode, time::Duration};

/// Swaps plugins while they run, kills the host, and checks that nothing was lost, left over, double or worked on twice at once.
///
/// Example: `torture --seconds 20 --seed 7`.
#[derive(Debug, Parser)]
struct Arguments {
    /// Where everything random comes from; a new one each time unless told
    #[arg(long)]
    seed: Option<u64>,
    /// How long plugins are swapped and objects changed
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Objects, in four kinds
    #[arg(long, default_value_t = 5000)]
    objects: usize,
    /// Changes of objects per second
    #[arg(long, default_value_t = 100)]
    changes: u32,
    /// Milliseconds between two swaps; 0: no swaps
    #[arg(long, default_value_t = 200)]
    swap_ms: u64,
    /// How often the host is killed
    #[arg(long, default_value_t = 2)]
    kills: u32,
    /// How many recorded reconciles are replayed in the end
    #[arg(long, default_value_t = 500)]
    replays: usize,
}

#[tokio::main]
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a program's output")]
async fn main() -> ExitCode {
    match torture(&Arguments::parse()).await {
        Ok(failures) if failures.is_empty() => {
            println!("\nEverything is as it should be.");
            ExitCode::SUCCESS
        }
        Ok(failures) => {
            println!("\nIt did not hold:\n  {}", failures.join("\n  "));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("torture: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stdout, reason = "a program's output")]
async fn torture(arguments: &Arguments) -> Result<Vec<String>> {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let seed = arguments.seed.unwrap_or(now.as_secs() % 1_000_000);
    println!("seed {seed} (the same again: make torture SEED={seed})");
    let options = Options {
        seed,
        period: Duration::from_secs(arguments.seconds),
        objects: arguments.objects,
        changes_per_second: arguments.changes,
        swap_every: Some(Duration::from_millis(arguments.swap_ms)).filter(|pause| !pause.is_zero()),
        kills: arguments.kills,
        replays: arguments.replays,
        own_group: false,
    };
    let began = tokio::time::Instant::now();
    let tell = |what: &str| println!("{:6.1} s  {what}", began.elapsed().as_secs_f64());
    let report = run(&options, &tell).await?;
    println!("\n{report}");
    Ok(report.failures())
}
