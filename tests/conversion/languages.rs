//! The same conversions by a plugin in each language that has an SDK.

use super::{create, options, path, read, started_with};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{Grant, World, built_plugin, tested_languages, text, with_world};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// Those of the guest that converts. Rust has the tests beside this one.
const LANGUAGES: [&str; 4] = ["js", "python", "c", "go"];

/// Compiling Python takes half a minute of both cores, of others.
const PATIENCE: Duration = Duration::from_secs(180);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_in_each_language_converts_and_says_why_it_cannot() -> Result<()> {
    for language in tested_languages(&LANGUAGES) {
        let file = built_plugin(&format!("converter-{language}"))?;
        let grant = Grant::nothing().conversion("gauges.convert.example.com");
        with_world(options(), async |world: Arc<World>| {
            started_with(&world, &file, &grant, PATIENCE).await?;
            each_version_is_served(&world).await?;
            failures_say_why(&world).await
        })
        .await
        .context(language)?;
    }
    Ok(())
}

/// Objects of both versions, read and listed in both.
async fn each_version_is_served(world: &World) -> Result<()> {
    create(world, "v1", "a", &json!({"size": 1})).await?;
    create(world, "v2", "b", &json!({"sizes": [2, 3]})).await?;
    for (version, a, b) in
        [("v1", json!({"size": 1}), json!({"size": 2})), ("v2", json!({"sizes": [1]}), json!({"sizes": [2, 3]}))]
    {
        ensure!(read(world, version, "a").await?.pointer("/spec") == Some(&a), "{version} of a");
        ensure!(read(world, version, "b").await?.pointer("/spec") == Some(&b), "{version} of b");
        let items = world.cluster.list(&path(world, version, "")).await?;
        let specs: Vec<&Value> = items.iter().map(|item| &item["spec"]).collect();
        ensure!(specs == [&a, &b], "{version}: {specs:?}");
    }
    // What v1 lacks survives a change by a v1 client, and leaves no annotation.
    world.cluster.merge_patch(&path(world, "v1", "b"), &json!({"spec": {"size": 20}})).await?;
    let changed = read(world, "v2", "b").await?;
    ensure!(changed.pointer("/spec") == Some(&json!({"sizes": [20, 3]})), "{changed}");
    ensure!(changed.pointer("/metadata/annotations").is_none(), "{changed}");
    Ok(())
}

/// The user sees the plugin's own message, or that it trapped; the log has the cause. Other objects are served as before.
async fn failures_say_why(world: &World) -> Result<()> {
    for (name, expected) in [("refuse-1", "spec.size: refused as asked"), ("trap-1", "the plugin trapped")] {
        create(world, "v2", name, &json!({"sizes": [1]})).await?;
        let object = format!("Gauge {}/{name} cannot be converted to convert.example.com/v1: ", world.namespace);
        let of_one = read(world, "v1", name).await.err().with_context(|| format!("{name} was converted"))?;
        let of_all =
            world.cluster.list(&path(world, "v1", "")).await.err().with_context(|| format!("{name} was listed"))?;
        for error in [of_one, of_all] {
            let error = format!("{error:#}");
            ensure!(error.contains(&format!("plugin converter (version 1): {object}")), "{error}");
            ensure!(error.contains(expected), "{error}");
        }
        world.cluster.delete(&path(world, "v2", name)).await?;
        ensure!(read(world, "v1", "b").await?.pointer("/spec") == Some(&json!({"size": 20})), "after {name}");
    }
    world
        .logged("the cause of the trap", |line| line.text.contains("as asked") && !line.text.contains("refused"))
        .await?;
    let plugin = world.host(async |host| host.plugin("converter").await).await?;
    ensure!(text(&plugin, "/state") == "active", "{plugin}");
    Ok(())
}
