//! Signatures of artifacts: fetch and verification, in both formats and locations of cosign.
//!
//! * [`simple`]: a payload under a tag, written by cosign 1 and 2, and by `oarlock push --sign`.
//! * [`bundle`]: a Sigstore bundle as a referrer, written by cosign 3.
//!
//! Both contain the digest of the manifest, which contains the digests of everything else. Only the operator's keys decide whether a
//! signature counts.

mod bundle;
mod keys;
mod simple;

pub use keys::{PublicKey, SigningKey};
pub(super) use simple::{names, push};

use super::Error;
use super::client::Client;
use super::reference::{Digest, Reference};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Most signatures read of one artifact and one format.
const MOST: usize = 16;

/// Deadline for reading all signatures of an artifact.
const READING: Duration = Duration::from_secs(120);

/// Most reasons named when no signature is valid, and the length of each quotation.
const REASONS: usize = 4;
const QUOTED_BYTES: usize = 200;

/// A found signature, stored to be verified again at every start.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(untagged)]
pub(super) enum Signature {
    /// A payload and its signature in base64.
    Simple { payload: String, signature: String },
    /// The JSON text of a bundle.
    Bundle { bundle: String },
    /// Content that is no signature, and why.
    Unusable { unusable: String },
}

/// Whether one of the keys signed this manifest.
///
/// # Errors
///
/// None did; the message describes the signatures found.
pub(super) fn verify(keys: &[PublicKey], manifest: &Digest, signatures: &[Signature]) -> Result<(), Error> {
    let mut why = Vec::new();
    for signature in signatures {
        match signature.check(keys, manifest) {
            Ok(()) => return Ok(()),
            Err(reason) => why.push(quoted(&reason)),
        }
    }
    why.sort_unstable();
    why.dedup();
    let more = why.len().saturating_sub(REASONS);
    why.truncate(REASONS);
    if more > 0 {
        why.push(format!("and {more} more"));
    }
    let why = if why.is_empty() { "it is not signed".to_owned() } else { why.join("; ") };
    Err(Error::Untrusted(format!("{manifest}: {why}")))
}

impl Signature {
    fn check(&self, keys: &[PublicKey], manifest: &Digest) -> Result<(), String> {
        match self {
            Self::Simple { payload, signature } => {
                let raw = STANDARD.decode(signature).map_err(|_invalid| "its signature is not base64".to_owned())?;
                if !keys.iter().any(|key| key.verifies(payload.as_bytes(), &raw)) {
                    return Err("its signature is of none of the keys".to_owned());
                }
                names(payload, manifest)
            }
            Self::Bundle { bundle } => bundle::check(bundle, keys, manifest),
            Self::Unusable { unusable } => Err(unusable.clone()),
        }
    }
}

/// Quotes untrusted text in a message.
fn quoted(text: &str) -> String {
    oarlock_text::one_line(oarlock_text::shorten(text, QUOTED_BYTES))
}

/// A faulty signature becomes a reason; a registry failure stays an error.
fn unusable(error: Error) -> Result<Signature, Error> {
    if error.refuses() || matches!(error, Error::NotFound { .. } | Error::Length { .. }) {
        let reason = match error {
            Error::Untrusted(reason) => reason,
            other => oarlock_text::chain(&other),
        };
        Ok(Signature::Unusable { unusable: quoted(&reason) })
    } else {
        Err(error)
    }
}

/// Reads the signatures of a manifest; an empty list if there are none. It reads bundles only when the signatures under the tag do not
/// suffice.
pub(super) async fn fetch(
    client: &Client,
    keys: &[PublicKey],
    reference: &Reference,
    manifest: &Digest,
) -> Result<Vec<Signature>, Error> {
    let reading = async {
        let mut found = simple::fetch(client, reference, manifest).await?;
        if verify(keys, manifest, &found).is_err() {
            found.extend(bundle::fetch(client, reference, manifest).await?);
        }
        Ok(found)
    };
    let late = || Error::TimedOut {
        what: format!("signatures of {reference}"),
        registry: reference.registry().to_owned(),
        seconds: READING.as_secs(),
    };
    tokio::time::timeout(READING, reading).await.unwrap_or_else(|_late| Err(late()))
}

#[cfg(test)]
mod tests;
