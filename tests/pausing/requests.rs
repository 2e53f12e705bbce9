//! `oarlock.dev/reconcile-at` asks for a reconcile, which is acknowledged once.

use super::{QUIET, RECONCILE_AT, annotate, live, misfit, often};
use crate::hot_swap::{object, options, path, seen};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{Grant, SOON, World, WorldOptions, eventually, steady, text, with_world};
use serde_json::{Value, json};
use std::sync::Arc;

/// The acknowledgement of a plugin.
fn acknowledged(object: &Value, plugin: &str) -> Option<String> {
    let annotations = object.pointer("/metadata/annotations")?;
    annotations.get(format!("{plugin}.oarlock.dev/reconciled-at"))?.as_str().map(str::to_owned)
}

/// Waits until a plugin has acknowledged a value; returns the object.
pub(super) async fn acknowledges(world: &World, path: &str, plugin: &str, value: &str) -> Result<Value> {
    eventually(SOON, &format!("{plugin} to acknowledge {value}"), || async {
        let object = live(world, path).await?;
        ensure!(acknowledged(&object, plugin).as_deref() == Some(value), "{object}");
        Ok(object)
    })
    .await
}

/// Waits until the object is not written for a while: another plugin may be about to write.
async fn rests(world: &World, path: &str) -> Result<()> {
    eventually(SOON, "an object that is not written", || async {
        let version = async || Ok::<_, anyhow::Error>(text(&live(world, path).await?, "/metadata/resourceVersion"));
        let now = version().await?;
        steady(QUIET, "an object that is not written", || async {
            ensure!(version().await? == now, "{}", live(world, path).await?);
            Ok(())
        })
        .await
    })
    .await
}

