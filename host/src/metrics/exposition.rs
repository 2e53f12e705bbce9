//! Exposition formats of metrics: OpenMetrics, and the older text format of Prometheus for clients that do not ask for OpenMetrics.
//!
//! # Source
//!
//! OpenMetrics 1.0; Prometheus, "Exposition formats", text-based format 0.0.4.

use super::exemplar::MARK;
use std::collections::BTreeSet;

/// A text format, named by its content type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Prometheus text 0.0.4.
    Text,
}

impl Format {
    /// The format for a client.
    ///
    /// * `accept` - its Accept header; empty: none.
    #[must_use]
    pub fn accepted(accept: &str) -> Self {
        if accept.contains("application/openmetrics-text") { Self::OpenMetrics } else { Self::Text }
    }

    /// The content type of the response.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// Converts OpenMetrics text to this format. In the older one counters are named like their samples, and there are neither
    /// exemplars nor an end marker.
    pub(super) fn of(self, openmetrics: String) -> String {
        if self == Self::OpenMetrics {
            return openmetrics;
        }
        let counters: BTreeSet<&str> =
            openmetrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter")).collect();
        let mut text = String::with_capacity(openmetrics.len());
        for line in openmetrics.lines() {
            let Some((comment, rest)) = line.strip_prefix("# ").and_then(|line| line.split_once(' ')) else {
                if line != "# EOF" {
                    let sample = line.rfind(MARK).and_then(|at| line.get(..at)).unwrap_or(line);
                    text.extend([sample, "\n"]);
                }
                continue;
            };
            let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            let total = if counters.contains(name) { "_total" } else { "" };
            text.extend(["# ", comment, " ", name, total, " ", rest, "\n"]);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_what_it_asks_for() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
        assert_eq!(Format::accepted(prometheus), Format::OpenMetrics);
        for other in ["", "*/*", "text/plain"] {
            assert_eq!(Format::accepted(other), Format::Text, "{other}");
        }
    }

    #[test]
    fn the_older_format_names_counters_like_their_samples() {
        let openmetrics = "# HELP a Many of. them.\n# TYPE a counter\na_total{x=\"# y\"} 1\n# HELP b B.\n# TYPE b gauge\nb 2\n# EOF\n";
        let text = "# HELP a_total Many of. them.\n# TYPE a_total counter\na_total{x=\"# y\"} 1\n# HELP b B.\n# TYPE b gauge\nb 2\n";
        assert_eq!(Format::Text.of(openmetrics.to_owned()), text);
        assert_eq!(Format::OpenMetrics.of(openmetrics.to_owned()), openmetrics);
    }
}
