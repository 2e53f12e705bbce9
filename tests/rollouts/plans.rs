//! The plan and the shadow of a rollout write nothing, and decide what comes next.

use super::{A_WHILE, children, command, marked, objects, plugin, rollout, runs, started};
use crate::plan::ALONE;
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{SOON, World, eventually, misfit_version, misfit_with, oarlock, steady, text, with_world};
use serde_json::{Value, json};
use std::sync::Arc;

/// Waits until the rollout waits for an approval, and checks that nothing is written.
pub(super) async fn waits(world: &World, reason: &str) -> Result<Value> {
    let entry = eventually(SOON, "a rollout that waits", || async {
        let entry = plugin(world).await?;
        ensure!(text(&entry, "/next/state") == "awaiting-confirmation", "{entry:#}");
        Ok(entry)
    })
    .await?;
    ensure!(text(&entry, "/next/reason").contains(reason), "{entry:#}");
    steady(A_WHILE, "the objects", || async {
        ensure!(marked(world).await? == 0);
        Ok(())
    })
    .await?;
    Ok(entry)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_beyond_its_limits_waits_for_an_approval_and_one_within_them_does_not() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 6, 0).await?;
        let steps = json!({"plan": {"maxChanges": 11}});
        started(&world, "", 6, &steps).await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "marked")?)?;
        // Each object: the child, and another object.
        let entry =
            waits(&world, "it would make 12 writes that the version that runs would not make, 0 of them deletions")
                .await?;
        ensure!(entry.pointer("/rollout/plan/objects") == Some(&json!(6)), "{entry}");
        let waits = "a new version waits for an approval: plan ";
        crate::explain::held_up(&world, "misfit", "o0", waits).await?;
        let address = world.host(async |host| Ok(host.admin().base().trim_start_matches("http://").to_owned())).await?;
        let ran = oarlock(&["confirm", "misfit", "--admin-addr", &address]).await?;
        ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        runs(&world, "two").await?;
        eventually(SOON, "the new version's writes", || async {
            ensure!(marked(&world).await? == 6);
            Ok(())
        })
        .await?;
        // Back to the first version takes no more writes than the limit: the other objects are not its own.
        world.plugins.file("misfit.wasm", &misfit_version("three", "")?)?;
        runs(&world, "three").await?;
        Ok(())
    })
    .await
}

/// Nobody would write about them any more, which is a change.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_that_a_narrower_selector_leaves_count_for_the_plan() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 6, 0).await?;
        started(&world, "", 6, &json!({"plan": {"maxChanges": 2}})).await?;
        let narrower =
            |manifest: &mut Value| manifest["primaries"][0]["labelSelector"] = json!("misfit=true,tier=test");
        world.plugins.file("misfit.wasm", &misfit_with("two", "", narrower)?)?;
        waits(&world, "0 of them deletions, and not reconcile 3 objects any more").await?;
        command(&world, "approve").await?;
        runs(&world, "two").await.map(drop)
    })
    .await
}

/// The approval in the Plugin object counts for every host.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deletions_have_a_limit_of_their_own_and_the_plugin_object_approves() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 4, 0).await?;
        let steps = json!({"plan": {"maxChanges": 100, "maxDeletes": 3}});
        started(&world, "", 4, &steps).await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "deletes")?)?;
        let entry = waits(&world, "4 of them deletions").await?;
        ensure!(children(&world).await?.len() == 4, "{entry}");
        let digest = text(&entry, "/next/digest");
        let path = format!("/apis/oarlock.dev/v1alpha1/namespaces/{}/plugins/misfit", world.namespace);
        let shown = eventually(SOON, "the plan in the Plugin object", || async {
            let shown = world.cluster.get(&path).await?.context("no Plugin object")?;
            ensure!(text(&shown, "/status/rollout/phase") == "awaiting-approval", "{shown:#}");
            Ok(shown)
        })
        .await?;
        ensure!(shown.pointer("/status/rollout/plan/deletes") == Some(&json!(4)), "{shown:#}");
        let said = shown["status"]["conditions"].to_string();
        ensure!(said.contains("waits for spec.approve with its digest: plan "), "{said}");
        // Of another plan: nothing happens.
        world.cluster.merge_patch(&path, &json!({"spec": {"approve": digest, "approvePlan": "another"}})).await?;
        steady(A_WHILE, "the children", || async {
            ensure!(children(&world).await?.len() == 4);
            Ok(())
        })
        .await?;
        let plan = text(&shown, "/status/rollout/plan/id");
        world.cluster.merge_patch(&path, &json!({"spec": {"approvePlan": plan}})).await?;
        runs(&world, "two").await?;
        eventually(SOON, "the children to be deleted", || async {
            ensure!(children(&world).await?.is_empty());
            Ok(())
        })
        .await
    })
    .await
}

