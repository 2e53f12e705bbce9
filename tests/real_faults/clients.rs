//! kube-apiserver shows webhooks a client certificate when an AdmissionConfiguration says so.

use super::{TURNS, skipped};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{
    Cluster, ControlPlane, ControlPlaneOptions, Grant, Host, HostOptions, Identity, PluginDir, SOON, api_code,
    eventually, text,
};
use serde_json::{Value, json};
use std::path::Path;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A host with the gatekeeper that admits the clients of this CA alone.
async fn host(plane: &ControlPlane, folder: &Path, ca: &Path) -> Result<Host> {
    Host::start(&HostOptions {
        plugins: folder.join("plugins"),
        kubeconfig: plane.kubeconfig(),
        resync_seconds: None,
        args: ["--admission-addr", "127.0.0.1:0", "--admission-client-ca", &ca.display().to_string()]
            .map(str::to_owned)
            .to_vec(),
        environment: Vec::new(),
        log: folder.join("host.log"),
        open_files: None,
        own_group: false,
    })
    .await
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t4_kube_apiserver_is_admitted_with_its_client_certificate_and_refused_with_another() -> Result<()> {
    if std::env::var_os("KUBEBUILDER_ASSETS").is_none_or(|folder| folder.is_empty()) {
        skipped("KUBEBUILDER_ASSETS is not set: export KUBEBUILDER_ASSETS=$(setup-envtest use 1.36 -p path)");
        return Ok(());
    }
    ControlPlane::available().map_err(anyhow::Error::msg)?;
    let _turn = TURNS.acquire().await?;
    let folder = tempfile::Builder::new().prefix("oarlock-real-").tempdir()?;
    let identity = Identity::write(&folder.path().join("kube-apiserver"), "kube-apiserver")?;
    let other = Identity::write(&folder.path().join("other"), "other")?;
    let options = ControlPlaneOptions {
        apiserver_flags: vec![format!(
            "--admission-control-config-file={}",
            identity.admission_configuration().display()
        )],
        without_controllers: true,
        ..ControlPlaneOptions::default()
    };
    let plane = ControlPlane::start(folder.path(), options).await?;
    let cluster = Cluster::join(plane.kubeconfig(), folder.path()).await?;
    let plugins = PluginDir::create(folder.path().join("plugins"))?;
    let grant = Grant::nothing().rule("", &["configmaps"], &["get", "list", "watch"]).all_admission();
    plugins.add("gatekeeper", "gatekeeper", &grant)?;

    let running = host(&plane, folder.path(), &identity.ca()).await?;
    eventually(SOON, "an object to pass through the host", || async {
        let made = cluster.create(&format!("{CONFIG_MAPS}?dryRun=All"), &config_map("one")).await?;
        ensure!(text(&made, "/metadata/labels/gate") == "yes", "{made}");
        Ok(())
    })
    .await?;
    // An authenticated review may leave a trace.
    cluster.create(CONFIG_MAPS, &config_map("one")).await?;
    let warn = json!({"metadata": {"annotations": {"gate": "warn"}, "labels": {"gate": null}}});
    cluster.merge_patch(&format!("{CONFIG_MAPS}/one"), &warn).await?;
    eventually(SOON, "the event", || async {
        let events = cluster.list("/api/v1/namespaces/default/events").await?;
        ensure!(events.iter().any(|event| text(event, "/reason") == "Seen"), "none");
        Ok(())
    })
    .await?;
    running.stop(SOON).await?;

    let _running = host(&plane, folder.path(), &other.ca()).await?;
    eventually(SOON, "the API server to be refused in the handshake", || async {
        let refused = cluster.create(CONFIG_MAPS, &config_map("two")).await.err().context("it passed")?;
        let words = format!("{refused:#}");
        ensure!(api_code(&refused) == Some(500) && words.contains("tls:"), "{words}");
        Ok(())
    })
    .await
}
