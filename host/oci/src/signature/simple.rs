//! Signatures of cosign 1 and 2: a "simple signing" payload under a tag derived from the digest of the signed manifest.
//!
//! The payload is a JSON document with the digest of the manifest. It is a layer of a separate manifest with the tag `sha256-<digits of
//! the digest>.sig`; the signature is an annotation of that layer.
//!
//! # Source
//!
//! cosign's SIGNATURE_SPEC.md and containers' "simple signing" (atomic container signature).

use super::{MOST, Signature, SigningKey, unusable, verify};
use crate::Error;
use crate::artifact::{self, Descriptor};
use crate::client::Client;
use crate::reference::{Digest, Reference};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const PAYLOAD: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const ANNOTATION: &str = "dev.cosignproject.cosign/signature";
const KIND: &str = "cosign container image signature";

/// Largest payload.
const PAYLOAD_BYTES: u64 = 64 << 10;

#[derive(Deserialize)]
struct Payload {
    critical: Critical,
}

#[derive(Deserialize)]
struct Critical {
    image: Image,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct Image {
    #[serde(rename = "docker-manifest-digest")]
    digest: String,
}

#[derive(Deserialize)]
struct Document {
    layers: Vec<Layer>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Layer {
    media_type: String,
    digest: String,
    size: u64,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

/// Whether a payload with a valid signature names this manifest.
pub(crate) fn names(payload: &str, manifest: &Digest) -> Result<(), String> {
    let Ok(Payload { critical }) = serde_json::from_str(payload) else {
        return Err("what was signed names no manifest".to_owned());
    };
    if critical.kind != KIND || critical.image.digest != manifest.to_string() {
        return Err(format!("the signature covers {}", critical.image.digest));
    }
    Ok(())
}

fn tag(reference: &Reference, manifest: &Digest) -> Reference {
    reference.tagged(format!("sha256-{}.sig", manifest.hex()))
}

/// The layers of the signature manifest. None: no such manifest.
async fn layers(client: &Client, place: &Reference) -> Result<Vec<Layer>, Error> {
    let manifest = match client.manifest(place).await {
        Ok((_, manifest)) => manifest,
        Err(Error::NotFound { .. }) => return Ok(Vec::new()),
        Err(e) => return Err(e),
    };
    let document: Document = serde_json::from_slice(&manifest)
        .map_err(|e| Error::Untrusted(format!("the manifest of its signatures cannot be read: {e}")))?;
    Ok(document.layers)
}

/// Reads the signatures under the tag; an empty list if there are none.
pub(super) async fn fetch(client: &Client, reference: &Reference, manifest: &Digest) -> Result<Vec<Signature>, Error> {
    let place = tag(reference, manifest);
    let layers = match layers(client, &place).await {
        Ok(layers) => layers,
        Err(e) => return unusable(e).map(|signature| vec![signature]),
    };
    let mut found = Vec::new();
    for layer in layers.into_iter().filter(|layer| layer.media_type == PAYLOAD).take(MOST) {
        let Some(signature) = layer.annotations.get(ANNOTATION) else { continue };
        found.push(match payload(client, &place, &layer).await {
            Ok(payload) => Signature::Simple { payload, signature: signature.clone() },
            Err(e) => unusable(e)?,
        });
    }
    Ok(found)
}

async fn payload(client: &Client, place: &Reference, layer: &Layer) -> Result<String, Error> {
    let digest = layer.digest.parse().map_err(Error::Untrusted)?;
    let blob = Descriptor { digest, size: layer.size };
    if blob.size > PAYLOAD_BYTES {
        return Err(Error::TooLarge { what: format!("payload {}", blob.digest), limit_bytes: PAYLOAD_BYTES });
    }
    let payload = client.small_blob(place, &blob).await?;
    String::from_utf8(payload.to_vec())
        .map_err(|_binary| Error::Untrusted(format!("payload {} is no text", blob.digest)))
}

/// Signs a manifest and adds the signature to the stored ones, unless this key signed it before.
pub(crate) async fn push(
    client: &Client,
    reference: &Reference,
    manifest: &Digest,
    key: &SigningKey,
) -> Result<Reference, Error> {
    let place = tag(reference, manifest);
    // ECDSA signatures are random: each new one would differ and be added.
    if verify(&[key.public()], manifest, &fetch(client, reference, manifest).await?).is_ok() {
        return Ok(place);
    }
    let name = format!("{}/{}", reference.registry(), reference.repository());
    let payload = json!({
        "critical": {
            "identity": {"docker-reference": name},
            "image": {"docker-manifest-digest": manifest.to_string()},
            "type": KIND,
        },
        "optional": null,
    });
    let payload = payload.to_string();
    let signature = STANDARD.encode(key.sign(payload.as_bytes())?);
    let digest = client.push_blob(&place, Bytes::from(payload.clone())).await?;
    // The newest first, because readers check only the first ones.
    let mut all = vec![Layer {
        media_type: PAYLOAD.to_owned(),
        digest: digest.to_string(),
        size: payload.len() as u64,
        annotations: std::iter::once((ANNOTATION.to_owned(), signature)).collect(),
    }];
    all.extend(layers(client, &place).await?);
    let parts: Vec<&str> = all.iter().map(|layer| layer.digest.as_str()).collect();
    let config = json!({"architecture": "", "os": "", "config": {}, "rootfs": {"type": "layers", "diff_ids": parts}});
    let config = Bytes::from(config.to_string());
    client.push_blob(&place, config.clone()).await?;
    let layers: Vec<Value> = all.iter().filter_map(|layer| serde_json::to_value(layer).ok()).collect();
    client.push_manifest(&place, artifact::manifest_of(&config, CONFIG, &layers)).await?;
    Ok(place)
}
