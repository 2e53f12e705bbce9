//! `oarlock check`: it finds seeded bugs, shrinks them to short scenarios that fail as tests, raises no false alarm, and is deterministic.

mod services;
mod table;
mod unusable;

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{built_plugin, oarlock, oarlock_binary, repository_root, tested_languages};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

/// The service of the seeded guest.
const SERVICE: &str = "http://records.example";

/// A seeded guest, and a folder with a grant for each of its modes.
struct Seeded {
    plugin: &'static str,
    folder: tempfile::TempDir,
    /// Whether each Site has a record in a service.
    service: bool,
    /// Whether the definition has a newer version, in which nothing is stored.
    newer: bool,
}

/// What a check said.
struct Told {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Told {
    /// The file and the steps of the first finding of an oracle, of a report as JSON.
    fn finding(&self, oracle: &str) -> Result<(String, u64)> {
        let report: Value = serde_json::from_str(&self.stdout)?;
        let findings = report.get("findings").and_then(Value::as_array).context("no findings")?;
        let text =
            |finding: &Value, field: &str| finding.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let found = findings.iter().find(|finding| text(finding, "oracle") == oracle);
        let found = found.with_context(|| format!("no finding of {oracle}: {}", self.stdout))?;
        Ok((text(found, "file"), found.get("steps").and_then(Value::as_u64).context("no steps")?))
    }
}

impl Seeded {
    /// The guest in Rust.
    fn new() -> Result<Self> {
        Self::of("seeded")
    }

    fn with_service() -> Result<Self> {
        Ok(Self { service: true, ..Self::new()? })
    }

    fn of(plugin: &'static str) -> Result<Self> {
        Ok(Self { plugin, folder: tempfile::tempdir()?, service: false, newer: false })
    }

