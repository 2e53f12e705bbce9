//! What the host's log says of reconciles: from when to when each one lasted, its last write included.

use serde_json::Value;
use std::collections::HashMap;

/// Clocks and rounding, in milliseconds.
const TOLERANCE_MS: f64 = 1.0;

/// What was read from a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostLog {
    /// Reconciles that ended.
    pub reconciles: usize,
    /// Reconciles of one key that began before another one of it had ended, in words.
    pub overlaps: Vec<String>,
    /// Versions that were rolled back.
    pub rolled_back: usize,
    /// Lines that say that the host panicked.
    pub panics: Vec<String>,
}

struct Reconcile {
    began_ms: f64,
    ended_ms: f64,
    correlation: String,
}

impl HostLog {
    /// Reads JSON lines. What the host had not written when it was killed is not there: that hides no overlap of two others.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let mut log = Self::default();
        let mut keys: HashMap<(String, String), Vec<Reconcile>> = HashMap::new();
        for line in text.lines() {
            let quoted = line.starts_with('{') && !line.contains("the host panicked");
            if line.contains("panicked") && !quoted {
                log.panics.push(line.to_owned());
            }
            log.rolled_back += usize::from(line.contains(r#""message":"version rolled back""#));
            // Parsing is slow, and most lines are something else when little is patched.
            if line.contains(r#""duration_ms""#)
                && let Some((key, reconcile)) = reconcile(line)
            {
                log.reconciles += 1;
                keys.entry(key).or_default().push(reconcile);
            }
        }
        for ((plugin, key), mut reconciles) in keys {
            reconciles.sort_by(|a, b| a.ended_ms.total_cmp(&b.ended_ms));
            for pair in reconciles.windows(2) {
                if let [before, after] = pair
                    && after.began_ms + TOLERANCE_MS < before.ended_ms
                {
                    let (one, other) = (&before.correlation, &after.correlation);
                    log.overlaps.push(format!("{plugin} {key}: reconciles {one} and {other} at the same time"));
                }
            }
        }
        log
    }
}

fn reconcile(line: &str) -> Option<((String, String), Reconcile)> {
    let line: Value = serde_json::from_str(line).ok()?;
    let text = |field: &str| Some(line.get(field)?.as_str()?.to_owned());
    if !["reconciled", "reconcile failed"].contains(&text("message")?.as_str()) {
        return None;
    }
    let ended: jiff::Timestamp = text("timestamp")?.parse().ok()?;
    let ended_ms = ended.as_duration().as_secs_f64() * 1e3;
    let began_ms = ended_ms - line.get("duration_ms")?.as_f64()?;
    Some(((text("plugin")?, text("key")?), Reconcile { began_ms, ended_ms, correlation: text("correlation_id")? }))
}
