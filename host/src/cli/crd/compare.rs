//! `oarlock crd compare`.

use crate::cli::{complain, say, types};
use anyhow::{Context as _, bail, ensure};
use clap::Args;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The exit status when a stored object may not survive.
const BREAKING: u8 = 1;

/// The exit status when the definitions cannot be compared.
const ERRORS: u8 = 2;

/// The options of `oarlock crd compare`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 if every stored object survives, 1 if one may not, 2 if the definitions cannot be compared.\n\nExamples:\n  oarlock crd compare released/crd.yaml crd.yaml\n  kubectl get crd webapps.example.com -o yaml | oarlock crd compare - crd.yaml"
)]
pub(super) struct CompareArgs {
    /// File with the definition that the cluster has; - is standard input
    old: PathBuf,

    /// File with the definition to come
    new: PathBuf,

    /// Kind to compare, if a file has several definitions
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
}

pub(super) fn run(args: &CompareArgs) -> ExitCode {
    match compare(args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(BREAKING),
        Err(error) => {
            complain(&error);
            ExitCode::from(ERRORS)
        }
    }
}

fn compare(args: &CompareArgs) -> anyhow::Result<bool> {
    let (old, new) = (read(&args.old, args.kind.as_deref())?, read(&args.new, args.kind.as_deref())?);
    let name = |crd: &Value| crd.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
    ensure!(name(&old) == name(&new), "the definitions are of different resources: {} and {}", name(&old), name(&new));
    let changes = oarlock_schema::breaking_changes(&old, &new);
    if changes.is_empty() {
        say(&format!("{}: stored objects survive the upgrade", name(&new)))?;
    }
    for change in &changes {
        say(&change.to_string())?;
    }
    Ok(changes.is_empty())
}

fn read(file: &Path, kind: Option<&str>) -> anyhow::Result<Value> {
    let shown = file.display();
    let text = if file.as_os_str() == "-" { types::read_from(std::io::stdin()) } else { types::read(file) };
    let text = text.with_context(|| format!("cannot read {shown}"))?;
    let crd = types::definition(&text, kind).with_context(|| format!("cannot compare {shown}"))?;
    if let Err(errors) = oarlock_schema::Crd::parse(&crd) {
        let errors: Vec<String> = errors.iter().map(|error| format!("\n  {error}")).collect();
        bail!("an API server would refuse the definition in {shown}:{}", errors.concat());
    }
    Ok(crd)
}
