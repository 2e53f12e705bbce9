//! T3: a host call that takes long, and the neighbours meanwhile.

use super::{ask, attacker, grant, options, started};
use anyhow::{Result, ensure};
use oarlock_tests::harness::{SOON, World, eventually, with_world};
use serde_json::json;
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t3_a_merge_that_took_minutes_ends_at_once() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.plugins.grant("attacker", &grant())?;
        world.plugins.place("attacker.wasm", &attacker(|_| {})?)?;
        started(&world).await?;
        ask(&world, "retain", &json!({"actions": [{"op": "retain", "n": 100_000}]})).await?;
        eventually(4 * SOON, "the merge", || async {
            let results = world.log(|line| line.text.contains("RESULT") && line.text.contains("retain")).await?;
            ensure!(results.iter().any(|line| line.text.contains(" bytes")), "{results:?}");
            Ok(())
        })
        .await
    })
    .await
}
