//! Push of a plugin file as an artifact.

use super::Error;
use super::artifact;
use super::client::Client;
use super::reference::{Digest, Reference};
use super::signature::{self, SigningKey};
use bytes::Bytes;
use std::collections::BTreeMap;

/// The result of a push.
#[derive(Clone, Debug)]
pub struct Pushed {
    /// Digest of the manifest, the new target of the reference.
    pub manifest: Digest,
    /// Digest of the file.
    pub layer: Digest,
    /// Reference of the signature.
    pub signature: Option<Reference>,
}

/// Pushes a WebAssembly file. The tag moves last, so that a client that sees it finds the file and its signature.
///
/// * `file_name` - file name for other tools.
/// * `annotations` - of the manifest, in addition to those of the file's own custom sections.
/// * `reference` - with a tag.
///
/// # Errors
///
/// See [`Error`].
pub async fn push(
    client: &Client,
    wasm: Vec<u8>,
    file_name: &str,
    annotations: &BTreeMap<String, String>,
    reference: &Reference,
    key: Option<&SigningKey>,
) -> Result<Pushed, Error> {
    let packed = artifact::pack(&wasm, file_name, annotations)?;
    let layer = client.push_blob(reference, Bytes::from(wasm)).await?;
    client.push_blob(reference, packed.config).await?;
    let digest = Digest::of(&packed.manifest);
    let mut signed = None;
    if let Some(key) = key {
        client.push_manifest(&reference.at(&digest), packed.manifest.clone()).await?;
        signed = Some(signature::push(client, reference, &digest, key).await?);
    }
    let manifest = client.push_manifest(reference, packed.manifest).await?;
    Ok(Pushed { manifest, layer, signature: signed })
}
