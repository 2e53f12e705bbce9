//! T11: a plugin that asks for its objects again at once, and for many workers.

use super::{ask, attacker, grant, options, started};
use anyhow::{Result, ensure};
use oarlock_tests::harness::{SOON, World, eventually, with_world};
use serde_json::json;
use std::sync::Arc;
use tokio::time::Instant;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t11_an_object_that_comes_back_at_once_is_reconciled_ten_times_a_second_at_most() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.plugins.grant("attacker", &grant())?;
        world.plugins.place("attacker.wasm", &attacker(|_| {})?)?;
        started(&world).await?;
        let began = Instant::now();
        ask(&world, "busy", &json!({"requeue": 0})).await?;
        let reconciles = async || {
            world.host(async |host| host.metric("controller_runtime_reconcile_total", &["\"attacker\""]).await).await
        };
        eventually(SOON, "thirty reconciles", || async {
            let done = reconciles().await?;
            ensure!(done >= 30.0, "{done}");
            Ok(())
        })
        .await?;
        let done = reconciles().await?;
        // Those of its creation come on top.
        let most = began.elapsed().as_secs_f64() * 10.0 + 5.0;
        ensure!(done <= most, "{done} reconciles, and {most} could have been");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t11_a_manifest_that_asks_for_many_workers_is_no_plugin() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.plugins.grant("attacker", &grant())?;
        world.plugins.place("attacker.wasm", &attacker(|manifest| manifest["workers"] = json!(64))?)?;
        world.start_host().await?;
        eventually(SOON, "it to be refused", || async {
            let entry = world.host(async |host| host.plugin("attacker.wasm").await).await?;
            ensure!(entry.to_string().contains("workers is 64, must be 1 to 8"), "{entry}");
            Ok(())
        })
        .await
    })
    .await
}
