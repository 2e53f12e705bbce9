//! Metrics of the admission server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::exemplar::{TracedHistogram, observe};
use super::series::Series;
use crate::telemetry::TraceId;

/// Histogram buckets of review durations, in seconds: the API server waits at most 30.
const BUCKETS: [f64; 14] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// HTTP status codes of the admission server.
const CODES: [u16; 9] = [200, 400, 403, 404, 405, 408, 413, 415, 503];

/// Results of reviews.
const RESULTS: [&str; 5] = ["allowed", "changed", "refused", "failed", "ignored"];

/// Results of conversions.
const CONVERSIONS: [&str; 2] = ["converted", "failed"];

#[derive(Debug, Clone)]
pub(super) struct AdmissionFamilies {
    requests: Series<RequestLabels, Counter>,
    latency: Series<WebhookLabels, TracedHistogram>,
    reviews: Series<ReviewLabels, Counter>,
    unanswered: Series<ConfigurationLabels, Gauge>,
    repairs: Series<KindLabels, Counter>,
    conversions: Series<ReviewLabels, Counter>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct RequestLabels {
    webhook: Arc<str>,
    code: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct WebhookLabels {
    webhook: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct ReviewLabels {
    plugin: Arc<str>,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct ConfigurationLabels {
    configuration: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct KindLabels {
    kind: &'static str,
}

impl AdmissionFamilies {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let families = Self {
            requests: Series::new(Counter::default),
            latency: Series::new(|| TracedHistogram::new(BUCKETS.into_iter())),
            reviews: Series::new(Counter::default),
            unanswered: Series::new(Gauge::default),
            repairs: Series::new(Counter::default),
            conversions: Series::new(Counter::default),
        };
        registry.register(
            "controller_runtime_webhook_requests",
            "Requests to the admission server, by path and HTTP code",
            families.requests.clone(),
        );
        registry.register(
            "controller_runtime_webhook_latency_seconds",
            "Time to answer a request to the admission server, in seconds",
            families.latency.clone(),
        );
        registry.register(
            "oarlock_admission_reviews",
            "Reviews by what came of them: allowed, changed, refused, failed (the plugin failed, so that the object was refused) or ignored (it failed, and its failurePolicy is Ignore)",
            families.reviews.clone(),
        );
        registry.register(
            "oarlock_initializers_unanswered",
            "Initializers of an InitializerConfiguration that no plugin answers to: what they are about cannot be created",
            families.unanswered.clone(),
        );
        registry.register(
            "oarlock_webhook_configuration_repairs",
            "Writes that restored a webhook configuration of the host after another client had changed it",
            families.repairs.clone(),
        );
        registry.register(
            "oarlock_conversions",
            "Objects in conversion requests of the API server, by result: converted, or failed together with their request",
            families.conversions.clone(),
        );
        families
    }

    /// The plugin of a webhook: `/mutate/PLUGIN`, `/validate/PLUGIN` or `/convert/PLUGIN`. None: the webhook belongs to no single plugin.
    pub(super) fn plugin_of(webhook: &str) -> Option<&str> {
        webhook.split('/').nth(2)
    }

    pub(super) fn begin(&self, webhook: &str, plugin: Option<&str>) {
        let converts = webhook.starts_with("/convert/");
        let webhook: Arc<str> = Arc::from(webhook);
        for code in CODES {
            self.requests.get(&RequestLabels { webhook: Arc::clone(&webhook), code });
        }
        self.latency.get(&WebhookLabels { webhook });
        if let Some(plugin) = plugin.filter(|_| converts) {
            for result in CONVERSIONS {
                self.conversions.get(&ReviewLabels { plugin: Arc::from(plugin), result });
            }
        } else if let Some(plugin) = plugin {
            for result in RESULTS {
                self.reviews.get(&ReviewLabels { plugin: Arc::from(plugin), result });
            }
        }
    }

    pub(super) fn begin_repairs(&self, kind: &'static str) {
        self.repairs.get(&KindLabels { kind });
    }

    pub(super) fn answered(&self, webhook: &str, code: u16, took: Duration, trace: Option<TraceId>) {
        let webhook: Arc<str> = Arc::from(webhook);
        observe(&self.latency.get(&WebhookLabels { webhook: Arc::clone(&webhook) }), took, trace);
        self.requests.get(&RequestLabels { webhook, code }).inc();
    }

    pub(super) fn reviewed(&self, plugin: &str, result: &'static str) {
        self.reviews.get(&ReviewLabels { plugin: Arc::from(plugin), result }).inc();
    }

    pub(super) fn converted(&self, plugin: &str, converted: bool, objects: usize) {
        let result = if converted { CONVERSIONS[0] } else { CONVERSIONS[1] };
        let labels = ReviewLabels { plugin: Arc::from(plugin), result };
        self.conversions.get(&labels).inc_by(u64::try_from(objects).unwrap_or(u64::MAX));
    }

    pub(super) fn repaired(&self, kind: &'static str) {
        self.repairs.get(&KindLabels { kind }).inc();
    }

    pub(super) fn set_unanswered(&self, counts: &BTreeMap<&str, usize>) {
        self.unanswered.retain(|labels| counts.contains_key(&*labels.configuration));
        for (configuration, unanswered) in counts {
            let labels = ConfigurationLabels { configuration: Arc::from(*configuration) };
            self.unanswered.get(&labels).set(super::count(*unanswered));
        }
    }

    pub(super) fn remove(&self, plugin: &str) {
        self.reviews.retain(|labels| *labels.plugin != *plugin);
        self.conversions.retain(|labels| *labels.plugin != *plugin);
        let of_plugin = |webhook: &str| Self::plugin_of(webhook) == Some(plugin);
        self.requests.retain(|labels| !of_plugin(&labels.webhook));
        self.latency.retain(|labels| !of_plugin(&labels.webhook));
    }
}
