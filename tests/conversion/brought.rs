//! A plugin file with a definition that needs the plugin's own conversions.

use super::{DEFINITION, create, grant, options, path, read};
use anyhow::{Context, Result, ensure};
use oarlock::plugin::{Attachments, Definition};
use oarlock_tests::harness::{SOON, World, built_plugin, eventually, repository_root, text, with_world};
use serde_json::{Value, json};
use std::fs;
use std::sync::Arc;

/// A cluster that has v1 of the Gauges alone, and a plugin file with all versions.
async fn prepared(world: &World) -> Result<()> {
    let whole = fs::read_to_string(repository_root().join("tests/fixtures/gauges.yaml"))?;
    let whole: Value = serde_saphyr::from_str(&whole)?;
    let mut first = whole.clone();
    let versions = first.pointer_mut("/spec/versions").and_then(Value::as_array_mut).context("no versions")?;
    versions.retain(|version| text(version, "/name") == "v1");
    for version in versions {
        version["storage"] = json!(true);
    }
    let file = world.folder().join("first.yaml");
    fs::write(&file, serde_saphyr::to_string(&first)?)?;
    world.cluster.apply_crd(&file).await?;
    let mut attachments = Attachments::default();
    attachments.add_definition(Definition::new(&whole)?)?;
    world.plugins.grant("converter", &grant().definition("gauges.convert.example.com"))?;
    world.plugins.place("converter.wasm", &attachments.attach(&fs::read(built_plugin("converter")?)?)?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_that_needs_conversion_comes_after_the_webhook() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        prepared(&world).await?;
        create(&world, "v1", "a", &json!({"size": 5})).await?;
        world.start_host_answering(&[]).await?;
        eventually(SOON, "the object in v2, with its status", || async {
            let gauge = read(&world, "v2", "a").await?;
            ensure!(gauge["spec"] == json!({"sizes": [5]}) && gauge["status"]["sum"] == 5, "{gauge}");
            Ok(())
        })
        .await?;
        ensure!(read(&world, "v1", "a").await?["spec"] == json!({"size": 5}), "v1 lost it");
        create(&world, "v3", "b", &json!({"sizes": [1, 2], "unit": "cm"})).await?;
        ensure!(world.cluster.list(&path(&world, "v1", "")).await?.len() == 2, "not all in v1");
        let live = world.cluster.get(DEFINITION).await?.context("no definition")?;
        let versions = live.pointer("/spec/versions").and_then(Value::as_array).map(Vec::len);
        ensure!(text(&live, "/spec/conversion/strategy") == "Webhook" && versions == Some(3), "{live:#}");
        let refused = world.log(|line| line.text.contains("is refused")).await?;
        ensure!(refused.is_empty(), "{refused:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_webhook_the_version_waits_and_nothing_changes() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        prepared(&world).await?;
        world.start_host().await?;
        eventually(SOON, "the reason", || async {
            let plugin = world.host(async |host| host.plugin("converter").await).await?;
            let why = text(&plugin, "/reason");
            ensure!(
                text(&plugin, "/state") == "syncing" && why.contains("waits for the conversion webhook"),
                "{plugin:#}"
            );
            Ok(())
        })
        .await?;
        let live = world.cluster.get(DEFINITION).await?.context("no definition")?;
        ensure!(live.pointer("/spec/versions").and_then(Value::as_array).map(Vec::len) == Some(1), "{live:#}");
        Ok(())
    })
    .await
}
