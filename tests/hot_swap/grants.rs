//! Nothing is widened by a swap, and a change of the grant alone takes effect like one.

use super::{grant, host_event, next_is, object, options, plugin, runs, seen, set, started};
use anyhow::{Result, ensure};
use oarlock_tests::harness::{Grant, SOON, World, eventually, misfit_version, misfit_with, steady, text, with_world};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

fn asks_for_secrets(manifest: &mut Value) {
    let rule = json!({"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]});
    manifest["permissions"].as_array_mut().into_iter().for_each(|rules| rules.push(rule.clone()));
    manifest["http"] = json!({"origins": ["https://example.com"]});
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_that_asks_for_more_waits_and_the_difference_is_told_line_by_line() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        object(&world, "steady", "", &json!({})).await?;
        world.plugins.place("misfit.wasm", &misfit_with("2", "", asks_for_secrets)?)?;
        let entry = next_is(&world, "misfit", "awaiting-grant", "secrets").await?;
        ensure!(text(&entry, "/state") == "active" && text(&entry, "/version") == "1", "{entry}");
        let missing = entry["next"]["missing"].as_array().cloned().unwrap_or_default();
        ensure!(missing.len() == 2, "{missing:?}");
        for part in ["secrets", "https://example.com"] {
            ensure!(missing.iter().any(|line| line.as_str().is_some_and(|line| line.contains(part))), "{missing:?}");
            let told = world.logged(part, |line| line.text.contains("not granted") && line.text.contains(part)).await?;
            ensure!(told.len() == 1, "{part} is told {} times", told.len());
        }
        host_event(&world, "AwaitingGrant", "secrets").await?;
        let waits = async || {
            let labels = ["file=\"misfit.wasm\"", "state=\"awaiting-grant\""];
            world.host(async |host| host.metric("oarlock_plugin_newest_state", &labels).await).await
        };
        eventually(SOON, "the metric to follow", || async {
            ensure!(waits().await? > 0.5, "no metric says that it waits");
            Ok(())
        })
        .await?;
        set(&world, "steady", "meanwhile").await?;
        seen(&world, "steady", "meanwhile").await?;
        world.plugins.grant("misfit", &grant(&world).rule("", &["secrets"], &["get"]).origin("https://example.com"))?;
        runs(&world, "misfit", "2").await?;
        eventually(SOON, "the metric to follow", || async {
            ensure!(waits().await? < 0.5, "a metric says that it still waits");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_the_grant_alone_takes_effect_without_compiling_again() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.plugins.grant("misfit", &grant(&world).config("mode", "terminal"))?;
        world.plugins.place("misfit.wasm", &misfit_version("1", "")?)?;
        world.start_host().await?;
        runs(&world, "misfit", "1").await?;
        object(&world, "configured", "", &json!({})).await?;
        eventually(SOON, "the configuration to count", || async {
            let failed =
                world.log(|line| line.text.contains("TerminalError") && line.text.contains("configured")).await?;
            ensure!(!failed.is_empty(), "not yet");
            Ok(())
        })
        .await?;
        world.plugins.grant("misfit", &grant(&world).config("mode", "ok"))?;
        // A terminal failure is tried again by nothing but an event, a resync or a swap.
        seen(&world, "configured", "first").await?;
        let compiled = world.log(|line| line.text.contains("plugin loaded")).await?;
        ensure!(compiled.len() == 1, "compiled {} times", compiled.len());
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_that_is_withdrawn_ends_the_plugin_and_one_that_comes_back_starts_it() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        object(&world, "steady", "", &json!({})).await?;
        seen(&world, "steady", "first").await?;
        world.plugins.remove("misfit.yaml")?;
        eventually(SOON, "it to wait for a grant", || async {
            let entry = plugin(&world, "misfit").await?;
            ensure!(text(&entry, "/state") == "awaiting-grant", "{entry}");
            Ok(())
        })
        .await?;
        set(&world, "steady", "second").await?;
        steady(Duration::from_secs(1), "nothing to happen", || async {
            let child = world.cluster.get(&super::path(&world, "steady-child")).await?.unwrap_or_default();
            ensure!(text(&child, "/data/seen") == "first", "{child}");
            Ok(())
        })
        .await?;
        world.plugins.grant("misfit", &grant(&world))?;
        runs(&world, "misfit", "1").await?;
        seen(&world, "steady", "second").await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_that_makes_no_sense_leaves_the_plugin_running_with_the_one_before() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        object(&world, "steady", "", &json!({})).await?;
        world.plugins.place("misfit.yaml", b"apiVersion: oarlock.dev/v1alpha1\nkind: PluginGrant\nsurprise: 1\n")?;
        let entry = next_is(&world, "misfit", "failed", "surprise").await?;
        ensure!(text(&entry, "/state") == "active", "{entry}");
        set(&world, "steady", "meanwhile").await?;
        seen(&world, "steady", "meanwhile").await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fewer_and_more_workers_take_effect() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        for workers in [1, 8, 3] {
            world.plugins.grant("misfit", &grant(&world).workers(workers))?;
            eventually(SOON, &format!("{workers} workers"), || async {
                let entry = plugin(&world, "misfit").await?;
                ensure!(entry["workers"] == workers, "{entry}");
                Ok(())
            })
            .await?;
            let name = format!("with-{workers}");
            object(&world, &name, "", &json!({})).await?;
            seen(&world, &name, "first").await?;
        }
        Ok(())
    })
    .await
}

/// Found on a node (D6): keys of a namespace that is granted no more failed for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_that_is_granted_no_more_leaves_neither_keys_nor_errors() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        let other = world.cluster.fresh_namespace().await?;
        let failing = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "failing",
            "labels": {"misfit": "true"}, "annotations": {"misfit/mode": "apply-ungranted"}}, "data": {"value": "first"}});
        world.cluster.create(&format!("/api/v1/namespaces/{other}/configmaps"), &failing).await?;
        let stats = async || plugin(&world, "misfit").await;
        eventually(SOON, "it to fail", || async {
            let entry = stats().await?;
            ensure!(text(&entry, "/lastError").contains("failing"), "{entry}");
            Ok(())
        })
        .await?;
        let verbs = ["get", "list", "watch", "create", "patch", "delete"];
        let url = world.neutron_gate.url();
        let narrow = Grant::nothing().rule_in(&world.namespace, "", &["configmaps"], &verbs).origin(&url);
        world.plugins.grant("misfit", &narrow.config("url", &url))?;
        let series = async |name: &str| world.host(async |host| host.metric(name, &["\"misfit\""]).await).await;
        eventually(SOON, "nothing to be left of it", || async {
            let entry = stats().await?;
            ensure!(text(&entry, "/lastError").is_empty() && entry["outOfSync"]["objects"] == 0, "{entry}");
            Ok(())
        })
        .await?;
        let (errors, retries) = (stats().await?["errors"].clone(), series("workqueue_retries_total").await?);
        object(&world, "steady", "", &json!({})).await?;
        seen(&world, "steady", "first").await?;
        // Longer than the backoff of the few failures that there were.
        steady(Duration::from_secs(2), "nothing to be tried again", || async {
            let entry = stats().await?;
            ensure!(entry["errors"] == errors && text(&entry, "/lastError").is_empty(), "{entry}");
            let now = series("workqueue_retries_total").await?;
            ensure!((now - retries).abs() < 0.5, "{retries} retries became {now}");
            Ok(())
        })
        .await
    })
    .await
}
