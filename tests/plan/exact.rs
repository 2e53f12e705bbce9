//! Planned set = written set: random programs on random objects, planned while a host runs, which then swaps.

use super::{ALONE, Planned};
use crate::dependencies::{change, roots};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{
    Gate, Grant, PluginDir, SOON, Tripwire, Upstream, World, eventually, misfit_with, oarlock, steady, text, with_world,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Modes of ConfigMaps whose reconciles end. `remembers` keeps something in the host, so its objects keep their value.
const MODES: [&str; 9] =
    ["writes", "writes", "writes", "program", "ok", "remembers", "reordered", "changes:3", "nothing"];

/// No write for this long: the host is done.
const QUIET: Duration = Duration::from_millis(500);

pub(crate) const GROUP: &str = "plan.oarlock.test";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// The kinds of the test: a built-in one, a custom one, and a cluster-scoped one.
pub(crate) const KINDS: [&str; 3] = ["ConfigMap", "Gadget", "Rack"];

/// Objects by `KIND NAME`.
pub(crate) type Objects = BTreeMap<String, Value>;

pub(crate) fn collection(world: &World, kind: &str) -> String {
    match kind {
        "ConfigMap" => format!("/api/v1/namespaces/{}/configmaps", world.namespace),
        "Gadget" => format!("/apis/{GROUP}/v1/namespaces/{}/gadgets", world.namespace),
        _ => format!("/apis/{GROUP}/v1/racks"),
    }
}

/// The definitions of the custom kinds.
pub(crate) async fn definitions(world: &World) -> Result<()> {
    let list = |keys: &str, item: Value| json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [keys], "items": item});
    let texts =
        |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect::<Value>();
    let mut port = json!({"type": "object", "required": ["name"], "properties": texts(&["name"])});
    port["properties"]["port"] = json!({"type": "integer"});
    let mut condition = json!({"type": "object", "required": ["type"],
        "properties": texts(&["type", "status", "reason", "message", "lastTransitionTime"])});
    condition["properties"]["observedGeneration"] = json!({"type": "integer"});
    let schema = json!({"type": "object", "properties": {
        "data": {"type": "object", "additionalProperties": {"type": "string"}},
        "spec": {"type": "object", "properties": {"size": {"type": "integer"}, "ports": list("name", port),
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}},
        "status": {"type": "object", "properties": {"size": {"type": "integer"}, "phase": {"type": "string"},
            "observedGeneration": {"type": "integer"}, "conditions": list("type", condition)}}}});
    for (kind, scope) in [("Gadget", "Namespaced"), ("Rack", "Cluster")] {
        let singular = kind.to_lowercase();
        let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{singular}s.{GROUP}")},
            "spec": {"group": GROUP, "scope": scope,
                "names": {"plural": format!("{singular}s"), "singular": singular, "kind": kind},
                "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": schema}}]}});
        world.cluster.create(DEFINITIONS, &definition).await?;
        let path = collection(world, kind);
        eventually(SOON, &format!("{path} to be served"), || world.cluster.list(&path)).await?;
    }
    Ok(())
}

pub(crate) fn grant(world: &World) -> Grant {
    let verbs = ["get", "list", "watch", "create", "patch", "delete"];
    Grant::nothing()
        .rule_in(&world.namespace, "", &["configmaps"], &verbs)
        .rule_in(&world.namespace, GROUP, &["gadgets", "gadgets/status"], &verbs)
        .rule(GROUP, &["racks", "racks/status"], &verbs)
        .cleanup()
        .manage_status()
}

/// A version of the plugin, which reconciles all kinds.
pub(crate) fn version(number: usize, cleanup: bool, manage_status: bool) -> Result<Vec<u8>> {
    let custom =
        |kind: &str, label: &str| json!({"group": GROUP, "version": "v1", "kind": kind, "labelSelector": label});
    misfit_with(&number.to_string(), "", |manifest| {
        manifest["cleanup"] = json!(cleanup);
        manifest["manageStatus"] = json!(manage_status);
        let config_map = |label: &str| json!({"version": "v1", "kind": "ConfigMap", "labelSelector": label});
        let mut primary = config_map("misfit=true");
        primary["manageStatus"] = json!(false);
        manifest["primaries"] = json!([primary, custom("Gadget", "misfit=true"), custom("Rack", "misfit=true")]);
        // Without `mapTo`: the keys that read an object.
        let children = "misfit-child=true";
        manifest["watches"] =
            json!([config_map(children), config_map("indexed"), custom("Gadget", children), custom("Rack", children)]);
        let index = json!({"name": "by-tenant", "version": "v1", "kind": "ConfigMap", "jsonPath": ".data.tenant"});
        manifest["indexes"] = json!([index]);
        let verbs = ["get", "list", "watch", "create", "patch", "delete"];
        manifest["permissions"] = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs},
            {"apiGroups": [GROUP], "resources": ["gadgets", "racks"], "verbs": verbs}]);
    })
}