/// The digest of the code that runs says nothing about its next configuration.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_of_code_approves_no_further_configuration_and_that_of_its_plan_does() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 4, 0).await?;
        let steps = json!({"plan": {"approval": "Always"}});
        started(&world, "", 4, &steps).await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "")?)?;
        let entry = waits(&world, "it would make 0 writes").await?;
        let path = format!("/apis/oarlock.dev/v1alpha1/namespaces/{}/plugins/misfit", world.namespace);
        let approval = json!({"spec": {"approve": text(&entry, "/next/digest")}});
        world.cluster.merge_patch(&path, &approval).await?;
        runs(&world, "two").await?;
        // The next host did not see that this approval was used.
        world.kill_host().await?;
        super::start(&world).await?;
        runs(&world, "two").await?;
        world.plugins.grant("misfit", &super::grant(&world, &steps)?.config("mode", "marked"))?;
        let entry = waits(&world, "it would make 8 writes").await?;
        eventually(SOON, "what is missing", || async {
            let shown = world.cluster.get(&path).await?.context("no Plugin object")?;
            let said = shown["status"]["conditions"].to_string();
            ensure!(said.contains("waits for spec.approve with its digest, and spec.approvePlan: plan "), "{said}");
            Ok(())
        })
        .await?;
        let plan = json!({"spec": {"approvePlan": text(&entry, "/rollout/plan/id")}});
        world.cluster.merge_patch(&path, &plan).await?;
        runs(&world, "two").await?;
        eventually(SOON, "the writes of the configuration", || async {
            ensure!(marked(&world).await? == 4);
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_plan_of_the_same_code_is_empty_and_an_approval_can_always_be_asked_for() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 5, 0).await?;
        let steps = json!({"plan": {"maxChanges": 0, "maxDeletes": 0}, "shadow": {"for": "1s"}});
        started(&world, "", 5, &steps).await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "")?)?;
        let entry = runs(&world, "two").await?;
        ensure!(entry["next"].is_null(), "{entry}");
        world.plugins.grant("misfit", &super::grant(&world, &json!({"plan": {"approval": "Always"}}))?)?;
        world.plugins.file("misfit.wasm", &misfit_version("three", "")?)?;
        waits(&world, "it would make 0 writes").await?;
        command(&world, "abort").await?;
        super::aborted(&world, "three", "aborted by hand").await
    })
    .await
}

/// Who approves a plan approves what they saw.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_of_an_outdated_plan_is_rejected_and_the_host_plans_again() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 4, 0).await?;
        started(&world, "", 4, &json!({"plan": {"approval": "Always"}})).await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "marked")?)?;
        let plan = async || -> Result<String> { Ok(text(&waits(&world, "8 writes").await?, "/rollout/plan/id")) };
        let first = plan().await?;
        let address = world.host(async |host| Ok(host.admin().base().trim_start_matches("http://").to_owned())).await?;
        let approve = async |id: &str| -> Result<(bool, String)> {
            let ran = oarlock(&["rollout", "approve", "misfit", "--plan", id, "--admin-addr", &address]).await?;
            Ok((ran.status.success(), String::from_utf8_lossy(&ran.stderr).into_owned()))
        };
        let (done, said) = approve("another").await?;
        ensure!(
            !done && said.contains(&format!("plan another is not the present one, which is plan {first}")),
            "{said}"
        );
        let path = format!("{}/o2", super::config_maps(&world));
        world.cluster.merge_patch(&path, &json!({"data": {"value": "second"}})).await?;
        eventually(SOON, "the change", || async {
            ensure!(text(&children(&world).await?["o2"], "/data/seen") == "second");
            Ok(())
        })
        .await?;
        let (done, said) = approve(&first).await?;
        ensure!(
            !done && said.contains("is outdated, because objects have changed since: the host plans again"),
            "{said}"
        );
        let second = eventually(SOON, "another plan", || async {
            let id = plan().await?;
            ensure!(id != first, "{id}");
            Ok(id)
        })
        .await?;
        let (done, said) = approve(&second).await?;
        ensure!(done, "{said}");
        runs(&world, "two").await?;
        Ok(())
    })
    .await
}

