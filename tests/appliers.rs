//! Several writers of one object: concurrent appliers merge, and a stale replace does not win.

use anyhow::{Context, Result, ensure};
use futures::future::try_join_all;
use http::Method;
use oarlock_tests::harness::{SOON, World, WorldOptions, api_code, eventually, text, with_world};
use serde_json::{Value, json};
use std::sync::Arc;

fn bare() -> WorldOptions {
    WorldOptions { network: false, crd: false, host: false, ..WorldOptions::default() }
}

fn config_map(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_appliers_merge() -> Result<()> {
    const APPLIERS: usize = 12;
    with_world(bare(), async |world: Arc<World>| {
        let path = format!("/api/v1/namespaces/{}/configmaps/shared", world.namespace);
        let appliers = (0..APPLIERS).map(|number| {
            let (world, path) = (world.clone(), path.clone());
            async move {
                for round in 0..5 {
                    let data = json!({ format!("key-{number}"): format!("round-{round}") });
                    let (manager, wanted) = (format!("applier-{number}"), config_map("shared", &data));
                    // When others were faster some times in a row, an API server gives up, and says to try again.
                    while let Err(error) = world.cluster.apply(&path, &manager, &wanted).await {
                        ensure!(
                            api_code(&error) == Some(409) && format!("{error:#}").contains("try again"),
                            "{error:#}"
                        );
                    }
                }
                anyhow::Ok(())
            }
        });
        try_join_all(appliers).await?;
        let merged = world.cluster.get(&path).await?.context("no ConfigMap")?;
        for number in 0..APPLIERS {
            ensure!(text(&merged, &format!("/data/key-{number}")) == "round-4", "lost key-{number}: {merged}");
        }
        // One applier leaves: only its own key goes.
        world.cluster.apply(&path, "applier-3", &config_map("shared", &json!({}))).await?;
        let merged = world.cluster.get(&path).await?.context("no ConfigMap")?;
        let data = merged.get("data").and_then(Value::as_object).context("no data")?;
        ensure!(data.len() == APPLIERS - 1 && !data.contains_key("key-3"), "{merged}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stale_replace_is_a_409_and_changes_nothing() -> Result<()> {
    with_world(bare(), async |world: Arc<World>| {
        let folder = format!("/api/v1/namespaces/{}/configmaps", world.namespace);
        let path = format!("{folder}/contended");
        let old = world.cluster.create(&folder, &config_map("contended", &json!({"value": "old"}))).await?;
        world.cluster.merge_patch(&path, &json!({"data": {"value": "new"}})).await?;
        let mut stale = old;
        if let Some(data) = stale.get_mut("data") {
            *data = json!({"value": "stale"});
        }
        let replaced = world.cluster.request(Method::PUT, &path, "application/json", &stale).await;
        let Err(error) = replaced else { anyhow::bail!("a stale replace won") };
        ensure!(api_code(&error) == Some(409), "{error:#}");
        let kept = world.cluster.get(&path).await?.context("no ConfigMap")?;
        ensure!(text(&kept, "/data/value") == "new", "{kept}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_hosts_fields_and_a_users_do_not_take_each_others_away() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let uid = world.create_network("shared", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("shared").await?;
        // The user replaces the whole object as kubectl apply would: without the host's finalizer and status.
        let object = json!({"apiVersion": "samplecrd.k8s.io/v1", "kind": "Network",
            "metadata": {"name": "shared", "namespace": world.namespace, "labels": {"team": "red"}},
            "spec": {"cidr": "10.6.0.0/24", "gateway": "10.6.0.5"}});
        world.cluster.apply(&world.network_path("shared"), "user", &object).await?;
        eventually(SOON, "the edit to reach Neutron", || async {
            let (_, subnet) = world.only_network(&uid).await?;
            ensure!(text(&subnet, "/gateway_ip") == "10.6.0.5", "{subnet}");
            Ok(())
        })
        .await?;
        let object = world.ready("shared").await?;
        ensure!(object.pointer("/metadata/finalizers") == Some(&json!(["oarlock.dev/network"])), "{object}");
        ensure!(text(&object, "/metadata/labels/team") == "red", "{object}");
        ensure!(!text(&object, "/status/networkId").is_empty(), "{object}");
        Ok(())
    })
    .await
}
