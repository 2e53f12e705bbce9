//! Reviews that no API server sent: they count for nothing, and change nothing in the cluster.

use super::{Door, allowed, bundle, config_map, door, gatekeeper, grant, open, options, patch, review};
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::Method;
use oarlock_tests::harness::{HttpClient, Identity, SOON, World, api_code, eventually, steady, text, with_world};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// Longer than it takes a host to act on a strike.
const WHILE: Duration = Duration::from_secs(1);

/// Starts a host that admits this identity alone, and waits until the gatekeeper answers it.
async fn authenticated(world: &World, identity: &Identity) -> Result<Door> {
    let ca = identity.ca().display().to_string();
    world.start_host_with(&["--admission-addr", "127.0.0.1:0", "--admission-client-ca", &ca]).await?;
    // A host before left a configuration with its own address and CA.
    eventually(SOON, "an answer", || async {
        let (base, ca) = (door(world).await?.client.base().to_owned(), bundle(world).await?);
        let door = Door { client: HttpClient::with_identity(&base, ca.as_bytes(), identity)? };
        door.gate("label").await?;
        Ok(door)
    })
    .await
}

/// Puts the gatekeeper in, and opens the door to an API server.
pub(super) async fn open_authenticated(world: &World) -> Result<Door> {
    world.plugins.grant("gatekeeper", &grant())?;
    world.plugins.place("gatekeeper.wasm", &gatekeeper("yes")?)?;
    authenticated(world, &identity(world, "kube-apiserver")?).await
}

fn identity(world: &World, name: &str) -> Result<Identity> {
    Identity::write(&world.folder().join(format!("identity-{name}")), name)
}

/// Puts a version in and waits until it answers, on probation.
async fn swap(world: &World, door: &Door, version: &str) -> Result<()> {
    world.plugins.place("gatekeeper.wasm", &gatekeeper(version)?)?;
    eventually(SOON, version, || async {
        let response = door.gate("label").await?;
        ensure!(patch(&response)?.pointer("/0/value/gate").and_then(Value::as_str) == Some(version), "{response}");
        Ok(())
    })
    .await
}

async fn entry(world: &World) -> Result<Value> {
    world.host(async |host| host.plugin("gatekeeper").await).await
}