    fn grant(&self, mode: &str) -> Result<PathBuf> {
        let path = self.folder.path().join(format!("{mode}.yaml"));
        let (mut config, mut origins) = (BTreeMap::from([("mode", mode)]), Vec::new());
        if self.service {
            config.insert("service", SERVICE);
            origins.push(SERVICE);
        }
        let grant = serde_json::json!({
            "apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginGrant", "cleanup": self.plugin != "seeded-go", "manageStatus": true,
            "permissions": [
                {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch", "create", "patch", "delete"]},
                {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch"]},
                {"apiGroups": ["check.oarlock.test"], "resources": ["sites"], "verbs": ["get", "list", "watch", "patch"]},
            ],
            "http": {"origins": origins}, "config": config, "limits": {"deadlineSeconds": 2},
        });
        fs::write(&path, grant.to_string())?;
        Ok(path)
    }

    fn findings(&self, mode: &str) -> PathBuf {
        self.folder.path().join(format!("findings-{mode}"))
    }

    async fn check(&self, mode: &str, cases: u32) -> Result<Told> {
        let (grant, findings) = (self.grant(mode)?.display().to_string(), self.findings(mode).display().to_string());
        let fixtures = repository_root().join("tests/fixtures/check");
        let [crd, cluster, services] =
            ["crd.yaml", "cluster.yaml", "services.yaml"].map(|name| fixtures.join(name).display().to_string());
        let crd = if self.newer { self.with_newer_version(&crd)? } else { crd };
        let mut more = vec!["--crd", &crd, "--cluster", &cluster, "--grant", &grant, "--output", "json"];
        if self.service {
            more.extend(["--services", &services]);
        }
        let cases = cases.to_string();
        more.extend(["--cases", &cases, "--output-dir", &findings]);
        check(self.plugin, &more).await
    }

    /// A definition that serves a newer version, too.
    fn with_newer_version(&self, crd: &str) -> Result<String> {
        let mut crd: Value = serde_saphyr::from_str(&fs::read_to_string(crd)?)?;
        let versions = crd.pointer_mut("/spec/versions").and_then(Value::as_array_mut).context("no versions")?;
        let mut newer = versions.first().context("no version")?.clone();
        let fields = newer.as_object_mut().context("no version")?;
        fields.extend([("name".to_owned(), "v2".into()), ("storage".to_owned(), false.into())]);
        versions.push(newer);
        let path = self.folder.path().join("crd.json");
        fs::write(&path, crd.to_string())?;
        Ok(path.display().to_string())
    }

    /// Plays the scenario of a finding alone, in a mode.
    async fn plays(&self, file: &Path, mode: &str) -> Result<Told> {
        let alone = tempfile::tempdir()?;
        fs::copy(file, alone.path().join("finding.yaml"))?;
        let (plugin, grant) =
            (built_plugin(self.plugin)?.display().to_string(), self.grant(mode)?.display().to_string());
        let folder = alone.path().display().to_string();
        said(oarlock(&["test", &plugin, "--scenarios", &folder, "--grant", &grant]).await?)
    }

    /// A bug is found by its oracle, within ten steps, and its scenario is a test.
    async fn finds(&self, (mode, oracle, cases): Bug) -> Result<()> {
        let told = self.check(mode, cases).await?;
        ensure!(told.code == Some(1), "{mode}: {}{}", told.stdout, told.stderr);
        let (file, steps) = told.finding(oracle).context(mode)?;
        ensure!(steps <= 10, "{mode}: {steps} steps");
        let file = self.findings(mode).join(file);
        let bug = self.plays(&file, mode).await?;
        ensure!(bug.code == Some(1), "{mode}: its scenario passes: {}{}", bug.stdout, bug.stderr);
        // The file has the name of the oracle: the report names it once.
        ensure!(!bug.stdout.contains(&format!(": {oracle}: ")), "{mode}: {}", bug.stdout);
        let right = self.plays(&file, "ok").await?;
        ensure!(right.code == Some(0), "{mode}: its scenario fails without the bug: {}{}", right.stdout, right.stderr);
        Ok(())
    }

    async fn raises_no_alarm(&self, cases: u32) -> Result<()> {
        let told = self.check("ok", cases).await?;
        ensure!(told.code == Some(0), "{}{}", told.stdout, told.stderr);
        ensure!(!self.findings("ok").exists(), "a folder without findings");
        Ok(())
    }
}

/// Checks a built plugin.
async fn check(plugin: &str, more: &[&str]) -> Result<Told> {
    checked(&built_plugin(plugin)?.display().to_string(), more).await
}

/// Checks a plugin file.
async fn checked(plugin: &str, more: &[&str]) -> Result<Told> {
    let mut command = Command::new(oarlock_binary()?);
    command.arg("check").arg(plugin).args(more).kill_on_drop(true);
    let output = tokio::time::timeout(LONGEST, command.output()).await;
    said(output.with_context(|| format!("oarlock check {plugin} {} still runs", more.join(" ")))??)
}

/// It computes: beside other tests some bugs take minutes.
const LONGEST: Duration = Duration::from_secs(600);

fn said(output: std::process::Output) -> Result<Told> {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes);
    Ok(Told { code: output.status.code(), stdout: text(output.stdout)?, stderr: text(output.stderr)? })
}

/// Without `--crd` the definition in the plugin file counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_file_brings_its_definition() -> Result<()> {
    let seeded = Seeded::new()?;
    let file = seeded.folder.path().join("seeded.wasm").display().to_string();
    let plugin = built_plugin("seeded")?.display().to_string();
    let fixtures = repository_root().join("tests/fixtures/check");
    let [crd, cluster] = ["crd.yaml", "cluster.yaml"].map(|name| fixtures.join(name).display().to_string());
    let grant = seeded.grant("creates-once")?.display().to_string();
    let args = ["check", &file, "--cluster", &cluster, "--grant", &grant, "--cases", "8", "--output", "json"];
    let findings = seeded.findings("attached").display().to_string();
    let args = [&args[..], &["--output-dir", &findings]].concat();
    fs::copy(&plugin, &file)?;
    let nothing = said(oarlock(&args).await?)?;
    ensure!(nothing.code == Some(2), "without a definition: {}{}", nothing.stdout, nothing.stderr);
    let attached = said(oarlock(&["attach", &file, "--crd", &crd]).await?)?;
    ensure!(attached.code == Some(0), "{}", attached.stderr);
    let found = said(oarlock(&args).await?)?;
    ensure!(found.code == Some(1) && found.stdout.contains("last-state"), "{}{}", found.stdout, found.stderr);
    Ok(())
}

/// Bugs that the last objects alone show, or that one more operation does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn seeded_bugs_are_found_and_their_scenarios_are_tests() -> Result<()> {
    let seeded = Seeded::new()?;
    for bug in BUGS.into_iter().filter(|(mode, ..)| ["creates-once", "orphans"].contains(mode)) {
        seeded.finds(bug).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "second tier: a minute"]
async fn every_seeded_bug_is_found() -> Result<()> {
    all_found("seeded", &BUGS).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "second tier: a minute"]
async fn every_seeded_bug_in_javascript_is_found() -> Result<()> {
    if tested_languages(&["js"]).is_empty() {
        return Ok(());
    }
    all_found("seeded-js", &BUGS_IN_JS).await?;
    Seeded::of("seeded-js")?.raises_no_alarm(12).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "second tier: a minute"]
async fn every_seeded_bug_in_go_is_found() -> Result<()> {
    if tested_languages(&["go"]).is_empty() {
        return Ok(());
    }
    all_found("seeded-go", &BUGS_IN_GO).await?;
    Seeded::of("seeded-go")?.raises_no_alarm(12).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_newer_version_of_the_definition_raises_no_alarm_and_hides_no_bug() -> Result<()> {
    let seeded = Seeded { newer: true, ..Seeded::new()? };
    seeded.raises_no_alarm(3).await?;
    seeded.finds(("orphans", "leftovers", 6)).await?;
    seeded.finds(("stuck-deletion", "deletion", 6)).await
}

/// A mode of a guest, the oracle that finds its bug, and the number of cases.
type Bug = (&'static str, &'static str, u32);

async fn all_found(plugin: &'static str, bugs: &[Bug]) -> Result<()> {
    let seeded = Seeded::of(plugin)?;
    let mut faults = Vec::new();
    for bug in bugs {
        faults.extend(seeded.finds(*bug).await.err().map(|error| format!("{error:#}")));
    }
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(())
}

const BUGS: [Bug; 15] = [
    ("keeps-removed", "last-state", 12),
    ("creates-once", "last-state", 6),
    ("leaves-replicas", "last-state", 6),
    ("stale-status", "last-state", 6),
    ("orphans", "leftovers", 6),
    ("always-writes", "quiet", 3),
    ("hot-loop", "loop", 1),
    ("fights", "quiet", 6),
    ("stuck-deletion", "deletion", 6),
    ("panics", "plugin-error", 6),
    ("hog", "plugin-error", 6),
    ("leaks", "secret", 6),
    ("logs", "secret", 6),
    ("never-answers", "unanswered", 6),
    ("gives-up", "errors", 30),
];
const BUGS_IN_JS: [Bug; 3] =
    [("first-come", "last-state", 12), ("no-way-back", "last-state", 12), ("stale-view", "faults", 60)];
const BUGS_IN_GO: [Bug; 3] =
    [("half-done", "faults", 6), ("misses-deletions", "leftovers", 24), ("false-status", "last-state", 6)];

/// Its option is its mode.
const UPGRADE: Bug = ("--previous", "faults", 6);

/// A version that took over leaves what only the one before it knew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_that_forgets_what_was_made_is_found() -> Result<()> {
    let seeded = Seeded::new()?;
    let before = seeded.folder.path().join("before.wasm");
    let code = fs::read(built_plugin("seeded")?)?;
    // It gives its ConfigMap another name.
    let (name, other) = (b"-config", b"-konfig");
    let at = code.windows(name.len()).position(|bytes| bytes == name).context("no name")?;
    let old = [code.get(..at), Some(other), code.get(at + name.len()..)];
    fs::write(&before, old.into_iter().flatten().collect::<Vec<_>>().concat())?;
    let fixtures = repository_root().join("tests/fixtures/check");
    let [crd, cluster] = ["crd.yaml", "cluster.yaml"].map(|name| fixtures.join(name).display().to_string());
    let (grant, findings) = (seeded.grant("ok")?.display().to_string(), seeded.findings("old").display().to_string());
    let previous = before.display().to_string();
    let (option, oracle, cases) = UPGRADE;
    let cases = cases.to_string();
    let inputs =
        ["--crd", &crd, "--cluster", &cluster, "--grant", &grant, "--output-dir", &findings, "--cases", &cases];
    let told = check("seeded", &[&inputs[..], &[option, &previous, "--output", "json"]].concat()).await?;
    ensure!(told.code == Some(1), "{}{}", told.stdout, told.stderr);
    ensure!(told.stdout.contains("konfig: expected none, found one"), "{}", told.stdout);
    let (file, steps) = told.finding(oracle)?;
    ensure!(steps <= 10, "{steps} steps");
    let scenario = seeded.findings("old").join(file);
    let bug = seeded.plays(&scenario, "ok").await?;
    ensure!(bug.code == Some(1), "its scenario passes: {}{}", bug.stdout, bug.stderr);
    // The same code takes over from itself.
    fs::copy(built_plugin("seeded")?, &before)?;
    let right = seeded.plays(&scenario, "ok").await?;
    ensure!(right.code == Some(0), "its scenario fails without the bug: {}{}", right.stdout, right.stderr);
    let told = check("seeded", &[&inputs[..], &["--previous", &previous]].concat()).await?;
    ensure!(told.code == Some(0), "{}{}", told.stdout, told.stderr);
    Ok(())
}

/// Without a bug there is no finding.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_without_a_bug_raises_no_alarm() -> Result<()> {
    Seeded::new()?.raises_no_alarm(12).await
}

