//! Reconciler of `spec.conversion` of the definitions for which plugins convert.

use super::contest::Contest;
use super::webhooks::{WebhookClientConfig, client_config};
use super::{Pace, WebhookServer};
use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::WriteError;
use crate::controller::Shared;
use crate::informer::{Handler, Object, Subscription, WatchSpec};
use crate::lease::{LeaderElection, LeadershipGuard};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

/// Pause after a failed write.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// Age of the number of objects of a definition.
const COUNT_AGAIN: Duration = Duration::from_secs(30);

/// The reconciler of the definitions' conversions.
pub(super) struct ConversionConfigReconciler {
    server: Arc<WebhookServer>,
    shared: Shared,
    client_config: WebhookClientConfig,
    bundle: watch::Receiver<String>,
    changed: Arc<Notify>,
    definitions: BTreeMap<String, Definition>,
    election: LeaderElection,
    pace: Pace,
}

/// A definition for which a plugin converts, or did.
struct Definition {
    subscription: Subscription,
    contest: Contest,
    /// The conversion of the host's last write.
    written: Option<Value>,
    try_again: Option<Instant>,
    /// The number of objects, and when they were counted.
    objects: Option<(usize, Instant)>,
}

impl ConversionConfigReconciler {
    pub(super) fn new(
        server: Arc<WebhookServer>,
        shared: Shared,
        (client_config, bundle): (WebhookClientConfig, watch::Receiver<String>),
        election: LeaderElection,
        pace: Pace,
    ) -> Self {
        let (changed, definitions) = (Arc::new(Notify::new()), BTreeMap::new());
        Self { server, shared, client_config, bundle, changed, definitions, election, pace }
    }

    pub(super) async fn run(mut self) {
        loop {
            tokio::select! {
                () = self.changed.notified() => {}
                // An error means that the host stops.
                Ok(()) = self.bundle.changed() => {}
                () = self.pace.look() => {}
            }
            let wanted = self.wanted();
            self.follow(&wanted);
            let guard = self.election.guard();
            let names: Vec<String> = self.definitions.keys().cloned().collect();
            for name in names {
                if let Err(error) = self.keep(guard.as_ref(), &name, wanted.get(&name)).await {
                    tracing::warn!(definition = name, error, "the conversion of a definition could not be configured");
                }
            }
            self.report().await;
            self.pace.configured.send_replace(!wanted.is_empty() && self.configured(&wanted));
        }
    }

    /// Whether each definition that exists has the wanted conversion.
    fn configured(&self, wanted: &HashMap<String, Value>) -> bool {
        wanted.iter().all(|(name, wanted)| {
            let Some(store) = self.definitions.get(name).map(|definition| definition.subscription.store()) else {
                return false;
            };
            let live = store.get(&ObjectKey::new("", name.as_str()));
            store.synced() && live.and_then(|live| conversion_of(&live)).is_none_or(|present| covers(&present, wanted))
        })
    }

    /// The wanted `spec.conversion` of each definition for which a plugin converts.
    fn wanted(&self) -> HashMap<String, Value> {
        let bundle = self.bundle.borrow().clone();
        let converters = self.server.lifecycle.converters().into_iter();
        converters
            .map(|(definition, converter)| {
                let path = format!("/convert/{}", converter.plugin());
                self.shared.metrics.begin_webhook(&path);
                let conversion = json!({"strategy": "Webhook", "webhook": {
                    "conversionReviewVersions": ["v1"],
                    "clientConfig": client_config(&self.client_config, &bundle, &path),
                }});
                (definition, conversion)
            })
            .collect()
    }

    /// Watches the definitions that a plugin converts for.
    fn follow(&mut self, wanted: &HashMap<String, Value>) {
        for name in wanted.keys().filter(|name| !self.definitions.contains_key(*name)).cloned().collect::<Vec<_>>() {
            let tell = Arc::clone(&self.changed);
            let handler: Handler = Arc::new(move |_| tell.notify_one());
            let spec = WatchSpec { field_selector: Some(WatchSpec::field_of_name(&name)), ..WatchSpec::all(kind()) };
            let subscription = self.shared.informers.subscribe(spec, handler);
            let definition =
                Definition { subscription, contest: Contest::default(), written: None, try_again: None, objects: None };
            self.definitions.insert(name, definition);
        }
    }

