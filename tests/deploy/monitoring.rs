//! Alerts and the dashboard: they ask for what the host serves, and every alert is explained.

use super::text;
use anyhow::{Context, Result, ensure};
use oarlock::metrics::{ApiVerb, Call, Format, Metrics, ReconcileResult, TrapCause};
use oarlock_tests::harness::repository_root;
use regex::Regex;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    time::Duration,
};

/// What Prometheus adds, and what its functions are about.
const EVERYWHERE: [&str; 3] = ["instance", "job", "le"];

/// Every series the host can serve: its name and its labels.
fn served() -> Result<BTreeMap<String, BTreeSet<String>>> {
    let metrics = Metrics::new();
    let _queue = metrics.queue("p");
    let plugin = metrics.plugin("p");
    plugin.reconciled(ReconcileResult::Error, Duration::ZERO, None);
    plugin.called(Call::GetDesired, Duration::ZERO);
    plugin.trapped(TrapCause::BadAnswer);
    plugin.set_leading(true);
    plugin.api_request(ApiVerb::Apply, Some(200));
    plugin.http_request(None);
    metrics.informer("", "Pod", 1, 0);
    metrics.webhook_answered("/mutate/p/0", 200, Duration::ZERO, None);
    metrics.reviewed("p", "allowed");
    metrics.set_map("objects", 1, Some(1));
    metrics.set_file_states(&BTreeMap::from([("p.wasm", "failed")]));
    metrics.set_registry_answers("oci://registry.example/p:1", true);
    metrics.webhooks_repaired("MutatingWebhookConfiguration");
    metrics.set_unanswered(&BTreeMap::from([("c", 1)]));
    let label = Regex::new(r#"([a-z_]+)=""#)?;
    let mut served: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in metrics.encode(Format::OpenMetrics)?.lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.split_once(['{', ' ']).context("no value")?;
        let labels = label.captures_iter(rest).filter_map(|found| Some(found.get(1)?.as_str().to_owned()));
        served.entry(name.to_owned()).or_default().extend(labels);
    }
    Ok(served)
}

