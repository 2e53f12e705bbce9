//! How an installation ends.

use super::Outcome;
use super::node::{HOME, Node, PATIENCE};
use super::stories::probe;
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{commands, eventually, text};
use serde_json::json;

/// What the base or its hosts made, and is still there.
async fn left(node: &Node) -> Result<Vec<String>> {
    let kinds = "mutatingwebhookconfigurations,validatingwebhookconfigurations,customresourcedefinitions,clusterroles,clusterrolebindings,namespaces";
    let all = node.run(&format!("kubectl get {kinds} -o name")).await?;
    let ours = |line: &&str| line.contains("oarlock") || line.contains("samplecrd.k8s.io");
    let spread = node
        .run("kubectl get roles,rolebindings --all-namespaces -o custom-columns=NAME:.metadata.name --no-headers")
        .await?;
    Ok(all.lines().chain(spread.lines()).filter(ours).map(str::to_owned).collect())
}

/// A Pod with a Network, as a user has it.
async fn with_a_network_in_use(node: &Node) -> Result<()> {
    node.samples().await?;
    eventually(PATIENCE, "the example to be taken", || node.run("kubectl apply -f plugins/pod-network/example.yaml"))
        .await?;
    node.network_is_ready("default", "blue").await
}

/// While a Pod names a Network it is refused to delete that; the guide says what names one, and the uninstallation stops.
pub(crate) async fn d2_networks_in_use_stop_the_uninstallation_at_its_first_command(node: &Node) -> Result<Outcome> {
    with_a_network_in_use(node).await?;
    let listed = node.block("in-use").await?;
    let of = |pod: &str| listed.lines().any(|line| line.split_whitespace().eq(["default", pod, "blue"]));
    ensure!(of("networked") && listed.lines().count() == 2, "{listed}");
    for line in commands("uninstall")? {
        let done = node.run(&line).await;
        if line.starts_with("kubectl delete networks") {
            let refused = format!("{:#}", done.err().context("a Network in use was deleted")?);
            ensure!(refused.contains("networked"), "{refused}");
            break;
        }
        done?;
    }
    // The next body goes on from here, as a reader does.
    node.run("kubectl delete pod networked --timeout=300s").await?;
    Ok(Outcome::Ran)
}

/// Word for word, twice: from a whole installation, and from one where it was begun.
pub(crate) async fn d1_nothing_is_left_and_pods_that_name_a_network_are_taken_again(node: &Node) -> Result<Outcome> {
    for round in ["the first time", "again"] {
        with_a_network_in_use(node).await?;
        node.run("kubectl delete pod networked --timeout=300s").await?;
        let quiet = node.block("in-use").await?;
        ensure!(quiet.lines().count() == 1, "{quiet}");
        node.block("uninstall").await.with_context(|| round.to_owned())?;
        let left = left(node).await?;
        ensure!(left.is_empty(), "{round}: {left:?}");
        let neutron = node.neutron("networks").await?;
        ensure!(neutron.is_empty(), "{round}: {neutron:?}");
        let pod = probe("after", &json!({"samplecrd.k8s.io/network": "blue"}));
        node.cluster.create("/api/v1/namespaces/default/pods?dryRun=All", &pod).await.context(round)?;
    }
    Ok(Outcome::Ran)
}

/// Where no host runs any more, and what a plugin made outside is to stay.
pub(crate) async fn finalizers_are_removed_by_hand(node: &Node) -> Result<Outcome> {
    node.samples().await?;
    node.run("kubectl apply -f plugins/network/example.yaml").await?;
    node.network_is_ready("default", "example-network").await?;
    node.run("kubectl -n oarlock scale deployment/oarlock --replicas=0").await?;
    node.run("kubectl -n oarlock wait --for=delete pod --selector app.kubernetes.io/component=host --timeout=90s")
        .await?;
    node.run("kubectl delete mutatingwebhookconfiguration,validatingwebhookconfiguration oarlock --ignore-not-found")
        .await?;
    node.run("kubectl delete networks --all --all-namespaces --wait=false").await?;
    let path = "/apis/samplecrd.k8s.io/v1/namespaces/default/networks/example-network";
    let network = node.cluster.get(path).await?.context("it went without its finalizer")?;
    ensure!(text(&network, "/metadata/finalizers/0").starts_with("oarlock.dev/"), "{network}");
    node.block("release").await?;
    eventually(PATIENCE, "the Network to go", || async {
        ensure!(node.cluster.get(path).await?.is_none(), "it is still there");
        Ok(())
    })
    .await?;
    ensure!(!node.neutron("networks").await?.is_empty(), "what was outside did not stay");
    node.run("kubectl delete -k deploy/overlays/samples --ignore-not-found").await?;
    let left = left(node).await?;
    ensure!(left.is_empty(), "{HOME}: {left:?}");
    Ok(Outcome::Ran)
}
