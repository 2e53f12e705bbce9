//! One simulated hour.

use super::week::{Seat, Week, identity, user};
use crate::harness::{Host, built_plugin, eventually, text};
use crate::torture::{Kind, forged};
use anyhow::{Context, Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use http::Method;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};
use std::{path::Path, time::Duration};

/// How long anything may take.
const SOON: Duration = Duration::from_secs(120);

/// Versions that come back in later hours. Every hour has one more of each plugin that is new.
const KNOWN_VERSIONS: usize = 7;

impl Week {
    /// Does all that an hour holds, and waits until nothing of it is left.
    pub(super) async fn hour(&mut self) -> Result<()> {
        let week = &*self;
        let busy = stream::iter(Kind::ALL).map(|kind| week.busy(kind)).buffer_unordered(4).try_collect::<Vec<()>>();
        let swaps = stream::iter(Kind::ALL).map(|kind| week.swaps(kind)).buffer_unordered(4).try_collect::<Vec<()>>();
        tokio::try_join!(week.idle(), busy, swaps, week.cuts(), week.moves(), week.credentials())?;
        let load = self.load;
        self.done.objects += load.idle + 4 * load.busy;
        self.done.swaps += 4 * load.swaps;
        self.done.cuts += load.cuts;
        self.done.renewals += 2 * self.hosts.len();
        self.hour += 1;
        Ok(())
    }

    /// Puts a version of a plugin in place.
    pub(super) fn place(&self, kind: Kind, version: &str) -> Result<()> {
        self.plugins.place(&format!("{}.wasm", kind.plugin()), &forged(&self.guest, &kind.role(version))?)
    }

    pub(super) fn place_idler(&self) -> Result<()> {
        self.plugins.place("idler-0000.wasm", &std::fs::read(built_plugin("idler")?)?)
    }

