//! The metrics of the admission server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::series::Series;

/// How long a review may take, in seconds: the API server waits at most 30.
const BUCKETS: [f64; 14] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

#[derive(Debug, Clone)]
pub(super) struct AdmissionFamilies {
    requests: Series<RequestLabels, Counter>,
    latency: Series<WebhookLabels, Histogram>,
    reviews: Series<ReviewLabels, Counter>,
    unanswered: Series<ConfigurationLabels, Gauge>,
    repairs: Series<KindLabels, Counter>,
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
            latency: Series::new(|| Histogram::new(BUCKETS)),
            reviews: Series::new(Counter::default),
            unanswered: Series::new(Gauge::default),
            repairs: Series::new(Counter::default),
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
            "Reviews by what came of them: allowed, changed, refused or ignored (the plugin failed, and its failurePolicy is Ignore)",
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
        families
    }

    /// Whose webhook it is: `/mutate/PLUGIN` or `/validate/PLUGIN`. None: it belongs to no plugin alone.
    pub(super) fn plugin_of(webhook: &str) -> Option<&str> {
        webhook.split('/').nth(2)
    }

    pub(super) fn answered(&self, webhook: &str, code: u16, took: Duration) {
        let webhook: Arc<str> = Arc::from(webhook);
        self.latency.get(&WebhookLabels { webhook: Arc::clone(&webhook) }).observe(took.as_secs_f64());
        self.requests.get(&RequestLabels { webhook, code }).inc();
    }

    pub(super) fn reviewed(&self, plugin: &str, result: &'static str) {
        self.reviews.get(&ReviewLabels { plugin: Arc::from(plugin), result }).inc();
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
        let of_plugin = |webhook: &str| Self::plugin_of(webhook) == Some(plugin);
        self.requests.retain(|labels| !of_plugin(&labels.webhook));
        self.latency.retain(|labels| !of_plugin(&labels.webhook));
    }
}
