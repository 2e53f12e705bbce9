//! Many Networks, and a host that is killed among them.

use super::{Real, wanted, with_real};
use anyhow::{Context, Result};
use oarlock_tests::harness::ControlPlaneOptions;
use std::time::Duration;

/// In `make test-kubernetes`. `OARLOCK_NETWORKS=10000` takes about ten minutes.
const MANY: usize = 2000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r9_of_many_networks_each_is_in_neutron_once_although_the_host_is_killed() -> Result<()> {
    let many = match std::env::var("OARLOCK_NETWORKS") {
        Ok(number) => number.parse().context("OARLOCK_NETWORKS is a number")?,
        Err(_) => MANY,
    };
    with_real(ControlPlaneOptions::default(), async |real: &mut Real| {
        let user = real.user();
        let load = tokio::spawn(async move { user.create_all(0..many).await });
        for part in [10, 4, 2] {
            real.some_ready(many / part).await?;
            real.kill_host().await?;
            real.start_host().await?;
        }
        load.await??;
        real.settled(Duration::from_secs(1800), &wanted(0..many, 1), 0).await
    })
    .await
}
