//! A plugin is called as its file or its grant says, never as it calls itself (T2).

use super::{grant, object, options, plugin, runs, seen, started};
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
