//! `oarlock pull`.

use super::sources::{RegistryArgs, TrustArgs};
use anyhow::Context as _;
use clap::Args;
use oarlock::oci::{self, Client, Reference};
use std::path::PathBuf;
use std::str::FromStr;

/// The options of `oarlock pull`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  oarlock pull registry.example/team/network:1.2.0 -o network.wasm --verify-key pub.pem"
)]
pub(super) struct PullArgs {
    /// Source: REGISTRY/REPOSITORY:TAG or …@sha256:…, with or without oci://
    #[arg(value_name = "REF", value_parser = Reference::from_str)]
    reference: Reference,

    /// File to write [default: the last part of the repository with .wasm, in the current folder]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    trust: TrustArgs,

    #[command(flatten)]
    registry: RegistryArgs,
}

pub(super) async fn run(args: PullArgs) -> anyhow::Result<()> {
    let reference = args.reference;
    let file = args.output.unwrap_or_else(|| PathBuf::from(format!("{}.wasm", reference.last_part())));
    let (trust, client) = (args.trust.trust()?, Client::new(args.registry.options())?);
    let found = oci::pull(&client, &trust, &reference, &file).await;
    let found = found.with_context(|| format!("cannot pull {reference}"))?;
    let (manifest, layer) = (found.manifest, found.layer.digest);
    super::say(&format!(
        "reference  {reference}\nmanifest   {manifest}\nfile       {layer}\nwritten    {}",
        file.display()
    ))?;
    Ok(())
}
