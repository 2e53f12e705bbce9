//! Whatever a client or a plugin does: the right code or a refusal with its reason, and the host goes on.

use super::{allowed, config_map, grant, open, options, review};
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::Method;
use oarlock_tests::harness::{World, text, with_world};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a11_a_plugin_that_misbehaves_is_named_and_hurts_nobody() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let door = open(&world, &grant()).await?;
        for (mode, part) in [
            ("transient", "the world is away"),
            ("trap", "the plugin trapped in get-desired"),
            ("grow", "needs more than its 64 MiB"),
            (
                "other",
                "the change to patch ConfigMap n/another: at admission only the object under review can be patched",
            ),
            ("create", "the change to create ConfigMap n/x: at admission"),
            ("delete", "the change to delete ConfigMap n/one: at admission"),
            ("rename", "changes /metadata/name, which cannot be changed"),
            ("nowhere", "does not fit the object under review"),
            ("half", "does not lead to what it desires"),
        ] {
            let response = door.gate(mode).await.context(mode)?;
            let message = text(&response, "/status/message");
            ensure!(!allowed(&response) && response["status"]["code"] == 500, "{mode}: {response}");
            ensure!(
                message.starts_with("plugin gatekeeper (version yes): ") && message.contains(part),
                "{mode}: {message}"
            );
        }
        ensure!(allowed(&door.gate("label").await?), "the host goes on");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a8_the_answer_comes_before_the_api_servers_deadline() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let door = open(&world, &grant()).await?;
        let asked = review(&config_map("loop"));
        let ask = door.ask("/mutate/gatekeeper/0?timeout=1s", &asked);
        let response = tokio::time::timeout(Duration::from_secs(10), ask).await.context("no answer")??;
        let message = text(&response, "/status/message");
        ensure!(
            !allowed(&response) && message.contains("plugin gatekeeper") && message.contains("too slow"),
            "{response}"
        );
        ensure!(allowed(&door.gate("label").await?), "the host goes on");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a11_what_is_no_review_gets_its_code_and_a_sentence() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let door = open(&world, &grant()).await?;
        let good = review(&config_map("label"));
        let mut old = good.clone();
        old["apiVersion"] = json!("admission.k8s.io/v1beta1");
        let json = "application/json";
        let whole = good.to_string();
        let path = "/mutate/gatekeeper/0";
        for (method, path, content_type, body, status, part) in [
            (Method::POST, path, json, String::new(), 400, "empty"),
            (Method::POST, path, json, whole[..whole.len() / 2].to_owned(), 400, "not JSON"),
            (Method::POST, path, json, "<xml/>".to_owned(), 400, "not JSON"),
            (Method::POST, path, json, old.to_string(), 400, "found admission.k8s.io/v1beta1"),
            (Method::POST, path, "text/plain", whole.clone(), 415, "application/json"),
            (Method::GET, path, json, String::new(), 405, "POST"),
            (Method::POST, "/mutate/nobody/0", json, whole.clone(), 404, "no plugin nobody"),
            (Method::POST, "/elsewhere", json, whole.clone(), 404, "no such webhook"),
            (Method::POST, path, json, format!("{{\"x\": \"{}\"}}", "y".repeat(17 << 20)), 413, "larger than 16 MiB"),
        ] {
            let headers = [("content-type", content_type)];
            let answer = door.client.send(method.clone(), path, &headers, Bytes::from(body)).await?;
            ensure!(
                answer.status.as_u16() == status && answer.text().contains(part),
                "{method} {path} {status}: {} {}",
                answer.status,
                answer.text()
            );
        }
        // Unknown fields are of tomorrow; a uid that comes again is asked again.
        let mut new = good.clone();
        new["request"]["fieldOfTomorrow"] = json!({"a": [1]});
        for asked in [&good, &good, &new] {
            ensure!(allowed(&door.ask(path, asked).await?), "a good one");
        }
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a6_a_dry_run_leaves_no_trace() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let door = super::forged::open_authenticated(&world).await?;
        let mut object = config_map("warn");
        object["metadata"]["uid"] = json!("3f0f2d1c-0000-4000-8000-000000000001");
        object["metadata"]["namespace"] = json!(world.namespace);
        let mut asked = review(&object);
        asked["request"]["namespace"] = json!(world.namespace);
        let events = || async {
            let events = world.cluster.list(&format!("/api/v1/namespaces/{}/events", world.namespace)).await?;
            Ok::<_, anyhow::Error>(events.iter().filter(|event| text(event, "/reason") == "Seen").count())
        };
        asked["request"]["dryRun"] = json!(true);
        ensure!(allowed(&door.ask("/mutate/gatekeeper/0", &asked).await?), "dry");
        asked["request"]["dryRun"] = json!(false);
        ensure!(allowed(&door.ask("/mutate/gatekeeper/0", &asked).await?), "wet");
        oarlock_tests::harness::eventually(oarlock_tests::harness::SOON, "the event of the second", || async {
            ensure!(events().await? > 0, "none");
            Ok(())
        })
        .await?;
        let all = world.cluster.list(&format!("/api/v1/namespaces/{}/events", world.namespace)).await?;
        let counts: Vec<&Value> =
            all.iter().filter(|event| text(event, "/reason") == "Seen").map(|event| &event["count"]).collect();
        ensure!(counts == [&json!(1)], "{all:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_api_server_refuses_after_a_change_is_the_users_to_know_and_the_host_goes_on() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let door = open(&world, &grant()).await?;
        let mut object = config_map("unfit");
        object["metadata"]["namespace"] = json!(world.namespace);
        let path = format!("/api/v1/namespaces/{}/configmaps", world.namespace);
        let refused = world.cluster.create(&path, &object).await.err().context("it was taken")?;
        ensure!(format!("{refused:#}").contains("metadata.labels"), "{refused:#}");
        ensure!(allowed(&door.gate("label").await?), "the host goes on");
        Ok(())
    })
    .await
}
