//! Objects of a canary return to the version that runs, whatever fails meanwhile.

use super::{
    children, command, config_maps, create, extras, journals, marked, objects, plugin, restored, rollout, runs,
    settled, start, started,
};
use crate::plan::ALONE;
use anyhow::{Context, Result, ensure};
use http::{Method, StatusCode};
use oarlock_tests::harness::{Action, Rule, SOON, World, eventually, misfit_version, oarlock, text, with_world};
use serde_json::{Value, json};
use std::sync::Arc;

const OBJECTS: usize = 10;

/// A canary of every object, without an end of its own.
fn all() -> Value {
    json!({"canary": {"percent": 100, "for": "1h"}})
}

/// Version one runs, and the candidate `two` has written about every object. Returns the children as they were before.
///
/// * `mode` - of version one.
async fn written(world: &World, mode: &str) -> Result<std::collections::BTreeMap<String, Value>> {
    objects(world, OBJECTS, 0).await?;
    started(world, mode, OBJECTS, &all()).await?;
    let before = children(world).await?;
    world.plugins.file("misfit.wasm", &misfit_version("two", "marked")?)?;
    by_the_candidate(world).await?;
    Ok(before)
}

/// Waits until the candidate has written about every object.
async fn by_the_candidate(world: &World) -> Result<()> {
    eventually(2 * SOON, "the candidate's writes", || async {
        let (marked, extras) = (marked(world).await?, extras(world).await?.len());
        ensure!((marked, extras) == (OBJECTS, OBJECTS), "{marked} marked, {extras} extras");
        Ok(())
    })
    .await
}

fn refusing(status: StatusCode, method: Method, path: &str, times: u64) -> Rule {
    Rule::every(Action::json(
        status,
        &json!({"kind": "Status", "code": status.as_u16(), "message": "as the test wants"}),
    ))
    .methods(&[method])
    .path(path)
    .times(times)
}

/// The host's own requests fail for a while.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_that_fail_while_a_canary_is_undone_are_undone_later() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        let before = written(&world, "blind").await?;
        let failing = [Method::PATCH, Method::DELETE]
            .map(|method| refusing(StatusCode::SERVICE_UNAVAILABLE, method, "/configmaps/", 12));
        let handles = failing.map(|rule| world.kubernetes_gate.rule(rule));
        command(&world, "abort").await?;
        handles[0].hit().await?;
        restored(&world, &before).await
    })
    .await
}

/// Without the Secret, a host that takes over could not undo the writes. More failures would abort the canary.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_journal_whose_write_fails_is_stored_before_the_candidate_writes() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        let path = "/secrets/oarlock-canary-";
        let failing = world.kubernetes_gate.rule(refusing(StatusCode::INTERNAL_SERVER_ERROR, Method::PATCH, path, 2));
        let before = written(&world, "blind").await?;
        failing.hit().await?;
        ensure!(journals(&world).await? == OBJECTS, "{} journals", journals(&world).await?);
        world.kill_host().await?;
        world.plugins.grant("misfit", &super::grant_without_rollout(&world))?;
        world.plugins.file("misfit.wasm", &misfit_version("one", "blind")?)?;
        start(&world).await?;
        restored(&world, &before).await
    })
    .await
}

/// The version that runs reconciles the object all the same, and a person learns of what stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_the_api_server_does_not_let_undo_does_not_block_its_object() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        let before = written(&world, "").await?;
        let refused = refusing(StatusCode::UNPROCESSABLE_ENTITY, Method::PATCH, "/configmaps/o3-child", 1);
        let refused = world.kubernetes_gate.rule(refused);
        command(&world, "abort").await?;
        refused.hit().await?;
        restored(&world, &before).await?;
        let object = world.cluster.get(&format!("{}/o3", config_maps(&world))).await?.context("no o3")?;
        let said = "CanaryNotUndone these writes of an aborted canary stay: ConfigMap";
        world.event(&text(&object, "/metadata/uid"), "Warning", said).await.map(drop)
    })
    .await
}

