//! What `kubectl describe plugin` shows: the events about a plugin regard its object. And what it left behind, which a restart does not forget.

use super::declared::apply;
use super::{condition, definition, grant, has_child, key, path, shows, start, wish};
use crate::plan::ALONE;
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{SOON, World, eventually, misfit_version, misfit_with, oarlock, text, with_world};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// Waits for an event on the plugin's object, as kubectl finds it: by name and uid.
pub(crate) async fn event(world: &World, name: &str, reason: &str, part: &str) -> Result<()> {
    let uid = text(&world.cluster.get(&path(world, name)).await?.context("no object")?, "/metadata/uid");
    eventually(SOON, &format!("the event {reason} of {name}"), || async {
        let all = world.cluster.list(&format!("/api/v1/namespaces/{}/events", world.namespace)).await?;
        let regards = |event: &&Value| {
            text(event, "/involvedObject/uid") == uid && text(event, "/involvedObject/kind") == "Plugin"
        };
        let found: Vec<String> = all
            .iter()
            .filter(regards)
            .map(|event| format!("{}: {}", text(event, "/reason"), text(event, "/message")))
            .collect();
        ensure!(found.iter().any(|one| one.starts_with(reason) && one.contains(part)), "{found:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_about_a_plugin_regard_its_object_also_while_it_is_paused() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        definition(&world).await?;
        world.plugins.file("misfit.wasm", &misfit_version("one", "")?)?;
        start(&world).await?;
        let waits = |object: &Value| condition(object, "AwaitingApproval") == "True";
        shows(&world, "misfit", "a plugin without a grant", waits).await?;
        event(&world, "misfit", "AwaitingGrant", "not granted").await?;
        world.plugins.grant("misfit", &grant(&world))?;
        event(&world, "misfit", "PluginActive", "version one").await?;
        wish(&world, "misfit", &json!({"paused": true})).await?;
        shows(&world, "misfit", "the pause", |object| text(object, "/status/state") == "paused").await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "remembers")?)?;
        event(&world, "misfit", "PluginSwapped", "version two").await?;
        world.plugins.file("misfit.wasm", b"no component")?;
        event(&world, "misfit", "PluginFailed", "misfit.wasm").await?;
        // Of an object that a person made, too.
        apply(&world, "absent", &json!({"source": {"file": "absent.wasm"}})).await?;
        event(&world, "absent", "InvalidObject", "not in the plugin directory").await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn finalizers_of_a_removed_plugin_are_known_after_a_kill_and_can_be_released() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        definition(&world).await?;
        let cleans = misfit_with("1", "", |manifest| {
            if let Some(fields) = manifest.as_object_mut() {
                fields.insert("cleanup".to_owned(), json!(true));
            }
        });
        world.plugins.grant("misfit", &grant(&world).cleanup())?;
        world.plugins.file("misfit.wasm", &cleans?)?;
        key(&world, "a").await?;
        start(&world).await?;
        has_child(&world, "a").await?;
        world.plugins.remove("misfit.wasm")?;
        let left = |object: &Value| {
            let all = object.pointer("/status/conditions").and_then(Value::as_array);
            all.into_iter()
                .flatten()
                .any(|one| one["type"] == "Degraded" && one["reason"] == "FinalizersLeft" && one["status"] == "True")
        };
        shows(&world, "misfit", "what it left", left).await?;
        world.kill_host().await?;
        start(&world).await?;
        eventually(SOON, "the host to know of it again", || async {
            let entry = world.host(async |host| host.plugin("misfit").await).await?;
            ensure!(text(&entry, "/state") == "retired" && entry["finalizersLeft"] == 1, "{entry:#}");
            Ok(())
        })
        .await?;
        world.logged("the warning", |line| line.text.contains("objects keep the finalizer")).await?;
        shows(&world, "misfit", "what it left, after a restart", left).await?;
        let address = world.host(async |host| Ok(host.admin().base().trim_start_matches("http://").to_owned())).await?;
        let output = oarlock(&["plugins", "--release-finalizers", "misfit", "--admin-addr", &address]).await?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let object = world
            .cluster
            .get(&format!("/api/v1/namespaces/{}/configmaps/a", world.namespace))
            .await?
            .context("gone")?;
        ensure!(object.pointer("/metadata/finalizers").is_none(), "{object:#}");
        eventually(3 * SOON, "the object to go", || async {
            ensure!(world.cluster.get(&path(&world, "misfit")).await?.is_none(), "it is there");
            Ok(())
        })
        .await?;
        world.kill_host().await?;
        start(&world).await?;
        eventually(SOON, "nothing", || async {
            let all = world.host(async |host| host.plugins().await).await?;
            ensure!(all["plugins"].as_array().is_some_and(Vec::is_empty), "{all}");
            Ok(())
        })
        .await
    })
    .await
}

