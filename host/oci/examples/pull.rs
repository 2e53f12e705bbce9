//! Pulls a WebAssembly component into a file: `pull registry.example/team/plugin:1 plugin.wasm`.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use oarlock_oci::{Client, ClientOptions, Reference, Trust};
use std::{path::Path, time::Duration};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(reference), Some(file)) = (arguments.next(), arguments.next()) else {
        return Err("usage: pull REFERENCE FILE".into());
    };
    let reference: Reference = reference.parse()?;
    let client = Client::new(ClientOptions { config: None, ca: None, timeout: Duration::from_secs(30) })?;
    let digest = client.resolve(&reference).await?.ok_or("the registry sends no digest")?;
    // Without keys or pins in `Trust`, every artifact of the reference is taken.
    let found = oarlock_oci::pull(&client, &Trust::default(), &reference.at(&digest), Path::new(&file)).await?;
    println!("{file}: {} bytes, manifest {}", found.layer.size, found.manifest);
    Ok(())
}
