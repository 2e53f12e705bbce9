//! Certificates: from files that change, and from a Secret that replicas share.

use super::{Door, allowed, bundle, config_map, configuration, gatekeeper, grant, options, review};
use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use oarlock_tests::harness::{HttpClient, SOON, World, eventually, text, with_world};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Writes a CA of this name, and a certificate it issued for 127.0.0.1.
pub(crate) fn write(folder: &Path, name: &str) -> Result<String> {
    let (ca, issuer) = authority(name)?;
    fs::write(folder.join("ca.crt"), &ca)?;
    issue(folder, &issuer)?;
    Ok(ca)
}

fn authority(name: &str) -> Result<(String, Issuer<'static, KeyPair>)> {
    let key = KeyPair::generate()?;
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(rcgen::DnType::CommonName, name);
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    Ok((authority.self_signed(&key)?.pem(), Issuer::new(authority, key)))
}

fn issue(folder: &Path, issuer: &Issuer<'_, KeyPair>) -> Result<()> {
    let serving = KeyPair::generate()?;
    let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()])?.signed_by(&serving, issuer)?;
    fs::write(folder.join("tls.crt"), certificate.pem())?;
    fs::write(folder.join("tls.key"), serving.serialize_pem())?;
    Ok(())
}

/// The door as somebody sees it who trusts just this CA.
async fn trusting(world: &World, ca: &str) -> Result<Door> {
    let config = configuration(world, "mutating").await?;
    let url = text(&config, "/webhooks/0/clientConfig/url");
    let base = url.split('/').take(3).collect::<Vec<_>>().join("/");
    Ok(Door { client: HttpClient::with_ca(&base, ca.as_bytes())? })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a9_files_that_change_are_taken_over_without_a_dropped_request() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let folder = world.folder().join("certificates");
        fs::create_dir(&folder)?;
        let (first, issuer) = authority("first")?;
        fs::write(folder.join("ca.crt"), &first)?;
        issue(&folder, &issuer)?;
        world.plugins.grant("gatekeeper", &grant())?;
        world.plugins.place("gatekeeper.wasm", &gatekeeper("yes")?)?;
        let folder_text = folder.display().to_string();
        world.start_host_with(&["--admission-addr", "127.0.0.1:0", "--admission-cert-dir", &folder_text]).await?;
        eventually(SOON, "the first CA", || async {
            ensure!(bundle(&world).await? == first, "another one");
            Ok(())
        })
        .await?;
        // One client keeps its connection over all changes.
        let (done, door) = (Arc::new(AtomicBool::new(false)), trusting(&world, &first).await?);
        let asking = {
            let done = Arc::clone(&done);
            tokio::spawn(async move {
                let mut answered = 0_u32;
                while !done.load(Ordering::Relaxed) {
                    ensure!(
                        allowed(&door.ask("/mutate/gatekeeper/0", &review(&config_map("label"))).await?),
                        "refused"
                    );
                    answered += 1;
                }
                anyhow::Ok(answered)
            })
        };
        // What does not belong together is not taken.
        fs::write(folder.join("tls.key"), KeyPair::generate()?.serialize_pem())?;
        eventually(SOON, "a line about it", || async {
            let told = world.log(|line| line.text.contains("do not belong together")).await?;
            ensure!(!told.is_empty(), "nothing");
            Ok(())
        })
        .await?;
        issue(&folder, &issuer)?;
        world.logged("a new certificate", |line| line.text.contains("has a new certificate")).await?;
        let door = trusting(&world, &first).await?;
        ensure!(allowed(&door.ask("/mutate/gatekeeper/0", &review(&config_map("label"))).await?), "refused");
        // Other hosts may see the second CA two minutes later, so its certificate waits, and both CAs are trusted.
        let second = write(&folder, "second")?;
        eventually(SOON, "the second CA beside the first", || async {
            let there = bundle(&world).await?;
            ensure!(there == format!("{second}{first}"), "{there}");
            Ok(())
        })
        .await?;
        let door = trusting(&world, &first).await?;
        ensure!(allowed(&door.ask("/mutate/gatekeeper/0", &review(&config_map("label"))).await?), "refused");
        done.store(true, Ordering::Relaxed);
        ensure!(asking.await?? > 0, "nobody asked");
        Ok(())
    })
    .await
}

