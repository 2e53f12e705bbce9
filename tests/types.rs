//! `oarlock types` of a kind that the API server serves.

use anyhow::{Result, ensure};
use oarlock_tests::harness::{World, WorldOptions, oarlock, repository_root, with_world};
use std::sync::Arc;

/// Exit status, standard output and standard error.
async fn types(args: &[&str]) -> Result<(bool, String, String)> {
    let said = oarlock(&[&["types", "--lang", "rust"], args].concat()).await?;
    Ok((said.status.success(), String::from_utf8(said.stdout)?, String::from_utf8(said.stderr)?))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_types_of_a_served_kind_are_those_of_its_definition() -> Result<()> {
    let options = WorldOptions { host: false, network: false, ..WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        let file = repository_root().join("plugins/network/crd.yaml").display().to_string();
        let (good, of_file, why) = types(&["--crd", &file]).await?;
        ensure!(good && of_file.contains("pub struct NetworkSpec"), "{of_file}{why}");
        let kubeconfig = world.cluster.kubeconfig().display().to_string();
        let served = async |kind: &str| types(&["--kind", kind, "--kubeconfig", &kubeconfig]).await;
        let (good, of_server, why) = served("samplecrd.k8s.io/v1/Network").await?;
        ensure!(good && of_server == of_file, "{why}{of_server}");
        for (kind, part) in [
            ("Network", "--kind without --crd is VERSION/KIND or GROUP/VERSION/KIND"),
            ("samplecrd.k8s.io/v1/Nothing", "the API server has no kind Nothing in apis/samplecrd.k8s.io/v1"),
            ("samplecrd.k8s.io/v9/Network", "the API server serves no apis/samplecrd.k8s.io/v9"),
            ("samplecrd.k8s.io/../Network?", "is not VERSION/KIND or GROUP/VERSION/KIND"),
        ] {
            let (good, _, why) = served(kind).await?;
            ensure!(!good && why.contains(part), "{kind}: {why}");
        }
        Ok(())
    })
    .await
}
