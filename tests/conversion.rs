//! Plugins convert custom resources between the versions of their definition, as the API server's conversion webhook.

mod brought;
mod faults;
mod languages;
mod removal;

use anyhow::{Context, Result, ensure};
use futures::TryStreamExt as _;
use http::Method;
use oarlock_tests::harness::{
    Grant, SOON, World, WorldOptions, built_plugin, eventually, repository_root, text, with_another_digest, with_world,
};
use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::time::timeout;

const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gauges.convert.example.com";

fn options() -> WorldOptions {
    WorldOptions { host: false, network: false, crd: false, ..WorldOptions::default() }
}

fn grant() -> Grant {
    let (group, verbs) = ("convert.example.com", ["get", "list", "watch", "patch"]);
    Grant::nothing()
        .rule(group, &["gauges", "gauges/status"], &verbs)
        .manage_status()
        .conversion("gauges.convert.example.com")
}

/// The path of all Gauges of the test, or of one, in a version.
fn path(world: &World, version: &str, name: &str) -> String {
    let all = format!("/apis/convert.example.com/{version}/namespaces/{}/gauges", world.namespace);
    if name.is_empty() { all } else { format!("{all}/{name}") }
}

fn gauge(version: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": format!("convert.example.com/{version}"), "kind": "Gauge", "metadata": {"name": name}, "spec": spec})
}

async fn create(world: &World, version: &str, name: &str, spec: &Value) -> Result<Value> {
    world.cluster.create(&path(world, version, ""), &gauge(version, name, spec)).await
}

async fn read(world: &World, version: &str, name: &str) -> Result<Value> {
    world.cluster.get(&path(world, version, name)).await?.with_context(|| format!("no {name}"))
}

/// Puts the plugin in with the definition, starts the host, and waits until it is the definition's webhook.
async fn started(world: &World) -> Result<()> {
    started_with(world, &built_plugin("converter")?, &grant(), SOON).await
}

