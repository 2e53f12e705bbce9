//! The webhook configurations generated from the rules of the plugins: a pure function from rules to documents.

use super::initializers::Initializer;
use crate::grants::{Admission, both_selectors};
use base64::Engine as _;
use serde_json::{Value, json};

/// The name of both configurations.
pub const NAME: &str = crate::rbac::WEBHOOKS;

/// Timeout of rules without one, in seconds.
pub(super) const TIMEOUT_SECONDS: u32 = 10;

/// Suffix of webhook names, which must be qualified.
const SUFFIX: &str = ".oarlock.dev";

/// The request path of the initializers.
pub(super) const INITIALIZE: &str = "/initialize";

/// How the API server reaches the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookClientConfig {
    /// Through a Service.
    Service {
        /// Namespace of the Service: the host's own, which no webhook matches.
        namespace: String,
        /// Name of the Service.
        name: String,
        /// Port of the Service.
        port: u16,
    },
    /// At a URL: `https://HOST:PORT`, without a path.
    Url(String),
}

impl std::fmt::Display for WebhookClientConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Service { namespace, name, port } => write!(f, "Service {namespace}/{name}:{port}"),
            Self::Url(url) => f.write_str(url),
        }
    }
}

/// A rule of a plugin that is to be called.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PluginWebhook {
    pub(super) plugin: String,
    pub(super) admission: Admission,
}

/// The input of the webhook configurations.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DesiredWebhooks {
    pub(super) called: Vec<PluginWebhook>,
    pub(super) initializers: Vec<Initializer>,
    pub(super) client_config: WebhookClientConfig,
    /// The host's own namespace, which no webhook matches: a failing webhook would lock its own host out.
    pub(super) namespace: Option<String>,
    /// PEM.
    pub(super) ca_bundle: String,
}

/// The request path of a rule.
fn path(called: &PluginWebhook) -> String {
    let action = if called.admission.rule.validate { "validate" } else { "mutate" };
    format!("/{action}/{}/{}", called.plugin, called.admission.index)
}

/// The plugin of a webhook. None: the webhook of the initializers.
pub(super) fn plugin_of(webhook: &str) -> Option<&str> {
    webhook.strip_suffix(SUFFIX)?.split_once('.').map(|(_, plugin)| plugin)
}

/// The `clientConfig` of a webhook at a path of this host.
///
/// * `ca_bundle` - PEM. Empty: an API server in this process needs none.
pub(super) fn client_config(at: &WebhookClientConfig, ca_bundle: &str, path: &str) -> Value {
    let mut config = match at {
        WebhookClientConfig::Service { namespace, name, port } => {
            json!({"service": {"namespace": namespace, "name": name, "port": port, "path": path}})
        }
        WebhookClientConfig::Url(base) => json!({"url": format!("{base}{path}")}),
    };
    if let (Some(fields), false) = (config.as_object_mut(), ca_bundle.is_empty()) {
        fields.insert("caBundle".to_owned(), base64::prelude::BASE64_STANDARD.encode(ca_bundle).into());
    }
    config
}

impl DesiredWebhooks {
    /// The MutatingWebhookConfiguration and the ValidatingWebhookConfiguration. None: it would have no webhooks.
    pub(super) fn documents(&self) -> [(&'static str, Option<Value>); 2] {
        let of = |validate: bool| {
            let rules = self.called.iter().filter(move |called| called.admission.rule.validate == validate);
            rules.filter(|called| !called.admission.only_as_initializer).map(|called| self.webhook(called))
        };
        let mutating: Vec<Value> = of(false).chain(self.initialize()).collect();
        let document = |kind: &'static str, webhooks: Vec<Value>| {
            let document = json!({
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
                "metadata": {"name": NAME, "labels": {"app.kubernetes.io/managed-by": "oarlock"}},
                "webhooks": webhooks,
            });
            let something = document.pointer("/webhooks/0").is_some();
            (kind, something.then_some(document))
        };
        [
            document("MutatingWebhookConfiguration", mutating),
            document("ValidatingWebhookConfiguration", of(true).collect()),
        ]
    }

    fn webhook(&self, called: &PluginWebhook) -> Value {
        let PluginWebhook { plugin, admission: Admission { index, rule, .. } } = called;
        let mut webhook = json!({
            "name": format!("rule-{index}.{plugin}{SUFFIX}"),
            "admissionReviewVersions": ["v1"],
            "clientConfig": client_config(&self.client_config, &self.ca_bundle, &path(called)),
            "rules": [{
                "operations": rule.operations, "apiGroups": rule.api_groups, "apiVersions": rule.api_versions,
                "resources": rule.resources, "scope": rule.scope.as_deref().unwrap_or("*"),
            }],
            "failurePolicy": rule.failure_policy.as_deref().unwrap_or("Fail"),
            "matchPolicy": rule.match_policy.as_deref().unwrap_or("Equivalent"),
            "sideEffects": rule.side_effects.as_deref().unwrap_or("NoneOnDryRun"),
            "timeoutSeconds": rule.timeout_seconds.unwrap_or(TIMEOUT_SECONDS),
            "namespaceSelector": both_selectors(rule.namespace_selector.as_ref(), self.not_own_namespace().as_ref()),
            "objectSelector": rule.object_selector,
            "matchConditions": rule.match_conditions,
        });
        if let Some(fields) = webhook.as_object_mut() {
            if !rule.validate {
                fields.insert(
                    "reinvocationPolicy".to_owned(),
                    rule.reinvocation_policy.as_deref().unwrap_or("Never").into(),
                );
            }
            fields.retain(|_, value| !value.is_null());
        }
        webhook
    }

