//! A host that loses a Lease stops to act before another begins, whatever it is that hinders it (L1 to L4).

use super::replica::{LEASE, RENEW, Replica, holder};
use super::{Load, options, path, started};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{Action, Rule, SOON, World, eventually, steady, text, with_world};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// What lies between the host's decision and its request's arrival at the gate, on a busy machine. It is less than what is left of the Lease.
const ON_THE_WAY: Duration = Duration::from_millis(1500);

/// Waits until an object has been reconciled, whatever it was changed to.
async fn reconciled(world: &World, name: &str) -> Result<()> {
    eventually(SOON, &format!("{name}-child"), || async {
        world.cluster.get(&path(world, &format!("{name}-child"))).await?.context("none yet")
    })
    .await
    .map(drop)
}

/// Waits until this host holds the Lease.
async fn taken_by(next: &Replica) -> Result<()> {
    eventually(SOON, "another holder", || async {
        ensure!(next.holds("misfit").await?, "not yet");
        Ok(())
    })
    .await
}

/// After the holder lost its Lease: it ended in time, and the other began after that.
fn no_overlap(lost: &Replica, taken: &Replica, plugin: &str, began: Instant) -> Result<()> {
    let last = lost.last_act().context("it did nothing")?;
    let renewed = lost.renewed(plugin).context("never renewed")?;
    ensure!(
        last.at <= renewed + RENEW + ON_THE_WAY,
        "{} acted {:?} after its last renewal: {last}",
        lost.name,
        last.at - renewed
    );
    let first = taken.first_act_since(began).context("nobody took over")?;
    ensure!(
        first.at > last.at,
        "{} began {:?} before {} ended: {first}, {last}",
        taken.name,
        last.at - first.at,
        lost.name
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l1_l2_a_holder_that_cannot_renew_stops_to_act_before_another_begins() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let replicas = started(&world, &["a", "b"]).await?;
        let all: Vec<&Replica> = replicas.iter().collect();
        let first = holder(&all, "misfit").await?;
        let (lost, taken) = (all[first], all[1 - first]);
        let load = Load::begin(&world).await?;
        reconciled(&world, "o0").await?;
        // Everything passes but what is about Leases.
        let began = Instant::now();
        let cut = lost.kubernetes.rule(Rule::every(Action::Silence).path("/leases"));
        taken_by(taken).await?;
        ensure!(!lost.holds("misfit").await?, "both hold it");
        load.end(&world).await?;
        no_overlap(lost, taken, "misfit", began)?;
        drop(cut);
        let mark = Instant::now();
        steady(LEASE * 2, "the standby to do nothing", || async {
            ensure!(lost.first_act_since(mark).is_none(), "{:?}", lost.first_act_since(mark));
            ensure!(taken.holds("misfit").await?, "it went back");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l3_a_holder_that_alone_cannot_reach_the_api_server_stops_also_to_act_outside() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let replicas = started(&world, &["a", "b"]).await?;
        let all: Vec<&Replica> = replicas.iter().collect();
        let first = holder(&all, "misfit").await?;
        let (lost, taken) = (all[first], all[1 - first]);
        let load = Load::begin(&world).await?;
        reconciled(&world, "o1").await?;
        // A request to the outside hangs as well: it is cut off.
        let hanging = lost.outside.rule(Rule::every(Action::Silence).times(1));
        hanging.hit().await?;
        let began = Instant::now();
        lost.kubernetes.set_down(true);
        taken_by(taken).await?;
        load.end(&world).await?;
        no_overlap(lost, taken, "misfit", began)?;
        lost.kubernetes.set_down(false);
        eventually(SOON, "the one that was cut off to be a standby", || async {
            let lease = lost.lease("misfit").await?;
            ensure!(text(&lease, "/holder").starts_with(taken.name) && lease["held"] == false, "{lease}");
            Ok(())
        })
        .await
    })
    .await
}

/// Several times and from one to the other: what counts is where between its looks at the Leases a host is paused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l4_a_host_that_was_paused_begins_nothing_when_it_goes_on() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let replicas = started(&world, &["a", "b"]).await?;
        let all: Vec<&Replica> = replicas.iter().collect();
        let mut first = holder(&all, "misfit").await?;
        let load = Load::begin(&world).await?;
        reconciled(&world, "o2").await?;
        for round in 0..6 {
            let (paused, taken) = (all[first], all[1 - first]);
            tokio::time::sleep(Duration::from_millis(230 * round)).await;
            paused.signal("STOP").await?;
            taken_by(taken).await?;
            // At first as four times as long as the Lease lasts: 60 s of 15.
            tokio::time::sleep(if round == 0 { LEASE * 2 } else { LEASE / 6 }).await;
            goes_on_as_a_standby(paused, taken).await.with_context(|| format!("round {round}"))?;
            first = 1 - first;
        }
        load.end(&world).await.map(|_| ())
    })
    .await
}

/// Lets a host go on that was paused while another took its plugin.
async fn goes_on_as_a_standby(paused: &Replica, taken: &Replica) -> Result<()> {
    let mark = Instant::now();
    paused.signal("CONT").await?;
    steady(LEASE / 2, "the paused host to stay a standby", || async {
        ensure!(!paused.holds("misfit").await? && taken.holds("misfit").await?, "it came back");
        Ok(())
    })
    .await?;
    // What was with the kernel, or on its way there, when it was paused: one request of each worker at most, and bound to an object.
    let late: Vec<_> = paused.acts().into_iter().filter(|act| act.at >= mark).collect();
    ensure!(late.len() <= 2, "{late:?}");
    for write in late.iter().filter(|act| act.is_write()) {
        ensure!(String::from_utf8_lossy(&write.body).contains("\"uid\""), "{write}");
    }
    Ok(())
}
