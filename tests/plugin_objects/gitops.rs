//! Plugin objects in the hands of a GitOps tool: applied on the server, judged by kstatus, and compared again and again.

use super::declared::{apply, grant, object};
use super::{A_WHILE, condition, definition, has_child, key, path, shows, start};
use crate::oci;
use crate::plan::ALONE;
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{
    Action, Gate, Registry, Rule, SOON, Tripwire, Upstream, World, misfit_version, steady, text, with_world,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The health of an object of any kind by the rules of kstatus, which Flux and others use.
fn kstatus(object: &Value) -> &'static str {
    let condition = |kind: &str| {
        let all = object.pointer("/status/conditions").and_then(Value::as_array);
        let found = all.into_iter().flatten().find(|one| one["type"] == kind);
        found.and_then(|one| one["status"].as_str()).unwrap_or_default()
    };
    let observed = object.pointer("/status/observedGeneration");
    match () {
        () if object.pointer("/metadata/deletionTimestamp").is_some() => "Terminating",
        () if observed.is_some() && observed != object.pointer("/metadata/generation") => "InProgress",
        () if condition("Stalled") == "True" => "Failed",
        () if condition("Reconciling") == "True" => "InProgress",
        () if ["False", "Unknown"].contains(&condition("Ready")) => "InProgress",
        () => "Current",
    }
}

/// The tool's command line.
async fn tool(world: &World, verb: &str, file: &str) -> Result<String> {
    world.cluster.kubectl(&[verb, "--server-side", "--field-manager=argocd-controller", "-f", file]).await
}

/// Waits until the object is healthy with this version, which the tool then finds as it applied it, in every way of comparing.
async fn in_sync(world: &World, version: &str, file: &str) -> Result<Value> {
    let healthy = |object: &Value| kstatus(object) == "Current" && text(object, "/status/version") == version;
    let object = shows(world, "misfit", &format!("a healthy version {version}"), healthy).await?;
    // kubectl exits with 1 for a difference, which is an error here.
    tool(world, "diff", file).await?;
    world.cluster.kubectl(&["diff", "-f", file]).await?;
    // No conflict, and no write.
    tool(world, "apply", file).await?;
    let again = world.cluster.get(&path(world, "misfit")).await?.context("no object")?;
    ensure!(again.pointer("/metadata/generation") == object.pointer("/metadata/generation"), "{again:#}");
    let entries = again.pointer("/metadata/managedFields").and_then(Value::as_array).context("no managers")?;
    for entry in entries {
        let of_host = text(entry, "/manager").starts_with("oarlock");
        let parts = entry["fieldsV1"].as_object().context("no fields")?;
        ensure!(!of_host || parts.keys().all(|part| part == "f:status"), "{entry:#}");
        ensure!(of_host || !parts.contains_key("f:status"), "{entry:#}");
    }
    Ok(again)
}

/// The first state that is healthy, looked at without a pause.
async fn first_health(world: &World) -> Result<Value> {
    let look = async {
        loop {
            let object = world.cluster.get(&path(world, "misfit")).await?.context("no object")?;
            if kstatus(&object) == "Current" {
                return Ok(object);
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(SOON, look).await?
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gitops_tool_sees_progress_health_and_no_drift() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        definition(&world).await?;
        for version in ["one", "two"] {
            world.plugins.file(&format!("{version}.wasm"), &misfit_version(version, "")?)?;
        }
        key(&world, "a").await?;
        let file = world.folder().join("plugin.yaml");
        let wants = |version: &str| {
            let spec = json!({"source": {"file": format!("{version}.wasm")}, "grant": grant(&world)});
            std::fs::write(&file, object(&world, "misfit", &spec).to_string())
        };
        let name = file.display().to_string();
        wants("one")?;
        tool(&world, "apply", &name).await?;
        let unseen = world.cluster.get(&path(&world, "misfit")).await?.context("no object")?;
        ensure!(kstatus(&unseen) == "InProgress", "{unseen:#}");
        start(&world).await?;
        let first = in_sync(&world, "one", &name).await?;
        has_child(&world, "a").await?;

        wants("two")?;
        ensure!(tool(&world, "diff", &name).await.is_err(), "a change is no difference");
        tool(&world, "apply", &name).await?;
        // The first state that claims to be that of the edit is that of version two.
        let first_health = first_health(&world).await?;
        ensure!(text(&first_health, "/status/version") == "two", "{first_health:#}");
        let second = in_sync(&world, "two", &name).await?;
        ensure!(second["metadata"]["generation"].as_i64() > first["metadata"]["generation"].as_i64(), "{second:#}");

        // The tool learns that the last edit has no effect; beside broken code, version two goes on.
        world.plugins.file("broken.wasm", b"no component")?;
        for (wrong, runs) in [("broken", "two"), ("absent", "")] {
            wants(wrong)?;
            tool(&world, "apply", &name).await?;
            let stalled = |object: &Value| kstatus(object) == "Failed" && text(object, "/status/version") == runs;
            shows(&world, "misfit", &format!("the failure of {wrong}"), stalled).await?;
            wants("two")?;
            tool(&world, "apply", &name).await?;
            in_sync(&world, "two", &name).await?;
        }
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_is_in_progress_while_its_new_reference_is_pulled() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        definition(&world).await?;
        let registry = Registry::open(world.folder()).await?;
        let gate = Gate::open(Upstream::Http(format!("http://{}", registry.address())), Tripwire::default()).await?;
        for version in ["one", "two"] {
            let component = misfit_version(version, "")?;
            oci::push_component(registry.address(), &format!("team/misfit:{version}"), component, None).await?;
        }
        let edit = async |version: &str| {
            let reference = format!("{}/team/misfit:{version}", gate.url().replace("http://", "oci://"));
            apply(&world, "misfit", &json!({"source": {"reference": reference}, "grant": grant(&world)})).await
        };
        let cache = world.folder().join("oci").display().to_string();
        world.start_host_with(&["--plugin-objects", &world.namespace, "--oci-cache", &cache]).await?;
        edit("one").await?;
        ensure!(text(&first_health(&world).await?, "/status/version") == "one", "another version");

        let arrives = CancellationToken::new();
        let pull = gate.rule(Rule::every(Action::Until(arrives.clone())).path("/manifests/two"));
        edit("two").await?;
        pull.hit().await?;
        let pulling = |object: &Value| condition(object, "Reconciling") == "True";
        let object = shows(&world, "misfit", "the pull", pulling).await?;
        ensure!(condition(&object, "Ready") == "True" && text(&object, "/status/version") == "one", "{object:#}");
        steady(A_WHILE, "the progress", || async {
            let object = world.cluster.get(&path(&world, "misfit")).await?.context("gone")?;
            let (observed, is) = (&object["status"]["observedGeneration"], &object["metadata"]["generation"]);
            ensure!(observed.as_i64() < is.as_i64(), "{object:#}");
            Ok(())
        })
        .await?;
        arrives.cancel();
        let object = first_health(&world).await?;
        ensure!(text(&object, "/status/version") == "two", "{object:#}");
        Ok(())
    })
    .await
}
