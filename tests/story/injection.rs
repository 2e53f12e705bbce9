//! A Pod gets the envoy container before it is stored, and one that makes no sense is refused.

use super::Story;
use crate::harness::{SOON, eventually, text};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

/// What is injected.
const INITIALIZER: &str = "containers:
  - name: envoy
    image: envoyproxy/envoy:v1.36.2
    args: [--config-path, /etc/envoy/envoy.yaml]
    volumeMounts:
      - {name: envoy, mountPath: /etc/envoy}
volumes:
  - name: envoy
    configMap: {name: envoy}
";

/// The Pod of the story: its name, and one container.
const POD: &str = "apiVersion: v1
kind: Pod
metadata: {name: myapp, annotations: {initializer.kubernetes.io/envoy: \"true\"}}
spec: {containers: [{name: myapp, image: \"myapp:1\"}]}
";

impl Story<'_> {
    pub(super) async fn injection(&self) -> Result<()> {
        let world = self.world;
        for (name, data) in
            [("envoy-initializer", json!({"config": INITIALIZER})), ("envoy", json!({"envoy.yaml": "admin: {}"}))]
        {
            let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data});
            world.cluster.create(&format!("/api/v1/namespaces/{}/configmaps", world.namespace), &object).await?;
        }
        let (status, _) = world.stop_host(SOON).await?;
        ensure!(status.success(), "the host ended with {status}");
        world.start_host_answering(&["envoy-injector", "pod-network"]).await?;
        world.narrator.step("the host is started with its admission server; the API server now asks it about Pods");

        let file = world.folder().join("pod.yaml");
        std::fs::write(&file, POD)?;
        let file = file.display().to_string();
        // The webhook is there before the plugin's cache has the ConfigMap of a moment ago.
        eventually(SOON, "kubectl apply of the Pod", || async { self.kubectl(&["apply", "-f", &file]).await }).await?;
        let pod = world.cluster.get(&world.pod_path("myapp")).await?.context("no Pod")?;
        let names: Vec<String> = containers(&pod).iter().map(|container| text(container, "/name")).collect();
        ensure!(names == ["myapp", "envoy"], "{names:?}");
        world
            .narrator
            .step("kubectl apply of a Pod with one container: it is stored with the envoy container beside it");
        self.show(&pod);

        let unknown = POD.replace("initializer.kubernetes.io/envoy: \"true\"", "samplecrd.k8s.io/network: nowhere");
        std::fs::write(&file, unknown.replace("name: myapp, ann", "name: lost, ann"))?;
        let refused = self.kubectl(&["apply", "-f", &file]).await.err().context("it was taken")?;
        let refused = format!("{refused:#}");
        ensure!(refused.contains("plugin pod-network") && refused.contains("nowhere"), "{refused}");
        world.narrator.step("a Pod that names a Network that does not exist is refused, and the user is told why");
        world.narrator.show(&refused);
        world.delete_pod("myapp").await
    }
}

fn containers(pod: &Value) -> Vec<Value> {
    pod.pointer("/spec/containers").and_then(Value::as_array).cloned().unwrap_or_default()
}
