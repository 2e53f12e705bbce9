//! `oarlock plan`: what it shows is what a host then writes, and it writes nothing itself.

pub(crate) mod exact;
mod in_host;
mod many;
mod misbehaving;
mod outside;
mod pipeline;
mod secrets;
mod server_side;

use anyhow::{Context, Result, ensure};
use http::Method;
use oarlock::oci::Digest;
use oarlock_tests::harness::{
    Exchange, Grant, PluginDir, SOON, World, WorldOptions, eventually, misfit_version, misfit_with, oarlock,
    oarlock_binary, text, with_world,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// A world whose cluster has no host.
pub(crate) const ALONE: WorldOptions = WorldOptions {
    resync_seconds: 3600,
    crd: false,
    network: false,
    host: false,
    keystone: false,
    namespace: None,
    demo: false,
};

/// The output of a plan.
struct Planned {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Planned {
    /// Of `-o json`.
    fn document(&self) -> Result<Value> {
        serde_json::from_str(&self.stdout).with_context(|| format!("{}\n{}", self.stdout, self.stderr))
    }
}

/// Plans the plugins of a folder for the world's cluster, and holds that nothing changes there.
async fn plan(world: &World, folder: &Path, args: &[&str]) -> Result<Planned> {
    let kubeconfig = world.cluster.kubeconfig_for(&world.kubernetes_gate.url(), None).await?;
    let (before, mark) = (versions(world).await?, world.kubernetes_gate.mark());
    let (folder, kubeconfig) = (folder.display().to_string(), kubeconfig.display().to_string());
    let cache = world.folder().join("code-cache").display().to_string();
    let all = [&["plan", &folder, "--kubeconfig", &kubeconfig, "--cache-dir", &cache], args].concat();
    let output = oarlock(&all).await?;
    let writes = |exchange: &Exchange| {
        let asks = exchange.path.contains("?dryRun=All") || exchange.path.contains("selfsubjectaccessreviews");
        exchange.method != Method::GET && !asks
    };
    let written: Vec<_> = world.kubernetes_gate.since(mark).into_iter().filter(writes).collect();
    ensure!(written.is_empty(), "a plan sent {written:?}");
    ensure!(world.kubernetes_gate.mark() > mark, "the plan did not pass the gate");
    ensure!(versions(world).await? == before, "a plan changed the cluster");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let code = output.status.code().context("a plan was killed")?;
    Ok(Planned { code, stdout: text(output.stdout), stderr: text(output.stderr) })
}

/// The resourceVersions of the objects that a plugin of these tests could change.
async fn versions(world: &World) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    // The namespace controller empties those of earlier tests.
    let namespaces = world.cluster.list("/api/v1/namespaces").await?.into_iter();
    let ends = |object: &Value| object.pointer("/metadata/deletionTimestamp").is_some();
    let ending: BTreeSet<String> =
        namespaces.filter(ends).map(|namespace| text(&namespace, "/metadata/name")).collect();
    for path in ["configmaps", "secrets", "events", "namespaces"].map(|plural| format!("/api/v1/{plural}")) {
        for object in world.cluster.list(&path).await? {
            if ["namespace", "name"].iter().any(|field| ending.contains(&text(&object, &format!("/metadata/{field}"))))
            {
                continue;
            }
            found.insert(
                ["namespace", "name", "resourceVersion"].map(|f| text(&object, &format!("/metadata/{f}"))).join("/"),
            );
        }
    }
    let networks = "/apis/samplecrd.k8s.io/v1/networks";
    if let Some(list) = world.cluster.get(networks).await? {
        found.extend(
            list.get("items")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .map(|one| text(one, "/metadata/resourceVersion")),
        );
    }
    Ok(found)
}

/// A folder with one version of the misfit.
fn misfit_folder(world: &World, name: &str, mode: &str, grant: &Grant) -> Result<PluginDir> {
    let folder = PluginDir::create(world.folder().join(name))?;
    folder.file("misfit.wasm", &misfit_version(name, mode)?)?;
    folder.grant("misfit", grant)?;
    Ok(folder)
}

fn config_maps(world: &World) -> Grant {
    let verbs = ["get", "list", "watch", "create", "patch", "delete"];
    Grant::nothing().rule_in(&world.namespace, "", &["configmaps"], &verbs)
}

/// Makes an object of the misfit.
async fn misfit(world: &World, name: &str, mode: &str, value: &str) -> Result<()> {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"misfit": "true", "name": name}, "annotations": {"misfit/mode": mode}},
        "data": {"value": value}});
    let object = if mode.is_empty() { without_mode(object) } else { object };
    world.cluster.create(&format!("/api/v1/namespaces/{}/configmaps", world.namespace), &object).await?;
    Ok(())
}

