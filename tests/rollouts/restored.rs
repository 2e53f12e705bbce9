//! What an aborted canary touched is as before, of every kind of write and of object; what others wrote meanwhile is theirs.

use super::{A_WHILE, command, journals, rollout, start};
use crate::plan::ALONE;
use crate::plan::exact::{
    GROUP, KINDS, Objects, at_rest, collection, definitions, difference, grant, object, stored, version,
};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{SOON, World, eventually, repository_root, steady, text, with_world};
use serde_json::{Value, json};
use std::sync::Arc;

/// The objects of each kind.
const NAMES: [&str; 2] = ["turn-a", "turn-b"];

/// A host that runs this version beside a canary of every object, at rest. Returns all objects.
async fn started(world: &World, number: usize) -> Result<Objects> {
    world.cluster.apply_crd(&repository_root().join("deploy/crds/plugins.yaml")).await?;
    definitions(world).await?;
    for (kind, name) in KINDS.into_iter().flat_map(|kind| NAMES.map(|name| (kind, name))) {
        object(world, kind, name, "writes", name).await?;
    }
    let steps = json!({"canary": {"percent": 100, "for": "1h"}});
    world.plugins.grant("misfit", &grant(world).rollout(&steps)?)?;
    world.plugins.file("misfit.wasm", &version(number, false, false)?)?;
    start(world).await?;
    at_rest(world, number).await
}

/// The names of the plugin's objects of a kind.
fn primaries(world: &World, kind: &str) -> [String; 2] {
    NAMES.map(|name| if kind == "Rack" { format!("{}-{name}", world.namespace) } else { name.to_owned() })
}

/// What a canary of the version that begins to clean up, and wants everything, must have written.
fn is_written(world: &World, before: &Objects, now: &Objects) -> Result<()> {
    for kind in KINDS {
        for name in primaries(world, kind) {
            let primary = now.get(&format!("{kind} {name}")).context("no primary")?;
            let finalizers = primary["metadata"]["finalizers"].to_string();
            ensure!(finalizers.contains("oarlock.dev/misfit"), "{primary:#}");
            ensure!(kind == "ConfigMap" || primary["status"]["conditions"].is_array(), "{primary:#}");
            let prefix = format!("{name}-{}", kind.to_lowercase());
            let kept = now.get(&format!("Gadget {prefix}-gadget0")).context("no child")?;
            ensure!(kept["metadata"]["finalizers"].is_array(), "{kept:#}");
            for child in ["ConfigMap", "Gadget", "Rack"] {
                let key = format!("{child} {prefix}-{}1", child.to_lowercase());
                ensure!(now.contains_key(&key) && !before.contains_key(&key), "{key} is not new");
            }
        }
    }
    Ok(())
}

/// Other writers change objects meanwhile: fields that nobody else has, one that both versions write, and a finalizer. `before` gets the
/// same changes.
async fn meanwhile(world: &World, before: &mut Objects) -> Result<()> {
    let kept = "turn-a-gadget-gadget0";
    let document = json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Gadget", "metadata": {"name": kept, "labels": {"mine": "yes"}},
        "spec": {"size": 99}});
    world.cluster.apply(&format!("{}/{kept}", collection(world, "Gadget")), "kubectl", &document).await?;
    let child = before.get_mut(&format!("Gadget {kept}")).context("no child")?;
    child["metadata"]["labels"]["mine"] = json!("yes");
    child["spec"]["size"] = json!(99);
    for kind in KINDS {
        let [_, name] = primaries(world, kind);
        let patch = json!({"metadata": {"annotations": {"theirs": "yes"}, "finalizers": ["oarlock.dev/misfit", "example.com/theirs"]}});
        world.cluster.merge_patch(&format!("{}/{name}", collection(world, kind)), &patch).await?;
        let primary = before.get_mut(&format!("{kind} {name}")).context("no primary")?;
        primary["metadata"]["annotations"]["theirs"] = json!("yes");
        primary["metadata"]["finalizers"] = json!(["example.com/theirs"]);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abort_restores_status_finalizers_and_objects_and_leaves_what_others_wrote_meanwhile() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        let mut before = started(&world, 2).await?;
        world.plugins.file("misfit.wasm", &version(3, true, true)?)?;
        rollout(&world, "a canary of all objects", |shown| shown["compared"]["objects"] == 6).await?;
        eventually(SOON, "the candidate's writes", || async { is_written(&world, &before, &stored(&world).await?) })
            .await?;
        at_rest(&world, 2).await?;
        meanwhile(&world, &mut before).await?;
        command(&world, "abort").await?;
        let same = || async {
            let now = stored(&world).await?;
            ensure!(now == before, "{}", difference(&before, &now));
            ensure!(journals(&world).await? == 0, "a journal is left");
            Ok(())
        };
        eventually(2 * SOON, "everything as it was", same).await?;
        at_rest(&world, 2).await?;
        same().await
    })
    .await
}

/// A deletion cannot be undone, whatever the kind: the objects stay with the version that runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_that_would_delete_objects_of_any_kind_touches_nothing() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        let before = started(&world, 3).await?;
        world.plugins.file("misfit.wasm", &version(4, true, true)?)?;
        let shown = rollout(&world, "objects that stay", |shown| shown["held"] == 6).await?;
        let held: Vec<&Value> = shown["heldObjects"].as_array().into_iter().flatten().collect();
        ensure!(held.iter().all(|one| text(one, "/reason").contains("a deletion cannot be undone")), "{shown:#}");
        let same = || async {
            let now = stored(&world).await?;
            ensure!(now == before, "{}", difference(&before, &now));
            Ok(())
        };
        eventually(SOON, "the objects as before", same).await?;
        steady(A_WHILE, "the objects as before", same).await?;
        command(&world, "abort").await?;
        at_rest(&world, 3).await?;
        ensure!(journals(&world).await? == 0, "a journal is left");
        same().await
    })
    .await
}
