//! TLS verification of webhooks.

use std::sync::Arc;

use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject as _},
    server::ParsedCertificate,
};

use super::users::Identity;
use crate::crypto::provider;

/// A client configuration that trusts only the certificates of a bundle (PEM); without a bundle, none.
///
/// * `identity` - the client certificate, if any.
///
/// # Errors
///
/// Why the bundle or the certificate cannot be used.
pub(super) fn client(bundle: &[u8], identity: Option<&Identity>) -> Result<Arc<ClientConfig>, String> {
    let unusable = |why: String| format!("unable to load root certificates: {why}");
    let mut roots = RootCertStore::empty();
    let mut pinned = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(bundle) {
        let certificate = certificate.map_err(|e| unusable(e.to_string()))?;
        roots.add(certificate.clone()).map_err(|e| unusable(e.to_string()))?;
        pinned.push(certificate);
    }
    let inner = if pinned.is_empty() {
        None
    } else {
        let built = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider()).build();
        Some(built.map_err(|e| unusable(e.to_string()))?)
    };
    let algorithms = provider().signature_verification_algorithms;
    let config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|e| unusable(e.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Verifier { inner, pinned, algorithms }));
    let config = match identity {
        None => config.with_no_client_auth(),
        Some(identity) => {
            let (chain, key) = identity.parts();
            config.with_client_auth_cert(chain, key).map_err(|e| format!("unable to load client certificate: {e}"))?
        }
    };
    Ok(Arc::new(config))
}

/// The error in the words of Go.
pub(super) fn words(error: &Error) -> String {
    let why = match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
            "certificate signed by unknown authority"
        }
        Error::InvalidCertificate(
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. },
        ) => "certificate has expired or is not yet valid",
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "certificate is not valid for the name of the server",
        other => return format!("tls: {other}"),
    };
    format!("tls: failed to verify certificate: x509: {why}")
}

/// Whether no chain leads from a certificate to the bundle, or the certificate is an authority itself.
fn is_no_chain(error: &CertificateError) -> bool {
    match error {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => true,
        CertificateError::Other(other) => other.to_string() == "CaUsedAsEndEntity",
        _ => false,
    }
}

/// The usual verification. As in Go, a certificate of the bundle may also be the server's own.
#[derive(Debug)]
struct Verifier {
    inner: Option<Arc<WebPkiServerVerifier>>,
    pinned: Vec<CertificateDer<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(inner) = &self.inner else { return Err(CertificateError::UnknownIssuer.into()) };
        match inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The validity period was checked before.
            Err(Error::InvalidCertificate(error)) if is_no_chain(&error) => {
                if !self.pinned.contains(end_entity) {
                    return Err(CertificateError::UnknownIssuer.into());
                }
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            outcome => outcome,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
