//! `oarlock inspect`.

use super::compiling::Compiling;
use anyhow::Context as _;
use clap::Args;
use oarlock::plugin::{Engine, inspect};
use serde_json::Value;
use std::path::PathBuf;

/// The options of `oarlock inspect`.
#[derive(Debug, Args)]
#[command(
    about = "Show what a plugin file is: manifest, imports, exports, size, digest; refuse what is not a plugin",
    after_help = "Example:\n  oarlock inspect network.wasm --json"
)]
pub(super) struct InspectArgs {
    /// The plugin
    #[arg(value_name = "FILE.wasm")]
    file: PathBuf,

    /// As one JSON document
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    compiling: Compiling,
}

pub(super) async fn run(args: InspectArgs) -> anyhow::Result<()> {
    let shown = args.file.display().to_string();
    let bytes = std::fs::read(&args.file).with_context(|| format!("cannot read {shown}"))?;
    let engine = Engine::new(args.compiling.options())?;
    let found = inspect::inspect(&engine, &shown, bytes).await.with_context(|| shown.clone())?;
    if args.json {
        super::say(&serde_json::to_string_pretty(&found)?)?;
        return Ok(());
    }
    let text = |field: &str| found.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let list = |field: &str| {
        let names = found.get(field).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        names.map(|n| format!("  {n}")).collect::<Vec<_>>().join("\n")
    };
    super::say(&format!(
        "{} {}\ncontract  {}\nsize      {} bytes\ndigest    {}\nimports\n{}\nexports\n{}\nmanifest\n{}",
        text("name"),
        text("version"),
        contract(&text("contract"), &text("contractServed")),
        found.get("sizeBytes").and_then(Value::as_u64).unwrap_or_default(),
        text("digest"),
        list("imports"),
        list("exports"),
        serde_json::to_string_pretty(found.get("manifest").unwrap_or(&Value::Null))?,
    ))?;
    Ok(())
}

/// The contract version of a file, and the host's version where it differs.
fn contract(built: &str, served: &str) -> String {
    if built == served { built.to_owned() } else { format!("{built} (this host serves {served})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contract_of_the_host_is_told_where_it_is_another_than_the_files() {
        assert_eq!(contract("0.1.0", "0.1.0"), "0.1.0");
        assert_eq!(contract("0.1.0", "0.1.2"), "0.1.0 (this host serves 0.1.2)");
    }
}
