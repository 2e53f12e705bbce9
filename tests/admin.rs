//! What operators look at: probes, metrics, `/plugins` and the log.

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{Action, LogLine, Rule, SOON, World, WorldOptions, eventually, text, with_world};
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn probes_metrics_and_plugins_are_served() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        world.create_network("seen", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("seen").await?;
        eventually(SOON, "the host to be ready", || async {
            let ready = world.host(async |host| host.admin().get("/readyz").await).await?;
            ensure!(ready.status.is_success(), "{}", ready.text());
            Ok(())
        })
        .await?;
        world
            .host(async |host| {
                ensure!(host.admin().get("/livez").await?.status.is_success());
                let rounds = async || -> Result<u64> {
                    let told = host.admin().get("/livez?verbose").await?.text();
                    let round = told.lines().find_map(|line| line.strip_prefix("[+] lifecycle: round "));
                    Ok(round.with_context(|| told.clone())?.parse()?)
                };
                let before = rounds().await?;
                eventually(SOON, "the loop of the lifecycle to come round", || async {
                    let now = rounds().await?;
                    ensure!(now > before, "{now}");
                    Ok(())
                })
                .await?;
                let metrics = host.admin().get("/metrics").await?.text();
                for name in [
                    "workqueue_depth",
                    "workqueue_adds_total",
                    "workqueue_retries_total",
                    "workqueue_queue_duration_seconds",
                    "workqueue_work_duration_seconds",
                    "workqueue_unfinished_work_seconds",
                    "workqueue_longest_running_processor_seconds",
                    "controller_runtime_reconcile_total",
                    "controller_runtime_reconcile_time_seconds",
                ] {
                    ensure!(metrics.lines().any(|line| line.starts_with(name)), "no {name} in:\n{metrics}");
                }
                // It is counted after its status is written.
                eventually(SOON, "a reconcile to be counted", || async {
                    let done = host.metric("controller_runtime_reconcile_total", &["network", "success"]).await?;
                    ensure!(done >= 1.0, "{done} reconciles");
                    Ok(())
                })
                .await?;
                let plugin = host.plugin("network").await?;
                ensure!(text(&plugin, "/state") == "active", "{plugin}");
                ensure!(host.admin().get("/nowhere").await?.status.as_u16() == 404);
                Ok(())
            })
            .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_is_described_with_all_that_its_operator_asks_for() -> Result<()> {
    with_world(WorldOptions { host: false, ..WorldOptions::default() }, async |world: Arc<World>| {
        // A state that lasts for a moment only may be over before it is looked at.
        let (_list, go) = world.kubernetes_gate.hold(http::Method::GET, "/networks");
        world.start_host().await?;
        let syncing =
            |line: &LogLine| line.text.contains("plugin state") && line.field("to").as_deref() == Some("syncing");
        world.logged("that it syncs", syncing).await?;
        go.cancel();
        world.create_network("seen", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("seen").await?;
        let broken =
            Action::neutron(http::StatusCode::INTERNAL_SERVER_ERROR, "HTTPInternalServerError", "out of order");
        let _rule = world.neutron_gate.rule(Rule::every(broken).methods(&[http::Method::POST]).path("/v2.0/networks"));
        world.create_network("wrong", "10.7.0.0/24", "10.7.0.1").await?;
        world.not_ready("wrong", &["out of order"]).await?;
        let entry = eventually(SOON, "both to be counted", || async {
            let entry = world.host(async |host| host.plugin("network").await).await?;
            let errors = entry.get("errors").and_then(serde_json::Value::as_u64);
            ensure!(
                errors > Some(0) && entry.pointer("/objects/samplecrd.k8s.io~1v1, Kind=Network") == Some(&2.into()),
                "{entry}"
            );
            Ok(entry)
        })
        .await?;
        for field in
            ["version", "digest", "state", "sinceSeconds", "queueDepth", "reconcilesPerSecond", "p50Ms", "p99Ms"]
        {
            ensure!(entry.get(field).is_some_and(|value| !value.is_null()), "no {field} in {entry}");
        }
        ensure!(entry.get("instanceMemoryBytes").and_then(serde_json::Value::as_u64) > Some(60_000), "{entry}");
        ensure!(text(&entry, "/lastError").contains("wrong"), "{entry}");
        let address = world.host(async |host| Ok(host.admin().base().trim_start_matches("http://").to_owned())).await?;
        let output = oarlock_tests::harness::oarlock(&["plugins", "--admin-addr", &address]).await?;
        let table = String::from_utf8(output.stdout)?;
        let head = table.lines().next().unwrap_or_default();
        for column in
            ["NAME", "VERSION", "DIGEST", "STATE", "SINCE", "OBJECTS", "QUEUE", "ERRORS", "P50", "P99", "MEMORY"]
        {
            ensure!(head.contains(column), "no {column} in\n{table}");
        }
        ensure!(
            table.lines().nth(1).is_some_and(|line| line.starts_with("network ") && line.contains("active")),
            "{table}"
        );
        let active =
            world.host(async |host| host.metric("oarlock_plugin_state", &["\"network\"", "\"active\""]).await).await?;
        ensure!((active - 1.0).abs() < f64::EPSILON, "{active}");
        let told = world.log(|line| line.text.contains("plugin state")).await?;
        let states: Vec<_> = told.iter().filter_map(|line| line.field("to")).collect();
        ensure!(states == ["syncing", "active"], "{states:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_reconcile_line_names_plugin_key_attempt_and_duration() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        world.create_network("told", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("told").await?;
        let key = format!("{}/told", world.namespace);
        let full = format!("Network {key}");
        let line = eventually(SOON, "a line about the reconcile", || async {
            let lines = world.log(|line| line.text.contains(&key) && line.text.contains("reconcile")).await?;
            lines.into_iter().next().context("no line")
        })
        .await?;
        ensure!(line.json.is_some(), "not JSON: {}", line.text);
        for (field, wanted) in
            [("plugin", Some("network")), ("key", Some(full.as_str())), ("attempt", Some("1")), ("duration_ms", None)]
        {
            let value = line.field(field).with_context(|| format!("no {field} in {}", line.text))?;
            ensure!(wanted.is_none_or(|wanted| value == wanted), "{field}={value} in {}", line.text);
        }
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_are_nowhere_to_be_seen() -> Result<()> {
    let options = WorldOptions { keystone: true, resync_seconds: 1, ..WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        world.create_network("quiet", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("quiet").await?;
        let login = world.neutron.login().context("no account")?;
        let secret = login.auth.get("password").or_else(|| login.auth.get("application_credential_secret"));
        let secret = format!("\"{}\"", secret.context("no secret")?);
        let shown = world.host(async |host| host.plugins().await).await?.to_string();
        ensure!(!shown.contains(&secret), "{shown}");
        let lines = world.log(|line| line.text.contains(&secret)).await?;
        ensure!(lines.is_empty(), "{lines:?}");
        Ok(())
    })
    .await
}
