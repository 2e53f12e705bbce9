//! The commands beside `run`: what a plugin author and a newcomer type.

use anyhow::{Context, Result, ensure};
use kube::config::{KubeConfigOptions, Kubeconfig};
use oarlock_tests::harness::{
    Neutron, PluginDir, Process, SOON, api_code, built_plugin, eventually, network_grant_for, oarlock, oarlock_binary,
    repository_root,
};
use std::path::Path;

#[tokio::test]
async fn every_help_has_an_example_and_flags_carry_units() -> Result<()> {
    let top = oarlock(&["--help"]).await?;
    ensure!(top.status.success(), "{top:?}");
    for command in ["run", "apiserver", "dev", "inspect", "grant", "rbac", "push", "pull"] {
        ensure!(String::from_utf8_lossy(&top.stdout).contains(command), "no {command} in --help");
        let told = oarlock(&[command, "--help"]).await?;
        let text = String::from_utf8(told.stdout)?;
        ensure!(told.status.success() && text.to_lowercase().contains("example"), "{command} --help:\n{text}");
        for word in text.split_whitespace().filter(|word| word.starts_with("--")) {
            for (part, units) in [("timeout", "-seconds"), ("resync", "-seconds"), ("interval", "-seconds")] {
                ensure!(!word.contains(part) || word.contains(units), "{command}: {word} has no unit");
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn what_is_wrong_on_the_command_line_is_told_in_one_line() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let rules = folder.path().join("rules.yaml");
    std::fs::write(&rules, "- fault: {cut: {}}\n- fault: {answer: {code: 200}}\n")?;
    let rules = rules.to_str().context("a path that is text")?;
    for (args, reason) in [
        (
            vec!["apiserver", "--port", "0", "--faults", rules],
            "rules.yaml cannot be used: fault rule 2, fault.answer.code: 200",
        ),
        (vec!["apiserver", "--port", "0", "--faults", "/nowhere/rules"], "/nowhere/rules"),
        (vec!["run", "--plugins", "/nowhere/plugins", "--kubeconfig", "/nowhere/config"], "/nowhere/"),
        (vec!["run", "--plugins", "/tmp", "--admin-addr", "not-an-address"], "not-an-address"),
    ] {
        let told = oarlock(&args).await?;
        let said = String::from_utf8_lossy(&told.stderr).into_owned();
        ensure!(!told.status.success() && said.contains(reason), "{args:?}: {said}");
        ensure!(!said.contains("panicked"), "{said}");
    }
    Ok(())
}

/// `oarlock dev` in a folder of its own: API server and host in one process, files applied, kubeconfig where it is promised.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dev_needs_nothing_but_a_plugin() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let neutron = Neutron::start(folder.path(), false, false).await?;
    let plugins = PluginDir::create(folder.path().join("plugins"))?;
    plugins.add("network", "network", &network_grant_for(neutron.url()))?;
    // Without a grant: `dev` gives it what it asks for, reading its Deployments included.
    plugins.file("deployment-network.wasm", &std::fs::read(built_plugin("deployment-network")?)?)?;
    let root = repository_root();
    let network = root.join("plugins/network");
    let command = format!(
        "cd '{}' && exec '{}' dev --plugins plugins --api-port 0 --apply '{}' --apply '{}' --apply '{}' \
         --admin-addr 127.0.0.1:0",
        folder.path().display(),
        oarlock_binary()?.display(),
        network.join("crd.yaml").display(),
        network.join("example.yaml").display(),
        root.join("tests/fixtures/deployment.yaml").display(),
    );
    let log = folder.path().join("dev.log");
    let mut dev = Process::spawn("oarlock dev", Path::new("/bin/sh"), &["-c", &command], &[], &log, false)?;
    let kubeconfig = folder.path().join(".oarlock/kubeconfig");
    let is_ready = async |name: &str| {
        let client = client(&kubeconfig).await?;
        let path = format!("/apis/samplecrd.k8s.io/v1/namespaces/default/networks/{name}");
        let request = http::Request::get(path).body(Vec::new())?;
        let object: serde_json::Value = client.request(request).await?;
        let ready = oarlock_tests::harness::ready(&object)?;
        ensure!(ready.status == "True", "{ready:?}");
        Ok(object)
    };
    let object = eventually(SOON, "the Network to be Ready", || is_ready("example-network")).await;
    let object = object.with_context(|| dev.tail())?;
    let of_deployment = eventually(SOON, "the Deployment's Network to be Ready", || is_ready("shop")).await;
    of_deployment.with_context(|| dev.tail())?;
    let uid = oarlock_tests::harness::text(&object, "/metadata/uid");
    ensure!(neutron.networks_of(&uid).await?.len() == 1, "no network in Neutron");
    dev.terminate().await?;
    let status = dev.wait(SOON).await?;
    ensure!(status.code() == Some(0), "{status}:\n{}", dev.tail());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn apiserver_serves_until_it_is_told_to_stop() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let kubeconfig = folder.path().join("kubeconfig");
    let args = ["apiserver", "--port", "0", "--kubeconfig-out", &kubeconfig.display().to_string()];
    let log = folder.path().join("log");
    let mut server = Process::spawn("oarlock apiserver", &oarlock_binary()?, &args, &[], &log, false)?;
    let client = eventually(SOON, "the API server", || client(&kubeconfig)).await?;
    let missing: Result<serde_json::Value, _> =
        client.request(http::Request::get("/api/v1/namespaces/default/configmaps/none").body(Vec::new())?).await;
    ensure!(missing.map_err(anyhow::Error::from).err().and_then(|error| api_code(&error)) == Some(404));
    server.terminate().await?;
    let status = server.wait(SOON).await?;
    ensure!(status.code() == Some(0), "{status}:\n{}", server.tail());
    Ok(())
}

async fn client(kubeconfig: &Path) -> Result<kube::Client> {
    let config = Kubeconfig::read_from(kubeconfig)?;
    let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
    let client = kube::Client::try_from(config)?;
    client.apiserver_version().await?;
    Ok(client)
}
