//! A graceful stop: what is under way is finished, nothing new begins, and a second signal does not wait.

use anyhow::{Result, ensure};
use http::Method;
use oarlock_tests::harness::{Action, Process, Rule, SOON, World, WorldOptions, eventually, steady, text, with_world};
use std::{process::ExitStatus, sync::Arc, time::Duration};
use tokio::{sync::Mutex, time::Instant};
use tokio_util::sync::CancellationToken;

/// A host waits for 20 s for what is under way: one that ends sooner has not waited.
const WITHOUT_DRAIN: Duration = Duration::from_secs(12);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_finishes_what_is_under_way_and_exits_0() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let (post, go) = world.neutron_gate.hold(Method::POST, "/v2.0/networks");
        let uid = world.create_network("draining", "10.6.0.0/24", "10.6.0.1").await?;
        post.hit().await?;
        let (process, status) = stopped_under_way(&world, &go).await?;
        ensure!(status.code() == Some(0), "{status}:\n{}", process.tail());
        // The reconcile ran to its end: its network, its subnet, its status.
        let (network, _) = world.only_network(&uid).await?;
        let object = world.network("draining").await?;
        ensure!(text(&object, "/status/networkId") == text(&network, "/id"), "{object}");
        Ok(())
    })
    .await
}

/// Stops the host while a request of a reconcile is held back, and lets that request go once the host has waited for a while.
async fn stopped_under_way(world: &World, go: &CancellationToken) -> Result<(Process, ExitStatus)> {
    let process = world.take_host().await?.into_process();
    process.terminate().await?;
    process.line(SOON, "that it stops", |line| line.text.contains("stopping")).await?;
    let process = Mutex::new(process);
    // Longer than a host takes that does not wait.
    steady(Duration::from_secs(6), "the wait for the reconcile under way", || async {
        let mut process = process.lock().await;
        ensure!(process.ended()?.is_none(), "{}", process.tail());
        Ok(())
    })
    .await?;
    go.cancel();
    let mut process = process.into_inner();
    let status = process.wait(SOON).await?;
    Ok((process, status))
}

/// A plugin whose file was deleted still runs a reconcile when the host receives SIGTERM.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b9_a_plugin_that_is_draining_finishes_before_the_host_ends() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let (post, go) = world.neutron_gate.hold(Method::POST, "/v2.0/networks");
        let uid = world.create_network("draining", "10.6.0.0/24", "10.6.0.1").await?;
        post.hit().await?;
        world.plugins.remove("network.wasm")?;
        eventually(SOON, "the plugin to drain", || async {
            let entry = world.host(async |host| host.plugin("network").await).await?;
            ensure!(text(&entry, "/state") == "draining", "{entry}");
            Ok(())
        })
        .await?;
        let (process, status) = stopped_under_way(&world, &go).await?;
        ensure!(status.code() == Some(0), "{status}:\n{}", process.tail());
        let (network, _) = world.only_network(&uid).await?;
        let object = world.network("draining").await?;
        ensure!(text(&object, "/status/networkId") == text(&network, "/id"), "{object}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_host_stops_at_once() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        world.create_network("idle", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("idle").await?;
        let mut process = world.take_host().await?.into_process();
        process.terminate().await?;
        let began = Instant::now();
        let status = process.wait(SOON).await?;
        ensure!(status.code() == Some(0), "{status}:\n{}", process.tail());
        ensure!(began.elapsed() < WITHOUT_DRAIN, "it took {:?}", began.elapsed());
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_does_not_wait() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let stuck = Rule::every(Action::Silence).methods(&[Method::POST]).path("/v2.0/networks");
        let rule = world.neutron_gate.rule(stuck);
        world.create_network("stuck", "10.6.0.0/24", "10.6.0.1").await?;
        rule.hit().await?;
        let mut process = world.take_host().await?.into_process();
        process.terminate().await?;
        process.line(SOON, "that it stops", |line| line.text.contains("stopping")).await?;
        ensure!(process.ended()?.is_none(), "it did not wait for the reconcile under way:\n{}", process.tail());
        process.terminate().await?;
        let began = Instant::now();
        let status = process.wait(SOON).await?;
        ensure!(began.elapsed() < WITHOUT_DRAIN, "it took {:?}", began.elapsed());
        ensure!(status.code() != Some(0), "an aborted stop must not look like a clean one");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ctrl_c_is_a_graceful_stop_too() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let mut process = world.take_host().await?.into_process();
        process.signal("INT").await?;
        let status = process.wait(SOON).await?;
        ensure!(status.code() == Some(0), "{status}:\n{}", process.tail());
        Ok(())
    })
    .await
}
