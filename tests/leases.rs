//! Several hosts on one API server: each plugin has one holder, and none of the others acts (L1 to L10).

mod lost;
mod plugin_objects;
mod reads;
mod regained;
mod replica;
mod rolling;
mod rollouts;
mod takeover;

use anyhow::{Context, Result, ensure};
use http::StatusCode;
use oarlock_tests::harness::{
    Action, Rule, SOON, World, WorldOptions, eventually, misfit_version, misfit_with, steady, text, with_world,
};
use replica::{LEASE, Replica, holder, transitions};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::task::JoinHandle;

fn options() -> WorldOptions {
    WorldOptions { host: false, network: false, crd: false, ..WorldOptions::default() }
}

/// Hosts with version 1 of the misfit, which asks the outside at every reconcile.
async fn started(world: &World, names: &[&'static str]) -> Result<Vec<Replica>> {
    started_as(world, names, |replica| replica).await
}

/// The same with other options.
async fn started_as(
    world: &World,
    names: &[&'static str],
    change: impl Fn(Replica) -> Replica,
) -> Result<Vec<Replica>> {
    let mut replicas = Vec::new();
    for &name in names {
        let mut replica = change(Replica::new(world, name).await?);
        replica.place("misfit", &misfit_version("1", "fetch")?)?;
        replica.start(&[]).await?;
        replicas.push(replica);
    }
    Ok(replicas)
}

fn path(world: &World, name: &str) -> String {
    format!("/api/v1/namespaces/{}/configmaps/{name}", world.namespace)
}

async fn object(world: &World, name: &str) -> Result<()> {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"misfit": "true"}},
        "data": {"value": "first"}});
    world.cluster.create(&format!("/api/v1/namespaces/{}/configmaps", world.namespace), &object).await?;
    Ok(())
}

/// Waits until the child of an object has seen this value.
async fn seen(world: &World, name: &str, value: &str) -> Result<()> {
    eventually(SOON, &format!("{name}-child to have seen {value}"), || async {
        let child = world.cluster.get(&path(world, &format!("{name}-child"))).await?.context("no child")?;
        ensure!(text(&child, "/data/seen") == value, "{child}");
        Ok(())
    })
    .await
}

/// Objects that are changed without a pause, until it is told to stop; then every child must have seen the last value.
struct Load {
    done: Arc<AtomicBool>,
    changes: Arc<AtomicUsize>,
    task: JoinHandle<Result<()>>,
}

impl Load {
    const OBJECTS: usize = 4;

