//! `oarlock test --scenarios`: every step, every mistake in a file, the same report each time, and simulated days.

mod determinism;
mod mistakes;
mod parsers;
mod takeover;
mod time;

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{built_plugin, oarlock, repository_root};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A folder of scenarios.
struct Scenarios {
    folder: tempfile::TempDir,
}

/// What the command said.
struct Told {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Scenarios {
    fn new(files: &[(&str, &str)]) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        for (name, text) in files {
            fs::write(folder.path().join(name), text)?;
        }
        Ok(Self { folder })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    async fn run(&self, plugin: &str, more: &[&str]) -> Result<Told> {
        run(&built_plugin(plugin)?, self.path(), more).await
    }
}

/// A definition of sites, in a line.
const DEFINITION: &str = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: sites.example.com}, spec: {group: example.com, names: {plural: sites, singular: site, kind: Site, listKind: SiteList}, scope: Namespaced, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}";

/// Plays a folder of scenarios.
async fn run(plugin: &Path, folder: &Path, more: &[&str]) -> Result<Told> {
    let (plugin, folder) = (plugin.display().to_string(), folder.display().to_string());
    let output = oarlock(&[&["test", &plugin, "--scenarios", &folder], more].concat()).await?;
    let text = |bytes: Vec<u8>| String::from_utf8(bytes);
    Ok(Told { code: output.status.code(), stdout: text(output.stdout)?, stderr: text(output.stderr)? })
}

/// A step that makes an object of the misfit.
fn misfit(mode: &str, value: &str) -> String {
    format!(
        "- apply:\n    resource:\n      apiVersion: v1\n      kind: ConfigMap\n      metadata:\n        name: a\n        labels: {{misfit: \"true\"}}\n        annotations: {{misfit/mode: \"{mode}\"}}\n      data: {{value: {value}}}\n"
    )
}

/// A step about its child.
fn child(seen: &str) -> String {
    format!(
        "- assert:\n    resource: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: a-child}}, data: {{seen: {seen}}}}}\n"
    )
}

/// The fixture shows every field and every step; the guide shows the fixture.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_field_and_every_step_work() -> Result<()> {
    let fixtures = repository_root().join("tests/fixtures/scenarios");
    let told = run(&built_plugin("misfit")?, &fixtures, &[]).await?;
    ensure!(
        told.code == Some(0) && told.stdout == "ok       every-field: Every field and every step\n",
        "{}{}",
        told.stdout,
        told.stderr
    );
    let text = fs::read_to_string(fixtures.join("every-field.yaml"))?;
    let steps: Value = serde_json::from_str(&operations().await?)?;
    for operation in steps.as_array().context("no list")? {
        let operation = operation.as_str().unwrap_or_default();
        ensure!(
            text.contains(&format!("- {operation}:")) || text.contains(&format!("  {operation}:")),
            "the fixture has no {operation}"
        );
    }
    Ok(())
}

/// The operations that the program names when a step has none.
async fn operations() -> Result<String> {
    let told = Scenarios::new(&[("x.yaml", "steps:\n- name: nothing\n")])?.run("misfit", &[]).await?;
    let list = told.stderr.split("needs one of ").nth(1).context("no list")?.trim();
    Ok(serde_json::to_string(&list.replace(" and ", ", ").split(", ").collect::<Vec<_>>())?)
}

/// The scenarios of the plugins of this repository.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_shipped_plugins_pass_their_scenarios() -> Result<()> {
    let plugins = repository_root().join("plugins");
    let mut played = 0;
    for entry in fs::read_dir(&plugins)? {
        let folder = entry?.path().join("scenarios");
        if !folder.is_dir() {
            continue;
        }
        let name = folder.parent().and_then(Path::file_name).context("no name")?.to_string_lossy().into_owned();
        let told = run(&built_plugin(&name)?, &folder, &[]).await?;
        ensure!(told.code == Some(0), "{name}: {}{}", told.stdout, told.stderr);
        played += 1;
    }
    ensure!(played >= 3, "only {played} plugins have scenarios");
    Ok(())
}

