//! A plan of many Networks leaves no trace: neither at the API server nor in Neutron.

use super::plan;
use anyhow::{Context, Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use oarlock_tests::harness::{SOON, World, WorldOptions, text, with_world};
use serde_json::json;
use std::sync::Arc;

/// Networks that a host has brought in sync.
const IN_SYNC: usize = 20;

/// All Networks.
const MANY: usize = 1000;

/// Requests at once.
const AT_ONCE: usize = 8;

async fn make(world: &World, number: usize) -> Result<()> {
    let (name, net) = (format!("n{number}"), format!("10.{}.{}", number / 256, number % 256));
    world.create_network(&name, &format!("{net}.0/24"), &format!("{net}.1")).await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_of_a_thousand_networks_writes_nothing_anywhere() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        for number in 0..IN_SYNC {
            make(&world, number).await?;
        }
        for number in 0..IN_SYNC {
            world.ready(&format!("n{number}")).await?;
        }
        world.stop_host(SOON).await?;
        let rest = stream::iter((IN_SYNC..MANY).map(|number| make(&world, number)));
        rest.buffer_unordered(AT_ONCE).try_collect::<Vec<_>>().await?;

        let mark = world.neutron_gate.mark();
        let before = if world.neutron.is_external() { Vec::new() } else { world.neutron.journal().await? };
        // It holds that the gate to the API server saw reads only, and that no resourceVersion changed.
        let planned = plan(&world, world.plugins.path(), &["-o", "json"]).await?;
        let document = planned.document()?;
        ensure!(planned.code == 2 && document["problems"] == json!([]), "{}\n{}", planned.code, planned.stderr);
        let summary = &document["summary"];
        ensure!(summary["checked"] == MANY && summary["inSync"] == IN_SYNC, "{summary}");
        ensure!(summary["undecidable"] == MANY - IN_SYNC, "{summary}");
        let requests = document["requests"].as_array().context("no requests")?;
        ensure!(requests.len() == MANY - IN_SYNC, "{}", requests.len());
        ensure!(requests.iter().all(|request| request["method"] == "POST"), "{requests:?}");

        let asked = world.neutron_gate.since(mark);
        ensure!(asked.len() >= MANY, "only {} requests to Neutron", asked.len());
        let written: Vec<_> = asked.iter().filter(|one| one.is_write()).collect();
        ensure!(written.is_empty(), "{written:?}");
        if world.neutron.is_external() {
            return Ok(());
        }
        let last = before.last().and_then(|entry| entry["number"].as_u64()).context("the host asked nothing")?;
        ensure!(before.iter().any(|entry| entry["method"] == "POST"), "the journal has no writes of the host");
        let journal = world.neutron.journal().await?;
        let new: Vec<_> = journal.iter().filter(|entry| entry["number"].as_u64() > Some(last)).collect();
        ensure!(new.len() >= MANY, "only {} new entries", new.len());
        let written: Vec<_> = new.iter().filter(|entry| text(entry, "/method") != "GET").collect();
        ensure!(written.is_empty(), "{written:?}");
        Ok(())
    })
    .await
}
