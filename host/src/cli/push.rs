//! `oarlock push`.

use super::sources::RegistryArgs;
use anyhow::{Context as _, ensure};
use clap::Args;
use oarlock::oci::{self, Client, Reference, SigningKey};
use oarlock::plugin::Attachments;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

/// The options of `oarlock push`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  oarlock push network.wasm registry.example/team/network:1.2.0 --sign key.pem")]
pub(super) struct PushArgs {
    /// The plugin file
    #[arg(value_name = "FILE.wasm")]
    file: PathBuf,

    /// Destination: REGISTRY/REPOSITORY:TAG, with or without oci://
    #[arg(value_name = "REF", value_parser = Reference::from_str)]
    reference: Reference,

    /// Sign the plugin with this Ed25519 or ECDSA P-256 key (openssl genpkey -algorithm ed25519 -out key.pem), and store the signature in
    /// the repository
    #[arg(long, value_name = "KEY.pem")]
    sign: Option<PathBuf>,

    #[command(flatten)]
    registry: RegistryArgs,
}

pub(super) async fn run(args: PushArgs) -> anyhow::Result<()> {
    ensure!(args.reference.digest().is_none(), "cannot push to a digest: give a tag; the command prints the digest");
    let shown = args.file.display().to_string();
    let wasm = std::fs::read(&args.file).with_context(|| format!("cannot read {shown}"))?;
    let key = args.sign.as_deref().map(SigningKey::read).transpose()?;
    let client = Client::new(args.registry.options())?;
    let file_name = args.file.file_name().unwrap_or_default().to_string_lossy();
    let attachments = Attachments::read(&wasm).with_context(|| shown.clone())?;
    let pushed = oci::push(&client, wasm, &file_name, &annotations(&attachments), &args.reference, key.as_ref()).await;
    let pushed = pushed.with_context(|| format!("cannot push {shown}"))?;
    super::say(&format!("reference  {}\nmanifest   {}\nfile       {}", args.reference, pushed.manifest, pushed.layer))?;
    if let Some(place) = pushed.signature {
        super::say(&format!("signature  {place}"))?;
    }
    Ok(())
}

/// The attachments, for people who look at the registry.
fn annotations(attachments: &Attachments) -> BTreeMap<String, String> {
    let mut annotations = BTreeMap::new();
    let names: Vec<&str> = attachments.definitions.iter().map(oarlock::plugin::Definition::name).collect();
    if !names.is_empty() {
        annotations.insert("oarlock.dev/definitions".to_owned(), names.join(","));
    }
    if let Some(paragraph) = attachments.documentation.as_deref().and_then(first_paragraph) {
        annotations.insert("org.opencontainers.image.description".to_owned(), paragraph);
    }
    annotations
}

/// The first paragraph of a text in Markdown that is no heading, as one line.
fn first_paragraph(markdown: &str) -> Option<String> {
    let mut paragraphs = markdown.split("\n\n").map(str::trim);
    let first = paragraphs.find(|paragraph| !paragraph.is_empty() && !paragraph.starts_with('#'))?;
    Some(first.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_paragraph_describes_a_plugin() {
        let text = "# Networks\n\n## Use\n\nMakes networks\nin OpenStack.\n\nMore.\n";
        assert_eq!(first_paragraph(text).unwrap(), "Makes networks in OpenStack.");
        assert_eq!(first_paragraph("# Networks\n"), None);
    }
}