    /// The one webhook of all initializers, so that the host controls their order.
    fn initialize(&self) -> Option<Value> {
        let rules: Vec<Value> = self
            .initializers
            .iter()
            .flat_map(|initializer| &initializer.rules)
            .map(|rule| {
                json!({"operations": ["CREATE"], "apiGroups": rule.api_groups, "apiVersions": rule.api_versions,
                    "resources": rule.resources, "scope": "*"})
            })
            .collect();
        if rules.is_empty() {
            return None;
        }
        let mut webhook = json!({
            "name": format!("initializers{SUFFIX}"),
            "admissionReviewVersions": ["v1"],
            "clientConfig": client_config(&self.client_config, &self.ca_bundle, INITIALIZE),
            "rules": rules,
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "sideEffects": "NoneOnDryRun",
            "timeoutSeconds": TIMEOUT_SECONDS,
            "reinvocationPolicy": "Never",
        });
        if let (Some(fields), Some(selector)) = (webhook.as_object_mut(), self.not_own_namespace()) {
            fields.insert("namespaceSelector".to_owned(), selector);
        }
        Some(webhook)
    }

    fn not_own_namespace(&self) -> Option<Value> {
        let namespace = self.namespace.as_ref()?;
        let not = json!({"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [namespace]});
        Some(json!({"matchExpressions": [not]}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::initializers::Selection;

    fn called(plugin: &str, index: usize, change: &Value) -> PluginWebhook {
        let mut rule =
            json!({"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]});
        json_patch::merge(&mut rule, change);
        let only_as_initializer = false;
        PluginWebhook {
            plugin: plugin.to_owned(),
            admission: Admission { index, rule: serde_json::from_value(rule).unwrap(), only_as_initializer },
        }
    }

    fn wanted(called: Vec<PluginWebhook>) -> DesiredWebhooks {
        let client_config =
            WebhookClientConfig::Service { namespace: "oarlock".to_owned(), name: "host".to_owned(), port: 443 };
        DesiredWebhooks {
            called,
            initializers: Vec::new(),
            client_config,
            namespace: Some("oarlock".to_owned()),
            ca_bundle: "PEM".to_owned(),
        }
    }

    #[test]
    fn a_rule_becomes_a_webhook_that_never_matches_the_hosts_namespace() {
        let selector = json!({"namespaceSelector": {"matchLabels": {"inject": "yes"}}, "failurePolicy": "Ignore", "timeoutSeconds": 3});
        let [(_, mutating), (_, validating)] = wanted(vec![called("envoy", 2, &selector)]).documents();
        assert!(validating.is_none());
        let webhook = &mutating.unwrap()["webhooks"][0];
        assert_eq!(webhook["name"], "rule-2.envoy.oarlock.dev");
        assert_eq!(plugin_of("rule-2.envoy.oarlock.dev"), Some("envoy"));
        assert_eq!(plugin_of("initializers.oarlock.dev"), None);
        assert_eq!(
            webhook["clientConfig"],
            json!({"caBundle": "UEVN", "service": {"namespace": "oarlock", "name": "host", "port": 443, "path": "/mutate/envoy/2"}})
        );
        assert_eq!((&webhook["failurePolicy"], &webhook["timeoutSeconds"]), (&json!("Ignore"), &json!(3)));
        assert_eq!(
            webhook["namespaceSelector"]["matchExpressions"],
            json!([{"key": "inject", "operator": "In", "values": ["yes"]},
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["oarlock"]}])
        );
        assert!(webhook.get("objectSelector").is_none());
    }

    #[test]
    fn what_validates_and_what_only_initializes_go_their_own_ways() {
        let mut only = called("quiet", 0, &json!({}));
        only.admission.only_as_initializer = true;
        let mut wanted = wanted(vec![only, called("guard", 0, &json!({"validate": true}))]);
        wanted.client_config = WebhookClientConfig::Url("https://127.0.0.1:9443".to_owned());
        wanted.namespace = None;
        let [(_, mutating), (_, validating)] = wanted.documents();
        assert!(mutating.is_none());
        let webhook = &validating.unwrap()["webhooks"][0];
        assert_eq!(webhook["clientConfig"]["url"], "https://127.0.0.1:9443/validate/guard/0");
        assert!(webhook.get("reinvocationPolicy").is_none() && webhook.get("namespaceSelector").is_none());
        let rules =
            serde_json::from_value(json!({"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]})).unwrap();
        wanted.initializers = vec![Initializer {
            name: "a.b.c".to_owned(),
            plugin: "quiet".to_owned(),
            rules: vec![rules],
            selection: Selection::Always,
            record: false,
        }];
        let [(_, mutating), _] = wanted.documents();
        assert_eq!(mutating.unwrap()["webhooks"][0]["clientConfig"]["url"], "https://127.0.0.1:9443/initialize");
    }
}
