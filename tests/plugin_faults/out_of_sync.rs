//! Plugins that never want the same twice, or whose wishes others change: writes stay bounded, and where nothing is wrong there
//! are none.

use super::manifests::with;
use super::{AFTER_BACKOFF, grant, misfit, path, seen, the_others_go_on, told, with_misfit};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{Grant, World, WorldOptions, eventually, misfit_describing, steady, text, with_world};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio_util::task::AbortOnDropHandle;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p12_a_plugin_that_never_wants_the_same_twice_is_slowed_down() -> Result<()> {
    with_misfit(async |world: Arc<World>| {
        let settles = misfit(&world, "restless", "never-settles").await?;
        let equal = misfit(&world, "unequal", "never-equal").await?;
        the_others_go_on(&world).await?;
        eventually(AFTER_BACKOFF, "a word about the fight", || async {
            let told = format!("{:?} {:?}", world.events(&settles).await?, world.events(&equal).await?);
            ensure!(told.contains("Fighting") || told.contains("again and again"), "{told}");
            Ok(())
        })
        .await?;
        let from = world.kubernetes_gate.mark();
        steady(Duration::from_secs(5), "a bounded number of writes", || async {
            let writes = world.kubernetes_gate.writes_since(from).len();
            ensure!(writes <= 30, "{writes} writes");
            Ok(())
        })
        .await
    })
    .await
}

/// Waits until the host has written nothing for a while.
async fn settled(world: &World) -> Result<()> {
    eventually(AFTER_BACKOFF, "the writes to end", || async {
        let from = world.kubernetes_gate.mark();
        tokio::time::sleep(QUIET).await;
        let writes = world.kubernetes_gate.writes_since(from);
        ensure!(writes.is_empty(), "{writes:?}");
        Ok(())
    })
    .await
}

/// As long without a write is settled.
const QUIET: Duration = Duration::from_secs(2);

/// Edits an object that says nothing new, so that it is reconciled again, and waits until that is over.
async fn looked_at_again(world: &World, name: &str) -> Result<()> {
    let reconciles = async || {
        world.host(async |host| host.metric("controller_runtime_reconcile_total", &["\"misfit\""]).await).await
    };
    let before = reconciles().await?;
    world
        .cluster
        .merge_patch(&path(world, name), &json!({"metadata": {"annotations": {"misfit/look": "again"}}}))
        .await?;
    eventually(AFTER_BACKOFF, "another reconcile", || async {
        ensure!(reconciles().await? > before, "none");
        Ok(())
    })
    .await
}

/// The order of members and white space are no difference.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p12_the_same_in_another_order_is_not_written_again() -> Result<()> {
    // Without another plugin, whose events would be writes.
    with_world(crate::hot_swap::options(), async |world: Arc<World>| {
        world.plugins.add("misfit", "misfit", &grant(&world))?;
        world.start_host().await?;
        misfit(&world, "reordered", "reordered").await?;
        seen(&world, "reordered", "first").await?;
        settled(&world).await?;
        let from = world.kubernetes_gate.mark();
        for _ in 0..5 {
            looked_at_again(&world, "reordered").await?;
            let unlooked = json!({"metadata": {"annotations": {"misfit/look": null}}});
            world.cluster.merge_patch(&path(&world, "reordered"), &unlooked).await?;
        }
        settled(&world).await?;
        let writes = world.kubernetes_gate.writes_since(from);
        ensure!(writes.is_empty(), "{writes:?}");
        Ok(())
    })
    .await
}

