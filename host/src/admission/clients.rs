//! Client certificates at the admission port, and the TLS settings of the listener.
//!
//! Without a client CA every client that reaches the port can send reviews. The host answers them, but they count for nothing:
//! [`crate::controller::Review::authenticated`].

use anyhow::Context as _;
use arc_swap::ArcSwap;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::server::{NoServerSessionStorage, ResolvesServerCert, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig, ServerConnection};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use x509_parser::extensions::GeneralName;

/// Poll interval for the file.
const READ_FILE: Duration = Duration::from_secs(1);

/// The clients that the admission port accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clients {
    /// The CAs that issue client certificates.
    pub ca: ClientCa,
    /// Accepted common names or subject alternative names; a certificate needs one of them. Empty: every certificate of the CAs is
    /// accepted.
    pub names: Vec<String>,
}

/// Source of the client CAs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientCa {
    /// A PEM file, read again when it changes.
    File(PathBuf),
    /// PEM text.
    Pem(String),
}

/// The client of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Client {
    /// The server requests no client certificates, so the client may be any.
    Unknown,
    /// An API server, according to its certificate.
    Authenticated,
    /// The certificate is valid but has none of the accepted names; these are its names.
    Refused(Vec<String>),
}

/// The current TLS settings for new connections.
#[derive(Debug)]
pub(super) struct Accepting {
    pub(super) tls: Arc<ServerConfig>,
    names: Option<Vec<String>>,
    /// Cancelled when the client CAs change: clients that older CAs admitted must authenticate again.
    pub(super) over: CancellationToken,
}

/// Keeps [`Accepting`] equal to the file.
pub(super) struct Admitting {
    clients: Option<Clients>,
    resolver: Arc<dyn ResolvesServerCert>,
    pem: Option<String>,
    now: Arc<ArcSwap<Accepting>>,
}

impl Admitting {
    /// * `resolver` - the server's certificates.
    ///
    /// # Errors
    ///
    /// The CAs cannot be read.
    pub(super) fn new(clients: Option<Clients>, resolver: Arc<dyn ResolvesServerCert>) -> anyhow::Result<Self> {
        let pem = clients.as_ref().map(|clients| clients.ca.read()).transpose()?;
        let accepting = accepting(clients.as_ref(), pem.as_deref(), &resolver)?;
        Ok(Self { clients, resolver, pem, now: Arc::new(ArcSwap::from_pointee(accepting)) })
    }

    pub(super) fn now(&self) -> Arc<ArcSwap<Accepting>> {
        Arc::clone(&self.now)
    }

    /// Polls the file. An unusable file changes nothing.
    pub(super) async fn keep(mut self) {
        if !matches!(&self.clients, Some(Clients { ca: ClientCa::File(_), .. })) {
            return;
        }
        let mut reported = String::new();
        loop {
            tokio::time::sleep(READ_FILE).await;
            let problem = self.look().err().map(|error| crate::chain(error.as_ref())).unwrap_or_default();
            if !problem.is_empty() && problem != reported {
                tracing::warn!(
                    error = problem,
                    "cannot read the client CA of the admission server: the one before stays in use"
                );
            }
            reported = problem;
        }
    }

    fn look(&mut self) -> anyhow::Result<()> {
        let Some(clients) = &self.clients else { return Ok(()) };
        let pem = Some(clients.ca.read()?);
        if pem == self.pem {
            return Ok(());
        }
        let accepting = accepting(Some(clients), pem.as_deref(), &self.resolver)?;
        self.now.swap(Arc::new(accepting)).over.cancel();
        self.pem = pem;
        tracing::info!("the admission server has a new client CA");
        Ok(())
    }
}

impl ClientCa {
    fn read(&self) -> anyhow::Result<String> {
        match self {
            Self::File(file) => {
                std::fs::read_to_string(file).with_context(|| format!("cannot read the client CA {}", file.display()))
            }
            Self::Pem(pem) => Ok(pem.clone()),
        }
    }
}

fn accepting(
    clients: Option<&Clients>,
    pem: Option<&str>,
    resolver: &Arc<dyn ResolvesServerCert>,
) -> anyhow::Result<Accepting> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let config = match pem {
        None => config.with_no_client_auth(),
        Some(pem) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots(pem)?), provider).build();
            config.with_client_cert_verifier(verifier.context("cannot use the client CA")?)
        }
    };
    let mut tls = config.with_cert_resolver(Arc::clone(resolver));
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    if pem.is_some() {
        // TLS does not verify the certificate again when a session resumes, so a client could use an expired one for ever.
        tls.session_storage = Arc::new(NoServerSessionStorage {});
        tls.send_tls13_tickets = 0;
    }
    let names = clients.map(|clients| clients.names.clone());
    Ok(Accepting { tls: Arc::new(tls), names, over: CancellationToken::new() })
}

fn roots(pem: &str) -> anyhow::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        roots
            .add(certificate.context("the client CA is not certificates in PEM")?)
            .context("cannot use a certificate of the client CA")?;
    }
    anyhow::ensure!(!roots.is_empty(), "the client CA has no certificate in PEM");
    Ok(roots)
}

impl Accepting {
    /// The client of a connection, after the handshake.
    pub(super) fn client(&self, connection: &ServerConnection) -> Client {
        let Some(allowed) = &self.names else { return Client::Unknown };
        let names = connection.peer_certificates().and_then(<[_]>::first).map(names).unwrap_or_default();
        if allowed.is_empty() || names.iter().any(|name| allowed.contains(name)) {
            Client::Authenticated
        } else {
            Client::Refused(names)
        }
    }
}

/// The common names and the subject alternative names of a certificate.
fn names(certificate: &CertificateDer<'_>) -> Vec<String> {
    let Ok((_, parsed)) = x509_parser::parse_x509_certificate(certificate) else { return Vec::new() };
    let mut names: Vec<String> =
        parsed.subject().iter_common_name().filter_map(|name| Some(name.as_str().ok()?.to_owned())).collect();
    if let Ok(Some(others)) = parsed.subject_alternative_name() {
        names.extend(others.value.general_names.iter().filter_map(|name| match name {
            GeneralName::DNSName(name) | GeneralName::RFC822Name(name) | GeneralName::URI(name) => {
                Some((*name).to_owned())
            }
            _ => None,
        }));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DnType, KeyPair, SanType};

    #[test]
    fn a_certificate_names_its_owner_in_several_ways() {
        let mut params = CertificateParams::new(vec!["api.example.com".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        params.subject_alt_names.push(SanType::URI("spiffe://cluster/api".try_into().unwrap()));
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        assert_eq!(names(certificate.der()), ["kube-apiserver", "api.example.com", "spiffe://cluster/api"]);
        assert_eq!(names(&CertificateDer::from(vec![1, 2, 3])), Vec::<String>::new());
    }

    #[test]
    fn what_is_no_certificate_is_no_client_ca() {
        for pem in ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            assert!(roots(pem).is_err(), "{pem:?}");
        }
    }
}
