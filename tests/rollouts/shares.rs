//! Shares of few objects, and of none.

use super::{aborted, children, command, config_maps, marked, objects, restored, rollout, share, started};
use crate::plan::ALONE;
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{SOON, World, eventually, misfit_version, steady, with_world};
use serde_json::json;
use std::sync::Arc;

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

/// A canary that no object can prove promotes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_selector_that_leaves_no_object_ends_the_rollout() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 3, 0).await?;
        let steps = json!({"canary": {"percent": 100, "selector": "tier=tset", "for": "1s"}});
        started(&world, "blind", 3, &steps).await?;
        let before = children(&world).await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "marked")?)?;
        aborted(&world, "two", "canary.selector leaves none of the 3 objects").await?;
        restored(&world, &before).await
    })
    .await
}

/// A share may consist of objects for which the candidate is not called.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_share_of_paused_objects_gets_another_one_and_without_any_the_rollout_ends() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        let candidate = misfit_version("two", "marked")?;
        // The largest share that leaves an object out: with all objects of the share paused, this one proves the candidate.
        let of = |percent: u64| Some((percent, share(&world, &candidate, percent, 8))).filter(|(_, all)| all.len() < 8);
        let (percent, shared) = (1..100).rev().find_map(of).context("every share has all objects")?;
        ensure!(!shared.is_empty(), "the share of {percent} % has no object");
        objects(&world, 8, 0).await?;
        started(&world, "blind", 8, &json!({"canary": {"percent": percent, "for": "1h"}})).await?;
        let before = children(&world).await?;
        let pause = async |name: String| {
            let paused = json!({"metadata": {"annotations": {"oarlock.dev/paused": "true"}}});
            world.cluster.merge_patch(&format!("{}/{name}", config_maps(&world)), &paused).await
        };
        let mut paused: Vec<String> = shared.into_iter().collect();
        for name in paused.clone() {
            pause(name).await?;
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
            pause(name).await?;
        }
        world.plugins.file("misfit.wasm", &misfit_version("three", "marked")?)?;
        aborted(&world, "three", "the canary has none of the 8 objects").await
    })
    .await
}
