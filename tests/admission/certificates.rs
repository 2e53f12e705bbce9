//! Certificates: from files that change, and from a Secret that replicas share.

use super::{Door, allowed, config_map, configuration, gatekeeper, grant, options, review};
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
fn write(folder: &Path, name: &str) -> Result<String> {
    let key = KeyPair::generate()?;
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(rcgen::DnType::CommonName, name);
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = authority.self_signed(&key)?.pem();
    let serving = KeyPair::generate()?;
    let certificate =
        CertificateParams::new(vec!["127.0.0.1".to_owned()])?.signed_by(&serving, &Issuer::new(authority, key))?;
    for (file, content) in [("ca.crt", &ca), ("tls.crt", &certificate.pem()), ("tls.key", &serving.serialize_pem())] {
        fs::write(folder.join(file), content)?;
    }
    Ok(ca)
}

/// The CA bundle the API server is told.
async fn bundle(world: &World) -> Result<String> {
    let config = configuration(world, "mutating").await?;
    let encoded = text(&config, "/webhooks/0/clientConfig/caBundle");
    Ok(String::from_utf8(base64::prelude::BASE64_STANDARD.decode(encoded)?)?)
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
        let first = write(&folder, "first")?;
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
        let second = write(&folder, "second")?;
        eventually(SOON, "the second CA, and a certificate it issued", || async {
            ensure!(bundle(&world).await? == second, "the first one");
            let door = trusting(&world, &second).await?;
            ensure!(allowed(&door.ask("/mutate/gatekeeper/0", &review(&config_map("label"))).await?), "refused");
            Ok(())
        })
        .await?;
        done.store(true, Ordering::Relaxed);
        ensure!(asking.await?? > 0, "nobody asked");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_a_service_hosts_share_the_ca_of_a_secret_and_the_api_server_trusts_it() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.plugins.grant("gatekeeper", &grant())?;
        world.plugins.place("gatekeeper.wasm", &gatekeeper("yes")?)?;
        let home = world.cluster.fresh_namespace().await?;
        // A Service that leads to this machine: the port is found before the host is started.
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "oarlock"},
            "spec": {"ports": [{"port": 443, "targetPort": port}]}});
        world.cluster.create(&format!("/api/v1/namespaces/{home}/services"), &service).await?;
        let slice = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": "oarlock-1", "labels": {"kubernetes.io/service-name": "oarlock"}},
            "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": true}}], "ports": [{"port": port, "name": ""}]});
        world.cluster.create(&format!("/apis/discovery.k8s.io/v1/namespaces/{home}/endpointslices"), &slice).await?;
        let (at, of) = (format!("127.0.0.1:{port}"), format!("{home}/oarlock"));
        let args = ["--admission-addr", at.as_str(), "--admission-service", of.as_str()];
        world.start_host_with(&args).await?;
        let first = eventually(SOON, "the webhook configuration", || bundle(&world)).await?;
        let labelled = |name: &'static str| {
            let world = Arc::clone(&world);
            async move {
                let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
                let path = format!("/api/v1/namespaces/{}/configmaps", world.namespace);
                let made = world.cluster.create(&path, &object).await?;
                ensure!(text(&made, "/metadata/labels/gate") == "yes", "{made}");
                Ok(())
            }
        };
        labelled("through-the-service").await?;
        // The host's own namespace is never asked about.
        let own = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "own"}});
        let made = world.cluster.create(&format!("/api/v1/namespaces/{home}/configmaps"), &own).await?;
        ensure!(made.pointer("/metadata/labels/gate").is_none(), "{made}");
        let secret = world.cluster.get(&format!("/api/v1/namespaces/{home}/secrets/oarlock-admission")).await?.context("no Secret")?;
        let keys: Vec<&String> = secret.get("data").and_then(Value::as_object).context("no data")?.keys().collect();
        ensure!(keys == ["ca.crt", "ca.key", "tls.crt", "tls.key"], "{keys:?}");
        // Another host, or the same one again, takes what is there.
        world.stop_host(SOON).await?;
        world.start_host_with(&args).await?;
        eventually(SOON, "the API server to be answered again", || labelled("again")).await?;
        ensure!(bundle(&world).await? == first, "another CA");
        Ok(())
    })
    .await
}
