//! InitializerConfigurations switch plugins on and off.

use super::{Door, allowed, config_map, configuration, door, gatekeeper, options, patch, review};
use anyhow::{Context, Result, ensure};
use http::Method;
use oarlock_tests::harness::{Action, Grant, Rule, SOON, World, eventually, repository_root, steady, text, with_world};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

const PATH: &str = "/apis/oarlock.dev/v1alpha1/initializerconfigurations";

fn initializers(name: &str, initializers: &[&str]) -> Value {
    let rules = json!([{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]);
    let all: Vec<Value> =
        initializers.iter().map(|name| json!({"name": name, "plugin": "gatekeeper", "rules": rules})).collect();
    json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "InitializerConfiguration", "metadata": {"name": name}, "initializers": all})
}

/// A host whose plugin is asked only as an initializer, with one configuration.
async fn initialized(world: &World, names: &[&str]) -> Result<Door> {
    initialized_by(world, names, &["--admission-addr", "127.0.0.1:0"]).await
}

/// The same with a host that is started like this.
async fn initialized_by(world: &World, names: &[&str], args: &[&str]) -> Result<Door> {
    world.cluster.apply_crd(&repository_root().join("deploy/crds/initializerconfigurations.yaml")).await?;
    let grant = Grant::nothing()
        .rule("", &["configmaps"], &["get", "list", "watch"])
        .admission_with(|granted| granted.only_as_initializer = true);
    world.plugins.grant("gatekeeper", &grant)?;
    world.plugins.place("gatekeeper.wasm", &gatekeeper("yes")?)?;
    world.start_host_with(args).await?;
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

/// Read back from the API server: it calls the host as it calls every webhook.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_selects_an_initializer_and_has_a_record_of_it() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let door = initialized(&world, &["gate.example.com"]).await?;
        let change = json!({"record": true, "initializers": [{"name": "gate.example.com", "plugin": "gatekeeper", "selection": "OptIn",
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]}]});
        world.cluster.merge_patch(&format!("{PATH}/first"), &change).await?;
        let asked = |annotations: &Value| {
            let mut object = config_map("label");
            object["metadata"]["annotations"] = annotations.clone();
            review(&object)
        };
        eventually(SOON, "the selection to count", || async {
            let response = door.ask("/initialize", &asked(&json!({}))).await?;
            ensure!(allowed(&response) && response.get("patch").is_none(), "{response}");
            Ok(())
        })
        .await?;
        // A record that an object comes with is none of the host's.
        let forged = json!({"oarlock.dev/initializers": "gate.example.com, typo.example.com", "oarlock.dev/initialized": "[]"});
        let response = door.ask("/initialize", &asked(&forged)).await?;
        ensure!(allowed(&response), "{response}");
        let warnings = response["warnings"].to_string();
        ensure!(warnings.contains("no InitializerConfiguration has an initializer typo.example.com"), "{warnings}");
        let patch = patch(&response)?;
        let operations = patch.as_array().context("no patch")?;
        let record = operations.iter().find(|one| text(one, "/path").ends_with("oarlock.dev~1initialized"));
        let record: Value = serde_json::from_str(&text(record.context("no record")?, "/value"))?;
        let one = &record[0];
        ensure!(record.as_array().map(Vec::len) == Some(1), "{record}");
        ensure!(text(one, "/name") == "gate.example.com" && text(one, "/plugin") == "gatekeeper", "{record}");
        ensure!(text(one, "/digest").len() == 64 && text(one, "/result") == "Initialized", "{record}");
        ensure!(!patch.to_string().contains("pending"), "{patch}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_needs_two_dots() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.cluster.apply_crd(&repository_root().join("deploy/crds/initializerconfigurations.yaml")).await?;
        for bad in ["envoy", "envoy.example", "Envoy.example.com", "envoy..com", ""] {
            let error = world.cluster.create(PATH, &initializers("bad", &[bad])).await.err().context("it was taken")?;
            ensure!(format!("{error:#}").contains("initializers[0].name"), "{bad}: {error:#}");
        }
        Ok(())
    })
    .await
}

/// Waits for an event about the configuration `first`, which has no namespace: its events are in `default`.
async fn told(world: &World, reason: &str, part: &str) -> Result<()> {
    eventually(SOON, &format!("an event {reason}: {part}"), || async {
        let events = world.cluster.list("/api/v1/namespaces/default/events").await?;
        let about = events.iter().filter(|event| {
            text(event, "/involvedObject/name") == "first"
                && text(event, "/involvedObject/kind") == "InitializerConfiguration"
        });
        let said: Vec<_> = about.map(|event| (text(event, "/reason"), text(event, "/message"))).collect();
        ensure!(said.iter().any(|(its, message)| its == reason && message.contains(part)), "{said:?}");
        Ok(())
    })
    .await
}

