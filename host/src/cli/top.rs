//! `oarlock top`: live rates, latencies and memory of the plugins of a running host.

use super::admin::{Admin, send};
use super::plugins::{columns, frame, number_of};
use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::time::Duration;
use tokio::time::Instant;

/// Interval of the samples.
const EVERY: Duration = Duration::from_secs(2);

/// The options of `oarlock top`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  oarlock top\n  oarlock top --sort-by memory\n  oarlock top --once")]
pub(super) struct TopArgs {
    /// The column that decides the order
    #[arg(long, value_enum, value_name = "COLUMN", default_value_t = SortBy::Reconciles)]
    sort_by: SortBy,

    /// Show one sample of 2 seconds, as without a terminal
    #[arg(long)]
    once: bool,

    #[command(flatten)]
    admin: Admin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SortBy {
    /// Name of the plugin
    Name,
    /// Reconciles in a second
    Reconciles,
    /// Failed reconciles in a second
    Errors,
    /// Keys that wait
    Queue,
    /// 99th percentile of a reconcile's time
    P99,
    /// Memory of instances
    Memory,
}

/// A plugin in one sample.
#[derive(Clone, Debug, Default, PartialEq)]
struct Sample {
    name: String,
    state: String,
    objects: u64,
    queue: u64,
    reconciles: u64,
    errors: u64,
    p50: Option<f64>,
    p99: Option<f64>,
    memory: u64,
}

pub(super) async fn run(args: TopArgs) -> anyhow::Result<()> {
    let mut before = (Instant::now(), samples(&send(&args.admin, "GET", "/plugins").await?)?);
    let terminal = std::io::stdout().is_terminal();
    loop {
        tokio::time::sleep(EVERY).await;
        let now = match send(&args.admin, "GET", "/plugins").await {
            Ok(text) => (Instant::now(), samples(&text)?),
            // It may restart.
            Err(error) if terminal && !args.once => {
                frame(&format!("{error:#}\n"))?;
                continue;
            }
            Err(error) => return Err(error),
        };
        let text = table(&before.1, &now.1, now.0.duration_since(before.0), args.sort_by);
        if !terminal || args.once {
            return super::say(text.trim_end());
        }
        if !frame(&text)? {
            return Ok(());
        }
        before = now;
    }
}

/// The plugins in the response to `/plugins`.
fn samples(text: &str) -> anyhow::Result<BTreeMap<String, Sample>> {
    let all: Value = serde_json::from_str(text).context("the host's response is not JSON")?;
    let entries = all.get("plugins").and_then(Value::as_array).into_iter().flatten();
    let sample = |entry: &Value| {
        let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let number = |field: &str| number_of(entry, field);
        let objects = entry.get("objects").and_then(Value::as_object).into_iter().flat_map(|kinds| kinds.values());
        let name = if text("name").is_empty() { text("file") } else { text("name") };
        let sample = Sample {
            name: name.clone(),
            state: text("state"),
            objects: objects.filter_map(Value::as_u64).sum(),
            queue: number("queueDepth"),
            reconciles: number("reconciles"),
            errors: number("errors"),
            p50: entry.get("p50Ms").and_then(Value::as_f64),
            p99: entry.get("p99Ms").and_then(Value::as_f64),
            memory: number("instanceMemoryBytes") + number("warmMemoryBytes"),
        };
        (name, sample)
    };
    Ok(entries.map(sample).collect())
}

/// * `took` - between the two samples.
fn table(before: &BTreeMap<String, Sample>, now: &BTreeMap<String, Sample>, took: Duration, by: SortBy) -> String {
    let seconds = took.as_secs_f64().max(0.001);
    // A count that fell is that of a host that started again.
    let rate = |now: u64, before: Option<u64>| now.saturating_sub(before.unwrap_or(now)) as f64 / seconds;
    let mut rows: Vec<(f64, Vec<String>)> = Vec::new();
    for (name, sample) in now {
        let earlier = before.get(name);
        let reconciles = rate(sample.reconciles, earlier.map(|earlier| earlier.reconciles));
        let errors = rate(sample.errors, earlier.map(|earlier| earlier.errors));
        let order = match by {
            SortBy::Name => 0.0,
            SortBy::Reconciles => reconciles,
            SortBy::Errors => errors,
            SortBy::Queue => sample.queue as f64,
            SortBy::P99 => sample.p99.unwrap_or_default(),
            SortBy::Memory => sample.memory as f64,
        };
        let ms = |value: Option<f64>| value.map(|value| format!("{value:.1}ms")).unwrap_or_default();
        let row = vec![
            sample.name.clone(),
            sample.state.clone(),
            sample.objects.to_string(),
            sample.queue.to_string(),
            format!("{reconciles:.1}"),
            format!("{errors:.1}"),
            ms(sample.p50),
            ms(sample.p99),
            format!("{:.1}MiB", sample.memory as f64 / f64::from(1 << 20)),
        ];
        rows.push((order, row));
    }
    // Stable: equal rows stay in the order of their names.
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    const HEAD: [&str; 9] = ["NAME", "STATE", "OBJECTS", "QUEUE", "RECONCILES/S", "ERRORS/S", "P50", "P99", "MEMORY"];
    let head = HEAD.map(str::to_owned).to_vec();
    columns(&std::iter::once(head).chain(rows.into_iter().map(|(_, row)| row)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(plugins: &Value) -> BTreeMap<String, Sample> {
        samples(&json!({"plugins": plugins}).to_string()).unwrap()
    }

    #[test]
    fn rates_are_those_between_two_samples_and_the_order_is_that_of_a_column() {
        let before =
            of(&json!([{"name": "a", "reconciles": 100, "errors": 0}, {"name": "b", "reconciles": 5000, "errors": 9}]));
        let now = of(&json!([
            {"name": "a", "state": "active", "reconciles": 150, "errors": 10, "p50Ms": 1.04, "p99Ms": 9.5, "queueDepth": 1,
             "instanceMemoryBytes": 1 << 20, "warmMemoryBytes": 1 << 19, "objects": {"x": 2, "y": 3}},
            {"name": "b", "state": "active", "reconciles": 10, "errors": 0}, {"file": "c.wasm", "state": "failed"},
        ]));
        let text = table(&before, &now, Duration::from_secs(5), SortBy::Reconciles);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["a", "active", "5", "1", "10.0", "2.0", "1.0ms", "9.5ms", "1.5MiB"]);
        assert_eq!((lines[2][0], lines[2][4], lines[3][0]), ("b", "0.0", "c.wasm"));
        let by_name = table(&before, &now, Duration::from_secs(5), SortBy::Name);
        assert!(by_name.lines().nth(1).unwrap().starts_with("a "));
    }
}