/// The version that runs undoes what the candidate wrote about it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_of_the_share_that_is_deleted_leaves_nothing_of_the_candidate() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        written(&world, "blind").await?;
        world.cluster.delete(&format!("{}/o3", config_maps(&world))).await?;
        eventually(SOON, "nothing of the candidate about o3", || async {
            ensure!(journals(&world).await? == OBJECTS - 1 && !extras(&world).await?.contains_key("o3"));
            Ok(())
        })
        .await?;
        command(&world, "abort").await?;
        settled(&world).await
    })
    .await
}

/// The cleanup of the deleted object would be the candidate's, without a comparison.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_that_is_made_again_in_a_canary_stays_with_the_version_that_runs() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        written(&world, "blind").await?;
        let address = world.host(async |host| Ok(host.admin().base().trim_start_matches("http://").to_owned())).await?;
        let plugin = async |verb: &str| {
            let ran = oarlock(&[verb, "misfit", "--admin-addr", &address]).await?;
            ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
            Ok(())
        };
        // Both events arrive before the next reconcile.
        plugin("pause").await?;
        world.cluster.delete(&format!("{}/o3", config_maps(&world))).await?;
        cached(&world, "o3", false).await?;
        create(&world, "o3", &json!({"misfit": "true", "tier": "live"})).await?;
        cached(&world, "o3", true).await?;
        plugin("resume").await?;
        let held = |shown: &Value| shown["heldObjects"].to_string().contains("another object had this name before");
        rollout(&world, "the object to stay", held).await?;
        by(&world, "o3", "one").await?;
        command(&world, "abort").await?;
        settled(&world).await
    })
    .await
}

/// With few objects a version is not proven for long. A person promoted it, and a restart is no reason to ask again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_promoted_version_runs_after_a_restart_before_it_has_proven_itself() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        written(&world, "blind").await?;
        command(&world, "promote").await?;
        let entry = runs(&world, "two").await?;
        ensure!(entry["onProbation"] == true, "{entry}");
        eventually(SOON, "version two to be saved", || async {
            let history = command(&world, "history").await?;
            ensure!(history.contains("two"), "{history}");
            Ok(())
        })
        .await?;
        world.kill_host().await?;
        start(&world).await?;
        let entry = runs(&world, "two").await?;
        ensure!(entry.get("next").is_none(), "{entry}");
        ensure!(marked(&world).await? == OBJECTS, "version one ran");
        Ok(())
    })
    .await
}

/// A fault ends the rollout in the middle of a reconcile. No object stays with the candidate, also none about which it wrote nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_fault_every_object_of_the_share_is_reconciled_by_the_version_that_runs() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, OBJECTS, 0).await?;
        let steps = json!({"canary": {"percent": 100, "for": "1h", "maxDifferentWrites": 1}});
        started(&world, "", OBJECTS, &steps).await?;
        // It is wrong about fragile objects, of which there is none yet.
        world.plugins.file("misfit.wasm", &misfit_version("two", "fragile:wrong")?)?;
        rollout(&world, "every object", |shown| shown["compared"]["objects"] == OBJECTS).await?;
        by(&world, "o9", "two").await?;
        super::make_fragile(&world, &["o0".to_owned(), "o1".to_owned()]).await?;
        super::aborted(&world, "two", "(maxDifferentWrites)").await?;
        for number in 0..OBJECTS {
            by(&world, &format!("o{number}"), "one").await?;
        }
        ensure!(text(&plugin(&world).await?, "/version") == "one" && journals(&world).await? == 0);
        Ok(())
    })
    .await
}

/// Waits until the watch has shown that an object is there, or that it is not.
async fn cached(world: &World, name: &str, is_there: bool) -> Result<()> {
    let object = (world.namespace.as_str(), name);
    eventually(SOON, &format!("{name} in the cache: {is_there}"), || async {
        let of_plugin = crate::explain::of_plugin;
        let shown = world.host(async |host| of_plugin(host, "misfit", "ConfigMap", object).await).await?;
        ensure!(shown.pointer("/cached") == Some(&json!(is_there)), "{shown:#}");
        Ok(())
    })
    .await
}

/// Waits until an object was reconciled last by a version.
async fn by(world: &World, name: &str, version: &str) -> Result<()> {
    eventually(SOON, &format!("{name} to be reconciled by {version}"), || async {
        let last = crate::explain::last_of(world, name).await?;
        ensure!(text(&last, "/version") == version, "{last}");
        Ok(())
    })
    .await
}
