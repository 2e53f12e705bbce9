//! `docs/rollouts.md`, as a reader follows it, on the embedded API server and on a real one.

use crate::page_reader::Reader;
use crate::plan::ALONE;
use anyhow::{Result, ensure};
use oarlock_tests::harness::{SOON, World, built_plugin, eventually, repository_root, with_world};
use std::fs;
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_of_the_page_rolls_a_configuration_out_and_aborts_the_next_one() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        world.cluster.apply_crd(&repository_root().join("deploy/crds/plugins.yaml")).await?;
        fs::copy(built_plugin("namespace-baseline-rust")?, world.plugins.path().join("namespace-baseline.wasm"))?;
        world.start_host_with(&["--plugin-objects", &world.namespace]).await?;
        let reader = Reader::new(&world).await?;
        let done = reader.follow("docs/rollouts.md", "rollout abort").await?;
        ensure!(done == [1, 8, 7], "{done:?} files, commands and outputs");
        let policies =
            ["kubectl get networkpolicy default-deny -n rollout-a -o jsonpath='{.spec.policyTypes}'".to_owned()];
        // The host undoes the writes of the canary after it has answered.
        eventually(SOON, "the policy of before", || async {
            ensure!(reader.run(&policies).await?.contains("Egress"), "the aborted rollout changed the policy");
            Ok(())
        })
        .await?;
        let namespaces = "kubectl delete namespace rollout-a rollout-b rollout-c rollout-d --wait=false".to_owned();
        reader.run(&[namespaces]).await.map(drop)
    })
    .await
}
