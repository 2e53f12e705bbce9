//! The cryptography of TLS connections.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};

/// The cryptography provider.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}
