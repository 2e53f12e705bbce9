//! A hundred reconciles in each language become cases that replay, and a hundred with clocks and random numbers.

use super::{LANGUAGES, SOON, active, alone, replays};
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::Method;
use oarlock_tests::harness::{Grant, World, built_plugin, eventually, tested_languages, text, with_world};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

/// Cases in each language.
const ENOUGH: usize = 100;

/// Objects of each language.
const OBJECTS: usize = 12;

/// The recordings of an object, by their names. Empty: nothing of it is recorded at present.
///
/// * `object` - as a query.
async fn collect(world: &World, plugin: &str, object: &str) -> Result<BTreeMap<String, String>> {
    let path = format!("/recordings?{object}&plugin={plugin}&last=30");
    let ask = [("x-oarlock-action", "1")];
    let answer = world.host(async |host| host.admin().send(Method::GET, &path, &ask, Bytes::new()).await).await?;
    if answer.status != 200 {
        return Ok(BTreeMap::new());
    }
    let found = answer.json()?;
    let cases = found.get("recordings").and_then(Value::as_array).into_iter().flatten();
    Ok(cases.map(|case| (text(case, "/name"), text(case, "/case"))).collect())
}

/// Replays cases with the plugin that was recorded.
async fn all_replay(world: &World, plugin: &str, cases: &BTreeMap<String, String>) -> Result<()> {
    ensure!(cases.len() >= ENOUGH, "{plugin}: {} cases", cases.len());
    let folder = world.folder().join(format!("campaign-{plugin}"));
    fs::create_dir_all(&folder)?;
    for (name, case) in cases {
        fs::write(folder.join(format!("{name}.yaml")), case)?;
    }
    replays(&built_plugin(plugin)?, &folder).await.with_context(|| plugin.to_owned())
}

/// Whether the plugin got something of this in a case, or in a reconcile before it in the same instance.
fn got(case: &Value, pointer: &str) -> bool {
    let before = case.get("before").and_then(Value::as_array).into_iter().flatten();
    let some = |seen: &Value| seen.pointer(pointer).and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    before.chain([case]).any(some)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes with all languages"]
async fn a_hundred_reconciles_in_each_language_replay() -> Result<()> {
    with_world(alone(), async |world: Arc<World>| {
        let verbs = ["get", "list", "watch", "create", "patch", "delete"];
        let grant = Grant::nothing()
            .rule("", &["namespaces"], &["get", "list", "watch"])
            .rule("", &["resourcequotas"], &verbs)
            .rule("networking.k8s.io", &["networkpolicies"], &verbs);
        world.plugins.grant("namespace-baseline", &grant)?;
        world.start_host().await?;
        for language in tested_languages(&LANGUAGES) {
            let file = built_plugin(&format!("namespace-baseline-{language}"))?;
            world.plugins.place("namespace-baseline.wasm", &fs::read(&file)?)?;
            active(&world, "namespace-baseline", language).await?;
            let names: Vec<String> = (0..OBJECTS).map(|n| format!("{}-{language}-{n}", world.namespace)).collect();
            for name in &names {
                let object = json!({"apiVersion": "v1", "kind": "Namespace",
                    "metadata": {"name": name, "labels": {"oarlock.dev/baseline": "true"}}});
                world.cluster.create("/api/v1/namespaces", &object).await?;
            }
            let mut cases = BTreeMap::new();
            for round in 0..100 {
                for (number, name) in names.iter().enumerate() {
                    let quota = match (round + number) % 4 {
                        0 => json!("[1]"),
                        1 => json!(format!("{{\"pods\": \"{round}\"}}")),
                        2 => json!(format!("{{\"pods\": \"{number}\", \"services\": \"{round}\"}}")),
                        _ => Value::Null,
                    };
                    let annotated = json!({"metadata": {"annotations": {"baseline.oarlock.dev/quota": quota}}});
                    world.cluster.merge_patch(&format!("/api/v1/namespaces/{name}"), &annotated).await?;
                    cases.extend(collect(&world, "namespace-baseline", &format!("kind=Namespace&name={name}")).await?);
                }
                if cases.len() >= ENOUGH {
                    break;
                }
            }
            all_replay(&world, &format!("namespace-baseline-{language}"), &cases).await?;
            for name in &names {
                world.cluster.delete(&format!("/api/v1/namespaces/{name}")).await?;
            }
        }
        Ok(())
    })
    .await
}

/// The states of the guest in this mode contain clocks, random numbers, hash orders, and a counter in its memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes with all languages"]
async fn a_hundred_reconciles_with_clocks_and_random_numbers_replay_in_each_language() -> Result<()> {
    with_world(alone(), async |world: Arc<World>| {
        world.start_host().await?;
        let objects = format!("/api/v1/namespaces/{}/configmaps", world.namespace);
        for language in tested_languages(&LANGUAGES) {
            let plugin = format!("unruly-{language}");
            let grant = Grant::nothing().rule_in(&world.namespace, "", &["configmaps"], &["get", "list", "watch"]);
            let grant = grant.config("mode", "chance").limits(|limits| limits.instance_reuses = 3);
            world.plugins.grant(&plugin, &grant)?;
            world.plugins.place(&format!("{plugin}.wasm"), &fs::read(built_plugin(&plugin)?)?)?;
            active(&world, &plugin, "0.1.0").await?;
            let mut cases = BTreeMap::new();
            for number in 0..ENOUGH {
                let name = format!("{language}-{number}");
                let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
                world.cluster.create(&objects, &object).await?;
                let query = format!("kind=ConfigMap&namespace={}&name={name}", world.namespace);
                let found = eventually(SOON, &format!("a recording of {name}"), || async {
                    let found = collect(&world, &plugin, &query).await?;
                    ensure!(!found.is_empty(), "none");
                    Ok(found)
                })
                .await?;
                cases.extend(found);
                world.cluster.delete(&format!("{objects}/{name}")).await?;
            }
            let mut drawn = 0;
            for (name, case) in &cases {
                let case: Value = serde_saphyr::from_str(case).with_context(|| name.clone())?;
                // A language may make its random numbers of what a clock shows.
                ensure!(got(&case, "/clock/wall"), "{name} has no clock");
                drawn += usize::from(got(&case, "/random"));
            }
            println!("{language}: {} cases, {drawn} with random bytes of the host", cases.len());
            all_replay(&world, &plugin, &cases).await?;
            world.plugins.remove(&format!("{plugin}.wasm"))?;
        }
        Ok(())
    })
    .await
}
