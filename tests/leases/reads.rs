//! Reads are subscriptions on whichever host holds the Lease.

use super::options;
use super::replica::{LEASE, Replica, holder};
use crate::dependencies::{agree, change, key, roots, version};
use anyhow::{Context, Result};
use oarlock_tests::harness::{SOON, World, with_world};
use std::sync::Arc;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_what_a_key_read_is_not_lost_while_its_lease_moves() -> Result<()> {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    with_world(options(), async |world: Arc<World>| {
        let mut replicas = Vec::new();
        for name in ["a", "b"] {
            let mut replica = Replica::new(&world, name).await?;
            replica.place("misfit", &version("1", "misfit=reader", None)?)?;
            replica.start(&[]).await?;
            replicas.push(replica);
        }
        let roots = roots(&world).await?;
        let seeds: Vec<String> = (0..6).map(|_| random.u32(..).to_string()).collect();
        for (i, seed) in seeds.iter().enumerate() {
            key(&world, &format!("reader{i}"), "misfit=reader", "program", seed).await?;
        }
        for round in 0..4 {
            let first = holder(&replicas.iter().collect::<Vec<_>>(), "misfit").await?;
            let leader = replicas.get_mut(first).context("no holder")?;
            if round % 2 == 0 {
                leader.signal("STOP").await?;
            } else {
                leader.host.take().context("it does not run")?.stop(SOON).await?;
            }
            // Some before the Lease moves, some after.
            for _ in 0..8 {
                change(&world, &mut random, &roots).await?;
                tokio::time::sleep((LEASE + Duration::from_secs(2)) / 8).await;
            }
            if round % 2 == 0 {
                leader.signal("CONT").await?;
            } else {
                leader.start(&[]).await?;
            }
            agree(&world, &["reader"], &seeds, &format!("round {round} of seed {seed}")).await?;
        }
        Ok(())
    })
    .await
}
