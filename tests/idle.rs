//! The memory of a host that has nothing to do.

use anyhow::{Result, ensure};
use oarlock_tests::harness::{SOON, World, WorldOptions, eventually, with_world};
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pages_of_the_program_leave_the_memory_of_an_idle_host_and_come_back_when_they_are_needed() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let mapped = async || world.host(async |host| host.memory_kib("RssFile")).await;
        let mut most = 0;
        for n in 0..10 {
            let name = format!("n{n}");
            world.create_network(&name, &format!("10.{n}.0.0/24"), &format!("10.{n}.0.1")).await?;
            world.ready(&name).await?;
            most = mapped().await?.max(most);
        }
        eventually(SOON, "the pages of the program to be unmapped", || async {
            let now = mapped().await?;
            ensure!(now * 2 < most, "{now} KiB of the program are mapped, and {most} were at work");
            Ok(())
        })
        .await?;
        world.create_network("after", "10.60.0.0/24", "10.60.0.1").await?;
        world.ready("after").await?;
        Ok(())
    })
    .await
}
