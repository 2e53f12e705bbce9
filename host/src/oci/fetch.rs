//! From a reference to a file: manifest, trust, layer.

use super::Error;
use super::artifact::{self, Content, Descriptor};
use super::client::Client;
use super::reference::{Digest, Reference};
use super::signature::{self, Signature};
use super::trust::Trust;
use bytes::Bytes;
use std::path::Path;

/// An artifact that may be used.
#[derive(Clone, Debug)]
pub struct Found {
    /// The digest that the reference led to.
    pub manifest: Digest,
    /// The WebAssembly file.
    pub layer: Descriptor,
    /// The manifest, and that of an index that it led to.
    pub(super) manifests: Vec<Bytes>,
    pub(super) signatures: Vec<Signature>,
}

/// Reads what a digest leads to, and checks that it may be used. Nothing of its layer has been read then.
///
/// * `reference` - with the digest.
pub(super) async fn find(client: &Client, trust: &Trust, reference: &Reference) -> Result<Found, Error> {
    let (manifest, bytes) = client.manifest(reference).await?;
    let signatures = if trust.wants_signatures() {
        signature::fetch(client, &trust.keys, reference, &manifest).await?
    } else {
        Vec::new()
    };
    trust.check(&manifest, &signatures)?;
    let mut manifests = vec![bytes];
    if let [top] = manifests.as_slice()
        && let Content::Manifest(next) = artifact::content(top)?
    {
        manifests.push(client.manifest(&reference.at(&next)).await?.1);
    }
    let layer = last_layer(&manifests)?;
    Ok(Found { manifest, layer, manifests, signatures })
}

/// The layer that a manifest, or an index and its manifest, lead to.
pub(super) fn last_layer(manifests: &[Bytes]) -> Result<Descriptor, Error> {
    let last = manifests.last().map(|manifest| artifact::content(manifest)).transpose()?;
    match last {
        Some(Content::Layer(layer)) => Ok(layer),
        _ => Err(Error::Artifact("it is an index of indexes".to_owned())),
    }
}

/// Writes a layer to a file; what is there is not touched before the new file is whole and checked.
pub(super) async fn download(
    client: &Client,
    reference: &Reference,
    layer: &Descriptor,
    to: &Path,
) -> Result<(), Error> {
    let io = |e: std::io::Error| Error::File { path: to.to_owned(), reason: e.to_string() };
    let name = to.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let beside = to.with_file_name(format!(".{name}.{}.tmp", uuid::Uuid::new_v4()));
    let written = async {
        client.blob(reference, layer, &beside).await?;
        if !begins_as_wasm(&beside).await.map_err(io)? {
            return Err(Error::Artifact(format!("layer {} is not WebAssembly", layer.digest)));
        }
        tokio::fs::rename(&beside, to).await.map_err(io)
    };
    let written = written.await;
    if written.is_err() {
        let _ = tokio::fs::remove_file(&beside).await;
    }
    written
}

async fn begins_as_wasm(path: &Path) -> std::io::Result<bool> {
    use tokio::io::AsyncReadExt as _;
    let mut head = Vec::new();
    tokio::fs::File::open(path).await?.take(8).read_to_end(&mut head).await?;
    Ok(artifact::is_wasm(&head))
}

/// Pulls the plugin of a reference into a file.
///
/// # Errors
///
/// See [`Error`]; the file is what it was then.
pub async fn pull(client: &Client, trust: &Trust, reference: &Reference, to: &Path) -> Result<Found, Error> {
    let found = find(client, trust, reference).await?;
    download(client, reference, &found.layer, to).await?;
    Ok(found)
}
