//! The buttons of the page, pressed in a browser at the address that `oarlock ui` prints. What the API server and the host then show says whether
//! something was done.

use super::{Browser, with_story};
use crate::plan::ALONE;
use crate::rollouts;
use anyhow::{Result, ensure};
use oarlock_tests::harness::{SOON, World, WorldOptions, eventually, misfit_version, text, with_world};
use serde_json::{Value, json};
use std::sync::Arc;

/// So many that half of them, chosen by a hash, are neither none nor all.
const OBJECTS: usize = 30;

/// Presses a button on the page of a plugin, agrees if the page asks, and waits until the page shows the answer of the host.
///
/// * `then` - a button that there is afterwards.
pub(super) async fn press(
    browser: &Browser,
    url: &str,
    plugin: &str,
    label: &str,
    (says, then): (&str, &str),
) -> Result<()> {
    let input = json!({"plugin": plugin, "label": label, "says": says, "then": then});
    browser.plays_at(url, "press", input).await.map(drop)
}

/// The same on the page of the misfit.
async fn press_here(browser: &Browser, world: &World, label: &str, answer: (&str, &str)) -> Result<()> {
    press(browser, &super::address(world).await?, "misfit", label, answer).await
}

async fn edit(world: &World, value: &str) -> Result<()> {
    let path = format!("/api/v1/namespaces/{}/configmaps/o0", world.namespace);
    world.cluster.merge_patch(&path, &json!({"data": {"value": value}})).await.map(drop)
}

/// The value that the plugin has written for the edited object.
async fn seen(world: &World) -> Result<String> {
    let children = rollouts::children(world).await?;
    Ok(children.get("o0").map(|child| text(child, "/data/seen")).unwrap_or_default())
}

async fn becomes_seen(world: &World, value: &str) -> Result<()> {
    eventually(SOON, &format!("the child to have {value}"), || async {
        let seen = seen(world).await?;
        ensure!(seen == value, "{seen}");
        Ok(())
    })
    .await
}

fn reconciles(plugin: &Value) -> u64 {
    plugin["reconciles"].as_u64().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_pauses_resumes_and_reconciles_a_plugin() -> Result<()> {
    let Some(browser) = Browser::find()? else { return Ok(()) };
    with_world(ALONE, async |world: Arc<World>| {
        rollouts::objects(&world, 3, 0).await?;
        world.plugins.grant("misfit", &super::misfit_grant(&world))?;
        world.plugins.file("misfit.wasm", &misfit_version("one", "")?)?;
        world.start_host().await?;
        becomes_seen(&world, "first").await?;
        press_here(&browser, &world, "Pause", ("plugin misfit is paused on this host", "Resume")).await?;
        edit(&world, "second").await?;
        eventually(SOON, "the edit to wait for the end of the pause", || async {
            let plugin = rollouts::plugin(&world).await?;
            ensure!(text(&plugin, "/state") == "paused" && plugin["queueDepth"] == 1, "{plugin:#}");
            Ok(())
        })
        .await?;
        ensure!(seen(&world).await? == "first", "a paused plugin has written");
        press_here(&browser, &world, "Resume", ("plugin misfit resumed on this host", "Pause")).await?;
        becomes_seen(&world, "second").await?;
        let before = eventually(SOON, "the plugin to rest", || async {
            let plugin = rollouts::plugin(&world).await?;
            ensure!(text(&plugin, "/state") == "active" && plugin["queueDepth"] == 0, "{plugin:#}");
            Ok(reconciles(&plugin))
        })
        .await?;
        press_here(&browser, &world, "Reconcile", ("plugin misfit reconciles 3 objects now", "Reconcile")).await?;
        eventually(SOON, "a reconcile of each object", || async {
            let plugin = rollouts::plugin(&world).await?;
            ensure!(reconciles(&plugin) >= before + 3, "{before} before: {plugin:#}");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_aborts_a_rollout_and_promotes_the_next_one() -> Result<()> {
    let Some(browser) = Browser::find()? else { return Ok(()) };
    with_world(ALONE, async |world: Arc<World>| {
        rollouts::objects(&world, OBJECTS, 0).await?;
        rollouts::started(&world, "", OBJECTS, &json!({"canary": {"percent": 50, "for": "1h"}})).await?;
        let before = rollouts::children(&world).await?;
        let wrote_some = async |version: &str| {
            world.plugins.file("misfit.wasm", &misfit_version(version, "marked")?)?;
            rollouts::rollout(&world, "a canary", |shown| shown["percent"] == 50 && shown["version"] == version)
                .await?;
            eventually(SOON, "writes of the canary", || async {
                let marked = rollouts::marked(&world).await?;
                ensure!(marked > 0 && marked < OBJECTS, "{marked} of {OBJECTS}");
                Ok(())
            })
            .await
        };
        wrote_some("two").await?;
        press_here(&browser, &world, "Abort", ("rollout of version two of plugin misfit aborted", "Pause")).await?;
        rollouts::aborted(&world, "two", "aborted by hand").await?;
        rollouts::restored(&world, &before).await?;
        ensure!(text(&rollouts::plugin(&world).await?, "/version") == "one");
        wrote_some("three").await?;
        press_here(&browser, &world, "Promote", ("version three of plugin misfit promoted", "Pause")).await?;
        rollouts::runs(&world, "three").await?;
        eventually(SOON, "the promoted version to write every child", || async {
            let marked = rollouts::marked(&world).await?;
            ensure!(marked == OBJECTS, "{marked} of {OBJECTS}");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_without_the_token_with_a_wrong_one_or_of_another_origin_does_nothing() -> Result<()> {
    let Some(browser) = Browser::find()? else { return Ok(()) };
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        with_story(&world).await?;
        browser.plays(&world, "strangers", json!({"plugin": "network"})).await?;
        let plugin = world.host(async |host| host.plugin("network").await).await?;
        ensure!(text(&plugin, "/state") == "active", "{plugin:#}");
        // It still does what the API server asks for.
        world.set_gateway("blue", "10.0.0.254").await?;
        world.ready("blue").await.map(drop)
    })
    .await
}
