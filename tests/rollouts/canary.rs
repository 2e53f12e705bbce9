//! A canary takes its share of the objects, then larger ones, and is promoted; what cannot be undone is not done.

use super::{
    A_WHILE, children, command, extras, grant, journals, marked, objects, plugin, restored, rollout, runs, share,
    started,
};
use crate::plan::ALONE;
use crate::plugin_objects::events::event;
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{
    Grant, SOON, World, eventually, misfit_version, misfit_with, oarlock, steady, text, with_world,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

const OBJECTS: usize = 40;

/// Waits until the condition Progressing of the Plugin object has this status and reason.
async fn progressing(world: &World, status: &str, reason: &str) -> Result<()> {
    let path = format!("/apis/oarlock.dev/v1alpha1/namespaces/{}/plugins/misfit", world.namespace);
    eventually(SOON, &format!("Progressing {status} {reason}"), || async {
        let object = world.cluster.get(&path).await?.context("no Plugin object")?;
        let all = object.pointer("/status/conditions").and_then(Value::as_array);
        let found = all.into_iter().flatten().find(|one| one["type"] == "Progressing").context("no condition")?;
        ensure!(found["status"] == status && found["reason"] == reason, "{object:#}");
        Ok(())
    })
    .await
}

/// Waits until this many rollouts ended with a result.
async fn ended(world: &World, result: &str, count: f64) -> Result<()> {
    let labels = ["plugin=\"misfit\"", &format!("result=\"{result}\"")];
    eventually(SOON, &format!("a rollout that was {result}"), || async {
        let found = world.host(async |host| host.metric("oarlock_rollouts_total", &labels).await).await?;
        ensure!((found - count).abs() < f64::EPSILON, "{found}");
        Ok(())
    })
    .await
}

/// The objects with the candidate's writes.
async fn with_marks(world: &World) -> Result<BTreeSet<String>> {
    let all = children(world).await?.into_iter();
    Ok(all.filter(|(_, child)| text(child, "/data/marked") == "true").map(|(name, _)| name).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_takes_its_shares_one_after_the_other_and_is_promoted() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, OBJECTS, 0).await?;
        let steps = json!({"canary": {"percent": 20, "steps": [60], "for": "10s"}});
        started(&world, "blind", OBJECTS, &steps).await?;
        let before = children(&world).await?;
        let candidate = misfit_version("two", "marked")?;
        world.plugins.file("misfit.wasm", &candidate)?;

        let first = rollout(&world, "the first share", |shown| shown["percent"] == 20).await?;
        ensure!(text(&first, "/phase") == "canary" && text(&first, "/version") == "two", "{first}");
        eventually(SOON, "writes of the candidate", || async {
            let (marked, extras) = (marked(&world).await?, extras(&world).await?.len());
            ensure!(marked > 0 && marked == extras, "{marked} {extras}");
            Ok(())
        })
        .await?;
        // On a busy machine the second share may have begun.
        let (of_first, share_of) = (with_marks(&world).await?, |percent| share(&world, &candidate, percent, OBJECTS));
        ensure!(of_first.is_subset(&share_of(60)), "{of_first:?} of {:?}", share_of(60));
        ensure!(journals(&world).await? > 0, "no journal");
        let shown = plugin(&world).await?;
        ensure!(text(&shown, "/version") == "one" && text(&shown, "/next/state") == "rolling-out", "{shown}");
        let status = command(&world, "status").await?;
        for part in ["one → two", "step: canary of ", "  apply ConfigMap"] {
            ensure!(status.contains(part), "{part} is not in {status}");
        }

        runs(&world, "two").await?;
        for step in [20, 60] {
            event(&world, "misfit", "RolloutStep", &format!("the candidate reconciles {step} % of the objects"))
                .await?;
        }
        event(&world, "misfit", "RolloutPromoted", "version two of plugin misfit was promoted after its last step")
            .await?;
        ended(&world, "promoted", 1.0).await?;
        eventually(SOON, "everything by the new version", || async {
            ensure!(marked(&world).await? == OBJECTS && journals(&world).await? == 0);
            Ok(())
        })
        .await?;
        for (name, child) in children(&world).await? {
            ensure!(child.pointer("/metadata/uid") == before[&name].pointer("/metadata/uid"), "{name} was made anew");
        }
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_aborted_canary_leaves_nothing_behind_also_not_what_the_running_version_does_not_look_at() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, OBJECTS, 0).await?;
        let steps = json!({"canary": {"percent": 50, "for": "1h"}});
        started(&world, "blind", OBJECTS, &steps).await?;
        let before = children(&world).await?;
        let candidate = misfit_version("two", "marked")?;
        let share = share(&world, &candidate, 50, OBJECTS);
        world.plugins.file("misfit.wasm", &candidate)?;
        rollout(&world, "every object of the share", |shown| shown["compared"]["objects"] == share.len()).await?;
        eventually(SOON, "the share, and nothing else", || async {
            let found = with_marks(&world).await?;
            ensure!(found == share, "{found:?} of {share:?}");
            Ok(())
        })
        .await?;
        progressing(&world, "True", "RollingOut").await?;
        // An object of the share changes meanwhile, and one is new.
        for name in ["o1", "o2", "o3", "o4"] {
            let path = format!("{}/{name}", super::config_maps(&world));
            world.cluster.merge_patch(&path, &json!({"data": {"value": "second"}})).await?;
        }
        eventually(SOON, "both versions to follow", || async {
            let found = children(&world).await?;
            let seen = ["o1", "o2", "o3", "o4"].map(|name| text(&found[name], "/data/seen"));
            ensure!(seen.iter().all(|seen| seen == "second"), "{seen:?}");
            ensure!(marked(&world).await? > 0);
            Ok(())
        })
        .await?;
        // An undo that cannot be obeyed ends nothing.
        let address = world.host(async |host| Ok(host.admin().base().trim_start_matches("http://").to_owned())).await?;
        let undo = ["rollout", "undo", "misfit", "--to-revision", "99", "--admin-addr", &address];
        let said = String::from_utf8_lossy(&oarlock(&undo).await?.stderr).into_owned();
        ensure!(said.contains("no revision 99") && !said.contains("aborted"), "{said}");
        ensure!(!plugin(&world).await?["rollout"].is_null());
        let said = command(&world, "abort").await?;
        ensure!(said.contains("rollout of version two of plugin misfit aborted"), "{said}");
        let mut expected = before.clone();
        for name in ["o1", "o2", "o3", "o4"] {
            if let Some(child) = expected.get_mut(name) {
                child["data"]["seen"] = json!("second");
            }
        }
        restored(&world, &expected).await?;
        super::aborted(&world, "two", "aborted by hand").await?;
        // What is undone is not the candidate's any more.
        for name in expected.keys() {
            let writers = crate::explain::writers(&world, &format!("{name}-child")).await?;
            ensure!(writers.iter().eq(["one"]), "{name}: {writers:?}");
        }
        event(&world, "misfit", "RolloutAborted", "version two of plugin misfit was aborted: aborted by hand").await?;
        ended(&world, "aborted", 1.0).await?;
        progressing(&world, "False", "Complete").await?;
        let status = command(&world, "status").await?;
        ensure!(status.contains("without a rollout; version two: rolled back: aborted by hand"), "{status}");
        // The same file is not tried again.
        world.plugins.file("misfit.wasm", &misfit_version("two", "marked")?)?;
        steady(A_WHILE, "the version that runs", || async {
            ensure!(marked(&world).await? == 0 && plugin(&world).await?["rollout"].is_null());
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_selector_gives_the_candidate_only_the_objects_with_its_labels() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 10, 0).await?;
        let steps = json!({"canary": {"percent": 100, "selector": "tier=test", "for": "1h"}});
        started(&world, "blind", 10, &steps).await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "marked")?)?;
        eventually(SOON, "the objects with the label", || async {
            let found = children(&world).await?;
            let of: Vec<&String> =
                found.iter().filter(|(_, child)| child["data"]["marked"] == "true").map(|(name, _)| name).collect();
            ensure!(of == ["o0", "o2", "o4", "o6", "o8"], "{of:?}");
            Ok(())
        })
        .await?;
        let canary = "the object belongs to the canary: version two reconciles it";
        crate::explain::held_up(&world, "misfit", "o0", canary).await?;
        // An object that loses the label returns to the version that runs.
        let path = format!("{}/o2", super::config_maps(&world));
        world.cluster.merge_patch(&path, &json!({"metadata": {"labels": {"tier": "live"}}})).await?;
        eventually(SOON, "the object to be as the running version wants it", || async {
            let (found, extras) = (children(&world).await?, extras(&world).await?);
            ensure!(found["o2"]["data"] == json!({"seen": "first"}) && !extras.contains_key("o2"), "{found:?}");
            ensure!(extras.len() == 4, "{extras:?}");
            Ok(())
        })
        .await?;
        let said = command(&world, "promote").await?;
        ensure!(said.contains("version two of plugin misfit promoted"), "{said}");
        eventually(SOON, "all objects", || async {
            ensure!(marked(&world).await? == 10 && journals(&world).await? == 0);
            Ok(())
        })
        .await
    })
    .await
}