/// The same seed gives the same report, byte for byte, on one core and on all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_report_depends_on_the_seed_alone() -> Result<()> {
    let seeded = Seeded::new()?;
    let grant = seeded.grant("leaves-replicas")?;
    let mut reports = Vec::new();
    for (run, cpus) in [("one", Some("0")), ("all", None)] {
        let mut command = match cpus {
            Some(cpus) => {
                let mut command = Command::new("taskset");
                command.args(["--cpu-list", cpus]).arg(oarlock_binary()?);
                command
            }
            None => Command::new(oarlock_binary()?),
        };
        let findings = seeded.findings(run);
        command.arg("check").arg(built_plugin("seeded")?).arg("--crd");
        command.arg(repository_root().join("tests/fixtures/check/crd.yaml")).arg("--grant").arg(&grant);
        command.args(["--cases", "6", "--seed", "4", "--output", "html", "--output-dir"]).arg(&findings);
        let told = said(command.kill_on_drop(true).output().await?)?;
        ensure!(told.code == Some(1), "{}{}", told.stdout, told.stderr);
        let mut files = fs::read_dir(&findings)?.map(|file| Ok(file?.path())).collect::<Result<Vec<_>>>()?;
        files.sort();
        let texts = files.iter().map(fs::read_to_string).collect::<std::io::Result<Vec<_>>>()?;
        reports.push((told.stdout, texts));
    }
    ensure!(reports.first() == reports.get(1), "{reports:?}");
    Ok(())
}

