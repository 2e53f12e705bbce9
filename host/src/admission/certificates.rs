//! Certificates of the admission server: issuing, storage, and rotation without dropped requests.

mod issue;

use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::{HostObjects, WriteError};
use crate::lease::LeadershipGuard;
use anyhow::Context as _;
use arc_swap::ArcSwap;
use base64::Engine as _;
use issue::Issued;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

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
    source: Source,
    host_objects: HostObjects,
    issued: Option<Issued>,
    serving: Arc<Serving>,
    bundle: watch::Sender<String>,
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
        let (bundle, certified, issued) = match &source {
            Source::Own { names, secret } => {
                let issued = own(names, secret.as_ref(), &host_objects, None).await?;
                (issued.ca_bundle.clone(), certified(&issued.certificate, &issued.key)?, Some(issued))
            }
            Source::Files(folder) => {
                let (bundle, certificate, key) = files(folder)?;
                (bundle, certified(&certificate, &key).with_context(|| folder.display().to_string())?, None)
            }
        };
        let serving = Arc::new(Serving(ArcSwap::from_pointee(certified)));
        Ok(Self { source, host_objects, issued, serving, bundle: watch::Sender::new(bundle) })
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
            if let Err(error) = self.look().await {
                let error = crate::chain(error.as_ref());
                tracing::warn!(
                    error,
                    "cannot renew the certificates of the admission server: the present ones stay in use"
                );
            }
        }
    }

    /// Time until the next renewal check.
    fn rest(&self) -> Duration {
        let Some(issued) = &self.issued else { return READ_FILES };
        let now = jiff::Timestamp::now().as_second();
        let next =
            issue::next(issued, now).map_or(READ_SECRET, |next| Duration::from_secs((next - now).unsigned_abs()));
        next.min(READ_SECRET)
    }

    async fn look(&mut self) -> anyhow::Result<()> {
        let (bundle, certificate, key) = match &self.source {
            Source::Own { names, secret } => {
                let issued = own(names, secret.as_ref(), &self.host_objects, self.issued.as_ref()).await?;
                self.issued = Some(issued.clone());
                (issued.ca_bundle, issued.certificate, issued.key)
            }
            Source::Files(folder) => files(folder)?,
        };
        let new = certified(&certificate, &key)?;
        // The bundle is published first, so that clients already trust the new certificate when the server presents it.
        self.bundle.send_if_modified(|there| {
            let changed = *there != bundle;
            *there = bundle;
            changed
        });
        if new.cert != self.serving.0.load().cert {
            let ends = issue::ends(&certificate).unwrap_or_default();
            let until = jiff::Timestamp::from_second(ends).map(|at| at.to_string()).unwrap_or_default();
            tracing::info!(until, "the admission server has a new certificate");
            self.serving.0.store(Arc::new(new));
        }
        Ok(())
    }
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
}
