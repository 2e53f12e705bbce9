//! A Prometheus with our rules.

use super::super::text;
use super::alerts;
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::WorldOptions;
use oarlock_tests::harness::{Host, HttpClient, Process, SOON, World, eventually, repository_root, tools, with_world};
use regex::Regex;
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// How long an alert may take to fire or to resolve: the longest window is a minute here, and machines are slow.
const LONG: Duration = Duration::from_secs(180);

/// Which rules a Prometheus evaluates.
pub(super) enum Rules {
    /// Those of deploy/monitoring/alerts.yaml.
    AsShipped,
    /// The same, with a second for every minute in `for`, in ranges, and in the time that a worker may take; other thresholds stay.
    Hurried,
}

/// A Prometheus that has patience with a host on a busy machine. It ends when dropped.
pub(super) struct Prometheus {
    process: Process,
    http: HttpClient,
    targets: PathBuf,
}

/// Our rules with seconds in the place of minutes.
fn hurried() -> Result<Value> {
    let range = Regex::new(r"\[(\d+)(m|h)\]")?;
    let seconds = |count: &str, unit: &str| -> u32 {
        count.parse::<u32>().unwrap_or_default() * if unit == "h" { 60 } else { 1 }
    };
    let mut rules = alerts()?;
    for rule in &mut rules {
        let expression = range
            .replace_all(text(rule, "/expr"), |found: &regex::Captures<'_>| {
                format!("[{}s]", seconds(&found[1], &found[2]))
            })
            .into_owned();
        ensure!(!expression.contains("m]"), "{expression}");
        let expression =
            expression.replace("longest_running_processor_seconds > 900", "longest_running_processor_seconds > 15");
        ensure!(!expression.contains("900"), "{expression}");
        rule["expr"] = json!(expression);
        if let Some(minutes) = rule.get("for").and_then(Value::as_str).and_then(|time| time.strip_suffix('m')) {
            rule["for"] = json!(format!("{minutes}s"));
        }
    }
    Ok(json!({"groups": [{"name": "hurried", "rules": rules}]}))
}

impl Prometheus {
    pub(super) async fn start(program: &Path, folder: &Path, rules: Rules) -> Result<Self> {
        let (config, targets) = (folder.join("prometheus.yml"), folder.join("targets.json"));
        let (rules, scrape, evaluation) = match rules {
            Rules::AsShipped => (repository_root().join("deploy/monitoring/alerts.yaml"), "2s", "500ms"),
            Rules::Hurried => {
                let file = folder.join("hurried.json");
                fs::write(&file, hurried()?.to_string())?;
                (file, "1s", "1s")
            }
        };
        fs::write(&targets, "[]")?;
        let text = json!({
            "global": {"scrape_interval": scrape, "scrape_timeout": scrape, "evaluation_interval": evaluation},
            "rule_files": [rules],
            "scrape_configs": [{"job_name": "oarlock", "file_sd_configs": [{"files": [targets], "refresh_interval": "1s"}]}],
        });
        fs::write(&config, text.to_string())?;
        let args = [
            format!("--config.file={}", config.display()),
            format!("--storage.tsdb.path={}", folder.join("prometheus").display()),
            "--web.listen-address=127.0.0.1:0".to_owned(),
        ];
        let process = Process::spawn("prometheus", program, &args, &[], &folder.join("prometheus.log"), false)?;
        let line = process.line(SOON, "its address", |line| line.text.contains("msg=\"Listening on\"")).await?;
        let address = line.text.rsplit("address=").next().context("no address")?.to_owned();
        let started = Self { process, http: HttpClient::new(&format!("http://{address}")), targets };
        // It answers 503 while it reads its own files.
        eventually(SOON, "Prometheus to be ready", || async { started.api("alerts").await.map(drop) }).await?;
        Ok(started)
    }

    /// Reads the host of a world from now on.
    pub(super) async fn reads(&self, world: &World) -> Result<()> {
        let address = world.host(async |host| Ok(address(host))).await?;
        self.reads_all(&[("a", &address)]).await
    }

    /// Reads these hosts from now on, each as an instance of this name, and waits until it has.
    pub(super) async fn reads_all(&self, hosts: &[(&str, &str)]) -> Result<()> {
        let groups: Vec<Value> = hosts
            .iter()
            .map(|(instance, address)| json!({"targets": [address], "labels": {"instance": instance}}))
            .collect();
        let new = self.targets.with_extension("new");
        fs::write(&new, Value::from(groups).to_string())?;
        fs::rename(&new, &self.targets)?;
        eventually(SOON, "the hosts to be read", || async {
            let up = self.query("up == 1").await?;
            ensure!(up.len() == hosts.len(), "{up:?}");
            // The address that was before may still be read.
            let targets = self.api("targets").await?.to_string();
            ensure!(hosts.iter().all(|(_, address)| targets.contains(address)), "{targets}");
            // Before there was a host it was down.
            let raised = self.raised().await?;
            ensure!(!raised.iter().any(|one| one.contains("OarlockDown")), "{raised:?}");
            Ok(())
        })
        .await
    }

