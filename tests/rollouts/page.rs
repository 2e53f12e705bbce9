//! `docs/rollouts.md`, as a reader follows it, on the embedded API server and on a real one.

use crate::page_reader::Reader;
use crate::plan::ALONE;
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{SOON, World, blocks, built_plugin, eventually, oarlock, repository_root, with_world};
use std::fs;
use std::sync::Arc;

const PAGE: &str = "docs/rollouts.md";

/// The commands with which the page starts a host.
fn host_commands(kind: &str) -> Result<Vec<String>> {
    let all = blocks(&fs::read_to_string(repository_root().join(PAGE))?);
    let found = all.into_iter().find(|block| block.info == format!("sh host={kind}"));
    Ok(found.with_context(|| format!("{PAGE} starts no host for {kind}"))?.lines)
}

/// Starts the host as a reader with a cluster does.
async fn start(world: &World) -> Result<()> {
    let commands = host_commands("cluster")?;
    let [definition, run] = commands.as_slice() else { anyhow::bail!("{commands:?}") };
    let definition = definition.strip_prefix("kubectl apply -f ").context("no definition")?;
    world.cluster.kubectl(&["apply", "-f", &repository_root().join(definition).display().to_string()]).await?;
    let arguments = run.strip_prefix("oarlock run plugins ").context("no host")?;
    world.start_host_with(&arguments.split(' ').collect::<Vec<_>>()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_of_the_page_rolls_a_configuration_out_and_aborts_the_next_one() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        fs::copy(built_plugin("namespace-baseline-rust")?, world.plugins.path().join("namespace-baseline.wasm"))?;
        start(&world).await?;
        let reader = Reader::new(&world).await?;
        let done = reader.follow(PAGE, "rollout abort").await?;
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

/// The other way to start one: the folder is an argument, as in the page.
#[tokio::test]
async fn the_page_starts_an_embedded_host_with_arguments_that_exist() -> Result<()> {
    ensure!(host_commands("embedded")? == ["oarlock dev plugins"]);
    let help = oarlock(&["dev", "--help"]).await?;
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    ensure!(help.lines().any(|line| line.starts_with("Usage: oarlock dev") && line.contains("[DIR]")), "{help}");
    Ok(())
}
