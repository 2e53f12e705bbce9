//! HTTP requests with effects that a rehearsal records instead of sending.

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Most requests that are recorded; further ones are refused as well.
const RECORDED: usize = 100_000;

/// A request that was not sent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WithheldRequest {
    /// The plugin.
    pub plugin: String,
    /// Namespace and name of the object whose reconcile sent it.
    pub key: String,
    /// The method.
    pub method: String,
    /// The URL without its query, which may contain secrets.
    pub url: String,
    /// SHA-256 of the body, in hex.
    pub body_sha256: String,
}

/// The requests that were not sent. Retries of a reconcile repeat its requests; each is recorded once.
#[derive(Debug, Default)]
pub struct WithheldRequests {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    requests: BTreeSet<WithheldRequest>,
    /// The correlation ids of reconciles that have not ended yet.
    reconciles: BTreeSet<String>,
}

impl WithheldRequests {
    /// Records a request of the reconcile with this correlation id.
    pub(super) fn record(&self, correlation_id: &str, mut request: WithheldRequest, body: &[u8]) {
        request.body_sha256 = HEXLOWER.encode(&Sha256::digest(body));
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.reconciles.insert(correlation_id.to_owned());
        if inner.requests.len() < RECORDED {
            inner.requests.insert(request);
        }
    }

    /// Whether a request of this reconcile, which ended, was recorded.
    pub(crate) fn end(&self, correlation_id: &str) -> bool {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).reconciles.remove(correlation_id)
    }

    /// The requests so far, in the order of plugins and keys.
    #[must_use]
    pub fn requests(&self) -> Vec<WithheldRequest> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).requests.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retried_request_is_recorded_once_and_its_reconcile_knows() {
        let withheld = WithheldRequests::default();
        let request = |method: &str| WithheldRequest {
            plugin: "p".to_owned(),
            key: "n/a".to_owned(),
            method: method.to_owned(),
            url: "http://neutron/v2.0/networks".to_owned(),
            body_sha256: String::new(),
        };
        withheld.record("one", request("POST"), b"{}");
        withheld.record("two", request("POST"), b"{}");
        withheld.record("two", request("DELETE"), b"");
        assert!(withheld.end("one") && !withheld.end("one") && withheld.end("two") && !withheld.end("three"));
        let found = withheld.requests();
        assert_eq!(found.iter().map(|one| one.method.as_str()).collect::<Vec<_>>(), ["DELETE", "POST"]);
        assert_eq!(found[1].body_sha256, "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
    }
}