/// A namespace with a Service that leads to a port of this machine, which is found before the host is started.
async fn service(world: &World) -> Result<(String, u16)> {
    let home = world.cluster.fresh_namespace().await?;
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "oarlock"},
        "spec": {"ports": [{"port": 443, "targetPort": port}]}});
    world.cluster.create(&format!("/api/v1/namespaces/{home}/services"), &service).await?;
    let slice = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": "oarlock-1", "labels": {"kubernetes.io/service-name": "oarlock"}},
        "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": true}}], "ports": [{"port": port, "name": ""}]});
    world.cluster.create(&format!("/apis/discovery.k8s.io/v1/namespaces/{home}/endpointslices"), &slice).await?;
    Ok((home, port))
}

/// Makes a ConfigMap through the API server, which asks the host about it.
async fn labelled(world: &World, name: &str) -> Result<()> {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    let path = format!("/api/v1/namespaces/{}/configmaps", world.namespace);
    let made = world.cluster.create(&path, &object).await?;
    ensure!(text(&made, "/metadata/labels/gate") == "yes", "{made}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_a_service_hosts_share_the_ca_of_a_secret_and_the_api_server_trusts_it() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.plugins.grant("gatekeeper", &grant())?;
        world.plugins.place("gatekeeper.wasm", &gatekeeper("yes")?)?;
        let (home, port) = service(&world).await?;
        let (at, of) = (format!("127.0.0.1:{port}"), format!("{home}/oarlock"));
        let args = ["--admission-addr", at.as_str(), "--admission-service", of.as_str()];
        world.start_host_with(&args).await?;
        let first = eventually(SOON, "the webhook configuration", || bundle(&world)).await?;
        labelled(&world, "through-the-service").await?;
        // The host's own namespace is never asked about.
        let own = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "own"}});
        let made = world.cluster.create(&format!("/api/v1/namespaces/{home}/configmaps"), &own).await?;
        ensure!(made.pointer("/metadata/labels/gate").is_none(), "{made}");
        let secret = world
            .cluster
            .get(&format!("/api/v1/namespaces/{home}/secrets/oarlock-admission"))
            .await?
            .context("no Secret")?;
        let keys: Vec<&String> = secret.get("data").and_then(Value::as_object).context("no data")?.keys().collect();
        ensure!(keys == ["ca.crt", "ca.key", "tls.crt", "tls.key"], "{keys:?}");
        // Another host, or the same one again, takes what is there.
        world.stop_host(SOON).await?;
        world.start_host_with(&args).await?;
        eventually(SOON, "the API server to be answered again", || labelled(&world, "again")).await?;
        ensure!(bundle(&world).await? == first, "another CA");
        Ok(())
    })
    .await
}