/// What was found until then is in the report and in files.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_that_a_signal_ends_reports_what_it_has_found() -> Result<()> {
    let seeded = Seeded::new()?;
    let (grant, findings) = (seeded.grant("orphans")?.display().to_string(), seeded.findings("orphans"));
    let crd = repository_root().join("tests/fixtures/check/crd.yaml").display().to_string();
    let mut command = Command::new(oarlock_binary()?);
    command.arg("check").arg(built_plugin("seeded")?).args(["--crd", &crd, "--grant", &grant, "--minutes", "60"]);
    command.arg("--output-dir").arg(&findings).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn()?;
    let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)).context("no pid")?;
    let mut lines = BufReader::new(child.stderr.take().context("no stderr")?).lines();
    let told = async {
        while let Some(line) = lines.next_line().await? {
            if line.contains("leftovers") {
                return Ok(());
            }
        }
        anyhow::bail!("it ended without a finding")
    };
    tokio::time::timeout(LONGEST, told).await.context("nothing is found")??;
    kill_process(pid, Signal::INT)?;
    let output = tokio::time::timeout(LONGEST, child.wait_with_output()).await.context("it still runs")??;
    let stdout = String::from_utf8(output.stdout)?;
    ensure!(output.status.code() == Some(130) && stdout.contains("FINDING  leftovers"), "{}: {stdout}", output.status);
    ensure!(fs::read_dir(&findings)?.count() > 0, "no file");
    Ok(())
}
