//! Signatures that lie beside what they sign: Ed25519, in the place and the form of cosign's.
//!
//! The signed bytes are a small JSON document that names the digest of the manifest, which names everything else by digest. It is
//! the only layer of a manifest of its own, under the tag `sha256-<digits of the digest>.sig`; the signature stands in an
//! annotation of that layer.
//!
//! # Source
//!
//! cosign's SIGNATURE_SPEC.md and containers' "simple signing" (atomic container signature).

use super::Error;
use super::artifact::{self, Descriptor};
use super::client::Client;
use super::reference::{Digest, Reference};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use ring::signature::{ED25519, Ed25519KeyPair, UnparsedPublicKey};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;
use std::str::FromStr as _;

const PAYLOAD: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const ANNOTATION: &str = "dev.cosignproject.cosign/signature";
const KIND: &str = "cosign container image signature";

/// Signatures that are looked at, of one artifact.
const MOST: usize = 16;

/// Largest payload.
const PAYLOAD_BYTES: u64 = 64 << 10;

/// What a public key in DER begins with: SEQUENCE, AlgorithmIdentifier 1.3.101.112, BIT STRING of 32 bytes.
///
/// # Source
///
/// RFC 8410 section 4.
const SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// Who signs.
pub struct SigningKey(Ed25519KeyPair);

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningKey")
    }
}

impl SigningKey {
    /// Reads a PEM file: `openssl genpkey -algorithm ed25519`.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is no such key.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bad = |reason: String| Error::File { path: path.to_owned(), reason };
        let key = PrivatePkcs8KeyDer::from_pem_file(path).map_err(|e| bad(e.to_string()))?;
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(key.secret_pkcs8_der());
        pair.map(Self).map_err(|_rejected| bad("not an Ed25519 private key".to_owned()))
    }
}

/// Whose signatures count.
#[derive(Clone, Debug)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// Reads a PEM file: `openssl pkey -pubout`.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is no such key.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bad = |reason: String| Error::File { path: path.to_owned(), reason };
        let der = SubjectPublicKeyInfoDer::from_pem_file(path).map_err(|e| bad(e.to_string()))?;
        let key = der.strip_prefix(&SPKI[..]).and_then(|key| <[u8; 32]>::try_from(key).ok());
        key.map(Self).ok_or_else(|| bad("not an Ed25519 public key".to_owned()))
    }
}

/// What was found beside an artifact.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub(super) struct Signature {
    /// As signed.
    payload: String,
    /// In base64.
    signature: String,
}

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

/// Whether one of the keys signed this manifest.
///
/// # Errors
///
/// None did; the message says what there is instead.
pub(super) fn verify(keys: &[PublicKey], manifest: &Digest, signatures: &[Signature]) -> Result<(), Error> {
    let mut why = Vec::new();
    for signature in signatures {
        match signature.check(keys, manifest) {
            Ok(()) => return Ok(()),
            Err(reason) if !why.contains(&reason) => why.push(reason),
            Err(_) => {}
        }
    }
    let why = if why.is_empty() { "it is not signed".to_owned() } else { why.join("; ") };
    Err(Error::Untrusted(format!("{manifest}: {why}")))
}

impl Signature {
    fn check(&self, keys: &[PublicKey], manifest: &Digest) -> Result<(), String> {
        let raw = STANDARD.decode(&self.signature).map_err(|_invalid| "its signature is not base64".to_owned())?;
        let verifies =
            |key: &PublicKey| UnparsedPublicKey::new(&ED25519, key.0).verify(self.payload.as_bytes(), &raw).is_ok();
        if !keys.iter().any(verifies) {
            return Err("its signature is of none of the keys".to_owned());
        }
        let Ok(Payload { critical }) = serde_json::from_str(&self.payload) else {
            return Err("what was signed names no manifest".to_owned());
        };
        if critical.kind != KIND || critical.image.digest != manifest.to_string() {
            return Err(format!("what was signed is {}", crate::one_line(&critical.image.digest)));
        }
        Ok(())
    }
}

fn tag(reference: &Reference, manifest: &Digest) -> Result<Reference, Error> {
    let text = format!("{}/{}:sha256-{}.sig", reference.registry(), reference.repository(), manifest.hex());
    Reference::from_str(&text).map_err(Error::Artifact)
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
    annotations: std::collections::BTreeMap<String, String>,
}

/// The layers of the manifest of signatures. None: there is no such manifest.
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

