//! Signatures beside what they sign, in both places and forms of cosign's.
//!
//! * [`simple`]: a payload under a tag, which cosign 1 and 2 write, and `oarlock push --sign`.
//! * [`bundle`]: a Sigstore bundle as a referrer, which cosign 3 writes.
//!
//! Both name the digest of the manifest, which names everything else by digest. Whose signature it is, only the keys decide that
//! the operator gave.

mod bundle;
mod keys;
mod simple;

pub use keys::{PublicKey, SigningKey};
pub(super) use simple::push;

use super::Error;
use super::client::Client;
use super::reference::{Digest, Reference};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Signatures that are looked at, of one artifact and one form.
const MOST: usize = 16;

/// How long reading all signatures of an artifact may take.
const READING: Duration = Duration::from_secs(120);

/// Reasons that are named when no signature is good, and the length of what each quotes.
const REASONS: usize = 4;
const QUOTED_BYTES: usize = 200;

/// What was found beside an artifact, kept to be checked again at every start.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(untagged)]
pub(super) enum Signature {
    /// A payload and its signature in base64.
    Simple { payload: String, signature: String },
    /// The JSON text of a bundle.
    Bundle { bundle: String },
    /// What is no signature, and why.
    Unusable { unusable: String },
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
                simple::names(payload, manifest)
            }
            Self::Bundle { bundle } => bundle::check(bundle, keys, manifest),
            Self::Unusable { unusable } => Err(unusable.clone()),
        }
    }
}

/// What a stranger wrote, as part of a message.
fn quoted(text: &str) -> String {
    crate::one_line(crate::shorten(text, QUOTED_BYTES))
}

/// What is wrong with one signature is kept as a reason; what is wrong with the registry is an error.
fn unusable(error: Error) -> Result<Signature, Error> {
    if error.refuses() || matches!(error, Error::NotFound { .. } | Error::Length { .. }) {
        let reason = match error {
            Error::Untrusted(reason) => reason,
            other => crate::chain(&other),
        };
        Ok(Signature::Unusable { unusable: quoted(&reason) })
    } else {
        Err(error)
    }
}

/// Reads the signatures of a manifest; none is an empty list. Bundles are read only when what is under the tag is not enough.
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