/// Makes an object of the plugin.
pub(crate) async fn object(world: &World, kind: &str, name: &str, mode: &str, value: &str) -> Result<()> {
    // A name of a cluster-scoped kind is nobody else's.
    let name = if kind == "Rack" { format!("{}-{name}", world.namespace) } else { name.to_owned() };
    let api_version = if kind == "ConfigMap" { "v1".to_owned() } else { format!("{GROUP}/v1") };
    let object = json!({"apiVersion": api_version, "kind": kind, "data": {"value": value, "namespace": world.namespace},
        "metadata": {"name": name, "labels": {"misfit": "true"}, "annotations": {"misfit/mode": mode}}});
    world.cluster.create(&collection(world, kind), &object).await.map(drop)
}

/// Makes, changes, pauses and deletes objects, of the plugin and of others.
async fn edit(world: &World, random: &mut fastrand::Rng, roots: &[String], round: usize) -> Result<()> {
    for _ in 0..random.usize(4..8) {
        change(world, random, roots).await?;
    }
    for (kind, mode) in [("ConfigMap", random.choice(MODES).unwrap_or("ok")), ("Gadget", "writes"), ("Rack", "writes")]
    {
        for number in 0..random.usize(1..3) {
            object(world, kind, &format!("key{round}-{number}"), mode, &random.u32(..).to_string()).await?;
        }
    }
    for (key, object) in stored(world).await? {
        let (kind, name) = key.split_once(' ').context("no kind")?;
        let path = format!("{}/{name}", collection(world, kind));
        // Those always write.
        if name.contains("turn") {
            continue;
        }
        let writes = text(&object, "/metadata/annotations/misfit~1mode") == "writes";
        let patch = match random.u8(0..8) {
            0 if writes => json!({"data": {"value": random.u32(..).to_string()}}),
            1 if writes => json!({"metadata": {"annotations": {"oarlock.dev/paused": random.bool().to_string()}}}),
            2 if object.pointer("/metadata/labels/misfit-child").is_some() => {
                json!({"metadata": {"labels": {"foreign": random.u8(..).to_string()}}})
            }
            3 if writes => {
                world.cluster.delete(&path).await?;
                continue;
            }
            _ => continue,
        };
        // It may have gone with another one.
        drop(world.cluster.merge_patch(&path, &patch).await);
    }
    Ok(())
}

/// All objects, without what every write changes. Times are those of the writes.
pub(crate) async fn stored(world: &World) -> Result<Objects> {
    let mut found = Objects::new();
    for kind in KINDS {
        for mut object in world.cluster.list(&collection(world, kind)).await? {
            let api_version = if kind == "ConfigMap" { "v1".to_owned() } else { format!("{GROUP}/v1") };
            object["apiVersion"] = json!(api_version);
            object["kind"] = json!(kind);
            found.insert(format!("{kind} {}", text(&object, "/metadata/name")), comparable(object));
        }
    }
    Ok(found)
}

fn comparable(mut object: Value) -> Value {
    if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
        for field in ["uid", "creationTimestamp", "resourceVersion", "generation", "managedFields"] {
            metadata.remove(field);
        }
    }
    untimed(&mut object);
    object
}

fn untimed(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(untimed),
        Value::Object(fields) => {
            for (name, field) in fields {
                match name.as_str() {
                    "lastTransitionTime" | "deletionTimestamp" => *field = json!("a time"),
                    _ => untimed(field),
                }
            }
        }
        _ => {}
    }
}

/// The objects after a plan: its values, and no others, in place of those of before.
fn after(mut objects: Objects, document: &Value) -> Result<Objects> {
    for planned in document["objects"].as_array().into_iter().flatten() {
        let key = format!("{} {}", text(planned, "/kind"), text(planned, "/name"));
        let values = planned["values"].as_array().context("no values")?;
        match planned["action"].as_str() {
            Some("created") => {
                ensure!(!objects.contains_key(&key), "{planned}");
                objects.insert(key, comparable(planned["values"][0]["after"].clone()));
            }
            Some("deleted") => {
                let gone = objects.remove(&key).with_context(|| format!("{planned}"))?;
                ensure!(comparable(planned["values"][0]["before"].clone()) == gone, "{planned}\nis {gone}");
            }
            _ => {
                let object = objects.get_mut(&key).with_context(|| format!("{planned}"))?;
                // Items of a list go from the last one to the first one.
                let (set, gone): (Vec<_>, Vec<_>) = values.iter().partition(|value| value.get("after").is_some());
                for value in set.into_iter().chain(gone.into_iter().rev()) {
                    put(object, &text(value, "/path"), value.get("after"))?;
                }
                *object = comparable(object.take());
            }
        }
    }
    Ok(objects)
}

