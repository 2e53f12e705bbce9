//! Mappings onto cluster-scoped primaries: those that never match are reported, the others wake one key.

use super::{options, path, plugin, runs};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{Grant, SOON, World, eventually, misfit_with, with_world};
use serde_json::{Value, json};
use std::sync::Arc;

fn grant(world: &World) -> Grant {
    let url = world.neutron_gate.url();
    let verbs = ["get", "list", "watch", "create", "patch", "delete"];
    Grant::nothing().rule("", &["configmaps", "namespaces"], &verbs).origin(&url).config("url", &url)
}

/// A misfit of Namespaces that watches ConfigMaps and wants nothing.
fn of_namespaces(version: &str, watches: &Value) -> Result<Vec<u8>> {
    misfit_with(version, "nothing", |manifest| {
        if let Some(fields) = manifest.as_object_mut() {
            let primary = json!({"version": "v1", "kind": "Namespace", "labelSelector": "misfit=true"});
            fields.insert("primaries".to_owned(), json!([primary]));
            fields.insert("watches".to_owned(), watches.clone());
        }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n2_a_mapping_that_never_matches_is_reported() -> Result<()> {
    const REFERENCED: &str = "watches[0] (ConfigMap) never wakes anything: mapTo referencedBy looks for a primary in the namespace of the \
                              ConfigMap, and Namespace is cluster-scoped";
    with_world(options(), async |world: Arc<World>| {
        world.plugins.grant("misfit", &grant(&world))?;
        let selected = |map_to: Value| json!({"version": "v1", "kind": "ConfigMap", "labelSelector": "misfit=true", "mapTo": map_to});
        let watches = json!([
            selected(json!({"type": "referencedBy", "pointer": "/spec/template"})),
            selected(json!({"type": "ownerReference"})),
            selected(json!({"type": "all"})),
            selected(json!({"type": "sameName"})),
        ]);
        world.plugins.place("misfit.wasm", &of_namespaces("1", &watches)?)?;
        world.start_host().await?;
        runs(&world, "misfit", "1").await?;
        eventually(SOON, "the warnings in /plugins", || async {
            let entry = plugin(&world, "misfit").await?;
            let warnings: Vec<&str> =
                entry["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            ensure!(warnings.len() == 2 && warnings[0].starts_with(REFERENCED), "{entry}");
            ensure!(warnings[1].starts_with("watches[3] (ConfigMap) never wakes anything: mapTo sameName"), "{entry}");
            Ok(())
        })
        .await?;
        let lines = world.logged(REFERENCED, |line| line.text.contains(REFERENCED)).await?;
        ensure!(lines.len() == 1, "told {} times", lines.len());
        // A version without them has no warning.
        world.plugins.place("misfit.wasm", &of_namespaces("2", &json!([]))?)?;
        runs(&world, "misfit", "2").await?;
        let entry = plugin(&world, "misfit").await?;
        ensure!(entry.get("warnings").is_none(), "{entry}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n5_a_cluster_scoped_owner_has_one_key() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.plugins.grant("misfit", &grant(&world))?;
        let watches = json!([
            {"version": "v1", "kind": "ConfigMap", "labelSelector": "owned=true", "mapTo": {"type": "ownerReference"}},
            {"version": "v1", "kind": "ConfigMap", "labelSelector": "owned=true", "mapTo": {"type": "label", "key": "owner"}},
        ]);
        world.plugins.place("misfit.wasm", &of_namespaces("1", &watches)?)?;
        world.set_environment("OARLOCK_LOG", "info,oarlock=debug");
        world.start_host().await?;
        runs(&world, "misfit", "1").await?;
        let namespace = format!("/api/v1/namespaces/{}", world.namespace);
        let label = json!({"metadata": {"labels": {"misfit": "true"}}});
        let owner = world.cluster.merge_patch(&namespace, &label).await?;
        let uid = owner.pointer("/metadata/uid").context("no uid")?;
        let reference = json!({"apiVersion": "v1", "kind": "Namespace", "name": world.namespace, "uid": uid});
        let labels = json!({"owned": "true", "owner": world.namespace});
        let owned = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "owned", "labels": labels, "ownerReferences": [reference]}, "data": {}});
        world.cluster.create(&format!("{namespace}/configmaps"), &owned).await?;
        let key = format!("Namespace {}", world.namespace);
        let reconciled = async |key: &str| {
            let of_key = world.log(|line| line.field("key").as_deref() == Some(key) && line.field("trigger").is_some());
            Ok::<_, anyhow::Error>(of_key.await?.len())
        };
        // Each edit wakes the owner once more; by the last one every key of the first has run.
        for edit in 1..=5 {
            let before = reconciled(&key).await?;
            world.cluster.merge_patch(&path(&world, "owned"), &json!({"data": {"edit": edit.to_string()}})).await?;
            eventually(SOON, "the owner to be reconciled", || async {
                ensure!(reconciled(&key).await? > before, "not yet");
                Ok(())
            })
            .await?;
        }
        let phantom = reconciled(&format!("Namespace {0}/{0}", world.namespace)).await?;
        ensure!(phantom == 0, "a key that cannot exist was reconciled {phantom} times");
        Ok(())
    })
    .await
}
