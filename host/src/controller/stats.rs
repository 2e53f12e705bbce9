//! Statistics of a plugin's recent reconciles, for people.

use super::ReconcileKey;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Most remembered reconciles, and for how long.
const REMEMBERED: usize = 1000;
const PERIOD: Duration = Duration::from_secs(60);

/// The recent reconciles of one plugin.
#[derive(Debug, Default)]
pub(super) struct Stats {
    inner: Mutex<StatsState>,
}

#[derive(Debug, Default)]
struct StatsState {
    recent: VecDeque<(Instant, Duration)>,
    reconciles: u64,
    errors: u64,
    last_error: Option<LastError>,
}

#[derive(Debug)]
struct LastError {
    at: jiff::Timestamp,
    key: ReconcileKey,
    /// Of the version that failed.
    digest: String,
    text: String,
}

impl Stats {
    /// How many reconciles ended.
    pub(super) fn reconciles(&self) -> u64 {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).reconciles
    }

    /// Counts a reconcile that has just ended.
    ///
    /// * `digest` - of the version that reconciled.
    pub(super) fn reconciled(&self, took: Duration, digest: &str, error: Option<(&ReconcileKey, &str)>) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.reconciles += 1;
        if let Some((key, error)) = error {
            inner.errors += 1;
            let (at, text) = (jiff::Timestamp::now(), format!("{key}: {error}"));
            inner.last_error = Some(LastError { at, key: key.clone(), digest: digest.to_owned(), text });
        }
        inner.recent.push_back((Instant::now(), took));
        if inner.recent.len() > REMEMBERED {
            inner.recent.pop_front();
        }
    }

    /// Forgets the last error if its key is not reconciled any more. The error stays counted.
    pub(super) fn forget(&self, gone: impl Fn(&ReconcileKey) -> bool) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.last_error.take_if(|last| gone(&last.key));
    }

    /// `reconciles`, `errors`, `lastError`, `lastErrorAt`, `reconcilesPerSecond`, `p50Ms`, `p99Ms`.
    ///
    /// * `digest` - of the version that runs: an error of another one is not its last.
    pub(super) fn describe(&self, digest: &str) -> Value {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        while inner.recent.front().is_some_and(|(at, _)| now.duration_since(*at) > PERIOD) {
            inner.recent.pop_front();
        }
        // A full ring covers less than the period.
        let span = match inner.recent.front() {
            Some((first, _)) if inner.recent.len() == REMEMBERED => now.duration_since(*first),
            _ => PERIOD,
        };
        let mut sorted: Vec<Duration> = inner.recent.iter().map(|(_, took)| *took).collect();
        sorted.sort_unstable();
        let last_error = inner.last_error.as_ref().filter(|last| last.digest == digest);
        json!({
            "reconciles": inner.reconciles,
            "errors": inner.errors,
            "lastError": last_error.map(|last| &last.text),
            "lastErrorAt": last_error.map(|last| last.at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
            "reconcilesPerSecond": rounded(sorted.len() as f64 / span.as_secs_f64().max(0.001)),
            "p50Ms": percentile(&sorted, 50),
            "p99Ms": percentile(&sorted, 99),
        })
    }
}

fn percentile(sorted: &[Duration], percent: usize) -> Option<f64> {
    let at = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(at).map(|took| rounded(took.as_secs_f64() * 1e3))
}

fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_last_minute_is_told() {
        let stats = Stats::default();
        let kind = std::sync::Arc::new(crate::api::GroupVersionKind::new("", "v1", "ConfigMap"));
        let key = ReconcileKey { kind, key: crate::api::ObjectKey::new("n", "a") };
        for ms in 1..=100 {
            stats.reconciled(Duration::from_millis(ms), "one", (ms == 7).then_some((&key, "it broke")));
        }
        let told = stats.describe("one");
        assert_eq!(told["p50Ms"], 50.0);
        assert_eq!(told["p99Ms"], 99.0);
        assert_eq!(told["errors"], 1);
        assert_eq!(told["lastError"], "ConfigMap n/a: it broke");
        let other = stats.describe("another");
        assert_eq!(
            (&other["lastError"], &other["lastErrorAt"], &other["errors"]),
            (&Value::Null, &Value::Null, &json!(1))
        );
        assert_eq!(told["reconcilesPerSecond"], 1.667);
        tokio::time::advance(PERIOD * 2).await;
        let told = stats.describe("one");
        assert_eq!((&told["p50Ms"], &told["reconciles"]), (&Value::Null, &json!(100)));
    }
}
