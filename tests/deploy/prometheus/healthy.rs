//! Hosts that are well: no alert fires.

use super::server::{address, watched};
use anyhow::{Result, ensure};
use oarlock_tests::harness::{
    Grant, Host, HostOptions, PluginDir, SOON, World, WorldOptions, eventually, misfit_version, text,
};
use serde_json::json;
use std::{fs, sync::Arc};

/// Seconds, which are minutes to hurried rules: longer than any `for` but that of out-of-sync objects.
const ROUNDS: f64 = 17.0;

const LEASES: [&str; 8] = [
    "--lease-namespace",
    "default",
    "--lease-duration-seconds",
    "30",
    "--lease-renew-deadline-seconds",
    "20",
    "--lease-retry-period-seconds",
    "2",
];

pub(super) fn bare() -> WorldOptions {
    WorldOptions { network: false, crd: false, ..WorldOptions::default() }
}

/// What the misfit is granted.
pub(super) fn grant(world: &World) -> Grant {
    let url = world.neutron_gate.url();
    let verbs = ["get", "list", "watch", "create", "patch", "delete"];
    Grant::nothing().rule_in(&world.namespace, "", &["configmaps"], &verbs).origin(&url).config("url", &url)
}

/// An object of the misfit.
pub(super) async fn object(world: &World, name: &str, mode: &str) -> Result<()> {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"misfit": "true"}, "annotations": {"misfit/mode": mode}}, "data": {"value": "v"}});
    world.cluster.create(&format!("/api/v1/namespaces/{}/configmaps", world.namespace), &object).await.map(drop)
}

pub(super) async fn active(world: &World, plugin: &str) -> Result<()> {
    eventually(SOON, "the plugin to run", || async {
        let entry = world.host(async |host| host.plugin(plugin).await).await?;
        ensure!(text(&entry, "/state") == "active", "{entry}");
        Ok(())
    })
    .await
}

async fn scraped(world: &World) -> Result<String> {
    world.host(async |host| Ok(host.admin().get("/metrics").await?.text())).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b1_b2_b12_no_alert_fires_without_plugins_idle_or_after_one_was_removed() -> Result<()> {
    watched(bare(), async |world, prometheus| {
        world.start_host().await?;
        prometheus.reads(&world).await?;
        prometheus.calm().await?;
        prometheus.silent(ROUNDS).await?;
        world.plugins.grant("misfit", &grant(&world))?;
        world.plugins.place("misfit.wasm", &misfit_version("1", "")?)?;
        active(&world, "misfit").await?;
        object(&world, "one", "ok").await?;
        eventually(SOON, "an apply to be counted by its verb", || async {
            let metrics = scraped(&world).await?;
            for verb in ["POST", "PATCH", "GET", "PUT", "DELETE"] {
                ensure!(!metrics.contains(&format!("verb=\"{verb}\"")), "{verb}");
            }
            let applied = r#"oarlock_api_requests_total{plugin="misfit",verb="apply",code="201"} 1"#;
            ensure!(metrics.lines().any(|line| line == applied), "{metrics}");
            // The host's own requests make no plugin that nobody leads.
            ensure!(metrics.contains(r#"oarlock_api_requests_total{plugin="oarlock",verb="get",code="403"} 0"#));
            ensure!(!metrics.contains(r#"oarlock_plugin_leading{plugin="oarlock"}"#), "{metrics}");
            Ok(())
        })
        .await?;
        prometheus.calm().await?;
        prometheus.silent(ROUNDS).await?;
        world.plugins.remove("misfit.wasm")?;
        eventually(SOON, "its series to go", || async {
            let metrics = scraped(&world).await?;
            ensure!(!metrics.contains("\"misfit\""), "{metrics}");
            Ok(())
        })
        .await?;
        prometheus.calm().await?;
        prometheus.silent(ROUNDS).await?;
        let metrics = scraped(&world).await?;
        ensure!(!metrics.contains("\"misfit\""), "they came back: {metrics}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_alert_fires_about_one_of_two_hosts() -> Result<()> {
    watched(bare(), async |world: Arc<World>, prometheus| {
        world.plugins.grant("misfit", &grant(&world))?;
        world.plugins.place("misfit.wasm", &misfit_version("1", "")?)?;
        world.start_host_with(&[&LEASES[..], &["--identity", "a"]].concat()).await?;
        let folder = world.folder().join("other");
        let plugins = PluginDir::create(folder.join("plugins"))?;
        plugins.grant("misfit", &grant(&world))?;
        plugins.place("misfit.wasm", &fs::read(world.plugins.path().join("misfit.wasm"))?)?;
        let other = Host::start(&HostOptions {
            plugins: plugins.path().to_owned(),
            kubeconfig: world.folder().join("kubeconfig-gate"),
            resync_seconds: Some(3600),
            args: LEASES.iter().chain(&["--identity", "b"]).map(|&arg| arg.to_owned()).collect(),
            environment: Vec::new(),
            log: folder.join("host.log"),
            open_files: None,
            own_group: false,
        })
        .await?;
        let first = world.host(async |host| Ok(address(host))).await?;
        prometheus.reads_all(&[("a", &first), ("b", &address(&other))]).await?;
        for number in 0..10 {
            object(&world, &format!("o{number}"), "ok").await?;
        }
        eventually(SOON, "one of them to lead", || async {
            let leading = prometheus.query("oarlock_plugin_leading").await?;
            let sum = prometheus.query("sum(oarlock_plugin_leading) == 1").await?;
            ensure!(leading.len() == 2 && sum.len() == 1, "{leading:?}");
            Ok(())
        })
        .await?;
        prometheus.calm().await?;
        prometheus.silent(ROUNDS).await
    })
    .await
}