    /// Objects whose plugin wants nothing; then the plugin goes and comes back.
    async fn idle(&self) -> Result<()> {
        let path = format!("/api/v1/namespaces/{}/configmaps", self.namespace);
        let objects = stream::iter(0..self.load.idle).map(|number| {
            let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"number": number.to_string()},
                "metadata": {"name": format!("idle-{}-{number}", self.hour), "labels": {"idler": "true"}}});
            let path = &path;
            async move { self.cluster.create(path, &object).await.map(drop) }
        });
        objects.buffer_unordered(16).try_collect::<Vec<()>>().await?;
        self.cluster.delete(&format!("{path}?labelSelector=idler%3Dtrue")).await?;
        self.plugins.remove("idler-0000.wasm")?;
        for seat in &self.hosts {
            eventually(SOON, "the idler to be gone", || async {
                ensure!(seat.host.plugin("idler-0000").await.is_err(), "it is shown");
                Ok(())
            })
            .await?;
        }
        self.place_idler()?;
        for seat in &self.hosts {
            runs(&seat.host, "idler-0000", "1").await?;
        }
        Ok(())
    }

    /// Objects that keep their plugin busy: made, seen to be done, deleted, seen to be gone.
    async fn busy(&self, kind: Kind) -> Result<()> {
        let path = kind.path(&self.namespace);
        let mut uids = Vec::new();
        for number in 0..self.load.busy {
            let object = kind.object(&format!("busy-{}-{number}", self.hour), "v", "settings-0");
            uids.push(text(&self.cluster.create(&path, &object).await?, "/metadata/uid"));
        }
        eventually(SOON, &format!("what {} makes", kind.plugin()), || async {
            let made = self.made(kind).await?;
            let missing = uids.iter().filter(|uid| !made.contains(uid)).count();
            ensure!(missing == 0, "{missing} are missing");
            Ok(())
        })
        .await?;
        self.cluster.delete(&path).await?;
        eventually(SOON, &format!("the end of what {} made", kind.plugin()), || async {
            let (objects, made) = (self.cluster.list(&path).await?.len(), self.made(kind).await?);
            let left = uids.iter().filter(|uid| made.contains(uid)).count();
            ensure!((objects, left) == (0, 0), "{objects} objects are left, and the plugin's results for {left}");
            Ok(())
        })
        .await
    }

    /// The uids of the objects for which something was made.
    async fn made(&self, kind: Kind) -> Result<Vec<String>> {
        if kind.has_finalizer() {
            return Ok(self.ledger.books(|books| books.things().keys().cloned().collect()));
        }
        let children = format!("/api/v1/namespaces/{}/configmaps?labelSelector=torture%3Dchild", self.namespace);
        let children = self.cluster.list(&children).await?;
        Ok(children.iter().map(|child| text(child, "/metadata/ownerReferences/0/uid")).collect())
    }

    /// One version after the other, each of which both hosts run before the next.
    async fn swaps(&self, kind: Kind) -> Result<()> {
        for number in 0..self.load.swaps {
            let version = match number {
                0 => format!("new-{}", self.hour),
                number => format!("known-{}", number % KNOWN_VERSIONS),
            };
            self.place(kind, &version)?;
            for seat in &self.hosts {
                runs(&seat.host, kind.plugin(), &version).await?;
            }
        }
        Ok(())
    }

    /// The connections of watches, cut until there were enough.
    async fn cuts(&self) -> Result<()> {
        let id = format!("cuts-{}", self.hour);
        let fault = json!({"closeWatch": {"cut": true, "afterMilliseconds": 50}});
        self.fault(&json!({"id": id, "requests": {"userAgent": "oarlock/*"}, "times": self.load.cuts, "fault": fault}))
            .await?;
        let path = format!("/_oarlock/faults/{id}");
        eventually(SOON, "watches to be cut", || async {
            let rule = self.cluster.get(&path).await?.context("no rule")?;
            let struck = rule.get("struck").and_then(Value::as_u64).unwrap_or_default();
            ensure!(struck >= self.load.cuts, "{struck} of {}", self.load.cuts);
            Ok(())
        })
        .await?;
        self.fault_request(Method::DELETE, &format!("/{id}"), String::new()).await
    }

    /// A host that is paused for longer than its Leases last: the other one takes all of them, and gives some back.
    async fn moves(&self) -> Result<()> {
        let number = usize::try_from(self.hour)? % self.hosts.len();
        let seat = self.hosts.get(number).context("no such host")?;
        seat.host.process().signal("STOP").await?;
        let moved = eventually(SOON, "the Leases of a paused host to be taken", || async {
            let holders = self.leases().await?;
            let held = holders.iter().filter(|lease| {
                // No host takes the Lease of the idler while that is removed.
                let idler = text(lease, "/metadata/name").ends_with("idler-0000");
                !idler && text(lease, "/spec/holderIdentity").starts_with(&identity(number))
            });
            let held = held.count();
            ensure!(held == 0, "it still holds {held}");
            Ok(())
        })
        .await;
        seat.host.process().signal("CONT").await?;
        moved
    }

    /// Another certificate and another token for each host; the token of the hour before is revoked.
    async fn credentials(&self) -> Result<()> {
        // Not their number: of a long log only the last lines are kept.
        let renewed = |seat: &Seat| {
            let lines = seat.host.log(|line| line.text.contains("the admission server has a new certificate"));
            lines.last().map(|line| line.text.clone())
        };
        for seat in &self.hosts {
            let before = renewed(seat);
            self.write_credentials(&seat.folder)?;
            eventually(SOON, "the certificate to be taken up", || async {
                ensure!(renewed(seat) != before, "it is not served");
                Ok(())
            })
            .await?;
        }
        if let Some(before) = self.hour.checked_sub(1) {
            let refused = json!({"answer": {"code": 401, "message": "the token is revoked"}});
            let id = format!("revoked-{before}");
            self.fault(&json!({"id": id, "requests": {"user": user(before)}, "fault": refused})).await?;
        }
        Ok(())
    }

    /// Writes the credentials of this hour for a host.
    pub(super) fn write_credentials(&self, folder: &Path) -> Result<()> {
        let server = self.cluster_url()?;
        let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "soak",
            "clusters": [{"name": "soak", "cluster": {"server": server}}],
            "users": [{"name": "soak", "user": {"token": user(self.hour)}}],
            "contexts": [{"name": "soak", "context": {"cluster": "soak", "user": "soak", "namespace": "default"}}]});
        replace(folder, "kubeconfig", &config.to_string())?;
        // The CA stays, as that of an issuer does: a certificate of a new one would be served two minutes later.
        let (certificates, ca_key) = (folder.join("certificates"), folder.join("ca.key"));
        if !ca_key.exists() {
            let key = KeyPair::generate()?;
            let mut authority = CertificateParams::default();
            authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            replace(&certificates, "ca.crt", &authority.self_signed(&key)?.pem())?;
            replace(folder, "ca.key", &key.serialize_pem())?;
        }
        let ca = std::fs::read_to_string(certificates.join("ca.crt"))?;
        let issuer = Issuer::from_ca_cert_pem(&ca, KeyPair::from_pem(&std::fs::read_to_string(ca_key)?)?)?;
        let serving = KeyPair::generate()?;
        let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()])?.signed_by(&serving, &issuer)?.pem();
        for (file, content) in [("tls.crt", &certificate), ("tls.key", &serving.serialize_pem())] {
            replace(&certificates, file, content)?;
        }
        Ok(())
    }

    fn cluster_url(&self) -> Result<String> {
        let config: Value = serde_saphyr::from_str(&std::fs::read_to_string(self.cluster.kubeconfig())?)?;
        Ok(text(&config, "/clusters/0/cluster/server"))
    }

    async fn fault(&self, rule: &Value) -> Result<()> {
        self.fault_request(Method::POST, "", rule.to_string()).await
    }

    async fn fault_request(&self, method: Method, path: &str, body: String) -> Result<()> {
        let request = http::Request::builder().method(method).uri(format!("/_oarlock/faults{path}"));
        let request = request.header("x-oarlock-faults", "1").body(body.into_bytes())?;
        self.cluster.client().request_text(request).await.context("the faults of the API server")?;
        Ok(())
    }
}

/// Replaces a file at once.
fn replace(folder: &Path, name: &str, content: &str) -> Result<()> {
    let new = folder.join(format!("{name}.new"));
    std::fs::write(&new, content)?;
    Ok(std::fs::rename(new, folder.join(name))?)
}

/// Waits until a host runs a version of a plugin.
async fn runs(host: &Host, name: &str, version: &str) -> Result<()> {
    eventually(SOON, &format!("{name} to run version {version}"), || async {
        let plugin = host.plugin(name).await?;
        ensure!(text(&plugin, "/version") == version && text(&plugin, "/state") == "active", "{plugin}");
        Ok(())
    })
    .await
}
