//! T5: lines of the log that a guest causes without end.

use super::{ask, attacker, grant, options, started};
use anyhow::{Result, ensure};
use oarlock_tests::harness::{World, steady, with_world};
use serde_json::json;
use std::{sync::Arc, time::Duration};

/// As many as one plugin may cause at once, and in the seconds of the attack.
const MOST_LINES: usize = 6000;

async fn suppressed(world: &World, message: &str) -> Result<()> {
    logged(world, &["further ones are suppressed"]).await?;
    few_lines(world, message).await
}

async fn logged(world: &World, some: &[&str]) -> Result<()> {
    let what = format!("one of {some:?}");
    world.logged(&what, |line| some.iter().any(|part| line.text.contains(part))).await.map(drop)
}

async fn few_lines(world: &World, message: &str) -> Result<()> {
    // The attack goes on meanwhile.
    steady(Duration::from_secs(2), "few lines", || async {
        let lines = world.log(|line| line.text.contains(message)).await?.len();
        ensure!(lines <= MOST_LINES, "{lines} lines");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t5_refused_requests_without_end_do_not_flood_the_log() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.plugins.grant("attacker", &grant().limits(|limits| limits.deadline_seconds = 3))?;
        world.plugins.place("attacker.wasm", &attacker(|_| {})?)?;
        started(&world).await?;
        ask(&world, "loop", &json!({"actions": [{"op": "http", "url": "http://ungranted.invalid/", "n": 0}]})).await?;
        suppressed(&world, "http request refused").await
    })
    .await
}

/// `limits.logLines` bounds one reconcile, not many.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t5_log_lines_of_many_reconciles_do_not_flood_the_log() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.plugins.grant("attacker", &grant())?;
        world.plugins.place("attacker.wasm", &attacker(|_| {})?)?;
        started(&world).await?;
        for number in 0..8 {
            let asked = json!({"actions": [{"op": "log", "n": 2000}], "requeue": 100});
            ask(&world, &format!("loop-{number}"), &asked).await?;
        }
        suppressed(&world, "\"line\"").await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t5_a_file_without_a_grant_does_not_flood_the_log() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world
            .plugins
            .place("attacker.wasm", &attacker(|manifest| manifest["description"] = json!("describe: http"))?)?;
        world.start_host().await?;
        // On a busy machine its deadline comes before the lines are too many.
        logged(&world, &["further ones are suppressed", "plugin not loaded"]).await?;
        few_lines(&world, "http request refused").await
    })
    .await
}
