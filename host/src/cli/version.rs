//! `oarlock version`.

use super::Output;
use clap::Args;
use oarlock::plugin::CONTRACT_VERSION;
use serde_json::json;

/// The options of `oarlock version`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  oarlock version\n  oarlock version -o json")]
pub(super) struct VersionArgs {
    /// Output format [default: lines for people]
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<Output>,
}

pub(super) fn run(args: &VersionArgs) -> anyhow::Result<()> {
    let document = json!({"version": env!("CARGO_PKG_VERSION"), "contract": CONTRACT_VERSION, "commit": COMMIT});
    match Output::document(args.output, false, &document)? {
        Some(document) => super::say(&document),
        None => super::say(&format!("oarlock {}", text())),
    }
}

/// scripts/commit.sh sets it for releases and images.
const COMMIT: Option<&str> = option_env!("OARLOCK_COMMIT");

/// The version of the program, then those of its parts.
pub(super) fn text() -> String {
    let program = env!("CARGO_PKG_VERSION");
    let commit = COMMIT.map(|commit| format!("\ncommit {commit}")).unwrap_or_default();
    format!("{program}\ncontract oarlock:reconciler@{CONTRACT_VERSION}{commit}")
}