/// Reads the signatures of a manifest; none is an empty list.
pub(super) async fn fetch(client: &Client, reference: &Reference, manifest: &Digest) -> Result<Vec<Signature>, Error> {
    let place = tag(reference, manifest)?;
    let mut found = Vec::new();
    for layer in layers(client, &place).await?.into_iter().filter(|layer| layer.media_type == PAYLOAD).take(MOST) {
        let Some(signature) = layer.annotations.get(ANNOTATION) else { continue };
        let digest = layer.digest.parse().map_err(Error::Artifact)?;
        if layer.size > PAYLOAD_BYTES {
            return Err(Error::TooLarge { what: format!("payload {digest}"), limit_bytes: PAYLOAD_BYTES });
        }
        let payload = client.small_blob(&place, &Descriptor { digest, size: layer.size }).await?;
        // What is no text cannot be a payload; the other signatures may do.
        let Ok(payload) = String::from_utf8(payload.to_vec()) else { continue };
        found.push(Signature { payload, signature: signature.clone() });
    }
    Ok(found)
}

/// Signs a manifest and stores the signature beside those that are there.
pub(super) async fn push(
    client: &Client,
    reference: &Reference,
    manifest: &Digest,
    key: &SigningKey,
) -> Result<Reference, Error> {
    let place = tag(reference, manifest)?;
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
    let signature = STANDARD.encode(key.0.sign(payload.as_bytes()));
    let digest = client.push_blob(&place, Bytes::from(payload.clone())).await?;
    let mut all = layers(client, &place).await?;
    if !all.iter().any(|layer| layer.annotations.get(ANNOTATION) == Some(&signature)) {
        all.push(Layer {
            media_type: PAYLOAD.to_owned(),
            digest: digest.to_string(),
            size: payload.len() as u64,
            annotations: std::iter::once((ANNOTATION.to_owned(), signature)).collect(),
        });
    }
    let parts: Vec<&str> = all.iter().map(|layer| layer.digest.as_str()).collect();
    let config = json!({"architecture": "", "os": "", "config": {}, "rootfs": {"type": "layers", "diff_ids": parts}});
    let config = Bytes::from(config.to_string());
    client.push_blob(&place, config.clone()).await?;
    let layers: Vec<Value> = all.iter().filter_map(|layer| serde_json::to_value(layer).ok()).collect();
    client.push_manifest(&place, artifact::manifest_of(&config, CONFIG, &layers)).await?;
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::signature::KeyPair as _;

    fn pair(seed: u8) -> (Ed25519KeyPair, PublicKey) {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap();
        let public = PublicKey(pair.public_key().as_ref().try_into().unwrap());
        (pair, public)
    }

    fn signed(pair: &Ed25519KeyPair, payload: &Value) -> Signature {
        let payload = payload.to_string();
        let signature = STANDARD.encode(pair.sign(payload.as_bytes()));
        Signature { payload, signature }
    }

    fn payload(digest: &Digest, kind: &str) -> Value {
        json!({"critical": {"image": {"docker-manifest-digest": digest.to_string()}, "type": kind}})
    }

    #[test]
    fn only_a_signature_of_this_manifest_with_one_of_the_keys_counts() {
        let ((ours, key), (theirs, other)) = (pair(1), pair(2));
        let (digest, another) = (Digest::of(b"a"), Digest::of(b"b"));
        let good = signed(&ours, &payload(&digest, KIND));
        let keys = [other.clone(), key.clone()];
        verify(&keys, &digest, std::slice::from_ref(&good)).unwrap();
        let mut bent = good.clone();
        bent.payload.push(' ');
        let cases = [
            (vec![], "not signed"),
            (vec![bent], "none of the keys"),
            (vec![Signature { signature: "!".to_owned(), ..good.clone() }], "base64"),
            (vec![Signature { signature: String::new(), ..good.clone() }], "none of the keys"),
            (vec![signed(&ours, &payload(&another, KIND))], "what was signed is sha256:"),
            (vec![signed(&ours, &payload(&digest, "something else"))], "what was signed is"),
            (vec![signed(&ours, &json!({"critical": {}}))], "names no manifest"),
        ];
        for (signatures, says) in cases {
            let error = verify(&keys, &digest, &signatures).unwrap_err().to_string();
            assert!(error.contains(says), "{error} should say {says}");
        }
        let foreign = signed(&theirs, &payload(&digest, KIND));
        assert!(verify(std::slice::from_ref(&key), &digest, std::slice::from_ref(&foreign)).is_err());
        verify(&[key], &digest, &[foreign, good]).unwrap();
    }

    #[test]
    fn keys_are_what_openssl_writes() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        // RFC 8410 section 10.
        let private = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n";
        let public = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n";
        let (key, public) =
            (SigningKey::read(&file("key", private)).unwrap(), PublicKey::read(&file("pub", public)).unwrap());
        assert_eq!(key.0.public_key().as_ref(), public.0);
        let error = PublicKey::read(&file("swapped", private)).unwrap_err().to_string();
        assert!(error.contains("swapped"), "{error}");
        assert!(SigningKey::read(&file("nothing", "")).is_err());
        assert!(PublicKey::read(&folder.path().join("absent")).is_err());
    }
}