/// A review that makes the guest fail.
async fn strike(door: &Door) -> Result<()> {
    let response = door.gate("trap").await?;
    ensure!(!allowed(&response) && text(&response, "/status/message").contains("trapped"), "{response}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t4_a_forged_reviews_do_not_take_a_new_version_back() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let anybody = open(&world, &grant()).await?;
        anybody.gate("label").await?;
        swap(&world, &anybody, "two").await?;
        for _ in 0..3 {
            strike(&anybody).await?;
        }
        steady(WHILE, "the new version", || async {
            let entry = entry(&world).await?;
            ensure!(text(&entry, "/version") == "two" && entry.get("next").is_none(), "{entry}");
            Ok(())
        })
        .await?;
        // The same from an API server takes a version back.
        world.stop_host(SOON).await?;
        let server = authenticated(&world, &identity(&world, "kube-apiserver")?).await?;
        swap(&world, &server, "three").await?;
        strike(&server).await?;
        eventually(SOON, "the version before", || async {
            let entry = entry(&world).await?;
            ensure!(text(&entry, "/version") == "two" && text(&entry, "/next/state") == "failed", "{entry}");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t4_b_forged_reviews_do_not_quarantine_a_plugin() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let anybody = open(&world, &grant()).await?;
        for _ in 0..25 {
            strike(&anybody).await?;
        }
        steady(WHILE, "the plugin", || async {
            let entry = entry(&world).await?;
            ensure!(text(&entry, "/state") == "active", "{entry}");
            Ok(())
        })
        .await?;
        world.stop_host(SOON).await?;
        let server = authenticated(&world, &identity(&world, "kube-apiserver")?).await?;
        // A strike of another object each time, and no version to go back to.
        eventually(SOON, "quarantine", || async {
            strike(&server).await?;
            let entry = entry(&world).await?;
            ensure!(text(&entry, "/state") == "quarantined", "{entry}");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t4_c_a_forged_name_reaches_no_path_of_the_api_server() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        // Nor has an API server, or somebody with its key, a path to choose.
        let server = open_authenticated(&world).await?;
        let proxy = "kube-system/services/metrics:80/proxy/admin/delete?all=true&x=";
        for (pointer, value) in [
            ("/request/namespace", proxy),
            ("/request/namespace", "../../../.."),
            ("/request/name", proxy),
            ("/request/name", ".."),
            ("/request/object/metadata/uid", proxy),
            ("/request/object/metadata/name", proxy),
            ("/request/kind/version", "v1/namespaces/kube-system"),
            ("/request/resource/resource", "services/metrics:80/proxy"),
            ("/request/operation", "PROXY"),
            ("/request/uid", "a\nb"),
        ] {
            let mut object = config_map("warn");
            object["metadata"]["uid"] = json!("u-1");
            let mut forged = review(&object);
            *forged.pointer_mut(pointer).context(pointer)? = json!(value);
            let headers = [("content-type", "application/json")];
            let body = Bytes::from(forged.to_string());
            let answer = server.client.send(Method::POST, "/mutate/gatekeeper/0", &headers, body).await?;
            let field = pointer.trim_start_matches('/').replace('/', ".");
            ensure!(
                answer.status == 400 && answer.text().contains(&field),
                "{pointer}: {} {}",
                answer.status,
                answer.text()
            );
        }
        for exchange in world.kubernetes_gate.journal() {
            ensure!(!exchange.path.contains("metrics:80") && !exchange.path.contains(".."), "{exchange}");
        }
        Ok(())
    })
    .await
}

/// How many events the guest's warnings made in the world's namespace.
async fn events(world: &World) -> Result<usize> {
    let events = world.cluster.list(&format!("/api/v1/namespaces/{}/events", world.namespace)).await?;
    Ok(events.iter().filter(|event| text(event, "/reason") == "Seen").count())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t4_d_forged_reviews_write_no_events() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let mut object = config_map("warn");
        object["metadata"]["uid"] = json!("3f0f2d1c-0000-4000-8000-000000000001");
        object["metadata"]["namespace"] = json!(world.namespace);
        let mut asked = review(&object);
        asked["request"]["namespace"] = json!(world.namespace);
        let anybody = open(&world, &grant()).await?;
        let response = anybody.ask("/mutate/gatekeeper/0", &asked).await?;
        ensure!(allowed(&response) && response["warnings"] == json!(["careful"]), "{response}");
        // The events of one host are written in turn: a second one would come before this is over.
        steady(WHILE, "no event", || async {
            let count = events(&world).await?;
            ensure!(count == 0, "{count}");
            Ok(())
        })
        .await?;
        world.stop_host(SOON).await?;
        let server = authenticated(&world, &identity(&world, "kube-apiserver")?).await?;
        server.ask("/mutate/gatekeeper/0", &asked).await?;
        eventually(SOON, "the event", || async {
            ensure!(events(&world).await? == 1, "none");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t4_the_admission_port_admits_the_clients_of_its_ca_and_of_its_names_alone() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.plugins.grant("gatekeeper", &grant())?;
        world.plugins.place("gatekeeper.wasm", &gatekeeper("yes")?)?;
        let (first, second) = (identity(&world, "front"), identity(&world, "second"));
        let (first, second) = (first?, second?);
        let file = world.folder().join("client-ca.crt");
        std::fs::copy(first.ca(), &file)?;
        let file_text = file.display().to_string();
        let args = ["--admission-addr", "127.0.0.1:0", "--admission-client-ca", &file_text];
        world
            .start_host_with(
                &[&args[..], &["--admission-client-name", "front", "--admission-client-name", "other"]].concat(),
            )
            .await?;
        let anybody = door(&world).await?;
        let ca = bundle(&world).await?;
        let of = |identity: &Identity| {
            Ok::<_, anyhow::Error>(Door {
                client: HttpClient::with_identity(anybody.client.base(), ca.as_bytes(), identity)?,
            })
        };
        let (front, stranger) = (of(&first)?, of(&second)?);
        eventually(SOON, "an answer", || front.gate("label")).await?;
        ensure!(anybody.gate("label").await.is_err(), "no certificate was needed");
        ensure!(stranger.gate("label").await.is_err(), "a certificate of another CA was taken");
        // Another CA counts within a second or so, also for connections that are open.
        std::fs::write(&file, "nonsense")?;
        eventually(SOON, "a line about it", || async {
            let lines =
                world.log(|line| line.text.contains("cannot read the client CA of the admission server")).await?;
            ensure!(!lines.is_empty(), "nothing");
            Ok(())
        })
        .await?;
        ensure!(allowed(&front.gate("label").await?), "a file that is none counts");
        std::fs::copy(second.ca(), &file)?;
        eventually(SOON, "the first CA to count no more", || async {
            let answer = front.gate("label").await;
            ensure!(answer.is_err(), "it counts");
            Ok(())
        })
        .await?;
        // Of the right CA, though of the wrong name.
        let headers = [("content-type", "application/json")];
        let body = Bytes::from(review(&config_map("label")).to_string());
        let answer = stranger.client.send(Method::POST, "/mutate/gatekeeper/0", &headers, body).await?;
        ensure!(
            answer.status == 403 && answer.text().contains("--admission-client-name"),
            "{} {}",
            answer.status,
            answer.text()
        );
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t4_an_api_server_with_an_admission_configuration_is_admitted() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        if world.cluster.is_external() {
            // Which certificate it shows is not for a test to say: `real_faults::clients::t4_*` starts one of its own.
            return Ok(());
        }
        world.plugins.grant("gatekeeper", &grant())?;
        world.plugins.place("gatekeeper.wasm", &gatekeeper("yes")?)?;
        let ca = world.folder().join("webhook-client/ca.crt").display().to_string();
        let args = ["--admission-addr", "127.0.0.1:0", "--admission-client-ca", &ca];
        world.start_host_with(&[&args[..], &["--admission-client-name", "kube-apiserver"]].concat()).await?;
        door(&world).await?;
        let path = format!("/api/v1/namespaces/{}/configmaps", world.namespace);
        let object = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        let one = object("one");
        let made = eventually(SOON, "an object to pass", || world.cluster.create(&path, &one)).await?;
        ensure!(text(&made, "/metadata/labels/gate") == "yes", "{made}");
        let warn = json!({"metadata": {"annotations": {"gate": "warn"}, "labels": {"gate": null}}});
        world.cluster.merge_patch(&format!("{path}/one"), &warn).await?;
        eventually(SOON, "the event", || async {
            ensure!(events(&world).await? == 1, "none");
            Ok(())
        })
        .await?;
        // One that admits others refuses this API server, and the failure policy decides.
        world.stop_host(SOON).await?;
        let other = identity(&world, "other")?.ca().display().to_string();
        world.start_host_with(&["--admission-addr", "127.0.0.1:0", "--admission-client-ca", &other]).await?;
        eventually(SOON, "the API server to be refused there", || async {
            let base = door(&world).await?.client.base().to_owned();
            let refused = world.cluster.create(&path, &object("two")).await.err().context("it passed")?;
            ensure!(api_code(&refused) == Some(500) && format!("{refused:#}").contains(&base), "{refused:#}");
            Ok(())
        })
        .await
    })
    .await
}
