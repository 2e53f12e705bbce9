//! `oarlock check`: generated programs of a controller under faults, and what must hold of any controller.
//!
//! # Source
//!
//! Operations from the schema as in Acto (SOSP 2023), faults as in Sieve (OSDI 2022).

mod campaign;
mod compare;
mod foreign;
mod inputs;
mod judge;
mod oracles;
mod program;
mod progress;
mod records;
mod report;
mod shrink;
mod source;

use super::compiling::Compiling;
use super::test::scenarios::Plugin;
use anyhow::Context as _;
use campaign::{Bound, Played, Referee, campaign};
use clap::{Args, ValueEnum};
use foreign::Foreign;
use judge::Judge;
use report::{Report, Subject};
use serde_json::Value;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tokio::time::Instant;

/// Exit codes.
const FOUND: u8 = 1;
const UNUSABLE: u8 = 2;
/// After SIGINT or SIGTERM, by the shells' convention.
const STOPPED: u8 = 130;

/// How many objects a plugin is tried with. If it answers for some, a call without an answer is a finding.
const REHEARSED: u64 = 3;

/// How long one program may compute.
const LIMIT: Duration = Duration::from_secs(60);

/// The options of `oarlock check`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oarlock check build/site.wasm --crd crd.yaml --grant grant.yaml\n  oarlock check build/site.wasm --crd crd.yaml --cases 200 --seed 7 --output json\n\nThe seed and the number of a case determine it: with --minutes only the number of cases depends on the machine. docs/check.md has the\noperations, the faults and the oracles.\n\nThe exit status is 0 if nothing is found and 1 if something is. It is 2 if an input cannot be used: the file is no plugin, the plugin\nanswers for no object, a definition has no schema, or there is nothing to draw objects from.\nAfter SIGINT or SIGTERM the check reports what it has found, and the exit status is 130; a second signal ends it at once."
)]
pub(super) struct CheckArgs {
    /// The plugin file
    #[arg(value_name = "FILE.wasm", required_unless_present = "command", conflicts_with = "command")]
    file: Option<PathBuf>,

    /// A controller of any kind in place of a plugin: a command of a shell. `{}` is the name of a kubeconfig, which KUBECONFIG has as well.
    /// It runs in real time
    #[arg(long, value_name = "COMMAND")]
    command: Option<String>,

    /// Draw objects of this kind alone. Can be repeated [default: of all kinds of --crd and --object]
    #[arg(long, value_name = "KIND", conflicts_with = "file")]
    objects_of_kind: Vec<String>,

    /// Real time in which the command must do everything that it has to do, also after faults: longer than its longest pause between retries
    #[arg(long, value_name = "SECONDS", conflicts_with = "file", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    settle_seconds: u64,

    /// How many of the command run side by side [default: twice the number of cores, or 1 if a second one ends]
    #[arg(long, value_name = "NUMBER", conflicts_with = "file", value_parser = clap::value_parser!(u64).range(1..=64))]
    jobs: Option<u64>,

    /// Play the steps of a finding of a command instead of drawn ones
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "minutes", "cases"])]
    steps: Option<PathBuf>,

    /// CustomResourceDefinitions: of the kinds that the plugin reconciles, from which objects are drawn, and of others that it needs. Can be
    /// repeated [default: those in the plugin file]
    #[arg(long, value_name = "FILE")]
    crd: Vec<PathBuf>,

    /// Valid objects, as examples for a kind without a definition or with rules that drawn objects do not meet. Can be repeated
    #[arg(long, value_name = "FILE")]
    object: Vec<PathBuf>,

    /// Objects that exist before the host starts. No event and no other object may have the values of Secrets among them. Can be repeated
    #[arg(long, value_name = "FILE")]
    cluster: Vec<PathBuf>,

    /// HTTP services that the plugin asks: stubs as scenarios have them under `http`, with the collections of each service
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    services: Option<PathBuf>,

    /// The version before it: cases begin with it, and FILE.wasm takes over. The grant must suffice for both
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    previous: Option<PathBuf>,

    /// Grant of the plugin [default: what the manifest asks for]
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    grant: Option<PathBuf>,

    /// Begin no case after this much real time
    #[arg(long, value_name = "MINUTES", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    minutes: u64,

    /// Number of cases [default: as many as the time allows]
    #[arg(long, value_name = "NUMBER", conflicts_with = "minutes", value_parser = clap::value_parser!(u64).range(1..))]
    cases: Option<u64>,

    /// Seed of the cases
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    seed: u64,

    /// Format of the report
    #[arg(short, long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    output: Format,

    /// Folder for the scenario of each finding, a test for `oarlock test --scenarios`
    #[arg(long, value_name = "DIR", default_value = "findings")]
    output_dir: PathBuf,

    #[command(flatten)]
    compiling: Compiling,
}