/// A deletion cannot be undone: the object stays with the version that runs until the candidate is promoted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_deletes_nothing() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 6, 0).await?;
        started(&world, "blind", 6, &json!({"canary": {"percent": 100, "for": "1h"}})).await?;
        let before = children(&world).await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "deletes")?)?;
        let shown = rollout(&world, "objects that stay", |shown| shown["held"] == 6).await?;
        ensure!(text(&shown, "/heldObjects/0/reason").contains("a deletion cannot be undone"), "{shown}");
        steady(A_WHILE, "the children", || async {
            ensure!(children(&world).await?.len() == before.len());
            Ok(())
        })
        .await?;
        command(&world, "promote").await?;
        eventually(SOON, "the children to be deleted", || async {
            ensure!(children(&world).await?.is_empty());
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_creates_nothing_that_the_grant_does_not_let_it_delete_again() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 4, 0).await?;
        let steps = json!({"canary": {"percent": 100, "for": "1h"}});
        started(&world, "blind", 4, &steps).await?;
        let verbs = ["get", "list", "watch", "create", "patch"];
        let narrow =
            Grant::nothing().rule_in(&world.namespace, "", &["configmaps"], &verbs).partial().rollout(&steps)?;
        world.plugins.grant("misfit", &narrow)?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "marked")?)?;
        let shown = rollout(&world, "objects that stay", |shown| shown["held"] == 4).await?;
        let reason = text(&shown, "/heldObjects/0/reason");
        ensure!(reason.contains("the grant does not allow to delete it again"), "{shown}");
        ensure!(marked(&world).await? == 0 && extras(&world).await?.is_empty() && journals(&world).await? == 0);
        Ok(())
    })
    .await
}

