//! The image, the commands that install, and monitoring.

use super::Outcome;
use super::node::{HOME, Node, PATIENCE};
use anyhow::{Result, ensure};
use oarlock_tests::harness::{HttpClient, SHIPPED, eventually, text};
use serde_json::json;

/// What the nodes of kind are told to do with an archive names the image as a Pod's short name does.
pub(crate) async fn d4_kind_names_the_image_as_the_base_does(node: &Node) -> Result<Outcome> {
    let name = format!("docker.io/library/oarlock:{}", env!("CARGO_PKG_VERSION"));
    let images = async || node.run("ctr-of-the-node images ls -q").await;
    node.run(&format!("ctr-of-the-node images rm {name}")).await?;
    ensure!(!images().await?.lines().any(|one| one == name), "{name} was not removed");
    node.block("load").await?;
    let there = images().await?;
    ensure!(there.lines().any(|one| one == name) && !there.contains("import-"), "{there}");
    Ok(Outcome::Ran)
}

/// From `preview` to the first Network, word for word.
pub(crate) async fn the_commands_install_two_hosts_that_are_ready(node: &Node) -> Result<Outcome> {
    for mark in ["preview", "install", "started"] {
        node.block(mark).await?;
    }
    node.network_is_ready("default", "example-network").await?;
    node.rolled_out().await?;
    node.all_active(SHIPPED.len()).await?;
    let hosts = node.hosts().await?;
    ensure!(hosts.len() == 2, "{} hosts", hosts.len());
    for host in &hosts {
        let name = text(host, "/metadata/name");
        // What the kernel says of the process, not what the Pod asks for.
        let status = std::fs::read_to_string(format!("/proc/{}/status", Node::process_of(&name)?))?;
        let says = |line: &str| status.lines().any(|one| one.split_whitespace().collect::<Vec<_>>().join(" ") == line);
        for line in ["Uid: 65532 65532 65532 65532", "CapEff: 0000000000000000", "NoNewPrivs: 1", "Seccomp: 2"] {
            ensure!(says(line), "no {line:?} in {status}");
        }
        let restarts = host.pointer("/status/containerStatuses/0/restartCount");
        ensure!(restarts == Some(&json!(0)), "{host}");
    }
    let leases = node.block("leases").await?;
    ensure!(leases.contains("holderIdentity"), "{leases}");
    ensure!(node.block("version").await?.contains("network"), "oarlock plugins names no network");
    Ok(Outcome::Ran)
}

/// What a Prometheus that finds Pods by their annotations asks, of each host.
pub(crate) async fn monitoring_finds_every_host(node: &Node) -> Result<Outcome> {
    node.samples().await?;
    node.block("monitoring").await?;
    for name in ["oarlock-alerts", "oarlock-dashboard"] {
        let path = format!("/api/v1/namespaces/{HOME}/configmaps/{name}");
        ensure!(node.cluster.get(&path).await?.is_some(), "no {name}");
    }
    // A plugin that changes hosts is led by none for a moment.
    eventually(PATIENCE, "the hosts to lead every plugin", || async {
        let mut leading = 0.0;
        for host in node.hosts().await? {
            let annotation = |name: &str| text(&host, &format!("/metadata/annotations/prometheus.io~1{name}"));
            ensure!(annotation("scrape") == "true", "{host}");
            let url = format!("http://{}:{}", text(&host, "/status/podIP"), annotation("port"));
            let answer = HttpClient::new(&url).get(&annotation("path")).await?;
            let metrics = answer.text();
            ensure!(answer.status.is_success() && metrics.contains("oarlock_plugin_state"), "{url}: {metrics}");
            let lines = metrics.lines().filter(|line| line.starts_with("oarlock_plugin_leading"));
            leading += lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>();
        }
        ensure!(leading >= 4.0, "the hosts say that they lead {leading} plugins");
        Ok(())
    })
    .await?;
    Ok(Outcome::Ran)
}