/// The same with another file as the plugin `converter`.
///
/// * `patience` - how long its compilation may take.
async fn started_with(world: &World, file: &Path, grant: &Grant, patience: Duration) -> Result<()> {
    world.cluster.apply_crd(&repository_root().join("tests/fixtures/gauges.yaml")).await?;
    world.plugins.grant("converter", grant)?;
    world.plugins.place("converter.wasm", &fs::read(file)?)?;
    world.start_host_answering(&[]).await?;
    strategy_within(world, "Webhook", patience).await?;
    // An API server takes a moment until it serves a changed definition. Until then it loses what v2 lacks.
    let attempts = std::sync::atomic::AtomicUsize::new(0);
    eventually(SOON, "conversions", || async {
        let probe = format!("probe-{}", attempts.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        create(world, "v1", &probe, &json!({"size": 7})).await?;
        let converted = read(world, "v2", &probe).await;
        world.cluster.delete(&path(world, "v2", &probe)).await?;
        let converted = converted?;
        ensure!(converted.get("spec") == Some(&json!({"sizes": [7]})), "{converted}");
        Ok(())
    })
    .await
}

/// Waits until the definition has this conversion strategy.
async fn strategy(world: &World, strategy: &str) -> Result<()> {
    strategy_within(world, strategy, SOON).await
}

async fn strategy_within(world: &World, strategy: &str, patience: Duration) -> Result<()> {
    eventually(patience, &format!("strategy {strategy}"), || async {
        let definition = world.cluster.get(DEFINITION).await?.context("no definition")?;
        let found = text(&definition, "/spec/conversion/strategy");
        ensure!(found == strategy, "{found}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_client_sees_its_own_version_in_every_request() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        let made = create(&world, "v1", "a", &json!({"size": 1})).await?;
        ensure!(made["spec"] == json!({"size": 1}) && text(&made, "/apiVersion") == "convert.example.com/v1", "{made}");
        create(&world, "v3", "b", &json!({"sizes": [2, 3], "unit": "cm"})).await?;
        for (version, a, b) in [
            ("v1", json!({"size": 1}), json!({"size": 2})),
            ("v2", json!({"sizes": [1]}), json!({"sizes": [2, 3]})),
            // The default of v3 is for objects that v3 clients write: a stored object has it only after a write.
            ("v3", json!({"sizes": [1]}), json!({"sizes": [2, 3], "unit": "cm"})),
        ] {
            ensure!(read(&world, version, "a").await?["spec"] == a, "{version} of a");
            ensure!(read(&world, version, "b").await?["spec"] == b, "{version} of b");
            let items = world.cluster.list(&path(&world, version, "")).await?;
            let specs: Vec<&Value> = items.iter().map(|item| &item["spec"]).collect();
            ensure!(specs == [&a, &b], "{version}: {specs:?}");
            let wrong = items.iter().find(|item| text(item, "/apiVersion") != format!("convert.example.com/{version}"));
            ensure!(wrong.is_none(), "{wrong:?}");
        }
        // What v1 lacks survives a change by a v1 client.
        world.cluster.merge_patch(&path(&world, "v1", "b"), &json!({"spec": {"size": 20}})).await?;
        ensure!(read(&world, "v3", "b").await?["spec"] == json!({"sizes": [20, 3], "unit": "cm"}), "after a v1 patch");
        // The host writes the status meanwhile.
        eventually(SOON, "a replacement", || async {
            let mut whole = read(&world, "v1", "b").await?;
            whole["spec"]["size"] = json!(21);
            let url = path(&world, "v1", "b");
            let replaced = world.cluster.request(Method::PUT, &url, "application/json", &whole).await?;
            ensure!(replaced["spec"] == json!({"size": 21}), "{replaced}");
            Ok(())
        })
        .await?;
        world.cluster.apply(&path(&world, "v3", "b"), "me", &gauge("v3", "b", &json!({"sizes": [22, 4]}))).await?;
        ensure!(read(&world, "v2", "b").await?["spec"] == json!({"sizes": [22, 4]}), "after a v3 apply");
        // The plugin reconciles what it converts.
        eventually(SOON, "the sum", || async {
            let gauge = read(&world, "v1", "b").await?;
            ensure!(gauge["status"]["sum"] == 26, "{gauge}");
            Ok(())
        })
        .await?;
        let table = world.cluster.kubectl(&["get", "gauges.v1.convert.example.com", "-n", &world.namespace]).await?;
        ensure!(table.contains("SIZE") && table.contains("22"), "{table}");
        let table = world.cluster.kubectl(&["get", "gauges.v2.convert.example.com", "-n", &world.namespace]).await?;
        ensure!(table.contains("SIZES") && table.contains("[22,4]"), "{table}");
        let labels = ["plugin=\"converter\"", "result=\"converted\""];
        let converted = world.host(async |host| host.metric("oarlock_conversions_total", &labels).await).await?;
        ensure!(converted > 0.0, "{converted}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_sees_its_own_version() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        create(&world, "v2", "a", &json!({"sizes": [1, 2]})).await?;
        let watch = format!("{}?watch=1&timeoutSeconds=300", path(&world, "v1", ""));
        let request = http::Request::get(&watch).body(Vec::new())?;
        let mut events = pin!(world.cluster.client().request_events::<Value>(request).await?);
        let mut seen = Vec::new();
        // Reads events up to one like this.
        let mut until = async |wanted: (&str, i64)| {
            loop {
                let event = timeout(SOON, events.try_next()).await.with_context(|| format!("{seen:?}"))??;
                let event = serde_json::to_value(event.with_context(|| format!("the watch ended: {seen:?}"))?)?;
                let spec = event["object"]["spec"].clone();
                seen.push((text(&event, "/type"), spec.clone()));
                if text(&event, "/type") == wanted.0 && spec == json!({"size": wanted.1}) {
                    return Ok::<_, anyhow::Error>(seen.clone());
                }
            }
        };
        let first = until(("ADDED", 1)).await?;
        ensure!(first.len() == 1, "{first:?}");
        world.cluster.merge_patch(&path(&world, "v2", "a"), &json!({"spec": {"sizes": [3, 4]}})).await?;
        until(("MODIFIED", 3)).await?;
        world.cluster.delete(&path(&world, "v2", "a")).await?;
        until(("DELETED", 3)).await.map(drop)
    })
    .await
}

/// Every list reads objects through the plugin, and none fails while its code is replaced.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_list_fails_while_the_plugin_is_swapped() -> Result<()> {
    const SWAPS: usize = 30;
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        for number in 0..20 {
            create(&world, "v2", &format!("g{number:02}"), &json!({"sizes": [number, 1]})).await?;
        }
        let (done, listed) = (tokio_util::sync::CancellationToken::new(), AtomicUsize::new(0));
        let lists = async {
            let _ended = done.clone().drop_guard();
            while !done.is_cancelled() {
                let items = world.cluster.list(&path(&world, "v1", "")).await?;
                ensure!(items.len() == 20 && items.iter().all(|item| item["spec"]["size"].is_i64()), "{items:?}");
                listed.fetch_add(1, Ordering::Relaxed);
            }
            Ok::<(), anyhow::Error>(())
        };
        let swaps = async {
            let _ended = done.clone().drop_guard();
            let code = fs::read(built_plugin("converter")?)?;
            // Swaps to code in the cache take less time than lists on a busy machine.
            for number in 0.. {
                if done.is_cancelled() || number >= SWAPS && listed.load(Ordering::Relaxed) > SWAPS {
                    break;
                }
                let digest_before = digest(&world).await?;
                world.plugins.place("converter.wasm", &with_another_digest(&code, &number.to_string()))?;
                eventually(2 * SOON, "the swap", || async {
                    let now = digest(&world).await?;
                    ensure!(now != digest_before, "not yet");
                    Ok(())
                })
                .await?;
            }
            Ok::<(), anyhow::Error>(())
        };
        let (lists, swaps) = tokio::join!(lists, swaps);
        lists.and(swaps)
    })
    .await
}

