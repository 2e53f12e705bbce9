//! `oarlock grant`.

use anyhow::Context as _;
use clap::Args;
use std::path::PathBuf;

/// The options of `oarlock grant`.
#[derive(Debug, Args)]
#[command(
    about = "Print the grant file that a plugin asks for, to be read, filled in and kept beside it",
    after_help = "Example:\n  oarlock grant plugins/network.wasm > plugins/network.yaml"
)]
pub(super) struct GrantArgs {
    /// The plugin
    #[arg(value_name = "FILE.wasm")]
    file: PathBuf,
}

pub(super) async fn run(args: GrantArgs) -> anyhow::Result<()> {
    let shown = args.file.display().to_string();
    let bytes = std::fs::read(&args.file).with_context(|| format!("cannot read {shown}"))?;
    let found = oarlock::plugin::inspect::inspect(&shown, bytes).await.with_context(|| shown.clone())?;
    let manifest = serde_json::from_value(found.get("manifest").cloned().unwrap_or_default())?;
    super::say(oarlock::plugin::inspect::grant_yaml(&manifest).trim_end());
    Ok(())
}