fn without_mode(mut object: Value) -> Value {
    if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
        metadata.remove("annotations");
    }
    object
}

/// Object, path and value of every leaf of the world's ConfigMaps, without what every write changes.
async fn leaves(world: &World) -> Result<BTreeMap<(String, String), Value>> {
    let mut found = BTreeMap::new();
    for mut object in world.cluster.list(&format!("/api/v1/namespaces/{}/configmaps", world.namespace)).await? {
        let name = text(&object, "/metadata/name");
        if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
            for field in ["uid", "creationTimestamp", "resourceVersion", "generation", "managedFields"] {
                metadata.remove(field);
            }
        }
        flatten(&mut found, &name, "", &object);
    }
    // Items of a list do not state them.
    found.retain(|(_, path), _| path != "/kind" && path != "/apiVersion");
    Ok(found)
}

fn flatten(found: &mut BTreeMap<(String, String), Value>, name: &str, path: &str, value: &Value) {
    let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().for_each(|(key, value)| flatten(found, name, &format!("{path}/{}", escaped(key)), value));
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(at, value)| flatten(found, name, &format!("{path}/{at}"), value));
        }
        leaf => {
            found.insert((name.to_owned(), path.to_owned()), leaf.clone());
        }
    }
}

/// The leaves that a plan writes. A null stands for a leaf that goes.
fn planned_leaves(document: &Value) -> BTreeMap<(String, String), Value> {
    let mut found = BTreeMap::new();
    for object in document["objects"].as_array().into_iter().flatten() {
        let name = text(object, "/name");
        for value in object["values"].as_array().into_iter().flatten() {
            let path = text(value, "/path");
            if let Some(before) = value.get("before") {
                let mut gone = BTreeMap::new();
                flatten(&mut gone, &name, &path, before);
                found.extend(gone.into_keys().map(|key| (key, Value::Null)));
            }
            if let Some(after) = value.get("after") {
                flatten(&mut found, &name, &path, after);
            }
        }
    }
    found.retain(|(_, path), _| path != "/kind" && path != "/apiVersion");
    found
}

/// Waits until the child of an object has this datum.
async fn child_has(world: &World, name: &str, field: &str, value: &str) -> Result<()> {
    eventually(SOON, &format!("{field} of the child of {name}"), || async {
        let path = format!("/api/v1/namespaces/{}/configmaps/{name}-child", world.namespace);
        let child = world.cluster.get(&path).await?.context("no child")?;
        ensure!(text(&child, &format!("/data/{field}")) == value, "{child}");
        Ok(())
    })
    .await
}

/// Waits until a host that has just started has nothing left to write: it has recorded the event about its plugin, which it does beside
/// the reconciles, and no reconcile runs or waits.
async fn last_write(world: &World) -> Result<()> {
    last_write_after(world, "PluginActive").await
}

/// The same for the event of another reason.
async fn last_write_after(world: &World, reason: &str) -> Result<()> {
    eventually(SOON, "the host's last write", || async {
        let recorded = |exchange: &Exchange| {
            exchange.method == Method::POST
                && exchange.status.is_some()
                && String::from_utf8_lossy(&exchange.body).contains(reason)
        };
        ensure!(world.kubernetes_gate.since(0).iter().any(recorded), "no event {reason}");
        let (busy, entry) = world
            .host(async |host| {
                let busy = host.metric("controller_runtime_active_workers", &["controller=\"misfit\""]).await?;
                Ok((busy, host.plugin("misfit").await?))
            })
            .await?;
        ensure!(busy < 0.5 && entry.get("queueDepth").is_some_and(|depth| *depth == 0), "{busy} workers, {entry:#}");
        Ok(())
    })
    .await
}

