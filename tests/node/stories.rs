//! What users of the shipped plugins see, with Pods that run.

use super::Outcome;
use super::node::{Node, PATIENCE, is_ready};
use anyhow::{Context, Result, bail, ensure};
use oarlock_tests::harness::{HttpClient, eventually, repository_root, text};
use serde_json::{Value, json};
use std::fs;

/// A Deployment, its Network, the network in Neutron, its Pods; and all of it gone again.
pub(crate) async fn a_deployment_gets_its_network_and_its_pods_run(node: &Node) -> Result<Outcome> {
    node.samples().await?;
    let mut deployment: Value =
        serde_saphyr::from_str(&fs::read_to_string(repository_root().join("tests/fixtures/deployment.yaml"))?)?;
    if let Some(image) = deployment.pointer_mut("/spec/template/spec/containers/0/image") {
        *image = json!("registry.k8s.io/pause:3.10");
    }
    let file = node.checkout().join("deployment.json");
    fs::write(&file, deployment.to_string())?;
    node.run(&format!("kubectl -n default apply -f {}", file.display())).await?;
    node.run("kubectl -n default rollout status deployment/shop --timeout=300s").await?;
    let path = "/apis/samplecrd.k8s.io/v1/namespaces/default/networks/shop";
    eventually(PATIENCE, "the Network of shop", || async { node.cluster.get(path).await?.context("not yet") }).await?;
    node.network_is_ready("default", "shop").await?;
    let network = node.cluster.get(path).await?.context("it went")?;
    let id = text(&network, "/status/networkId");
    let made = async |id: &str| {
        Ok::<_, anyhow::Error>(node.neutron("networks").await?.iter().any(|one| text(one, "/id") == id))
    };
    ensure!(!id.is_empty() && made(&id).await?, "{network}");
    node.run("kubectl -n default delete deployment shop --timeout=300s").await?;
    eventually(PATIENCE, "the Network to go with its Deployment", || async {
        ensure!(node.cluster.get(path).await?.is_none() && !made(&id).await?, "it is still there");
        Ok(())
    })
    .await?;
    Ok(Outcome::Ran)
}

/// The API server asks a host about the other version through the Service.
pub(crate) async fn a_network_of_v2_is_converted_through_the_service(node: &Node) -> Result<Outcome> {
    node.samples().await?;
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/networks.samplecrd.k8s.io";
    eventually(PATIENCE, "the host to be the conversion webhook", || async {
        let definition = node.cluster.get(definition).await?.context("no definition")?;
        let service = text(&definition, "/spec/conversion/webhook/clientConfig/service/name");
        ensure!(service == "oarlock", "{definition}");
        Ok(())
    })
    .await?;
    node.run("kubectl apply -f plugins/network/crd-v2.yaml").await?;
    let example = "kubectl apply -f plugins/network/example-v2.yaml";
    eventually(PATIENCE, "the example to be taken", || node.run(example)).await?;
    node.network_is_ready("default", "two-tier").await?;
    let read = async |version: &str| {
        let said = node.run(&format!("kubectl get networks.{version}.samplecrd.k8s.io two-tier -o json")).await?;
        Ok::<Value, anyhow::Error>(serde_json::from_str(&said)?)
    };
    let (v1, v2) = (read("v1").await?, read("v2").await?);
    let first = json!({"cidr": "192.168.10.0/24", "gateway": "192.168.10.1"});
    ensure!(v1.get("spec") == Some(&first), "{v1}");
    ensure!(text(&v2, "/spec/subnets/1/allocationPools/0/end") == "192.168.20.19", "{v2}");
    let subnets = node.neutron("subnets").await?;
    ensure!(subnets.iter().any(|subnet| text(subnet, "/cidr") == "192.168.20.0/24"), "{subnets:?}");
    node.run("kubectl delete networks.v2.samplecrd.k8s.io two-tier --timeout=300s").await?;
    node.run("kubectl apply -f plugins/network/crd.yaml").await?;
    Ok(Outcome::Ran)
}

/// plugins/pod-network/example.yaml, and what the webhooks refuse.
pub(crate) async fn a_pod_gets_a_port_and_one_that_names_no_network_is_refused(node: &Node) -> Result<Outcome> {
    node.samples().await?;
    let example = "kubectl apply -f plugins/pod-network/example.yaml";
    let pod = "/api/v1/namespaces/default/pods/networked";
    // The webhook asks for the Network, which the hosts may not have seen yet.
    eventually(PATIENCE, "the example to be taken", || node.run(example)).await?;
    node.run("kubectl wait --for=condition=Ready pod/networked --timeout=300s").await?;
    let address = eventually(PATIENCE, "the address of the Pod", || async {
        let pod = node.cluster.get(pod).await?.context("no Pod")?;
        let annotations = pod.pointer("/metadata/annotations").and_then(Value::as_object).context("no annotations")?;
        let address = annotations.values().filter_map(Value::as_str).find(|value| value.starts_with("10.20.0."));
        address.map(str::to_owned).with_context(|| format!("{annotations:?}"))
    })
    .await?;
    let ports = node.neutron("ports").await?;
    ensure!(ports.iter().any(|port| text(port, "/fixed_ips/0/ip_address") == address), "{address}: {ports:?}");

    let refused = node
        .run("kubectl run lost --image=registry.k8s.io/pause:3.10 --annotations=samplecrd.k8s.io/network=nowhere")
        .await;
    let refused = format!("{:#}", refused.err().context("a Pod without its Network was taken")?);
    ensure!(refused.contains("nowhere"), "{refused}");
    let refused = node.run("kubectl delete networks.samplecrd.k8s.io blue --timeout=10s").await;
    let refused = format!("{:#}", refused.err().context("a Network in use was deleted")?);
    ensure!(refused.contains("networked"), "{refused}");

    node.run("kubectl delete pod networked --timeout=300s").await?;
    eventually(PATIENCE, "the port to be given back", || async {
        let ports = node.neutron("ports").await?;
        ensure!(!ports.iter().any(|port| text(port, "/fixed_ips/0/ip_address") == address), "{ports:?}");
        Ok(())
    })
    .await?;
    eventually(PATIENCE, "the Network to be free", || {
        node.run("kubectl delete networks.samplecrd.k8s.io blue --timeout=30s")
    })
    .await?;
    Ok(Outcome::Ran)
}

