//! A canary: moves weight step by step, while a metric of Prometheus is good.

use crate::duration;
use crate::route::{Canary, OnDegradation, Phase, Progress, TrafficRoute};
use oarlock_guest::{Error, Manifest, Result, config, http};
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;

/// The configuration key with Prometheus' URL.
const PROMETHEUS: &str = "prometheus";

pub(crate) fn declare(manifest: Manifest) -> Manifest {
    let schema = json!({"type": "string", "description": "URL of the Prometheus that canaries query, without /api/v1"});
    manifest.config_property(PROMETHEUS, schema).http_origin_from_config(PROMETHEUS)
}

/// An instant query's response.
#[derive(Deserialize)]
struct Response {
    data: Data,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data {
    result: Vec<Sample>,
}

#[derive(Deserialize)]
struct Sample {
    /// The time in seconds since 1970, and the value as text.
    value: (f64, String),
}

/// The next state of a canary.
///
/// # Errors
///
/// None that has to do with the metric: while it cannot be read, the weight stays.
pub(crate) fn advance(canary: &Canary, route: &TrafficRoute) -> Result<Progress> {
    let generation = route.metadata.generation;
    let known = route.status.canary.clone().filter(|progress| progress.generation == generation);
    let mut progress = known.unwrap_or_else(|| Progress {
        generation,
        weight: canary.first_weight(&route.spec.rules),
        ..Progress::default()
    });
    if progress.phase == Phase::Advancing {
        match read(canary) {
            Ok((at, value)) => step(canary, &mut progress, at, value),
            Err(error) => progress.message = format!("the weight stays: {}", error.message()),
        }
    }
    Ok(progress)
}

fn step(canary: &Canary, progress: &mut Progress, at: i64, value: f64) {
    let limit = canary.limit().unwrap_or_default();
    if value > limit {
        progress.message = format!("the metric is {value}, more than {limit}, at weight {}", progress.weight);
        (progress.phase, progress.weight) = match canary.on_degradation {
            OnDegradation::Stop => (Phase::Stopped, progress.weight),
            OnDegradation::Rollback => (Phase::RolledBack, 0),
        };
        return;
    }
    progress.message = format!("the metric is at most {limit}");
    let interval = duration::seconds(&canary.interval).unwrap_or_default();
    let Some(before) = progress.stepped_at else {
        progress.stepped_at = Some(at);
        return;
    };
    if Duration::try_from_secs_f64(interval).is_ok_and(|interval| at.saturating_sub(before) < seconds(interval)) {
        return;
    }
    progress.weight = progress.weight.saturating_add(canary.step_percent).min(100);
    progress.stepped_at = Some(at);
    if progress.weight == 100 {
        progress.phase = Phase::Completed;
    }
}

fn seconds(interval: Duration) -> i64 {
    i64::try_from(interval.as_secs()).unwrap_or(i64::MAX)
}

/// The time and the value of the metric.
fn read(canary: &Canary) -> Result<(i64, f64)> {
    let base = config::require(PROMETHEUS)?;
    let url = format!("{}/api/v1/query", base.trim_end_matches('/'));
    let response = http::get(url).query("query", &canary.metric.query).timeout(Duration::from_secs(3)).send()?;
    let Response { data } = response.error_for_status()?.json().map_err(|error| error.context("Prometheus"))?;
    let [sample] = data.result.as_slice() else {
        return Err(Error::terminal(format_args!("the query has {} samples as its result, not 1", data.result.len())));
    };
    let (at, text) = &sample.value;
    let value: f64 =
        text.parse().map_err(|error| Error::terminal(format_args!("the sample {text:?} is no number: {error}")))?;
    if value.is_nan() {
        return Err(Error::terminal("the sample is NaN, for example a share of no requests"));
    }
    #[expect(clippy::cast_possible_truncation, reason = "saturates")]
    Ok((*at as i64, value))
}
