//! `oarlock new`: the project it makes builds, and passes the tests it brings.

use anyhow::{Context, Result, ensure};
use oarlock::plugin::{Attachments, Definition};
use oarlock_manifest::PluginGrant;
use oarlock_tests::harness::{go_was_built, oarlock, oarlock_binary, repository_root};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

/// Every dependency is compiled, and every tool installed, when there is no target folder yet; other tests run meanwhile.
const BUILT_WITHIN: Duration = Duration::from_secs(1800);

/// Each language, and the file with the types of its projects.
const TYPES: [(&str, &str); 6] = [
    ("rust", "src/api.rs"),
    ("ts", "src/api.ts"),
    ("js", "src/api.d.ts"),
    ("python", "api.py"),
    ("go", "api/types.go"),
    ("c", "src/api.h"),
];

fn target_folder() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository_root().join("target"), PathBuf::from)
}

/// Makes projects of a built-in kind and of a definition, and calls their `make test install`. `tested` is what their unit tests say when
/// they passed.
async fn a_project_passes_its_tests_and_is_installed(language: &str, tested: &str) -> Result<()> {
    of_a_kind_passes(language, &["--kind", "v1/ConfigMap"], tested).await?;
    let difficult = repository_root().join("host/types/tests/difficult.yaml").display().to_string();
    of_a_kind_passes(language, &["--crd", &difficult], tested).await.context("--crd")
}

async fn of_a_kind_passes(language: &str, kind: &[&str], tested: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let project = folder.path().join("my-greeter");
    let dir = project.display().to_string();
    let told = oarlock(&[&["new", "my-greeter", "--lang", language, "--dir", &dir], kind].concat()).await?;
    ensure!(told.status.success(), "{told:?}");
    // What the grant gives is what the manifest asks for.
    let script =
        ". \"$WASM_ENV\"; make test install DIR=plugins; exec \"$OARLOCK\" grant plugins/my-greeter.wasm --check";
    // It compiles for minutes: the tests beside it go first. With 19 it would stand still beside them.
    let mut make = tokio::process::Command::new("nice");
    make.args(["-n", "5", "sh", "-euc", script]).current_dir(&project).stdin(Stdio::null()).kill_on_drop(true);
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
    // Where every object of the kind is valid.
    let scenarios = project.join("scenarios").is_dir();
    ensure!(scenarios != kind.contains(&"--crd"), "{language} {kind:?}: scenarios");
    ensure!(!scenarios || err.contains("0 of 1 scenarios failed"), "no scenarios: {err}");
    for file in ["my-greeter.wasm", "my-greeter.yaml"] {
        ensure!(project.join("plugins").join(file).is_file(), "no {file}");
    }
    // The plugin brings its definition, and the grant lets the host install it.
    let attached = Attachments::read(&fs::read(project.join("plugins/my-greeter.wasm"))?)?;
    let defined = project.join("crd.yaml").is_file();
    ensure!(attached.definitions.len() == usize::from(defined), "{language}: {:?}", attached.definitions);
    let granted = serde_saphyr::from_str::<PluginGrant>(&fs::read_to_string(project.join("grant.yaml"))?)?.definitions;
    ensure!(attached.definitions.iter().map(Definition::name).eq(&granted), "{language}: {granted:?}");
    Ok(())
}

#[tokio::test]
#[ignore = "minutes: make test-all"]
async fn a_project_in_rust_passes_its_tests_and_is_installed() -> Result<()> {
    a_project_passes_its_tests_and_is_installed("rust", "test result: ok. 5 passed").await
}

#[tokio::test]
#[ignore = "minutes: make test-all"]
async fn a_project_in_javascript_passes_its_tests_and_is_installed() -> Result<()> {
    a_project_passes_its_tests_and_is_installed("js", "pass 4").await
}

