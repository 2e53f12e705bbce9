//! A configuration is rolled out as code is: it never runs on all objects before its rollout ends, not even after a restart.

use super::{aborted, children, command, grant, journals, marked, objects, plugin, rollout, start, started};
use crate::plan::ALONE;
use crate::plugin_objects::events::event;
use anyhow::{Result, ensure};
use bytes::Bytes;
use http::Method;
use oarlock_tests::harness::{Answer, SOON, World, eventually, misfit_version, oarlock, steady, text, with_world};
use serde_json::{Value, json};
use std::sync::Arc;

const OBJECTS: usize = 30;

/// Gives the plugin the configuration of which its rollout is about.
fn configure(world: &World, steps: &Value) -> Result<()> {
    world.plugins.grant("misfit", &grant(world, steps)?.config("mode", "marked"))
}

/// No child is marked, now and for a while.
async fn never_marked(world: &World) -> Result<()> {
    steady(super::A_WHILE, "no write of the configuration", || async {
        let marked = marked(world).await?;
        ensure!(marked == 0, "{marked} are marked");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_crash_in_a_canary_of_a_configuration_the_one_before_comes_first() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, OBJECTS, 0).await?;
        let steps = json!({"canary": {"percent": 50, "for": "1h"}});
        started(&world, "", OBJECTS, &steps).await?;
        let before = children(&world).await?;
        configure(&world, &steps)?;
        rollout(&world, "writes of the candidate", |shown| shown["compared"]["objects"].as_u64() > Some(5)).await?;
        world.kill_host().await?;
        ensure!(journals(&world).await? > 0, "no journal");
        start(&world).await?;
        rollout(&world, "the canary again", |shown| shown["percent"] == 50).await?;
        let marked_now = marked(&world).await?;
        ensure!(marked_now < OBJECTS, "the configuration runs on all objects");
        command(&world, "abort").await?;
        super::restored(&world, &before).await?;
        // The abort is known to the next host.
        world.kill_host().await?;
        start(&world).await?;
        aborted(&world, "one", "aborted by hand").await?;
        never_marked(&world).await?;
        // Another configuration is another candidate.
        world.plugins.grant("misfit", &grant(&world, &steps)?.config("mode", "marked").config("more", "1"))?;
        rollout(&world, "the canary of another one", |shown| shown["percent"] == 50).await?;
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_configuration_that_waits_for_an_approval_waits_after_a_restart_too() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 4, 0).await?;
        let steps = json!({"plan": {"approval": "Always"}, "canary": {"percent": 50, "for": "1h"}});
        started(&world, "", 4, &steps).await?;
        configure(&world, &steps)?;
        let waits = |shown: &Value| shown.to_string().contains("approv");
        rollout(&world, "the wait for an approval", waits).await?;
        world.kill_host().await?;
        start(&world).await?;
        rollout(&world, "the wait after the restart", waits).await?;
        never_marked(&world).await
    })
    .await
}

/// Takes an action about one candidate.
async fn act(world: &World, action: &str, digest: &str, config: &str) -> Result<Answer> {
    let path = format!("/plugins/misfit/{action}?digest={digest}&config={config}");
    let headers = [("x-oarlock-action", "1")];
    world.host(async |host| host.admin().send(Method::POST, &path, &headers, Bytes::new()).await).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_saw_one_configuration_of_the_code_promotes_and_aborts_no_other_one() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 4, 0).await?;
        let steps = json!({"canary": {"percent": 50, "for": "1h"}});
        started(&world, "", 4, &steps).await?;
        let mut seen: Vec<String> = Vec::new();
        for number in ["1", "2"] {
            let configured = grant(&world, &steps)?.config("mode", "marked").config("number", number);
            world.plugins.grant("misfit", &configured)?;
            let config = eventually(SOON, "a rollout of the configuration", || async {
                let entry = plugin(&world).await?;
                let config = text(&entry, "/next/config");
                let is_new = !config.is_empty() && seen.last() != Some(&config);
                ensure!(entry["rollout"].is_object() && is_new, "{entry:#}");
                Ok(config)
            })
            .await?;
            seen.push(config);
        }
        let [before, now] = &seen[..] else { anyhow::bail!("{seen:?}") };
        let digest = text(&plugin(&world).await?, "/rollout/digest");
        for action in ["promote", "abort"] {
            let refused = act(&world, action, &digest, before).await?;
            let there = format!("with this configuration: version one ({digest}) is rolled out now with another one");
            let told = refused.text().contains(&there);
            ensure!(refused.status == 409 && told, "{action}: {} {}", refused.status, refused.text());
        }
        let promoted = act(&world, "promote", &digest, now).await?;
        ensure!(promoted.status == 200, "{} {}", promoted.status, promoted.text());
        eventually(SOON, "the promoted configuration to write every child", || async {
            let marked = marked(&world).await?;
            ensure!(marked == 4, "{marked} are marked");
            Ok(())
        })
        .await
    })
    .await
}

