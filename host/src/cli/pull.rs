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
    about = "Fetch a plugin from an OCI registry into a file",
    after_help = "Example:\n  oarlock pull registry.example/team/network:1.2.0 -o network.wasm --verify-key pub.pem"
)]
pub(super) struct PullArgs {
    /// Where from: REGISTRY/REPOSITORY:TAG or …@sha256:…, with oci:// before it or without
    #[arg(value_name = "REF", value_parser = Reference::from_str)]
    reference: Reference,

    /// The file to write; without it the last part of the repository and .wasm, in this folder
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
    let found = found.with_context(|| format!("{reference} was not pulled"))?;
    let (manifest, layer) = (found.manifest, found.layer.digest);
    super::say(&format!(
        "reference  {reference}\nmanifest   {manifest}\nfile       {layer}\nwritten    {}",
        file.display()
    ))?;
    Ok(())
}