    pub(super) async fn api(&self, path: &str) -> Result<Value> {
        let answer = self.http.get(&format!("/api/v1/{path}")).await?;
        let told = answer.text();
        let value = answer.json().with_context(|| format!("{path}: {told}"))?;
        ensure!(answer.status == 200 && text(&value, "/status") == "success", "{path}: {told}");
        Ok(value.get("data").cloned().unwrap_or_default())
    }

    /// What an expression gives now.
    pub(super) async fn query(&self, expression: &str) -> Result<Vec<Value>> {
        let encoded: String = url::form_urlencoded::byte_serialize(expression.as_bytes()).collect();
        let found = self.api(&format!("query?query={encoded}")).await.context(expression.to_owned())?;
        Ok(found.get("result").and_then(Value::as_array).cloned().unwrap_or_default())
    }

    /// How often the group was evaluated that was evaluated the least; every evaluation must have gone well.
    pub(super) async fn rounds(&self) -> Result<f64> {
        let own = self.http.get("/metrics").await?.text();
        let of = |name: &str| -> Vec<f64> {
            let samples = own.lines().filter(|line| line.starts_with(&format!("{name}{{")));
            samples.filter_map(|line| line.rsplit(' ').next()?.parse().ok()).collect()
        };
        let failures: f64 = of("prometheus_rule_evaluation_failures_total").iter().sum();
        ensure!(failures < 1.0, "{failures} evaluations failed:\n{}", self.process.tail());
        Ok(of("prometheus_rule_group_iterations_total").into_iter().reduce(f64::min).unwrap_or_default())
    }

    /// Alerts that are pending or firing: `state Name {labels}`.
    pub(super) async fn raised(&self) -> Result<BTreeSet<String>> {
        let alerts = self.api("alerts").await?;
        let alerts = alerts.get("alerts").and_then(Value::as_array).cloned().unwrap_or_default();
        Ok(alerts
            .iter()
            .map(|alert| format!("{} {} {}", text(alert, "/state"), text(alert, "/labels/alertname"), alert["labels"]))
            .collect())
    }

    /// Fails when an alert fires, or stays pending. An object that is being changed is out of sync for a moment.
    pub(super) async fn is_quiet(&self) -> Result<()> {
        eventually(SOON, "no alert to be pending", || async {
            let raised = self.raised().await?;
            if raised.iter().any(|one| one.starts_with("firing ")) {
                return Ok(Err(anyhow::anyhow!("fires while all is well: {raised:?}")));
            }
            ensure!(raised.is_empty(), "{raised:?}");
            Ok(Ok(()))
        })
        .await?
    }

    /// Fails when one of the alerts does not fire now.
    async fn all_fire(&self, names: &[&str]) -> Result<()> {
        let raised = self.raised().await?;
        for name in names {
            let fires = raised.iter().any(|one| one.starts_with(&format!("firing {name} ")));
            ensure!(fires, "{name} does not fire: {raised:?}");
        }
        Ok(())
    }

    /// Waits until all of these alerts fire at once.
    pub(super) async fn fire(&self, names: &[&str]) -> Result<()> {
        eventually(LONG, &format!("{names:?} to fire"), || self.all_fire(names)).await
    }

    /// The same, while the fault is done again and again.
    pub(super) async fn fire_under(&self, names: &[&str], fault: impl AsyncFn(usize) -> Result<()>) -> Result<()> {
        let count = std::cell::Cell::new(0);
        eventually(LONG, &format!("{names:?} to fire"), || async {
            fault(count.replace(count.get() + 1)).await?;
            tokio::time::sleep(Duration::from_millis(250)).await;
            self.all_fire(names).await
        })
        .await
    }

    /// Waits until no alert fires or is about to.
    pub(super) async fn calm(&self) -> Result<()> {
        eventually(LONG, "all alerts to resolve", || async {
            let raised = self.raised().await?;
            ensure!(raised.is_empty(), "{raised:?}");
            Ok(())
        })
        .await
    }

    /// No alert fires during so many evaluations.
    pub(super) async fn silent(&self, rounds: f64) -> Result<()> {
        let end = self.rounds().await? + rounds;
        eventually(LONG, "the evaluations", || async {
            let raised = self.raised().await?;
            let now = self.rounds().await?;
            if raised.iter().any(|one| one.starts_with("firing")) {
                return Ok(Err(anyhow::anyhow!("raised although all is well: {raised:?}")));
            }
            ensure!(now >= end, "{now} of {end}");
            Ok(Ok(()))
        })
        .await?
    }
}

/// Where a host serves its metrics.
pub(super) fn address(host: &Host) -> String {
    host.admin().base().replace("http://", "")
}

/// A world without a host yet, and a Prometheus with hurried rules. Left out where there is none.
pub(super) async fn watched(
    options: WorldOptions,
    body: impl AsyncFnOnce(Arc<World>, Arc<Prometheus>) -> Result<()>,
) -> Result<()> {
    let Some([program]) = tools(["prometheus"])? else { return Ok(()) };
    with_world(WorldOptions { host: false, ..options }, async |world: Arc<World>| {
        let prometheus = Arc::new(Prometheus::start(&program, world.folder(), Rules::Hurried).await?);
        body(world, prometheus).await
    })
    .await
}