/// Sets the value at a pointer; none: removes it.
fn put(object: &mut Value, pointer: &str, value: Option<&Value>) -> Result<()> {
    let (parent, name) = pointer.rsplit_once('/').context("no parent")?;
    let name = name.replace("~1", "/").replace("~0", "~");
    match (object.pointer_mut(parent), value) {
        (Some(Value::Object(fields)), Some(value)) => drop(fields.insert(name, value.clone())),
        (Some(Value::Object(fields)), None) => drop(fields.remove(&name).context("no such field")?),
        (Some(Value::Array(items)), Some(value)) => match items.get_mut(name.parse::<usize>()?) {
            Some(item) => *item = value.clone(),
            None => items.push(value.clone()),
        },
        (Some(Value::Array(items)), None) => drop(items.remove(name.parse()?)),
        _ => anyhow::bail!("{pointer} has no parent"),
    }
    Ok(())
}

pub(crate) fn difference(planned: &Objects, stored: &Objects) -> String {
    let keys: BTreeSet<&String> = planned.keys().chain(stored.keys()).collect();
    let differ = keys.into_iter().filter(|key| planned.get(*key) != stored.get(*key));
    let shown = differ.map(|key| format!("{key}\nplanned {:#?}\nstored {:#?}\n", planned.get(key), stored.get(key)));
    shown.collect()
}

/// Plans a folder, through a gate of its own, which lets us see that it only reads.
async fn plan(world: &World, folder: &PluginDir) -> Result<Planned> {
    let gate = Gate::open(Upstream::Kubernetes(world.cluster.client()), Tripwire::default()).await?;
    let kubeconfig = world.folder().join("kubeconfig-of-the-plan");
    let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "gate",
        "clusters": [{"name": "gate", "cluster": {"server": gate.url()}}], "users": [{"name": "gate", "user": {}}],
        "contexts": [{"name": "gate", "context": {"cluster": "gate", "user": "gate"}}]});
    std::fs::write(&kubeconfig, config.to_string())?;
    let [folder, kubeconfig, cache] =
        [folder.path(), &kubeconfig, &world.folder().join("code-cache")].map(|path| path.display().to_string());
    let args = ["plan", &folder, "--kubeconfig", &kubeconfig, "--cache-dir", &cache, "-o", "json"];
    let output = oarlock(&args).await?;
    let sent = gate.journal();
    ensure!(!sent.is_empty() && sent.iter().all(|one| one.method == http::Method::GET), "a plan sent {sent:?}");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let code = output.status.code().context("a plan was killed")?;
    Ok(Planned { code, stdout: text(output.stdout), stderr: text(output.stderr) })
}

/// Waits until nothing runs or waits in the host, and nothing changes.
pub(crate) async fn at_rest(world: &World, number: usize) -> Result<Objects> {
    eventually(2 * SOON, &format!("version {number} at rest"), || async {
        let idle = async || {
            let asked = async |host: &oarlock_tests::harness::Host| {
                let busy = host.metric("controller_runtime_active_workers", &["controller=\"misfit\""]).await?;
                Ok((busy, host.plugin("misfit").await?))
            };
            let (busy, entry) = world.host(asked).await?;
            let runs = text(&entry, "/version") == number.to_string() && text(&entry, "/state") == "active";
            ensure!(runs && busy < 0.5 && entry["queueDepth"] == 0, "{busy} workers, {entry:#}");
            Ok(())
        };
        idle().await?;
        let before = stored(world).await?;
        steady(QUIET, "the rest", || async {
            idle().await?;
            ensure!(stored(world).await? == before, "something was written");
            Ok(())
        })
        .await?;
        Ok(before)
    })
    .await
}

/// Puts a version in place, and confirms what it drops.
async fn swap(world: &World, wasm: &[u8], number: usize) -> Result<()> {
    world.plugins.file("misfit.wasm", wasm)?;
    let admin = world.host(async |host| Ok(host.admin().base().trim_start_matches("http://").to_owned())).await?;
    eventually(SOON, &format!("version {number}"), || async {
        let entry = world.host(async |host| host.plugin("misfit").await).await?;
        if text(&entry, "/next/state") == "awaiting-confirmation" {
            oarlock(&["confirm", "misfit", "--admin-addr", &admin]).await?;
        }
        ensure!(text(&entry, "/version") == number.to_string() && text(&entry, "/state") == "active", "{entry:#}");
        Ok(())
    })
    .await
}

