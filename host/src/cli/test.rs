//! `oarlock test`.

use super::compiling::Compiling;
use anyhow::{Context as _, bail};
use clap::Args;
use oarlock::cases::Player;
use oarlock::plugin::Engine;
use std::path::{Path, PathBuf};

/// The options of `oarlock test`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  oarlock test build/greeter.wasm --cases cases\n\nA case is one reconcile: docs/writing-plugins.md has the format."
)]
pub(super) struct TestArgs {
    /// The plugin file
    #[arg(value_name = "FILE.wasm")]
    file: PathBuf,

    /// Folder of the cases
    #[arg(long, value_name = "DIR")]
    cases: PathBuf,

    /// Replace `expect:` in each case by the answers of the plugin, instead of comparing
    #[arg(long)]
    update: bool,

    #[command(flatten)]
    compiling: Compiling,
}

pub(super) async fn run(args: TestArgs) -> anyhow::Result<()> {
    let shown = args.file.display().to_string();
    let bytes = std::fs::read(&args.file).with_context(|| format!("cannot read {shown}"))?;
    let files = cases(&args.cases)?;
    let engine = Engine::new(args.compiling.options())?;
    let player = Player::new(&engine, &shown, bytes).await.with_context(|| format!("not a plugin: {shown}"))?;
    let mut failed = 0;
    for file in &files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let played = player.play(&text).await.with_context(|| file.display().to_string())?;
        if args.update {
            std::fs::write(file, updated(&text, &played.answered)?)
                .with_context(|| format!("cannot write {}", file.display()))?;
            super::say(&format!("written  {name}"))?;
        } else if played.differences.is_empty() {
            super::say(&format!("ok       {name}"))?;
        } else {
            failed += 1;
            super::say(&format!("FAILED   {name}\n           {}", played.differences.join("\n           ")))?;
        }
    }
    if failed > 0 {
        bail!("{failed} of {} cases failed; --update writes the present answers into them", files.len());
    }
    Ok(())
}

/// The cases of a folder, by name.
fn cases(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read the folder {}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("cannot read the folder {}", folder.display()))?.path();
        if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            files.push(path);
        }
    }
    if files.is_empty() {
        bail!("there are no cases (*.yaml) in {}", folder.display());
    }
    files.sort();
    Ok(files)
}

/// The text of a case with another expectation; the text before `expect:` is unchanged.
fn updated(text: &str, answered: &serde_json::Value) -> anyhow::Result<String> {
    let expects = |line: &str| line.starts_with("expect:");
    let mut kept: String = text.split_inclusive('\n').take_while(|line| !expects(line)).collect();
    if !kept.ends_with('\n') {
        kept.push('\n');
    }
    let expect = serde_saphyr::to_string(&serde_json::json!({"expect": answered}))?;
    Ok(kept + &expect)
}
