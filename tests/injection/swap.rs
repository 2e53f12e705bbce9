//! Pods are created while the injector is replaced and its ConfigMap edited.

use super::{INITIALIZER, path_of, pod, with_door};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{SOON, World, built_plugin, eventually, text, with_another_digest};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

/// How many create Pods.
const CREATORS: u32 = 4;

/// Files and edits, in turns.
const SWAPS: u32 = 6;

/// A Pod as it is stored has everything that is injected, once. Answers the image of its Envoy.
fn injected_once(stored: &Value) -> Result<String> {
    let names = |list: &str| -> Vec<String> {
        let items = stored.pointer(&format!("/spec/{list}")).and_then(Value::as_array);
        items.into_iter().flatten().map(|one| text(one, "/name")).collect()
    };
    ensure!(names("containers") == ["web", "envoy"], "{stored}");
    ensure!(names("initContainers") == ["envoy-redirect"], "{stored}");
    ensure!(names("volumes").iter().filter(|name| *name == "envoy").count() == 1, "{stored}");
    Ok(text(stored, "/spec/containers/1/image"))
}

/// Creates Pods until it is `done`; answers the images of their Envoys in order.
async fn create(world: Arc<World>, creator: u32, done: Arc<AtomicBool>, made: Arc<AtomicU32>) -> Result<Vec<String>> {
    let mut images = Vec::new();
    while !done.load(Ordering::Relaxed) {
        let name = format!("load-{creator}-{}", images.len());
        let stored = world.cluster.create(&path_of(&world.namespace, "pods", ""), &pod(&name, "true")).await;
        images.push(injected_once(&stored.with_context(|| format!("{name} was refused"))?)?);
        made.fetch_add(1, Ordering::Relaxed);
    }
    Ok(images)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_pod_is_injected_once_while_the_injector_is_swapped_and_its_config_map_edited() -> Result<()> {
    with_door(async |world: Arc<World>| {
        let shipped = std::fs::read(built_plugin("envoy-injector")?)?;
        let (done, made) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
        let creators: Vec<_> = (0..CREATORS)
            .map(|creator| tokio::spawn(create(Arc::clone(&world), creator, Arc::clone(&done), Arc::clone(&made))))
            .collect();
        let mut digests = BTreeSet::new();
        for swap in 1..=SWAPS {
            let digest = async || {
                let entry = world.host(async |host| host.plugin("envoy-injector").await).await?;
                ensure!(text(&entry, "/state") == "active" && entry.get("next").is_none(), "{entry}");
                anyhow::Ok(text(&entry, "/digest"))
            };
            let before = eventually(SOON, "the version before", &digest).await?;
            digests.insert(before.clone());
            let edited = json!({"data": {"config": INITIALIZER.replace("envoy:1", &format!("envoy:{swap}"))}});
            world.cluster.merge_patch(&path_of(&world.namespace, "configmaps", "envoy-initializer"), &edited).await?;
            let file = if swap % 2 == 0 { shipped.clone() } else { with_another_digest(&shipped, "other") };
            world.plugins.place("envoy-injector.wasm", &file)?;
            let enough = made.load(Ordering::Relaxed) + 2 * CREATORS;
            eventually(SOON, "the other file to run, and Pods meanwhile", || async {
                ensure!(digest().await? != before, "the same as before");
                ensure!(
                    made.load(Ordering::Relaxed) >= enough || creators.iter().any(|one| one.is_finished()),
                    "few Pods"
                );
                Ok(())
            })
            .await?;
        }
        ensure!(digests.len() == 2, "{digests:?}");
        done.store(true, Ordering::Relaxed);
        let mut count = 0;
        for creator in creators {
            let images = creator.await??;
            let numbers: Vec<u32> =
                images.iter().filter_map(|image| image.strip_prefix("envoy:")?.parse().ok()).collect();
            ensure!(
                numbers.len() == images.len() && numbers.iter().all(|number| (1..=SWAPS).contains(number)),
                "{images:?}"
            );
            // Whatever runs reads the ConfigMap as it is, and no old one again.
            ensure!(numbers.is_sorted(), "an old ConfigMap came back: {numbers:?}");
            count += images.len();
        }
        // The same as they are stored.
        let all = world.cluster.list(&path_of(&world.namespace, "pods", "")).await?;
        let load: Vec<_> = all.iter().filter(|pod| text(pod, "/metadata/name").starts_with("load-")).collect();
        ensure!(load.len() == count && count > 0, "{} of {count}", load.len());
        load.into_iter().try_for_each(|pod| injected_once(pod).map(drop))
    })
    .await
}
