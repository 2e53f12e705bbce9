//! Certificates of the admission server: issuing, storage, and rotation without dropped requests.

mod issue;
mod overlap;

use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::{HostObjects, WriteError};
use crate::lease::LeadershipGuard;
use anyhow::Context as _;
use arc_swap::ArcSwap;
use base64::Engine as _;
use issue::Issued;
use overlap::Overlap;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Longest time between two reads of the Secret: another replica may have renewed its certificates.
const READ_SECRET: Duration = Duration::from_secs(60);

/// Poll interval for the files.
const READ_FILES: Duration = Duration::from_secs(1);

/// Attempts to write a Secret that another replica writes at the same time.
const ATTEMPTS: usize = 5;

/// Source of certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The host issues the certificates.
    Own {
        /// DNS names and addresses of the certificates.
        names: Vec<String>,
        /// The Secret that stores the certificates. None: memory only.
        secret: Option<ObjectKey>,
    },
    /// `tls.crt`, `tls.key` and `ca.crt` in this directory.
    Files(PathBuf),
}

/// The current certificates. A connection gets the certificate that is current at its handshake; open connections continue.
pub(super) struct Certificates {
    origin: Origin,
    serving: Arc<Serving>,
    bundle: watch::Sender<String>,
    /// The trouble of the last renewal, which the log has already; empty: none.
    reported: String,
}

/// A [`Source`] with its state.
enum Origin {
    Own { names: Vec<String>, secret: Option<ObjectKey>, host_objects: HostObjects, issued: Issued },
    Files { folder: PathBuf, overlap: Overlap },
}

#[derive(Debug)]
struct Serving(ArcSwap<CertifiedKey>);

impl ResolvesServerCert for Serving {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

impl Certificates {
    /// Reads or issues the first certificates.
    pub(super) async fn load(source: Source, host_objects: HostObjects) -> anyhow::Result<Self> {
        let (names, secret) = match source {
            Source::Own { names, secret } => (names, secret),
            Source::Files(folder) => return Self::of_files(folder),
        };
        let issued = own(&names, secret.as_ref(), &host_objects, None).await?;
        let (bundle, certified) = (issued.ca_bundle.clone(), certified(&issued.certificate, &issued.key)?);
        Ok(Self::of(Origin::Own { names, secret, host_objects, issued }, bundle, certified))
    }

    fn of_files(folder: PathBuf) -> anyhow::Result<Self> {
        let (bundle, certificate, key) = files(&folder)?;
        let certified = certified(&certificate, &key).with_context(|| folder.display().to_string())?;
        let overlap = Overlap::new(&bundle, Instant::now());
        Ok(Self::of(Origin::Files { folder, overlap }, bundle, certified))
    }

    fn of(origin: Origin, bundle: String, certified: CertifiedKey) -> Self {
        let serving = Arc::new(Serving(ArcSwap::from_pointee(certified)));
        Self { origin, serving, bundle: watch::Sender::new(bundle), reported: String::new() }
    }

    /// The CA bundle in PEM, and its changes.
    pub(super) fn bundle(&self) -> watch::Receiver<String> {
        self.bundle.subscribe()
    }

    /// The resolver that chooses the certificate of a connection.
    pub(super) fn resolver(&self) -> Arc<dyn ResolvesServerCert> {
        Arc::clone(&self.serving) as Arc<dyn ResolvesServerCert>
    }

    /// Renews certificates that are due, and adopts those that other replicas renewed.
    pub(super) async fn keep(mut self) {
        loop {
            tokio::time::sleep(self.rest()).await;
            if let Some(error) = self.renew().await {
                tracing::warn!(
                    error,
                    "cannot renew the certificates of the admission server: the present ones stay in use"
                );
            }
        }
    }

    /// Time until the next renewal check.
    fn rest(&self) -> Duration {
        let Origin::Own { issued, .. } = &self.origin else { return READ_FILES };
        let now = jiff::Timestamp::now().as_second();
        let next =
            issue::next(issued, now).map_or(READ_SECRET, |next| Duration::from_secs((next - now).unsigned_abs()));
        next.min(READ_SECRET)
    }

    /// One renewal check. Answers its trouble, unless the check before had the same.
    async fn renew(&mut self) -> Option<String> {
        let trouble = self.look().await.err().map(|error| crate::chain(error.as_ref())).unwrap_or_default();
        let is_news = !trouble.is_empty() && trouble != self.reported;
        self.reported.clone_from(&trouble);
        is_news.then_some(trouble)
    }

