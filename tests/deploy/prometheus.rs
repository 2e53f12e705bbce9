//! Prometheus itself reads a host that runs, and evaluates the alerts. Left out where it is not there.

mod faults;
mod healthy;
mod memory_group;
mod server;

use super::monitoring::{alerts, panels};
use super::text;
use anyhow::{Context, Result, ensure};
use oarlock_tests::{
    harness::{SOON, World, WorldOptions, eventually, repository_root, said_by, tools, with_world},
    story::add_envoy_injector,
};
use regex::Regex;
use serde_json::{Value, json};
use server::{Prometheus, Rules};
use std::{collections::BTreeSet, fs, path::Path, sync::Arc};

/// Rounds of every group in which no alert may fire, and none may stay pending.
const ROUNDS: f64 = 20.0;

/// What is served only while something is wrong, or where a registry is asked: other tests see to these.
const AT_TIMES: [&str; 3] =
    ["oarlock_plugin_newest_state", "oarlock_registry_answers", "oarlock_initializers_unanswered"];

/// Metrics that alerts and dashboard name.
fn named() -> Result<BTreeSet<String>> {
    let metric = Regex::new(r"\b(?:oarlock|workqueue|controller_runtime|process)_[a-z_]+\b")?;
    let mut all = BTreeSet::new();
    for expression in expressions()? {
        all.extend(metric.find_iter(&expression).map(|found| found.as_str().to_owned()));
    }
    Ok(all)
}

fn expressions() -> Result<Vec<String>> {
    let alerts = alerts()?.into_iter().map(|rule| text(&rule, "/expr").to_owned());
    Ok(alerts.chain(panels()?.into_iter().map(|(_, expression)| expression)).collect())
}

/// A dashboard's variables and ranges, as Grafana fills them in.
fn filled(expression: &str) -> String {
    expression
        .replace("$plugin", ".+")
        .replace("$__rate_interval", "1m")
        .replace("$__range", "1h")
        .replace("$__interval", "1m")
}

/// A namespace where Envoy is injected into Pods.
async fn shop(world: &World) -> Result<String> {
    let config = "containers: [{name: envoy, image: 'envoy:1'}]\nvolumes: [{name: envoy, configMap: {name: envoy}}]\n";
    for (name, data) in
        [("envoy-initializer", json!({"config": config})), ("envoy", json!({"envoy.yaml": "admin: {}"}))]
    {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data});
        world.cluster.create(&format!("/api/v1/namespaces/{}/configmaps", world.namespace), &object).await?;
    }
    let name = world.cluster.fresh_namespace().await?;
    let on = json!({"metadata": {"labels": {"initializer.kubernetes.io/envoy": "true"}}});
    world.cluster.merge_patch(&format!("/api/v1/namespaces/{name}"), &on).await?;
    Ok(name)
}

