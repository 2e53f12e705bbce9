//! What a plugin answers is carried out, and handed back, as it was meant.

use super::{grant, object, options, path, seen};
use anyhow::{Result, ensure};
use oarlock_tests::harness::{SOON, World, eventually, misfit_version, text, with_world};
use serde_json::{Value, json};
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
        world.logged(ERROR, |line| line.field("error").as_deref() == Some(ERROR)).await?;
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n14_a_conflict_names_object_field_and_remedy() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.plugins.grant("misfit", &grant(&world))?;
        world.plugins.place("misfit.wasm", &misfit_version("1", "")?)?;
        world.start_host().await?;
        let uid = object(&world, "edited", "").await?;
        seen(&world, "edited", "first").await?;
        // Somebody else owns the field from now on, and the plugin wants another value.
        world.cluster.merge_patch(&path(&world, "edited-child"), &json!({"data": {"seen": "by hand"}})).await?;
        let named =
            format!("cannot apply ConfigMap {}/edited-child: conflict: Apply failed with 1 conflict", world.namespace);
        let events = format!("/api/v1/namespaces/{}/events", world.namespace);
        eventually(SOON, "an event about the conflict", || async {
            let events = world.cluster.get(&events).await?.unwrap_or_default();
            let items = events.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
            let message = |event: &Value| text(event, "/message");
            let about: Vec<_> =
                items.iter().filter(|event| text(event, "/involvedObject/uid") == uid).map(message).collect();
            let whole = |message: &&String| {
                message.starts_with(&named)
                    && message.contains(".data.seen")
                    && message.ends_with("an apply with force takes the fields over")
            };
            ensure!(about.iter().any(|message| whole(&message)), "{about:?}");
            Ok(())
        })
        .await
    })
    .await
}
