//! Signatures of cosign 3: Sigstore bundles as referrers of the signed manifest.
//!
//! A bundle is the layer of a manifest whose `subject` is the signed manifest, and which the registry lists as its referrer. The bundle
//! contains a DSSE envelope: a payload, its type, and signatures of both. The payload is an in-toto statement whose subject is the digest
//! of the manifest. Keys, certificates and transparency logs in the bundle are ignored: only the operator's keys count.
//!
//! # Source
//!
//! sigstore's protobuf-specs (`sigstore_bundle.proto`), DSSE's protocol.md, in-toto's Statement v1, and what cosign 3.1 writes.

use super::{MOST, PublicKey, Signature, quoted, unusable};
use crate::Error;
use crate::artifact::Descriptor;
use crate::client::Client;
use crate::reference::{Digest, Reference};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Deserialize;
use std::collections::BTreeMap;

const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

/// The artifact type of bundles in an index that cosign itself writes.
const EMPTY: &str = "application/vnd.oci.empty.v1+json";

/// The annotation that distinguishes signatures from other attestations, where the index has annotations.
const ANNOTATION: &str = "dev.sigstore.bundle.predicateType";

const IN_TOTO: &str = "application/vnd.in-toto+json";
const STATEMENT: &str = "https://in-toto.io/Statement/v1";

/// The predicate type of a signature. A scanner's attestation with the same key does not count: it may state anything about its subject.
const SIGNED: &str = "https://sigstore.dev/cosign/sign/v1";

/// Most referrers read of one artifact.
const REFERRERS: usize = 32;

/// Largest bundle. With certificates and log proofs a bundle has some 10 KB.
const BUNDLE_BYTES: u64 = 128 << 10;

/// Most signatures checked of one envelope.
const SIGNATURES: usize = 8;

/// An index, or a manifest.
#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    manifests: Vec<Part>,
    #[serde(default)]
    layers: Vec<Part>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    #[serde(default)]
    media_type: String,
    #[serde(default)]
    artifact_type: String,
    digest: String,
    #[serde(default)]
    size: u64,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

impl Part {
    /// Whether a referrer may be a signature bundle.
    fn may_sign(&self) -> bool {
        ["", EMPTY, BUNDLE].contains(&self.artifact_type.as_str())
            && self.annotations.get(ANNOTATION).is_none_or(|predicate| predicate == SIGNED)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle {
    dsse_envelope: Option<Envelope>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Deserialize)]
struct EnvelopeSignature {
    sig: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Statement {
    #[serde(rename = "_type")]
    kind: String,
    subject: Vec<Subject>,
    predicate_type: String,
}

#[derive(Deserialize)]
struct Subject {
    digest: BTreeMap<String, String>,
}

/// Reads the bundles of a manifest; an empty list if there are none.
pub(super) async fn fetch(client: &Client, reference: &Reference, manifest: &Digest) -> Result<Vec<Signature>, Error> {
    let mut found = Vec::new();
    let mut referrers = Vec::new();
    for page in client.referrers(reference, manifest).await? {
        match read(&page, "the index of its referrers") {
            Ok(index) => referrers.extend(index.manifests.into_iter().filter(Part::may_sign)),
            Err(e) => found.push(unusable(e)?),
        }
    }
    let mut rest = referrers.iter();
    for referrer in rest.by_ref().take(REFERRERS) {
        match bundle(client, reference, referrer).await {
            Ok(Some(bundle)) => found.push(Signature::Bundle { bundle }),
            Ok(None) => {}
            Err(e) => found.push(unusable(e)?),
        }
        if found.len() >= MOST {
            break;
        }
    }
    if rest.len() > 0 {
        found.push(unusable(Error::Untrusted(format!("{} more referrers were not looked at", rest.len())))?);
    }
    Ok(found)
}

fn read(document: &Bytes, what: &str) -> Result<Document, Error> {
    serde_json::from_slice(document).map_err(|e| Error::Untrusted(format!("{what} cannot be read: {e}")))
}

/// The text of a referrer's bundle. None: the referrer is no bundle.
async fn bundle(client: &Client, reference: &Reference, referrer: &Part) -> Result<Option<String>, Error> {
    let digest: Digest = referrer.digest.parse().map_err(Error::Untrusted)?;
    let (_, manifest) = client.manifest(&reference.at(&digest)).await?;
    let document = read(&manifest, &format!("referrer {digest}"))?;
    let Some(layer) = document.layers.iter().find(|layer| layer.media_type == BUNDLE) else { return Ok(None) };
    let blob = Descriptor { digest: layer.digest.parse().map_err(Error::Untrusted)?, size: layer.size };
    if blob.size > BUNDLE_BYTES {
        return Err(Error::TooLarge { what: format!("bundle {}", blob.digest), limit_bytes: BUNDLE_BYTES });
    }
    let bytes = client.small_blob(reference, &blob).await?;
    let text = String::from_utf8(bytes.to_vec());
    text.map(Some).map_err(|_binary| Error::Untrusted(format!("bundle {} is no text", blob.digest)))
}

/// Whether one of the keys signed this manifest in a bundle.
pub(super) fn check(bundle: &str, keys: &[PublicKey], manifest: &Digest) -> Result<(), String> {
    let bundle: Bundle = serde_json::from_str(bundle).map_err(|e| format!("its bundle cannot be read: {e}"))?;
    let envelope = bundle.dsse_envelope.ok_or_else(|| "its bundle has no DSSE envelope".to_owned())?;
    let payload =
        STANDARD.decode(&envelope.payload).map_err(|_invalid| "the payload of its bundle is not base64".to_owned())?;
    let signed = encoded(&envelope.payload_type, &payload);
    let signatures = envelope.signatures.iter().take(SIGNATURES).filter_map(|one| STANDARD.decode(&one.sig).ok());
    if !signatures.into_iter().any(|signature| keys.iter().any(|key| key.verifies(&signed, &signature))) {
        return Err("its bundle has a signature of none of the keys".to_owned());
    }
    if envelope.payload_type != IN_TOTO {
        return Err(format!("the signature covers {}, not {IN_TOTO}", quoted(&envelope.payload_type)));
    }
    let statement: Statement =
        serde_json::from_slice(&payload).map_err(|e| format!("the signature covers no in-toto statement: {e}"))?;
    if statement.kind != STATEMENT {
        return Err(format!("the signature covers {}, not {STATEMENT}", quoted(&statement.kind)));
    }
    if statement.predicate_type != SIGNED {
        return Err(format!("the signature covers {}, not {SIGNED}", quoted(&statement.predicate_type)));
    }
    let mut subjects = statement.subject.iter().filter_map(|subject| subject.digest.get("sha256"));
    if !subjects.clone().any(|digest| digest == manifest.hex()) {
        let other = subjects.next().map_or("nothing", String::as_str);
        return Err(format!("the signature covers sha256:{}", quoted(other)));
    }
    Ok(())
}

/// The signed bytes: the type and the payload, each with its length.
///
/// # Source
///
/// DSSE protocol.md, PAE.
fn encoded(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
    [head.as_bytes(), payload].concat()
}