/// The form of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A paragraph for each finding
    Text,
    /// One JSON document
    Json,
    /// One HTML page
    Html,
}

pub(super) async fn run(args: CheckArgs) -> ExitCode {
    match check(args).await {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            super::complain(&error);
            ExitCode::from(UNUSABLE)
        }
    }
}

/// Checks a controller. The exit code, if the inputs can be used.
async fn check(args: CheckArgs) -> anyhow::Result<u8> {
    if args.steps.is_none() {
        inputs::writable(&args.output_dir)?;
    }
    let mut definitions = inputs::definitions(&args.crd)?;
    if let (true, Some(file)) = (args.crd.is_empty(), &args.file) {
        definitions = inputs::attached(file);
    }
    let (examples, more) = (inputs::documents(&args.object)?, inputs::documents(&args.cluster)?);
    let cluster: Vec<Value> = definitions.iter().cloned().chain(more).collect();
    match (&args.command, &args.file) {
        (Some(command), _) => check_command(&args, command.clone(), (&definitions, &examples), cluster),
        (None, file) => {
            let file = file.clone().context("there is no plugin file")?;
            check_plugin(&args, file, (&definitions, &examples), cluster).await
        }
    }
}

fn check_command(
    args: &CheckArgs,
    command: String,
    (definitions, examples): (&[Value], &[Value]),
    cluster: Vec<Value>,
) -> anyhow::Result<u8> {
    let steps = args.steps.as_deref().map(inputs::program).transpose()?;
    let kinds = inputs::kinds(definitions, examples, &args.objects_of_kind)?;
    anyhow::ensure!(!kinds.is_empty(), "--command needs --crd or --object: they name the kinds to draw");
    let sources = source::sources(&kinds, definitions, examples)?;
    let foreign = Foreign::new(command.clone(), cluster, Duration::from_secs(args.settle_seconds));
    stops(&foreign.stop)?;
    // Most of the time they wait.
    let wanted = args.jobs.and_then(|jobs| usize::try_from(jobs).ok()).unwrap_or(2 * cores());
    let sample = source::samples(&sources, 1)?.pop().context("no kind")?;
    // On a thread of its own: this one has a runtime.
    let begun = std::thread::scope(|scope| scope.spawn(|| foreign.rehearse(wanted, &sample)).join());
    let (jobs, why) = begun.map_err(|_panic| anyhow::anyhow!("the command cannot be tried"))??;
    if let Some(why) = why {
        let why = oarlock::text::one_line(&why);
        let _ = writeln!(
            std::io::stderr(),
            "oarlock: one case at a time, because a second command beside the first fails: {why}"
        );
    }
    let cluster = foreign.cluster.clone();
    if let Some(program) = steps {
        let played = campaign::replay(&foreign, &program)?;
        return tell(args, (Subject::Command(command), foreign.stopped()), None, played);
    }
    let played = campaign(&foreign, &sources, (args.seed, bound(args), jobs))?;
    tell(args, (Subject::Command(command), foreign.stopped()), Some((&cluster, &[])), played)
}

