//! `make soak HOURS=N`.

use anyhow::Result;
use clap::Parser;
use oarlock_tests::soak::{Load, Options, run};
use std::process::ExitCode;

/// Lives a long week in simulated hours, and checks that two hosts use no more afterwards than at its beginning.
///
/// Example: `soak --hours 168`.
#[derive(Debug, Parser)]
struct Arguments {
    /// Simulated hours, at least 2: what the hosts use after the first is where they start
    #[arg(long, default_value_t = 168, value_parser = clap::value_parser!(u32).range(2..))]
    hours: u32,
}

#[tokio::main]
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a program's output")]
async fn main() -> ExitCode {
    match soak(&Arguments::parse()).await {
        Ok(failures) if failures.is_empty() => {
            println!("\nEverything is where it started.");
            ExitCode::SUCCESS
        }
        Ok(failures) => {
            println!("\nIt did not hold:\n  {}", failures.join("\n  "));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("soak: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stdout, reason = "a program's output")]
async fn soak(arguments: &Arguments) -> Result<Vec<String>> {
    let options = Options { hours: arguments.hours, load: Load::default(), own_group: false };
    let began = tokio::time::Instant::now();
    let tell = |what: &str| println!("{:6.1} s  {what}", began.elapsed().as_secs_f64());
    let report = run(&options, &tell).await?;
    println!("\n{report}");
    Ok(report.failures())
}
