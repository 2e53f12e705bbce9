//! Envoy, as a process of the node, reads the ConfigMap that the kubelet mounts for a Pod.

use super::Outcome;
use super::node::{Node, PATIENCE};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{HttpClient, Process, eventually, repository_root, text, tools};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Where Pods mount the ConfigMap, and what its files name.
const MOUNTED: &str = "/etc/envoy-traffic";

/// A folder that only this process sees at the place of the mount: `FOLDER SCRATCH PROGRAM ARGUMENT…`.
const AT_ITS_PLACE: &str = "mount -t overlay overlay -o lowerdir=/etc,upperdir=\"$2/upper\",workdir=\"$2/work\" /etc \
    && mkdir /etc/envoy-traffic && mount --bind \"$1\" /etc/envoy-traffic && shift 2 && exec \"$@\"";

/// A destination that is added has a new file, whose link the kubelet makes after the change that Envoy notices.
pub(crate) async fn a_destination_that_is_added_reaches_envoy(node: &Node) -> Result<Outcome> {
    let Some([program]) = tools(["envoy"])? else { return Ok(Outcome::Skipped("no envoy".to_owned())) };
    node.samples().await?;
    let pod = |name: &str, labels: Value, volumes: Value| {
        let mounts: Value =
            if volumes.is_null() { json!([]) } else { json!([{"name": "traffic", "mountPath": MOUNTED}]) };
        json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "labels": labels, "annotations": {"initializer.kubernetes.io/envoy": "false"}},
            "spec": {"terminationGracePeriodSeconds": 0, "volumes": volumes,
                "containers": [{"name": "c", "image": "registry.k8s.io/pause:3.10", "volumeMounts": mounts}]}})
    };
    let version =
        |version: &str| pod(&format!("reviews-{version}"), json!({"app": "reviews", "version": version}), Value::Null);
    let mount = json!([{"name": "traffic", "configMap": {"name": "envoy-traffic"}}]);
    let all = json!({"apiVersion": "v1", "kind": "List", "items": [version("v1"), version("v2"), pod("reader", json!({}), mount)]});
    let file = node.checkout().join("traffic-pods.json");
    fs::write(&file, all.to_string())?;
    node.run("kubectl label --overwrite namespace default initializer.kubernetes.io/envoy=true").await?;
    let makes = format!("kubectl apply -f {}", file.display());
    eventually(PATIENCE, "the Pods to be taken", || node.run(&makes)).await?;
    apply(node, &["v1"]).await?;
    node.run("kubectl wait --for=condition=Ready pod/reviews-v1 pod/reviews-v2 pod/reader --timeout=300s").await?;
    let uid =
        text(&node.cluster.get("/api/v1/namespaces/default/pods/reader").await?.context("no Pod")?, "/metadata/uid");
    let mounted = node.kept().join(format!("kubelet/pods/{uid}/volumes/kubernetes.io~configmap/traffic"));
    ensure!(mounted.join("..data/cds.json").is_file(), "no {}", mounted.display());
    let (_envoy, admin) = envoy(node, &program, &mounted).await?;
    has(&admin, "v1").await?;
    apply(node, &["v1", "v2"]).await?;
    // The kubelet looks at the mounts of a Pod that changes, and at others each minute.
    node.run("kubectl annotate pod reader looked=again").await?;
    has(&admin, "v2").await?;
    node.run("kubectl delete trafficroute reviews && kubectl delete pod reviews-v1 reviews-v2 reader --timeout=300s")
        .await?;
    node.run("kubectl label namespace default initializer.kubernetes.io/envoy-").await?;
    Ok(Outcome::Ran)
}

/// `kubectl apply` of the route with these destinations.
async fn apply(node: &Node, versions: &[&str]) -> Result<()> {
    let weight = 100 / versions.len();
    let of = |version: &&str| json!({"name": version, "weight": weight, "port": 80, "pods": {"app": "reviews", "version": version}});
    let destinations: Vec<Value> = versions.iter().map(of).collect();
    let route = json!({"apiVersion": "traffic.oarlock.dev/v1alpha1", "kind": "TrafficRoute", "metadata": {"name": "reviews", "namespace": "default"},
        "spec": {"host": "reviews", "rules": [{"destinations": destinations}]}});
    let file = node.checkout().join("route.json");
    fs::write(&file, route.to_string())?;
    node.run(&format!("kubectl apply -f {}", file.display())).await?;
    node.run("kubectl wait --for=condition=Programmed trafficroute/reviews --timeout=300s").await.map(drop)
}

/// Envoy with the configuration of plugins/traffic/envoy.yaml, and its admin server.
async fn envoy(node: &Node, program: &Path, mounted: &Path) -> Result<(Process, HttpClient)> {
    let scratch = node.checkout().join("envoy");
    for folder in ["upper", "work"] {
        fs::create_dir_all(scratch.join(folder))?;
    }
    let shipped = fs::read_to_string(repository_root().join("plugins/traffic/envoy.yaml"))?;
    let maps: Vec<Value> = serde_saphyr::from_multiple(&shipped)?;
    let bootstrap = maps.iter().find_map(|map| map.pointer("/data/envoy.yaml")?.as_str()).context("no envoy.yaml")?;
    let config = scratch.join("envoy.yaml");
    fs::write(&config, bootstrap.replace("0.0.0.0, port_value: 9901", "127.0.0.1, port_value: 19901"))?;
    let shown = |path: &Path| path.display().to_string();
    let start = ["--mount", "sh", "-c", AT_ITS_PLACE, "sh"].map(str::to_owned);
    let envoy = ["--service-cluster", "test", "--service-node", "test", "--disable-hot-restart", "--config-path"]
        .map(str::to_owned);
    let args = [&start[..], &[shown(mounted), shown(&scratch), shown(program)], &envoy, &[shown(&config)]].concat();
    let process = Process::spawn("envoy", Path::new("unshare"), &args, &[], &node.kept().join("log/envoy.log"), false)?;
    Ok((process, HttpClient::new("http://127.0.0.1:19901")))
}

/// Waits until Envoy has an endpoint of a destination.
async fn has(admin: &HttpClient, version: &str) -> Result<()> {
    eventually(PATIENCE, &format!("{version} in Envoy"), || async {
        let clusters = admin.get("/clusters").await?.text();
        ensure!(clusters.contains(&format!("default/reviews/{version}::10.244.")), "{clusters}");
        Ok(())
    })
    .await
}