/// One of everything that the plugins are for.
async fn work(world: &World, shop: &str, round: usize) -> Result<()> {
    let name = format!("busy-{round}");
    world.create_network(&name, &format!("10.{}.0.0/24", round % 250), &format!("10.{}.0.1", round % 250)).await?;
    let switch = json!({"initializer.kubernetes.io/envoy": "true"});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": switch},
        "spec": {"containers": [{"name": "c", "image": "c:1"}]}});
    let pod = world.cluster.create(&format!("/api/v1/namespaces/{shop}/pods"), &pod).await?;
    ensure!(pod.to_string().contains("envoy:1"), "{pod}");
    world.ready(&name).await?;
    world.cluster.delete(&format!("/api/v1/namespaces/{shop}/pods/{name}")).await?;
    world.delete_network(&name).await?;
    world.gone(&name).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_healthy_and_busy_host_raises_no_alert_and_a_fault_does() -> Result<()> {
    let Some([prometheus, promtool]) = tools(["prometheus", "promtool"])? else { return Ok(()) };
    let options = WorldOptions { host: false, resync_seconds: 2, ..WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        let shop = shop(&world).await?;
        add_envoy_injector(&world, &[])?;
        world.start_host_answering(&["envoy-injector"]).await?;
        work(&world, &shop, 0).await?;
        let prometheus = Prometheus::start(&prometheus, world.folder(), Rules::AsShipped).await?;
        prometheus.reads(&world).await?;
        let begun = eventually(SOON, "the first rounds", || async {
            let (rounds, up) = (prometheus.rounds().await?, prometheus.query("up == 1").await?);
            // A rule that was evaluated before the first scrape saw no host.
            let raised = prometheus.raised().await?;
            ensure!(rounds >= 2.0 && !up.is_empty() && raised.is_empty(), "{rounds} {up:?} {raised:?}");
            Ok(rounds)
        })
        .await?;
        let mut round = 1;
        while prometheus.rounds().await? < begun + ROUNDS {
            work(&world, &shop, round).await?;
            round += 1;
            prometheus.is_quiet().await?;
        }
        everything_is_known(&prometheus).await?;
        metrics_are_well_formed(&world, &promtool).await?;
        // The same rules see a file that is no plugin.
        fs::write(world.plugins.path().join("broken.wasm"), b"\0asm no more")?;
        eventually(SOON, "the alert", || async {
            let raised = prometheus.raised().await?;
            ensure!(raised.iter().any(|one| one.starts_with("pending OarlockPluginRefused")), "{raised:?}");
            Ok(())
        })
        .await?;
        fs::remove_file(world.plugins.path().join("broken.wasm"))?;
        eventually(SOON, "the alert to go", || async {
            let raised = prometheus.raised().await?;
            ensure!(raised.is_empty(), "{raised:?}");
            Ok(())
        })
        .await
    })
    .await
}

/// Every rule was evaluated, every metric has been served, every panel can be drawn.
async fn everything_is_known(prometheus: &Prometheus) -> Result<()> {
    let rules = prometheus.api("rules").await?;
    let groups = rules.get("groups").and_then(Value::as_array).context("no groups")?;
    let rules: Vec<&Value> = groups.iter().filter_map(|group| group["rules"].as_array()).flatten().collect();
    ensure!(rules.len() == alerts()?.len(), "{} rules", rules.len());
    for rule in &rules {
        ensure!(text(rule, "/health") == "ok" && text(rule, "/lastError").is_empty(), "{rule}");
    }
    let known = prometheus.api("label/__name__/values").await?;
    let known: BTreeSet<&str> = known.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let unknown: Vec<_> =
        named()?.into_iter().filter(|name| !known.contains(&**name) && !AT_TIMES.contains(&&**name)).collect();
    ensure!(unknown.is_empty(), "a healthy host does not serve {unknown:?}");
    for alert in alerts()? {
        prometheus.query(text(&alert, "/expr")).await?;
    }
    for (panel, expression) in panels()? {
        let found = prometheus.query(&filled(&expression)).await?;
        let at_times = AT_TIMES.iter().any(|name| expression.contains(name));
        ensure!(at_times || !found.is_empty(), "panel {panel:?} shows nothing: {expression}");
    }
    Ok(())
}

/// What is served passes the checks of promtool, and the rules do.
async fn metrics_are_well_formed(world: &World, promtool: &Path) -> Result<()> {
    let rules = repository_root().join("deploy/monitoring/alerts.yaml").display().to_string();
    let checked = said_by(promtool, world.folder(), &["check", "rules", "--lint=all", "--lint-fatal", &rules]).await?;
    ensure!(checked.is_ok(), "{checked:?}");
    let served = world.host(async |host| Ok(host.admin().get("/metrics").await?.text())).await?;
    let file = world.folder().join("metrics.txt");
    fs::write(&file, &served)?;
    // It reads its standard input.
    let script = "exec \"$0\" check metrics <metrics.txt";
    let checked = said_by(Path::new("sh"), world.folder(), &["-c", script, &promtool.display().to_string()]).await?;
    ensure!(checked.as_ref().is_ok_and(|said| said.trim().is_empty()), "{checked:?}");
    Ok(())
}