/// Makes the kind Gadget, and one of these that the mode `gadget` reads.
async fn gadget(world: &World) -> Result<()> {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.oarlock.test"},
        "spec": {"group": "oarlock.test", "scope": "Namespaced", "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}});
    world.cluster.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition).await?;
    eventually(SOON, "the kind", || create_gadget(world, "first")).await
}

async fn create_gadget(world: &World, name: &str) -> Result<()> {
    let gadget =
        json!({"apiVersion": "oarlock.test/v1", "kind": "Gadget", "metadata": {"name": name}, "spec": {"size": 1}});
    world.cluster.create(&gadgets(world), &gadget).await.map(drop)
}

fn gadgets(world: &World) -> String {
    format!("/apis/oarlock.test/v1/namespaces/{}/gadgets", world.namespace)
}

/// Waits until the host has seen one more object of a kind, and therefore all changes of objects of this kind before.
async fn follows(world: &World, kind: &str, create: impl Future<Output = Result<()>>) -> Result<()> {
    let kind = format!("kind=\"{kind}\"");
    let seen = async || world.host(async |host| host.metric("oarlock_informer_objects", &[&kind]).await).await;
    let before = seen().await?;
    create.await?;
    eventually(SOON, "the host to follow", || async {
        ensure!(seen().await? > before);
        Ok(())
    })
    .await
}

/// What a version read, and what it would write, belongs to its plan.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_read_and_a_changed_child_outdate_a_plan_for_the_command_and_for_the_plugin_object() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        gadget(&world).await?;
        objects(&world, 4, 0).await?;
        let steps = json!({"plan": {"approval": "Always"}});
        started(&world, "", 4, &steps).await?;
        let grant = super::grant(&world, &steps)?;
        let verbs = ["get", "list", "watch"];
        world.plugins.grant("misfit", &grant.rule_in(&world.namespace, "oarlock.test", &["gadgets"], &verbs))?;
        let reads = misfit_with("two", "gadget", |manifest| {
            if let Some(watches) = manifest.pointer_mut("/watches").and_then(Value::as_array_mut) {
                watches.push(json!({"group": "oarlock.test", "version": "v1", "kind": "Gadget"}));
            }
        });
        world.plugins.file("misfit.wasm", &reads?)?;
        let plan = async |not: &str| {
            eventually(SOON, "another plan", || async {
                let entry = waits(&world, "it would make 4 writes").await?;
                let id = text(&entry, "/rollout/plan/id");
                ensure!(id != not, "{entry:#}");
                Ok((id, text(&entry, "/next/digest")))
            })
            .await
        };
        let (first, digest) = plan("").await?;

        // The primaries and the children stay as they are; the version would write something else.
        world.cluster.merge_patch(&format!("{}/first", gadgets(&world)), &json!({"spec": {"size": 2}})).await?;
        follows(&world, "Gadget", create_gadget(&world, "other")).await?;
        let address = world.host(async |host| Ok(host.admin().base().trim_start_matches("http://").to_owned())).await?;
        let ran = oarlock(&["rollout", "approve", "misfit", "--plan", &first, "--admin-addr", &address]).await?;
        let said = String::from_utf8_lossy(&ran.stderr);
        ensure!(!ran.status.success() && said.contains("is outdated, because objects have changed since"), "{said}");
        let (second, _) = plan(&first).await?;

        let child = format!("{}/o1-child", super::config_maps(&world));
        world.cluster.merge_patch(&child, &json!({"metadata": {"labels": {"of": "somebody"}}})).await?;
        let tick = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "tick", "labels": {"misfit-child": "true"}}});
        let config_maps = super::config_maps(&world);
        follows(&world, "ConfigMap", async { world.cluster.create(&config_maps, &tick).await.map(drop) }).await?;
        let path = format!("/apis/oarlock.dev/v1alpha1/namespaces/{}/plugins/misfit", world.namespace);
        let approve = async |plan: &str| {
            let spec = json!({"spec": {"approve": digest, "approvePlan": plan}});
            world.cluster.merge_patch(&path, &spec).await.map(drop)
        };
        approve(&second).await?;
        let (third, _) = plan(&second).await?;
        ensure!(text(&plugin(&world).await?, "/version") == "one", "an outdated plan was approved");
        approve(&third).await?;
        runs(&world, "two").await?;
        eventually(SOON, "what the version read", || async {
            let found = children(&world).await?;
            ensure!(found.values().all(|child| text(child, "/data/seen") == "2"), "{found:?}");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shadow_compares_and_writes_nothing() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 10, 0).await?;
        started(&world, "", 10, &json!({"shadow": {"for": "1h"}})).await?;
        let mark = world.kubernetes_gate.mark();
        world.plugins.file("misfit.wasm", &misfit_version("two", "marked")?)?;
        let shown = rollout(&world, "all differences", |shown| shown["compared"]["differentWrites"] == 20).await?;
        ensure!(text(&shown, "/phase") == "shadow" && shown["percent"] == 0, "{shown}");
        let fields = shown["differences"].to_string();
        ensure!(fields.contains("apply ConfigMap /data/marked") || fields.contains("apply ConfigMap"), "{fields}");
        // The version that runs goes on.
        let path = format!("{}/o3", super::config_maps(&world));
        world.cluster.merge_patch(&path, &json!({"data": {"value": "second"}})).await?;
        eventually(SOON, "the version that runs", || async {
            let found = children(&world).await?;
            ensure!(found["o3"]["data"] == json!({"seen": "second"}), "{found:?}");
            Ok(())
        })
        .await?;
        steady(A_WHILE, "the objects", || async {
            ensure!(marked(&world).await? == 0);
            Ok(())
        })
        .await?;
        let writes = world.kubernetes_gate.writes_since(mark);
        ensure!(!writes.iter().any(|exchange| exchange.path.contains("-extra")), "the shadow wrote");
        eventually(SOON, "the metric", || async {
            let labels = ["\"misfit\""];
            let writes =
                world.host(async |host| host.metric("oarlock_rollout_different_writes", &labels).await).await?;
            ensure!((writes - 20.0).abs() < f64::EPSILON, "{writes}");
            Ok(())
        })
        .await?;
        command(&world, "promote").await?;
        runs(&world, "two").await?;
        Ok(())
    })
    .await
}

