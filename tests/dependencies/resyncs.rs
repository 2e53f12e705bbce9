//! A resync skips the keys that depend on nothing that has changed, and no others.

use super::{config_maps, drawn, grant, key, options, version};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{Grant, SOON, World, WorldOptions, built_plugin, eventually, with_world};
use std::sync::Arc;
use std::time::Duration;

/// The sum of a plugin's calls, or of its keys that resyncs skipped.
async fn counted(world: &World, name: &str, label: &str) -> Result<f64> {
    world.host(async |host| host.metric(name, &[label]).await).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resync_skips_the_keys_that_depend_on_nothing_that_changed() -> Result<()> {
    let options = WorldOptions { resync_seconds: 1, ..options() };
    with_world(options, async |world: Arc<World>| {
        let server = world.neutron_gate.url();
        let granted = |plugin| grant().name(plugin).resync_seconds(1).origin(&server).config("url", &server);
        for plugin in ["readers", "others"] {
            world.plugins.grant(plugin, &granted(plugin))?;
        }
        world.plugins.place("readers.wasm", &version("1", "misfit=reader", None)?)?;
        world.plugins.place("others.wasm", &version("1", "misfit=other", None)?)?;
        world.start_host().await?;
        let object = drawn(&mut fastrand::Rng::with_seed(1), "v0", &[]);
        world.cluster.create(&config_maps(&world), &object).await?;
        for i in 0..20 {
            key(&world, &format!("reader{i}"), "misfit=reader", "program", &i.to_string()).await?;
        }
        // A read from the API server, a kept value, an HTTP request, a reconcile that never ends in sync.
        for (i, mode) in ["live", "remembers", "asks", "transient"].into_iter().enumerate() {
            key(&world, &format!("other{i}"), "misfit=other", mode, "x").await?;
        }
        let skipped = async || counted(&world, "oarlock_resyncs_skipped_total", "plugin=\"readers\"").await;
        let calls = async |plugin: &str| counted(&world, "oarlock_plugin_call_duration_seconds_count", plugin).await;
        let (readers, others) = ("plugin=\"readers\"", "plugin=\"others\"");
        // From one resync to the next but one: each skips every key, and the guest is not called.
        eventually(SOON, "resyncs that call no guest", || async {
            let (before, called) = (skipped().await?, calls(readers).await?);
            tokio::time::sleep(Duration::from_millis(2500)).await;
            let (after, still) = (skipped().await?, calls(readers).await?);
            ensure!(after - before >= 40.0 && called > 0.0 && still == called, "{before} {after}, {called} {still}");
            Ok(())
        })
        .await?;
        ensure!(counted(&world, "oarlock_resyncs_skipped_total", others).await? == 0.0, "a key was skipped");
        let before = calls(others).await?;
        eventually(SOON, "the resync of the others", || async {
            ensure!(calls(others).await? >= before + 12.0, "few calls");
            Ok(())
        })
        .await?;
        ensure!(counted(&world, "oarlock_resyncs_skipped_total", others).await? == 0.0, "a key was skipped");
        // The end of a child is an event of what the key read.
        let child = format!("{}/reader3-child", config_maps(&world));
        world.cluster.delete(&child).await?;
        eventually(SOON, "the child again", || async {
            world.cluster.get(&child).await?.context("no child").map(drop)
        })
        .await?;
        // Another grant may allow other reads, and another version has other code: every key runs.
        let all_run = async |before: f64, why: &str| {
            eventually(SOON, why, || async {
                ensure!(calls(readers).await? >= before + 40.0, "few calls");
                Ok(())
            })
            .await
        };
        let before = calls(readers).await?;
        world.plugins.grant("readers", &granted("readers").limits(|limits| limits.instance_reuses = 2))?;
        all_run(before, "the new grant").await?;
        let (before, next) = (calls(readers).await?, version("2", "misfit=reader", None)?);
        world.plugins.place("readers.wasm", &next)?;
        all_run(before, "the new version").await
    })
    .await
}

/// The guest is in sync in each mode. Only in one of them nothing but its object counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resync_skips_no_key_that_saw_a_clock_or_a_random_number() -> Result<()> {
    with_world(WorldOptions { resync_seconds: 1, ..options() }, async |world: Arc<World>| {
        let plugin = "unruly-js";
        let granted = |mode| {
            let grant = Grant::nothing().rule_in(&world.namespace, "", &["configmaps"], &["get", "list", "watch"]);
            grant.config("mode", mode).resync_seconds(1)
        };
        key(&world, "only", "misfit=none", "ok", "x").await?;
        world.plugins.grant(plugin, &granted("clock"))?;
        world.plugins.place("unruly-js.wasm", &std::fs::read(built_plugin(plugin)?)?)?;
        world.start_host().await?;
        let label = format!("plugin=\"{plugin}\"");
        let skipped_and_calls = async || -> Result<(f64, f64)> {
            let skipped = counted(&world, "oarlock_resyncs_skipped_total", &label).await?;
            Ok((skipped, counted(&world, "oarlock_plugin_call_duration_seconds_count", &label).await?))
        };
        for (mode, skips) in [("clock", false), ("well", true), ("dice", false)] {
            world.plugins.grant(plugin, &granted(mode))?;
            eventually(SOON, mode, || async {
                let before = skipped_and_calls().await?;
                tokio::time::sleep(Duration::from_millis(2500)).await;
                let after = skipped_and_calls().await?;
                // The first reconcile of an object is two calls, each resync as many.
                let ran = if skips { after.1 == before.1 } else { after.1 >= before.1 + 4.0 };
                ensure!(ran && (after.0 > before.0) == skips, "{before:?} {after:?}");
                Ok(())
            })
            .await?;
        }
        Ok(())
    })
    .await
}
