//! A graceful stop: what is under way is finished, nothing new begins, and a second signal does not wait.

use anyhow::{Result, ensure};
use http::Method;
use oarlock_tests::harness::{Action, Rule, SOON, World, WorldOptions, eventually, text, with_world};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_finishes_what_is_under_way_and_exits_0() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        // Longer than a host takes that does not wait.
        let slow = Rule::every(Action::Delay(Duration::from_secs(8))).methods(&[Method::POST]).path("/v2.0/networks");
        let rule = world.neutron_gate.rule(slow);
        let uid = world.create_network("draining", "10.6.0.0/24", "10.6.0.1").await?;
        rule.hit().await?;
        let (status, process) = world.stop_host(SOON).await?;
        ensure!(status.code() == Some(0), "{status}:\n{}", process.tail());
        // The reconcile ran to its end: its network, its subnet, its status.
        let (network, _) = world.only_network(&uid).await?;
        let object = world.network("draining").await?;
        ensure!(text(&object, "/status/networkId") == text(&network, "/id"), "{object}");
        Ok(())
    })
    .await
}

/// A plugin whose file was deleted still runs a reconcile when the host receives SIGTERM.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b9_a_plugin_that_is_draining_finishes_before_the_host_ends() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let slow = Rule::every(Action::Delay(Duration::from_secs(2))).methods(&[Method::POST]).path("/v2.0/networks");
        let rule = world.neutron_gate.rule(slow);
        let uid = world.create_network("draining", "10.6.0.0/24", "10.6.0.1").await?;
        rule.hit().await?;
        world.plugins.remove("network.wasm")?;
        eventually(SOON, "the plugin to drain", || async {
            let entry = world.host(async |host| host.plugin("network").await).await?;
            ensure!(text(&entry, "/state") == "draining", "{entry}");
            Ok(())
        })
        .await?;
        let (status, process) = world.stop_host(SOON).await?;
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
        let began = Instant::now();
        let (status, process) = world.stop_host(SOON).await?;
        ensure!(status.code() == Some(0), "{status}:\n{}", process.tail());
        ensure!(began.elapsed() < Duration::from_secs(5), "it took {:?}", began.elapsed());
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
        let began = Instant::now();
        process.terminate().await?;
        let status = process.wait(SOON).await?;
        ensure!(began.elapsed() < Duration::from_secs(2), "it took {:?}", began.elapsed());
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
