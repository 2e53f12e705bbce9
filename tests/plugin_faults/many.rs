//! Many plugins, many reconciles: the host's memory stays where it was.

use super::{misfit, seen, the_others_go_on, with_misfit_granted};
use anyhow::{Result, ensure};
use oarlock_tests::harness::{Grant, SOON, World, WorldOptions, eventually, text_guest, text_manifest, with_world};
use std::sync::Arc;

/// Of the host's process, in KiB.
async fn resident(world: &World) -> Result<u64> {
    world.host(async |host| host.memory_kib("VmRSS")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p19_many_plugins_are_loaded_and_each_costs_little() -> Result<()> {
    const PLUGINS: u64 = 60;
    with_world(WorldOptions { host: false, ..WorldOptions::default() }, async |world: Arc<World>| {
        world.start_host().await?;
        world.create_network("before", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("before").await?;
        let before = resident(&world).await?;
        world.stop_host(SOON).await?;
        let grant = Grant::nothing().rule("", &["configmaps"], &["get", "list", "watch"]);
        for number in 0..PLUGINS {
            let name = format!("tiny-{number}");
            world.plugins.file(&format!("{name}.wasm"), &text_guest("tiny", &text_manifest(&name))?)?;
            world.plugins.grant(&name, &grant)?;
        }
        world.start_host().await?;
        eventually(SOON * 4, "all plugins to be active", || async {
            let all = world.host(async |host| host.plugins().await).await?;
            let active = all.to_string().matches("\"active\"").count() as u64;
            ensure!(active == PLUGINS + 1, "{active} are");
            Ok(())
        })
        .await?;
        world.create_network("among-many", "10.7.0.0/24", "10.7.0.1").await?;
        world.ready("among-many").await?;
        let each = resident(&world).await?.saturating_sub(before) / PLUGINS;
        ensure!(each < 2048, "{each} KiB for each plugin");
        Ok(())
    })
    .await
}

/// Reconciles until there have been `count` more.
async fn reconciled(world: &World, count: f64) -> Result<()> {
    let reconciles = async || {
        world.host(async |host| host.metric("controller_runtime_reconcile_total", &["\"misfit\""]).await).await
    };
    let from = reconciles().await?;
    eventually(SOON * 4, &format!("{count} reconciles"), || async {
        let done = reconciles().await? - from;
        ensure!(done >= count, "{done} so far");
        Ok(())
    })
    .await
}

async fn flat(reuses: u32) -> Result<()> {
    let grant = move |world: &World| super::grant(world).limits(|limits| limits.instance_reuses = reuses);
    with_misfit_granted(grant, async |world: Arc<World>| {
        for number in 0..8 {
            misfit(&world, &format!("busy-{number}"), "requeue:1").await?;
            seen(&world, &format!("busy-{number}"), "first").await?;
        }
        reconciled(&world, 1000.0).await?;
        let before = resident(&world).await?;
        reconciled(&world, 4000.0).await?;
        let grown = resident(&world).await?.saturating_sub(before);
        // 4 KiB lost with each reconcile would be 16 MiB.
        ensure!(grown < 12 << 10, "{grown} KiB more after 4000 reconciles");
        the_others_go_on(&world).await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: make test-all"]
async fn p20_thousands_of_reconciles_leave_no_memory_behind() -> Result<()> {
    flat(0).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: make test-all"]
async fn p20_thousands_of_reconciles_in_reused_instances_leave_no_memory_behind() -> Result<()> {
    flat(100).await
}

/// Backoff of a key ends when what failed it has passed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fails_at_first_succeeds_when_it_is_tried_again() -> Result<()> {
    super::with_misfit(async |world: Arc<World>| {
        misfit(&world, "slow-starter", "fails-first:3").await?;
        seen(&world, "slow-starter", "first").await
    })
    .await
}
