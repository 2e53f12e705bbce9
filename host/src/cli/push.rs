//! `oarlock push`.

use super::sources::RegistryArgs;
use anyhow::{Context as _, ensure};
use clap::Args;
use oarlock::oci::{self, Client, Reference, SigningKey};
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
    let pushed = oci::push(&client, wasm, &file_name, &args.reference, key.as_ref()).await;
    let pushed = pushed.with_context(|| format!("cannot push {shown}"))?;
    super::say(&format!("reference  {}\nmanifest   {}\nfile       {}", args.reference, pushed.manifest, pushed.layer))?;
    if let Some(place) = pushed.signature {
        super::say(&format!("signature  {place}"))?;
    }
    Ok(())
}
