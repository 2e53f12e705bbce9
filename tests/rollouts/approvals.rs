//! An approval is for what a person saw: code, configuration, and the state of what the plan rests on.

use super::plans::waits;
use super::{A_WHILE, children, config_maps, create, grant, marked, objects, plugin, runs, started, started_with};
use crate::plan::ALONE;
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{SOON, World, eventually, misfit_version, misfit_with, oarlock, steady, text, with_world};
use serde_json::{Value, json};
use std::sync::Arc;

/// Waits until another plan waits, for this reason. Returns its id, and the digest of its code.
async fn next_plan(world: &World, reason: &str, not: &str) -> Result<(String, String)> {
    eventually(2 * SOON, "another plan", || async {
        let entry = waits(world, reason).await?;
        let id = text(&entry, "/rollout/plan/id");
        ensure!(id != not, "{entry:#}");
        Ok((id, text(&entry, "/next/digest")))
    })
    .await
}

async fn approve(world: &World, (plan, digest): &(String, String)) -> Result<()> {
    let path = format!("/apis/oarlock.dev/v1alpha1/namespaces/{}/plugins/misfit", world.namespace);
    eventually(SOON, "the Plugin object", || async { world.cluster.get(&path).await?.context("none") }).await?;
    world.cluster.merge_patch(&path, &json!({"spec": {"approve": digest, "approvePlan": plan}})).await.map(drop)
}

/// Waits for a while: no rollout goes on.
async fn still_waits(world: &World, version: &str) -> Result<()> {
    steady(2 * A_WHILE, "the wait", || async {
        let entry = plugin(world).await?;
        ensure!(text(&entry, "/version") == version, "{entry:#}");
        ensure!(text(&entry, "/next/state") == "awaiting-confirmation" && marked(world).await? == 0, "{entry:#}");
        Ok(())
    })
    .await
}

/// What was approved is replaced before the host sees the approval.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_of_the_plugin_object_is_for_one_code_and_one_configuration() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 4, 0).await?;
        let steps = json!({"plan": {"approval": "Always"}});
        started(&world, "", 4, &steps).await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "marked")?)?;
        let of_two = next_plan(&world, "8 writes", "").await?;
        world.plugins.file("misfit.wasm", &misfit_version("three", "")?)?;
        let of_three = next_plan(&world, "0 writes", &of_two.0).await?;
        ensure!(of_two.1 != of_three.1, "the same code");
        approve(&world, &of_two).await?;
        still_waits(&world, "one").await?;
        // Also without a plan it is for that code only.
        let (none, digest) = (json!(null), &of_two.1);
        let path = format!("/apis/oarlock.dev/v1alpha1/namespaces/{}/plugins/misfit", world.namespace);
        world.cluster.merge_patch(&path, &json!({"spec": {"approve": digest, "approvePlan": none}})).await?;
        still_waits(&world, "one").await?;
        approve(&world, &of_three).await?;
        runs(&world, "three").await?;

        // The same code with one configuration, and then with another one that writes the same.
        let configured = |number: &str| -> Result<()> {
            let grant = super::grant(&world, &steps)?.config("mode", "marked").config("number", number);
            world.plugins.grant("misfit", &grant)
        };
        configured("1")?;
        let first = next_plan(&world, "8 writes", &of_three.0).await?;
        still_waits(&world, "three").await?;
        configured("2")?;
        let second = next_plan(&world, "8 writes", &first.0).await?;
        ensure!(first.1 == second.1, "another code");
        approve(&world, &first).await?;
        still_waits(&world, "three").await?;
        // Who approved it learns of that.
        let object = world.cluster.get(&path).await?.context("no Plugin object")?;
        let said = format!("ApprovalRejected spec.approve does not count: plan {} is not the present one", first.0);
        world.event(&text(&object, "/metadata/uid"), "Warning", &said).await?;
        approve(&world, &second).await?;
        eventually(2 * SOON, "the writes of the configuration", || async {
            ensure!(marked(&world).await? == 4);
            Ok(())
        })
        .await
    })
    .await
}

/// No watch tells the host that the object has changed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_object_that_only_the_api_server_has_outdates_a_plan() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 4, 0).await?;
        // It reads its children from the API server, and watches none of them.
        let version = |name: &str| {
            misfit_with(name, "live", |manifest| {
                if let Some(fields) = manifest.as_object_mut() {
                    fields.insert("watches".to_owned(), json!([]));
                }
            })
        };
        started_with(&world, &version("one")?, 4, &grant(&world, &json!({"plan": {"approval": "Always"}}))?).await?;
        world.plugins.file("misfit.wasm", &version("two")?)?;
        let (first, _) = next_plan(&world, "0 writes", "").await?;
        let address = world.host(async |host| Ok(host.admin().base().trim_start_matches("http://").to_owned())).await?;
        let approve = async |id: &str| -> Result<(bool, String)> {
            let ran = oarlock(&["rollout", "approve", "misfit", "--plan", id, "--admin-addr", &address]).await?;
            Ok((ran.status.success(), String::from_utf8_lossy(&ran.stderr).into_owned()))
        };
        let child = format!("{}/o1-child", config_maps(&world));
        world.cluster.merge_patch(&child, &json!({"metadata": {"labels": {"of": "somebody"}}})).await?;
        let (done, said) = approve(&first).await?;
        let outdated = "is outdated, because objects have changed since: the host plans again";
        ensure!(!done && said.contains(outdated), "{said}");
        let (second, _) = next_plan(&world, "0 writes", &first).await?;
        let (done, said) = approve(&second).await?;
        ensure!(done, "{said}");
        runs(&world, "two").await.map(drop)
    })
    .await
}

/// Such objects are only those of the version that runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_object_that_the_candidate_would_leave_outdates_a_plan() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 6, 0).await?;
        started(&world, "", 6, &json!({"plan": {"maxChanges": 2}})).await?;
        let narrower =
            |manifest: &mut Value| manifest["primaries"][0]["labelSelector"] = json!("misfit=true,tier=test");
        world.plugins.file("misfit.wasm", &misfit_with("two", "", narrower)?)?;
        let (id, _) = next_plan(&world, "not reconcile 3 objects any more", "").await?;
        create(&world, "o6", &json!({"misfit": "true", "tier": "live"})).await?;
        eventually(SOON, "the child of the new object", || async {
            ensure!(children(&world).await?.len() == 7);
            Ok(())
        })
        .await?;
        let address = world.host(async |host| Ok(host.admin().base().trim_start_matches("http://").to_owned())).await?;
        let told = oarlock(&["rollout", "approve", "misfit", "--plan", &id, "--admin-addr", &address]).await?;
        ensure!(!told.status.success() && String::from_utf8_lossy(&told.stderr).contains("is outdated"), "{told:?}");
        let (now, _) = next_plan(&world, "not reconcile 4 objects any more", &id).await?;
        let told = oarlock(&["rollout", "approve", "misfit", "--plan", &now, "--admin-addr", &address]).await?;
        ensure!(told.status.success(), "{told:?}");
        runs(&world, "two").await.map(drop)
    })
    .await
}
