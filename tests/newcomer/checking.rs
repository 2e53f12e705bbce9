//! Commands that look at a directory, a cluster or a host: `oarlock doctor`, `oarlock plugins --watch`.

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{SOON, World, WorldOptions, oarlock, oarlock_binary, with_world};
use std::{process::Stdio, sync::Arc};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

/// The lines of `oarlock doctor`, and whether it succeeds.
async fn doctor(world: &World, args: &[&str]) -> Result<(bool, String)> {
    let (folder, kubeconfig) =
        (world.plugins.path().display().to_string(), world.cluster.kubeconfig().display().to_string());
    let output = oarlock(&[&["doctor", &folder, "--kubeconfig", &kubeconfig][..], args].concat()).await?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Ok((output.status.success(), said))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n23_doctor_names_each_fault_before_a_host_runs() -> Result<()> {
    with_world(WorldOptions { host: false, crd: false, ..WorldOptions::default() }, async |world: Arc<World>| {
        world.plugins.file("broken.wasm", b"no plugin")?;
        world.plugins.remove("network.yaml")?;
        let (good, said) = doctor(&world, &[]).await?;
        for part in [
            "ok    API server: Kubernetes v1.",
            "broken.wasm: not a plugin: ",
            "ok    ",
            "FAIL  network: no grant\n      oarlock grant ",
            "2 checks failed",
        ] {
            ensure!(!good && said.contains(part), "{part}: {said}");
        }
        world.plugins.remove("broken.wasm")?;
        let grant = world.network_grant()?;
        world.plugins.grant("network", &grant)?;
        let (good, said) = doctor(&world, &[]).await?;
        let unserved = "FAIL  network: the API server does not serve samplecrd.k8s.io/v1, Kind=Network\n      apply its CustomResourceDefinition";
        ensure!(!good && said.contains(unserved) && said.contains("1 check failed"), "{said}");
        let nothing = doctor(&world, &["--context", "nowhere"]).await?;
        ensure!(!nothing.0 && nothing.1.contains("FAIL  API server: ") && nothing.1.contains("nowhere"), "{}", nothing.1);
        Ok(())
    })
    .await?;
    with_world(WorldOptions { host: false, ..WorldOptions::default() }, async |world: Arc<World>| {
        let (good, said) = doctor(&world, &[]).await?;
        let lines = ["ok    network: grant", "ok    network: permissions at the API server"];
        ensure!(good && !said.contains("FAIL") && lines.iter().all(|line| said.contains(line)), "{said}");
        // The ServiceAccount of the plugin has no permission yet.
        let (good, said) = doctor(&world, &["--impersonate", "--impersonate-namespace", "oarlock-system"]).await?;
        let denied =
            "to system:serviceaccount:oarlock-system:oarlock-network: granted\n      apply the output of oarlock rbac";
        ensure!(
            !good && said.contains("FAIL  network: the API server does not allow ") && said.contains(denied),
            "{said}"
        );
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n23_plugins_watch_shows_changes_until_its_output_is_closed() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let address = world.host(async |host| Ok(host.admin().base().trim_start_matches("http://").to_owned())).await?;
        let mut watch = Command::new(oarlock_binary()?)
            .args(["plugins", "--watch", "--admin-addr", &address])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut lines = BufReader::new(watch.stdout.take().context("no output")?).lines();
        let mut until = async |what: &str, wanted: &dyn Fn(&str) -> bool| {
            let search = async {
                while let Some(line) = lines.next_line().await? {
                    if wanted(&line) {
                        return Ok(());
                    }
                }
                anyhow::bail!("the output ended before {what}")
            };
            tokio::time::timeout(SOON, search).await.with_context(|| what.to_owned())?
        };
        until("the plugin", &|line| line.starts_with("network ") && line.contains(" active ")).await?;
        world.plugins.remove("network.wasm")?;
        until("no plugin", &|line| line == "(no plugin)").await?;
        drop(lines);
        let ended = tokio::time::timeout(SOON, watch.wait_with_output()).await.context("it goes on")??;
        ensure!(ended.status.success() && ended.stderr.is_empty(), "{ended:?}");
        let refused = oarlock(&["plugins", "--watch", "-o", "json", "--admin-addr", &address]).await?;
        let why = String::from_utf8_lossy(&refused.stderr).into_owned();
        ensure!(!refused.status.success() && why.contains("--watch shows the table"), "{why}");
        Ok(())
    })
    .await
}
