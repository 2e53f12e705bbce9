//! Reads are subscriptions: a change wakes the keys that read the object, and no others; an unchanged key is skipped at a resync.

use anyhow::{Context, Result, bail, ensure};
use oarlock_tests::harness::{
    Grant, SOON, World, WorldOptions, eventually, misfit_with, text, with_another_digest, with_world,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

mod kinds;
#[path = "guests/misfit/src/program.rs"]
mod program;
mod resyncs;

use program::Query;

/// The names of the keys of both plugins begin with these.
const BOTH: [&str; 2] = ["reader", "everyone"];

/// Keys of each plugin.
const KEYS: usize = 8;

/// A misfit for the objects with `label`, that watches the ConfigMaps with the label `indexed`.
///
/// * `map_to` - of that watch. None: the keys that read an object.
pub(crate) fn version(number: &str, label: &str, map_to: Option<&str>) -> Result<Vec<u8>> {
    misfit_with(number, "", |manifest| {
        if let Some(selector) = manifest.pointer_mut("/primaries/0/labelSelector") {
            *selector = json!(label);
        }
        let mut watch = json!({"version": "v1", "kind": "ConfigMap", "labelSelector": "indexed"});
        if let (Some(map_to), Some(fields)) = (map_to, watch.as_object_mut()) {
            fields.insert("mapTo".to_owned(), json!({"type": map_to}));
        }
        if let Some(watches) = manifest.pointer_mut("/watches").and_then(Value::as_array_mut) {
            watches.push(watch);
        }
        if let Some(fields) = manifest.as_object_mut() {
            let index = json!({"name": "by-tenant", "version": "v1", "kind": "ConfigMap", "jsonPath": ".data.tenant"});
            fields.insert("indexes".to_owned(), json!([index]));
        }
    })
}

fn grant() -> Grant {
    Grant::nothing().rule("", &["configmaps"], &["get", "list", "watch", "create", "patch", "delete"])
}

fn options() -> WorldOptions {
    WorldOptions { host: false, network: false, crd: false, ..WorldOptions::default() }
}

fn config_maps(world: &World) -> String {
    format!("/api/v1/namespaces/{}/configmaps", world.namespace)
}

/// A key of one of the plugins, in a mode of the misfit.
pub(crate) async fn key(world: &World, name: &str, label: &str, mode: &str, value: &str) -> Result<()> {
    let (label, of) = label.split_once('=').context("no label")?;
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"value": value},
        "metadata": {"name": name, "labels": {label: of}, "annotations": {"misfit/mode": mode}}});
    world.cluster.create(&config_maps(world), &object).await.map(drop)
}

/// The object that a program may read, in a random state.
fn drawn(random: &mut fastrand::Rng, name: &str, roots: &[String]) -> Value {
    let owners = roots
        .iter()
        .enumerate()
        .filter(|_| random.u8(0..3) == 0)
        .map(|(i, uid)| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": format!("root{i}"), "uid": uid}));
    let owners: Vec<Value> = owners.collect();
    let labels = json!({"indexed": "true", "tier": random.u8(0..4).to_string(), "side": random.u8(0..2).to_string()});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels, "ownerReferences": owners},
        "data": {"tenant": format!("t{}", random.u8(0..4)), "number": random.u16(..).to_string()}})
}

/// Changes, makes or deletes one of the objects that programs may read. Returns its name.
pub(crate) async fn change(world: &World, random: &mut fastrand::Rng, roots: &[String]) -> Result<String> {
    let name = format!("v{}", random.u8(0..6));
    let path = format!("{}/{name}", config_maps(world));
    let state = drawn(random, &name, roots);
    match world.cluster.get(&path).await? {
        Some(_) if random.u8(0..4) == 0 => world.cluster.delete(&path).await?,
        Some(_) => world.cluster.merge_patch(&path, &state).await.map(drop)?,
        None => world.cluster.create(&config_maps(world), &state).await.map(drop)?,
    }
    Ok(name)
}

/// The objects that the programs may read.
async fn readable(world: &World) -> Result<Vec<Value>> {
    let mut objects = world.cluster.list(&format!("{}?labelSelector=indexed", config_maps(world))).await?;
    objects.sort_by_key(|object| text(object, "/metadata/name"));
    Ok(objects)
}

fn selects(query: &Query, object: &Value) -> bool {
    let label = |label: &str| object.pointer(&format!("/metadata/labels/{label}")).and_then(Value::as_str);
    match query {
        Query::Named(name) => text(object, "/metadata/name") == *name,
        Query::Labelled(selector) => selector.split(",side").all(|part| match part.split_once("!=") {
            Some((_, side)) => label("side") != Some(side),
            None if part.contains(" in ") => ["0", "1"].contains(&label("tier").unwrap_or_default()),
            None => part.strip_prefix("tier=") == label("tier"),
        }),
        Query::Tenant(tenant) => text(object, "/data/tenant") == *tenant,
        Query::OwnedBy(uid) => {
            let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
            owners.into_iter().flatten().any(|owner| text(owner, "/uid") == *uid)
        }
    }
}