/// What is asked for that is not served: metrics, and labels that none of the metrics of the expression has.
fn wrong(expression: &str, served: &BTreeMap<String, BTreeSet<String>>) -> Result<Vec<String>> {
    let metric = Regex::new(r"\b(?:oarlock|workqueue|controller_runtime|process)_[a-z_]+\b")?;
    let selector = Regex::new(r"([a-z_]+)\s*\{([^}]*)\}")?;
    let label = Regex::new(r#"([a-z_]+)\s*(?:=~|!~|!=|=)\s*""#)?;
    let grouping = Regex::new(r"\b(?:by|on|without|ignoring)\s*\(([^)]*)\)")?;
    let mut wrong = Vec::new();
    let mut known: BTreeSet<&str> = EVERYWHERE.into();
    let mut asked = 0;
    for name in metric.find_iter(expression) {
        asked += 1;
        match served.get(name.as_str()) {
            Some(labels) => known.extend(labels.iter().map(String::as_str)),
            None => wrong.push(name.as_str().to_owned()),
        }
    }
    if asked == 0 {
        wrong.push("no metric of the host".to_owned());
    }
    for found in selector.captures_iter(expression) {
        let (name, inner) = (found.get(1).map_or("", |m| m.as_str()), found.get(2).map_or("", |m| m.as_str()));
        for one in label.captures_iter(inner).filter_map(|found| found.get(1)) {
            let has = served.get(name).is_some_and(|labels| labels.contains(one.as_str()));
            if !has && !EVERYWHERE.contains(&one.as_str()) {
                wrong.push(format!("{name}{{{}}}", one.as_str()));
            }
        }
    }
    let groups = grouping.captures_iter(expression).filter_map(|found| found.get(1));
    for one in groups.flat_map(|group| group.as_str().split(',')).map(str::trim) {
        if !known.contains(one) {
            wrong.push(format!("by ({one})"));
        }
    }
    Ok(wrong)
}

pub(super) fn alerts() -> Result<Vec<Value>> {
    let file = fs::read_to_string(repository_root().join("deploy/monitoring/alerts.yaml"))?;
    let rules: Value = serde_saphyr::from_str(&file)?;
    let groups = rules.get("groups").and_then(Value::as_array).context("no groups")?;
    let rules = groups.iter().filter_map(|group| group.get("rules")?.as_array()).flatten().cloned().collect::<Vec<_>>();
    ensure!(rules.len() > 10, "{} alerts", rules.len());
    Ok(rules)
}

/// The expressions of the dashboard, with the name of their panel.
pub(super) fn panels() -> Result<Vec<(String, String)>> {
    let file = fs::read_to_string(repository_root().join("deploy/monitoring/dashboard.json"))?;
    let dashboard: Value = serde_json::from_str(&file)?;
    let panels = dashboard.get("panels").and_then(Value::as_array).context("no panels")?;
    let mut expressions = Vec::new();
    for panel in panels {
        for target in panel.get("targets").and_then(Value::as_array).into_iter().flatten() {
            expressions.push((text(panel, "/title").to_owned(), text(target, "/expr").to_owned()));
        }
    }
    ensure!(expressions.len() > 15, "{expressions:?}");
    Ok(expressions)
}

#[test]
fn alerts_and_dashboard_ask_for_what_the_host_serves() -> Result<()> {
    let served = served()?;
    let alerts = alerts()?.into_iter().map(|rule| (text(&rule, "/alert").to_owned(), text(&rule, "/expr").to_owned()));
    let panels = panels()?;
    let mut shown = BTreeSet::new();
    for (name, expression) in alerts.chain(panels.iter().cloned()) {
        let wrong = wrong(&expression, &served)?;
        ensure!(wrong.is_empty(), "{name}: there is no {wrong:?}: {expression}");
    }
    for (name, base) in served
        .keys()
        .map(|name| (name, name.trim_end_matches("_bucket").trim_end_matches("_sum").trim_end_matches("_count")))
    {
        if panels.iter().any(|(_, expression)| expression.contains(base)) {
            shown.insert(name);
        }
    }
    // Time in the workers is that of reconciles.
    let hidden: Vec<_> =
        served.keys().filter(|name| !shown.contains(name) && !name.starts_with("workqueue_work_duration")).collect();
    ensure!(hidden.is_empty(), "the dashboard does not show {hidden:?}");
    Ok(())
}

#[test]
fn what_is_not_served_is_found() -> Result<()> {
    let served = served()?;
    for (expression, expected) in [
        ("oarlock_plugin_states == 1", "oarlock_plugin_states"),
        ("workqueue_depth{plugin=\"a\"}", "workqueue_depth{plugin}"),
        ("sum by (controller) (workqueue_depth)", "by (controller)"),
        ("up == 0", "no metric of the host"),
    ] {
        assert_eq!(wrong(expression, &served)?, [expected], "{expression}");
    }
    assert!(wrong("sum by (name) (rate(workqueue_adds_total{name=~\"a\"}[5m]))", &served)?.is_empty());
    Ok(())
}

#[test]
fn every_alert_is_explained_and_nothing_else() -> Result<()> {
    let guide = fs::read_to_string(repository_root().join("docs/operations.md"))?;
    let explained: BTreeSet<&str> = guide.lines().filter_map(|line| line.strip_prefix("### Oarlock")).collect();
    let rules = alerts()?;
    let names: BTreeSet<&str> = rules.iter().filter_map(|rule| text(rule, "/alert").strip_prefix("Oarlock")).collect();
    assert_eq!(explained, names, "headings of docs/operations.md and alerts");
    for rule in &rules {
        let severity = text(rule, "/labels/severity");
        ensure!(["warning", "critical"].contains(&severity), "{rule}");
        ensure!(
            !text(rule, "/annotations/summary").is_empty() && !text(rule, "/annotations/description").is_empty(),
            "{rule}"
        );
    }
    Ok(())
}
