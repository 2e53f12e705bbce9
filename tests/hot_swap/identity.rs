//! A plugin is called as its file or its grant says, never as it calls itself (T2).

use super::{grant, object, options, plugin, runs, seen, set, started};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{SOON, World, WorldOptions, eventually, misfit_version, steady, text, with_world};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// The name in the manifest of the plugin whose identity is wanted.
const VICTIM: &str = "misfit";

/// Waits until a file is refused because it calls itself like the victim.
async fn refused(world: &World, file: &str) -> Result<()> {
    eventually(SOON, &format!("{file} to be refused"), || async {
        let entry = plugin(world, file).await?;
        let reason = text(&entry, "/reason");
        ensure!(text(&entry, "/state") == "failed" && reason.contains("calls itself misfit"), "{entry}");
        ensure!(reason.contains("rename") && reason.contains("`name: "), "it does not say what to do: {reason}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t2_a_file_does_not_get_the_identity_it_claims_after_a_restart() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        // By name it comes first.
        world.plugins.grant("a", &grant(&world))?;
        world.plugins.place("a.wasm", &misfit_version("2", "")?)?;
        refused(&world, "a.wasm").await?;
        world.stop_host(SOON).await?;
        world.start_host().await?;
        refused(&world, "a.wasm").await?;
        runs(&world, VICTIM, "1").await?;
        object(&world, "steady", "", &json!({})).await?;
        seen(&world, "steady", "first").await?;
        ensure!(text(&plugin(&world, "misfit.wasm").await?, "/version") == "1", "the other file runs as misfit");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t2_a_file_does_not_get_the_identity_it_claims_while_the_other_file_is_away() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        world.plugins.grant("z", &grant(&world))?;
        world.plugins.place("z.wasm", &misfit_version("2", "")?)?;
        refused(&world, "z.wasm").await?;
        world.plugins.remove("misfit.wasm")?;
        let listed = || async {
            let all = world.host(async |host| host.plugins().await).await?;
            let list = all.get("plugins").and_then(Value::as_array).cloned().context("no list")?;
            anyhow::Ok(list)
        };
        eventually(SOON, "the plugin to end", || async {
            ensure!(listed().await?.iter().all(|entry| text(entry, "/name") != VICTIM), "still there");
            Ok(())
        })
        .await?;
        steady(Duration::from_secs(1), "nobody takes its place", || async {
            let list = listed().await?;
            ensure!(list.iter().all(|entry| text(entry, "/state") == "failed"), "{list:?}");
            Ok(())
        })
        .await
    })
    .await
}

/// A grant states a name. It does not give the memory of the plugin that had the name before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t2_a_file_that_takes_a_name_over_finds_nothing_that_the_other_file_remembered() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        let first = async || {
            let child = world.cluster.get(&super::path(&world, "a-child")).await?.context("no child")?;
            anyhow::Ok(text(&child, "/data/first"))
        };
        object(&world, "a", "remembers", &json!({})).await?;
        seen(&world, "a", "first").await?;
        set(&world, "a", "second").await?;
        seen(&world, "a", "second").await?;
        ensure!(first().await? == "first", "the plugin does not remember");
        world.plugins.grant("z", &grant(&world).name(VICTIM))?;
        world.plugins.place("z.wasm", &misfit_version("2", "")?)?;
        eventually(SOON, "the second file to wait", || async {
            let entry = plugin(&world, "z.wasm").await?;
            ensure!(text(&entry, "/reason").contains("is plugin misfit already"), "{entry}");
            Ok(())
        })
        .await?;
        world.plugins.remove("misfit.wasm")?;
        runs(&world, VICTIM, "2").await?;
        eventually(SOON, "the other file's first value", || async {
            let found = first().await?;
            ensure!(found == "second", "it remembers {found}");
            Ok(())
        })
        .await?;
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t2_a_name_that_the_grant_states_counts_whatever_the_manifest_says() -> Result<()> {
    let own = WorldOptions { host: false, network: false, crd: false, ..WorldOptions::default() };
    with_world(own, async |world: Arc<World>| {
        world.plugins.grant("v2", &grant(&world).name("renamed"))?;
        world.plugins.place("v2.wasm", &misfit_version("1", "")?)?;
        world.start_host().await?;
        runs(&world, "renamed", "1").await?;
        object(&world, "mine", "", &json!({})).await?;
        seen(&world, "mine", "first").await?;
        let path = super::path(&world, "mine-child");
        let child = world.cluster.get(&path).await?.context("no child")?;
        let managers = child.pointer("/metadata/managedFields").and_then(Value::as_array).cloned().unwrap_or_default();
        let named = |name: &str| managers.iter().any(|entry| text(entry, "/manager") == name);
        ensure!(named("oarlock.renamed") && !named("oarlock.misfit"), "{child}");
        Ok(())
    })
    .await
}
