//! Histograms of durations, whose buckets name the trace of their last observation.
//!
//! # Source
//!
//! OpenMetrics 1.0, "Exemplars".

use crate::telemetry::TraceId;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::exemplar::HistogramWithExemplars;
use std::time::{Duration, SystemTime};

/// Begins the exemplar of a sample. The older text format has none.
pub(super) const MARK: &str = " # {trace_id=\"";

/// A histogram whose observations may have a trace.
pub(super) type TracedHistogram = HistogramWithExemplars<TraceLabels>;

/// The labels of an exemplar.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct TraceLabels {
    trace_id: String,
}

/// * `trace` - a sampled trace, which a collector has.
pub(super) fn observe(histogram: &TracedHistogram, took: Duration, trace: Option<TraceId>) {
    let labels = trace.map(|trace| TraceLabels { trace_id: trace.to_string() });
    let at = trace.map(|_| SystemTime::now());
    histogram.observe(took.as_secs_f64(), labels, at);
}

#[cfg(test)]
mod tests {
    use crate::metrics::{Format, Metrics, ReconcileResult};
    use crate::telemetry::TraceId;
    use std::time::Duration;

    #[test]
    fn a_bucket_names_the_trace_of_its_last_observation_in_openmetrics_only() {
        let metrics = Metrics::new();
        let plugin = metrics.plugin("network");
        let took = Duration::from_millis(70);
        plugin.reconciled(ReconcileResult::Success, took, Some(TraceId::from(7_u128)));
        plugin.reconciled(ReconcileResult::Success, took, Some(TraceId::from(9_u128)));
        plugin.reconciled(ReconcileResult::Success, took, None);
        metrics.webhook_answered("/initialize", 200, took, Some(TraceId::from(9_u128)));
        let bucket = r#"controller_runtime_reconcile_time_seconds_bucket{le="0.1",controller="network"} 3"#;
        let openmetrics = metrics.encode(Format::OpenMetrics).unwrap();
        let exemplars: Vec<&str> = openmetrics.lines().filter(|line| line.contains("trace_id")).collect();
        let exemplar = r#" # {trace_id="00000000000000000000000000000009"} 0.07 "#;
        assert!(exemplars.len() == 2 && exemplars.iter().all(|line| line.contains(exemplar)), "{exemplars:?}");
        assert!(exemplars.iter().any(|line| line.starts_with(bucket)), "{exemplars:?}");
        let text = metrics.encode(Format::Text).unwrap();
        assert!(!text.contains("trace_id") && text.lines().any(|line| line == bucket), "{text}");
    }
}
