//! `make fuzz-plugin`.

use anyhow::{Context, Result};
use clap::Parser;
use oarlock_tests::fuzz_plugin::{Failure, Files, Limits, Report, Subject, fuzz, play_once};
use std::{fs, path::PathBuf, process::ExitCode, time::Duration};

/// Plays random creates, edits, deletes and invalid objects to a plugin, and checks what must hold of any plugin.
///
/// Example: `fuzz-plugin --plugin network.wasm --crd crd.yaml --target neutronUrl=neutron --look /v2.0/networks`.
#[derive(Debug, Parser)]
struct Arguments {
    /// The plugin
    #[arg(long, value_name = "FILE.wasm")]
    plugin: PathBuf,
    /// Definition of a kind it works with; that of a kind it reconciles gives the schema [default: crd.yaml beside the plugin]
    #[arg(long, value_name = "FILE")]
    crd: Vec<PathBuf>,
    /// Valid objects of a kind it reconciles, in YAML
    #[arg(long, value_name = "FILE")]
    base: Option<PathBuf>,
    /// Objects that are there before the plugin, in YAML; the plugin network keeps Networks among them
    #[arg(long, value_name = "FILE")]
    beside: Option<PathBuf>,
    /// The grant [default: NAME.yaml beside the plugin, else what the plugin asks for]
    #[arg(long, value_name = "FILE")]
    grant: Option<PathBuf>,
    /// The server whose address the plugin finds under this key; `KEY=neutron`: a Neutron emulator of each world
    #[arg(long, value_name = "KEY=URL")]
    target: Vec<String>,
    /// A path of those servers whose content counts
    #[arg(long, value_name = "PATH")]
    look: Vec<String>,
    /// What cannot be changed while an object lives, though no schema says so
    #[arg(long, value_name = "POINTER")]
    fixed: Vec<String>,
    /// A field that is not compared
    #[arg(long, value_name = "NAME")]
    ignore: Vec<String>,
    /// Where everything random comes from; a new one each time unless told
    #[arg(long)]
    seed: Option<u64>,
    /// No plan is begun after this; the first always is
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Objects of a plan
    #[arg(long, default_value_t = 4)]
    objects: usize,
    /// Operations of a plan
    #[arg(long, default_value_t = 24)]
    steps: usize,
    /// How long nothing may be written in the end of one plan, of the first that has resyncs; of the one that is played
    #[arg(long, default_value_t = 0)]
    quiet_seconds: u64,
    /// Writes that one change may cost
    #[arg(long, default_value_t = 10.0)]
    writes: f64,
    /// Play this file instead, as a failure left it
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// Where a plan that fails is written
    #[arg(long, value_name = "FILE", default_value = "fuzz-plugin-failure.json")]
    save: PathBuf,
}

#[tokio::main]
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a program's output")]
async fn main() -> ExitCode {
    match fuzz_plugin(&Arguments::parse()).await {
        Ok((report, None)) => {
            println!("\n{report}\nEverything held.");
            ExitCode::SUCCESS
        }
        Ok((report, Some(failure))) => {
            println!("\n{report}\nIt did not hold: {failure}");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("fuzz-plugin: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stdout, reason = "a program's output")]
async fn fuzz_plugin(arguments: &Arguments) -> Result<(Report, Option<Failure>)> {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let seed = arguments.seed.unwrap_or(now.as_secs() % 1_000_000);
    let files = Files {
        plugin: arguments.plugin.clone(),
        crds: arguments.crd.clone(),
        base: arguments.base.clone(),
        beside: arguments.beside.clone(),
        grant: arguments.grant.clone(),
        targets: arguments.target.clone(),
        looks: arguments.look.clone(),
        fixed: arguments.fixed.clone(),
        ignored: arguments.ignore.clone(),
    };
    let subject = Subject::load(&files).await?;
    let limits = Limits {
        objects: arguments.objects.max(1),
        steps: arguments.steps,
        writes_per_change: arguments.writes,
        quiet: Duration::from_secs(arguments.quiet_seconds),
        ..Limits::default()
    };
    if let Some(file) = &arguments.replay {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let plan = serde_json::from_str(&text).with_context(|| file.display().to_string())?;
        let mut report = Report::default();
        let failure = play_once(&subject, &plan, &limits, &mut report).await?;
        return Ok((report, failure));
    }
    println!("seed {seed} (the same again: SEED={seed})");
    let began = tokio::time::Instant::now();
    let tell = |what: &str| println!("{:6.1} s  {what}", began.elapsed().as_secs_f64());
    let period = Duration::from_secs(arguments.seconds);
    let (report, failure) = fuzz(&subject, seed, period, &limits, &tell).await?;
    if let Some(failure) = &failure {
        fs::write(&arguments.save, serde_json::to_vec_pretty(&failure.plan)?)?;
        let file = arguments.save.display();
        println!("the plan is in {file} (play it again: REPLAY={file})");
    }
    Ok((report, failure))
}
