//! Grants, Secrets, upgrades and evictions while the hosts run.

use super::Outcome;
use super::node::{HOME, Node, PATIENCE};
use super::stories::probe;
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{SHIPPED, eventually, repository_root, text};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{collections::BTreeMap, fs};

/// Names and restarts of the hosts: the same before and after what takes no restart.
async fn alive(node: &Node) -> Result<BTreeMap<String, Value>> {
    let hosts = node.hosts().await?;
    let restarts = |host: &Value| host.pointer("/status/containerStatuses/0/restartCount").cloned().unwrap_or_default();
    Ok(hosts.iter().map(|host| (text(host, "/metadata/uid"), restarts(host))).collect())
}

/// A Neutron that wants tokens: the grant names its Keystone and the file of a password, which is a key of the Secret.
pub(crate) async fn grants_and_secrets_take_effect_without_a_restart(node: &Node) -> Result<Outcome> {
    node.samples().await?;
    let before = alive(node).await?;
    node.block("secret").await?;
    node.neutron_server("neutron-keystone", "10.96.0.41", &["--auth", "oarlock:example:networks"]).await?;
    let grant = "deploy/components/samples/grants/network.yaml";
    node.edit(grant, "neutron-server.openstack", "neutron-keystone.openstack")?;
    node.edit(grant, "# - http://keystone-api", "- http://neutron-keystone")?;
    node.edit(grant, "# authUrl: http://keystone-api", "authUrl: http://neutron-keystone")?;
    node.edit(grant, "# username", "username")?;
    node.edit(grant, "# projectName", "projectName")?;
    node.edit(grant, "# secretFiles:\n#   password", "secretFiles:\n  password")?;
    node.block("grants").await?;
    let network = json!({"apiVersion": "samplecrd.k8s.io/v1", "kind": "Network", "metadata": {"name": "tokens"},
        "spec": {"cidr": "10.30.0.0/24", "gateway": "10.30.0.1"}});
    node.cluster.create("/apis/samplecrd.k8s.io/v1/namespaces/default/networks", &network).await?;
    let path = "/apis/samplecrd.k8s.io/v1/namespaces/default/networks/tokens";
    eventually(PATIENCE, "the Network to be where the new grant leads", || async {
        let network = node.cluster.get(path).await?.context("no Network")?;
        let (id, here) = (text(&network, "/status/networkId"), node.neutron("networks").await?);
        ensure!(!id.is_empty() && !here.iter().any(|one| text(one, "/id") == id), "{network}");
        Ok(())
    })
    .await?;
    node.network_is_ready("default", "tokens").await?;

    // Another password: the old one does for nothing any more.
    node.run("kubectl -n openstack delete pod neutron-keystone --now").await?;
    node.neutron_server("neutron-keystone", "10.96.0.41", &["--auth", "oarlock:other:networks"]).await?;
    node.run("kubectl -n oarlock create secret generic oarlock-secrets --from-literal=neutron-password=other --dry-run=client -o yaml | kubectl apply -f -")
        .await?;
    node.run("kubectl patch networks.samplecrd.k8s.io tokens --type=merge -p '{\"spec\":{\"gateway\":\"10.30.0.2\"}}'")
        .await?;
    node.shows("networks.samplecrd.k8s.io/tokens", "{.status.observedGeneration}", "2").await?;
    node.network_is_ready("default", "tokens").await?;
    ensure!(alive(node).await? == before, "a host was started again: {before:?} {:?}", alive(node).await?);

    // Back to the first Neutron, which has the Network of before if a host made it before it read the new grant.
    node.restore()?;
    node.block("grants").await?;
    eventually(PATIENCE, "the Network to be in the first Neutron", || async {
        let network = node.cluster.get(path).await?.context("no Network")?;
        let (id, here) = (text(&network, "/status/networkId"), node.neutron("networks").await?);
        ensure!(here.iter().any(|one| text(one, "/id") == id), "{network}");
        Ok(())
    })
    .await?;
    node.run("kubectl delete networks.samplecrd.k8s.io tokens --timeout=300s").await?;
    node.run(
        "kubectl -n oarlock delete secret oarlock-secrets && kubectl -n openstack delete pod neutron-keystone --now",
    )
    .await?;
    Ok(Outcome::Ran)
}

/// The RBAC of the samples allows deployment-network the namespace `default`. A grant of all namespaces fails elsewhere, which ends when it is narrowed.
pub(crate) async fn d6_a_narrowed_grant_leaves_no_failing_keys(node: &Node) -> Result<Outcome> {
    node.samples().await?;
    node.run("kubectl create namespace shop --dry-run=client -o yaml | kubectl apply -f -").await?;
    let file = repository_root().join("tests/fixtures/deployment.yaml");
    node.run(&format!("kubectl -n shop apply -f {}", file.display())).await?;
    let grant = "deploy/components/samples/grants/deployment-network.yaml";
    let narrow = fs::read_to_string(node.checkout().join(grant))?;
    // The host may read them everywhere; the plugin's own account may write nothing in `shop`.
    node.run("kubectl create clusterrole everywhere --verb=get,list,watch --resource=deployments.apps,networks.samplecrd.k8s.io").await?;
    node.run("kubectl create clusterrolebinding everywhere --clusterrole=everywhere --serviceaccount=oarlock:oarlock")
        .await?;
    node.edit(grant, "    namespaces: [default]\n", "")?;
    node.block("grants").await?;
    let state = async || {
        let leader = node.leader("deployment-network").await?;
        node.plugin(&leader, "deployment-network").await
    };
    eventually(PATIENCE, "the plugin to fail in shop", || async {
        let plugin = state().await?;
        ensure!(text(&plugin, "/lastError").contains("shop/shop"), "{plugin}");
        Ok(())
    })
    .await?;
    fs::write(node.checkout().join(grant), narrow)?;
    node.block("grants").await?;
    eventually(PATIENCE, "nothing to be left of it", || async {
        let plugin = state().await?;
        let zero = |pointer: &str| plugin.pointer(pointer).and_then(Value::as_u64) == Some(0);
        ensure!(
            text(&plugin, "/lastError").is_empty() && zero("/queueDepth") && zero("/outOfSync/objects"),
            "{plugin}"
        );
        Ok(())
    })
    .await?;
    node.run("kubectl delete namespace shop --timeout=300s; kubectl delete clusterrole,clusterrolebinding everywhere")
        .await?;
    Ok(Outcome::Ran)
}