async fn check_plugin(
    args: &CheckArgs,
    file: PathBuf,
    (definitions, examples): (&[Value], &[Value]),
    cluster: Vec<Value>,
) -> anyhow::Result<u8> {
    // The simulation of each program has the seed with which scenarios are played, so that a finding is one there as well.
    let previous = args.previous.as_deref().map(std::path::absolute).transpose()?;
    let swaps = std::iter::once(None).chain(previous.clone().map(Some)).map(|file| (file, String::new())).collect();
    let plugin = Plugin::load(file, args.grant.as_deref(), args.compiling.clone(), (0, LIMIT, false), swaps).await?;
    let primary = |primary: &oarlock_manifest::Primary| {
        let (group, version) = (&primary.group, &primary.version);
        let api_version = if group.is_empty() { version.clone() } else { format!("{group}/{version}") };
        (api_version, primary.kind.clone())
    };
    let kinds: Vec<(String, String)> = plugin.manifest.primaries.iter().map(primary).collect();
    let sources = source::sources(&kinds, definitions, examples)?;
    for kind in source::unvaried(&sources) {
        let why = "its schema has no fields that differ, so the check hardly changes its objects";
        let _ = writeln!(std::io::stderr(), "oarlock: every drawn {kind} is the same: {why}");
    }
    let subject = Subject::Plugin(plugin.manifest.name.clone(), plugin.manifest.version.clone());
    let services = args.services.as_deref().map(inputs::services).transpose()?.unwrap_or_default();
    let judge = Judge::new(plugin, cluster, services, previous.map(|file| file.display().to_string()));
    stops(&judge.stop)?;
    let samples = source::samples(&sources, REHEARSED)?;
    // On a thread of its own: this one has a runtime.
    let begun = std::thread::scope(|scope| scope.spawn(|| judge.rehearse(&samples)).join());
    begun.map_err(|_panic| anyhow::anyhow!("the host cannot be tried"))??;
    let played = campaign(&judge, &sources, (args.seed, bound(args), cores()))?;
    tell(args, (subject, judge.stopped()), Some((&judge.cluster, &judge.services)), played)
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Sets the flag when the user ends the check.
fn stops(stop: &Arc<AtomicBool>) -> anyhow::Result<()> {
    let (stop, stopped) = (Arc::clone(stop), super::signals::stop_token()?);
    tokio::spawn(async move {
        stopped.cancelled().await;
        stop.store(true, Relaxed);
    });
    Ok(())
}

fn bound(args: &CheckArgs) -> Bound {
    let until = Instant::now() + Duration::from_secs(args.minutes * 60);
    args.cases.map_or(Bound::Until(until), Bound::Cases)
}

/// Writes the report. The exit code.
///
/// * `stopped` - whether the user ended the check.
/// * `world` - what exists before the controller starts and the services, for the files of findings. None: there are files already.
fn tell(
    args: &CheckArgs,
    (subject, stopped): (Subject, bool),
    world: Option<(&[Value], &[Value])>,
    Played { cases, took: (played, shortened), findings, others }: Played,
) -> anyhow::Result<u8> {
    let report = Report { subject, seed: args.seed, cases, findings, others };
    let text = match args.output {
        Format::Text => report.text(),
        Format::Json => format!("{:#}\n", report.json()),
        Format::Html => report.html(),
    };
    super::print(text.as_bytes())?;
    if let Some((cluster, services)) = world {
        report.write(&args.output_dir, cluster, services)?;
    }
    let rate = cases as f64 / played.as_secs_f64().max(0.001);
    let (played, shortened) = (played.as_secs(), shortened.as_secs());
    // Beside the report, which does not depend on it.
    let _ = writeln!(std::io::stderr(), "oarlock: cases {played} s ({rate:.1} in a second), findings {shortened} s");
    Ok(match (stopped, report.findings.is_empty()) {
        (true, _) => STOPPED,
        (false, true) => 0,
        (false, false) => FOUND,
    })
}