/// The digest that a program of this seed has on these objects, and its queries.
fn expected(seed: &str, objects: &[Value]) -> (String, Vec<Query>) {
    let mut queries = Vec::new();
    let run = program::run(seed, |query| {
        queries.push(query.clone());
        Ok::<_, Infallible>(objects.iter().filter(|object| selects(query, object)).cloned().collect())
    });
    let Ok(digest) = run;
    (digest, queries)
}

/// Waits until every key of the plugins shows the digest of the objects that there are.
pub(crate) async fn agree(world: &World, plugins: &[&str], seeds: &[String], what: &str) -> Result<()> {
    eventually(4 * SOON, what, || async {
        let objects = readable(world).await?;
        for (i, seed) in seeds.iter().enumerate() {
            let (digest, _) = expected(seed, &objects);
            for plugin in plugins {
                let path = format!("{}/{plugin}{i}-child", config_maps(world));
                let child = world.cluster.get(&path).await?.with_context(|| format!("{plugin}{i} has no child"))?;
                ensure!(text(&child, "/data/seen") == digest, "{plugin}{i}, seed {seed}: not {digest}: {child}");
            }
        }
        Ok(())
    })
    .await
}

/// The keys of the readers that events of this object have woken, in the log after its first `from` lines.
async fn woken(world: &World, object: &str, from: usize) -> Result<BTreeSet<String>> {
    let cause = format!("ConfigMap {}/{object} ", world.namespace);
    let lines = reconciled(world).await?;
    let caused = lines.into_iter().skip(from).filter(|(_, by)| by.starts_with(&cause));
    Ok(caused.map(|(key, _)| key).collect())
}

/// The keys and causes of the readers' reconciles so far.
async fn reconciled(world: &World) -> Result<Vec<(String, String)>> {
    let lines = world.log(|line| line.field("plugin").as_deref() == Some("readers") && line.field("trigger").is_some());
    let fields =
        |line: &oarlock_tests::harness::LogLine| Some((line.field("key")?, line.field("cause").unwrap_or_default()));
    Ok(lines.await?.iter().filter_map(fields).collect())
}

/// Makes the owners of other objects. Returns their uids.
pub(crate) async fn roots(world: &World) -> Result<Vec<String>> {
    let mut roots = Vec::new();
    for root in ["root0", "root1"] {
        let made =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": root, "labels": {"indexed": "true"}}});
        roots.push(text(&world.cluster.create(&config_maps(world), &made).await?, "/metadata/uid"));
    }
    Ok(roots)
}

