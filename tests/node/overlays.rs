//! Every overlay of deploy/, with the plugins where it takes them from.

use super::Outcome;
use super::node::{HOME, Node, PATIENCE};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{SHIPPED, built_plugin, commands_of_comment, eventually, text, with_another_digest};
use serde_json::{Value, json};
use std::{fs, path::Path};

pub(crate) async fn development_is_one_host_that_says_more(node: &Node) -> Result<Outcome> {
    node.samples().await?;
    node.run("kubectl apply -k deploy/overlays/development").await?;
    node.rolled_out().await?;
    node.all_active(SHIPPED.len()).await?;
    let hosts = node.hosts().await?;
    let [host] = hosts.as_slice() else { anyhow::bail!("{} hosts", hosts.len()) };
    let log = node.run(&format!("kubectl -n oarlock logs {}", text(host, "/metadata/name"))).await?;
    ensure!(log.contains("\"level\":\"DEBUG\""), "nothing is said at the level of debugging");
    Ok(Outcome::Ran)
}

/// Waits until every host runs the plugin `deployment-network` with this digest, or any; answers the digest.
async fn runs(node: &Node, digest: Option<&str>) -> Result<String> {
    eventually(PATIENCE, &format!("deployment-network to run with {digest:?}"), || async {
        let hosts = node.hosts().await?;
        ensure!(!hosts.is_empty(), "no host");
        let mut found = String::new();
        for host in hosts {
            let name = text(&host, "/metadata/name");
            let plugin = node.plugin(&name, "deployment-network").await?;
            found = text(&plugin, "/digest");
            ensure!(
                text(&plugin, "/state") == "active" && digest.is_none_or(|digest| digest == found),
                "{name}: {plugin}"
            );
            ensure!(host.pointer("/status/containerStatuses/0/restartCount") == Some(&json!(0)), "{host}");
        }
        Ok(found)
    })
    .await
}

/// The digest of a file as `oarlock plugins` shows it.
async fn digest(node: &Node, file: &Path) -> Result<String> {
    let said = node.run(&format!("sha256sum {}", file.display())).await?;
    Ok(format!("sha256:{}", said.split_whitespace().next().unwrap_or_default()))
}

/// A swap to another file and back, whatever brings it to the hosts; their Pods stay.
async fn there_and_back(node: &Node, file: &Path, bring: impl AsyncFn() -> Result<()>) -> Result<()> {
    let before = runs(node, None).await?;
    let hosts: Vec<String> = node.hosts().await?.iter().map(|host| text(host, "/metadata/uid")).collect();
    let first = fs::read(file)?;
    for content in [with_another_digest(&first, "newer"), first] {
        // As a pipeline should: beside it, then renamed.
        let beside = file.with_extension("new");
        fs::write(&beside, content)?;
        fs::rename(beside, file)?;
        let wanted = digest(node, file).await?;
        bring().await?;
        runs(node, Some(&wanted)).await?;
    }
    ensure!(runs(node, None).await? == before, "it is not what it was");
    let after: Vec<String> = node.hosts().await?.iter().map(|host| text(host, "/metadata/uid")).collect();
    ensure!(hosts == after, "hosts were replaced");
    Ok(())
}

/// The commands of its comment, after the samples that were applied as the guide says.
pub(crate) async fn d5_plugins_of_a_config_map_are_swapped_and_brought_back(node: &Node) -> Result<Outcome> {
    node.samples().await?;
    node.run("kubectl create namespace shop --dry-run=client -o yaml | kubectl apply -f -").await?;
    node.run("kubectl -n shop create deployment other --image=registry.k8s.io/pause:3.10").await?;
    let commands = commands_of_comment("deploy/overlays/plugins-configmap/kustomization.yaml")?;
    for line in &commands {
        node.run(line).await?;
    }
    node.rolled_out().await?;
    node.all_active(1).await?;
    let apply = commands.iter().find(|line| line.starts_with("kubectl apply")).context("no kubectl apply")?;
    let file = node.checkout().join("deploy/overlays/plugins-configmap/plugins/deployment-network.wasm");
    there_and_back(node, &file, async || node.run(apply).await.map(drop)).await?;
    // The Deployment of a namespace that is not granted is none of its business.
    for host in node.hosts().await? {
        let plugin = node.plugin(&text(&host, "/metadata/name"), "deployment-network").await?;
        ensure!(plugin.get("errors") == Some(&json!(0)), "{plugin}");
    }
    node.run("kubectl delete namespace shop --timeout=300s && kubectl -n oarlock delete configmap oarlock-plugins")
        .await?;
    Ok(Outcome::Ran)
}

/// A volume on the node's disk stands for one of a storage class.
pub(crate) async fn plugins_of_a_volume_are_swapped(node: &Node) -> Result<Outcome> {
    node.samples().await?;
    let folder = node.kept().join("volume");
    fs::create_dir_all(&folder)?;
    let file = folder.join("deployment-network.wasm");
    fs::copy(built_plugin("deployment-network")?, &file)?;
    fs::copy(
        node.checkout().join("deploy/components/samples/grants/deployment-network.yaml"),
        folder.join("deployment-network.yaml"),
    )?;
    let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "oarlock-plugins"}, "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"], "persistentVolumeReclaimPolicy": "Retain",
        "hostPath": {"path": folder, "type": "Directory"}}});
    let manifest = node.checkout().join("volume.json");
    fs::write(&manifest, volume.to_string())?;
    node.run(&format!("kubectl apply -f {}", manifest.display())).await?;
    node.run("kubectl apply -k deploy/overlays/plugins-volume").await?;
    node.rolled_out().await?;
    node.all_active(1).await?;
    there_and_back(node, &file, async || Ok(())).await?;
    node.run("kubectl -n oarlock delete deployment oarlock && kubectl -n oarlock delete pvc oarlock-plugins --timeout=90s && kubectl delete pv oarlock-plugins --timeout=30s")
        .await?;
    Ok(Outcome::Ran)
}

