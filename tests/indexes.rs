//! Declared indexes: a guest lists by them, through swaps and changes.

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{Grant, SOON, World, WorldOptions, eventually, misfit_with, text, with_world};
use serde_json::{Value, json};
use std::sync::Arc;

const TENANT: &str = ".data.tenant";

/// The misfit with an index `by-tenant` of the ConfigMaps with the label `indexed`, by this path.
fn version(number: &str, path: &str) -> Result<Vec<u8>> {
    misfit_with(number, "", |manifest| {
        let watch = json!({"version": "v1", "kind": "ConfigMap", "labelSelector": "indexed", "mapTo": {"type": "all"}});
        if let Some(watches) = manifest.pointer_mut("/watches").and_then(Value::as_array_mut) {
            watches.push(watch);
        }
        if let Some(fields) = manifest.as_object_mut() {
            let index = json!({"name": "by-tenant", "version": "v1", "kind": "ConfigMap", "jsonPath": path});
            fields.insert("indexes".to_owned(), json!([index]));
        }
    })
}

async fn indexed(world: &World, name: &str, data: &Value) -> Result<()> {
    let path = format!("/api/v1/namespaces/{}/configmaps", world.namespace);
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"indexed": "true"}},
        "data": data});
    world.cluster.create(&path, &object).await.map(drop)
}

/// Waits until the misfit has listed these objects.
async fn lists(world: &World, expected: &str) -> Result<()> {
    let path = format!("/api/v1/namespaces/{}/configmaps/asking-child", world.namespace);
    eventually(SOON, expected, || async {
        let child = world.cluster.get(&path).await?.context("no child")?;
        ensure!(text(&child, "/data/seen") == expected, "{child}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_lists_by_a_declared_index() -> Result<()> {
    let options = WorldOptions { host: false, network: false, crd: false, ..WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        let verbs = ["get", "list", "watch", "create", "patch", "delete"];
        world.plugins.grant("misfit", &Grant::nothing().rule("", &["configmaps"], &verbs))?;
        world.plugins.place("misfit.wasm", &version("1", TENANT)?)?;
        world.start_host().await?;
        for (name, tenant) in [("one", "red"), ("two", "blue"), ("three", "red")] {
            indexed(&world, name, &json!({"tenant": tenant, "owner": "blue"})).await?;
        }
        let asking = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"value": "red"},
            "metadata": {"name": "asking", "labels": {"misfit": "true"}, "annotations": {"misfit/mode": "indexed"}}});
        let path = format!("/api/v1/namespaces/{}/configmaps", world.namespace);
        world.cluster.create(&path, &asking).await?;
        lists(&world, "one three").await?;
        // An object gets the value, one loses it, one goes.
        let tenant = async |name: &str, tenant: &str| {
            world.cluster.merge_patch(&format!("{path}/{name}"), &json!({"data": {"tenant": tenant}})).await.map(drop)
        };
        tenant("two", "red").await?;
        lists(&world, "one three two").await?;
        tenant("one", "blue").await?;
        lists(&world, "three two").await?;
        world.cluster.delete(&format!("{path}/three")).await?;
        lists(&world, "two").await?;
        // The next version has another index of the same name, on the watch that runs already.
        world.plugins.place("misfit.wasm", &version("2", ".data.owner")?)?;
        world.cluster.merge_patch(&format!("{path}/asking"), &json!({"data": {"value": "blue"}})).await?;
        lists(&world, "one two").await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_that_the_manifest_does_not_declare_is_refused_by_name() -> Result<()> {
    let options = WorldOptions { host: false, network: false, crd: false, ..WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        let verbs = ["get", "list", "watch", "create", "patch", "delete"];
        world.plugins.add("misfit", "misfit", &Grant::nothing().rule("", &["configmaps"], &verbs))?;
        world.start_host().await?;
        let asking = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"value": "red"},
            "metadata": {"name": "asking", "labels": {"misfit": "true"}, "annotations": {"misfit/mode": "indexed"}}});
        let path = format!("/api/v1/namespaces/{}/configmaps", world.namespace);
        let asking = world.cluster.create(&path, &asking).await?;
        world.event(&text(&asking, "/metadata/uid"), "Warning", "declares no index \"by-tenant\"").await.map(drop)
    })
    .await
}
