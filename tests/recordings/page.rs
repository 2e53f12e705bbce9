//! `docs/find-out-why.md`, as a reader follows it, on the embedded API server and on a real one.

use super::alone;
use crate::page_reader::Reader;
use anyhow::{Result, ensure};
use oarlock_tests::harness::{World, built_plugin, with_world};
use std::fs;
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_of_the_page_goes_from_an_error_to_a_failing_test() -> Result<()> {
    with_world(alone(), async |world: Arc<World>| {
        fs::copy(built_plugin("namespace-baseline-rust")?, world.plugins.path().join("namespace-baseline.wasm"))?;
        world.start_host().await?;
        let reader = Reader::new(&world).await?;
        let done = reader.follow("docs/find-out-why.md", "kubectl wait").await?;
        ensure!(done == [1, 7, 6], "{done:?} files, commands and outputs");
        reader.run(&["kubectl delete namespace why-a why-b --wait=false".to_owned()]).await.map(drop)
    })
    .await
}