/// The digest of the running version.
async fn digest(world: &World) -> Result<String> {
    let plugin = world.host(async |host| host.plugin("converter").await).await?;
    Ok(text(&plugin, "/digest"))
}

/// A write that changes nothing moves an object to the storage version: so storage is migrated before a version is dropped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn storage_migrates_by_writes_that_change_nothing() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        create(&world, "v2", "a", &json!({"sizes": [1, 2]})).await?;
        // A later write of the status would move the object, too.
        eventually(SOON, "the sum", || async {
            let gauge = read(&world, "v2", "a").await?;
            ensure!(gauge["status"]["sum"] == 3, "{gauge}");
            Ok(())
        })
        .await?;
        let definition = world.cluster.get(DEFINITION).await?.context("no definition")?;
        let versions: Vec<Value> = definition["spec"]["versions"]
            .as_array()
            .context("no versions")?
            .iter()
            .map(|version| {
                let mut version = version.clone();
                version["storage"] = json!(text(&version, "/name") == "v3");
                version
            })
            .collect();
        world.cluster.merge_patch(DEFINITION, &json!({"spec": {"versions": versions}})).await?;
        eventually(SOON, "storedVersions", || async {
            let definition = world.cluster.get(DEFINITION).await?.context("no definition")?;
            ensure!(definition["status"]["storedVersions"] == json!(["v2", "v3"]), "{}", definition["status"]);
            Ok(())
        })
        .await?;
        let before = read(&world, "v2", "a").await?;
        // A real API server takes a moment until it serves a changed definition.
        eventually(SOON, "the write to count", || async {
            let read_back = read(&world, "v2", "a").await?;
            let url = path(&world, "v2", "a");
            let written = world.cluster.request(Method::PUT, &url, "application/json", &read_back).await?;
            let version = |object: &Value| text(object, "/metadata/resourceVersion");
            ensure!(version(&written) != version(&read_back), "nothing was stored");
            ensure!(written["spec"] == before["spec"], "{written}");
            Ok(())
        })
        .await?;
        ensure!(read(&world, "v1", "a").await?["spec"] == json!({"size": 1}), "v1");
        ensure!(read(&world, "v2", "a").await?["spec"] == json!({"sizes": [1, 2]}), "v2");
        Ok(())
    })
    .await
}
