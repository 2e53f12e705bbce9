//! Simulated time: days of timers, in their order, without waiting.

use super::{Scenarios, misfit};
use anyhow::{Result, ensure};
use std::fs;

/// A grant without the resync of the misfit, which is a minute.
const GRANT: &str = r#"
apiVersion: oarlock.dev/v1alpha1
kind: PluginGrant
partial: true
manageStatus: true
resyncSeconds: 2592000
permissions:
- {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, patch, delete]}
http: {origins: ["http://h"]}
"#;

/// A service that answers, and an object in this mode.
fn head(mode: &str) -> String {
    let stub = "config: {url: \"http://h\"}\nhttp: [{request: {}, response: {status: 204}}]\n";
    format!("{stub}steps:\n{}", misfit(mode, "one"))
}

/// The number of requests that a scenario saw, from its `requests: []`.
async fn requests(text: &str) -> Result<usize> {
    let scenarios = Scenarios::new(&[("x.yaml", text), ("grant.txt", GRANT)])?;
    let grant = scenarios.path().join("grant.txt").display().to_string();
    let told = scenarios.run("misfit", &["--update", "--grant", &grant, "--timeout-seconds", "600"]).await?;
    ensure!(told.code == Some(0), "{}{}", told.stdout, told.stderr);
    Ok(fs::read_to_string(scenarios.path().join("x.yaml"))?.matches("{method: \"GET\"").count())
}

/// Retries of a day: the backoff doubles from 5 ms to 1000 s.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_day_of_retries_has_the_backoff_of_the_host() -> Result<()> {
    let text = |advance: &str| format!("{}- advance: {advance}\n- requests: []\n", head("http"));
    let (hour, day) = (requests(&text("1h")).await?, requests(&text("24h")).await?);
    // 5 ms × 2^17 is 655 s, after 1310 s; every further one is 1000 s.
    let expected = 19 + (3600 - 1310) / 1000;
    ensure!(hour.abs_diff(expected) <= 1, "{hour} requests in an hour, about {expected} expected");
    ensure!((day - hour).abs_diff(82_800 / 1000) <= 1, "{day} requests in a day, {hour} of them in the first hour");
    Ok(())
}

/// A look each five minutes for a day: 288 of them, beside the first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_day_of_looks_each_five_minutes_runs_each_of_them() -> Result<()> {
    let events = "- events:\n    ref: {apiVersion: v1, kind: ConfigMap, name: a}\n    expect: [{severity: warning, count: 289}]\n";
    let text = format!("{}- advance: 24h\n{events}", head("transient-after:300000"));
    let scenarios = Scenarios::new(&[("x.yaml", &text), ("grant.txt", GRANT)])?;
    let grant = scenarios.path().join("grant.txt").display().to_string();
    let told = scenarios.run("misfit", &["--grant", &grant, "--timeout-seconds", "600"]).await?;
    ensure!(told.code == Some(0), "{}{}", told.stdout, told.stderr);
    Ok(())
}
