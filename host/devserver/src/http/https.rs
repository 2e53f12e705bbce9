//! HTTPS: the server's certificate, and client certificates.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{extract::connect_info::Connected, serve};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use rustls::{
    DigitallySignedStruct, DistinguishedName, RootCertStore, ServerConfig, SignatureScheme,
    client::danger::HandshakeSignatureValid,
    pki_types::{CertificateDer, PrivateKeyDer, UnixTime, pem::PemObject as _},
    server::{
        WebPkiClientVerifier,
        danger::{ClientCertVerified, ClientCertVerifier},
    },
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::sync::CancellationToken;

use crate::crypto::provider;
use crate::model::{
    error::Error,
    user::{AUTHENTICATED, User},
};

mod subject;

/// Deadline of the TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// The server's certificate, and the CA of client certificates.
#[derive(Debug, Clone)]
pub struct Tls {
    config: Arc<ServerConfig>,
    clients: Option<Arc<dyn ClientCertVerifier>>,
    /// PEM.
    certificate: String,
}

impl Tls {
    /// Parses PEM texts.
    ///
    /// * `certificate` - the server's certificate, followed by its chain; kubeconfigs trust it.
    /// * `key` - its private key.
    /// * `client_ca` - CA of client certificates: their common name is the user, their organisations are the groups.
    ///
    /// # Errors
    ///
    /// [`Error::Tls`] with the invalid text.
    pub fn new(certificate: &str, key: &str, client_ca: Option<&str>) -> Result<Self, Error> {
        let wrong = |what: &'static str, why: &dyn std::fmt::Display| Error::Tls { what, why: why.to_string() };
        let chain = certificates(certificate).map_err(|e| wrong("certificate", &e))?;
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|e| wrong("private key", &e))?;
        let clients = client_ca.map(|pem| verifier(pem).map_err(|e| wrong("client CA", &e))).transpose()?;
        let config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|e| wrong("certificate", &e))?;
        let config = match &clients {
            Some(clients) => config.with_client_cert_verifier(Arc::new(Anybody(Arc::clone(clients)))),
            None => config.with_no_client_auth(),
        };
        let config = config.with_single_cert(chain, key).map_err(|e| wrong("certificate", &e))?;
        Ok(Self { config: Arc::new(config), clients, certificate: certificate.to_owned() })
    }

    /// The certificate authority in a kubeconfig: base64 of PEM.
    pub(crate) fn authority(&self) -> String {
        BASE64.encode(&self.certificate)
    }

    fn peer(&self, stream: &TlsStream<TcpStream>) -> Peer {
        let certificates = stream.get_ref().1.peer_certificates();
        let (Some(clients), Some((own, others))) = (&self.clients, certificates.and_then(<[_]>::split_first)) else {
            return Peer::Nobody;
        };
        match clients.verify_client_cert(own, others, UnixTime::now()) {
            Ok(_) => subject::user(own).map_or(Peer::Stranger, Peer::User),
            Err(error) => {
                tracing::debug!(%error, "a certificate of a client is not believed");
                Peer::Stranger
            }
        }
    }
}

fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    let all = all.map_err(|e| e.to_string())?;
    if all.is_empty() { Err("there is no certificate in it".to_owned()) } else { Ok(all) }
}

fn verifier(pem: &str) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(pem)? {
        roots.add(certificate).map_err(|e| e.to_string())?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider());
    verifier.build().map_err(|e| e.to_string())
}

/// The client of a connection.
#[derive(Debug, Clone)]
pub(crate) enum Peer {
    /// No client certificate.
    Nobody,
    /// A valid client certificate with a user.
    User(User),
    /// An untrusted client certificate.
    Stranger,
}

impl Peer {
    fn user(name: String, mut groups: Vec<String>) -> User {
        groups.push(AUTHENTICATED.to_owned());
        User { name, groups, ..User::default() }
    }
}

/// Accepts every certificate in the handshake, as kube-apiserver does: an untrusted one gets 401, with a message that a client can print.
#[derive(Debug)]
struct Anybody(Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for Anybody {
    fn offer_client_auth(&self) -> bool {
        true
    }

    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// Connections after their handshake. A slow client delays no others.
#[derive(Debug)]
pub(crate) struct Listener {
    addr: SocketAddr,
    ready: mpsc::Receiver<(TlsStream<TcpStream>, Peer)>,
}

impl Listener {
    /// Accepts connections until `stop`.
    pub(crate) fn new(listener: TcpListener, addr: SocketAddr, tls: Tls, stop: CancellationToken) -> Self {
        let (sender, ready) = mpsc::channel(64);
        tokio::spawn(async move {
            let accepting = accept(&listener, &tls, &sender);
            let _ = stop.run_until_cancelled(accepting).await;
        });
        Self { addr, ready }
    }
}

async fn accept(listener: &TcpListener, tls: &Tls, sender: &mpsc::Sender<(TlsStream<TcpStream>, Peer)>) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                // For example too many open files: other connections must end first.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (tls, sender) = (tls.clone(), sender.clone());
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            let handshake = TlsAcceptor::from(Arc::clone(&tls.config)).accept(stream);
            match tokio::time::timeout(HANDSHAKE, handshake).await {
                Ok(Ok(stream)) => {
                    let peer = tls.peer(&stream);
                    // The send fails while the server stops.
                    let _ = sender.send((stream, peer)).await;
                }
                Ok(Err(error)) => tracing::debug!(%error, "no keys were agreed on"),
                Err(_) => tracing::debug!("a client took too long to agree on keys"),
            }
        });
    }
}

impl serve::Listener for Listener {
    type Io = TlsStream<TcpStream>;
    type Addr = Peer;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.ready.recv().await {
            Some(connection) => connection,
            // The server stops.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        tracing::trace!(addr = %self.addr, "the address of a listener has no peer");
        Ok(Peer::Nobody)
    }
}

impl Connected<serve::IncomingStream<'_, Listener>> for Peer {
    fn connect_info(stream: serve::IncomingStream<'_, Listener>) -> Self {
        stream.remote_addr().clone()
    }
}
