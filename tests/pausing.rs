//! Annotations control single objects: `oarlock.dev/paused` and `oarlock.dev/reconcile-at`, and the commands that set them.

mod commands;
mod plugins;
mod requests;

use crate::hot_swap::{grant, object, options, path, plugin, runs, seen};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{SOON, World, WorldOptions, eventually, misfit_version, ready, steady, text, with_world};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const PAUSED: &str = "oarlock.dev/paused";
const RECONCILE_AT: &str = "oarlock.dev/reconcile-at";

/// Time for which nothing may happen: several resyncs.
const QUIET: Duration = Duration::from_secs(4);

/// Each misfit resyncs every second.
fn often() -> WorldOptions {
    WorldOptions { resync_seconds: 1, ..options() }
}

/// Puts a version of the misfit under a name, which every object with the label `misfit` belongs to.
fn misfit(world: &World, name: &str, version: &str) -> Result<()> {
    world.plugins.grant(name, &grant(world).name(name).resync_seconds(1))?;
    world.plugins.place(&format!("{name}.wasm"), &misfit_version(version, "")?)
}

async fn annotate(world: &World, path: &str, name: &str, value: Option<&str>) -> Result<()> {
    world.cluster.merge_patch(path, &json!({"metadata": {"annotations": {name: value}}})).await.map(drop)
}

async fn set(world: &World, name: &str, value: &str) -> Result<()> {
    world.cluster.merge_patch(&path(world, name), &json!({"data": {"value": value}})).await.map(drop)
}

async fn live(world: &World, path: &str) -> Result<Value> {
    world.cluster.get(path).await?.with_context(|| format!("no {path}"))
}

/// Waits until a plugin has this many paused objects.
async fn paused(world: &World, name: &str, objects: u64) -> Result<()> {
    eventually(SOON, &format!("{objects} paused objects of {name}"), || async {
        let entry = plugin(world, name).await?;
        ensure!(entry.pointer("/pausedObjects/objects") == Some(&json!(objects)), "{entry}");
        Ok(())
    })
    .await
}

/// Waits until no reconcile of a plugin is under way: what begins later sees the pause.
async fn no_reconcile(world: &World, name: &str) -> Result<()> {
    eventually(SOON, &format!("no reconcile of {name}"), || async {
        let label = format!("controller=\"{name}\"");
        let busy = world.host(async |host| host.metric("controller_runtime_active_workers", &[&label]).await).await?;
        ensure!(busy < 0.5, "{busy} workers");
        Ok(())
    })
    .await
}

/// The number of calls into a plugin.
async fn calls(world: &World, name: &str) -> Result<f64> {
    let label = format!("plugin=\"{name}\"");
    world.host(async |host| host.metric("oarlock_plugin_call_duration_seconds_count", &[&label]).await).await
}

