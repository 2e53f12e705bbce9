//! Pods as large as an API server takes, and larger, through the sandbox.

use super::{open_door, path_of, pod, with_home};
use crate::admission::{allowed, door, patch, review};
use anyhow::{Result, ensure};
use oarlock_tests::{
    harness::{World, text},
    story::add_envoy_injector,
};
use serde_json::{Value, json};
use std::{fs, sync::Arc};

/// Of each value of the environment.
const VALUE_BYTES: usize = 10_000;

/// A Pod of about this size that asks for Envoy.
fn large(name: &str, bytes: usize) -> Value {
    let mut pod = pod(name, "true");
    let variable = |number| json!({"name": format!("V{number}"), "value": "x".repeat(VALUE_BYTES)});
    if let Some(container) = pod.pointer_mut("/spec/containers/0").and_then(Value::as_object_mut) {
        container.insert("env".to_owned(), (0..bytes / VALUE_BYTES).map(variable).collect());
    }
    pod
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a7_a_pod_of_a_megabyte_is_injected_and_one_that_is_too_large_for_the_sandbox_is_refused_by_name() -> Result<()>
{
    with_home(async |world: Arc<World>| {
        add_envoy_injector(&world, &[])?;
        // The subject is the size of a Pod, not the time that a busy machine takes for it.
        let mut grant: Value = serde_json::from_slice(&fs::read(world.plugins.path().join("envoy-injector.yaml"))?)?;
        grant["limits"]["deadlineSeconds"] = json!(30);
        world.plugins.file("envoy-injector.yaml", grant.to_string().as_bytes())?;
        open_door(&world).await?;
        // Through the API server.
        let asked = large("large", 1 << 20);
        let stored = world.cluster.create(&path_of(&world.namespace, "pods", ""), &asked).await?;
        let images = |pod: &Value| -> Vec<String> {
            pod["spec"]["containers"].as_array().into_iter().flatten().map(|one| text(one, "/image")).collect()
        };
        ensure!(images(&stored) == ["web:1", "envoy:1"], "{:?}", images(&stored));
        ensure!(
            stored["spec"]["containers"][0]["env"] == asked["spec"]["containers"][0]["env"],
            "its own part was changed"
        );
        // As a review.
        let door = door(&world).await?;
        let ask = async |pod: &Value| {
            let mut asked = review(pod);
            asked["request"]["namespace"] = json!(world.namespace);
            door.ask("/mutate/envoy-injector/0?timeout=30s", &asked).await
        };
        for megabytes in [1, 3] {
            let response = ask(&large("direct", megabytes << 20)).await?;
            ensure!(allowed(&response), "{megabytes} MiB: {}", text(&response, "/status/message"));
            let operations = patch(&response)?;
            let spelt = operations.to_string();
            ensure!(spelt.contains("envoy:1") && spelt.contains("envoy-redirect"), "{megabytes} MiB: not injected");
            ensure!(spelt.len() < VALUE_BYTES, "{megabytes} MiB: more than what is injected: {} bytes", spelt.len());
        }
        let response = ask(&large("huge", 15 << 20)).await?;
        let message = text(&response, "/status/message");
        ensure!(!allowed(&response), "15 MiB were injected with 64 MiB of memory");
        ensure!(
            message.starts_with("plugin envoy-injector (version ") && message.contains("more than its 64 MiB"),
            "{message}"
        );
        let stored = world.cluster.create(&path_of(&world.namespace, "pods", ""), &pod("small", "true")).await?;
        ensure!(images(&stored) == ["web:1", "envoy:1"], "the plugin goes on");
        Ok(())
    })
    .await
}
