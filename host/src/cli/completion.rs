//! `oarlock completion`.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

/// The options of `oarlock completion`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  source <(oarlock completion bash)\n  oarlock completion zsh > \"${fpath[1]}/_oarlock\""
)]
pub(super) struct CompletionArgs {
    /// Shell to complete in
    shell: Shell,
}

pub(super) fn run(args: &CompletionArgs) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::Args::command(), "oarlock", &mut script);
    super::print(&script)
}