    async fn begin(world: &Arc<World>) -> Result<Self> {
        for number in 0..Self::OBJECTS {
            object(world, &format!("o{number}")).await?;
        }
        let (done, changes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (world, ends, counted) = (Arc::clone(world), Arc::clone(&done), Arc::clone(&changes));
        let task = tokio::spawn(async move {
            while !ends.load(Ordering::Relaxed) {
                let change = counted.fetch_add(1, Ordering::Relaxed);
                let name = format!("o{}", change % Self::OBJECTS);
                world
                    .cluster
                    .merge_patch(&path(&world, &name), &json!({"data": {"value": change.to_string()}}))
                    .await?;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Ok(())
        });
        Ok(Self { done, changes, task })
    }

    async fn end(self, world: &World) -> Result<usize> {
        self.done.store(true, Ordering::Relaxed);
        self.task.await??;
        let changes = self.changes.load(Ordering::Relaxed);
        for change in changes.saturating_sub(Self::OBJECTS)..changes {
            seen(world, &format!("o{}", change % Self::OBJECTS), &change.to_string()).await?;
        }
        Ok(changes)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l6_a_plugin_that_is_told_to_come_back_later_costs_no_lease() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let replicas = started(&world, &["a", "b"]).await?;
        let all: Vec<&Replica> = replicas.iter().collect();
        let first = all[holder(&all, "misfit").await?];
        let before = transitions(&world, "misfit").await?;
        let _pass = first.kubernetes.rule(Rule::every(Action::Pass).path("/leases"));
        let busy = Action::kubernetes(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", "later", Some(2));
        let busy = first.kubernetes.rule(Rule::every(busy));
        for number in 0..50 {
            object(&world, &format!("busy-{number}")).await?;
        }
        steady(LEASE + Duration::from_secs(2), "the Lease to stay", || async {
            ensure!(first.holds("misfit").await?, "lost");
            Ok(())
        })
        .await?;
        drop(busy);
        for number in 0..50 {
            seen(&world, &format!("busy-{number}"), "first").await?;
        }
        ensure!(transitions(&world, "misfit").await? == before, "it went to and fro");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l7_l8_l10_a_standby_is_ready_its_queue_empty_and_a_graceful_end_hands_over() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let mut replicas = started_as(&world, &["a", "b"], Replica::patient).await?;
        let all: Vec<&Replica> = replicas.iter().collect();
        let first = holder(&all, "misfit").await?;
        let standby = all[1 - first];
        for round in 0..3 {
            for number in 0..40 {
                let name = format!("o{number}");
                match round {
                    0 => object(&world, &name).await?,
                    1 => drop(
                        world.cluster.merge_patch(&path(&world, &name), &json!({"data": {"value": "second"}})).await?,
                    ),
                    _ if number >= 20 => world.cluster.delete(&path(&world, &name)).await?,
                    _ => {}
                }
            }
            let entry = standby.host()?.plugin("misfit").await?;
            ensure!(entry["queueDepth"] == 0 && entry["state"] == "active", "{entry}");
        }
        // It says who has the object instead.
        let leads = format!("this host is a standby: {}_", all[first].name);
        eventually(SOON, "the standby to name the holder", || async {
            let object = (world.namespace.as_str(), "o0");
            let found = crate::explain::of_plugin(standby.host()?, "misfit", "ConfigMap", object).await?;
            ensure!(found["heldUp"].to_string().contains(&leads), "{leads}: {found:#}");
            ensure!(found["lastCompleteSince"].is_null(), "it knows nothing of the other's reconciles: {found:#}");
            Ok(())
        })
        .await?;
        for number in 0..20 {
            seen(&world, &format!("o{number}"), "second").await?;
        }
        eventually(SOON, "the standby's caches to follow", || async {
            let entry = standby.host()?.plugin("misfit").await?;
            let kinds = entry["objects"].as_object().context("no objects")?;
            ensure!(kinds.values().filter_map(serde_json::Value::as_u64).sum::<u64>() == 20, "{entry}");
            Ok(())
        })
        .await?;
        ensure!(standby.acts().is_empty(), "{:?}", standby.acts());
        let leaving = replicas.remove(first);
        let host = leaving.host.context("it does not run")?;
        let before = jiff::Timestamp::now();
        let (status, process) = host.stop(SOON).await?;
        ensure!(status.code() == Some(0), "{status}:\n{}", process.tail());
        let next = &replicas[0];
        eventually(SOON, "the standby to take over", || async {
            ensure!(next.holds("misfit").await?, "not yet");
            Ok(())
        })
        .await?;
        object(&world, "after").await?;
        seen(&world, "after", "first").await?;
        let object = (world.namespace.as_str(), "o0");
        let found = crate::explain::of_plugin(next.host()?, "misfit", "ConfigMap", object).await?;
        let since: jiff::Timestamp = text(&found, "/lastCompleteSince").parse()?;
        ensure!(since >= before, "the other host reconciled until {before}: {found:#}");
        let released = process.lines().iter().filter(|line| line.text.contains("lease released")).count();
        ensure!(released == 1, "{}", process.tail());
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_that_goes_while_its_holder_dies_is_not_forgotten() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let mut replicas = started(&world, &["a", "b"]).await?;
        let all: Vec<&Replica> = replicas.iter().collect();
        let first = holder(&all, "misfit").await?;
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "leaving", "labels": {"misfit": "true"},
            "annotations": {"misfit/mode": "farewell"}}, "data": {"value": "first"}});
        let made = world.cluster.create(&format!("/api/v1/namespaces/{}/configmaps", world.namespace), &object).await?;
        seen(&world, "leaving", "first").await?;
        let mut dying = replicas.remove(first);
        dying.host.as_mut().context("it does not run")?.kill().await?;
        world.cluster.delete(&path(&world, "leaving")).await?;
        eventually(SOON, "the farewell by the other host", || async {
            let said = world.cluster.get(&path(&world, "leaving-farewell")).await?.context("none")?;
            ensure!(text(&said, "/data/uid") == text(&made, "/metadata/uid"), "{said}");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_with_different_versions_do_not_fight_and_a_swap_rolls_through() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let replicas = started_as(&world, &["a", "b"], Replica::patient).await?;
        let all: Vec<&Replica> = replicas.iter().collect();
        let first = holder(&all, "misfit").await?;
        let (leads, stands) = (all[first], all[1 - first]);
        let before = transitions(&world, "misfit").await?;
        let says = async |version: &str| {
            eventually(SOON, &format!("both to say that version {version} reconciles"), || async {
                for replica in [leads, stands] {
                    let lease = replica.lease("misfit").await?;
                    ensure!(text(&lease, "/holderVersion") == version, "{}: {lease}", replica.name);
                }
                Ok(())
            })
            .await
        };
        object(&world, "shared").await?;
        seen(&world, "shared", "first").await?;
        stands.place("misfit", &misfit_version("2", "fetch")?)?;
        eventually(SOON, "the standby to have version 2", || async {
            let entry = stands.host()?.plugin("misfit").await?;
            ensure!(text(&entry, "/version") == "2" && text(&entry, "/state") == "active", "{entry}");
            Ok(())
        })
        .await?;
        says("1").await?;
        ensure!(stands.acts().is_empty(), "{:?}", stands.acts());
        leads.place("misfit", &misfit_version("2", "fetch")?)?;
        says("2").await?;
        world.cluster.merge_patch(&path(&world, "shared"), &json!({"data": {"value": "second"}})).await?;
        seen(&world, "shared", "second").await?;
        ensure!(stands.acts().is_empty() && transitions(&world, "misfit").await? == before, "it changed hosts");
        // A file that is gone on the holder leaves the plugin to the other.
        leads.plugins.remove("misfit.wasm")?;
        eventually(SOON, "the other to take over", || async {
            ensure!(stands.holds("misfit").await?, "not yet");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_without_plugins_gets_one_of_those_another_holds() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let mut replicas = Vec::new();
        for name in ["a", "b"] {
            let mut replica = Replica::new(&world, name).await?;
            for plugin in ["one", "two", "three"] {
                let version = misfit_with("1", "", |manifest| {
                    manifest["name"] = json!(plugin);
                    manifest["primaries"][0]["labelSelector"] = json!(format!("{plugin}=true"));
                })?;
                replica.place(plugin, &version)?;
            }
            replica.start(&[]).await?;
            if replicas.is_empty() {
                eventually(SOON, "the first to hold all", || async {
                    for plugin in ["one", "two", "three"] {
                        ensure!(replica.holds(plugin).await?, "{plugin}");
                    }
                    Ok(())
                })
                .await?;
            }
            replicas.push(replica);
        }
        let count = async |replica: &Replica| {
            let mut held = 0;
            for plugin in ["one", "two", "three"] {
                held += usize::from(replica.holds(plugin).await?);
            }
            anyhow::Ok(held)
        };
        eventually(SOON, "the second to hold one", || async {
            let held = (count(&replicas[0]).await?, count(&replicas[1]).await?);
            ensure!(held == (2, 1), "{held:?}");
            Ok(())
        })
        .await?;
        steady(LEASE * 2, "two and one", || async {
            let held = (count(&replicas[0]).await?, count(&replicas[1]).await?);
            ensure!(held == (2, 1), "{held:?}");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage_in_a_lease_and_a_deleted_one_are_put_right() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let replicas = started(&world, &["a", "b"]).await?;
        let all: Vec<&Replica> = replicas.iter().collect();
        holder(&all, "misfit").await?;
        let lease = format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases/oarlock-misfit", replica::HOME);
        let garbage = [
            json!({"spec": {"holderIdentity": "somebody-else", "leaseDurationSeconds": 3}}),
            json!({"spec": {"holderIdentity": null, "leaseDurationSeconds": null, "renewTime": null, "acquireTime": null}}),
            json!({"metadata": {"labels": null, "annotations": {"oarlock.dev/wanted-by": "nobody", "oarlock.dev/plugin-version": ""}}}),
        ];
        for (number, garbage) in garbage.iter().enumerate() {
            world.cluster.merge_patch(&lease, garbage).await?;
            settled(&world, &all, &format!("spoilt-{number}")).await?;
        }
        world.cluster.delete(&lease).await?;
        settled(&world, &all, "deleted").await
    })
    .await
}

/// Some host reconciles again.
async fn settled(world: &World, all: &[&Replica], name: &str) -> Result<()> {
    object(world, name).await?;
    seen(world, name, "first").await?;
    holder(all, "misfit").await.map(|_| ())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hosts_with_one_identity_are_two() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let mut replicas = Vec::new();
        for name in ["a", "b"] {
            let mut replica = Replica::new(&world, name).await?.known_as("same");
            replica.place("misfit", &misfit_version("1", "")?)?;
            replica.start(&[]).await?;
            replicas.push(replica);
        }
        let all: Vec<&Replica> = replicas.iter().collect();
        let first = holder(&all, "misfit").await?;
        steady(LEASE * 2, "one holder", || async {
            ensure!(holder(&all, "misfit").await? == first, "another");
            Ok(())
        })
        .await
    })
    .await
}
