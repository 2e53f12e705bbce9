//! `oarlock check --command`: bugs of controllers that others' libraries run, seen from outside and in real time.

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{SOON, eventually, oarlock, oarlock_binary, repository_root};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;
use std::{env, fs};
use tokio::process::Command;

/// The controller of kube-rs in this repository.
fn kube_rs() -> Result<String> {
    Ok(oarlock_binary()?.with_file_name("site-controller").display().to_string())
}

/// The operator of kopf, with the Python that the tests of clients install.
async fn kopf() -> Result<String> {
    crate::clients::install_python().await?;
    let kopf = crate::clients::tools().join("venv/bin/kopf").display().to_string();
    let operator = repository_root().join("tests/check/operator.py").display().to_string();
    Ok(format!("{kopf} run --standalone --namespace default {operator}"))
}

/// The controller of controller-runtime, built by Go from source.
async fn controller_runtime(folder: &Path) -> Result<String> {
    let source = repository_root().join("tests/check/controller-runtime");
    for file in ["main.go", "go.mod"] {
        fs::copy(source.join(file), folder.join(file))?;
    }
    let program = folder.join("site").display().to_string();
    let mut go = Command::new(env::var("GO").unwrap_or_else(|_| "go".to_owned()));
    go.args(["build", "-mod=mod", "-o", &program, "."]).current_dir(folder).kill_on_drop(true);
    let built =
        go.output().await.context("go builds a controller of controller-runtime: install Go, or name it in GO")?;
    ensure!(built.status.success(), "go build: {}", String::from_utf8_lossy(&built.stderr));
    Ok(format!("{program} --kubeconfig {{}}"))
}

/// Longest real time of a check.
const LONGEST: Duration = Duration::from_secs(1200);

/// A check that ended.
struct Told {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    findings: tempfile::TempDir,
}

/// Checks a controller with a bug.
async fn check(bug: &str, command: &str, more: &[&str]) -> Result<Told> {
    let findings = tempfile::tempdir()?;
    let folder = findings.path().display().to_string();
    let fixtures = repository_root().join("tests/fixtures/check");
    let [crd, cluster] = ["crd.yaml", "cluster.yaml"].map(|name| fixtures.join(name).display().to_string());
    let command = format!("BUG={bug} exec {command}");
    let args = ["check", "--command", &command, "--crd", &crd, "--cluster", &cluster, "--output-dir", &folder];
    let mut check = Command::new(oarlock_binary()?);
    check.args(args).args(more).kill_on_drop(true);
    let output = tokio::time::timeout(LONGEST, check.output()).await;
    let output = output.with_context(|| format!("oarlock check --command '{command}' still runs"))??;
    let text = |bytes: Vec<u8>| String::from_utf8(bytes);
    Ok(Told { code: output.status.code(), stdout: text(output.stdout)?, stderr: text(output.stderr)?, findings })
}

/// A bug is found by an oracle, within ten steps, and its steps show it again.
async fn finds(bug: &str, command: &str, oracles: &[&str], more: &[&str]) -> Result<()> {
    let told = check(bug, command, &[&["--output", "json"], more].concat()).await?;
    ensure!(told.code == Some(1), "{bug}: {}{}", told.stdout, told.stderr);
    let report: Value = serde_json::from_str(&told.stdout)?;
    let findings = report.get("findings").and_then(Value::as_array).context("no findings")?;
    let text = |finding: &Value, field: &str| finding.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let found = findings.iter().find(|finding| oracles.contains(&text(finding, "oracle").as_str()));
    let found = found.with_context(|| format!("{bug}: no finding of {oracles:?}: {}", told.stdout))?;
    let steps = found.get("steps").and_then(Value::as_u64).context("no steps")?;
    ensure!(steps <= 10, "{bug}: {steps} steps");
    let file = told.findings.path().join(text(found, "file")).display().to_string();
    let again = check(bug, command, &["--steps", &file, "--settle-seconds", "10", "--output", "json"]).await?;
    ensure!(again.code == Some(1), "{bug}: its steps show nothing: {}{}", again.stdout, again.stderr);
    Ok(())
}

async fn finds_nothing(command: &str, cases: &str) -> Result<()> {
    let told = check("", command, &["--cases", cases]).await?;
    ensure!(told.code == Some(0), "{}{}", told.stdout, told.stderr);
    Ok(())
}

const QUICK: [&str; 4] = ["--cases", "4", "--settle-seconds", "10"];