/// The child of an object, if there is one, has not seen anything but this value for a while.
async fn stays(world: &World, name: &str, value: Option<&str>) -> Result<()> {
    steady(QUIET, &format!("{name}-child with {value:?}"), || async {
        let child = world.cluster.get(&path(world, &format!("{name}-child"))).await?;
        let seen = child.as_ref().map(|child| text(child, "/data/seen"));
        ensure!(seen.as_deref() == value, "{child:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_object_is_left_alone_whatever_changes_and_runs_at_once_when_it_is_resumed() -> Result<()> {
    with_world(often(), async |world: Arc<World>| {
        misfit(&world, "misfit", "1")?;
        world.start_host().await?;
        object(&world, "a", "", &json!({})).await?;
        seen(&world, "a", "first").await?;
        for (round, resumed) in [None, Some("false")].into_iter().enumerate() {
            annotate(&world, &path(&world, "a"), PAUSED, Some("true")).await?;
            paused(&world, "misfit", 1).await?;
            no_reconcile(&world, "misfit").await?;
            let before = calls(&world, "misfit").await?;
            let value = format!("value {round}");
            set(&world, "a", &value).await?;
            world.cluster.delete(&path(&world, "a-child")).await?;
            stays(&world, "a", None).await?;
            let after = calls(&world, "misfit").await?;
            ensure!((after - before).abs() < 0.5, "{} calls of a paused object", after - before);
            let gauge = world.host(async |host| host.metric("oarlock_paused_objects", &["plugin=\"misfit\""]).await);
            ensure!((gauge.await? - 1.0).abs() < 0.5, "the metric does not count it");
            let entry = plugin(&world, "misfit").await?;
            let some = format!("ConfigMap {}/a", world.namespace);
            ensure!(entry.pointer("/pausedObjects/some/0") == Some(&json!(some)), "{entry}");
            ensure!(entry.pointer("/outOfSync/objects") == Some(&json!(0)), "{entry}");

            annotate(&world, &path(&world, "a"), PAUSED, resumed).await?;
            seen(&world, "a", &value).await?;
            paused(&world, "misfit", 0).await?;
        }
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_that_fails_has_neither_backoff_nor_error_while_it_is_paused() -> Result<()> {
    with_world(often(), async |world: Arc<World>| {
        misfit(&world, "misfit", "1")?;
        world.start_host().await?;
        object(&world, "a", "transient", &json!({})).await?;
        let failed = |entry: &Value| !text(entry, "/lastError").is_empty();
        eventually(SOON, "an error", || async {
            ensure!(failed(&plugin(&world, "misfit").await?), "none");
            Ok(())
        })
        .await?;
        annotate(&world, &path(&world, "a"), PAUSED, Some("true")).await?;
        paused(&world, "misfit", 1).await?;
        eventually(SOON, "no error and no backoff", || async {
            let entry = plugin(&world, "misfit").await?;
            let failing =
                world.host(async |host| host.metric("oarlock_map_entries", &["map=\"backoffs\""]).await).await?;
            ensure!(!failed(&entry) && failing < 0.5, "{failing} backoffs: {entry}");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_version_and_a_new_host_leave_paused_objects_alone() -> Result<()> {
    with_world(often(), async |world: Arc<World>| {
        misfit(&world, "misfit", "1")?;
        world.start_host().await?;
        for name in ["a", "other"] {
            object(&world, name, "", &json!({})).await?;
            seen(&world, name, "first").await?;
        }
        let born = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"value": "first"}, "metadata":
            {"name": "born", "labels": {"misfit": "true"}, "annotations": {PAUSED: "true"}}});
        world.cluster.create(path(&world, "").trim_end_matches('/'), &born).await?;
        annotate(&world, &path(&world, "a"), PAUSED, Some("true")).await?;
        paused(&world, "misfit", 2).await?;
        set(&world, "a", "second").await?;

        misfit(&world, "misfit", "2")?;
        runs(&world, "misfit", "2").await?;
        set(&world, "other", "second").await?;
        seen(&world, "other", "second").await?;
        paused(&world, "misfit", 2).await?;
        stays(&world, "a", Some("first")).await?;

        world.kill_host().await?;
        world.start_host().await?;
        runs(&world, "misfit", "2").await?;
        set(&world, "other", "third").await?;
        seen(&world, "other", "third").await?;
        paused(&world, "misfit", 2).await?;
        stays(&world, "a", Some("first")).await?;
        stays(&world, "born", None).await?;

        for name in ["a", "born"] {
            annotate(&world, &path(&world, name), PAUSED, None).await?;
        }
        seen(&world, "a", "second").await?;
        seen(&world, "born", "first").await
    })
    .await
}

/// Waits until a Network is paused, with a message that has this part.
async fn network_paused(world: &World, name: &str, part: &str) -> Result<Value> {
    eventually(SOON, &format!("{name} to be paused: {part}"), || async {
        let network = world.network(name).await?;
        let ready = ready(&network)?;
        ensure!(ready.status == "Unknown" && ready.reason == "Paused", "{ready:?}");
        ensure!(ready.message.contains(PAUSED) && ready.message.contains(part), "{ready:?}");
        Ok(network)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_condition_says_that_an_object_is_paused_and_its_deletion_waits() -> Result<()> {
    with_world(WorldOptions { resync_seconds: 1, ..WorldOptions::default() }, async |world: Arc<World>| {
        let uid = world.create_network("example", "10.9.0.0/24", "10.9.0.1").await?;
        let before = world.ready("example").await?;
        let at = world.network_path("example");
        annotate(&world, &at, PAUSED, Some("true")).await?;
        let now = network_paused(&world, "example", "no plugin changes it").await?;
        ensure!(now.pointer("/status/networkId") == before.pointer("/status/networkId"), "{now}");

        // The condition is of the present spec; what the plugin observed is not.
        world.set_gateway("example", "10.9.0.2").await?;
        let changed = eventually(SOON, "the condition of the changed spec", || async {
            let network = world.network("example").await?;
            let conditions = network.pointer("/status/conditions").and_then(Value::as_array).context("none")?;
            let ready = conditions.iter().find(|one| text(one, "/type") == "Ready").context("no Ready")?;
            ensure!(ready.get("observedGeneration") == network.pointer("/metadata/generation"), "{network}");
            Ok(network)
        })
        .await?;
        let observed = |network: &Value| network.pointer("/status/observedGeneration").cloned();
        ensure!(observed(&changed) == observed(&before), "{changed}");
        steady(QUIET, "an object that is not written", || async {
            let network = world.network("example").await?;
            let version = |network: &Value| text(network, "/metadata/resourceVersion");
            ensure!(version(&network) == version(&changed), "{network}");
            let (_, subnet) = world.only_network(&uid).await?;
            ensure!(text(&subnet, "/gateway_ip") == "10.9.0.1", "{subnet}");
            Ok(())
        })
        .await?;

        world.delete_network("example").await?;
        network_paused(&world, "example", "the deletion waits").await?;
        world.event(&uid, "Warning", PAUSED).await?;
        steady(QUIET, "the finalizer", || async {
            let network = world.network("example").await?;
            ensure!(text(&network, "/metadata/finalizers/0").starts_with("oarlock.dev/"), "{network}");
            world.only_network(&uid).await.map(drop)
        })
        .await?;
        annotate(&world, &at, PAUSED, None).await?;
        world.gone("example").await?;
        world.nothing_left(&uid).await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_without_cleanup_does_nothing_about_an_object_that_goes_while_it_is_paused() -> Result<()> {
    with_world(often(), async |world: Arc<World>| {
        misfit(&world, "misfit", "1")?;
        world.start_host().await?;
        for name in ["a", "b"] {
            object(&world, name, "farewell", &json!({})).await?;
            seen(&world, name, "first").await?;
        }
        annotate(&world, &path(&world, "a"), PAUSED, Some("true")).await?;
        paused(&world, "misfit", 1).await?;
        for name in ["a", "b"] {
            world.cluster.delete(&path(&world, name)).await?;
        }
        eventually(SOON, "the farewell of the other object", || async {
            live(&world, &path(&world, "b-farewell")).await
        })
        .await?;
        paused(&world, "misfit", 0).await?;
        steady(QUIET, "no farewell of the paused object", || async {
            let farewell = world.cluster.get(&path(&world, "a-farewell")).await?;
            ensure!(farewell.is_none(), "{farewell:?}");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_that_is_neither_true_nor_false_pauses_nothing_and_is_told_in_one_event() -> Result<()> {
    with_world(often(), async |world: Arc<World>| {
        misfit(&world, "misfit", "1")?;
        world.start_host().await?;
        let uid = object(&world, "a", "", &json!({})).await?;
        seen(&world, "a", "first").await?;
        annotate(&world, &path(&world, "a"), PAUSED, Some("yes")).await?;
        let event = world.event(&uid, "Warning", PAUSED).await?;
        ensure!(
            text(&event, "/reason") == "InvalidAnnotation" && text(&event, "/message").contains("\"yes\""),
            "{event}"
        );
        for value in ["second", "third"] {
            set(&world, "a", value).await?;
            seen(&world, "a", value).await?;
        }
        paused(&world, "misfit", 0).await?;
        let told: Vec<Value> = world.events(&uid).await?;
        let told: Vec<&Value> = told.iter().filter(|event| text(event, "/reason") == "InvalidAnnotation").collect();
        ensure!(told.len() == 1 && told[0].get("count") == Some(&json!(1)), "{told:?}");
        Ok(())
    })
    .await
}