/// Somebody else's objects, of which the candidate takes further fields with each write, by applies and merge patches.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_of_somebody_else_that_a_canary_wrote_several_times_is_as_before_the_first_write() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        let theirs = ["o0-applied", "o0-patched"];
        for name in theirs {
            let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "theirs", "y": "theirs"},
                "metadata": {"name": name, "labels": {"a": "theirs"}}});
            world.cluster.create(&super::config_maps(&world), &object).await?;
        }
        let read = async |name: &str| {
            let object = world.cluster.get(&format!("{}/{name}", super::config_maps(&world))).await?;
            object.context("it is gone")
        };
        objects(&world, 1, 0).await?;
        started(&world, "blind", 1, &json!({"canary": {"percent": 100, "for": "1h"}})).await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "meddles")?)?;
        let written = async |value: &str| {
            eventually(SOON, &format!("all writes with the value {value}"), || async {
                let (applied, patched) = (read("o0-applied").await?, read("o0-patched").await?);
                ensure!(applied["data"] == json!({"x": value, "y": value}), "{applied:#}");
                ensure!(patched["data"] == json!({"x": value, "y": "theirs"}), "{patched:#}");
                ensure!(patched["metadata"]["labels"] == json!({"a": "misfit", "b": "misfit"}), "{patched:#}");
                Ok(())
            })
            .await
        };
        written("first").await?;
        let path = format!("{}/o0", super::config_maps(&world));
        world.cluster.merge_patch(&path, &json!({"data": {"value": "second"}})).await?;
        written("second").await?;
        command(&world, "abort").await?;
        eventually(SOON, "no journal", || async {
            ensure!(journals(&world).await? == 0);
            Ok(())
        })
        .await?;
        for name in theirs {
            let now = read(name).await?;
            ensure!(now["data"] == json!({"x": "theirs", "y": "theirs"}), "{now:#}");
            ensure!(now["metadata"]["labels"] == json!({"a": "theirs"}), "{now:#}");
        }
        Ok(())
    })
    .await
}