/// The objects of the kinds of the test that a host has written since a mark.
fn written(world: &World, mark: usize) -> BTreeSet<String> {
    let named = world.kubernetes_gate.writes_since(mark).into_iter().filter_map(|exchange| {
        let path = exchange.path.split('?').next()?.to_owned();
        KINDS.into_iter().find_map(|kind| {
            let name = path.strip_prefix(&format!("{}/", collection(world, kind)))?.split('/').next()?.to_owned();
            Some(format!("{kind} {name}"))
        })
    });
    named.collect()
}

/// What kinds of writes a plan names.
fn notable(document: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for planned in document["objects"].as_array().into_iter().flatten() {
        let action = text(planned, "/action");
        found.insert(format!("{} {action}", text(planned, "/kind")));
        for value in planned["values"].as_array().into_iter().flatten().filter(|_| action == "changed") {
            let path = text(value, "/path");
            if path.starts_with("/status") {
                found.insert("status".to_owned());
            }
            if path.starts_with("/metadata/finalizers") {
                let sides = (value.get("before").is_some(), value.get("after").is_some());
                found.insert(format!("finalizer {}", if sides == (false, true) { "added" } else { "dropped" }));
            }
        }
        if text(planned, "/values/0/before/metadata/deletionTimestamp") != "" {
            found.insert("deletion ended".to_owned());
        }
    }
    found
}

/// Plans a version while another one runs, swaps, and compares. Returns what kinds of writes there were.
async fn exact(world: &World, wasm: &[u8], number: usize) -> Result<BTreeSet<String>> {
    let folder = PluginDir::create(world.folder().join(format!("planned{number}")))?;
    folder.file("misfit.wasm", wasm)?;
    folder.grant("misfit", &grant(world))?;
    let before = at_rest(world, number - 1).await?;
    let planned = plan(world, &folder).await?;
    let document = planned.document()?;
    // A deletion that is held up cannot be decided.
    ensure!(document["problems"] == json!([]) && document["rejected"] == json!([]), "{document:#}");
    ensure!(stored(world).await? == before, "the cluster changes by itself");
    let expected = after(before.clone(), &document)?;
    let mark = world.kubernetes_gate.mark();
    swap(world, wasm, number).await?;
    eventually(SOON, "the planned state", || async {
        let stored = stored(world).await?;
        ensure!(stored == expected, "version {number}: {}", difference(&expected, &stored));
        Ok(())
    })
    .await?;
    let stored = at_rest(world, number).await?;
    ensure!(stored == expected, "version {number}, later: {}", difference(&expected, &stored));
    let named = document["objects"].as_array().into_iter().flatten();
    let named: BTreeSet<String> = named.map(|one| format!("{} {}", text(one, "/kind"), text(one, "/name"))).collect();
    let written = written(world, mark);
    ensure!(written == named, "version {number} wrote {written:?}, planned {named:?}");
    let again = plan(world, &folder).await?.document()?;
    ensure!(again["objects"] == json!([]), "version {number}: a second plan is not empty: {again:#}");
    Ok(notable(&document))
}

/// Versions that write other things, that begin and end to clean up and to manage the status, one after the other in a running host.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_random_programs_write_is_what_the_plan_shows() -> Result<()> {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    with_world(ALONE, async |world: Arc<World>| {
        definitions(&world).await?;
        let roots = roots(&world).await?;
        let status = random.bool();
        world.plugins.grant("misfit", &grant(&world))?;
        world.plugins.file("misfit.wasm", &version(1, true, status)?)?;
        for kind in KINDS {
            for name in ["turn", "turn-ends"] {
                object(&world, kind, name, "writes", name).await?;
            }
        }
        world.start_host().await?;
        let mut seen = BTreeSet::new();
        for number in 2..=4 {
            if number == 2 {
                at_rest(&world, 1).await?;
                for kind in ["Gadget", "Rack"] {
                    let name =
                        if kind == "Rack" { format!("{}-turn-ends", world.namespace) } else { "turn-ends".into() };
                    world.cluster.delete(&format!("{}/{name}", collection(&world, kind))).await?;
                }
            }
            edit(&world, &mut random, &roots, number).await?;
            // The second version cleans up, so that it ends the deletions; the third one does not, and the fourth one begins again.
            let wasm = version(number, number != 3, random.bool())?;
            seen.extend(exact(&world, &wasm, number).await.with_context(|| format!("seed {seed}"))?);
        }
        for what in ["ConfigMap", "Gadget", "Rack"]
            .into_iter()
            .flat_map(|kind| ["created", "deleted"].map(|action| format!("{kind} {action}")))
        {
            ensure!(seen.contains(&what), "seed {seed}: no {what} in {seen:?}");
        }
        for what in ["status", "finalizer added", "finalizer dropped", "deletion ended"] {
            ensure!(seen.contains(what), "seed {seed}: no {what} in {seen:?}");
        }
        Ok(())
    })
    .await
}
