//! The end of a plugin that a definition depends on.

use super::{create, grant, options, path, read, started, strategy};
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::Method;
use oarlock_tests::harness::{Host, SOON, World, WorldOptions, built_plugin, eventually, text, with_world};
use serde_json::{Value, json};
use std::{fs, sync::Arc};

async fn entry(world: &World) -> Result<Option<Value>> {
    let all = world.host(async |host| host.plugins().await).await?;
    let plugins = all.get("plugins").and_then(Value::as_array).context("no plugins")?;
    let waits = |plugin: &&Value| text(plugin, "/name") == "converter" && plugin.get("objectsConcerned").is_some();
    Ok(plugins.iter().find(waits).cloned())
}

/// The file goes, the objects stay readable, and a person decides.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_conversions_of_a_removed_plugin_continue_until_a_person_confirms_their_end() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        for name in ["a", "b", "c"] {
            create(&world, "v2", name, &json!({"sizes": [1, 2]})).await?;
        }
        world.plugins.remove("converter.wasm")?;
        let waiting = eventually(SOON, "the plugin to wait", || async { entry(&world).await?.context("none") }).await?;
        ensure!(text(&waiting, "/state") == "awaiting-confirmation", "{waiting}");
        ensure!(text(&waiting, "/reason").contains("still converts for gauges.convert.example.com"), "{waiting}");
        world
            .logged("the conversions continue", |line| line.text.contains("conversions of a removed plugin continue"))
            .await?;
        ensure!(read(&world, "v1", "a").await?["spec"] == json!({"size": 1}), "it converts");
        strategy(&world, "Webhook").await?;

        // Back again: it is the running plugin that converts, and nothing waits.
        world.plugins.place("converter.wasm", &fs::read(built_plugin("converter")?)?)?;
        eventually(2 * SOON, "nothing to wait", || async {
            ensure!(entry(&world).await?.is_none(), "it waits");
            Ok(())
        })
        .await?;
        ensure!(read(&world, "v1", "a").await?["spec"] == json!({"size": 1}), "it converts again");

        world.plugins.remove("converter.wasm")?;
        eventually(SOON, "the plugin to wait", || async { entry(&world).await?.context("none") }).await?;
        let confirm = async |host: &Host| {
            Ok(host
                .admin()
                .send(Method::POST, "/plugins/converter/confirm", &[("x-oarlock-action", "confirm")], Bytes::new())
                .await?
                .text())
        };
        let said = world.host(confirm).await?;
        ensure!(said.contains("converts no longer for gauges.convert.example.com"), "{said}");
        strategy(&world, "None").await?;
        // Only the apiVersion changes now.
        eventually(SOON, "the strategy to count", || async {
            let found = read(&world, "v1", "a").await?;
            ensure!(found["spec"].get("size").is_none(), "{found}");
            Ok(())
        })
        .await?;
        ensure!(read(&world, "v2", "a").await?["spec"] == json!({"sizes": [1, 2]}), "nothing is lost");
        Ok(())
    })
    .await
}

/// Nothing waits for a definition that is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_definition_that_goes_needs_no_conversions() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        create(&world, "v2", "a", &json!({"sizes": [1, 2]})).await?;
        world.plugins.remove("converter.wasm")?;
        eventually(SOON, "the plugin to wait", || async { entry(&world).await?.context("none") }).await?;
        world.cluster.delete(super::DEFINITION).await?;
        eventually(2 * SOON, "nothing to wait", || async {
            ensure!(entry(&world).await?.is_none(), "it waits");
            Ok(())
        })
        .await
    })
    .await
}

/// A withdrawn grant ends the plugin at once, but not the reads of its kind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_withdrawn_grant_leaves_the_objects_readable() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        create(&world, "v2", "a", &json!({"sizes": [1, 2]})).await?;
        world.plugins.remove("converter.yaml")?;
        eventually(SOON, "the plugin to wait", || async { entry(&world).await?.context("none") }).await?;
        ensure!(read(&world, "v1", "a").await?["spec"] == json!({"size": 1}), "it converts");
        let before = read(&world, "v2", "a").await?["status"].clone();
        world.cluster.merge_patch(&path(&world, "v2", "a"), &json!({"spec": {"sizes": [8, 2]}})).await?;
        world.plugins.grant("converter", &grant())?;
        eventually(2 * SOON, "the plugin to run again", || async {
            let now = read(&world, "v2", "a").await?["status"].clone();
            ensure!(now != before && now["sum"] == 10, "{now}");
            Ok(())
        })
        .await
    })
    .await
}

/// While Networks have a single version, nothing depends on the plugin.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_of_a_definition_with_one_version_ends_without_a_confirmation() -> Result<()> {
    let options = WorldOptions { host: false, ..WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        world.start_host_answering(&[]).await?;
        let strategy = async |wanted: &str| {
            eventually(SOON, &format!("strategy {wanted}"), || async {
                let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/networks.samplecrd.k8s.io";
                let definition = world.cluster.get(path).await?.context("no definition")?;
                ensure!(text(&definition, "/spec/conversion/strategy") == wanted, "{definition}");
                Ok(())
            })
            .await
        };
        strategy("Webhook").await?;
        world.plugins.remove("network.wasm")?;
        strategy("None").await?;
        let all = world.host(async |host| host.plugins().await).await?;
        ensure!(!all.to_string().contains("awaiting-confirmation"), "{all}");
        Ok(())
    })
    .await
}
