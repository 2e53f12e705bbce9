//! `docs/reference/metrics.md`, from the registry of a host that has recorded one of everything.

use super::{cell, head, hold};
use anyhow::{Result, ensure};
use oarlock::metrics::{ApiVerb, Call, Format, Metrics, ReconcileResult, TrapCause};
use oarlock_tests::harness::repository_root;
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::{fs, time::Duration};

/// The values of these labels are names from outside, or too many to list.
const OPEN: [&str; 2] = ["le", "code"];

/// A value that only this test gives.
const SAMPLE: &str = "sample";

/// A registry with a series of every metric.
fn recorded() -> Metrics {
    let metrics = Metrics::new();
    let _queue = metrics.queue(SAMPLE);
    let plugin = metrics.plugin(SAMPLE);
    plugin.reconciled(ReconcileResult::Success, Duration::ZERO, None);
    for call in [Call::Instantiate, Call::GetDesired, Call::GetActual, Call::Patch, Call::Convert] {
        plugin.called(call, Duration::ZERO);
    }
    plugin.trapped(TrapCause::Trap);
    plugin.api_request(ApiVerb::Get, None);
    plugin.http_request(None);
    plugin.set_leading(true);
    plugin.set_rollout(5, 1);
    plugin.rollout_ended(true);
    plugin.rollout_ended(false);
    metrics.informer(SAMPLE, SAMPLE, 1, 1);
    metrics.set_file_states(&BTreeMap::from([(SAMPLE, SAMPLE)]));
    metrics.set_registry_answers(SAMPLE, true);
    metrics.set_map(SAMPLE, 1, Some(1));
    metrics.begin_webhook("/mutate/sample");
    metrics.begin_webhook("/convert/sample");
    metrics.begin_repairs("MutatingWebhookConfiguration");
    metrics.begin_repairs("ValidatingWebhookConfiguration");
    metrics.set_unanswered(&BTreeMap::from([(SAMPLE, 1)]));
    metrics
}

/// One metric of the exposition.
#[derive(Default)]
struct Family {
    kind: String,
    help: String,
    labels: BTreeMap<String, BTreeSet<String>>,
}

fn families(exposition: &str) -> Result<BTreeMap<String, Family>> {
    let label = Regex::new(r#"([a-z_]+)="((?:[^"\\]|\\.)*)""#)?;
    let mut found = BTreeMap::<String, Family>::new();
    let mut current = String::new();
    for line in exposition.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            found.entry(name.to_owned()).or_default().help = help.to_owned();
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            name.clone_into(&mut current);
            found.entry(name.to_owned()).or_default().kind = kind.to_owned();
        } else {
            let family = found.entry(current.clone()).or_default();
            for parts in label.captures_iter(line) {
                let values = family.labels.entry(parts[1].to_owned()).or_default();
                values.insert(parts[2].to_owned());
            }
        }
    }
    Ok(found)
}

/// The labels of a metric, with the values that the host itself chooses.
fn labels(family: &Family) -> String {
    let shown = family.labels.iter().filter(|(name, _)| *name != "le").map(|(name, values)| {
        let own = values.iter().filter(|value| !value.contains(SAMPLE)).map(|value| format!("`{value}`"));
        let own: Vec<String> = own.collect();
        if own.len() < 2 || OPEN.contains(&name.as_str()) {
            format!("`{name}`")
        } else {
            format!("`{name}`: {}", own.join(", "))
        }
    });
    shown.collect::<Vec<_>>().join("; ")
}

#[test]
fn the_page_on_metrics_is_what_the_host_registers() -> Result<()> {
    let families = families(&recorded().encode(Format::Text)?)?;
    let readers = "For operators who monitor a host. After this page you can look up every metric: its name, type, labels and meaning.";
    let mut text = head("Metrics", readers, "host/src/metrics.rs");
    text.push_str(
        "A host answers `/metrics` at `--admin-addr` in Prometheus' text format, or in OpenMetrics when the client asks for it. The labels\n\
         `name`, `controller` and `plugin` are the name of a plugin; `plugin=\"oarlock\"` are the host's own requests. Series of a plugin end\n\
         with it. A request without a response has the code `<error>`. [operations.md](../operations.md#alerts) has alerts and a dashboard,\n\
         [troubleshooting.md](../troubleshooting.md#count-reconciles-and-calls) the metrics behind some questions, [memory.md](../memory.md)\n\
         the values of `map`.\n\n\
         | name | type | labels | meaning |\n| --- | --- | --- | --- |\n",
    );
    for (name, family) in &families {
        writeln!(text, "| `{name}` | {} | {} | {} |", family.kind, labels(family), cell(&family.help))?;
    }
    hold("docs/reference/metrics.md", "host/src/metrics.rs", &text)
}

/// A metric without a series has no line in an exposition: it would be missing from the page.
#[test]
fn every_registered_metric_is_recorded() -> Result<()> {
    let exposition = recorded().encode(Format::Text)?;
    let registered = Regex::new(r#"(?:registry\.register\(|encode_descriptor\()\s*"([a-z_]+)""#)?;
    let folder = repository_root().join("host/src/metrics");
    let mut files = vec![repository_root().join("host/src/metrics.rs")];
    for entry in fs::read_dir(folder)? {
        files.extend(Some(entry?.path()).filter(|path| path.is_file()));
    }
    let mut count = 0;
    for file in files {
        for name in registered.captures_iter(&fs::read_to_string(&file)?) {
            count += 1;
            let known = [&name[1], &format!("{}_total", &name[1])]
                .iter()
                .any(|name| exposition.contains(&format!("# TYPE {name} ")));
            ensure!(known, "{} registers {}, and this test records no series of it", file.display(), &name[1]);
        }
    }
    ensure!(count > 25, "only {count} metrics");
    Ok(())
}
