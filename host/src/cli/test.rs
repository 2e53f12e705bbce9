//! `oarlock test`: cases and scenarios.

mod cases;
pub(in crate::cli) mod scenarios;

use super::compiling::Compiling;
use anyhow::Context as _;
use clap::{ArgGroup, Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The options of `oarlock test`.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("tests").args(["cases", "scenarios"]).required(true),
    after_help = "Examples:\n  oarlock test build/greeter.wasm --cases cases\n  oarlock test build/greeter.wasm --cases cases --compare\n  oarlock test build/greeter.wasm --scenarios scenarios --output junit\n\nA case is one reconcile, written by a person or by oarlock record. A scenario is a list of steps on an API server, in simulated time.\ndocs/testing-plugins.md has both formats.\n\nThe exit status is 1 if a test fails. It is 2 if an input cannot be used: the file is no plugin,\na case or a scenario cannot be read, or the folder has none."
)]
pub(super) struct TestArgs {
    /// The plugin file
    #[arg(value_name = "FILE.wasm")]
    file: PathBuf,

    /// Folder of the cases
    #[arg(long, value_name = "DIR")]
    cases: Option<PathBuf>,

    /// Folder of the scenarios
    #[arg(long, value_name = "DIR")]
    scenarios: Option<PathBuf>,

    /// Write what the plugin does into the files, instead of comparing: `expect:` of each case; values of `assert`, `events` and `requests`
    /// of each scenario
    #[arg(long)]
    update: bool,

    /// Show how the answers of the plugin differ from the cases, and do not fail. For a new version, on recordings of the present one
    #[arg(long, conflicts_with_all = ["update", "scenarios"])]
    compare: bool,

    /// Format of the report on scenarios
    #[arg(short, long, value_enum, default_value_t = Format::Text, value_name = "FORMAT", conflicts_with = "cases")]
    output: Format,

    /// Grant of the plugin in scenarios. Their configuration and limits come first [default: what the manifest asks for]
    #[arg(long, value_name = "FILE", conflicts_with = "cases")]
    grant: Option<PathBuf>,

    /// Seed of uids and random numbers in scenarios
    #[arg(long, value_name = "NUMBER", default_value_t = 0, conflicts_with = "cases")]
    seed: u64,

    /// How long one scenario may compute; waits do not count
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "cases")]
    timeout_seconds: u32,

    #[command(flatten)]
    compiling: Compiling,
}

/// The form of a report on scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A line for each scenario, and the reasons of failures
    Text,
    /// JUnit XML
    Junit,
    /// The Test Anything Protocol, version 14
    Tap,
}

impl TestArgs {
    /// Whether hosts run in simulated time.
    pub(super) fn simulates(&self) -> bool {
        self.scenarios.is_some()
    }
}

pub(super) async fn run(args: TestArgs) -> anyhow::Result<ExitCode> {
    match (args.cases, args.scenarios) {
        (_, Some(folder)) => {
            let options = scenarios::Options {
                file: args.file,
                folder,
                update: args.update,
                format: args.output,
                grant: args.grant,
                seed: args.seed,
                limit: std::time::Duration::from_secs(args.timeout_seconds.into()),
                compiling: args.compiling,
            };
            Ok(scenarios::run(options).await)
        }
        (cases, None) => {
            let options = cases::Options {
                file: args.file,
                cases: cases.unwrap_or_default(),
                update: args.update,
                compare: args.compare,
                compiling: args.compiling,
            };
            Ok(cases::run(options).await)
        }
    }
}

/// Exit codes.
const FAILED: u8 = 1;
const UNUSABLE: u8 = 2;

/// The exit code of a run that ended, which is whether all tests pass.
fn ended(passed: anyhow::Result<bool>) -> ExitCode {
    match passed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(FAILED),
        Err(error) => {
            super::complain(&error);
            ExitCode::from(UNUSABLE)
        }
    }
}

/// The text of a file.
///
/// # Errors
///
/// `cannot read FILE: …`, or `FILE:LINE:COLUMN: …` where it is not UTF-8.
fn text_of(file: &Path) -> anyhow::Result<String> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(error.as_bytes().get(..valid).unwrap_or_default());
        let (line, column) =
            (before.matches('\n').count() + 1, before.chars().rev().take_while(|c| *c != '\n').count() + 1);
        anyhow::anyhow!("{}:{line}:{column}: not UTF-8 (byte {})", file.display(), valid + 1)
    })
}

/// The YAML files of a folder, by name.
///
/// * `what` - what they are, in the plural.
fn yaml_files(folder: &Path, what: &str) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read the folder {}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("cannot read the folder {}", folder.display()))?.path();
        if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            anyhow::ensure!(
                !path.is_dir(),
                "{} is a folder: {what} are files, and those of subfolders are not read",
                path.display()
            );
            files.push(path);
        }
    }
    anyhow::ensure!(!files.is_empty(), "there are no {what} (*.yaml, *.yml) in {}", folder.display());
    files.sort();
    Ok(files)
}
