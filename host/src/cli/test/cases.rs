//! `oarlock test --cases`.

use super::super::compiling::Compiling;
use super::super::{complain, say};
use super::{text_of, yaml_files};
use anyhow::{Context as _, anyhow, bail};
use oarlock::cases::Player;
use oarlock::plugin::Engine;
use std::path::PathBuf;
use std::process::ExitCode;

/// The options; see [`TestArgs`](super::TestArgs).
pub(super) struct Options {
    pub(super) file: PathBuf,
    pub(super) cases: PathBuf,
    pub(super) update: bool,
    pub(super) compare: bool,
    pub(super) compiling: Compiling,
}

pub(super) async fn run(options: Options) -> ExitCode {
    super::ended(test(options).await)
}

/// Plays the cases. False: some failed.
async fn test(args: Options) -> anyhow::Result<bool> {
    let shown = args.file.display().to_string();
    let bytes = std::fs::read(&args.file).with_context(|| format!("cannot read {shown}"))?;
    let files = yaml_files(&args.cases, "cases")?;
    let engine = Engine::new(args.compiling.options())?;
    let player = Player::new(&engine, &shown, bytes).await.with_context(|| format!("not a plugin: {shown}"))?;
    let mut failed = 0;
    for file in &files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let text = text_of(file)?;
        let played = player.play(&text).await.with_context(|| file.display().to_string())?;
        if args.update {
            std::fs::write(file, updated(&text, &played.answered)?)
                .with_context(|| format!("cannot write {}", file.display()))?;
            say(&format!("written  {name}"))?;
        } else if played.differences.is_empty() {
            say(&format!("ok       {name}"))?;
        } else {
            failed += 1;
            let word = if args.compare { "DIFFERS" } else { "FAILED " };
            say(&format!("{word}  {name}\n           {}", played.differences.join("\n           ")))?;
        }
    }
    if args.compare {
        say(&format!("{failed} of {} cases differ", files.len()))?;
        return Ok(true);
    }
    if failed > 0 {
        let failure =
            anyhow!("{failed} of {} cases failed; --update writes the present answers into them", files.len());
        complain(&failure);
    }
    Ok(failed == 0)
}

/// The text of a case with another expectation; the text before `expect:` and the fields after it are unchanged.
fn updated(text: &str, answered: &serde_json::Value) -> anyhow::Result<String> {
    if text.trim_start().starts_with('{') {
        bail!("the case is JSON, in which --update cannot replace expect; write it in YAML");
    }
    let mut lines = text.split_inclusive('\n');
    let mut kept: String = lines.by_ref().take_while(|line| !line.starts_with("expect:")).collect();
    if !kept.ends_with('\n') {
        kept.push('\n');
    }
    let within = |line: &&str| line.trim().is_empty() || line.starts_with([' ', '-', '#']);
    let rest: String = lines.skip_while(within).collect();
    let expect = serde_saphyr::to_string(&serde_json::json!({"expect": answered}))?;
    Ok(kept + &expect + &rest)
}