async fn unanswered(world: &World) -> Result<f64> {
    world.host(async |host| host.metric("oarlock_initializers_unanswered", &["\"first\""]).await).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_nobody_answers_to_is_told_and_counted_and_works_once_its_plugin_comes() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.cluster.apply_crd(&repository_root().join("deploy/crds/initializerconfigurations.yaml")).await?;
        // Another one waits for its kind, for ever.
        world.plugins.add("network", "network", &world.network_grant()?)?;
        world.start_host_with(&["--admission-addr", "127.0.0.1:0"]).await?;
        world.cluster.create(PATH, &initializers("first", &["gate.example.com"])).await?;
        told(&world, "InitializerUnanswered", "initializer gate.example.com: no plugin gatekeeper runs on this host")
            .await?;
        ensure!(unanswered(&world).await? == 1.0, "it is not counted");
        let create = async |name: &str| {
            let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
            world.cluster.create(&format!("/api/v1/namespaces/{}/configmaps", world.namespace), &object).await
        };
        let refused = create("early").await.err().context("it was taken")?;
        ensure!(format!("{refused:#}").contains("there is no plugin gatekeeper"), "{refused:#}");
        // It comes, but may not answer.
        let reads = Grant::nothing().rule("", &["configmaps"], &["get", "list", "watch"]);
        world.plugins.grant("gatekeeper", &reads.clone().partial())?;
        world.plugins.place("gatekeeper.wasm", &gatekeeper("yes")?)?;
        told(&world, "InitializerUnanswered", "plugin gatekeeper is not granted to answer the creation of configmaps")
            .await?;
        ensure!(unanswered(&world).await? == 1.0, "it is not counted");
        world.plugins.grant("gatekeeper", &reads.admission_with(|granted| granted.only_as_initializer = true))?;
        told(&world, "InitializerAnswered", "initializer gate.example.com: plugin gatekeeper answers").await?;
        ensure!(unanswered(&world).await? == 0.0, "it is still counted");
        let made = create("late").await?;
        ensure!(text(&made, "/metadata/labels/gate") == "yes", "{made}");
        world.cluster.delete(&format!("{PATH}/first")).await?;
        eventually(SOON, "its series to go", || async {
            let all = world.host(async |host| Ok(host.admin().get("/metrics").await?.text())).await?;
            ensure!(!all.contains("configuration=\"first\""), "it is there");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_starts_again_switches_none_off_before_it_has_read_them() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        // Where it was, and with the certificate it had: the API server goes on asking.
        let folder = world.folder().join("certificates");
        std::fs::create_dir(&folder)?;
        super::certificates::write(&folder, "ca")?;
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let (at, folder) = (format!("127.0.0.1:{port}"), folder.display().to_string());
        let args = ["--admission-addr", at.as_str(), "--admission-cert-dir", folder.as_str()];
        initialized_by(&world, &["gate.example.com"], &args).await?;
        world.stop_host(SOON).await?;
        let go = CancellationToken::new();
        let held = Rule::every(Action::Until(go.clone())).methods(&[Method::GET]).path("initializerconfigurations");
        let rule = world.kubernetes_gate.rule(held);
        world.start_host_with(&args).await?;
        eventually(SOON, "the plugin to run", || async {
            let plugin = world.host(async |host| host.plugin("gatekeeper").await).await?;
            ensure!(text(&plugin, "/state") == "active", "{plugin}");
            Ok(())
        })
        .await?;
        steady(Duration::from_secs(2), "the webhook", || async {
            let config = configuration(&world, "mutating").await?;
            ensure!(text(&config, "/webhooks/0/name") == "initializers.oarlock.dev", "{config}");
            Ok(())
        })
        .await?;
        // The host answers it within the webhook's time: it is held back for a part of that only.
        let creating = tokio::spawn({
            let world = Arc::clone(&world);
            async move {
                let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "early"}});
                world.cluster.create(&format!("/api/v1/namespaces/{}/configmaps", world.namespace), &object).await
            }
        });
        steady(Duration::from_millis(500), "the webhook, with a review that waits", || async {
            let config = configuration(&world, "mutating").await?;
            ensure!(text(&config, "/webhooks/0/name") == "initializers.oarlock.dev", "{config}");
            ensure!(!creating.is_finished(), "the object was answered for before they were read");
            Ok(())
        })
        .await?;
        ensure!(rule.hits() > 0, "they were not asked for");
        go.cancel();
        let made = creating.await??;
        ensure!(text(&made, "/metadata/labels/gate") == "yes", "{made}");
        Ok(())
    })
    .await
}