/// The API server calls the plugin of the present host, the same in each run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reviews_are_answered_as_long_as_the_host_runs() -> Result<()> {
    let secret = |name: &str, labels: &str, rejected: &str| {
        format!(
            "- create:\n    resource: {{apiVersion: v1, kind: Secret, metadata: {{name: {name}, labels: {labels}}}}}\n{rejected}"
        )
    };
    let map = |name: &str, rejected: &str| {
        format!("- create:\n    resource: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}\n{rejected}")
    };
    let mutated =
        "- assert:\n    resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {gate: \"yes\"}}}\n";
    let refused = "    rejected: denied the request\n";
    let text = format!(
        "steps:\n{}{mutated}{}{}- restart: {{crash: true}}\n{}- restart: {{}}\n{}",
        map("a", ""),
        secret("wrong", "{}", refused),
        secret("right", "{gate: \"yes\"}", ""),
        secret("late", "{}", refused),
        map("b", ""),
    );
    let scenarios = Scenarios::new(&[("lives.yaml", &text)])?;
    let told = scenarios.run("gatekeeper", &[]).await?;
    ensure!(told.code == Some(0), "{}{}", told.stdout, told.stderr);
    ensure!(told.stdout == scenarios.run("gatekeeper", &[]).await?.stdout, "another report: {}", told.stdout);
    Ok(())
}

/// Objects are read and written in versions that the plugin converts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conversions_are_answered() -> Result<()> {
    let crd = repository_root().join("tests/fixtures/gauges.yaml").display().to_string();
    let object = |version: &str, name: &str, rest: &str| {
        format!("{{apiVersion: convert.example.com/{version}, kind: Gauge, metadata: {{name: {name}}}, {rest}}}")
    };
    let text = format!(
        "cluster:\n- file: {crd}\nsteps:\n- apply:\n    resource: {}\n- assert:\n    resource: {}\n- restart: {{}}\n- assert:\n    \
         resource: {}\n- apply:\n    resource: {}\n    rejected: refused as asked\n",
        object("v1", "a", "spec: {size: 3}"),
        object("v2", "a", "spec: {sizes: [3]}, status: {sum: 3}"),
        object("v3", "a", "spec: {sizes: [3]}"),
        object("v1", "refuse-b", "spec: {size: 3}"),
    );
    let told = Scenarios::new(&[("converts.yaml", &text)])?.run("converter", &[]).await?;
    ensure!(told.code == Some(0), "{}{}", told.stdout, told.stderr);
    Ok(())
}

/// The files of secrets are on the machine of the host.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scenario_has_the_value_of_a_secret_file() -> Result<()> {
    let grant = r#"{"apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginGrant", "secretFiles": {"url": "/nowhere/url"}, "permissions": [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"]}],
        "http": {"origins": ["http://h"]}}"#;
    let steps = format!(
        "http:\n- {{request: {{method: GET, url: \"http://h/x\"}}, response: {{status: 200, body: b}}}}\nsteps:\n{}{}",
        misfit("fetch", "one"),
        child("one")
    );
    let with_value = format!("config: {{url: \"http://h/x\"}}\n{steps}");
    for (text, code, expected) in [(&steps, 1, "/nowhere/url"), (&with_value, 0, "ok ")] {
        let scenarios = Scenarios::new(&[("x.yaml", text), ("grant.txt", grant)])?;
        let file = scenarios.path().join("grant.txt").display().to_string();
        let told = scenarios.run("misfit", &["--grant", &file]).await?;
        ensure!(told.code == Some(code) && told.stdout.contains(expected), "{}{}", told.stdout, told.stderr);
    }
    Ok(())
}

