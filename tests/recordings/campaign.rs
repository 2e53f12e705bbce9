//! A hundred reconciles in each language become cases that replay.

use super::{LANGUAGES, active, alone, replays};
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::Method;
use oarlock_tests::harness::{Grant, World, built_plugin, tested_languages, text, with_world};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

/// Cases in each language.
const ENOUGH: usize = 100;

/// Objects of each language.
const OBJECTS: usize = 12;

/// Adds the recordings of an object.
async fn collect(world: &World, name: &str, cases: &mut BTreeMap<String, String>) -> Result<()> {
    let path = format!("/recordings?kind=Namespace&name={name}&plugin=namespace-baseline&last=30");
    let ask = [("x-oarlock-action", "1")];
    let answer = world.host(async |host| host.admin().send(Method::GET, &path, &ask, Bytes::new()).await).await?;
    // 404: nothing of it is recorded at present.
    if answer.status == 200 {
        let found = answer.json()?;
        for case in found.get("recordings").and_then(Value::as_array).into_iter().flatten() {
            cases.insert(text(case, "/name"), text(case, "/case"));
        }
    }
    Ok(())
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
                    collect(&world, name, &mut cases).await?;
                }
                if cases.len() >= ENOUGH {
                    break;
                }
            }
            ensure!(cases.len() >= ENOUGH, "{language}: {} cases", cases.len());
            let folder = world.folder().join(format!("campaign-{language}"));
            fs::create_dir_all(&folder)?;
            for (name, case) in &cases {
                fs::write(folder.join(format!("{name}.yaml")), case)?;
            }
            replays(&file, &folder).await.context(language)?;
            for name in &names {
                world.cluster.delete(&format!("/api/v1/namespaces/{name}")).await?;
            }
        }
        Ok(())
    })
    .await
}
