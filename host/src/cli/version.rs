//! `oarlock version`.

use clap::Args;
use oarlock::plugin::CONTRACT_VERSION;

/// The options of `oarlock version`.
#[derive(Debug, Args)]
#[command(
    about = "Print the versions of this program and of the contract with plugins",
    after_help = "Example:\n  oarlock version"
)]
pub(super) struct VersionArgs {}

pub(super) fn run(_args: &VersionArgs) -> anyhow::Result<()> {
    let program = env!("CARGO_PKG_VERSION");
    super::say(&format!("oarlock {program}\ncontract oarlock:reconciler@{CONTRACT_VERSION}"))
}