    async fn look(&mut self) -> anyhow::Result<()> {
        let present = self.serving.0.load_full();
        let (new, bundle, may_serve) = match &mut self.origin {
            Origin::Own { names, secret, host_objects, issued } => {
                *issued = own(names, secret.as_ref(), host_objects, Some(issued)).await?;
                (certified(&issued.certificate, &issued.key)?, issued.ca_bundle.clone(), true)
            }
            Origin::Files { folder, overlap } => {
                let (ca, certificate, key) = files(folder)?;
                let new = certified(&certificate, &key)?;
                let (now, unix) = (Instant::now(), jiff::Timestamp::now().as_second());
                let (bundle, is_new) = overlap.bundle(&ca, now, unix);
                if is_new {
                    tracing::info!(
                        "the admission server has a new CA; certificates of the one before are trusted for an hour"
                    );
                }
                (new, bundle, overlap.may_serve(ends(&present), now, unix))
            }
        };
        // The bundle is published first, so that clients already trust the new certificate when the server presents it.
        self.bundle.send_if_modified(|there| {
            let changed = *there != bundle;
            *there = bundle;
            changed
        });
        if may_serve && new.cert != present.cert {
            let until = jiff::Timestamp::from_second(ends(&new)).map(|at| at.to_string()).unwrap_or_default();
            tracing::info!(until, "the admission server has a new certificate");
            self.serving.0.store(Arc::new(new));
        }
        Ok(())
    }
}

/// When a certificate expires, in Unix seconds.
fn ends(certified: &CertifiedKey) -> i64 {
    let leaf = certified.cert.first().map(|der| x509_parser::parse_x509_certificate(der));
    leaf.and_then(Result::ok).map(|(_, leaf)| leaf.validity().not_after.timestamp()).unwrap_or_default()
}

fn files(folder: &Path) -> anyhow::Result<(String, String, String)> {
    let read = |name: &str| {
        let path = folder.join(name);
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    Ok((read("ca.crt")?, read("tls.crt")?, read("tls.key")?))
}

/// A certificate with its key, if the two match.
fn certified(certificate: &str, key: &str) -> anyhow::Result<CertifiedKey> {
    let chain = CertificateDer::pem_slice_iter(certificate.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .context("tls.crt is not a certificate in PEM")?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).context("tls.key is not a private key in PEM")?;
    let provider = rustls::crypto::ring::default_provider();
    CertifiedKey::from_der(chain, key, &provider).context("tls.crt and tls.key do not belong together")
}

/// The host's own certificates, renewed where due.
///
/// * `there` - the current certificates, if any.
async fn own(
    names: &[String],
    secret: Option<&ObjectKey>,
    host_objects: &HostObjects,
    there: Option<&Issued>,
) -> anyhow::Result<Issued> {
    let now = jiff::Timestamp::now().as_second();
    let renewed = |kept: Option<&Issued>| renewed(kept, there, names, now).map_err(anyhow::Error::msg);
    let Some(key) = secret else { return Ok(renewed(there)?.0) };
    let kind = GroupVersionKind::new("", "v1", "Secret");
    let mut conflict = None;
    for _ in 0..ATTEMPTS {
        let stored = host_objects.read(&kind, key).await.with_context(|| format!("cannot read Secret {key}"))?;
        let version = stored.as_ref().and_then(|secret| secret.pointer("/metadata/resourceVersion")).cloned();
        let (issued, is_new) = renewed(stored.as_ref().and_then(from_secret).as_ref())?;
        if !is_new {
            return Ok(issued);
        }
        let written = match version {
            Some(version) => {
                host_objects.apply(&LeadershipGuard::for_ever(), &to_secret(key, &issued, Some(version))).await
            }
            None => host_objects.create(&to_secret(key, &issued, None)).await,
        };
        match written {
            Ok(_) => return Ok(issued),
            // Another replica wrote first.
            Err(error @ WriteError::Conflict(_)) => conflict = Some(error),
            Err(error) => return Err(error).with_context(|| format!("cannot write Secret {key}")),
        }
    }
    Err(anyhow::Error::msg(conflict.map(|error| error.to_string()).unwrap_or_default()))
        .with_context(|| format!("other clients keep changing Secret {key}"))
}

/// The certificates to store, and whether they differ from the stored ones.
///
/// * `kept` - the stored certificates. Without them the current ones are stored again, because API servers trust them already.
fn renewed(
    kept: Option<&Issued>,
    served: Option<&Issued>,
    names: &[String],
    now: i64,
) -> Result<(Issued, bool), String> {
    let kept = kept.filter(|kept| issue::is_usable(kept, now));
    match (issue::renew(kept.or(served), names, now)?, kept, served) {
        (Some(new), ..) => Ok((new, true)),
        (None, Some(kept), _) => Ok((kept.clone(), false)),
        (None, None, Some(served)) => Ok((served.clone(), true)),
        (None, None, None) => Err("there is no certificate".to_owned()),
    }
}

fn to_secret(key: &ObjectKey, issued: &Issued, version: Option<Value>) -> Value {
    let encode = |text: &str| base64::prelude::BASE64_STANDARD.encode(text);
    let mut secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "metadata": {"name": &*key.name, "namespace": &*key.namespace, "labels": {"app.kubernetes.io/managed-by": "oarlock"}},
        "data": {"ca.crt": encode(&issued.ca_bundle), "ca.key": encode(&issued.ca_key),
            "tls.crt": encode(&issued.certificate), "tls.key": encode(&issued.key)},
    });
    if let (Some(version), Some(metadata)) = (version, secret.get_mut("metadata").and_then(Value::as_object_mut)) {
        metadata.insert("resourceVersion".to_owned(), version);
    }
    secret
}

