//! Configured webhooks, read again after each change of a configuration.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use oarlock_schema::Condition;
use serde_json::Value;

use crate::{
    model::selector::{self, LabelSelector},
    resources::registry::Registry,
    store::Store,
    webhook_client::{
        Client,
        users::{Users, WebhookClients},
    },
};

/// The resource stores of the webhook configurations.
const RESOURCE_STORES: [&str; 2] = [
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "validatingwebhookconfigurations.admissionregistration.k8s.io",
];

/// The requests that a webhook matches.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) operations: Vec<String>,
    pub(super) groups: Vec<String>,
    pub(super) versions: Vec<String>,
    /// `plural` or `plural/subresource`.
    pub(super) resources: Vec<String>,
    /// `Cluster`, `Namespaced` or `*`.
    pub(super) scope: String,
}

/// One webhook of a configuration.
#[derive(Debug)]
pub(super) struct Hook {
    pub(super) name: String,
    pub(super) rules: Vec<Rule>,
    /// Whether rules also match other versions of the same object.
    pub(super) equivalent: bool,
    pub(super) namespaces: LabelSelector,
    pub(super) objects: LabelSelector,
    pub(super) conditions: Vec<Condition>,
    /// Whether requests are allowed when the webhook cannot be called.
    pub(super) ignore: bool,
    /// Whether it is called once more when a later one changed the object.
    pub(super) reinvoke: bool,
    pub(super) timeout: Duration,
    /// `v1` or `v1beta1`, the first one that the webhook lists.
    pub(super) review_version: &'static str,
    pub(super) client: Client,
}

/// A list of webhooks and its version.
type CachedHooks = Mutex<(u64, Arc<[Hook]>)>;

/// The webhooks of the stored configurations, read again when one changed, and what calling them takes.
#[derive(Debug)]
pub(crate) struct Webhooks {
    pub(super) store: Arc<Store>,
    pub(super) registry: Arc<Registry>,
    clients: WebhookClients,
    kinds: [CachedHooks; 2],
}

impl Webhooks {
    /// * `clients` - the client certificates for webhooks.
    pub(crate) fn new(store: Arc<Store>, registry: Arc<Registry>, clients: WebhookClients) -> Self {
        let nothing = || Mutex::new((0, Arc::from([])));
        Self { store, registry, clients, kinds: [nothing(), nothing()] }
    }

    /// The mutating webhooks in call order: by the names of their configurations.
    pub(super) fn mutating(&self) -> Arc<[Hook]> {
        let ([known, _], [resource_store, _]) = (&self.kinds, RESOURCE_STORES);
        current(known, &self.store, resource_store, self.clients.mutating())
    }

    /// The validating webhooks.
    pub(super) fn validating(&self) -> Arc<[Hook]> {
        let ([_, known], [_, resource_store]) = (&self.kinds, RESOURCE_STORES);
        current(known, &self.store, resource_store, self.clients.validating())
    }
}

fn current(known: &CachedHooks, store: &Store, resource_store: &str, users: &Users) -> Arc<[Hook]> {
    let resource_store = store.resource_store(resource_store);
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    let changed = resource_store.last_change();
    if known.0 != changed {
        let configurations = resource_store.list("").objects;
        let hooks = configurations.iter().filter_map(|c| c.value.get("webhooks")?.as_array());
        *known = (changed, hooks.flatten().map(|hook| Hook::new(hook, users)).collect());
    }
    Arc::clone(&known.1)
}

fn texts(value: &Value, key: &str) -> Vec<String> {
    let list = value.get(key).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// A structured selector; validation rejects an invalid one.
fn selector(hook: &Value, key: &str) -> LabelSelector {
    LabelSelector::parse(&selector::to_text(hook.get(key))).unwrap_or_default()
}

impl Hook {
    /// A validated webhook with its defaults.
    fn new(hook: &Value, users: &Users) -> Self {
        let text = |key: &str| hook.get(key).and_then(Value::as_str).unwrap_or_default();
        let list = |key: &str| hook.get(key).and_then(Value::as_array).into_iter().flatten();
        let rule = |rule: &Value| Rule {
            operations: texts(rule, "operations"),
            groups: texts(rule, "apiGroups"),
            versions: texts(rule, "apiVersions"),
            resources: texts(rule, "resources"),
            scope: rule.get("scope").and_then(Value::as_str).unwrap_or("*").to_owned(),
        };
        let expression = |c: &Value| Condition::parse(c.get("expression")?.as_str()?).ok();
        let versions = texts(hook, "admissionReviewVersions");
        let old = versions.iter().find(|v| matches!(v.as_str(), "v1" | "v1beta1")).is_some_and(|v| v == "v1beta1");
        Self {
            name: text("name").to_owned(),
            rules: list("rules").map(rule).collect(),
            equivalent: text("matchPolicy") != "Exact",
            namespaces: selector(hook, "namespaceSelector"),
            objects: selector(hook, "objectSelector"),
            conditions: list("matchConditions").filter_map(expression).collect(),
            ignore: text("failurePolicy") == "Ignore",
            reinvoke: text("reinvocationPolicy") == "IfNeeded",
            timeout: Duration::from_secs(hook.get("timeoutSeconds").and_then(Value::as_u64).unwrap_or(10)),
            review_version: if old { "v1beta1" } else { "v1" },
            client: Client::new(hook.get("clientConfig").unwrap_or(&Value::Null), users),
        }
    }
}
