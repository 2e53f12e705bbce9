//! The plugin directory is the running set of controllers: files come, change and go while reconciles go on (H1 to H14).

mod directory;
mod grants;
mod identity;
mod removal;
mod rollback;

use anyhow::{Context, Result, ensure};
use http::Method;
use oarlock_tests::harness::{
    Action, Grant, Rule, SOON, World, WorldOptions, built_plugin, eventually, misfit_version, misfit_with, steady,
    text, with_world,
};
use serde_json::{Value, json};
use std::{fs, sync::Arc, time::Duration};

/// Without the network plugin, its CRD and the host: each test puts in what it needs.
pub(crate) fn options() -> WorldOptions {
    WorldOptions { host: false, network: false, crd: false, ..WorldOptions::default() }
}

/// What the misfit is granted.
pub(crate) fn grant(world: &World) -> Grant {
    let verbs = ["get", "list", "watch", "create", "patch", "delete"];
    let url = world.neutron_gate.url();
    Grant::nothing().rule("", &["configmaps"], &verbs).origin(&url).config("url", &url)
}

/// Puts the first version of the misfit in, starts the host, and waits until it runs.
async fn started(world: &World) -> Result<()> {
    started_with(world, &grant(world)).await
}

/// The same with another grant.
async fn started_with(world: &World, grant: &Grant) -> Result<()> {
    world.plugins.grant("misfit", grant)?;
    world.plugins.place("misfit.wasm", &misfit_version("1", "")?)?;
    world.start_host().await?;
    runs(world, "misfit", "1").await
}

pub(crate) fn path(world: &World, name: &str) -> String {
    format!("/api/v1/namespaces/{}/configmaps/{name}", world.namespace)
}

/// Makes an object of the misfit.
pub(crate) async fn object(world: &World, name: &str, mode: &str, labels: &Value) -> Result<String> {
    let mut labels = labels.clone();
    if let Some(labels) = labels.as_object_mut() {
        labels.insert("misfit".to_owned(), json!("true"));
    }
    let annotations = if mode.is_empty() { json!({}) } else { json!({"misfit/mode": mode}) };
    let made = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": labels, "annotations": annotations}, "data": {"value": "first"}});
    let made = world.cluster.create(&format!("/api/v1/namespaces/{}/configmaps", world.namespace), &made).await?;
    Ok(text(&made, "/metadata/uid"))
}

pub(crate) async fn set(world: &World, name: &str, value: &str) -> Result<()> {
    world.cluster.merge_patch(&path(world, name), &json!({"data": {"value": value}})).await.map(|_| ())
}

/// Waits until the child of an object has seen this value.
pub(crate) async fn seen(world: &World, name: &str, value: &str) -> Result<()> {
    eventually(SOON, &format!("{name}-child to have seen {value}"), || async {
        let child = world.cluster.get(&path(world, &format!("{name}-child"))).await?.context("no child")?;
        ensure!(text(&child, "/data/seen") == value, "{child}");
        Ok(())
    })
    .await
}

pub(crate) async fn plugin(world: &World, name: &str) -> Result<Value> {
    world.host(async |host| host.plugin(name).await).await
}

/// Waits until a version of a plugin is active.
pub(crate) async fn runs(world: &World, name: &str, version: &str) -> Result<()> {
    eventually(SOON, &format!("version {version} of {name} to run"), || async {
        let entry = plugin(world, name).await?;
        ensure!(text(&entry, "/state") == "active" && text(&entry, "/version") == version, "{entry}");
        Ok(())
    })
    .await
}

/// Waits until the newest content of a file is in a state for a reason.
async fn next_is(world: &World, name: &str, state: &str, reason: &str) -> Result<Value> {
    eventually(SOON, &format!("the next version of {name} to be {state}: {reason}"), || async {
        let entry = plugin(world, name).await?;
        ensure!(text(&entry, "/next/state") == state && text(&entry, "/next/reason").contains(reason), "{entry}");
        Ok(entry)
    })
    .await
}