/// The code that runs never sees the configuration of its successor.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_and_configuration_that_come_together_are_one_candidate() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, OBJECTS, 0).await?;
        let steps = json!({"canary": {"percent": 100, "for": "1h", "selector": "tier=test"}});
        started(&world, "", OBJECTS, &steps).await?;
        let before = children(&world).await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "")?)?;
        configure(&world, &steps)?;
        let whole = |shown: &Value| shown["version"] == "two" && shown["compared"]["objects"] == OBJECTS / 2;
        rollout(&world, "the candidate", whole).await?;
        eventually(SOON, "the candidate's writes", || async {
            ensure!(marked(&world).await? == OBJECTS / 2);
            Ok(())
        })
        .await?;
        command(&world, "abort").await?;
        super::restored(&world, &before).await?;
        ensure!(text(&plugin(&world).await?, "/version") == "one");
        never_marked(&world).await
    })
    .await
}

/// What a rollout promoted is a version that ran, as any other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn undo_goes_back_to_the_version_that_was_promoted_before() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 4, 0).await?;
        started(&world, "", 4, &json!({"canary": {"percent": 100, "for": "1h"}})).await?;
        for version in ["two", "three"] {
            world.plugins.file("misfit.wasm", &misfit_version(version, "")?)?;
            super::crashes::promoted(&world, version).await?;
            // A file that is replaced before it is saved leaves no code behind.
            eventually(SOON, "the version to be saved", || async {
                let history = command(&world, "history").await?;
                ensure!(history.contains(version), "{history}");
                Ok(())
            })
            .await?;
        }
        eventually(SOON, "the revisions", || async {
            let history = command(&world, "history").await?;
            let at = |version: &str| history.find(version);
            ensure!(at("three").is_some() && at("three") < at("two") && at("two") < at("one"), "{history}");
            Ok(())
        })
        .await?;
        let address = world.host(async |host| Ok(host.admin().base().trim_start_matches("http://").to_owned())).await?;
        let ran = oarlock(&["rollout", "undo", "misfit", "--admin-addr", &address]).await?;
        ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        super::runs(&world, "two").await.map(drop)
    })
    .await
}

/// Who confirms a version does not go back from it any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_that_was_undone_and_confirmed_is_rolled_out_with_another_grant_too() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 4, 0).await?;
        let steps = json!({"canary": {"percent": 100, "for": "1h"}});
        started(&world, "", 4, &steps).await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "")?)?;
        let of_all = |shown: &serde_json::Value| shown["compared"]["objects"] == 4;
        super::rollout(&world, "a canary", of_all).await?;
        command(&world, "undo").await?;
        super::aborted(&world, "two", "a person went back").await?;
        let address = world.host(async |host| Ok(host.admin().base().trim_start_matches("http://").to_owned())).await?;
        let ran = oarlock(&["confirm", "misfit", "--admin-addr", &address]).await?;
        ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        super::rollout(&world, "the canary again", of_all).await?;
        let other = json!({"canary": {"percent": 100, "for": "2h"}});
        world.plugins.grant("misfit", &super::grant(&world, &other)?)?;
        event(&world, "misfit", "RolloutReplaced", "the rollout of version two of plugin misfit ended").await?;
        super::rollout(&world, "the canary with another grant", of_all).await.map(drop)
    })
    .await
}