pub(crate) async fn d9_plugins_of_an_image(node: &Node) -> Result<Outcome> {
    let version =
        node.run("kubectl get nodes -o jsonpath='{.items[0].status.nodeInfo.containerRuntimeVersion}'").await?;
    if version.starts_with("containerd://1.") {
        return Ok(Outcome::Skipped(format!("{version} mounts no images, containerd 2.1 does")));
    }
    node.samples().await?;
    node.run("kubectl apply -k deploy/overlays/plugins-image").await?;
    node.rolled_out().await?;
    node.all_active(SHIPPED.len()).await?;
    for host in node.hosts().await? {
        let mounted = host.pointer("/spec/containers/0/volumeMounts").and_then(Value::as_array);
        ensure!(mounted.into_iter().flatten().any(|one| text(one, "/mountPath") == "/plugins"), "{host}");
        let root = format!("/proc/{}/root/plugins", Node::process_of(&text(&host, "/metadata/name"))?);
        ensure!(fs::read_dir(&root)?.count() == 2 * SHIPPED.len(), "{root} is not the image");
    }
    Ok(Outcome::Ran)
}

/// A registry in the cluster with a certificate of its own authority; `oarlock push` fills it, and the hosts pull from it.
pub(crate) async fn plugins_of_a_registry(node: &Node) -> Result<Outcome> {
    node.samples().await?;
    let certificates = node.kept().join("registry");
    if !certificates.join("tls.crt").is_file() {
        return Ok(Outcome::Skipped("no registry was packed: docker-registry is missing".to_owned()));
    }
    let labels = json!({"app": "registry"});
    let variables = [
        ("REGISTRY_STORAGE_FILESYSTEM_ROOTDIRECTORY", "/data"),
        ("REGISTRY_HTTP_ADDR", "0.0.0.0:443"),
        ("REGISTRY_HTTP_TLS_CERTIFICATE", "/tls/tls.crt"),
        ("REGISTRY_HTTP_TLS_KEY", "/tls/tls.key"),
    ];
    let env: Vec<Value> = variables.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    let objects = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "registry"}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "registry", "namespace": "registry"},
            "spec": {"selector": labels, "clusterIP": "10.96.0.42", "ports": [{"port": 443}]}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "registry", "namespace": "registry"},
            "data": {"config.yml": "version: 0.1\nstorage: {filesystem: {rootdirectory: /data}}\nhttp: {addr: ':443'}\n"}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "registry", "namespace": "registry", "labels": labels}, "spec": {
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "registry", "image": "localhost/registry:1", "args": ["serve", "/configuration/config.yml"], "env": env,
                "readinessProbe": {"tcpSocket": {"port": 443}, "periodSeconds": 1},
                "volumeMounts": [{"name": "tls", "mountPath": "/tls"}, {"name": "data", "mountPath": "/data"},
                    {"name": "configuration", "mountPath": "/configuration"}]}],
            "volumes": [{"name": "tls", "secret": {"secretName": "registry"}}, {"name": "data", "emptyDir": {}},
                {"name": "configuration", "configMap": {"name": "registry"}}]}},
    ]});
    let manifest = node.checkout().join("registry.json");
    fs::write(&manifest, objects.to_string())?;
    let (crt, key) = (certificates.join("tls.crt"), certificates.join("tls.key"));
    node.run("kubectl create namespace registry").await?;
    node.run(&format!(
        "kubectl -n registry create secret tls registry --cert={} --key={}",
        crt.display(),
        key.display()
    ))
    .await?;
    node.run(&format!(
        "kubectl apply -f {} && kubectl -n registry wait --for=condition=Ready pod/registry --timeout=300s",
        manifest.display()
    ))
    .await?;
    eventually(PATIENCE, "the registry to listen behind its Service", || async {
        tokio::net::TcpStream::connect("10.96.0.42:443").await.map(drop).context("10.96.0.42:443")
    })
    .await?;
    let authority = certificates.join("ca.crt");
    let reference = format!("10.96.0.42:443/team/deployment-network:{}", env!("CARGO_PKG_VERSION"));
    let push = async |file: &Path| {
        node.run(&format!("oarlock push {} {reference} --registry-ca {}", file.display(), authority.display())).await
    };
    let file = node.checkout().join("pushed.wasm");
    fs::copy(built_plugin("deployment-network")?, &file)?;
    push(&file).await?;
    // What the overlay says to change: where the registry is. And whom it is trusted by.
    let overlay = "deploy/overlays/plugins-registry/kustomization.yaml";
    node.edit(overlay, "registry.example/team/deployment-network:0.1.0", &reference)?;
    let trust = format!(
        "value: --plugins=oci://{reference}\n      - {{op: add, path: /spec/template/spec/containers/0/args/-, value: --registry-ca=/etc/oarlock/secrets/registry-ca}}\n      \
         - {{op: add, path: /spec/template/spec/containers/0/args/-, value: --oci-poll-seconds=1}}"
    );
    node.edit(overlay, &format!("value: --plugins=oci://{reference}"), &trust)?;
    node.run(&format!(
        "kubectl -n {HOME} create secret generic oarlock-secrets --from-file=registry-ca={}",
        authority.display()
    ))
    .await?;
    node.run("kubectl apply -k deploy/overlays/plugins-registry").await?;
    node.rolled_out().await?;
    there_and_back(node, &file, async || push(&file).await.map(drop)).await?;
    node.run("kubectl delete namespace registry --timeout=300s && kubectl -n oarlock delete secret oarlock-secrets")
        .await?;
    Ok(Outcome::Ran)
}