    /// Writes a conversion that differs from the wanted one; without a wanted one, the strategy None, once.
    async fn keep(
        &mut self,
        guard: Option<&LeadershipGuard>,
        name: &str,
        wanted: Option<&Value>,
    ) -> Result<(), String> {
        let Some(definition) = self.definitions.get_mut(name) else { return Ok(()) };
        let store = definition.subscription.store();
        if !store.synced() || definition.try_again.is_some_and(|when| Instant::now() < when) {
            return Ok(());
        }
        // Of several hosts, only the leader writes.
        let Some(guard) = guard else {
            definition.written = None;
            if wanted.is_none() {
                self.definitions.remove(name);
            }
            return Ok(());
        };
        let live = store.get(&ObjectKey::new("", name));
        let present = live.as_deref().and_then(conversion_of);
        let (Some(live), Some(present)) = (live, present) else {
            // The definition does not exist (yet).
            if wanted.is_none() {
                self.definitions.remove(name);
            }
            return Ok(());
        };
        let none = json!({"strategy": "None"});
        let conversion = match wanted {
            Some(wanted) => wanted,
            // The webhook is another program's.
            None if definition.written.is_none() && !self.server.calls_host(&present) => {
                self.definitions.remove(name);
                return Ok(());
            }
            None => &none,
        };
        if covers(&present, conversion) {
            if wanted.is_none() {
                self.definitions.remove(name);
            }
            return Ok(());
        }
        let repair = definition.written.as_ref() == Some(conversion);
        if repair && !definition.contest.due(Instant::now()) {
            return Ok(());
        }
        if repair && definition.contest.lasts() && definition.contest.report("") {
            tracing::warn!(
                definition = name,
                "another client changes spec.conversion; repairs slow down to one a minute"
            );
        }
        let document = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": name, "resourceVersion": live.resource_version()}, "spec": {"conversion": conversion},
        });
        match self.shared.writer.host_objects().apply(guard, &document).await {
            Ok(_) => {
                tracing::info!(
                    definition = name,
                    strategy = conversion["strategy"].as_str(),
                    "spec.conversion was written"
                );
                if repair {
                    definition.contest.repaired(Instant::now());
                }
                definition.written = Some(conversion.clone());
                Ok(())
            }
            // The cache is behind.
            Err(WriteError::Conflict(_)) => Ok(()),
            Err(error) => {
                definition.try_again = Some(Instant::now() + TRY_AGAIN);
                Err(error.to_string())
            }
        }
    }

    /// Reports the definitions that this host converts for, with the number of their objects.
    async fn report(&mut self) {
        let mut converted = BTreeMap::new();
        for (name, definition) in &mut self.definitions {
            let Some(live) = definition.subscription.store().get(&ObjectKey::new("", name.as_str())) else { continue };
            // Objects of a single version are never converted: nothing depends on the plugin.
            let depends = conversion_of(&live).is_some_and(|conversion| self.server.calls_host(&conversion));
            if !depends || versions(&live) < 2 {
                continue;
            }
            if definition.objects.is_none_or(|(_, when)| when.elapsed() >= COUNT_AGAIN) {
                let counted = match storage_kind(&live) {
                    Some(kind) => self.shared.writer.host_objects().count(&kind).await,
                    None => Ok(0),
                };
                // Without a number the last one stays: the host may not be allowed to list the kind.
                let before = definition.objects.map_or(0, |(objects, _)| objects);
                definition.objects = Some((counted.unwrap_or(before), Instant::now()));
            }
            converted.insert(name.clone(), definition.objects.map_or(0, |(objects, _)| objects));
        }
        self.server.lifecycle.set_converted(converted);
    }
}

impl WebhookServer {
    /// Whether a conversion calls this host.
    fn calls_host(&self, conversion: &Value) -> bool {
        let config = |field: &str| conversion.pointer("/webhook/clientConfig").and_then(|config| config.get(field));
        match &self.client_config {
            WebhookClientConfig::Service { namespace, name, .. } => config("service").is_some_and(|service| {
                let is = |field: &str, text: &str| service.get(field).and_then(Value::as_str) == Some(text);
                is("namespace", namespace) && is("name", name)
            }),
            WebhookClientConfig::Url(base) => {
                config("url").and_then(Value::as_str).is_some_and(|url| url.starts_with(&format!("{base}/convert/")))
            }
        }
    }
}

fn kind() -> GroupVersionKind {
    GroupVersionKind::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
}

fn conversion_of(definition: &Object) -> Option<Value> {
    let definition: Value = serde_json::from_str(definition.json()).ok()?;
    Some(definition.pointer("/spec/conversion").cloned().unwrap_or(Value::Null))
}

fn versions(definition: &Object) -> usize {
    let definition: Option<Value> = serde_json::from_str(definition.json()).ok();
    definition.and_then(|definition| Some(definition.pointer("/spec/versions")?.as_array()?.len())).unwrap_or(0)
}

/// The kind of a definition in its storage version.
fn storage_kind(definition: &Object) -> Option<GroupVersionKind> {
    let definition: Value = serde_json::from_str(definition.json()).ok()?;
    let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array)?;
    let storage = versions.iter().find(|v| v.get("storage").and_then(Value::as_bool) == Some(true))?;
    let version = storage.get("name").and_then(Value::as_str)?.to_owned();
    Some(GroupVersionKind::new(text("/spec/group")?, version, text("/spec/names/kind")?))
}

/// Whether a conversion has all that is wanted; the API server adds defaults.
fn covers(present: &Value, wanted: &Value) -> bool {
    match (present, wanted) {
        (Value::Object(present), Value::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| present.get(key).is_some_and(|present| covers(present, wanted)))
        }
        _ => present == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_of_the_api_server_are_no_difference_and_another_webhook_is_one() {
        let wanted = json!({"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "a"}}}});
        let with_default = json!({"strategy": "Webhook",
            "webhook": {"clientConfig": {"service": {"name": "a", "port": 443}}, "conversionReviewVersions": ["v1"]}});
        assert!(covers(&with_default, &wanted));
        assert!(!covers(&json!({"strategy": "None"}), &wanted));
        assert!(!covers(&Value::Null, &wanted));
        let other = json!({"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "b"}}}});
        assert!(!covers(&other, &wanted));
        assert!(covers(&json!({"strategy": "None"}), &json!({"strategy": "None"})));
    }
}
