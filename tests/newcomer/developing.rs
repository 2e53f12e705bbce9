//! `oarlock dev` beside another one, and with a plugin that does not end.

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{Grant, PluginDir, Process, SOON, eventually, misfit_version, oarlock, oarlock_binary};
use std::{fs, path::Path, time::Duration};

/// Longer than a compilation and a deadline that nobody stated, several times over.
const AFTER_DEADLINES: Duration = Duration::from_secs(360);

#[tokio::test]
async fn n7_a_dev_that_cannot_start_leaves_the_kubeconfig_of_another_alone() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let text = |name: &str| folder.path().join(name).display().to_string();
    PluginDir::create(folder.path().join("plugins"))?;
    let kubeconfig = folder.path().join("kubeconfig");
    fs::write(&kubeconfig, "of another")?;
    fs::write(folder.path().join("good.yaml"), "{apiVersion: v1, kind: Namespace, metadata: {name: a}}")?;
    fs::write(folder.path().join("bad.yaml"), "kind: [")?;
    fs::write(folder.path().join("nameless.yaml"), "{apiVersion: v1, kind: Namespace}")?;
    fs::write(folder.path().join("unserved.yaml"), "{apiVersion: v1, kind: Nonsense, metadata: {name: a}}")?;
    let taken = std::net::TcpListener::bind("127.0.0.1:0")?;
    let (address, port) = (taken.local_addr()?.to_string(), taken.local_addr()?.port().to_string());
    let (plugins, nowhere, good) = (text("plugins"), text("nowhere"), text("good.yaml"));
    let (bad, nameless, unserved) = (text("bad.yaml"), text("nameless.yaml"), text("unserved.yaml"));
    for (args, reason) in [
        (vec!["--plugins", &plugins, "--admin-addr", &address], address.as_str()),
        (vec!["--plugins", &plugins, "--api-port", &port], "cannot start the embedded API server"),
        (vec!["--plugins", &nowhere], "nowhere"),
        (vec!["--plugins", &plugins, "--apply", &good, "--apply", &nowhere], "nowhere"),
        (vec!["--plugins", &plugins, "--apply", &good, "--apply", &bad], "bad.yaml"),
        (vec!["--plugins", &plugins, "--apply", &nameless], "nameless.yaml"),
        (vec!["--plugins", &plugins, "--apply", &unserved], "unserved.yaml"),
    ] {
        let out = kubeconfig.display().to_string();
        let mut all = vec!["dev", "--kubeconfig-out", &out];
        if !args.contains(&"--admin-addr") {
            all.extend(["--admin-addr", "127.0.0.1:0"]);
        }
        all.extend(args.iter().copied());
        let told = oarlock(&all).await?;
        let said = String::from_utf8_lossy(&told.stderr).into_owned();
        ensure!(!told.status.success() && said.contains(reason), "{args:?}: {said}");
        ensure!(fs::read_to_string(&kubeconfig)? == "of another", "{args:?} has written it: {said}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n21_a_loop_ends_after_three_seconds_unless_a_grant_says_otherwise() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let rule = || Grant::nothing().rule("", &["configmaps"], &["get", "list", "watch", "create", "patch", "delete"]);
    let written = "apiVersion: oarlock.dev/v1alpha1\nkind: PluginGrant\npermissions: [{apiGroups: [\"\"], resources: [configmaps], \
                   verbs: [get, list, watch, create, patch, delete]}]\npartial: true\n";
    let stated = rule().partial().limits(|limits| limits.deadline_seconds = 2);
    for (number, seconds) in [3, 3, 2].into_iter().enumerate() {
        let plugins = PluginDir::create(folder.path().join(format!("plugins-{number}")))?;
        match number {
            0 => {}
            1 => plugins.file("misfit.yaml", written.as_bytes())?,
            _ => plugins.grant("misfit", &stated)?,
        }
        plugins.place("misfit.wasm", &misfit_version("1", "")?)?;
        loop_ends_after(folder.path(), plugins.path(), seconds).await?;
    }
    Ok(())
}

async fn loop_ends_after(folder: &Path, plugins: &Path, seconds: u32) -> Result<()> {
    let object = folder.join("looping.yaml");
    fs::write(
        &object,
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: looping, namespace: default, labels: {misfit: 'true'}, \
         annotations: {misfit/mode: loop}}}",
    )?;
    let text = |path: &Path| path.display().to_string();
    let (plugins, out, object) = (text(plugins), text(&folder.join("kubeconfig")), text(&object));
    let args =
        ["dev", "--plugins", &plugins, "--kubeconfig-out", &out, "--admin-addr", "127.0.0.1:0", "--apply", &object];
    let log = folder.join("dev.log");
    let mut dev = Process::spawn("oarlock dev", &oarlock_binary()?, &args, &[], &log, false)?;
    let ended = eventually(AFTER_DEADLINES, "the loop to end", || async {
        let lines = dev.lines();
        let line = lines.iter().find(|line| line.text.contains("within its deadline of")).context("not yet")?;
        Ok(line.text.clone())
    })
    .await
    .with_context(|| dev.tail())?;
    ensure!(ended.contains(&format!("within its deadline of {seconds} s")), "{ended}");
    dev.terminate().await?;
    dev.wait(SOON).await?;
    Ok(())
}
