//! What operators look at: probes, metrics, `/plugins` and the log.

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{SOON, World, WorldOptions, eventually, text, with_world};
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
                let done = host.metric("controller_runtime_reconcile_total", &["network", "success"]).await?;
                ensure!(done >= 1.0, "{done} reconciles");
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
