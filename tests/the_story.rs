//! The story as one test.

use anyhow::Result;
use oarlock_tests::{
    harness::{WorldOptions, with_world},
    story,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn story() -> Result<()> {
    let options = WorldOptions {
        resync_seconds: 2,
        crd: false,
        network: true,
        host: false,
        keystone: false,
        namespace: None,
        demo: false,
    };
    with_world(options, async |world| {
        story::furnish(&world)?;
        story::play(&world).await?;
        story::play_rollout(&world).await
    })
    .await
}