/// The block `upgrade` from a version that differs, and that which it says of its undo.
pub(crate) async fn d11_an_upgrade_and_its_undo(node: &Node) -> Result<Outcome> {
    node.samples().await?;
    node.edit(
        "deploy/base/deployment.yaml",
        "- --log-format=json",
        "- --log-format=json\n            - --shutdown-delay-seconds=5",
    )?;
    node.edit("deploy/base/deployment.yaml", "            - --shutdown-delay-seconds=10\n", "")?;
    node.block("upgrade").await?;
    node.rolled_out().await?;
    let deployment = node.run("kubectl -n oarlock get deployment oarlock -o yaml").await?;
    ensure!(deployment.contains("- --shutdown-delay-seconds=10"), "nothing was undone: {deployment}");
    node.restore()?;
    let applied = node.run("kubectl apply -k deploy/overlays/samples").await?;
    let changed: Vec<_> = applied.lines().filter(|line| !line.ends_with(" unchanged")).collect();
    // As the guide says: the budget always, the Deployment because of its annotation.
    ensure!(
        changed.iter().all(|line| line.contains("poddisruptionbudget") || line.contains("deployment.apps/oarlock")),
        "{applied}"
    );
    node.rolled_out().await?;
    node.all_active(SHIPPED.len()).await?;
    Ok(Outcome::Ran)
}

/// Pods are asked about without a pause while every host is replaced; each must be injected, and know its Network.
pub(crate) async fn no_review_is_lost_in_a_rolling_update_under_load(node: &Node) -> Result<Outcome> {
    node.samples().await?;
    node.run("kubectl -n oarlock apply -f plugins/envoy-injector/envoy.yaml && kubectl apply -f plugins/network/example.yaml").await?;
    let asks = json!({"initializer.kubernetes.io/envoy": "true", "samplecrd.k8s.io/network": "example-network"});
    let pod = probe("under-load", &asks);
    let review = async || {
        let made = node.cluster.create("/api/v1/namespaces/default/pods?dryRun=All", &pod).await?;
        let sidecars = made.pointer("/spec/initContainers").and_then(Value::as_array).map_or(0, Vec::len);
        ensure!(sidecars == 1, "{sidecars} sidecars: it was not injected");
        Ok(())
    };
    eventually(PATIENCE, "the first review", &review).await?;
    let (stop, reviews) = (AtomicBool::new(false), AtomicUsize::new(0));
    let load = async || -> Result<Vec<String>> {
        let mut bad = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            if let Err(error) = review().await {
                bad.push(format!("{error:#}"));
            }
            reviews.fetch_add(1, Ordering::Relaxed);
        }
        Ok(bad)
    };
    let roll = async {
        let before = alive(node).await?;
        node.run("kubectl -n oarlock rollout restart deployment/oarlock").await?;
        let done = node.rolled_out().await;
        stop.store(true, Ordering::Relaxed);
        done?;
        let after = alive(node).await?;
        ensure!(!before.keys().any(|uid| after.contains_key(uid)), "a host was not replaced");
        Ok(())
    };
    let (bad, more, rolled) = tokio::join!(load(), load(), roll);
    rolled?;
    let bad = [bad?, more?].concat();
    ensure!(bad.is_empty(), "{} of {} reviews: {bad:#?}", bad.len(), reviews.load(Ordering::Relaxed));
    ensure!(reviews.load(Ordering::Relaxed) > 100, "only {reviews:?} reviews");
    node.run("kubectl -n oarlock delete configmap envoy envoy-initializer").await?;
    Ok(Outcome::Ran)
}

/// The PodDisruptionBudget lets one host go, and refuses the second until the first is replaced.
pub(crate) async fn an_eviction_waits_for_the_other_host(node: &Node) -> Result<Outcome> {
    node.samples().await?;
    node.shows("-n oarlock pdb/oarlock", "{.status.disruptionsAllowed}", "1").await?;
    let hosts: Vec<String> = node.hosts().await?.iter().map(|host| text(host, "/metadata/name")).collect();
    let evict = async |name: &str| {
        let eviction =
            json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": HOME}});
        let file = node.checkout().join(format!("evict-{name}.json"));
        fs::write(&file, eviction.to_string())?;
        // Not by the harness: its client asks again after a 429.
        node.run(&format!("kubectl create --raw /api/v1/namespaces/{HOME}/pods/{name}/eviction -f {}", file.display()))
            .await
    };
    let [first, second] = hosts.as_slice() else { anyhow::bail!("{hosts:?}") };
    evict(first).await?;
    let refused = evict(second).await.err().context("both hosts were evicted")?;
    ensure!(format!("{refused:#}").contains("disruption budget"), "{refused:#}");
    node.rolled_out().await?;
    node.shows("-n oarlock pdb/oarlock", "{.status.disruptionsAllowed}", "1").await?;
    Ok(Outcome::Ran)
}
