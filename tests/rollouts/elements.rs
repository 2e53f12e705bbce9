//! Lists in which other writers have elements of their own.

use super::{command, grant_without_rollout, journals, objects, rollout, start};
use crate::plan::ALONE;
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{SOON, World, eventually, misfit_with, repository_root, text, with_world};
use serde_json::{Value, json};
use std::sync::Arc;

/// The ports of a child, by name, with their target.
async fn ports(world: &World, name: &str) -> Result<Vec<(String, Value)>> {
    let path = format!("/api/v1/namespaces/{}/services/{name}-child", world.namespace);
    let service = world.cluster.get(&path).await?.context("no Service")?;
    let ports = service.pointer("/spec/ports").and_then(Value::as_array).context("no ports")?;
    Ok(ports.iter().map(|port| (text(port, "/name"), port["targetPort"].clone())).collect())
}

/// The misfit with Services as children.
fn version(version: &str, mode: &str) -> Result<Vec<u8>> {
    misfit_with(version, mode, |manifest| {
        if let Some(resources) = manifest.pointer_mut("/permissions/0/resources").and_then(Value::as_array_mut) {
            resources.push(json!("services"));
        }
        if let Some(watches) = manifest.pointer_mut("/watches").and_then(Value::as_array_mut) {
            watches.push(json!({"version": "v1", "kind": "Service", "labelSelector": "misfit-child=true",
                "mapTo": {"type": "ownerReference"}}));
        }
    })
}

/// After an abort nobody could tell whose element it was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_takes_no_elements_of_a_list_from_another_writer() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 2, 0).await?;
        world.cluster.apply_crd(&repository_root().join("deploy/crds/plugins.yaml")).await?;
        let verbs = ["get", "list", "watch", "create", "patch", "delete"];
        let granted = grant_without_rollout(&world)
            .rule_in(&world.namespace, "", &["services"], &verbs)
            .rollout(&json!({"canary": {"percent": 100, "for": "1h"}}))?;
        world.plugins.grant("misfit", &granted)?;
        world.plugins.file("misfit.wasm", &version("one", "ports")?)?;
        start(&world).await?;
        let web = ("web".to_owned(), json!(80));
        let are = async |name: &str, wanted: &[&(String, Value)]| {
            eventually(SOON, &format!("the ports of {name}"), || async {
                let found = ports(&world, name).await?;
                ensure!(found.iter().eq(wanted.iter().copied()), "{found:?} instead of {wanted:?}");
                Ok(())
            })
            .await
        };
        are("o0", &[&web]).await?;
        are("o1", &[&web]).await?;
        // A person adds the port that the candidate will want, with another target.
        let path = format!("/api/v1/namespaces/{}/services/o0-child", world.namespace);
        let theirs = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "o0-child"},
            "spec": {"ports": [{"name": "extra", "port": 9090, "protocol": "TCP", "targetPort": 1}]}});
        world.cluster.apply(&path, "person", &theirs).await?;
        let (extra, taken) = (("extra".to_owned(), json!(1)), ("extra".to_owned(), json!(7)));
        are("o0", &[&web, &extra]).await?;
        world.plugins.file("misfit.wasm", &version("two", "ports:2")?)?;
        let shown = rollout(&world, "an object that stays", |shown| shown["held"] == 1).await?;
        let reason = text(&shown, "/heldObjects/0/reason");
        ensure!(reason.contains("elements of a list over that another writer applied"), "{shown}");
        are("o1", &[&web, &taken]).await?;
        are("o0", &[&web, &extra]).await?;
        command(&world, "abort").await?;
        are("o1", &[&web]).await?;
        are("o0", &[&web, &extra]).await?;
        eventually(SOON, "no journal", || async {
            ensure!(journals(&world).await? == 0);
            Ok(())
        })
        .await
    })
    .await
}
