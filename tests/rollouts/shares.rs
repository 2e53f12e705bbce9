//! Shares of few objects, and of none.

use super::{aborted, children, command, marked, objects, restored, rollout, started};
use crate::plan::ALONE;
use anyhow::{Result, ensure};
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
