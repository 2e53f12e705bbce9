//! `tests/kubernetes/control-plane.sh` with folders of programs that cannot work.

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::repository_root;
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Output};
use tempfile::TempDir;
use tokio::process::Command;

const HINT: &str = "export KUBEBUILDER_ASSETS=$(setup-envtest use 1.36 -p path)";

/// Programs that are shell scripts: those of a real control plane whose version is right and which serve nobody.
fn programs() -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    program(folder.path(), "etcd", "sleep 300")?;
    program(
        folder.path(),
        "kube-apiserver",
        "[ \"${1-}\" != --version ] || { echo Kubernetes v1.36.2; exit; }\nsleep 300",
    )?;
    program(folder.path(), "kubectl", "exit 1")?;
    Ok(folder)
}

fn program(folder: &Path, name: &str, script: &str) -> Result<()> {
    let file = folder.join(name);
    fs::write(&file, format!("#!/bin/sh\n{script}\n"))?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

async fn control_plane(programs: &Path, arguments: &[&str]) -> Result<Output> {
    let mut command = Command::new(repository_root().join("tests/kubernetes/control-plane.sh"));
    command.args(arguments).env("KUBEBUILDER_ASSETS", programs).env("CONTROLLERS", "no").kill_on_drop(true);
    Ok(command.output().await?)
}

/// The only line of the error.
async fn refused(programs: &Path) -> Result<String> {
    let output = control_plane(programs, &["check"]).await?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
    ensure!(said.lines().count() == 1, "{said}");
    Ok(said)
}

#[tokio::test]
async fn a_missing_program_and_another_version_are_named_in_one_line() -> Result<()> {
    for name in ["etcd", "kube-apiserver", "kubectl"] {
        let programs = programs()?;
        fs::remove_file(programs.path().join(name))?;
        let said = refused(programs.path()).await?;
        ensure!(said.contains(&format!("has no {name}: {HINT}")), "{said}");
    }
    let programs = programs()?;
    program(programs.path(), "kube-apiserver", "echo Kubernetes v1.30.4")?;
    let said = refused(programs.path()).await?;
    ensure!(said.contains("is Kubernetes v1.30.4, and v1.36 is needed") && said.contains(HINT), "{said}");
    let said = refused(Path::new("/nowhere/at/all")).await?;
    ensure!(said.contains("/nowhere/at/all has no etcd"), "{said}");
    Ok(())
}

#[tokio::test]
async fn a_control_plane_that_does_not_start_shows_its_log_and_leaves_nothing_running() -> Result<()> {
    for (name, ended) in [("etcd", "etcd ended"), ("kube-apiserver", "kube-apiserver ended")] {
        let (programs, folder) = (programs()?, tempfile::tempdir()?);
        let version = "[ \"${1-}\" != --version ] || { echo Kubernetes v1.36.2; exit; }";
        program(programs.path(), name, &format!("{version}\necho 'cannot listen: no such luck' >&2\nexit 3"))?;
        let state = folder.path().to_str().context("not UTF-8")?;
        let output = control_plane(programs.path(), &["start", state]).await?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(!output.status.success(), "{output:?}");
        ensure!(said.contains("cannot listen: no such luck") && said.contains(ended), "{said}");
        let running =
            Command::new("pgrep").args(["-f", programs.path().to_str().context("not UTF-8")?]).output().await?;
        ensure!(running.stdout.is_empty(), "{}", String::from_utf8_lossy(&running.stdout));
    }
    Ok(())
}