/// The commands of the plugin's README.
pub(crate) async fn d7_the_example_of_injection_runs_with_the_base(node: &Node) -> Result<Outcome> {
    node.samples().await?;
    let readme = fs::read_to_string(repository_root().join("plugins/envoy-injector/README.md"))?;
    let (_, block) = readme.split_once("```sh\n").context("no block")?;
    let (block, _) = block.split_once("```").context("no end of the block")?;
    let mut said = String::new();
    for line in block.lines() {
        said = node.run(&format!("cd plugins/envoy-injector && {line}")).await?;
        if line.contains("config") || line.contains("envoy.yaml") {
            // An edit counts for the next Pod: the hosts have to see it.
            node.injects().await?;
        }
    }
    ensure!(said.trim() == "envoy", "{said}");
    // The configuration that the container mounts is a copy, which the plugin makes.
    eventually(PATIENCE, "both containers to be ready", || async {
        let pod = node.cluster.get("/api/v1/namespaces/default/pods/proxied").await?.context("no Pod")?;
        ensure!(is_ready(&pod), "{}", pod.get("status").unwrap_or(&Value::Null));
        Ok(())
    })
    .await?;
    node.run(
        "kubectl delete pod proxied --timeout=300s && kubectl label namespace default initializer.kubernetes.io/envoy-",
    )
    .await?;
    eventually(PATIENCE, "the copy to go", || async {
        let copy = node.cluster.get("/api/v1/namespaces/default/configmaps/envoy").await?;
        ensure!(copy.is_none(), "it is still there");
        Ok(())
    })
    .await?;
    Ok(Outcome::Ran)
}

/// docs/page.md in a cluster, with another port: the address is that of kubectl, and the host takes the requests as those of its own Pod.
pub(crate) async fn the_page_of_a_host_in_a_pod_opens_through_a_forwarded_port(node: &Node) -> Result<Outcome> {
    const FORWARDED: &str = "127.0.0.1:19797";
    node.samples().await?;
    let leader = node.leader("network").await?;
    // The shell becomes kubectl, which ends with it.
    let forward = format!("exec kubectl -n oarlock port-forward pod/{leader} 19797:9797");
    let forwards = node.run(&forward);
    let visits = async {
        let opens = format!("oarlock ui --no-browser --admin-addr {FORWARDED}");
        let address = eventually(PATIENCE, "the port to be forwarded", || node.run(&opens)).await?;
        let (page, token) = address.trim().split_once("/#token=").context("no token")?;
        ensure!(page == format!("http://{FORWARDED}"), "{address}");
        let host = HttpClient::new(page);
        let press = async |action: &str, token: &str, origin: &str| {
            let (path, bearer) = (format!("/plugins/network/{action}"), format!("Bearer {token}"));
            let headers = [("authorization", bearer.as_str()), ("origin", origin)];
            let answer = host.send(http::Method::POST, &path, &headers, bytes::Bytes::new()).await?;
            anyhow::Ok((answer.status.as_u16(), text(&node.plugin(&leader, "network").await?, "/state")))
        };
        ensure!(host.get("/").await?.text().contains("/page/app.js"), "no page");
        for (action, token, origin, status, state) in [
            ("pause", "wrong", page, 401, "active"),
            ("pause", token, "http://127.0.0.1:9797", 403, "active"),
            ("pause", token, page, 200, "paused"),
            ("resume", token, page, 200, "active"),
        ] {
            let (answered, found) = press(action, token, origin).await?;
            ensure!((answered, found.as_str()) == (status, state), "{action} from {origin}: {answered}, {found}");
        }
        Ok(())
    };
    tokio::select! {
        ended = forwards => bail!("kubectl port-forward ended: {ended:?}"),
        visited = visits => visited?,
    }
    Ok(Outcome::Ran)
}

impl Node {
    /// Waits until a Pod that asks for Envoy would get it.
    async fn injects(&self) -> Result<()> {
        let pod = probe("injected", &json!({"initializer.kubernetes.io/envoy": "true"}));
        eventually(PATIENCE, "a Pod to be injected", || async {
            let made = self.cluster.create("/api/v1/namespaces/default/pods?dryRun=All", &pod).await?;
            let sidecars = made.pointer("/spec/initContainers").and_then(Value::as_array).map_or(0, Vec::len);
            ensure!(sidecars == 1, "{sidecars} sidecars");
            Ok(())
        })
        .await
    }
}

/// A Pod that is only asked about.
pub(crate) fn probe(name: &str, annotations: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": annotations},
        "spec": {"containers": [{"name": "web", "image": "registry.k8s.io/pause:3.10"}]}})
}
