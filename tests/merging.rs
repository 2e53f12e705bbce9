//! The import `merge` on a whole host: custom resources merge by what their definition says of their lists.

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{Grant, SOON, World, WorldOptions, eventually, text, with_world};
use serde_json::{Value, json};
use std::sync::Arc;

/// A kind with a list of each type.
fn racks() -> Value {
    let slot = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "size": {"type": "integer"}, "owner": {"type": "string"}}});
    let texts = json!({"type": "string"});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "racks.example.com"},
    "spec": {"group": "example.com", "scope": "Namespaced",
        "names": {"plural": "racks", "singular": "rack", "kind": "Rack", "listKind": "RackList"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
            "properties": {"spec": {"type": "object", "properties": {
                "slots": {"type": "array", "items": slot, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
                "tags": {"type": "array", "items": texts, "x-kubernetes-list-type": "set"},
                "order": {"type": "array", "items": texts, "x-kubernetes-list-type": "atomic"},
            }}}}}}]}})
}

fn rack(spec: &Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Rack", "metadata": {"name": "r"}, "spec": spec})
}

/// What the misfit needs, and to read what it merges.
fn ordinary() -> Grant {
    let verbs = ["get", "list", "watch", "create", "patch", "delete"];
    Grant::nothing().rule("", &["configmaps"], &verbs).rule("example.com", &["racks"], &["get"])
}

fn definitions(grant: Grant) -> Grant {
    grant.rule("apiextensions.k8s.io", &["customresourcedefinitions"], &["get"])
}

/// A world with the definition, and the misfit granted this beside what it needs; asked to merge.
async fn merging(grant: impl FnOnce(Grant) -> Grant, body: impl AsyncFnOnce(Arc<World>) -> Result<()>) -> Result<()> {
    let options = WorldOptions { host: false, network: false, crd: false, ..WorldOptions::default() };
    with_world(options, async move |world: Arc<World>| {
        let file = world.folder().join("racks.json");
        std::fs::write(&file, racks().to_string())?;
        world.cluster.apply_crd(&file).await?;
        world.plugins.add("misfit", "misfit", &grant(ordinary()))?;
        world.start_host().await?;
        let told = json!({
            "kind": {"group": "example.com", "version": "v1", "kind": "Rack"},
            "original": rack(&json!({"slots": [{"name": "x", "size": 1}, {"name": "gone"}], "tags": ["a", "b"], "order": ["1"]})),
            "modified": rack(&json!({"slots": [{"name": "x", "size": 2}], "tags": ["a", "c"], "order": ["1", "2"]})),
            "current": rack(&json!({"slots": [{"name": "theirs"}, {"name": "x", "size": 1, "owner": "them"}, {"name": "gone"}],
                "tags": ["a", "b", "d"], "order": ["9"]})),
        });
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "merged", "labels": {"misfit": "true"}, "annotations": {"misfit/mode": "merge-custom"}},
            "data": {"value": told.to_string()}});
        world.cluster.create(&format!("/api/v1/namespaces/{}/configmaps", world.namespace), &object).await?;
        body(world).await
    })
    .await
}

fn path(world: &World, name: &str) -> String {
    format!("/api/v1/namespaces/{}/configmaps/{name}", world.namespace)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_custom_resource_is_merged_by_the_list_types_of_its_definition() -> Result<()> {
    merging(definitions, async |world: Arc<World>| {
        let child = eventually(SOON, "what was merged", || async {
            world.cluster.get(&path(&world, "merged-child")).await?.context("no child")
        })
        .await?;
        let merged: Value = serde_json::from_str(&text(&child, "/data/seen"))?;
        let sorted = |list: &str, key: &str| {
            let mut items = merged["spec"][list].as_array().cloned().unwrap_or_default();
            items.sort_by_key(|item| if key.is_empty() { item.to_string() } else { text(item, key) });
            Value::from(items)
        };
        let slots = json!([{"name": "theirs"}, {"name": "x", "size": 2, "owner": "them"}]);
        ensure!(sorted("slots", "/name") == slots, "a map merges by its key: {merged}");
        ensure!(sorted("tags", "") == json!(["a", "c", "d"]), "a set keeps what others added: {merged}");
        ensure!(merged["spec"]["order"] == json!(["1", "2"]), "an atomic list is replaced: {merged}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_permission_to_read_the_definition_it_is_refused_by_name() -> Result<()> {
    merging(
        |grant| grant,
        async |world: Arc<World>| {
            let merged = world.cluster.get(&path(&world, "merged")).await?.context("the object")?;
            let event = world.event(&text(&merged, "/metadata/uid"), "Warning", "customresourcedefinitions").await?;
            let message = text(&event, "/message");
            ensure!(
                message.contains("the grant of plugin misfit does not allow get")
                    && message.contains("racks.example.com"),
                "{message}"
            );
            ensure!(event["count"] == 1, "it is tried again: {event}");
            ensure!(world.cluster.get(&path(&world, "merged-child")).await?.is_none(), "it was merged all the same");
            // Granted, it is.
            world.plugins.grant("misfit", &definitions(ordinary()))?;
            eventually(SOON, "what was merged", || async {
                world.cluster.get(&path(&world, "merged-child")).await?.context("no child")
            })
            .await
            .map(drop)
        },
    )
    .await
}