/// The parameters of a certificate that is to be renewed `due` seconds from now, and ends `third` seconds later.
fn lasting(names: Vec<String>, due: i64, third: i64) -> Result<CertificateParams> {
    let now = jiff::Timestamp::now().as_second();
    let at = time::OffsetDateTime::from_unix_timestamp;
    let mut params = CertificateParams::new(names)?;
    (params.not_before, params.not_after) = (at(now + due - 2 * third)?, at(now + due + third)?);
    Ok(params)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a9_the_hosts_own_certificates_are_renewed_under_reviews_first_the_one_that_is_served_then_the_ca() -> Result<()>
{
    with_world(options(), async |world: Arc<World>| {
        world.plugins.grant("gatekeeper", &grant())?;
        world.plugins.place("gatekeeper.wasm", &gatekeeper("yes")?)?;
        let (home, port) = service(&world).await?;
        let name = format!("oarlock.{home}.svc");
        // Served until it is due in 20 s, and by a CA that is due in 40 s and ends 30 s later.
        let (key, serving) = (KeyPair::generate()?, KeyPair::generate()?);
        let mut authority = lasting(Vec::new(), 40, 30)?;
        authority.distinguished_name.push(rcgen::DnType::CommonName, "old");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let old = authority.self_signed(&key)?.pem();
        let names = vec![name.clone(), format!("oarlock.{home}"), format!("{name}.cluster.local")];
        let ca_key = key.serialize_pem();
        let first = lasting(names, 20, 60)?.signed_by(&serving, &Issuer::new(authority, key))?.pem();
        let encoded = |text: &str| base64::prelude::BASE64_STANDARD.encode(text);
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": {"name": "oarlock-admission"},
            "data": {"ca.crt": encoded(&old), "ca.key": encoded(&ca_key), "tls.crt": encoded(&first),
                "tls.key": encoded(&serving.serialize_pem())}});
        let secrets = format!("/api/v1/namespaces/{home}/secrets");
        world.cluster.create(&secrets, &secret).await?;
        let (at, of) = (format!("127.0.0.1:{port}"), format!("{home}/oarlock"));
        world.start_host_with(&["--admission-addr", at.as_str(), "--admission-service", of.as_str()]).await?;
        eventually(SOON, "the old CA to be published", || async {
            ensure!(bundle(&world).await?.contains(&old), "another one");
            Ok(())
        })
        .await?;
        let base = format!("https://{at}");
        let trusting = |ca: &str| Ok::<_, anyhow::Error>(Door { client: HttpClient::with_ca_named(&base, ca.as_bytes(), &name)? });
        // A connection that is kept over all of it, by one that trusts the old CA alone; and an API server that goes on creating.
        let done = Arc::new(AtomicBool::new(false));
        let kept = under_way(&done, Arc::new(trusting(&old)?), async |door: Arc<Door>, _| {
            ensure!(allowed(&door.ask("/mutate/gatekeeper/0", &review(&config_map("label"))).await?), "refused");
            Ok(())
        });
        let created = under_way(&done, Arc::clone(&world), async |world: Arc<World>, number| {
            labelled(&world, &format!("made-{number}")).await
        });
        let stored = async |part: &str| {
            let secret = world.cluster.get(&format!("{secrets}/oarlock-admission")).await?.context("no Secret")?;
            let text = text(&secret, &format!("/data/{part}"));
            anyhow::Ok(String::from_utf8(base64::prelude::BASE64_STANDARD.decode(text)?)?)
        };
        eventually(SOON, "another certificate of the same CA", || async {
            ensure!(stored("tls.crt").await? != first, "the first one");
            Ok(())
        })
        .await?;
        eventually(SOON, "another CA, published beside the old one", || async {
            let there = bundle(&world).await?;
            ensure!(there != old && there.ends_with(&old) && stored("ca.crt").await? == there, "{there}");
            Ok(())
        })
        .await?;
        let new = bundle(&world).await?.trim_end_matches(old.as_str()).to_owned();
        ensure!(new.contains("BEGIN CERTIFICATE"), "{new}");
        eventually(SOON, "a certificate of the new CA", || async {
            let door = trusting(&new)?;
            ensure!(allowed(&door.ask("/mutate/gatekeeper/0", &review(&config_map("label"))).await?), "refused");
            Ok(())
        })
        .await?;
        let stranger = trusting(&old)?.ask("/mutate/gatekeeper/0", &review(&config_map("label"))).await;
        ensure!(stranger.is_err(), "the old CA is still served");
        eventually(SOON, "the old CA to go when it has ended", || async {
            ensure!(bundle(&world).await? == new, "it is there");
            Ok(())
        })
        .await?;
        done.store(true, Ordering::Relaxed);
        ensure!(kept.await?? > 0 && created.await?? > 0, "nobody asked");
        Ok(())
    })
    .await
}

/// Does something again and again until it is `done`, with the number of the time; answers how often.
fn under_way<T: Send + Sync + 'static, F>(
    done: &Arc<AtomicBool>,
    with: Arc<T>,
    work: impl Fn(Arc<T>, u32) -> F + Send + 'static,
) -> tokio::task::JoinHandle<Result<u32>>
where
    F: Future<Output = Result<()>> + Send,
{
    let done = Arc::clone(done);
    tokio::spawn(async move {
        let mut times = 0;
        while !done.load(Ordering::Relaxed) {
            work(Arc::clone(&with), times).await.with_context(|| format!("time {times}"))?;
            times += 1;
            // Enough to be under way at every moment that counts; the machine has others to serve.
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        Ok(times)
    })
}
