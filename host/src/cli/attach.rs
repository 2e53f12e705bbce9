//! `oarlock attach`.

use super::types;
use anyhow::{Context as _, ensure};
use clap::Args;
use oarlock::plugin::{Attachments, Definition};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The options of `oarlock attach`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  oarlock attach network.wasm --crd crd.yaml --grant grant.yaml --documentation README.md"
)]
pub(super) struct AttachArgs {
    /// The plugin file
    #[arg(value_name = "FILE.wasm")]
    file: PathBuf,

    /// File of CustomResourceDefinitions, in YAML or JSON; other documents are left out. Can be given several times
    #[arg(long = "crd", value_name = "FILE")]
    crds: Vec<PathBuf>,

    /// Default grant, a grant file in YAML. People complete it; a host never uses it by itself
    #[arg(long, value_name = "FILE")]
    grant: Option<PathBuf>,

    /// Documentation, in Markdown. Its first paragraph describes the plugin in a registry
    #[arg(long, value_name = "FILE")]
    documentation: Option<PathBuf>,

    /// File to write [default: FILE.wasm itself]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(args: &AttachArgs) -> anyhow::Result<()> {
    let shown = args.file.display();
    let given = !args.crds.is_empty() || args.grant.is_some() || args.documentation.is_some();
    ensure!(given, "nothing to attach: give --crd, --grant or --documentation");
    let wasm = std::fs::read(&args.file).with_context(|| format!("cannot read {shown}"))?;
    let mut attachments = Attachments::read(&wasm).with_context(|| shown.to_string())?;
    if !args.crds.is_empty() {
        attachments.definitions.clear();
    }
    for crd in &args.crds {
        for definition in definitions(crd).with_context(|| format!("cannot attach {}", crd.display()))? {
            attachments.add_definition(definition)?;
        }
    }
    let text = |file: &Path| std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()));
    if let Some(file) = &args.grant {
        attachments.grant = Some(text(file)?);
    }
    if let Some(file) = &args.documentation {
        attachments.documentation = Some(text(file)?);
    }
    let new = attachments.attach(&wasm).with_context(|| format!("cannot attach to {shown}"))?;
    let output = args.output.as_ref().unwrap_or(&args.file);
    replace(output, &new).with_context(|| format!("cannot write {}", output.display()))
}

fn definitions(file: &Path) -> anyhow::Result<Vec<Definition>> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(&types::read(file)?)?;
    let is_definition = |one: &&Value| one.get("kind").and_then(Value::as_str) == Some("CustomResourceDefinition");
    let found: Vec<Definition> =
        documents.iter().filter(is_definition).map(Definition::new).collect::<Result<_, _>>()?;
    ensure!(!found.is_empty(), "no document is a CustomResourceDefinition");
    Ok(found)
}

/// Replaces a file at once: a host that watches its folder reads the old or the new one.
fn replace(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut temporary = file.as_os_str().to_owned();
    temporary.push(".new");
    std::fs::write(&temporary, bytes)?;
    std::fs::rename(&temporary, file)
}
