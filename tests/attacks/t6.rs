//! T6: a version that asks for finalizers and status without a grant for them.

use super::{ask, attacker, grant, options, started};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{SOON, World, eventually, text, with_world};
use serde_json::{Value, json};
use std::sync::Arc;

fn greedy(manifest: &mut Value) {
    manifest["version"] = json!("2");
    manifest["cleanup"] = json!(true);
    manifest["manageStatus"] = json!(true);
}

async fn finalizers(world: &World, name: &str) -> Result<Value> {
    let path = format!("/api/v1/namespaces/{}/configmaps/{name}", world.namespace);
    let object = world.cluster.get(&path).await?.context("gone")?;
    Ok(object.pointer("/metadata/finalizers").cloned().unwrap_or_default())
}

async fn answered(world: &World, name: &str) -> Result<()> {
    ask(world, name, &json!({"actions": [{"op": "log", "n": 1, "name": name}]})).await?;
    eventually(SOON, "a reconcile of it", || async {
        let results = world.log(|line| line.text.contains("RESULT") && line.text.contains(name)).await?;
        ensure!(!results.is_empty(), "no reconcile of {name}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t6_a_version_that_asks_for_finalizers_and_status_waits_until_they_are_granted() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.plugins.grant("attacker", &grant())?;
        world.plugins.place("attacker.wasm", &attacker(|_| {})?)?;
        started(&world).await?;
        answered(&world, "first").await?;
        world.plugins.place("attacker.wasm", &attacker(greedy)?)?;
        eventually(SOON, "the new version to wait", || async {
            let entry = world.host(async |host| host.plugin("attacker").await).await?;
            let said = entry.to_string();
            ensure!(text(&entry, "/version") != "2" && said.contains("awaiting-grant"), "{entry}");
            ensure!(said.contains("cleanup: true") && said.contains("manageStatus: true"), "{entry}");
            Ok(())
        })
        .await?;
        answered(&world, "meanwhile").await?;
        // It runs without them where the operator says so.
        world.plugins.grant("attacker", &grant().partial())?;
        eventually(SOON, "the new version to run", || async {
            let entry = world.host(async |host| host.plugin("attacker").await).await?;
            ensure!(text(&entry, "/version") == "2" && text(&entry, "/state") == "active", "{entry}");
            Ok(())
        })
        .await?;
        answered(&world, "second").await?;
        for name in ["first", "meanwhile", "second"] {
            ensure!(finalizers(&world, name).await?.is_null(), "{name} has a finalizer");
        }
        world.plugins.grant("attacker", &grant().cleanup().partial())?;
        eventually(SOON, "finalizers", || async {
            let found = finalizers(&world, "second").await?;
            ensure!(found == json!(["oarlock.dev/attacker"]), "{found}");
            Ok(())
        })
        .await
    })
    .await
}