/// Whether all bugs are to be found, and alarms without a bug count. Real time needs a machine that does nothing else: `make check-controllers`.
fn everything() -> bool {
    env::var_os("OARLOCK_CONTROLLERS").is_some()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "second tier: minutes"]
async fn bugs_of_a_controller_of_kube_rs_are_found_from_outside() -> Result<()> {
    let controller = kube_rs()?;
    finds("dies", &controller, &["exit"], &QUICK).await?;
    finds("prints", &controller, &["secret"], &QUICK).await?;
    if !everything() {
        return Ok(());
    }
    for (bug, oracles) in [
        ("orphans", &["leftovers"][..]),
        ("generation", &["observed-generation"]),
        ("stuck", &["deletion"]),
        ("asks", &["loop"]),
        ("hot", &["quiet"]),
        // Each start writes: another world has another value.
        ("starts", &["last-state", "restart"]),
    ] {
        finds(bug, &controller, oracles, &QUICK).await?;
    }
    Ok(())
}

/// A kopf operator that fails waits longer than others.
const SLOW: [&str; 4] = ["--cases", "4", "--settle-seconds", "90"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "make check-controllers: real time"]
async fn bugs_of_an_operator_of_kopf_are_found_from_outside() -> Result<()> {
    if !everything() {
        return Ok(());
    }
    finds("forgets", &kopf().await?, &["last-state"], &SLOW).await
}

/// Go fetches controller-runtime.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "make check-controllers: real time"]
async fn bugs_of_a_controller_of_controller_runtime_are_found_from_outside() -> Result<()> {
    if !everything() {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let controller = controller_runtime(folder.path()).await?;
    finds("merges", &controller, &["last-state", "faults"], &["--cases", "40", "--settle-seconds", "30"]).await?;
    finds_nothing(&controller, "8").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "make check-controllers: real time"]
async fn controllers_of_kube_rs_and_kopf_without_a_bug_raise_no_alarm() -> Result<()> {
    if !everything() {
        return Ok(());
    }
    finds_nothing(&kube_rs()?, "24").await?;
    finds_nothing(&kopf().await?, "6").await
}

/// One line that says what to do, and the exit status 2.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_that_cannot_be_used_are_one_line() -> Result<()> {
    let cases = [
        ("echo no such cluster; exit 3", vec![], "--command: the command ended: exit status: 3: no such cluster"),
        ("/nowhere/controller", vec![], "/nowhere/controller"),
        ("true", vec!["--objects-of-kind", "Shop"], "neither --crd nor --object has the kind Shop"),
        ("true", vec!["--steps", "/nowhere/finding.yaml"], "cannot read /nowhere/finding.yaml"),
    ];
    for (command, more, expected) in cases {
        is_one_line(command, &crd(), &more, expected).await?;
    }
    let folder = tempfile::tempdir()?;
    let bare = folder.path().join("bare.yaml");
    let text = fs::read_to_string(crd())?;
    fs::write(&bare, text.get(..text.find("    schema:").context("no schema")?).context("no text")?)?;
    is_one_line("true", &bare.display().to_string(), &[], "no schema with properties").await
}

/// It gets half a minute for its first request, and is ended with everything that it has started.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "second tier: a minute"]
async fn a_command_that_never_asks_anything_is_one_line() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let pids = folder.path().join("pids");
    let command = format!("sleep 3600 & echo $$ $! >{}; wait", pids.display());
    let expected = "the command sends no request to the API server within 30 s (--settle-seconds)";
    is_one_line(&command, &crd(), &["--settle-seconds", "5"], expected).await?;
    for pid in fs::read_to_string(&pids)?.split_whitespace() {
        eventually(SOON, "the end of the command", async || {
            // A process that nobody waits for keeps its number.
            let state = fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
            ensure!(state.is_empty() || state.contains(") Z "), "process {state}");
            Ok(())
        })
        .await?;
    }
    Ok(())
}

fn crd() -> String {
    repository_root().join("tests/fixtures/check/crd.yaml").display().to_string()
}

async fn is_one_line(command: &str, crd: &str, more: &[&str], expected: &str) -> Result<()> {
    let output = oarlock(&[&["check", "--command", command, "--crd", crd], more].concat()).await?;
    let stderr = String::from_utf8(output.stderr)?;
    ensure!(output.status.code() == Some(2) && stderr.lines().count() == 1, "{stderr}");
    ensure!(stderr.contains(expected), "{stderr}");
    Ok(())
}
