//! The same seed gives the same report, byte for byte, on a busy machine too.

use super::{Scenarios, child, misfit};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{built_plugin, oarlock_binary};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tokio::process::Command;

/// Scenarios whose reports show names, uids, times, versions and random numbers.
fn scenarios() -> Result<Scenarios> {
    let many = |step: &str| -> String {
        (0..12)
            .map(|n| {
                step.replace("name: a", &format!("name: a{n}")).replace(
                    "misfit/mode: \"ok\"",
                    if n % 3 == 0 { "misfit/mode: \"transient\"" } else { "misfit/mode: \"ok\"" },
                )
            })
            .collect()
    };
    // It fails, and shows an object with everything that a machine could make different.
    let shown = |name: &str| {
        format!(
            "- assert:\n    timeout: 1ms\n    resource:\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {{name: {name}, uid: x, resourceVersion: x, creationTimestamp: x, managedFields: x, ownerReferences: x}}\n"
        )
    };
    let faults = "- fault: {id: f, requests: {resource: configmaps}, probability: 0.3, seed: 5, times: 20, fault: {answer: {code: 500}}}\n";
    let crowd = format!(
        "steps:\n{faults}{}- advance: 10m\n- restart: {{}}\n- restart: {{crash: true}}\n- advance: 1h\n{}",
        many(&misfit("ok", "one")),
        shown("a1-child")
    );
    let one = format!("steps:\n{}{}{}", misfit("ok", "one"), child("one"), shown("a-child"));
    let lost = "- fault: {id: lost, requests: {verbs: [apply], resource: configmaps}, times: 2, fault: {cut: {afterEffect: true}}}\n- fault: {id: crash, requests: {verbs: [apply], resource: configmaps}, skip: 2, times: 1, fault: {crash: {}}}\n";
    let killed = format!(
        "steps:\n{lost}{}- advance: 1m\n- restart: {{}}\n{}{}",
        misfit("ok", "one"),
        child("one"),
        shown("a-child")
    );
    let errors = format!("steps:\n{}- advance: 2h\n{}", misfit("transient", "one"), child("one"));
    let lease = "- assert: {timeout: 1ms, resource: {apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: oarlock-misfit}, spec: {holderIdentity: x, renewTime: x}}}\n";
    let taken = format!(
        "steps:\n{}- takeover: {{}}\n- heal: {{}}\n- advance: 7m\n- takeover: {{}}\n- restart: {{crash: true}}\n{lease}",
        many(&misfit("ok", "one"))
    );
    let named = "steps:\n- create: {resource: {apiVersion: v1, kind: Pod, metadata: {generateName: p-}, spec: {containers: [{name: c, image: i}]}}}\n- error: {resource: {apiVersion: v1, kind: Pod, metadata: {namespace: default}}, timeout: 1s}\n";
    Scenarios::new(&[
        ("crowd.yaml", &crowd),
        ("errors.yaml", &errors),
        ("killed.yaml", &killed),
        ("named.yaml", named),
        ("one.yaml", &one),
        ("taken.yaml", &taken),
    ])
}

/// The report, on as many cores as `cpus` names.
async fn report(scenarios: &Scenarios, format: &str, seed: &str, cpus: Option<&str>) -> Result<String> {
    let mut command = match cpus {
        Some(cpus) => {
            let mut command = Command::new("taskset");
            command.args(["--cpu-list", cpus]).arg(oarlock_binary()?);
            command
        }
        None => Command::new(oarlock_binary()?),
    };
    command.arg("test").arg(built_plugin("misfit")?).arg("--scenarios").arg(scenarios.path());
    let output = command.args(["--output", format, "--seed", seed]).kill_on_drop(true).output().await?;
    let said = String::from_utf8(output.stdout)?;
    ensure!(output.status.code() == Some(1), "{said}{}", String::from_utf8_lossy(&output.stderr));
    Ok(said)
}

/// Threads that compute, until this is dropped.
struct Load(Arc<AtomicBool>);

impl Load {
    fn start() -> Self {
        let over = Arc::<AtomicBool>::default();
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            let over = Arc::clone(&over);
            std::thread::spawn(move || {
                while !over.load(Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        Self(over)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_runs_on_one_core_and_on_all_give_the_same_bytes() -> Result<()> {
    let scenarios = scenarios()?;
    let [one, other] =
        [report(&scenarios, "text", "7", Some("0")).await?, report(&scenarios, "text", "7", None).await?];
    ensure!(one == other, "{one}\n{other}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: make test-all"]
async fn twenty_runs_give_the_same_bytes() -> Result<()> {
    let scenarios = scenarios()?;
    let mut reports = BTreeSet::new();
    for run in 0..20 {
        // On one core the scenarios take turns, beside threads that compute.
        let _load = (run % 2 == 1).then(Load::start);
        let cpus = (run % 4 >= 2).then_some("0");
        reports.insert(report(&scenarios, "text", "7", cpus).await?);
    }
    ensure!(reports.len() == 1, "{} different reports: {reports:#?}", reports.len());
    let first = reports.first().context("no report")?;
    for part in [
        "metadata.uid: expected \"x\", found \"",
        "creationTimestamp: expected \"x\", found \"2026-01-01T00:",
        "found Pod default/p-",
        "spec.holderIdentity: expected \"x\", found \"host_",
    ] {
        ensure!(first.contains(part), "{first}");
    }
    for format in ["junit", "tap"] {
        let [one, other] =
            [report(&scenarios, format, "7", None).await?, report(&scenarios, format, "7", Some("0")).await?];
        ensure!(one == other, "{one}\n{other}");
    }
    // The comparison can fail: uids come from the seed.
    ensure!(report(&scenarios, "text", "8", None).await? != *first, "another seed changes nothing");
    Ok(())
}
