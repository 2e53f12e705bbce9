//! Fuzzing of registry responses: see [`crate::fuzzing`].

use super::client::{digest_header, login, next_page, transport};
use super::reference::{Digest, Reference};
use super::{LAYER_BYTES, artifact, signature};
use http::{HeaderMap, HeaderValue, header};
use std::time::Duration;

/// Parses the headers of a response, all with the same value, and its error text.
pub fn answer(value: &[u8], body: &[u8]) {
    let mut headers = HeaderMap::new();
    for part in value.split(|byte| *byte == b'\t') {
        let Ok(value) = HeaderValue::from_bytes(part) else { return };
        for name in [header::WWW_AUTHENTICATE, header::LINK, header::RETRY_AFTER] {
            headers.append(name, value.clone());
        }
        headers.append("docker-content-digest", value);
    }
    if let Some(login::Challenge::Bearer { realm, service, scope }) = login::challenge(&headers) {
        let most = value.len();
        assert!([Some(realm), service, scope].into_iter().flatten().all(|text| text.len() <= most));
    }
    if let Ok(url) = "https://registry.example/v2/a/referrers/x".parse::<url::Url>()
        && let Some(next) = next_page(&headers, &url)
    {
        assert_eq!(next.origin(), url.origin(), "led away from the registry");
    }
    assert!(transport::retry_after(&headers).is_none_or(|pause| pause <= Duration::from_secs(3600)));
    if let Ok(Some(digest)) = digest_header(&headers) {
        assert_eq!(digest.to_string().len(), "sha256:".len() + 64);
    }
    let complaint = transport::complaint(body);
    assert!(!complaint.contains('\n') && complaint.len() <= 1024, "{complaint}");
}

/// Parses a document as a manifest or an index, as a container of signatures, and as a signed payload.
pub fn document(text: &[u8]) {
    match artifact::content(text) {
        Ok(artifact::Content::Layer(layer)) => assert!(layer.size <= LAYER_BYTES),
        Ok(artifact::Content::Manifest(digest)) => assert_eq!(digest.hex().len(), 64),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    let digest = Digest::of(b"of a manifest");
    if let Ok(signatures) = serde_json::from_slice::<Vec<signature::Signature>>(text) {
        let unsigned = signature::verify(&[], &digest, &signatures);
        assert!(unsigned.is_err_and(|why| why.to_string().len() < 4096), "nobody's signature counts");
    }
    if let Ok(text) = std::str::from_utf8(text) {
        let bundle = [signature::Signature::Bundle { bundle: text.to_owned() }];
        assert!(signature::verify(&[], &digest, &bundle).is_err());
        let names = signature::names(text, &digest);
        assert!(names.is_ok() || names.is_err_and(|why| !why.is_empty()));
    }
}

/// Parses a reference: its printed text is equivalent, and names no folder outside of the cache.
pub fn reference(text: &str) {
    let Ok(reference) = text.parse::<Reference>() else { return };
    let printed = reference.to_string();
    let again = printed.parse::<Reference>();
    assert_eq!(again.as_ref().map(ToString::to_string).as_deref().ok(), Some(&*printed), "{text}");
    // A digest takes precedence over a tag, which then is not printed.
    let same = |again: &Reference| {
        let tag = reference.digest().is_some() || again.tag() == reference.tag();
        tag && again.repository() == reference.repository() && again.registry() == reference.registry()
    };
    assert!(again.is_ok_and(|again| same(&again)), "{text} became {printed}");
    for part in reference.repository().split('/').chain([reference.registry(), reference.tag()]) {
        assert!(!matches!(part, "" | "." | "..") && !part.contains(['/', '\\', '\0']), "{part:?} of {text}");
    }
}
