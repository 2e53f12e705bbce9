//! `oarlock grant` and `oarlock rbac`: what a plugin asks for, what the grant beside it lacks, and the RBAC all of it takes.

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{built_plugin, oarlock, repository_root};
use std::{fs, path::Path};

/// Plugins with the grants they are shipped with.
fn shipped(folder: &Path, names: &[&str]) -> Result<()> {
    for name in names {
        fs::copy(built_plugin(name)?, folder.join(format!("{name}.wasm")))?;
        let grant = repository_root().join(format!("plugins/{name}/{name}.yaml"));
        fs::copy(&grant, folder.join(format!("{name}.yaml"))).with_context(|| grant.display().to_string())?;
    }
    Ok(())
}

/// Exit status, standard output and standard error of a command.
async fn said(args: &[&str]) -> Result<(Option<i32>, String, String)> {
    let told = oarlock(args).await?;
    Ok((told.status.code(), String::from_utf8(told.stdout)?, String::from_utf8(told.stderr)?))
}

/// `UPDATE_EXPECT=1` writes the expected files anew.
#[tokio::test]
async fn the_rbac_of_the_shipped_plugins_is_the_least() -> Result<()> {
    let folder = tempfile::tempdir()?;
    shipped(folder.path(), &["network", "deployment-network", "pod-network", "envoy-injector", "traffic"])?;
    let folder = folder.path().display().to_string();
    for (args, golden) in
        [(&["rbac", &folder][..], "rbac.yaml"), (&["rbac", &folder, "--impersonate"], "rbac-impersonate.yaml")]
    {
        let (status, printed, why) = said(args).await?;
        ensure!(status == Some(0), "{why}");
        let golden = repository_root().join("tests/golden").join(golden);
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&golden, &printed)?;
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        ensure!(printed == expected, "not what {} says (UPDATE_EXPECT=1 writes it anew):\n{printed}", golden.display());
    }
    Ok(())
}

#[tokio::test]
async fn rbac_compiles_into_the_code_cache_that_run_uses() -> Result<()> {
    let (folder, cache) = (tempfile::tempdir()?, tempfile::tempdir()?);
    shipped(folder.path(), &["deployment-network"])?;
    let (dir, kept) = (folder.path().display().to_string(), cache.path().display().to_string());
    let (status, printed, why) = said(&["rbac", &dir, "--cache-dir", &kept]).await?;
    ensure!(status == Some(0), "{why}");
    let file = folder.path().join("deployment-network.wasm").display().to_string();
    let (_, compiled, why) = said(&["compile", &file, "--cache-dir", &kept]).await?;
    ensure!(compiled.contains("was in the cache"), "{compiled}{why}");
    let (_, again, _) = said(&["rbac", &dir, "--cache-dir", &kept]).await?;
    ensure!(again == printed, "{again}");
    Ok(())
}

#[tokio::test]
async fn rbac_prints_nothing_rather_than_half() -> Result<()> {
    let folder = tempfile::tempdir()?;
    shipped(folder.path(), &["network"])?;
    let dir = folder.path().display().to_string();
    let refused = async |why: &str, args: &[&str]| {
        let (status, printed, told) = said(&[&["rbac", dir.as_str()][..], args].concat()).await?;
        ensure!(status == Some(1) && printed.is_empty() && told.contains(why), "{status:?} {told}\n{printed}");
        Ok(())
    };
    refused("oarlock-network", &["--impersonate", "--service-account", "oarlock-network"]).await?;
    refused("--name another", &["--impersonate", "--name", "oarlock-network"]).await?;
    fs::write(folder.path().join("other.wasm"), "no plugin")?;
    refused("other.wasm", &[]).await?;
    fs::copy(folder.path().join("network.wasm"), folder.path().join("other.wasm"))?;
    refused("calls itself network", &[]).await?;
    let named = "apiVersion: oarlock.dev/v1alpha1\nkind: PluginGrant\nname: network\n";
    fs::write(folder.path().join("other.yaml"), named)?;
    refused("second plugin network", &[]).await?;
    fs::remove_file(folder.path().join("other.yaml"))?;
    fs::remove_file(folder.path().join("other.wasm"))?;
    fs::write(folder.path().join("network.yaml"), "permissionz: []")?;
    refused("network.yaml", &[]).await
}

#[tokio::test]
async fn a_grant_is_written_once_and_compared_from_then_on() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("network.wasm");
    fs::copy(built_plugin("network")?, &file)?;
    let (file, yaml) = (file.display().to_string(), folder.path().join("network.yaml"));
    let grant = async |flag: &str| said(&["grant", &file, flag]).await;

    let (status, _, why) = grant("--check").await?;
    ensure!(status == Some(1) && why.contains("no ") && why.contains("network.yaml"), "{why}");
    let (status, printed, _) = grant("--write").await?;
    ensure!(status == Some(0) && printed.contains("network.yaml written"), "{printed}");
    let (_, asked, _) = said(&["grant", &file]).await?;
    ensure!(fs::read_to_string(&yaml)?.trim_end() == asked.trim_end(), "not what `oarlock grant` prints");

    // It has no configuration yet.
    for flag in ["--check", "--write"] {
        let (status, printed, why) = grant(flag).await?;
        ensure!(status == Some(1) && printed.contains("config: neutronUrl has no value"), "{flag}: {printed}{why}");
    }
    // Values may be secrets elsewhere; nobody touches what is there.
    let half = "apiVersion: oarlock.dev/v1alpha1\nkind: PluginGrant\nsecretFiles: {neutronUrl: /nowhere}\n";
    fs::write(&yaml, half)?;
    let (status, printed, why) = grant("--write").await?;
    let expected = "permissions: get, list, watch networks (samplecrd.k8s.io) [primary]\ncleanup: true\nmanageStatus: true\n\
         conversions: networks.samplecrd.k8s.io\nhttp.safeRequests: POST */auth/tokens\n";
    ensure!(status == Some(1) && printed == expected && why.contains("does not grant everything"), "{printed}{why}");
    ensure!(fs::read_to_string(&yaml)? == half, "it was overwritten");
    fs::write(&yaml, format!("{half}partial: true\n"))?;
    let (status, printed, _) = grant("--check").await?;
    ensure!(status == Some(0) && printed.contains("is partial"), "{printed}");

    fs::copy(repository_root().join("plugins/network/network.yaml"), &yaml)?;
    let (status, printed, why) = grant("--check").await?;
    ensure!(status == Some(0) && printed.contains("grants everything"), "{printed}{why}");
    Ok(())
}
