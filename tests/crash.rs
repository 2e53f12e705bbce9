//! The host is killed after every single write, to Kubernetes and to Neutron, one run each.

mod deployments;
mod races;

use anyhow::{Context, Result, ensure};
use futures::future::BoxFuture;
use http::Method;
use oarlock_tests::harness::{Action, Exchange, Rule, SOON, World, WorldOptions, eventually, steady, text, with_world};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// What a run leaves for a user to see, without what differs from run to run (ids, times, names of namespaces).
#[derive(Debug, PartialEq)]
struct Seen {
    created: Value,
    edited: Value,
}

/// Plays one object's life, waits out each phase, and holds what must be true of every run. What was seen is compared.
type Scenario = for<'a> fn(&'a World, &'a str) -> BoxFuture<'a, Result<Seen>>;

/// Create, edit the gateway, delete.
fn network<'a>(world: &'a World, name: &'a str) -> BoxFuture<'a, Result<Seen>> {
    Box::pin(async move {
        let from = world.neutron_gate.mark();
        let uid = world.create_network(name, "10.9.0.0/24", "10.9.0.1").await?;
        let created = phase(world, name, &uid, "10.9.0.1").await.context("create")?;
        world.set_gateway(name, "10.9.0.7").await?;
        let edited = phase(world, name, &uid, "10.9.0.7").await.context("edit")?;
        world.delete_whole_network(name, &uid).await.context("delete")?;
        nothing_double(world, from, &uid)?;
        Ok(Seen { created, edited })
    })
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

/// One network and one subnet were made since `from`, and `observedGeneration` never went back, over all kills.
fn nothing_double(world: &World, from: usize, uid: &str) -> Result<()> {
    for path in ["/v2.0/networks", "/v2.0/subnets"] {
        let made = made_at(&world.neutron_gate.since(from), path);
        ensure!(made == 1, "{made} POSTs of {path}: a duplicate was made on the way");
    }
    let generations: Vec<_> = statuses(world, uid).iter().map(|status| status["observedGeneration"].as_i64()).collect();
    ensure!(generations.is_sorted(), "s7: observedGeneration was written as {generations:?}");
    Ok(())
}

fn made_at(journal: &[Exchange], path: &str) -> usize {
    journal.iter().filter(|one| one.method == Method::POST && one.path == path && one.forwarded).count()
}

/// The statuses the host wrote for the object with this uid, in their order.
fn statuses(world: &World, uid: &str) -> Vec<Value> {
    let written = world.kubernetes_gate.writes_since(0).into_iter().filter(|one| one.forwarded);
    let written = written.filter(|one| one.path.split('?').next().is_some_and(|path| path.ends_with("/status")));
    let bodies = written.filter_map(|one| serde_json::from_slice::<Value>(&one.body).ok());
    bodies.filter(|body| text(body, "/metadata/uid") == uid).filter_map(|body| body.get("status").cloned()).collect()
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

/// One life after the other, each with a kill after another of its writes.
#[derive(Clone, Copy)]
struct Campaign {
    scenario: Scenario,
    prepare: fn(&World) -> Result<()>,
    /// What the undisturbed run must have written, in this order and perhaps more: then each id is met by a kill.
    writes: &'static [(&'static str, &'static str)],
}

impl Campaign {
    /// The undisturbed run: what is seen of it, and how many writes it takes.
    async fn undisturbed(self) -> Result<(Seen, u64)> {
        let mut counted = None;
        with_world(options(), async |world: Arc<World>| {
            (self.prepare)(&world)?;
            let seen = (self.scenario)(&world, "undisturbed").await?;
            quiet(&world).await?;
            self.assert_written(&world)?;
            counted = Some((seen, world.tripwire.count()));
            Ok(())
        })
        .await?;
        counted.context("no undisturbed run")
    }

    fn assert_written(self, world: &World) -> Result<()> {
        let mut all = world.kubernetes_gate.writes_since(0);
        all.extend(world.neutron_gate.writes_since(0));
        all.sort_by_key(|one| one.at);
        let mut left = all.iter();
        for (method, part) in self.writes {
            let found = left.any(|one| {
                let inside = one.path.contains(part) || String::from_utf8_lossy(&one.body).contains(part);
                one.method.as_str() == *method && inside
            });
            ensure!(found, "no {method} with {part} in its place: {all:#?}");
        }
        Ok(())
    }

    /// The host is killed after the `n`-th write and started again. Returns what was seen, and whether it came to that.
    async fn killed_after(self, world: &World, n: u64) -> Result<(Seen, bool)> {
        world.tripwire.arm(n);
        let name = format!("crash-{n}");
        let mut scenario = (self.scenario)(world, &name);
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

    /// Runs every second write from `first`, one after the other, in one world. Returns how often the host was killed.
    async fn every_second(self, first: u64, writes: u64, undisturbed: &Seen) -> Result<u64> {
        let mut killed = 0;
        with_world(options(), async |world: Arc<World>| {
            (self.prepare)(&world)?;
            for n in (first..=writes).step_by(2) {
                let run = self.killed_after(&world, n).await;
                let (seen, tripped) = run.with_context(|| format!("killed after write {n}"))?;
                ensure!(seen == *undisturbed, "killed after write {n}:\n{seen:#?}\nundisturbed:\n{undisturbed:#?}");
                quiet(&world).await?;
                killed += u64::from(tripped);
            }
            Ok(())
        })
        .await?;
        Ok(killed)
    }

    async fn run(self) -> Result<()> {
        let (undisturbed, mut writes) = self.undisturbed().await?;
        let (odd, even) =
            tokio::try_join!(self.every_second(1, writes, &undisturbed), self.every_second(2, writes, &undisturbed))?;
        // On a busy machine the first run may write more than it takes: a status for each step that others finish at once.
        if odd + even + 3 < writes {
            writes = writes.min(self.undisturbed().await?.1);
        }
        // Two events may become one, so the last numbers may not be reached.
        ensure!(odd + even + 3 >= writes, "the host was killed {} times for {writes} writes", odd + even);
        Ok(())
    }
}

fn options() -> WorldOptions {
    WorldOptions { resync_seconds: 1, ..WorldOptions::default() }
}

/// X2 after Neutron's create and before the id is in the status, X3 after the status and before the next step, X4 between two
/// creates of which one needs the other, X5 after Neutron's delete and before the finalizer is removed. Every other write too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn x2_to_x5_killed_after_every_write_a_network_converges() -> Result<()> {
    let writes = &[
        ("PATCH", "oarlock.dev/network"),
        ("POST", "/v2.0/networks"),
        ("POST", "/v2.0/subnets"),
        ("PATCH", "networkId"),
        ("PUT", "/v2.0/subnets/"),
        ("PATCH", "10.9.0.7"),
        ("DELETE", "/v2.0/subnets/"),
        ("DELETE", "/v2.0/networks/"),
        ("PATCH", r#""finalizers":[]"#),
    ];
    Campaign { scenario: network, prepare: |_| Ok(()), writes }.run().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn x1_killed_before_the_finalizer_is_stored_nothing_was_made() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let held = Rule::every(Action::Silence).methods(&[Method::PATCH]).path("/networks/first");
        let held = world.kubernetes_gate.rule(held);
        let uid = world.create_network("first", "10.9.0.0/24", "10.9.0.1").await?;
        held.hit().await?;
        world.kill_host().await?;
        drop(held);
        ensure!(world.neutron_gate.journal().is_empty(), "Neutron was asked: {:?}", world.neutron_gate.journal());
        world.start_host().await?;
        phase(&world, "first", &uid, "10.9.0.1").await?;
        nothing_double(&world, 0, &uid)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn x7_a_crash_loop_at_one_step_converges_when_it_ends() -> Result<()> {
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
