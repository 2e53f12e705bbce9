//! The good version of a plugin survives the end of all hosts with their caches: the object knows it, and the registry has it.

use super::declared::{apply, grant};
use super::undo::unavailable;
use super::{definition, shows, wish};
use crate::hot_swap::{object, seen, set};
use crate::oci;
use crate::plan::ALONE;
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{Gate, Registry, Rule, Tripwire, Upstream, World, misfit_version, text, with_world};
use serde_json::{Value, json};
use std::sync::Arc;

/// Starts a host with an empty cache.
async fn host(world: &World, cache: &str) -> Result<()> {
    let cache = world.folder().join(cache).display().to_string();
    let args = ["--plugin-objects", &world.namespace, "--oci-poll-seconds", "1", "--cache-dir", &cache];
    world.start_host_with(&args).await
}

async fn push(registry: &Registry, version: &str, mode: &str) -> Result<()> {
    oci::push_component(registry.address(), "team/misfit:v", misfit_version(version, mode)?, None).await.map(drop)
}

fn revisions(object: &Value) -> usize {
    object.pointer("/status/revisions").and_then(Value::as_array).map_or(0, Vec::len)
}

/// Version one runs, and the newest version is in this state.
fn one_runs(state: &str) -> impl Fn(&Value) -> bool {
    move |object| text(object, "/status/version") == "one" && text(object, "/status/candidate/state") == state
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_good_version_survives_the_end_of_all_hosts_and_their_caches() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        definition(&world).await?;
        let registry = Registry::open(world.folder()).await?;
        let reference = format!("oci://{}/team/misfit:v", registry.address());
        host(&world, "first").await?;
        push(&registry, "one", "").await?;
        apply(&world, "misfit", &json!({"source": {"reference": reference}, "grant": grant(&world)})).await?;
        for number in 0..25 {
            object(&world, &format!("o{number}"), "", &json!({})).await?;
        }
        object(&world, "fragile", "", &json!({"fragile": "true"})).await?;
        seen(&world, "fragile", "first").await?;
        let proven = |object: &Value| object.pointer("/status/revisions/0/proven") == Some(&json!(true));
        shows(&world, "misfit", "a version that has proven itself", proven).await?;
        world.kill_host().await?;

        // A version that came while no host ran is rolled back.
        push(&registry, "two", "fragile:trap").await?;
        host(&world, "second").await?;
        let back = shows(&world, "misfit", "the rollback", one_runs("failed")).await?;
        ensure!(text(&back, "/status/candidate/reason").contains("rolled back"), "{back:#}");
        set(&world, "fragile", "second").await?;
        seen(&world, "fragile", "second").await?;
        world.kill_host().await?;

        // The next host does not run it again.
        let before = revisions(&back);
        host(&world, "third").await?;
        set(&world, "fragile", "third").await?;
        seen(&world, "fragile", "third").await?;
        let still = shows(&world, "misfit", "the rollback of before", one_runs("failed")).await?;
        let reason = "/status/candidate/reason";
        ensure!(revisions(&still) == before && text(&still, reason) == text(&back, reason), "{still:#}");
        world.kill_host().await?;

        // With steps for new versions, one takes them although it came while no host ran.
        let mut steps = grant(&world);
        steps["rollout"] = json!({"canary": {"percent": 10, "for": "1h"}});
        apply(&world, "misfit", &json!({"source": {"reference": reference}, "grant": steps})).await?;
        push(&registry, "three", "marked").await?;
        host(&world, "fourth").await?;
        let canary = |object: &Value| {
            text(object, "/status/version") == "one" && text(object, "/status/rollout/version") == "three"
        };
        let object = shows(&world, "misfit", "the rollout of version three", canary).await?;

        // An undo ends the rollout, also if no host has the other version.
        let from = text(&object, "/status/candidate/digest");
        wish(&world, "misfit", &json!({"undo": {"from": from, "to": format!("sha256:{}", "0".repeat(64))}})).await?;
        let fault = |object: &Value| {
            let all = object.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
            let mut faults = all.filter(|one| one["reason"] == "InvalidObject");
            object.pointer("/status/rollout").is_none()
                && text(object, "/status/version") == "one"
                && faults.any(|one| text(one, "/message").contains("does not have the code of sha256:000"))
        };
        shows(&world, "misfit", "the end of the rollout, and what is missing", fault).await?;
        Ok(())
    })
    .await
}

/// The host pulls the good version when its grant changes, and loads the plugin a second time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_that_changes_while_the_registry_has_a_fault_does_not_lose_the_good_version() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        definition(&world).await?;
        let registry = Registry::open(world.folder()).await?;
        let gate = Gate::open(Upstream::Http(format!("http://{}", registry.address())), Tripwire::default()).await?;
        let reference = format!("{}/team/misfit:v", gate.url().replace("http://", "oci://"));
        host(&world, "first").await?;
        push(&registry, "one", "").await?;
        let mut granted = grant(&world);
        granted["rollout"] = json!({"canary": {"percent": 100, "for": "1h"}});
        apply(&world, "misfit", &json!({"source": {"reference": reference}, "grant": granted})).await?;
        object(&world, "a", "", &json!({})).await?;
        seen(&world, "a", "first").await?;
        let known = |object: &Value| text(object, "/status/revisions/0/reference").contains('@');
        let shown = shows(&world, "misfit", "the reference of version one", known).await?;
        let good = text(&shown, "/status/revisions/0/reference");
        let (_, manifest) = good.split_once('@').context("no digest")?;
        world.kill_host().await?;

        push(&registry, "two", "marked").await?;
        let fault = gate.rule(Rule::every(unavailable()).path(&format!("/manifests/{manifest}")).times(3));
        host(&world, "second").await?;
        fault.hit().await?;
        granted["workers"] = json!(3);
        apply(&world, "misfit", &json!({"source": {"reference": reference}, "grant": granted})).await?;
        let canary = |object: &Value| {
            text(object, "/status/version") == "one" && text(object, "/status/rollout/version") == "two"
        };
        shows(&world, "misfit", "the rollout of version two", canary).await.map(drop)
    })
    .await
}
