//! InitializerConfigurations switch plugins on and off.

use super::{Door, allowed, config_map, configuration, door, gatekeeper, options, patch, review};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{Grant, SOON, World, eventually, repository_root, text, with_world};
use serde_json::{Value, json};
use std::sync::Arc;

const PATH: &str = "/apis/oarlock.dev/v1alpha1/initializerconfigurations";

fn initializers(name: &str, initializers: &[&str]) -> Value {
    let rules = json!([{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]);
    let all: Vec<Value> =
        initializers.iter().map(|name| json!({"name": name, "plugin": "gatekeeper", "rules": rules})).collect();
    json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "InitializerConfiguration", "metadata": {"name": name}, "initializers": all})
}

/// A host whose plugin is asked only as an initializer, with one configuration.
async fn initialized(world: &World, names: &[&str]) -> Result<Door> {
    world.cluster.apply_crd(&repository_root().join("deploy/initializerconfigurations.yaml")).await?;
    let grant = Grant::nothing()
        .rule("", &["configmaps"], &["get", "list", "watch"])
        .admission_with(|granted| granted.only_as_initializer = true);
    world.plugins.grant("gatekeeper", &grant)?;
    world.plugins.place("gatekeeper.wasm", &gatekeeper("yes")?)?;
    world.start_host_with(&["--admission-addr", "127.0.0.1:0"]).await?;
    world.cluster.create(PATH, &initializers("first", names)).await?;
    door(world).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn applying_one_switches_a_plugin_on_and_deleting_it_off() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let door = initialized(&world, &["gate.example.com"]).await?;
        let config = configuration(&world, "mutating").await?;
        ensure!(config["webhooks"].as_array().map(Vec::len) == Some(1), "{config}");
        ensure!(config["webhooks"][0]["rules"][0]["resources"] == json!(["configmaps"]), "{config}");
        let response = door.ask("/initialize", &review(&config_map("label"))).await?;
        let labels = json!([{"op": "add", "path": "/metadata/labels", "value": {"gate": "yes"}}]);
        ensure!(allowed(&response) && patch(&response)? == labels, "no trace of initializers: {response}");
        // What it is not about is left alone.
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "n"}});
        let response = door.ask("/initialize", &review(&secret)).await?;
        ensure!(allowed(&response) && response.get("patch").is_none(), "{response}");
        world.cluster.delete(&format!("{PATH}/first")).await?;
        eventually(SOON, "the webhook to go", || async {
            ensure!(configuration(&world, "mutating").await.is_err(), "it is there");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_run_in_order_and_each_must_take_its_own_name_off() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let door = initialized(&world, &["a.example.com", "b.example.com"]).await?;
        let response = door.ask("/initialize", &review(&config_map("label"))).await?;
        ensure!(allowed(&response), "{response}");
        ensure!(
            patch(&response)?.to_string().contains("gate") && !patch(&response)?.to_string().contains("initializers"),
            "{response}"
        );
        let response = door.ask("/initialize", &review(&config_map("pass"))).await?;
        let message = text(&response, "/status/message");
        ensure!(
            !allowed(&response) && message.contains("initializer a.example.com") && message.contains("left it pending"),
            "{message}"
        );
        // A plugin that is not there cannot be passed by.
        let mut nobody = initializers("zero", &["z.example.com"]);
        nobody["initializers"][0]["plugin"] = json!("nobody");
        world.cluster.create(PATH, &nobody).await?;
        eventually(SOON, "the third to count", || async {
            let response = door.ask("/initialize", &review(&config_map("label"))).await?;
            let message = text(&response, "/status/message");
            ensure!(
                !allowed(&response) && message.contains("initializer z.example.com: there is no plugin nobody"),
                "{response}"
            );
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_needs_two_dots() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.cluster.apply_crd(&repository_root().join("deploy/initializerconfigurations.yaml")).await?;
        for bad in ["envoy", "envoy.example", "Envoy.example.com", "envoy..com", ""] {
            let error = world.cluster.create(PATH, &initializers("bad", &[bad])).await.err().context("it was taken")?;
            ensure!(format!("{error:#}").contains("initializers[0].name"), "{bad}: {error:#}");
        }
        Ok(())
    })
    .await
}
