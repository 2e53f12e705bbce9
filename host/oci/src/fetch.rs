//! Pull of one reference: manifest, trust check, layer, file.

use super::Error;
use super::artifact::{self, Content, Descriptor};
use super::client::Client;
use super::reference::{Digest, Reference};
use super::signature::{self, Signature};
use super::trust::Trust;
use bytes::Bytes;
use std::path::Path;

/// An artifact that passed the trust check.
#[derive(Clone, Debug)]
pub struct Found {
    /// The digest of the reference.
    pub manifest: Digest,
    /// The WebAssembly file.
    pub layer: Descriptor,
    /// The manifest, and for an index its chosen manifest.
    pub(super) manifests: Vec<Bytes>,
    pub(super) signatures: Vec<Signature>,
}

/// Reads the manifests of a digest and checks trust. It does not read the layer yet.
///
/// * `reference` - with a digest.
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

/// The layer of a manifest, or of an index and its manifest.
pub(super) fn last_layer(manifests: &[Bytes]) -> Result<Descriptor, Error> {
    let last = manifests.last().map(|manifest| artifact::content(manifest)).transpose()?;
    match last {
        Some(Content::Layer(layer)) => Ok(layer),
        _ => Err(Error::Artifact("it is an index of indexes".to_owned())),
    }
}

/// Writes a layer to a file. An existing file is replaced only by a complete and verified one.
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
/// See [`Error`]; the file is unchanged then.
pub async fn pull(client: &Client, trust: &Trust, reference: &Reference, to: &Path) -> Result<Found, Error> {
    let found = find(client, trust, reference).await?;
    download(client, reference, &found.layer, to).await?;
    Ok(found)
}