/// A file that goes while no host runs leaves finalizers, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn finalizers_of_a_plugin_that_was_removed_while_no_host_ran_are_known() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        definition(&world).await?;
        let cleans = misfit_with("1", "", |manifest| manifest["cleanup"] = json!(true))?;
        world.plugins.grant("misfit", &grant(&world).cleanup())?;
        world.plugins.file("misfit.wasm", &cleans)?;
        key(&world, "a").await?;
        let cache = world.folder().join("cache");
        let folder = cache.display().to_string();
        let start =
            async || world.start_host_with(&["--plugin-objects", &world.namespace, "--cache-dir", &folder]).await;
        start().await?;
        has_child(&world, "a").await?;
        let record = cache.join("versions");
        eventually(SOON, "the record", || async {
            ensure!(written(&record, "\"runs\":true"), "{record:?}");
            Ok(())
        })
        .await?;
        world.kill_host().await?;
        world.plugins.remove("misfit.wasm")?;
        start().await?;
        eventually(SOON, "the host to know of it", || async {
            let entry = world.host(async |host| host.plugin("misfit").await).await?;
            ensure!(text(&entry, "/state") == "retired" && entry["finalizersLeft"] == 1, "{entry:#}");
            Ok(())
        })
        .await?;
        // It comes back, and owns its objects again.
        world.plugins.file("misfit.wasm", &cleans)?;
        eventually(SOON, "the plugin", || async {
            let entry = world.host(async |host| host.plugin("misfit").await).await?;
            ensure!(text(&entry, "/state") == "active" && entry["finalizersLeft"].is_null(), "{entry:#}");
            Ok(())
        })
        .await
    })
    .await
}

/// The object knows what no cache knows any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn finalizers_of_a_removed_plugin_survive_the_end_of_all_hosts_and_their_caches() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        definition(&world).await?;
        let cleans = misfit_with("1", "", |manifest| manifest["cleanup"] = json!(true))?;
        world.plugins.grant("misfit", &grant(&world).cleanup())?;
        world.plugins.file("misfit.wasm", &cleans)?;
        key(&world, "a").await?;
        let start = async |cache: &str| {
            let cache = world.folder().join(cache).display().to_string();
            world.start_host_with(&["--plugin-objects", &world.namespace, "--cache-dir", &cache]).await
        };
        start("first").await?;
        has_child(&world, "a").await?;
        let kinds = json!([{"group": "", "version": "v1", "kind": "ConfigMap"}]);
        shows(&world, "misfit", "the kinds", |object| object["status"]["finalizerKinds"] == kinds).await?;
        world.kill_host().await?;
        world.plugins.remove("misfit.wasm")?;
        let known = async || {
            eventually(3 * SOON, "the host to know of it", || async {
                let entry = world.host(async |host| host.plugin("misfit").await).await?;
                ensure!(text(&entry, "/state") == "retired" && entry["finalizersLeft"] == 1, "{entry:#}");
                Ok(())
            })
            .await
        };
        let left = |object: &Value| {
            condition(object, "Degraded") == "True"
                && object["status"]["conditions"].to_string().contains("FinalizersLeft")
                && object["status"]["finalizerKinds"] == kinds
        };
        for cache in ["second", "third"] {
            start(cache).await?;
            known().await?;
            shows(&world, "misfit", "what it left", left).await?;
            world.kill_host().await?;
        }
        // A version that does not clean up takes over what it left.
        let blind = misfit_with("2", "", |_| {})?;
        world.plugins.file("misfit.wasm", &blind)?;
        start("fourth").await?;
        eventually(3 * SOON, "the kinds that the version does not clean up", || async {
            let entry = world.host(async |host| host.plugin("misfit").await).await?;
            ensure!(text(&entry, "/version") == "2" && entry["finalizersLeftOn"].is_array(), "{entry:#}");
            Ok(())
        })
        .await?;
        world.kill_host().await?;
        world.plugins.remove("misfit.wasm")?;
        start("fifth").await?;
        known().await?;
        let address = world.host(async |host| Ok(host.admin().base().trim_start_matches("http://").to_owned())).await?;
        let output = oarlock(&["plugins", "--release-finalizers", "misfit", "--admin-addr", &address]).await?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let path_of_a = format!("/api/v1/namespaces/{}/configmaps/a", world.namespace);
        let object = world.cluster.get(&path_of_a).await?.context("gone")?;
        ensure!(object.pointer("/metadata/finalizers").is_none(), "{object:#}");
        eventually(3 * SOON, "the object to go", || async {
            ensure!(world.cluster.get(&path(&world, "misfit")).await?.is_none(), "it is there");
            Ok(())
        })
        .await
    })
    .await
}

/// Whether a file in a folder contains a text.
fn written(folder: &Path, text: &str) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| std::fs::read_to_string(entry.path()).is_ok_and(|content| content.contains(text)))
}
