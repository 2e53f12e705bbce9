//! Planned set = written set, with random programs on random objects.

use super::{ALONE, config_maps, leaves, plan, planned_leaves};
use crate::dependencies::{change, key, roots, version};
use anyhow::{Result, ensure};
use oarlock_tests::harness::{PluginDir, SOON, World, eventually, steady, with_world};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Modes of the misfit that end.
const MODES: [&str; 7] = ["program", "program", "ok", "remembers", "reordered", "changes:3", "nothing"];

/// Longest time without a write of the host after which it is done.
const QUIET: Duration = Duration::from_millis(500);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_random_programs_write_is_what_the_plan_shows() -> Result<()> {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    with_world(ALONE, async |world: Arc<World>| {
        let roots = roots(&world).await?;
        for round in 0..3 {
            for _ in 0..random.usize(4..12) {
                change(&world, &mut random, &roots).await?;
            }
            for number in 0..random.usize(2..6) {
                let (name, mode) = (format!("key{round}-{number}"), random.choice(MODES).unwrap_or("ok"));
                key(&world, &name, "misfit=true", mode, &random.u32(..).to_string()).await?;
            }
            let wasm = version(&(round + 1).to_string(), "misfit=true", None)?;
            exact(&world, &wasm, round).await?;
        }
        Ok(())
    })
    .await
}

/// Plans a version, lets a host run it, and compares.
async fn exact(world: &World, wasm: &[u8], round: usize) -> Result<()> {
    let grant = config_maps(world);
    let folder = PluginDir::create(world.folder().join(format!("planned{round}")))?;
    folder.file("misfit.wasm", wasm)?;
    folder.grant("misfit", &grant)?;
    let planned = plan(world, folder.path(), &["-o", "json"]).await?;
    let document = planned.document()?;
    ensure!(planned.code < 2, "round {round}: {document}\n{}", planned.stderr);
    let before = leaves(world).await?;
    let mut expected = before.clone();
    for (leaf, value) in planned_leaves(&document) {
        if value.is_null() { drop(expected.remove(&leaf)) } else { drop(expected.insert(leaf, value)) }
    }
    world.plugins.file("misfit.wasm", wasm)?;
    world.plugins.grant("misfit", &grant)?;
    world.start_host().await?;
    let same = || async {
        let stored = leaves(world).await?;
        ensure!(stored == expected, "round {round}: {}", difference(&expected, &stored));
        Ok(())
    };
    eventually(SOON, "the planned state", same).await?;
    steady(QUIET, "the planned state", same).await?;
    world.stop_host(SOON).await?;
    let again = plan(world, folder.path(), &["-o", "json"]).await?;
    ensure!(again.code == 0, "round {round}: a second plan is not empty: {}\n{}", again.stdout, again.stderr);
    Ok(())
}

type Leaves = BTreeMap<(String, String), Value>;

fn difference(planned: &Leaves, stored: &Leaves) -> Value {
    let only = |one: &Leaves, other: &Leaves| -> Vec<String> {
        one.iter().filter(|(leaf, value)| other.get(*leaf) != Some(value)).map(|leaf| format!("{leaf:?}")).collect()
    };
    json!({"only planned": only(planned, stored), "only stored": only(stored, planned)})
}