/// The two plugins with their keys: `reader0` … are woken by their reads, `everyone0` … by every change.
async fn programs(world: &World, random: &mut fastrand::Rng) -> Result<(Vec<String>, Vec<String>)> {
    for (plugin, label, map_to) in [("readers", "misfit=reader", None), ("everyone", "misfit=everyone", Some("all"))] {
        world.plugins.grant(plugin, &grant().name(plugin).workers(2))?;
        world.plugins.place(&format!("{plugin}.wasm"), &version("1", label, map_to)?)?;
    }
    world.set_environment("OARLOCK_LOG", "info,oarlock=debug");
    world.start_host().await?;
    let roots = roots(world).await?;
    let seeds: Vec<String> = (0..KEYS).map(|_| random.u32(..).to_string()).collect();
    for (i, seed) in seeds.iter().enumerate() {
        for plugin in BOTH {
            key(world, &format!("{plugin}{i}"), &format!("misfit={plugin}"), "program", seed).await?;
        }
    }
    Ok((seeds, roots))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_of_random_reads_end_where_a_host_that_runs_every_key_ends() -> Result<()> {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    with_world(options(), async |world: Arc<World>| {
        let (mut seeds, roots) = programs(&world, &mut random).await?;
        for round in 0..12 {
            for _ in 0..random.usize(1..12) {
                change(&world, &mut random, &roots).await?;
            }
            match round % 6 {
                1 => world.kubernetes_gate.cut(),
                2 => {
                    // A program that reads something else from now on.
                    let i = random.usize(0..KEYS);
                    let seed = random.u32(..).to_string();
                    for plugin in BOTH {
                        let path = format!("{}/{plugin}{i}", config_maps(&world));
                        world.cluster.merge_patch(&path, &json!({"data": {"value": seed}})).await?;
                    }
                    *seeds.get_mut(i).context("no such key")? = seed;
                }
                3 => {
                    let next = version(&(round + 2).to_string(), "misfit=reader", None)?;
                    world.plugins.place("readers.wasm", &with_another_digest(&next, &round.to_string()))?;
                }
                4 => {
                    world.kubernetes_gate.set_down(true);
                    tokio::time::sleep(Duration::from_millis(300)).await;
                    world.kubernetes_gate.set_down(false);
                }
                5 => {
                    world.kill_host().await?;
                    world.start_host().await?;
                }
                _ => {}
            }
            // While the faults last.
            for _ in 0..random.usize(1..6) {
                change(&world, &mut random, &roots).await?;
            }
            agree(&world, &BOTH, &seeds, &format!("round {round} of seed {seed}")).await?;
        }
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_wakes_exactly_the_keys_that_read_the_object() -> Result<()> {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    with_world(options(), async |world: Arc<World>| {
        let (seeds, roots) = programs(&world, &mut random).await?;
        for _ in 0..12 {
            change(&world, &mut random, &roots).await?;
        }
        agree(&world, &BOTH, &seeds, "the first state").await?;
        let mut spared = 0;
        for step in 0..12 {
            let before = readable(&world).await?;
            let from = quiet(&world).await?;
            let name = change(&world, &mut random, &roots).await?;
            agree(&world, &BOTH, &seeds, &format!("step {step} of seed {seed}")).await?;
            let after = readable(&world).await?;
            let states: Vec<&Value> =
                before.iter().chain(&after).filter(|object| text(object, "/metadata/name") == name).collect();
            let mut wanted = BTreeSet::new();
            for (i, seed) in seeds.iter().enumerate() {
                let (_, queries) = expected(seed, &before);
                let concerned = queries.iter().any(|query| states.iter().any(|state| selects(query, state)));
                if concerned {
                    wanted.insert(format!("ConfigMap {}/reader{i}", world.namespace));
                }
            }
            spared += seeds.len() - wanted.len();
            eventually(SOON, &format!("step {step} of seed {seed}: {name}"), || async {
                let found = woken(&world, &name, from).await?;
                ensure!(found == wanted, "woken by {name}: {found:?}, not {wanted:?}");
                Ok(())
            })
            .await?;
            quiet(&world).await?;
            let late = woken(&world, &name, from).await?;
            ensure!(late == wanted, "step {step} of seed {seed}: woken later by {name}: {late:?}, not {wanted:?}");
        }
        ensure!(spared > 0, "every key read everything");
        Ok(())
    })
    .await
}

/// Waits until the readers have had nothing to do for a while: the events of a change reach the host a moment after its response. Returns the
/// number of their reconciles so far.
async fn quiet(world: &World) -> Result<usize> {
    let (mut last, mut polls) = (0, 0);
    let deadline = Instant::now() + SOON;
    while Instant::now() < deadline {
        let (busy, view) = world
            .host(async |host| {
                let busy = host.metric("controller_runtime_active_workers", &["controller=\"readers\""]).await?;
                Ok((busy, host.plugin("readers").await?))
            })
            .await?;
        let now = reconciled(world).await?.len();
        let still = now == last && busy < 0.5 && view.get("queueDepth") == Some(&json!(0));
        (last, polls) = (now, if still { polls + 1 } else { 0 });
        if polls == 4 {
            return Ok(now);
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    bail!("the readers do not come to rest")
}

/// A kind that is a primary and a watch of one name has two caches. The one that answers a read may be the later one to have the change.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_not_lost_between_two_caches_of_a_kind() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let manifest = misfit_with("1", "nothing", |manifest| {
            let primary = json!([{"version": "v1", "kind": "ConfigMap", "namespaces": [world.namespace]}]);
            let watches = json!([{"version": "v1", "kind": "ConfigMap", "names": ["v0"]}]);
            if let Some(fields) = manifest.as_object_mut() {
                fields.extend([("primaries".to_owned(), primary), ("watches".to_owned(), watches)]);
            }
        });
        world.plugins.grant("readers", &grant().name("readers"))?;
        world.plugins.place("readers.wasm", &manifest?)?;
        world.set_environment("OARLOCK_LOG", "info,oarlock=debug");
        world.start_host().await?;
        let first =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "v0"}, "data": {"number": "1"}});
        let first = world.cluster.create(&config_maps(&world), &first).await?;
        let reads_it = |seed: &u32| {
            let (_, queries) = expected(&seed.to_string(), &[]);
            queries.first() == Some(&Query::Named("v0".to_owned()))
                && queries.iter().all(|query| matches!(query, Query::Named(_)))
        };
        let seed = (0..).find(reads_it).context("no such seed")?.to_string();
        key(&world, "reader", "misfit=reader", "program", &seed).await?;
        let child = format!("{}/reader-child", config_maps(&world));
        let shows = async |objects: &[Value]| {
            let (digest, _) = expected(&seed, objects);
            eventually(SOON, "the digest", || async {
                let child = world.cluster.get(&child).await?.context("no child")?;
                ensure!(text(&child, "/data/seen") == digest, "not {digest}: {child}");
                Ok(())
            })
            .await
        };
        shows(&[first]).await?;
        quiet(&world).await?;
        world.kubernetes_gate.stall(&[&config_maps(&world)]);
        let (path, patch) = (format!("{}/v0", config_maps(&world)), json!({"data": {"number": "2"}}));
        let changed = world.cluster.merge_patch(&path, &patch).await?;
        let woken_by = format!("ConfigMap {}/v0 modified: data.number", world.namespace);
        world
            .logged("the reader, woken by the watch of one name", |line| line.field("cause") == Some(woken_by.clone()))
            .await?;
        world.kubernetes_gate.stall(&[]);
        shows(&[changed]).await
    })
    .await
}
