//! `oarlock new`: the project it makes builds, and passes the tests it brings.

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{go_was_built, oarlock, oarlock_binary, repository_root};
use std::{env, fs, path::PathBuf, process::Stdio, time::Duration};

/// Every dependency is compiled, and every tool installed, when there is no target folder yet.
const BUILT_WITHIN: Duration = Duration::from_secs(900);

fn target_folder() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository_root().join("target"), PathBuf::from)
}

/// Makes a project, and calls its `make test install`. `tested` is what its unit tests say when they passed.
async fn a_project_passes_its_tests_and_is_installed(language: &str, tested: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let project = folder.path().join("my-greeter");
    let dir = project.display().to_string();
    let told =
        oarlock(&["new", "my-greeter", "--lang", language, "--kind", "apps/v1/Deployment", "--dir", &dir]).await?;
    ensure!(told.status.success(), "{told:?}");
    // What the grant gives is what the manifest asks for.
    let script =
        ". \"$WASM_ENV\"; make test install DIR=plugins; exec \"$OARLOCK\" grant plugins/my-greeter.wasm --check";
    let mut make = tokio::process::Command::new("sh");
    make.args(["-euc", script]).current_dir(&project).stdin(Stdio::null()).kill_on_drop(true);
    make.env("OARLOCK", oarlock_binary()?).env("WASM_ENV", target_folder().join("wasm.env"));
    // Not those of the make that runs the tests.
    make.env_remove("MAKEFLAGS").env_remove("MAKELEVEL").env_remove("RUSTC_BOOTSTRAP");
    // Kept from run to run: what is compiled, and the tools, where build-languages.sh keeps them. Its cache leads to the compiled code of
    // the tests.
    let tools = target_folder().join("languages");
    make.env("CARGO_TARGET_DIR", target_folder().join("projects")).env("npm_config_prefer_offline", "true");
    make.env("VENV", tools.join(language));
    let cache = tools.join("cache");
    if cache.is_dir() {
        make.env("XDG_CACHE_HOME", cache);
    }
    let output = tokio::time::timeout(BUILT_WITHIN, make.output()).await.context("make does not end")??;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "{out}\n{err}");
    ensure!(out.contains(tested) || err.contains(tested), "no unit tests: {out}\n{err}");
    for case in fs::read_dir(project.join("cases"))? {
        let name = case?.path().file_stem().unwrap_or_default().display().to_string();
        ensure!(out.contains(&format!("ok       {name}")), "{name}: {out}");
    }
    for file in ["my-greeter.wasm", "my-greeter.yaml"] {
        ensure!(project.join("plugins").join(file).is_file(), "no {file}");
    }
    Ok(())
}

#[tokio::test]
async fn a_project_in_rust_passes_its_tests_and_is_installed() -> Result<()> {
    a_project_passes_its_tests_and_is_installed("rust", "test result: ok. 4 passed").await
}

#[tokio::test]
async fn a_project_in_javascript_passes_its_tests_and_is_installed() -> Result<()> {
    a_project_passes_its_tests_and_is_installed("js", "pass 3").await
}

#[tokio::test]
#[ignore = "minutes: make test-all"]
async fn a_project_in_typescript_passes_its_tests_and_is_installed() -> Result<()> {
    a_project_passes_its_tests_and_is_installed("ts", "pass 3").await
}

#[tokio::test]
#[ignore = "minutes: make test-all"]
async fn a_project_in_python_passes_its_tests_and_is_installed() -> Result<()> {
    a_project_passes_its_tests_and_is_installed("python", "Ran 4 tests").await
}

#[tokio::test]
#[ignore = "minutes: make test-all"]
async fn a_project_in_c_passes_its_tests_and_is_installed() -> Result<()> {
    a_project_passes_its_tests_and_is_installed("c", "3 tests, 0 failed").await
}

#[tokio::test]
#[ignore = "minutes: make test-all"]
async fn a_project_in_go_passes_its_tests_and_is_installed() -> Result<()> {
    if !go_was_built() {
        return Ok(());
    }
    a_project_passes_its_tests_and_is_installed("go", "ok  \texample.com/my-greeter").await
}

#[tokio::test]
async fn what_makes_no_project_is_told_in_a_sentence_and_writes_nothing() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let taken = folder.path().join("taken");
    fs::create_dir(&taken)?;
    fs::write(taken.join("notes"), "mine")?;
    let (taken, free) = (taken.display().to_string(), folder.path().join("free").display().to_string());
    for (args, reason) in [
        (vec!["new", "greeter", "--lang", "rust", "--dir", &taken], "exists and is not an empty folder"),
        (vec!["new", "My_Greeter", "--lang", "rust", "--dir", &free], "begins with a letter"),
        (vec!["new", "greeter", "--lang", "cobol", "--dir", &free], "rust"),
        (vec!["new", "greeter", "--lang", "rust", "--kind", "configmaps", "--dir", &free], "GROUP/VERSION/KIND"),
        (vec!["new", "greeter", "--dir", &free], "--lang"),
    ] {
        let told = oarlock(&args).await?;
        let said = String::from_utf8_lossy(&told.stderr).into_owned();
        ensure!(!told.status.success() && said.contains(reason), "{args:?}: {said}");
    }
    ensure!(fs::read_dir(folder.path())?.count() == 1, "something was written");
    ensure!(fs::read_dir(&taken)?.count() == 1, "something was written");
    Ok(())
}