/// The property of a plan: it is empty for the version that runs, and for another version it is exactly what a host then writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_is_empty_for_the_running_version_and_exact_for_the_next_one() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        let grant = config_maps(&world);
        world.plugins.file("misfit.wasm", &misfit_version("one", "")?)?;
        world.plugins.grant("misfit", &grant)?;
        for name in ["a", "b", "c"] {
            misfit(&world, name, "", name).await?;
        }
        world.start_host().await?;
        for name in ["a", "b", "c"] {
            child_has(&world, name, "seen", name).await?;
        }
        last_write(&world).await?;
        let same = plan(&world, world.plugins.path(), &["-o", "json"]).await?;
        let document = same.document()?;
        ensure!(same.code == 0, "{}\n{}", same.stdout, same.stderr);
        ensure!(document["objects"] == json!([]) && document["problems"] == json!([]), "{document}");
        ensure!(document["summary"]["checked"] == 3 && document["summary"]["inSync"] == 3, "{document}");
        world.stop_host(SOON).await?;

        // One of them is new: the running version has not seen it.
        misfit(&world, "d", "", "d").await?;
        let next = misfit_folder(&world, "two", "remembers", &grant)?;
        let planned = plan(&world, next.path(), &["-o", "json"]).await?;
        ensure!(planned.code == 1, "{}\n{}", planned.stdout, planned.stderr);
        let document = planned.document()?;
        ensure!(document["summary"]["created"] == 1 && document["summary"]["changed"] == 3, "{document}");
        for object in document["objects"].as_array().into_iter().flatten() {
            ensure!(object["fieldManagers"] == json!(["oarlock.misfit"]), "{object}");
            // What the plan rests on.
            let version = object["resourceVersion"].as_str();
            if object["action"] == "created" {
                ensure!(version.is_none(), "{object}");
                continue;
            }
            let path = format!("/api/v1/namespaces/{}/configmaps/{}", world.namespace, text(object, "/name"));
            let stored = world.cluster.get(&path).await?.context("the changed object")?;
            ensure!(version == stored["metadata"]["resourceVersion"].as_str(), "{object}\n{stored}");
        }
        ensure!(text(&document, "/read/0/resourceVersion").parse::<u64>().is_ok(), "{document}");
        let digest = Digest::of(&misfit_version("two", "remembers")?).to_string();
        ensure!(text(&document, "/plugins/0/digest") == digest, "{document}");
        let before = leaves(&world).await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "remembers")?)?;
        world.start_host().await?;
        for name in ["a", "b", "c", "d"] {
            child_has(&world, name, "first", name).await?;
        }
        let mut written = leaves(&world).await?;
        for key in before.keys() {
            written.entry(key.clone()).or_insert(Value::Null);
        }
        written.retain(|key, value| before.get(key) != Some(value));
        let planned = planned_leaves(&document);
        ensure!(planned == written, "planned {planned:#?}\nwritten {written:#?}");
        Ok(())
    })
    .await
}

/// The diff is for people: unified, with the object and the writer; the progress is not part of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_diff_names_object_and_writer_and_the_selection_counts() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        for name in ["a", "b"] {
            misfit(&world, name, "", "x").await?;
        }
        let folder = misfit_folder(&world, "one", "", &config_maps(&world))?;
        let planned = plan(&world, folder.path(), &[]).await?;
        let (out, namespace) = (&planned.stdout, &world.namespace);
        ensure!(planned.code == 1, "{out}\n{}", planned.stderr);
        for part in [
            format!("# v1.ConfigMap.{namespace}.a-child created by oarlock.misfit\n--- /dev/null\n+++ planned/v1.ConfigMap.{namespace}.a-child\n@@ -0,0 +1,"),
            "\n+  seen: x\n".to_owned(),
            "2 objects checked: 0 in sync, 0 rejected by the grant, 0 undecidable, 0 waiting".to_owned(),
            "0 changed, 2 created, 0 deleted".to_owned(),
        ] {
            ensure!(out.contains(&part), "no {part:?} in\n{out}");
        }
        ensure!(!out.contains("objects read") && planned.stderr.contains("objects read"), "{}", planned.stderr);
        for (args, code, created) in [
            (&["-l", "name=a"][..], 1, 1),
            (&["-n", namespace, "-l", "name in (a, b)"], 1, 2),
            (&["-n", "elsewhere"], 0, 0),
            (&["--kind", "configmap"], 1, 2),
        ] {
            let planned = plan(&world, folder.path(), &[args, &["-o", "json"]].concat()).await?;
            let document = planned.document()?;
            ensure!(planned.code == code && document["summary"]["created"] == created, "{args:?}: {document}");
        }
        for args in [&["--kind", "Pod"][..], &["-l", "=="], &["--grant", "/nowhere.yaml"]] {
            let refused = plan_without_gate(&world, folder.path(), args).await?;
            ensure!(refused.code == 2 && refused.stdout.is_empty(), "{args:?}: {}{}", refused.stdout, refused.stderr);
        }
        Ok(())
    })
    .await
}