/// The number of the host's writes of an acknowledgement.
fn writes(world: &World) -> usize {
    let acknowledges = |body: &[u8]| String::from_utf8_lossy(body).contains("oarlock.dev/reconciled-at");
    world.kubernetes_gate.journal().iter().filter(|one| one.is_write() && acknowledges(&one.body)).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_that_resyncs_skip_is_reconciled_and_acknowledged_exactly_once() -> Result<()> {
    with_world(often(), async |world: Arc<World>| {
        misfit(&world, "misfit", "1")?;
        world.start_host().await?;
        object(&world, "a", "", &json!({})).await?;
        seen(&world, "a", "first").await?;
        let skips = async |more_than: f64| {
            eventually(SOON, "a resync that skips the object", || async {
                let label = ["plugin=\"misfit\""];
                let skipped =
                    world.host(async |host| host.metric("oarlock_resyncs_skipped_total", &label).await).await?;
                ensure!(skipped > more_than, "{skipped}");
                Ok(skipped)
            })
            .await
        };
        let skipped = skips(0.5).await?;
        let at = path(&world, "a");
        annotate(&world, &at, RECONCILE_AT, Some("one")).await?;
        acknowledges(&world, &at, "misfit", "one").await?;
        skips(skipped + 1.5).await?;
        rests(&world, &at).await?;
        ensure!(writes(&world) == 1, "{} acknowledgements", writes(&world));

        annotate(&world, &at, RECONCILE_AT, Some("two")).await?;
        acknowledges(&world, &at, "misfit", "two").await?;
        // Neither another change, nor the end of the request, needs another acknowledgement.
        world.cluster.merge_patch(&at, &json!({"data": {"value": "second"}})).await?;
        seen(&world, "a", "second").await?;
        annotate(&world, &at, RECONCILE_AT, None).await?;
        rests(&world, &at).await?;
        ensure!(writes(&world) == 2, "{} acknowledgements", writes(&world));
        let object = live(&world, &at).await?;
        ensure!(acknowledged(&object, "misfit").as_deref() == Some("two"), "{object}");
        let managers = object.pointer("/metadata/managedFields").and_then(Value::as_array).context("none")?;
        ensure!(managers.iter().any(|one| text(one, "/manager") == "oarlock.misfit.host"), "{managers:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_ends_the_backoff_and_a_failure_is_not_acknowledged() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        misfit(&world, "misfit", "1")?;
        world.start_host().await?;
        let asks = |line: &oarlock_tests::harness::LogLine| {
            line.field("cause").is_some_and(|cause| cause.contains("asks for a reconcile"))
        };
        // It succeeds in its twelfth attempt since the backoff began.
        object(&world, "a", "fails-first:11", &json!({})).await?;
        let failed = |line: &oarlock_tests::harness::LogLine| line.field("attempt").as_deref() == Some("9");
        world.logged("the ninth failure", failed).await?;
        annotate(&world, &path(&world, "a"), RECONCILE_AT, Some("now")).await?;
        let lines = world.logged("the requested reconcile", asks).await?;
        ensure!(lines[0].field("attempt").as_deref() == Some("1"), "{lines:?}");
        acknowledges(&world, &path(&world, "a"), "misfit", "now").await?;

        object(&world, "b", "transient", &json!({})).await?;
        let at = path(&world, "b");
        let key = format!("ConfigMap {}/b", world.namespace);
        let of_b = |line: &oarlock_tests::harness::LogLine| line.field("key") == Some(key.clone());
        world.logged("its failure", of_b).await?;
        annotate(&world, &at, RECONCILE_AT, Some("again")).await?;
        world.logged("the requested reconcile", |line| of_b(line) && asks(line)).await?;
        steady(QUIET, "no acknowledgement", || async {
            let object = live(&world, &at).await?;
            ensure!(acknowledged(&object, "misfit").is_none(), "{object}");
            Ok(())
        })
        .await?;
        annotate(&world, &at, "misfit/mode", Some("ok")).await?;
        acknowledges(&world, &at, "misfit", "again").await.map(drop)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_plugins_of_an_object_acknowledge_both() -> Result<()> {
    with_world(often(), async |world: Arc<World>| {
        for name in ["left", "right"] {
            misfit(&world, name, "1")?;
        }
        world.start_host().await?;
        object(&world, "a", "", &json!({})).await?;
        seen(&world, "a", "first").await?;
        let at = path(&world, "a");
        for value in ["one", "two"] {
            annotate(&world, &at, RECONCILE_AT, Some(value)).await?;
            for plugin in ["left", "right"] {
                acknowledges(&world, &at, plugin, value).await?;
            }
        }
        rests(&world, &at).await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_of_more_than_256_bytes_is_not_acknowledged() -> Result<()> {
    with_world(often(), async |world: Arc<World>| {
        misfit(&world, "misfit", "1")?;
        world.start_host().await?;
        let uid = object(&world, "a", "", &json!({})).await?;
        let at = path(&world, "a");
        annotate(&world, &at, RECONCILE_AT, Some(&"x".repeat(257))).await?;
        world.event(&uid, "Warning", RECONCILE_AT).await?;
        seen(&world, "a", "first").await?;
        rests(&world, &at).await?;
        ensure!(writes(&world) == 0, "{} acknowledgements", writes(&world));
        let longest = "x".repeat(256);
        annotate(&world, &at, RECONCILE_AT, Some(&longest)).await?;
        acknowledges(&world, &at, "misfit", &longest).await.map(drop)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_may_not_patch_its_primary_says_so_in_an_event_and_goes_on() -> Result<()> {
    with_world(WorldOptions { crd: true, ..often() }, async |world: Arc<World>| {
        let reads = Grant::nothing().rule("samplecrd.k8s.io", &["networks"], &["get", "list", "watch"]).manage_status();
        world.plugins.add("status-only", "status-only", &reads)?;
        world.start_host().await?;
        let uid = world.create_network("example", "10.9.0.0/24", "10.9.0.1").await?;
        world.ready("example").await?;
        let at = world.network_path("example");
        annotate(&world, &at, RECONCILE_AT, Some("now")).await?;
        let event = world.event(&uid, "Warning", "NotAcknowledged").await?;
        let message = text(&event, "/message");
        ensure!(message.contains("does not allow patch networks") && message.contains("grant it patch"), "{message}");
        world.ready("example").await?;
        rests(&world, &at).await?;
        let grant = reads.rule("samplecrd.k8s.io", &["networks"], &["patch"]);
        world.plugins.grant("status-only", &grant)?;
        acknowledges(&world, &at, "status-only", "now").await.map(drop)
    })
    .await
}
