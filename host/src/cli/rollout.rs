//! `oarlock rollout`: the rollout of a new version, the versions of a plugin that ran, and the way back to one of them.

mod host;
mod object;
mod steps;

pub(super) use steps::differences;

use anyhow::{Context as _, bail, ensure};
use clap::{Args, Subcommand};
use serde_json::Value;
use std::path::PathBuf;

/// The options of `oarlock rollout`.
#[derive(Debug, Args)]
pub(super) struct RolloutArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the step of a rollout, and how the two versions differ
    #[command(after_help = "Example:\n  oarlock rollout status network")]
    Status(steps::StatusArgs),
    /// Let a rollout go on after its plan
    #[command(after_help = "Example:\n  oarlock rollout approve network --plan 1f0c6e5b3d2a4987")]
    Approve(steps::ApproveArgs),
    /// End the steps of a rollout: its version replaces the version that runs
    #[command(after_help = "Example:\n  oarlock rollout promote network")]
    Promote(steps::NameArgs),
    /// Abort a rollout: the version that runs reconciles every object, and undoes what the candidate wrote
    #[command(after_help = "Example:\n  oarlock rollout abort network")]
    Abort(steps::NameArgs),
    /// Go back to a version that ran before
    ///
    /// The version in the file then counts as rolled back, until the file changes or a person confirms it. The grant is the present one.
    /// With a Plugin object, every host goes back.
    Undo(UndoArgs),
    /// List the versions that ran
    History(HistoryArgs),
}

/// A plugin of one host, or a Plugin object.
#[derive(Debug, Args)]
struct Target {
    /// Name of a plugin of the host, or Plugin NAMESPACE/NAME for the plugin of an object, on every host
    #[arg(value_name = "NAME|Plugin NAMESPACE/NAME", required = true, num_args = 1..=2)]
    target: Vec<String>,

    #[command(flatten)]
    admin: super::admin::Admin,

    /// Kubeconfig for a Plugin object [default: as for kubectl]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// Context of the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

/// The options of `oarlock rollout undo`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oarlock rollout undo network\n  oarlock rollout undo network --to-revision 3\n  oarlock rollout undo Plugin oarlock/network --to-revision 3    # on every host\n  oarlock rollout undo Plugin oarlock/network --cancel"
)]
struct UndoArgs {
    #[command(flatten)]
    target: Target,

    /// Revision to go back to [default: the version that ran before]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    to_revision: Option<u64>,

    /// Run the version of the source again. For a Plugin object; on one host, oarlock confirm does it
    #[arg(long, conflicts_with = "to_revision")]
    cancel: bool,
}

/// The options of `oarlock rollout history`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oarlock rollout history network\n  oarlock rollout history network --revision 3    # with the grant of then\n  oarlock rollout history Plugin oarlock/network"
)]
struct HistoryArgs {
    #[command(flatten)]
    target: Target,

    /// Show one revision, with its grant if the host has it
    #[arg(long, value_name = "N")]
    revision: Option<u64>,

    /// Output format [default: a table]
    #[arg(short, long, value_enum, value_name = "FORM")]
    output: Option<super::Output>,
}

pub(super) async fn run(args: RolloutArgs) -> anyhow::Result<()> {
    match args.command {
        Command::Status(args) => steps::status(args).await,
        Command::Approve(args) => steps::approve(args).await,
        Command::Promote(args) => steps::promote(args).await,
        Command::Abort(args) => steps::abort(args).await,
        Command::Undo(args) => undo(args).await,
        Command::History(args) => history(args).await,
    }
}

async fn undo(args: UndoArgs) -> anyhow::Result<()> {
    let said = match object::find(&args.target).await? {
        Some(object) if args.cancel => object.cancel().await?,
        Some(object) => object.undo(args.to_revision).await?,
        None if args.cancel => bail!("on one host: oarlock confirm {}", args.target.name()?),
        None => host::undo(&args.target.admin, args.target.name()?, args.to_revision).await?,
    };
    super::say(said.trim_end())
}

async fn history(args: HistoryArgs) -> anyhow::Result<()> {
    let mut all = match object::find(&args.target).await? {
        Some(object) => object.revisions(),
        None => host::history(&args.target.admin, args.target.name()?).await?,
    };
    if let Some(number) = args.revision {
        all.retain(|one| one.get("revision").and_then(Value::as_u64) == Some(number));
        let one = all.first().with_context(|| format!("there is no revision {number}"))?;
        let output = args.output.or(Some(super::Output::Yaml));
        let document = super::Output::document(output, false, one)?.context("-o wide is for the list")?;
        return super::say(document.trim_end());
    }
    match super::Output::document(args.output, false, &Value::Array(all.clone()))? {
        Some(document) => super::say(document.trim_end()),
        None => super::say(table(&all).trim_end()),
    }
}

impl Target {
    /// The plugin of the host.
    fn name(&self) -> anyhow::Result<&str> {
        match self.target.as_slice() {
            [name] => Ok(name),
            _ => bail!("name one plugin, or Plugin NAMESPACE/NAME"),
        }
    }
}

fn table(all: &[Value]) -> String {
    let text = |one: &Value, field: &str| one.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut lines = vec![format!("{:<10}{:<16}{:<22}{}", "REVISION", "VERSION", "SINCE", "DIGEST")];
    lines.extend(all.iter().map(|one| {
        let digest = text(one, "digest");
        let number = one.get("revision").and_then(Value::as_u64).unwrap_or_default();
        let digest: String = digest.trim_start_matches("sha256:").chars().take(12).collect();
        format!("{number:<10}{:<16}{:<22}{digest}", text(one, "version"), text(one, "since"))
    }));
    lines.join("\n")
}

/// The digest of a revision.
fn digest(one: &Value) -> anyhow::Result<&str> {
    let digest = one.get("digest").and_then(Value::as_str).unwrap_or_default();
    ensure!(!digest.is_empty(), "the revision has no digest");
    Ok(digest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_table_has_a_line_for_each_revision() {
        let one = json!({"revision": 3, "version": "1.2.0", "since": "2026-01-01T00:00:00Z", "digest": "sha256:0123456789abcdef"});
        let lines = table(&[one]);
        let cells: Vec<&str> = lines.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(cells, ["3", "1.2.0", "2026-01-01T00:00:00Z", "0123456789ab"]);
    }
}
