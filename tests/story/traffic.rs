//! One apply shifts the traffic between two versions of a workload, and no Pod is touched.

use super::Story;
use crate::harness::{SOON, eventually, repository_root, text};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs};

/// The ConfigMap that Envoy reads in each Pod.
const CONFIG_MAP: &str = "envoy-traffic";

impl Story<'_> {
    /// Takes the plugin traffic, and a host with its admission server.
    pub(super) async fn traffic(&self) -> Result<()> {
        let world = self.world;
        let folder = repository_root().join("plugins/traffic");
        let shop = world.cluster.fresh_namespace().await?;
        let (config_map, pods) =
            (format!("/api/v1/namespaces/{shop}/configmaps/{CONFIG_MAP}"), format!("/api/v1/namespaces/{shop}/pods"));
        for (version, address) in [("v1", "10.0.0.1"), ("v2", "10.0.0.2")] {
            let pod = json!({"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": version, "labels": {"app": "reviews", "version": version,
                    "initializer.kubernetes.io/envoy-injected": "true"}},
                "spec": {"containers": [{"name": "web", "image": "web:1"}],
                    "volumes": [{"name": "traffic", "configMap": {"name": CONFIG_MAP}}]}});
            world.cluster.create(&pods, &pod).await?;
            let status = json!({"status": {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}],
                "conditions": [{"type": "Ready", "status": "True"}]}});
            world.cluster.merge_patch(&format!("{pods}/{version}/status"), &status).await?;
        }
        world.cluster.kubectl(&["label", "namespace", &shop, "initializer.kubernetes.io/envoy=true"]).await?;
        let before = world.cluster.list(&pods).await?;

        let example = fs::read_to_string(folder.join("example.yaml"))?;
        let file = world.folder().join("route.yaml");
        for (v1, v2) in [(90, 10), (50, 50), (0, 100)] {
            let route = example
                .replace("weight: 90", &format!("weight: {v1}"))
                .replace("{name: v2, weight: 10,", &format!("{{name: v2, weight: {v2},"));
            fs::write(&file, route)?;
            world.cluster.kubectl(&["--namespace", &shop, "apply", "-f", &file.display().to_string()]).await?;
            let wanted = BTreeMap::from([("v1".to_owned(), v1), ("v2".to_owned(), v2)]);
            eventually(SOON, "the weights in what Envoy reads", || async {
                let map = world.cluster.get(&config_map).await?.context("no ConfigMap")?;
                let weights = weights(&map)?;
                ensure!(weights == wanted, "{weights:?}");
                Ok(())
            })
            .await?;
        }
        let route = format!("/apis/traffic.oarlock.dev/v1alpha1/namespaces/{shop}/trafficroutes/reviews");
        let programmed = eventually(SOON, "the status", || async {
            let route = world.cluster.get(&route).await?.context("no route")?;
            let current = route.pointer("/metadata/generation") == route.pointer("/status/observedGeneration");
            ensure!(current && route.pointer("/status/pods") == Some(&json!(2)), "{route}");
            Ok(route)
        })
        .await?;
        let after = world.cluster.list(&pods).await?;
        let versions =
            |pods: &[Value]| pods.iter().map(|pod| text(pod, "/metadata/resourceVersion")).collect::<Vec<_>>();
        ensure!(versions(&before) == versions(&after), "a Pod was touched");
        world.narrator.step(
            "kubectl apply of a TrafficRoute, three times: Envoy's configuration goes from 90-10 over 50-50 to 0-100, and no Pod is touched",
        );
        self.show(&programmed);
        Ok(())
    }
}

/// The weights of the last route in the RDS file, by the name of the destination.
fn weights(map: &Value) -> Result<BTreeMap<String, u64>> {
    let rds: Value = serde_json::from_str(&text(map, "/data/rds.json"))?;
    let routes = rds.pointer("/resources/0/virtual_hosts/0/routes").and_then(Value::as_array).context("no routes")?;
    let last = routes.last().context("no route")?;
    let clusters =
        last.pointer("/route/weighted_clusters/clusters").and_then(Value::as_array).context("no clusters")?;
    let weight = |cluster: &Value| {
        let name = text(cluster, "/name").rsplit('/').next().unwrap_or_default().to_owned();
        Some((name, cluster.get("weight")?.as_u64()?))
    };
    clusters.iter().map(|cluster| weight(cluster).context("no weight")).collect()
}