/// Nothing would undo a write about an object that only the candidate reconciles.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_leaves_objects_alone_that_only_the_candidate_reconciles() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        let secrets = format!("/api/v1/namespaces/{}/secrets", world.namespace);
        for name in ["s0", "s1"] {
            let secret = json!({"apiVersion": "v1", "kind": "Secret", "data": {"value": "Zmlyc3Q="},
                "metadata": {"name": name, "labels": {"misfit": "true"}}});
            world.cluster.create(&secrets, &secret).await?;
        }
        objects(&world, 3, 0).await?;
        let steps = json!({"canary": {"percent": 100, "for": "1h"}});
        started(&world, "blind", 3, &steps).await?;
        let before = children(&world).await?;
        let verbs = ["get", "list", "watch", "create", "patch", "delete"];
        let wider = grant(&world, &steps)?.rule_in(&world.namespace, "", &["secrets"], &verbs).cleanup();
        world.plugins.grant("misfit", &wider)?;
        world.plugins.file("misfit.wasm", &wider_version("two")?)?;
        let shown = rollout(&world, "a canary of every object", |shown| {
            shown["compared"]["objects"].as_u64().zip(shown["held"].as_u64()).is_some_and(|(of, held)| of + held == 5)
        })
        .await?;
        eventually(SOON, "the objects of both versions", || async {
            ensure!(marked(&world).await? >= 3 && extras(&world).await?.len() >= 3);
            Ok(())
        })
        .await?;
        command(&world, "abort").await?;
        restored(&world, &before).await?;
        let held = objects_with_finalizers(&world, &secrets).await?;
        ensure!(held.is_empty(), "a finalizer is left: {held:#?}");
        ensure!(
            text(&shown, "/heldObjects/0/reason").contains("the version that runs does not reconcile it"),
            "{shown}"
        );
        // Promoted, the version has them.
        world.plugins.file("misfit.wasm", &wider_version("three")?)?;
        eventually(SOON, "the promotion", || async {
            let _ = command(&world, "promote").await;
            ensure!(marked(&world).await? == 5 && journals(&world).await? == 0);
            Ok(())
        })
        .await
    })
    .await
}

/// A version that reconciles Secrets, too, and has cleanup.
fn wider_version(version: &str) -> Result<Vec<u8>> {
    misfit_with(version, "marked", |manifest| {
        manifest["cleanup"] = json!(true);
        let secrets = json!({"version": "v1", "kind": "Secret", "labelSelector": "misfit=true"});
        manifest["primaries"].as_array_mut().into_iter().for_each(|all| all.push(secrets.clone()));
        if let Some(resources) = manifest.pointer_mut("/permissions/0/resources") {
            *resources = json!(["configmaps", "secrets"]);
        }
    })
}

/// The Secrets and ConfigMaps with a finalizer.
async fn objects_with_finalizers(world: &World, secrets: &str) -> Result<Vec<serde_json::Value>> {
    let mut all = world.cluster.list(secrets).await?;
    all.extend(world.cluster.list(&super::config_maps(world)).await?);
    all.retain(|object| object.pointer("/metadata/finalizers").is_some());
    Ok(all)
}