/// The certificates in a Secret. None: one of them is missing.
fn from_secret(secret: &Value) -> Option<Issued> {
    let decode = |name: &str| {
        let text = secret.get("data")?.get(name)?.as_str()?;
        String::from_utf8(base64::prelude::BASE64_STANDARD.decode(text).ok()?).ok()
    };
    Some(Issued {
        ca_bundle: decode("ca.crt")?,
        ca_key: decode("ca.key")?,
        certificate: decode("tls.crt")?,
        key: decode("tls.key")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, Issuer, KeyPair};

    #[test]
    fn what_is_served_is_kept_again_when_somebody_takes_the_secret_away_or_spoils_it() {
        let (names, now) = (vec!["host.oarlock.svc".to_owned()], 1_800_000_000);
        let (served, is_new) = renewed(None, None, &names, now).unwrap();
        assert!(is_new);
        let spoilt = Issued { ca_key: "no key".to_owned(), ..served.clone() };
        for kept in [None, Some(&spoilt)] {
            assert_eq!(renewed(kept, Some(&served), &names, now + 1).unwrap(), (served.clone(), true));
        }
        // The certificates of another replica take precedence.
        let other = renewed(None, None, &names, now).unwrap().0;
        assert_eq!(renewed(Some(&other), Some(&served), &names, now + 1).unwrap(), (other, false));
    }

    /// Writes a certificate that this CA issues.
    fn write(folder: &Path, authority: &Authority, lasting: time::Duration) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["host.oarlock.svc".to_owned()]).unwrap();
        params.not_after = time::OffsetDateTime::now_utc() + lasting;
        let certificate = params.signed_by(&key, &authority.issuer).unwrap();
        for (file, content) in
            [("ca.crt", &authority.pem), ("tls.crt", &certificate.pem()), ("tls.key", &key.serialize_pem())]
        {
            std::fs::write(folder.join(file), content).unwrap();
        }
    }

    struct Authority {
        pem: String,
        issuer: Issuer<'static, KeyPair>,
    }

    impl Authority {
        fn new(name: &str, lasting: time::Duration) -> Self {
            let key = KeyPair::generate().unwrap();
            let mut params = CertificateParams::default();
            params.distinguished_name.push(rcgen::DnType::CommonName, name);
            params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
            params.not_after = time::OffsetDateTime::now_utc() + lasting;
            let pem = params.self_signed(&key).unwrap().pem();
            Self { pem, issuer: Issuer::new(params, key) }
        }
    }

    const YEAR: time::Duration = time::Duration::days(365);

    /// The certificates of a host, and what it serves and publishes of them.
    struct Host {
        folder: tempfile::TempDir,
        certificates: Certificates,
    }

    impl Host {
        fn new(authority: &Authority) -> Self {
            let folder = tempfile::tempdir().unwrap();
            write(folder.path(), authority, YEAR);
            let certificates = Certificates::of_files(folder.path().to_owned()).unwrap();
            Self { folder, certificates }
        }

        /// The check of each second, for so many seconds.
        async fn passes(&mut self, seconds: u64) {
            for _ in 0..seconds {
                tokio::time::advance(READ_FILES).await;
                assert_eq!(self.certificates.renew().await, None);
            }
        }

        fn changes_to(&self, authority: &Authority) {
            write(self.folder.path(), authority, YEAR);
        }

        /// Whether it serves the certificate of the files.
        fn serves_the_file(&self) -> bool {
            let file = std::fs::read_to_string(self.folder.path().join("tls.crt")).unwrap();
            let file: Vec<_> = CertificateDer::pem_slice_iter(file.as_bytes()).map(Result::unwrap).collect();
            self.certificates.serving.0.load().cert == file
        }

        fn publishes(&self) -> String {
            self.certificates.bundle.borrow().clone()
        }
    }

    /// Mounts are updated up to two minutes apart: what any host serves is trusted whichever host publishes.
    #[tokio::test(start_paused = true)]
    async fn hosts_that_see_a_new_ca_one_after_another_serve_what_both_trust() {
        let [first, second] = ["first", "second"].map(|name| Authority::new(name, YEAR));
        let mut host = Host::new(&first);
        host.passes(10).await;
        assert_eq!(host.publishes(), first.pem);
        host.changes_to(&second);
        host.passes(1).await;
        assert_eq!(host.publishes(), format!("{}{}", second.pem, first.pem));
        assert!(!host.serves_the_file(), "another host may not have published the new CA yet");
        host.passes(118).await;
        assert!(!host.serves_the_file());
        host.passes(2).await;
        assert!(host.serves_the_file(), "every host had two minutes to publish the new CA");
        // A certificate of the same CA waits for nothing.
        host.changes_to(&second);
        host.passes(1).await;
        assert!(host.serves_the_file());
        host.passes(3400).await;
        assert!(host.publishes().contains(&first.pem));
        host.passes(100).await;
        assert_eq!(host.publishes(), second.pem);
    }

    #[tokio::test(start_paused = true)]
    async fn cas_that_come_back_expire_or_are_many_are_published_once_not_at_all_or_the_newest_of_them() {
        let [first, second] = ["first", "second"].map(|name| Authority::new(name, YEAR));
        let mut host = Host::new(&first);
        host.changes_to(&second);
        host.passes(1).await;
        host.changes_to(&first);
        host.passes(1).await;
        assert_eq!(host.publishes(), format!("{}{}", first.pem, second.pem));
        let expired = Authority::new("expired", -time::Duration::days(1));
        host.changes_to(&expired);
        host.passes(1).await;
        assert!(host.publishes().contains(&expired.pem), "the file says so");
        host.changes_to(&first);
        host.passes(1).await;
        assert_eq!(host.publishes(), format!("{}{}", first.pem, second.pem));
        for name in 0..40 {
            host.changes_to(&Authority::new(&name.to_string(), YEAR));
            host.passes(1).await;
        }
        assert_eq!(host.publishes().matches("BEGIN CERTIFICATE").count(), overlap::MOST);
    }

    #[tokio::test(start_paused = true)]
    async fn a_served_certificate_that_has_expired_is_replaced_at_once() {
        let [first, second] = ["first", "second"].map(|name| Authority::new(name, YEAR));
        let mut host = Host::new(&first);
        write(host.folder.path(), &first, -time::Duration::hours(1));
        host.passes(1).await;
        assert!(host.serves_the_file());
        host.changes_to(&second);
        host.passes(1).await;
        assert!(host.serves_the_file());
    }

    #[tokio::test(start_paused = true)]
    async fn files_that_stay_unusable_are_reported_once() {
        let first = Authority::new("first", YEAR);
        let mut host = Host::new(&first);
        let key = host.folder.path().join("tls.key");
        for spoilt in [KeyPair::generate().unwrap().serialize_pem(), "no key".to_owned()] {
            std::fs::write(&key, spoilt).unwrap();
            assert!(host.certificates.renew().await.is_some());
            host.passes(5).await;
        }
        host.changes_to(&first);
        host.passes(1).await;
        std::fs::write(&key, "no key").unwrap();
        assert!(host.certificates.renew().await.is_some(), "it had been good between");
    }
}