/// Requests with effects are not sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shadow_sends_no_request_with_effects() -> Result<()> {
    let options =
        oarlock_tests::harness::WorldOptions { host: false, ..oarlock_tests::harness::WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        world.plugins.grant("network", &world.network_grant()?.rollout(&json!({"shadow": {"for": "1h"}}))?)?;
        world.start_host().await?;
        world.create_network("net", "10.0.0.0/24", "10.0.0.1").await?;
        world.ready("net").await?;
        let mark = world.neutron_gate.mark();
        let wasm = std::fs::read(world.plugins.path().join("network.wasm"))?;
        world.plugins.file("network.wasm", &oarlock_tests::harness::with_another_digest(&wasm, "two"))?;
        let compared = async |count: u64| {
            eventually(SOON, "a comparison", || async {
                let entry = world.host(async |host| host.plugin("network").await).await?;
                ensure!(entry.pointer("/rollout/compared/objects") == Some(&json!(count)), "{entry:#}");
                ensure!(entry.pointer("/rollout/compared/different") == Some(&json!(0)), "{entry:#}");
                Ok(())
            })
            .await
        };
        compared(1).await?;
        // While Neutron lacks something, both versions would send a request; only the one that runs does.
        world.create_network("other", "10.1.0.0/24", "10.1.0.1").await?;
        world.ready("other").await?;
        compared(2).await?;
        let made = world.neutron_gate.writes_since(mark);
        let networks = made.iter().filter(|exchange| exchange.path.ends_with("/networks")).count();
        ensure!(networks == 1, "{networks} networks made");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollout_that_makes_no_sense_is_an_error_of_the_grant_that_names_the_field() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        world.plugins.grant("misfit", &super::grant(&world, &json!({"canary": {"percent": 500, "for": "1m"}}))?)?;
        world.plugins.file("misfit.wasm", &misfit_version("one", "")?)?;
        world.start_host().await?;
        eventually(SOON, "the fault", || async {
            let all = world.host(async |host| host.plugins().await).await?.to_string();
            ensure!(all.contains("rollout.canary has the share 500, must be 1 to 100 percent"), "{all}");
            Ok(())
        })
        .await
    })
    .await
}