/// Lines of the log that tell of a change of state of a plugin to this one.
async fn transitions(world: &World, name: &str, to: &str) -> Result<usize> {
    let of = |line: &oarlock_tests::harness::LogLine| {
        line.text.contains("plugin state")
            && line.field("plugin").as_deref() == Some(name)
            && line.field("to").as_deref() == Some(to)
    };
    Ok(world.log(of).await?.len())
}

/// Waits for an event of the host's own object.
pub(crate) async fn host_event(world: &World, reason: &str, part: &str) -> Result<Value> {
    eventually(SOON, &format!("an event {reason}: {part}"), || async {
        let events = world.cluster.get("/api/v1/namespaces/default/events").await?.context("no events")?;
        let items = events.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
        let found =
            items.into_iter().find(|event| text(event, "/reason") == reason && text(event, "/message").contains(part));
        found.context("not yet")
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h1_a_renamed_in_version_takes_over_and_every_object_is_looked_at_again() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        for i in 0..10 {
            object(&world, &format!("o{i}"), "", &json!({})).await?;
        }
        for i in 0..10 {
            seen(&world, &format!("o{i}"), "first").await?;
        }
        let reconciles = async || {
            world.host(async |host| host.metric("controller_runtime_reconcile_total", &["\"misfit\""]).await).await
        };
        let before = reconciles().await?;
        world.plugins.place("misfit.wasm", &misfit_version("2", "")?)?;
        runs(&world, "misfit", "2").await?;
        eventually(SOON, "all objects to be reconciled on the new version", || async {
            let after = reconciles().await?;
            ensure!(after >= before + 10.0, "{before} {after}");
            Ok(())
        })
        .await?;
        set(&world, "o3", "second").await?;
        seen(&world, "o3", "second").await?;
        host_event(&world, "PluginSwapped", "version 2").await?;
        ensure!(transitions(&world, "misfit", "draining").await? == 0, "the plugin ended in between");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h3_a_version_that_is_no_plugin_leaves_the_old_one_running() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        object(&world, "steady", "", &json!({})).await?;
        seen(&world, "steady", "first").await?;
        let whole = fs::read(built_plugin("misfit")?)?;
        let mut values = (0..).map(|i| format!("value {i}"));
        for (name, bytes, reason) in oarlock_tests::harness::broken_plugins(&whole) {
            world.plugins.place("misfit.wasm", &bytes)?;
            let entry = eventually(SOON, &format!("{name} to be refused"), || async {
                let entry = plugin(&world, "misfit").await?;
                ensure!(text(&entry, "/next/state") == "failed", "{entry}");
                ensure!(entry.to_string().to_lowercase().contains(reason), "{entry} does not say {reason:?}");
                Ok(entry)
            })
            .await?;
            ensure!(text(&entry, "/state") == "active" && text(&entry, "/version") == "1", "{name}: {entry}");
            let value = values.next().unwrap_or_default();
            set(&world, "steady", &value).await?;
            seen(&world, "steady", &value).await?;
        }
        for (what, bytes, reason) in [
            ("a manifest that makes no sense", misfit_with("2", "", |m| m["workers"] = json!(0))?, "workers"),
            ("a start that traps", oarlock_tests::harness::misfit_describing("!trap")?, "describe"),
        ] {
            world.plugins.place("misfit.wasm", &bytes)?;
            let entry = next_is(&world, "misfit", "failed", reason).await.context(what)?;
            ensure!(text(&entry, "/version") == "1", "{entry}");
        }
        host_event(&world, "PluginFailed", "workers").await?;
        world.plugins.place("misfit.wasm", &misfit_version("3", "")?)?;
        runs(&world, "misfit", "3").await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h3_a_version_whose_new_watch_cannot_sync_waits_while_the_old_one_runs() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        object(&world, "steady", "", &json!({})).await?;
        let absent = |m: &mut Value| {
            let watch = json!({"group": "samplecrd.k8s.io", "version": "v1", "kind": "Network", "mapTo": {"type": "cacheOnly"}});
            m["watches"].as_array_mut().into_iter().for_each(|watches| watches.push(watch.clone()));
        };
        let reads = ["get", "list", "watch"];
        world.plugins.grant("misfit", &grant(&world).rule("samplecrd.k8s.io", &["networks"], &reads))?;
        world.plugins.place("misfit.wasm", &misfit_with("2", "", absent)?)?;
        let entry = next_is(&world, "misfit", "syncing", "Network").await?;
        ensure!(text(&entry, "/state") == "active" && text(&entry, "/version") == "1", "{entry}");
        set(&world, "steady", "meanwhile").await?;
        seen(&world, "steady", "meanwhile").await?;
        world.apply_crd().await?;
        runs(&world, "misfit", "2").await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h4_a_reconcile_under_way_finishes_on_its_version_and_no_key_is_worked_on_twice() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        // The held reconcile outlives a slow compilation of the next version.
        started_with(&world, &grant(&world).limits(|limits| limits.deadline_seconds = 600)).await?;
        let (get, go) = world.neutron_gate.hold(Method::GET, "");
        let gets = || world.neutron_gate.journal().iter().filter(|one| one.method == Method::GET).count();
        object(&world, "slow", "fetch", &json!({})).await?;
        get.hit().await?;
        world.plugins.place("misfit.wasm", &misfit_version("2", "")?)?;
        runs(&world, "misfit", "2").await?;
        // The pointer has moved; the key is held by the version before.
        ensure!(gets() == 1, "the key runs on two versions at once");
        object(&world, "other", "", &json!({})).await?;
        seen(&world, "other", "first").await?;
        ensure!(gets() == 1, "the key runs on two versions at once");
        go.cancel();
        seen(&world, "slow", "first").await?;
        eventually(SOON, "the key to run once more, on the new version", || async {
            ensure!(gets() >= 2, "not yet");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h5_backoff_and_timers_survive_a_swap() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        object(&world, "failing", "transient", &json!({})).await?;
        let attempts = async || -> Result<Vec<u32>> {
            let lines =
                world.log(|line| line.text.contains("reconcile failed") && line.text.contains("/failing")).await?;
            Ok(lines.iter().filter_map(|line| line.field("attempt")?.parse().ok()).collect())
        };
        eventually(SOON, "some failures", || async {
            ensure!(attempts().await?.len() >= 6, "not yet");
            Ok(())
        })
        .await?;
        world.plugins.place("misfit.wasm", &misfit_version("2", "")?)?;
        runs(&world, "misfit", "2").await?;
        let at_swap = attempts().await?.len();
        eventually(SOON, "a failure on the new version", || async {
            ensure!(attempts().await?.len() > at_swap, "not yet");
            Ok(())
        })
        .await?;
        let all = attempts().await?;
        ensure!(all.is_sorted() && all.last() > Some(&6), "the count began anew: {all:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h6_ten_replacements_in_a_second_end_in_the_last() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        object(&world, "steady", "", &json!({})).await?;
        for version in 2..=11 {
            world.plugins.place("misfit.wasm", &misfit_version(&version.to_string(), "")?)?;
            tokio::time::sleep(Duration::from_millis(90)).await;
        }
        runs(&world, "misfit", "11").await?;
        set(&world, "steady", "last").await?;
        seen(&world, "steady", "last").await?;
        steady(Duration::from_secs(1), "the last version", || async {
            let entry = plugin(&world, "misfit").await?;
            ensure!(text(&entry, "/version") == "11", "{entry}");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h9_a_version_of_another_contract_is_refused_by_name_and_the_old_one_runs() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        let whole = fs::read(built_plugin("misfit")?)?;
        let broken = oarlock_tests::harness::broken_plugins(&whole);
        let (_, other, _) = broken.iter().find(|(name, ..)| *name == "other-version").context("no such fault")?;
        world.plugins.place("misfit.wasm", other)?;
        let entry = next_is(&world, "misfit", "failed", "0.9.0").await?;
        ensure!(text(&entry, "/state") == "active", "{entry}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h12_what_a_swap_enqueues_does_not_hold_up_a_live_change() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.plugins.grant("misfit", &grant(&world))?;
        world.plugins.place("misfit.wasm", &misfit_with("1", "", |m| m["workers"] = json!(1))?)?;
        world.start_host().await?;
        runs(&world, "misfit", "1").await?;
        const OBJECTS: u64 = 100;
        for i in 0..OBJECTS {
            object(&world, &format!("o{i}"), "fetch", &json!({})).await?;
        }
        seen(&world, &format!("o{}", OBJECTS - 1), "first").await?;
        // Each child wakes its owner once more: those are live changes too, and stand before the one to come.
        eventually(SOON, "the queue to be empty", || async {
            let entry = plugin(&world, "misfit").await?;
            ensure!(entry.get("queueDepth") == Some(&json!(0)), "{entry}");
            Ok(())
        })
        .await?;
        // From now on one object takes a third of a second, so that all of them take half a minute.
        let rule =
            world.neutron_gate.rule(Rule::every(Action::Delay(Duration::from_millis(300))).methods(&[Method::GET]));
        world.plugins.place("misfit.wasm", &misfit_with("2", "", |m| m["workers"] = json!(1))?)?;
        runs(&world, "misfit", "2").await?;
        rule.hit().await?;
        let last = format!("o{}", OBJECTS - 1);
        set(&world, &last, "live").await?;
        seen(&world, &last, "live").await?;
        ensure!(rule.hits() < OBJECTS, "the live change waited for all {} others", rule.hits());
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h13_a_host_killed_in_the_middle_of_a_swap_comes_back_with_a_whole_version() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        object(&world, "steady", "", &json!({})).await?;
        seen(&world, "steady", "first").await?;
        for (version, pause) in [("2", 0), ("3", 60), ("4", 150), ("5", 300)] {
            world.plugins.place("misfit.wasm", &misfit_version(version, "")?)?;
            // Somewhere between the notice and the first reconcile.
            tokio::time::sleep(Duration::from_millis(pause)).await;
            world.kill_host().await?;
            set(&world, "steady", version).await?;
            world.start_host().await?;
            runs(&world, "misfit", version).await?;
            seen(&world, "steady", version).await?;
        }
        Ok(())
    })
    .await
}

/// A kind of its own, whose status takes any field.
fn thing_crd() -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.misfit.example.com"},
        "spec": {"group": "misfit.example.com", "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"data": open, "status": open}}}}]}})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h14_a_downgrade_takes_the_status_fields_of_the_newer_version_away() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.cluster.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &thing_crd()).await?;
        let things = |m: &mut Value| {
            let fields = m.as_object_mut().into_iter();
            fields.for_each(|fields| {
                let primary = json!({"group": "misfit.example.com", "version": "v1", "kind": "Thing"});
                fields.insert("primaries".to_owned(), json!([primary]));
                fields.insert("manageStatus".to_owned(), json!(true));
            });
        };
        let reads = ["get", "list", "watch"];
        world.plugins.grant("misfit", &grant(&world).rule("misfit.example.com", &["things"], &reads).manage_status())?;
        world.plugins.place("misfit.wasm", &misfit_with("1", "", things)?)?;
        world.start_host().await?;
        runs(&world, "misfit", "1").await?;
        let collection = format!("/apis/misfit.example.com/v1/namespaces/{}/things", world.namespace);
        let thing = json!({"apiVersion": "misfit.example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "data": {"value": "x"}});
        world.cluster.create(&collection, &thing).await?;
        let status_is = async |newer: bool| {
            eventually(SOON, &format!("a status with the newer version's field: {newer}"), || async {
                let thing = world.cluster.get(&format!("{collection}/t")).await?.context("gone")?;
                let ready = text(&thing, "/status/conditions/0/status") == "True";
                ensure!(ready && thing.pointer("/status/http").is_some() == newer, "{thing}");
                Ok(())
            })
            .await
        };
        status_is(false).await?;
        world.plugins.place("misfit.wasm", &misfit_with("2", "fetch", things)?)?;
        status_is(true).await?;
        world.plugins.place("misfit.wasm", &misfit_with("1", "", things)?)?;
        status_is(false).await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_withdrawn_while_the_new_version_is_broken_ends_the_old_one_too() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        world.plugins.place("misfit.wasm", b"broken")?;
        next_is(&world, "misfit", "failed", "WebAssembly").await?;
        world.plugins.remove("misfit.yaml")?;
        eventually(SOON, "the version that runs to end", || async {
            ensure!(transitions(&world, "misfit", "retired").await? == 1, "{}", plugin(&world, "misfit.wasm").await?);
            Ok(())
        })
        .await
    })
    .await
}
