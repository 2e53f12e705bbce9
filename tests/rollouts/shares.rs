//! Shares of few objects, and of none.

use super::{children, command, config_maps, marked, objects, plugin, restored, rollout, runs, share, started};
use crate::plan::ALONE;
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{SOON, World, eventually, misfit_version, misfit_with, steady, text, with_world};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_share_of_few_objects_has_one_of_them() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 3, 0).await?;
        started(&world, "blind", 3, &json!({"canary": {"percent": 1, "for": "1h"}})).await?;
        let before = children(&world).await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "marked")?)?;
        let one = async || {
            let found = marked(&world).await?;
            ensure!(found == 1, "{found} objects are the candidate's");
            Ok(())
        };
        eventually(SOON, "an object of the candidate", one).await?;
        rollout(&world, "its comparison", |shown| shown["compared"]["objects"] == 1).await?;
        steady(super::A_WHILE, "one object", one).await?;
        command(&world, "abort").await?;
        restored(&world, &before).await
    })
    .await
}

/// A canary that no object can prove promotes nothing by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_selector_that_leaves_no_object_waits_for_one() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 3, 0).await?;
        let steps = json!({"canary": {"percent": 100, "selector": "tier=tset", "for": "1s"}});
        started(&world, "blind", 3, &steps).await?;
        let before = children(&world).await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "marked")?)?;
        waits(&world, "canary.selector leaves none of the 3 objects").await?;
        steady(super::A_WHILE, "the canary", async || waiting(&plugin(&world).await?, "canary.selector")).await?;
        ensure!(children(&world).await? == before);
        let labels = json!({"metadata": {"labels": {"tier": "tset"}}});
        world.cluster.merge_patch(&format!("{}/o1", config_maps(&world)), &labels).await?;
        runs(&world, "two").await.map(drop)
    })
    .await
}

/// A share may consist of objects for which the candidate is not called.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_share_of_paused_objects_gets_another_one_and_without_any_it_waits() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        let candidate = misfit_version("two", "marked")?;
        // The largest share that leaves an object out: with all objects of the share paused, this one proves the candidate.
        let of = |percent: u64| Some((percent, share(&world, &candidate, percent, 8))).filter(|(_, all)| all.len() < 8);
        let (percent, shared) = (1..100).rev().find_map(of).context("every share has all objects")?;
        ensure!(!shared.is_empty(), "the share of {percent} % has no object");
        objects(&world, 8, 0).await?;
        started(&world, "blind", 8, &json!({"canary": {"percent": percent, "for": "1h"}})).await?;
        let before = children(&world).await?;
        let mut paused: Vec<String> = shared.into_iter().collect();
        for name in paused.clone() {
            set_paused(&world, &name, true).await?;
        }
        world.plugins.file("misfit.wasm", &candidate)?;
        rollout(&world, "an object of the candidate", |shown| shown["compared"]["objects"] == 1).await?;
        eventually(SOON, "its writes", || async {
            ensure!(marked(&world).await? == 1);
            Ok(())
        })
        .await?;
        command(&world, "abort").await?;
        restored(&world, &before).await?;
        paused.extend((0..8).map(|number| format!("o{number}")));
        for name in paused {
            set_paused(&world, &name, true).await?;
        }
        world.plugins.file("misfit.wasm", &misfit_version("three", "marked")?)?;
        waits(&world, "the canary has none of the 8 objects: they are paused").await?;
        set_paused(&world, "o3", false).await?;
        rollout(&world, "the object that is not paused any more", |shown| shown["compared"]["objects"] == 1).await?;
        // Nobody waits any more.
        rollout(&world, "no reason", |shown| shown.get("reason").is_none()).await?;
        command(&world, "abort").await?;
        eventually(SOON, "its writes to be undone", || async {
            ensure!(marked(&world).await? == 0);
            Ok(())
        })
        .await
    })
    .await
}

const EACH: Duration = Duration::from_secs(5);

/// The time of a share begins again with the object that it gets instead of paused ones.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_that_a_share_gets_later_has_the_whole_time() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 3, 0).await?;
        started(&world, "blind", 3, &json!({"canary": {"percent": 100, "for": "5s"}})).await?;
        for number in 0..3 {
            set_paused(&world, &format!("o{number}"), true).await?;
        }
        world.plugins.file("misfit.wasm", &misfit_version("two", "marked")?)?;
        waits(&world, "the canary has none of the 3 objects").await?;
        // Longer than the share's time.
        steady(2 * EACH, "the wait", async || waiting(&plugin(&world).await?, "the canary has none")).await?;
        let began = Instant::now();
        set_paused(&world, "o1", false).await?;
        runs(&world, "two").await?;
        ensure!(began.elapsed() >= EACH, "promoted after {:?}", began.elapsed());
        Ok(())
    })
    .await
}

/// Nothing proves such a candidate.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_of_objects_that_all_stay_waits_for_a_person() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 3, 0).await?;
        started(&world, "blind", 3, &json!({"canary": {"percent": 100, "for": "1s"}})).await?;
        let before = children(&world).await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "deletes")?)?;
        waits(&world, "the canary has none of the 3 objects: they are paused, or stay with the version that runs")
            .await?;
        steady(super::A_WHILE, "the wait", async || waiting(&plugin(&world).await?, "the canary has none")).await?;
        ensure!(children(&world).await? == before);
        command(&world, "promote").await?;
        runs(&world, "two").await.map(drop)
    })
    .await
}

/// Such as those of another version of their kind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_of_a_candidate_with_other_objects_waits_for_a_person() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 3, 0).await?;
        started(&world, "", 3, &json!({"canary": {"percent": 100, "for": "1s"}})).await?;
        let others = |manifest: &mut Value| manifest["primaries"][0]["labelSelector"] = json!("misfit=other");
        world.plugins.file("misfit.wasm", &misfit_with("two", "", others)?)?;
        waits(&world, "the two versions have no object in common").await?;
        command(&world, "promote").await?;
        runs(&world, "two").await.map(drop)
    })
    .await
}

async fn set_paused(world: &World, name: &str, paused: bool) -> Result<()> {
    let annotation = json!({"metadata": {"annotations": {"oarlock.dev/paused": paused.then_some("true")}}});
    world.cluster.merge_patch(&format!("{}/{name}", config_maps(world)), &annotation).await.map(drop)
}

/// Checks that the canary waits, for a reason.
fn waiting(entry: &Value, reason: &str) -> Result<()> {
    let shown = entry.pointer("/rollout/reason").and_then(Value::as_str).unwrap_or_default();
    ensure!(shown.contains(reason) && text(entry, "/rollout/phase") == "canary", "{entry:#}");
    Ok(())
}

async fn waits(world: &World, reason: &str) -> Result<()> {
    eventually(SOON, "the canary to wait", async || waiting(&plugin(world).await?, reason)).await
}