/// Scenarios do not know the language of a plugin.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_language_passes_the_same_scenarios() -> Result<()> {
    let folder = repository_root().join("plugins/namespace-baseline/rust/scenarios");
    for language in oarlock_tests::harness::tested_languages(&["rust", "js", "ts", "python", "c", "go"]) {
        let plugin: PathBuf = built_plugin(&format!("namespace-baseline-{language}"))?;
        // Python takes ten seconds for a day on an idle machine.
        let told = run(&plugin, &folder, &["--timeout-seconds", "300"]).await?;
        ensure!(told.code == Some(0), "{language}: {}{}", told.stdout, told.stderr);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_names_the_step_the_difference_and_the_events() -> Result<()> {
    let good = format!("steps:\n{}{}", misfit("ok", "one"), child("one"));
    let bad = format!(
        "description: a wrong value\nsteps:\n{}- name: the child\n  assert:\n    resource: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: a-child}}, data: {{seen: two, \"b<&\\u0007\": x}}}}\n",
        misfit("ok", "one")
    );
    let broken = format!("steps:\n{}{}", misfit("trap", "one"), child("one"));
    let scenarios = Scenarios::new(&[("bad.yaml", &bad), ("broken.yaml", &broken), ("good.yaml", &good)])?;
    let at = scenarios.path().display().to_string();
    let told = scenarios.run("misfit", &[]).await?;
    let expected = format!(
        "FAILED   bad: a wrong value\n         {at}/bad.yaml:12: step 2 (the child): assert ConfigMap a-child\n           data.b<&\\u{{7}}: expected \"x\", found none\n           data.seen: expected \"two\", found \"one\"\n           after 30s\n           no events\nFAILED   broken\n         {at}/broken.yaml:11: step 2: assert ConfigMap a-child\n           no such object\n           after 30s\n           event of ConfigMap a: Warning "
    );
    ensure!(told.code == Some(1) && told.stdout.starts_with(&expected), "{}\nexpected\n{expected}", told.stdout);
    ensure!(
        told.stdout.contains("the plugin trapped in") && told.stdout.ends_with("ok       good\n"),
        "{}",
        told.stdout
    );

    let junit = scenarios.run("misfit", &["--output", "junit"]).await?;
    ensure!(junit.code == Some(1) && junit.stdout.contains("tests=\"3\" failures=\"2\""), "{}", junit.stdout);
    ensure!(junit.stdout.contains("data.b&lt;&amp;\\u{7}: expected &quot;x&quot;"), "{}", junit.stdout);
    let tap = scenarios.run("misfit", &["--output", "tap"]).await?;
    let first = "TAP version 14\n1..3\nnot ok 1 - bad: a wrong value\n  ---\n";
    ensure!(
        tap.code == Some(1) && tap.stdout.starts_with(first) && tap.stdout.ends_with("\nok 3 - good\n"),
        "{}",
        tap.stdout
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn update_writes_what_was_found_and_keeps_the_rest() -> Result<()> {
    let head = format!("# Why this exists\nsteps:\n{}", misfit("fetch", "one"));
    let text = format!(
        "config: {{url: \"http://h/x\"}} # where\nhttp: [{{request: {{}}, response: {{status: 204}}}}]\n{head}# what it makes\n- assert:\n    resource:\n      data: {{seen: other}} # the value\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {{name: a-child}}\n- requests:\n  - {{method: POST}}\n\n# the end\n- events:\n    expect: [{{reason: Nothing}}]\n    ref: {{apiVersion: v1, kind: ConfigMap, name: a}}\n"
    );
    let scenarios = Scenarios::new(&[("x.yaml", &text)])?;
    ensure!(scenarios.run("misfit", &[]).await?.code == Some(1), "the values are wrong");
    let told = scenarios.run("misfit", &["--update"]).await?;
    ensure!(told.code == Some(0) && told.stdout == "written  x\n", "{}{}", told.stdout, told.stderr);
    let updated = fs::read_to_string(scenarios.path().join("x.yaml"))?;
    let request = "  - {method: \"GET\", url: \"http://h/x\"}\n";
    let expected = text
        .replace("seen: other", "seen: one")
        .replace("  - {method: POST}\n", &request.repeat(updated.matches(request).count()))
        .replace("[{reason: Nothing}]", "[]");
    ensure!(updated == expected && updated.contains(request), "{updated}");
    ensure!(scenarios.run("misfit", &[]).await?.code == Some(0), "after --update");
    // Nothing is left to change.
    let again = scenarios.run("misfit", &["--update"]).await?;
    ensure!(again.code == Some(0) && again.stdout == "ok       x\n", "--update again: {}", again.stdout);
    ensure!(fs::read_to_string(scenarios.path().join("x.yaml"))? == updated, "--update is stable");
    // Reports for machines have no word for it.
    fs::write(scenarios.path().join("x.yaml"), text)?;
    let tap = scenarios.run("misfit", &["--update", "--output", "tap"]).await?;
    let told = tap.stderr.contains("x.yaml: written\n");
    ensure!(tap.stdout == "TAP version 14\n1..1\nok 1 - x\n" && told, "{}{}", tap.stdout, tap.stderr);
    Ok(())
}

/// A fault that met nothing tests nothing; a scenario may want that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fault_that_never_struck_is_told() -> Result<()> {
    let http = "config: {url: \"http://h/x\"}\nhttp: [{request: {}, response: {status: 204}}]\n";
    let rule = |id: &str, rest: &str| format!("- fault: {{id: {id}, {rest}, fault: {{answer: {{code: 500}}}}}}\n");
    let text = format!(
        "{http}steps:\n{}{}{}{}{}- advance: 1m\n- heal: {{id: healed}}\n",
        rule("struck", "requests: {verbs: [apply, create], resource: configmaps}, times: 1"),
        rule("healed", "requests: {resource: pods, verbs: [create]}"),
        rule("service", "http: {url: \"http://other/*\"}"),
        rule("requested", "http: {url: \"http://h/*\"}, times: 1"),
        misfit("fetch", "one"),
    );
    let told = Scenarios::new(&[("x.yaml", &text)])?.run("misfit", &[]).await?;
    ensure!(told.code == Some(0), "{}{}", told.stdout, told.stderr);
    let lines: Vec<&str> = told.stderr.lines().filter(|line| line.ends_with(" never struck")).collect();
    let is = |line: &str, id: &str| line.ends_with(&format!("x.yaml: fault {id} never struck"));
    ensure!(matches!(*lines, [a, b] if is(a, "healed") && is(b, "service")), "{}", told.stderr);
    Ok(())
}

/// The answer of a create is lost, and the host ends right after a write: the next reconcile finds what exists.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_and_crashes_leave_one_child() -> Result<()> {
    let fault = |id: &str, fault: &str| {
        format!(
            "- fault: {{id: {id}, requests: {{verbs: [create, apply], resource: configmaps}}, times: 1, fault: {fault}}}\n"
        )
    };
    let events = "- events:\n    ref: {apiVersion: v1, kind: ConfigMap, name: a}\n    expect: [{severity: warning, reason: ApiError}]\n";
    let change = "- patch: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {value: two}}}\n";
    let lost = format!(
        "steps:\n{}{}{}{events}",
        fault("lost", "{cut: {afterEffect: true}}"),
        misfit("ok", "one"),
        child("one")
    );
    // Nothing heals the old host: without the restart the change has no effect.
    let dead = format!(
        "steps:\n{}{}- heal: {{}}\n{change}- error:\n    timeout: 10m\n    resource: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: a-child}}, data: {{seen: two}}}}\n",
        fault("crash", "{crash: {}}"),
        misfit("ok", "one")
    );
    let killed = format!("{dead}- restart: {{}}\n{}", child("two"));
    let cut =
        format!("steps:\n{}{}- restart: {{crash: true}}\n{change}{}", misfit("ok", "one"), child("one"), child("two"));
    let scenarios =
        Scenarios::new(&[("cut.yaml", &cut), ("dead.yaml", &dead), ("killed.yaml", &killed), ("lost.yaml", &lost)])?;
    let told = scenarios.run("misfit", &[]).await?;
    ensure!(told.code == Some(0), "{}{}", told.stdout, told.stderr);
    Ok(())
}
