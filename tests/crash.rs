//! The host is killed after every single write, to Kubernetes and to Neutron, one run each.

use anyhow::{Context, Result, ensure};
use http::Method;
use oarlock_tests::harness::{Exchange, SOON, World, WorldOptions, eventually, steady, text, with_world};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// What a run leaves for a user to see, without what differs from run to run (ids, times, names of namespaces).
#[derive(Debug, PartialEq)]
struct Seen {
    created: Value,
    edited: Value,
}

/// Create, edit the gateway, delete; each phase is waited out. The oracle is in here and in the comparison of what was seen.
async fn scenario(world: &World, name: &str) -> Result<Seen> {
    let from = world.neutron_gate.mark();
    let uid = world.create_network(name, "10.9.0.0/24", "10.9.0.1").await?;
    let created = phase(world, name, &uid, "10.9.0.1").await.context("create")?;
    world.set_gateway(name, "10.9.0.7").await?;
    let edited = phase(world, name, &uid, "10.9.0.7").await.context("edit")?;
    world.delete_network(name).await?;
    world.gone(name).await.context("delete")?;
    world.nothing_left(&uid).await.context("delete")?;
    for path in ["/v2.0/networks", "/v2.0/subnets"] {
        let made = made_at(&world.neutron_gate.since(from), path);
        ensure!(made == 1, "{made} POSTs of {path}: a duplicate was made on the way");
    }
    Ok(Seen { created, edited })
}

/// Waits until the object is Ready and Neutron has exactly one network and subnet as the object says, and returns the whole.
async fn phase(world: &World, name: &str, uid: &str, gateway: &str) -> Result<Value> {
    eventually(SOON, &format!("{gateway} in Neutron"), || async {
        let (_, subnet) = world.only_network(uid).await?;
        ensure!(text(&subnet, "/gateway_ip") == gateway, "{subnet}");
        Ok(())
    })
    .await?;
    let object = world.ready(name).await?;
    let (network, subnet) = world.only_network(uid).await?;
    ensure!(text(&object, "/status/networkId") == text(&network, "/id"), "{object}");
    ensure!(text(&object, "/status/subnetId") == text(&subnet, "/id"), "{object}");
    let mut pools = subnet.get("allocation_pools").and_then(Value::as_array).cloned().unwrap_or_default();
    pools.sort_by_key(ToString::to_string);
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let conditions: Vec<_> =
        conditions.iter().map(|one| json!([one.get("type"), one.get("status"), one.get("reason")])).collect();
    Ok(json!({
        "spec": object.get("spec"), "finalizers": object.pointer("/metadata/finalizers"), "conditions": conditions,
        "observedGeneration": object.pointer("/status/observedGeneration"),
        "cidr": subnet.get("cidr"), "gateway": subnet.get("gateway_ip"), "pools": pools, "dhcp": subnet.get("enable_dhcp"),
    }))
}

fn made_at(journal: &[Exchange], path: &str) -> usize {
    journal.iter().filter(|one| one.method == Method::POST && one.path == path && one.forwarded).count()
}

/// Waits until no write came for a while: events are written after the fact.
async fn quiet(world: &World) -> Result<()> {
    let mut last = (world.tripwire.count(), Instant::now());
    eventually(SOON, "the writes to end", || {
        let count = world.tripwire.count();
        if count != last.0 {
            last = (count, Instant::now());
        }
        let since = last.1.elapsed();
        async move {
            ensure!(since > Duration::from_millis(500), "the last write was {since:?} ago");
            Ok(())
        }
    })
    .await
}

/// One run: the host is killed after the `n`-th write and started again. Returns what was seen, and whether it came to that.
async fn killed_after(world: &World, n: u64) -> Result<(Seen, bool)> {
    world.tripwire.arm(n);
    let name = format!("crash-{n}");
    let mut scenario = std::pin::pin!(scenario(world, &name));
    let early = tokio::select! {
        seen = &mut scenario => Some(seen?),
        () = world.tripwire.tripped() => None,
    };
    if let Some(seen) = early {
        world.tripwire.disarm();
        return Ok((seen, false));
    }
    world.kill_host().await?;
    world.tripwire.disarm();
    world.start_host().await?;
    Ok((scenario.await?, true))
}

/// Runs every `step`-th write from `first`, one after the other, in one world. Returns how often the host was killed.
async fn campaign(first: u64, step: u64, writes: u64, undisturbed: &Seen) -> Result<u64> {
    let mut killed = 0;
    let options = WorldOptions { resync_seconds: 1, ..WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        let mut n = first;
        while n <= writes {
            let (seen, tripped) = killed_after(&world, n).await.with_context(|| format!("killed after write {n}"))?;
            ensure!(seen == *undisturbed, "killed after write {n}:\n{seen:#?}\nundisturbed:\n{undisturbed:#?}");
            quiet(&world).await?;
            killed += u64::from(tripped);
            n += step;
        }
        Ok(())
    })
    .await?;
    Ok(killed)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_after_every_write() -> Result<()> {
    let mut counted = None;
    let options = WorldOptions { resync_seconds: 1, ..WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        let seen = scenario(&world, "undisturbed").await?;
        quiet(&world).await?;
        counted = Some((seen, world.tripwire.count()));
        Ok(())
    })
    .await?;
    let (undisturbed, writes) = counted.context("no undisturbed run")?;
    // A finalizer, a network, a subnet, a status, a new gateway, two deletions, the finalizer again: at least.
    ensure!(writes >= 8, "only {writes} writes were counted");
    let (odd, even) = tokio::try_join!(campaign(1, 2, writes, &undisturbed), campaign(2, 2, writes, &undisturbed))?;
    // Two events may become one, so the last numbers may not be reached.
    ensure!(odd + even + 3 >= writes, "the host was killed {} times for {writes} writes", odd + even);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_loop_at_one_step_converges_when_it_ends() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        world.tripwire.arm(2);
        let uid = world.create_network("loop", "10.9.0.0/24", "10.9.0.1").await?;
        for _ in 0..3 {
            world.tripwire.tripped().await;
            world.kill_host().await?;
            world.tripwire.disarm();
            world.tripwire.arm(1);
            world.start_host().await?;
        }
        world.tripwire.disarm();
        world.ready("loop").await?;
        steady(Duration::from_secs(1), "one network", || async { world.only_network(&uid).await.map(|_| ()) }).await?;
        ensure!(made_at(&world.neutron_gate.journal(), "/v2.0/networks") == 1, "{:?}", world.neutron_gate.journal());
        Ok(())
    })
    .await
}