/// What the API server adds to what was applied is no difference.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p13_defaults_of_the_api_server_are_not_fought() -> Result<()> {
    let grant = |world: &World| {
        grant(world).rule_in(
            &world.namespace,
            "",
            &["services"],
            &["get", "list", "watch", "create", "patch", "delete"],
        )
    };
    with_world(crate::hot_swap::options(), async |world: Arc<World>| {
        let watch = json!({"version": "v1", "kind": "Service", "mapTo": {"type": "ownerReference"}});
        world.plugins.file("misfit.wasm", &misfit_describing(&with("/watches/1", watch)?)?)?;
        world.plugins.grant("misfit", &grant(&world))?;
        world.start_host().await?;
        misfit(&world, "defaulted", "defaulted").await?;
        let service = format!("/api/v1/namespaces/{}/services/defaulted-child", world.namespace);
        let made = eventually(AFTER_BACKOFF, "the service", || async {
            world.cluster.get(&service).await?.context("none yet")
        })
        .await?;
        ensure!(text(&made, "/spec/ports/0/protocol") == "TCP", "no default was added: {made}");
        settled(&world).await?;
        let from = world.kubernetes_gate.mark();
        looked_at_again(&world, "defaulted").await?;
        settled(&world).await?;
        let writes = world.kubernetes_gate.writes_since(from);
        ensure!(writes.is_empty(), "{writes:?}");
        Ok(())
    })
    .await
}

/// Another controller: as often as the plugin writes the child, it writes it back.
fn opponent(world: &Arc<World>, child: String) -> AbortOnDropHandle<()> {
    let world = Arc::clone(world);
    AbortOnDropHandle::new(tokio::spawn(async move {
        loop {
            // It may be gone, and the world may be ending.
            if let Ok(Some(found)) = world.cluster.get(&child).await
                && text(&found, "/data/seen") != "theirs"
            {
                let _ = world.cluster.merge_patch(&child, &json!({"data": {"seen": "theirs"}})).await;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }))
}

async fn few_writes(world: &World) -> Result<()> {
    let from = world.kubernetes_gate.mark();
    steady(Duration::from_secs(5), "a bounded number of writes", || async {
        let writes = world.kubernetes_gate.writes_since(from).len();
        ensure!(writes <= 30, "{writes} writes");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p14_a_fight_with_another_controller_is_slowed_down_and_told() -> Result<()> {
    with_misfit(async |world: Arc<World>| {
        let uid = misfit(&world, "fought", "force").await?;
        seen(&world, "fought", "first").await?;
        let opponent = opponent(&world, path(&world, "fought-child"));
        told(&world, "force", &uid, &["because /data"]).await?;
        few_writes(&world).await?;
        the_others_go_on(&world).await?;
        drop(opponent);
        // When the other gives in, the plugin has its way.
        seen(&world, "fought", "first").await
    })
    .await
}

/// Who does not force is told who owns the field, and waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p14_a_field_that_another_has_taken_is_not_fought_for() -> Result<()> {
    with_misfit(async |world: Arc<World>| {
        let uid = misfit(&world, "taken", "ok").await?;
        seen(&world, "taken", "first").await?;
        let _opponent = opponent(&world, path(&world, "taken-child"));
        told(&world, "ok", &uid, &["conflict"]).await?;
        few_writes(&world).await?;
        the_others_go_on(&world).await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_that_waits_for_the_cleanup_of_its_predecessor_says_so() -> Result<()> {
    let options = WorldOptions { network: false, host: false, ..WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        // It returns a state for a deleted object, too.
        let grant = Grant::nothing().rule("samplecrd.k8s.io", &["networks"], &["get", "list", "watch"]).manage_status();
        world.plugins.add("status-only", "status-only", &grant)?;
        world.start_host().await?;
        let before = world.create_network("example", "10.9.0.0/24", "10.9.0.1").await?;
        world.ready("example").await?;
        world.cluster.delete(&world.network_path("example")).await?;
        let after = world.create_network("example", "10.9.0.0/24", "10.9.0.1").await?;
        let event = world.event(&after, "Warning", "CleanupOfPredecessor").await?;
        let message = text(&event, "/message");
        ensure!(message.contains(&before) && message.contains("get-actual still returns a state"), "{message}");
        Ok(())
    })
    .await
}
