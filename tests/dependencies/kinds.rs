//! Reads of a kind whose definition goes and comes back.

use super::{config_maps, grant, key, options};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{SOON, World, eventually, misfit_with, text, with_world};
use serde_json::{Value, json};
use std::sync::Arc;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn definition() -> Value {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.oarlock.test"},
        "spec": {"group": "oarlock.test", "scope": "Namespaced", "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}})
}

fn gadgets(world: &World) -> String {
    format!("/apis/oarlock.test/v1/namespaces/{}/gadgets", world.namespace)
}

/// Makes the definition, and a gadget as soon as the server takes one.
async fn make(world: &World, name: &str, size: u32) -> Result<()> {
    let gadget =
        json!({"apiVersion": "oarlock.test/v1", "kind": "Gadget", "metadata": {"name": name}, "spec": {"size": size}});
    eventually(SOON, "the kind", || async {
        // The API server deletes a definition after the objects of its kind.
        if world.cluster.get(&format!("{DEFINITIONS}/gadgets.oarlock.test")).await?.is_none() {
            world.cluster.create(DEFINITIONS, &definition()).await?;
        }
        world.cluster.create(&gadgets(world), &gadget).await.map(drop)
    })
    .await
}

/// Waits until the child of the key shows this size of its gadget.
async fn shows(world: &World, name: &str, size: &str) -> Result<()> {
    eventually(SOON, &format!("{name} to see {size}"), || async {
        let child = world.cluster.get(&format!("{}/{name}-child", config_maps(world))).await?.context("no child")?;
        ensure!(text(&child, "/data/seen") == size, "{child}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kind_that_goes_and_comes_back_wakes_its_readers() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let manifest = misfit_with("1", "gadget", |manifest| {
            if let Some(watches) = manifest.pointer_mut("/watches").and_then(Value::as_array_mut) {
                watches.push(json!({"group": "oarlock.test", "version": "v1", "kind": "Gadget"}));
            }
        })?;
        let grant = grant().rule("oarlock.test", &["gadgets"], &["get", "list", "watch"]);
        world.plugins.grant("readers", &grant.name("readers"))?;
        world.plugins.place("readers.wasm", &manifest)?;
        make(&world, "g", 1).await?;
        world.start_host().await?;
        for (name, gadget) in [("present", "g"), ("absent", "late")] {
            key(&world, name, "misfit=true", "gadget", gadget).await?;
        }
        shows(&world, "present", "1").await?;
        shows(&world, "absent", "none").await?;
        for size in [2_u32, 4] {
            world.cluster.delete(&format!("{DEFINITIONS}/gadgets.oarlock.test")).await?;
            world
                .logged("that the kind is gone", |line| line.text.contains("waiting for the kind to be served"))
                .await?;
            let parked = "the plugin waits for oarlock.test/v1, Kind=Gadget: ";
            crate::explain::held_up(&world, "readers", "present", parked).await?;
            // A read of a kind that is not served fails, and its key waits for it.
            key(&world, &format!("meanwhile{size}"), "misfit=true", "gadget", "g").await?;
            make(&world, "g", size).await?;
            make(&world, "late", size + 1).await?;
            shows(&world, "present", &size.to_string()).await?;
            shows(&world, "absent", &(size + 1).to_string()).await?;
            shows(&world, &format!("meanwhile{size}"), &size.to_string()).await?;
        }
        Ok(())
    })
    .await
}
