//! The last log lines of each plugin, for `oarlock logs`.

use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use tokio::sync::broadcast;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// Most bytes of one plugin's lines.
const PLUGIN_BYTES: usize = 64 << 10;

/// Most bytes of all lines.
const ALL_BYTES: usize = 4 << 20;

/// A longer text of a field is cut.
const TEXT_BYTES: usize = 4096;

/// Lines that a follower may be behind.
const BEHIND: usize = 1024;

/// A log line about a plugin.
#[derive(Debug)]
pub struct Line {
    /// The plugin.
    pub plugin: String,
    /// Kind and name of the object, `ConfigMap team-a/settings`. Empty: the line is about none.
    pub key: String,
    /// The line as a JSON object, as `--log-format json` writes it.
    pub json: String,
}

/// The lines of this process.
static LINES: LazyLock<Lines> = LazyLock::new(Lines::default);

/// The last lines of this process about plugins.
#[must_use]
pub fn lines() -> &'static Lines {
    &LINES
}

/// The last lines of each plugin.
#[derive(Debug)]
pub struct Lines {
    kept: Mutex<Kept>,
    new: broadcast::Sender<Arc<Line>>,
}

#[derive(Debug, Default)]
struct Kept {
    plugins: BTreeMap<String, Ring>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Ring {
    lines: VecDeque<Arc<Line>>,
    bytes: usize,
}

impl Default for Lines {
    fn default() -> Self {
        Self { kept: Mutex::default(), new: broadcast::Sender::new(BEHIND) }
    }
}

impl Lines {
    /// The lines of a plugin that are kept, the oldest first, and those to come.
    #[must_use]
    pub fn of(&self, plugin: &str) -> (Vec<Arc<Line>>, broadcast::Receiver<Arc<Line>>) {
        let kept = self.kept();
        let lines = kept.plugins.get(plugin).map(|ring| ring.lines.iter().cloned().collect()).unwrap_or_default();
        // Under the lock: no line is missing or twice.
        (lines, self.new.subscribe())
    }

    fn add(&self, line: Line) {
        let line = Arc::new(line);
        let mut kept = self.kept();
        kept.add(Arc::clone(&line));
        // An error means that nobody follows.
        let _ = self.new.send(line);
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn add(&mut self, line: Arc<Line>) {
        let bytes = line.bytes();
        let ring = self.plugins.entry(line.plugin.clone()).or_default();
        ring.lines.push_back(line);
        ring.bytes += bytes;
        self.bytes += bytes;
        while ring.bytes > PLUGIN_BYTES && ring.lines.len() > 1 {
            self.bytes -= ring.pop();
        }
        while self.bytes > ALL_BYTES {
            // The plugin with the most lines makes room for those with few.
            let Some(largest) = self.plugins.iter().max_by_key(|(_, ring)| ring.bytes).map(|(name, _)| name.clone())
            else {
                return;
            };
            let Some(ring) = self.plugins.get_mut(&largest) else { return };
            self.bytes -= ring.pop();
            if ring.lines.is_empty() {
                self.plugins.remove(&largest);
            }
        }
    }
}

impl Ring {
    /// Drops the oldest line. Returns its bytes.
    fn pop(&mut self) -> usize {
        let bytes = self.lines.pop_front().map_or(0, |line| line.bytes());
        self.bytes -= bytes;
        bytes
    }
}

impl Line {
    /// With what the maps take for it.
    fn bytes(&self) -> usize {
        2 * self.plugin.len() + self.key.len() + self.json.len() + 160
    }
}

/// Keeps the events with a field `plugin`.
#[derive(Debug)]
pub(super) struct RecentLines(pub(super) &'static Lines);

impl<S: Subscriber> Layer<S> for RecentLines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.fields().all(|field| field.name() != "plugin") {
            return;
        }
        let mut fields = Fields(Map::new());
        let metadata = event.metadata();
        let mut add = |name: &str, value: String| drop(fields.0.insert(name.to_owned(), Value::String(value)));
        add("timestamp", jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string());
        add("level", metadata.level().to_string());
        event.record(&mut fields);
        fields.0.insert("target".to_owned(), metadata.target().into());
        if let Some(trace) = crate::telemetry::current_trace_id() {
            fields.0.insert(super::TRACE_ID.to_owned(), trace.to_string().into());
        }
        let text = |field: &str| fields.0.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (plugin, key) = (text("plugin"), text("key"));
        self.0.add(Line { plugin, key, json: Value::Object(fields.0).to_string() });
    }
}

/// The fields of an event.
struct Fields(Map<String, Value>);

impl Fields {
    fn add(&mut self, field: &Field, value: Value) {
        self.0.insert(field.name().to_owned(), value);
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, crate::shorten(value, TEXT_BYTES).into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, json!(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, crate::shorten(&format!("{value:?}"), TEXT_BYTES).into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing_subscriber::layer::SubscriberExt as _;

    fn line(plugin: &str, bytes: usize) -> Line {
        Line { plugin: plugin.to_owned(), key: String::new(), json: "x".repeat(bytes) }
    }

    #[test]
    fn lines_are_bounded_for_each_plugin_and_for_all_and_a_loud_plugin_does_not_push_out_a_quiet_one() {
        let lines = Lines::default();
        lines.add(line("quiet", 10));
        for number in 0..2000 {
            lines.add(line("loud", 100));
            lines.add(line(&format!("p{}", number % 500), 20_000));
        }
        let kept = lines.kept();
        assert!(kept.bytes <= ALL_BYTES, "{}", kept.bytes);
        assert!(kept.plugins.values().all(|ring| ring.bytes <= PLUGIN_BYTES));
        assert_eq!(kept.bytes, kept.plugins.values().map(|ring| ring.bytes).sum::<usize>());
        assert_eq!(kept.plugins.get("quiet").map(|ring| ring.lines.len()), Some(1));
    }

    #[test]
    fn a_line_that_is_larger_than_everything_leaves_nothing_wrong() {
        let lines = Lines::default();
        lines.add(line("a", ALL_BYTES + 1));
        lines.add(line("a", 1));
        assert!(lines.kept().bytes < PLUGIN_BYTES);
    }

    #[tokio::test]
    async fn events_of_plugins_are_kept_as_json_and_followed() {
        let lines: &'static Lines = Box::leak(Box::default());
        let (before, mut new) = lines.of("network");
        assert!(before.is_empty());
        let subscriber = tracing_subscriber::registry().with(RecentLines(lines));
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!("about no plugin");
            tracing::warn!(plugin = "network", key = %"Network n/a", attempt = 2, ok = false, ms = 0.5, said = "a\n\"b", "it {}", "failed");
        });
        let line = new.recv().await.unwrap();
        assert_eq!((line.plugin.as_str(), line.key.as_str()), ("network", "Network n/a"));
        let mut json: Value = serde_json::from_str(&line.json).unwrap();
        assert!(json["timestamp"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok());
        json.as_object_mut().unwrap().remove("timestamp");
        let expected = json!({"level": "WARN", "message": "it failed", "plugin": "network", "key": "Network n/a", "attempt": 2,
            "ok": false, "ms": 0.5, "said": "a\n\"b", "target": "oarlock::logging::recent::tests"});
        assert_eq!(json, expected);
        assert_eq!(lines.of("network").0.len(), 1);
    }
}