/// One file with a grant of its own, wherever both are: names of files and folders do not matter.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_of_another_folder_counts_and_a_plugin_that_it_holds_back_is_told() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        misfit(&world, "a", "", "x").await?;
        let folder = PluginDir::create(world.folder().join("planned"))?;
        folder.file("new-version.wasm", &misfit_version("two", "")?)?;
        folder.grant("wide", &config_maps(&world))?;
        folder.grant("narrow", &Grant::nothing().rule("", &["configmaps"], &["get", "list", "watch"]))?;
        let file = folder.path().join("new-version.wasm");
        for (grant, code, created) in [("wide.yaml", 1, 1), ("narrow.yaml", 2, 0)] {
            let grant = folder.path().join(grant).display().to_string();
            let planned = plan(&world, &file, &["--grant", &grant, "-o", "json"]).await?;
            let document = planned.document()?;
            ensure!(planned.code == code && document["summary"]["created"] == created, "{document}");
            let told = document["problems"].to_string();
            ensure!(code == 1 || told.contains("plugin misfit does not run (awaiting-grant)"), "{told}");
        }
        // The version that runs, with the narrow grant.
        let running = PluginDir::create(world.folder().join("running"))?;
        running.file("misfit.wasm", &misfit_version("one", "")?)?;
        running.grant("misfit", &Grant::nothing().rule("", &["configmaps"], &["get", "list", "watch"]))?;
        let (wide, base) = (folder.path().join("wide.yaml"), running.path().join("misfit.wasm"));
        let args = ["--grant", &wide.display().to_string(), "--base", &base.display().to_string(), "-o", "json"];
        let document = plan(&world, &file, &args).await?.document()?;
        ensure!(document["grants"][0]["plugin"] == "misfit", "{document}");
        let lines = document["grants"][0]["lines"].to_string();
        let added =
            format!("+ permissions: get, list, watch, create, patch, delete configmaps (core) in {}", world.namespace);
        ensure!(lines.contains(&added), "{lines}");
        // The roles need what `oarlock rbac` prints for the new grant only. The grant is narrower than the old one in its namespaces.
        let rbac = document["grants"][0]["rbac"].to_string();
        let added = format!("+ rbac: create, patch, delete configmaps (core) in {}", world.namespace);
        ensure!(rbac.contains(&added) && rbac.contains("- rbac: get, list, watch configmaps (core)\""), "{rbac}");
        let args = ["--grant", &wide.display().to_string(), "--base", &base.display().to_string(), "-o", "summary"];
        let shown = plan(&world, &file, &args).await?.stdout;
        ensure!(shown.contains(&format!("  {added}\n")), "{shown}");
        // Nothing is written about a kind that is no primary any more, and the new grant does not name it: the old one does.
        let another = |manifest: &mut Value| {
            manifest["primaries"][0] = json!({"version": "v1", "kind": "Secret"});
            manifest["watches"] = json!([]);
            manifest["permissions"][0]["resources"] = json!(["secrets"]);
            manifest["permissions"][0]["verbs"] = json!(["get", "list", "watch"]);
        };
        folder.file("another.wasm", &misfit_with("two", "", another)?)?;
        folder.grant("another", &Grant::nothing().rule("", &["secrets"], &["get", "list", "watch"]))?;
        running.grant("misfit", &config_maps(&world))?;
        let path = format!("/api/v1/namespaces/{}/configmaps", world.namespace);
        let finalized = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "finalized", "finalizers": ["oarlock.dev/misfit"]}});
        world.cluster.create(&path, &finalized).await?;
        let (another, granted) = (folder.path().join("another.wasm"), folder.path().join("another.yaml"));
        let args = ["--grant", &granted.display().to_string(), "--base", &base.display().to_string(), "-o", "summary"];
        let planned = plan(&world, &another, &args).await?;
        let without = json!({"metadata": {"finalizers": null}});
        world.cluster.merge_patch(&format!("{path}/finalized"), &without).await?;
        ensure!(planned.code == 1, "{} {} {}", planned.code, planned.stdout, planned.stderr);
        for line in [
            "  primary v1, Kind=ConfigMap dropped: ",
            "  finalizer oarlock.dev/misfit left on 1 object of v1, Kind=ConfigMap: this version does not remove it\n",
        ] {
            ensure!(planned.stdout.contains(line), "no {line:?} in\n{}", planned.stdout);
        }
        let (program, wasm) =
            (oarlock_binary()?.display().to_string(), "new-version.wasm --grant wide.yaml -o summary");
        let command = format!(
            "cd '{}' && exec '{program}' plan {wasm} --kubeconfig '{}'",
            folder.path().display(),
            world.cluster.kubeconfig().display()
        );
        let output = tokio::process::Command::new("/bin/sh").args(["-c", &command]).output().await?;
        ensure!(output.status.code() == Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    })
    .await
}

/// A plan that may end before its first request.
async fn plan_without_gate(world: &World, folder: &Path, args: &[&str]) -> Result<Planned> {
    let kubeconfig = world.cluster.kubeconfig().display().to_string();
    let folder = folder.display().to_string();
    let cache = world.folder().join("code-cache").display().to_string();
    let all = [&["plan", &folder, "--kubeconfig", &kubeconfig, "--cache-dir", &cache], args].concat();
    let output = oarlock(&all).await?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let code = output.status.code().context("a plan was killed")?;
    Ok(Planned { code, stdout: text(output.stdout), stderr: text(output.stderr) })
}
