//! Hosts that die and that hang.

use super::Outcome;
use super::node::{HOME, Node, PATIENCE, is_ready};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{SHIPPED, eventually, text};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

fn signal(pod: &str, signal: Signal) -> Result<()> {
    let pid = i32::try_from(Node::process_of(pod)?)?;
    Ok(kill_process(Pid::from_raw(pid).context("no process id")?, signal)?)
}

/// A Network that is made while its plugin's leader is gone, and who makes it in the end.
async fn replaced(node: &Node, leader: &str, network: &str) -> Result<()> {
    let object = json!({"apiVersion": "samplecrd.k8s.io/v1", "kind": "Network", "metadata": {"name": network},
        "spec": {"cidr": "10.40.0.0/24", "gateway": "10.40.0.1"}});
    node.cluster.create("/apis/samplecrd.k8s.io/v1/namespaces/default/networks", &object).await?;
    node.network_is_ready("default", network).await?;
    let now = node.leader("network").await?;
    ensure!(now != leader, "{now} reconciled it");
    node.run(&format!("kubectl delete networks.samplecrd.k8s.io {network} --timeout=300s")).await.map(drop)
}

pub(crate) async fn a_killed_leader_is_replaced(node: &Node) -> Result<Outcome> {
    node.samples().await?;
    let leader = node.leader("network").await?;
    // The container is started again within a second, but under another identity.
    let lease = async || {
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/{HOME}/leases/oarlock-network");
        Ok::<_, anyhow::Error>(text(&node.cluster.get(&path).await?.context("no Lease")?, "/spec/holderIdentity"))
    };
    let before = lease().await?;
    signal(&leader, Signal::KILL)?;
    eventually(PATIENCE, "another holder", || async {
        let now = lease().await?;
        ensure!(now != before && !now.is_empty(), "{now}");
        Ok(())
    })
    .await?;
    let path = format!("/api/v1/namespaces/{HOME}/pods/{leader}");
    eventually(PATIENCE, "the kubelet to start it again", || async {
        let pod = node.cluster.get(&path).await?.context("the Pod went")?;
        let restarts = pod.pointer("/status/containerStatuses/0/restartCount").and_then(Value::as_u64);
        ensure!(restarts >= Some(1) && is_ready(&pod), "{restarts:?}");
        Ok(())
    })
    .await?;
    node.rolled_out().await?;
    node.all_active(SHIPPED.len()).await?;
    Ok(Outcome::Ran)
}

pub(crate) async fn d10_a_hung_leader_is_replaced_and_killed_without_the_grace_of_a_pod(
    node: &Node,
) -> Result<Outcome> {
    node.samples().await?;
    let leader = node.leader("network").await?;
    let path = format!("/api/v1/namespaces/{HOME}/pods/{leader}");
    let pod = async || node.cluster.get(&path).await?.context("the Pod went");
    let restarts = |pod: &Value| pod.pointer("/status/containerStatuses/0/restartCount").and_then(Value::as_u64);
    let before = restarts(&pod().await?);
    signal(&leader, Signal::STOP)?;
    replaced(node, &leader, "while-hung").await?;
    let pod = eventually(PATIENCE, "the liveness probe to have it started again", || async {
        let pod = pod().await?;
        ensure!(restarts(&pod) > before, "{pod}");
        Ok(pod)
    })
    .await?;
    let events = node.cluster.list(&format!("/api/v1/namespaces/{HOME}/events")).await?;
    let killing = events.iter().find(|event| {
        text(event, "/reason") == "Killing"
            && text(event, "/involvedObject/name") == leader
            && text(event, "/message").contains("liveness")
    });
    let asked: jiff::Timestamp =
        text(killing.context("the liveness probe killed nothing")?, "/lastTimestamp").parse()?;
    let ended: jiff::Timestamp = text(&pod, "/status/containerStatuses/0/lastState/terminated/finishedAt").parse()?;
    let grace = pod.pointer("/spec/terminationGracePeriodSeconds").and_then(Value::as_i64).context("no grace")?;
    let took = ended.as_second() - asked.as_second();
    // By the cluster's own clock: what a host that is asked to end is given was not waited for.
    ensure!(took < grace, "it was killed {took} s after the probe had failed");
    node.rolled_out().await?;
    node.all_active(SHIPPED.len()).await?;
    Ok(Outcome::Ran)
}