/// Another file, or another grant, takes the place of the candidate.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_newer_file_ends_a_rollout_and_begins_its_own() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 10, 0).await?;
        let steps = json!({"canary": {"percent": 100, "for": "1h"}});
        started(&world, "blind", 10, &steps).await?;
        let before = children(&world).await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "marked")?)?;
        rollout(&world, "the candidate's writes", |shown| shown["compared"]["objects"] == 10).await?;
        world.plugins.file("misfit.wasm", &misfit_version("three", "remembers")?)?;
        let canary = |shown: &serde_json::Value| shown["version"] == "three" && shown["phase"] == "canary";
        rollout(&world, "the newer version", canary).await?;
        event(&world, "misfit", "RolloutReplaced", "the rollout of version two of plugin misfit ended").await?;
        // The file of before, which runs already: no candidate is left.
        world.plugins.file("misfit.wasm", &misfit_version("one", "blind")?)?;
        runs(&world, "one").await?;
        restored(&world, &before).await?;
        // A version that drops to a grant without a rollout runs at once.
        world.plugins.grant("misfit", &super::grant_without_rollout(&world))?;
        world.plugins.file("misfit.wasm", &misfit_version("four", "marked")?)?;
        runs(&world, "four").await?;
        Ok(())
    })
    .await
}

/// An undo takes effect at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn going_back_to_an_earlier_version_takes_no_rollout() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 4, 0).await?;
        started(&world, "", 4, &json!({"canary": {"percent": 100, "for": "1h"}})).await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "marked")?)?;
        rollout(&world, "the candidate", |shown| shown["compared"]["objects"] == 4).await?;
        let address = world.host(async |host| Ok(host.admin().base().trim_start_matches("http://").to_owned())).await?;
        let undo = async || oarlock(&["rollout", "undo", "misfit", "--admin-addr", &address]).await;
        // `started` waits for revision 1, and this is revision 2.
        command(&world, "promote").await?;
        runs(&world, "two").await?;
        eventually(SOON, "the way back", || async {
            let ran = undo().await?;
            ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
            Ok(())
        })
        .await?;
        runs(&world, "one").await?;
        eventually(SOON, "the objects of before", || async {
            ensure!(marked(&world).await? == 0 && journals(&world).await? == 0);
            Ok(())
        })
        .await?;
        // A revision that is rolled out now is no way back, and its rollout goes on.
        let confirmed = oarlock(&["confirm", "misfit", "--admin-addr", &address]).await?;
        ensure!(confirmed.status.success(), "{}", String::from_utf8_lossy(&confirmed.stderr));
        rollout(&world, "the candidate again", |shown| shown["compared"]["objects"] == 4).await?;
        let undo = ["rollout", "undo", "misfit", "--to-revision", "2", "--admin-addr", &address];
        let said = String::from_utf8_lossy(&oarlock(&undo).await?.stderr).into_owned();
        ensure!(said.contains("version two of plugin misfit is rolled out now") && !said.contains("aborted"), "{said}");
        ensure!(!plugin(&world).await?["rollout"].is_null(), "the rollout ended");
        Ok(())
    })
    .await
}

/// A change of the configuration alone is a new version, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_configuration_is_rolled_out_and_another_permission_takes_effect_at_once() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 10, 0).await?;
        let steps = json!({"canary": {"percent": 100, "for": "1h"}});
        started(&world, "", 10, &steps).await?;
        world.plugins.grant("misfit", &grant(&world, &steps)?.config("mode", "marked"))?;
        rollout(&world, "a rollout of the configuration", |shown| shown["compared"]["objects"] == 10).await?;
        eventually(SOON, "the candidate's writes", || async {
            ensure!(marked(&world).await? == 10);
            Ok(())
        })
        .await?;
        command(&world, "abort").await?;
        eventually(SOON, "the configuration of before", || async {
            ensure!(marked(&world).await? == 0 && journals(&world).await? == 0);
            Ok(())
        })
        .await?;
        let narrower = grant(&world, &steps)?.resync_seconds(3600);
        world.plugins.grant("misfit", &narrower)?;
        eventually(SOON, "the grant", || async {
            let entry = plugin(&world).await?;
            ensure!(entry["resyncSeconds"] == 3600 && entry["rollout"].is_null(), "{entry}");
            Ok(())
        })
        .await
    })
    .await
}
