//! `oarlock version`.

use clap::Args;
use oarlock::plugin::CONTRACT_VERSION;

/// The options of `oarlock version`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  oarlock version")]
pub(super) struct VersionArgs {}

pub(super) fn run(_args: &VersionArgs) -> anyhow::Result<()> {
    super::say(&format!("oarlock {}", text()))
}

/// The version of the program, then those of its parts.
pub(super) fn text() -> String {
    let program = env!("CARGO_PKG_VERSION");
    // scripts/commit.sh sets it for releases and images.
    let commit = option_env!("OARLOCK_COMMIT").map(|commit| format!("\ncommit {commit}")).unwrap_or_default();
    format!("{program}\ncontract oarlock:reconciler@{CONTRACT_VERSION}{commit}")
}
