//! Files in the plugin directory that are no plugins: each is reported by its name with a reason, and the others run.

use anyhow::{Result, ensure};
use oarlock_tests::harness::{
    LogLine, SOON, World, WorldOptions, broken_plugins, built_plugin, eventually, repository_root, text, with_world,
};
use std::{fs, sync::Arc};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_are_no_plugins_are_reported_and_the_others_run() -> Result<()> {
    with_world(WorldOptions { host: false, ..WorldOptions::default() }, async |world: Arc<World>| {
        let whole = fs::read(built_plugin("network")?)?;
        let mut broken = broken_plugins(&whole);
        // The packages of its component type need each other: the stack of who makes a component of it ends.
        let cyclic = fs::read(repository_root().join("fuzz/regressions/wasm/cyclic-packages"))?;
        broken.push(("cyclic-packages", cyclic, "cannot compile it"));
        for (name, bytes, _) in &broken {
            world.plugins.file(&format!("{name}.wasm"), bytes)?;
            world.plugins.grant(name, &world.network_grant()?)?;
        }
        world.plugins.file("README.txt", b"not a plugin, and not called one")?;
        world.start_host().await?;
        world.create_network("fine", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("fine").await?;
        for (name, _, reason) in &broken {
            let entry = eventually(SOON, &format!("{name} to have failed"), || async {
                let entry = world.host(async |host| host.plugin(name).await).await?;
                ensure!(text(&entry, "/state") == "failed", "{entry}");
                Ok(entry)
            })
            .await?;
            ensure!(entry.to_string().to_lowercase().contains(reason), "{name}: {entry} does not say {reason:?}");
            let named = |line: &LogLine| line.text.contains(&format!("{name}.wasm"));
            world.logged(reason, |line| named(line) && line.text.to_lowercase().contains(reason)).await?;
            let lines = world.log(named).await?;
            ensure!(lines.len() <= 2, "{name} is told {} times", lines.len());
        }
        let plugins = world.host(async |host| host.plugins().await).await?.to_string();
        ensure!(!plugins.contains("README"), "{plugins}");
        // One series for each of them, and none for the one that runs.
        let series = async |labels: &[&str]| {
            world.host(async |host| host.metric("oarlock_plugin_newest_state", labels).await).await
        };
        let expected = f64::from(u32::try_from(broken.len())?);
        eventually(SOON, "the metric to follow", || async {
            let (refused, all) = (series(&["state=\"failed\""]).await?, series(&[]).await?);
            ensure!(
                (refused - expected).abs() < 0.5 && (all - expected).abs() < 0.5,
                "{refused} of {all} are told as failed"
            );
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_files_of_one_plugin_do_not_both_run() -> Result<()> {
    with_world(WorldOptions { host: false, ..WorldOptions::default() }, async |world: Arc<World>| {
        world.plugins.add("network", "network-copy", &world.network_grant()?.name("network"))?;
        world.start_host().await?;
        let uid = world.create_network("once", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("once").await?;
        world.only_network(&uid).await?;
        eventually(SOON, "the first by name to run, and the other to be refused", || async {
            let plugin = async |file: &str| world.host(async |host| host.plugin(file).await).await;
            let (first, other) = (plugin("network-copy.wasm").await?, plugin("network.wasm").await?);
            ensure!(text(&first, "/state") == "active" && text(&other, "/state") == "failed", "{first} {other}");
            ensure!(other.to_string().contains("network already"), "{other}");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_that_makes_no_sense_is_reported_and_the_others_run() -> Result<()> {
    with_world(WorldOptions { host: false, ..WorldOptions::default() }, async |world: Arc<World>| {
        world.plugins.add("deployment-network", "deployment-network", &world.deployment_network_grant())?;
        let nonsense = b"apiVersion: oarlock.dev/v1alpha1\nkind: PluginGrant\npermissionz: []\n";
        world.plugins.file("deployment-network.yaml", nonsense)?;
        world.start_host().await?;
        world.create_network("fine", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("fine").await?;
        eventually(SOON, "the grant to be refused", || async {
            let entry = world.host(async |host| host.plugin("deployment-network.wasm").await).await?;
            ensure!(text(&entry, "/state") == "failed" && entry.to_string().contains("permissionz"), "{entry}");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_plugin_directory_is_no_error() -> Result<()> {
    let options = WorldOptions { network: false, crd: false, ..WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        let plugins = world.host(async |host| host.plugins().await).await?;
        ensure!(!plugins.to_string().contains("wasm"), "{plugins}");
        let path = world.plugins.path().display().to_string();
        eventually(SOON, "a word about the empty directory", || async {
            let lines = world.log(|line| line.text.contains(&path) && line.text.contains("no .wasm file")).await?;
            ensure!(!lines.is_empty(), "the log does not say which directory is empty");
            Ok(())
        })
        .await
    })
    .await
}