#[tokio::test]
#[ignore = "minutes: make test-all"]
async fn a_project_in_typescript_passes_its_tests_and_is_installed() -> Result<()> {
    a_project_passes_its_tests_and_is_installed("ts", "pass 4").await
}

#[tokio::test]
#[ignore = "minutes: make test-all"]
async fn a_project_in_python_passes_its_tests_and_is_installed() -> Result<()> {
    a_project_passes_its_tests_and_is_installed("python", "Ran 5 tests").await
}

#[tokio::test]
#[ignore = "minutes: make test-all"]
async fn a_project_in_c_passes_its_tests_and_is_installed() -> Result<()> {
    a_project_passes_its_tests_and_is_installed("c", "4 tests, 0 failed").await
}

#[tokio::test]
#[ignore = "minutes: make test-all"]
async fn a_project_in_go_passes_its_tests_and_is_installed() -> Result<()> {
    if !go_was_built() {
        return Ok(());
    }
    a_project_passes_its_tests_and_is_installed("go", "ok  \texample.com/my-greeter").await
}

/// Exit status and output of a target of a project.
async fn make(project: &Path, target: &str) -> Result<(bool, String)> {
    let mut make = tokio::process::Command::new("make");
    make.arg(target).current_dir(project).stdin(Stdio::null()).kill_on_drop(true);
    make.env("OARLOCK", oarlock_binary()?).env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
    let output = tokio::time::timeout(BUILT_WITHIN, make.output()).await.context("make does not end")??;
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Ok((output.status.success(), said))
}

#[tokio::test]
async fn a_definition_that_was_changed_fails_the_project_until_its_types_are_made_again() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let crd = repository_root().join("plugins/network/crd.yaml").display().to_string();
    for (language, file) in TYPES {
        for (name, kind) in [("given", ["--crd", &crd]), ("written", ["--kind", "samplecrd.k8s.io/v1/Network"])] {
            let project = folder.path().join(format!("{name}-{language}"));
            let dir = project.display().to_string();
            let told = oarlock(&[&["new", "greeter", "--lang", language, "--dir", &dir], &kind[..]].concat()).await?;
            ensure!(told.status.success(), "{told:?}");
            let (good, said) = make(&project, "check-types").await?;
            ensure!(good, "{language}: {said}");
            let definition = fs::read_to_string(project.join("crd.yaml"))?;
            let property = "            spec:\n";
            let changed = format!("            mtu:\n              type: integer\n{property}");
            ensure!(definition.contains(property), "{definition}");
            fs::write(project.join("crd.yaml"), definition.replacen(property, &changed, 1))?;
            // Types are the first of the tests.
            let (good, said) = make(&project, "test").await?;
            let wanted = [
                format!("{file} is out of date: it is not what this program makes of crd.yaml"),
                "call make types after a change of crd.yaml".to_owned(),
            ];
            ensure!(!good && wanted.iter().all(|part| said.contains(part)), "{language}: {said}");
            let (good, said) = make(&project, "types").await?;
            ensure!(good, "{language}: {said}");
            let (good, said) = make(&project, "check-types").await?;
            ensure!(good, "{language}: {said}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_definition_that_makes_no_project_is_told() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let crd = repository_root().join("plugins/network/crd.yaml").display().to_string();
    let free = folder.path().join("free").display().to_string();
    for (args, reason) in [
        (vec!["--lang", "rust", "--crd", "nothing.yaml"], "cannot make a project of nothing.yaml"),
        (vec!["--lang", "rust", "--crd", &crd, "--kind", "samplecrd.k8s.io/v9/Network"], "has no version \"v9\""),
    ] {
        let told = oarlock(&[&["new", "greeter", "--dir", &free], &args[..]].concat()).await?;
        let said = String::from_utf8_lossy(&told.stderr).into_owned();
        ensure!(!told.status.success() && said.contains(reason), "{args:?}: {said}");
    }
    ensure!(fs::read_dir(folder.path())?.count() == 0, "something was written");
    Ok(())
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
