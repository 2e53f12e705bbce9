//! What a plugin answers is carried out, and handed back, as it was meant.

use super::{grant, object, options, path, seen};
use anyhow::{Result, ensure};
use oarlock_tests::harness::{World, misfit_version, with_world};
use serde_json::json;
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n1_states_come_back_to_patch_as_the_plugin_wrote_them() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.plugins.grant("misfit", &grant(&world))?;
        world.plugins.place("misfit.wasm", &misfit_version("1", "")?)?;
        world.start_host().await?;
        object(&world, "ordered", "verbatim").await?;
        seen(&world, "ordered", "first").await?;
        // Now there is an actual state, too.
        world.cluster.merge_patch(&path(&world, "ordered"), &json!({"data": {"value": "second"}})).await?;
        seen(&world, "ordered", "second").await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n1_the_error_of_a_change_names_the_change() -> Result<()> {
    const ERROR: &str =
        "cannot apply ConfigMap nowhere/astray-nowhere: namespaces \"nowhere\" not found (change 2 of 3)";
    with_world(options(), async |world: Arc<World>| {
        world.plugins.grant("misfit", &grant(&world))?;
        world.plugins.place("misfit.wasm", &misfit_version("1", "")?)?;
        world.start_host().await?;
        let uid = object(&world, "astray", "apply-nowhere").await?;
        world.event(&uid, "Warning", ERROR).await?;
        let lines = world.log(|line| line.field("error").as_deref() == Some(ERROR)).await?;
        ensure!(!lines.is_empty(), "no line of the log says it");
        Ok(())
    })
    .await
}
