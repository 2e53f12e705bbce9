//! The memory of a host that has nothing to do.

use anyhow::{Result, ensure};
use oarlock_tests::harness::{SOON, World, WorldOptions, eventually, with_world};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pages_that_a_start_maps_leave_the_memory_of_a_host_and_come_back_when_they_are_needed() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let most = AtomicU64::new(0);
        eventually(SOON, "the pages of the program to be unmapped", || async {
            let mapped = world.host(async |host| host.memory_kib("RssFile")).await?;
            let most = most.fetch_max(mapped, Relaxed).max(mapped);
            ensure!(mapped * 2 < most, "{mapped} KiB of the program are mapped, and {most} were");
            Ok(())
        })
        .await?;
        world.create_network("after", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("after").await?;
        Ok(())
    })
    .await
}
