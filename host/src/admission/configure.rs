//! Reconciler of the webhook configurations: keeps them equal to the running plugins, the initializers, and the CA bundle.

use super::contest::{self, Contest};
use super::initializers::{self, Initializer};
use super::orphaned_initializers::OrphanedInitializers;
use super::webhooks::{self, DesiredWebhooks, PluginWebhook, WebhookClientConfig};
use super::{Pace, WebhookServer};
use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::WriteIdentity;
use crate::apply::events::{Event, Regarding};
use crate::controller::Shared;
use crate::informer::{Handler, Object, Subscription, WatchSpec};
use crate::lease::{LeaderElection, LeadershipGuard};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

/// Grace period after start for unreadable InitializerConfigurations: the API server may not serve their kind at all.
const UNREAD: Duration = Duration::from_secs(60);

/// Pause after a failed write.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// The reconciler of the webhook configurations.
pub(super) struct WebhookConfigReconciler {
    server: Arc<WebhookServer>,
    shared: Shared,
    client_config: WebhookClientConfig,
    bundle: watch::Receiver<String>,
    changed: Arc<Notify>,
    configurations: [(&'static str, Subscription); 2],
    initializers: Subscription,
    orphaned: OrphanedInitializers,
    began: Instant,
    /// Keys are kinds.
    written: HashMap<&'static str, WrittenConfiguration>,
    contests: HashMap<&'static str, Contest>,
    running: BTreeSet<String>,
    try_again: Option<Instant>,
    election: LeaderElection,
    pace: Pace,
}

/// The host's last write of a configuration.
#[derive(Debug, PartialEq)]
struct WrittenConfiguration {
    /// None: the host removed it.
    document: Option<Value>,
    /// The resourceVersion after the write, or at the removal.
    version: String,
}

impl WebhookConfigReconciler {
    pub(super) fn new(
        server: Arc<WebhookServer>,
        shared: Shared,
        (client_config, bundle): (WebhookClientConfig, watch::Receiver<String>),
        election: LeaderElection,
        pace: Pace,
    ) -> Self {
        let changed = Arc::new(Notify::new());
        let tell = Arc::clone(&changed);
        let handler: Handler = Arc::new(move |_| tell.notify_one());
        let ours = |kind: &'static str| {
            let spec = WatchSpec {
                field_selector: Some(format!("metadata.name={}", webhooks::NAME)),
                ..WatchSpec::all(configuration(kind))
            };
            (kind, shared.informers.subscribe(spec, Arc::clone(&handler)))
        };
        let configurations = [ours("MutatingWebhookConfiguration"), ours("ValidatingWebhookConfiguration")];
        for (kind, _) in &configurations {
            shared.metrics.begin_repairs(kind);
        }
        let initializers = shared.informers.subscribe(WatchSpec::all(initializers::kind()), Arc::clone(&handler));
        Self {
            server,
            shared,
            client_config,
            bundle,
            changed,
            configurations,
            initializers,
            orphaned: OrphanedInitializers::default(),
            began: Instant::now(),
            written: HashMap::new(),
            contests: HashMap::new(),
            running: BTreeSet::new(),
            try_again: None,
            election,
            pace,
        }
    }

    pub(super) async fn run(mut self) {
        loop {
            tokio::select! {
                () = self.changed.notified() => {}
                // An error means that the host stops.
                Ok(()) = self.bundle.changed() => {}
                () = self.pace.look() => {}
            }
            let all = initializers::all(self.initializers.store());
            let guard = self.election.guard();
            let write_identity = guard.as_ref().map(|guard| WriteIdentity::host().within(guard));
            self.orphaned.check(&all, &self.server.lifecycle, &self.shared, write_identity.as_ref());
            let initializers: Vec<_> = all.into_iter().flat_map(|one| one.initializers).collect();
            self.server.set_initializers(self.has_read().then(|| initializers.clone()));
            let wanted = self.wanted(initializers);
            if self.try_again.is_some_and(|when| Instant::now() < when) {
                continue;
            }
            self.try_again = None;
            // Of several hosts, only the leader writes, with the plugins that it runs.
            let Some(guard) = guard else {
                // The next leadership begins with the configurations that the leaders in between wrote.
                self.written.clear();
                self.contests.clear();
                continue;
            };
            let documents = wanted.documents();
            let called: Vec<_> = { documents.iter() }.filter_map(|(kind, d)| d.as_ref().map(|_| *kind)).collect();
            for (kind, document) in documents {
                if let Err(error) = self.keep(&guard, kind, document).await {
                    tracing::warn!(kind, error, "the webhook configuration could not be written");
                    self.try_again = Some(Instant::now() + TRY_AGAIN);
                }
            }
            let written = called.iter().all(|kind| self.written.contains_key(kind));
            self.pace.configured.send_replace(!called.is_empty() && written);
        }
    }

    /// Whether the host has read the initializers, or waited long enough for them.
    fn has_read(&self) -> bool {
        self.initializers.store().synced() || self.began.elapsed() >= UNREAD
    }

    fn wanted(&mut self, initializers: Vec<Initializer>) -> DesiredWebhooks {
        let controllers = self.server.lifecycle.controllers();
        let mut called = Vec::new();
        let mut running = BTreeSet::new();
        for controller in controllers {
            let Some(version) = controller.current() else { continue };
            running.insert(controller.name().to_owned());
            let rules = version.admission().iter().cloned();
            called.extend(rules.map(|admission| PluginWebhook { plugin: controller.name().to_owned(), admission }));
        }
        for ended in self.running.difference(&running) {
            self.server.ended.note(ended);
        }
        self.running = running;
        let metrics = &self.shared.metrics;
        for PluginWebhook { plugin, admission } in &called {
            metrics
                .begin_webhook(&format!("/{}/{plugin}", if admission.rule.validate { "validate" } else { "mutate" }));
        }
        if !initializers.is_empty() {
            metrics.begin_webhook(webhooks::INITIALIZE);
        }
        let namespace = match &self.client_config {
            WebhookClientConfig::Service { namespace, .. } => Some(namespace.clone()),
            WebhookClientConfig::Url(_) => {
                std::env::var("POD_NAMESPACE").ok().filter(|namespace| !namespace.is_empty())
            }
        };
        let ca_bundle = self.bundle.borrow().clone();
        DesiredWebhooks { called, initializers, client_config: self.client_config.clone(), namespace, ca_bundle }
    }

    /// Writes or removes a configuration that differs from the wanted one. Repairs back off while another client writes it too.
    async fn keep(&mut self, guard: &LeadershipGuard, kind: &'static str, wanted: Option<Value>) -> Result<(), String> {
        let Some((_, subscription)) = self.configurations.iter().find(|(of, _)| *of == kind) else { return Ok(()) };
        let store = subscription.store();
        if !store.synced() {
            return Ok(());
        }
        let live = store.get(&ObjectKey::new("", webhooks::NAME));
        let Some(document) = self.complete(kind, wanted, live.as_deref().map(Object::json)) else { return Ok(()) };
        let removable = |live: &Object| live.label("app.kubernetes.io/managed-by") == Some("oarlock");
        if document.is_none() && !live.as_deref().is_some_and(removable) {
            return Ok(());
        }
        let version = live.as_deref().map(Object::resource_version);
        // None: the wanted configuration has changed since, so this write is no repair.
        let before = self.written.get(kind).filter(|written| written.document == document);
        let before = before.map(|written| written.version.clone());
        if before.is_some() {
            if before.as_deref() == version {
                return Ok(());
            }
            let contest = self.contests.entry(kind).or_default();
            if !contest.due(Instant::now()) {
                return Ok(());
            }
            if contest.lasts() {
                self.report(guard, kind, live.as_deref()).await;
            }
        }
        let (after, changed) = match (&document, live.as_deref()) {
            (Some(document), _) => self.apply(guard, kind, document, version).await?,
            (None, Some(live)) => self.remove(guard, kind, live).await?,
            (None, None) => return Ok(()),
        };
        // While the cache lags behind the host's own write, an apply changes nothing.
        if changed && before.is_some_and(|before| before != after) {
            self.contests.entry(kind).or_default().repaired(Instant::now());
            self.shared.metrics.webhooks_repaired(kind);
        }
        self.written.insert(kind, WrittenConfiguration { document, version: after });
        Ok(())
    }

    /// Returns the resourceVersion, and whether it is new.
    async fn apply(
        &self,
        guard: &LeadershipGuard,
        kind: &str,
        document: &Value,
        version: Option<&str>,
    ) -> Result<(String, bool), String> {
        let object = self.shared.writer.host_objects().apply(guard, document).await.map_err(|e| e.to_string())?;
        let changed = version != Some(object.resource_version());
        if changed {
            let webhooks = document.get("webhooks").and_then(Value::as_array).map_or(0, Vec::len);
            tracing::info!(kind, webhooks, "the webhook configuration was written");
        }
        Ok((object.resource_version().to_owned(), changed))
    }

    async fn remove(&self, guard: &LeadershipGuard, kind: &str, live: &Object) -> Result<(String, bool), String> {
        let host_objects = self.shared.writer.host_objects();
        host_objects.delete(guard, &configuration(kind), live.key(), live.uid()).await.map_err(|e| e.to_string())?;
        tracing::info!(kind, "the webhook configuration was removed: no plugin answers admission");
        Ok((live.resource_version().to_owned(), true))
    }

    /// Reports the other clients that write a configuration, each once per contest.
    async fn report(&mut self, guard: &LeadershipGuard, kind: &'static str, live: Option<&Object>) {
        let key = ObjectKey::new("", webhooks::NAME);
        // Caches contain no managedFields of other managers.
        let rival = match self.shared.writer.host_objects().read(&configuration(kind), &key).await {
            Ok(object) => contest::rival(object.as_ref()),
            Err(error) => return tracing::debug!(kind, %error, "the webhook configuration cannot be read"),
        };
        if !self.contests.entry(kind).or_default().report(&rival) {
            return;
        }
        tracing::warn!(kind, rival, "webhook configuration contested; repairs slow down to one a minute");
        let message = format!(
            "{rival} changes what the host writes here; the host repairs it less and less often, down to once a minute. \
             Exclude this object from the tool that manages it, or have all hosts share Leases (--lease-namespace)"
        );
        let about = match live {
            Some(live) => Regarding::new(&configuration(kind), live),
            None => Regarding::named(configuration(kind), key, ""),
        };
        let event = Event { warning: true, reason: "WebhookConfigurationContested".to_owned(), message };
        self.shared.recorder.record(&WriteIdentity::host().within(guard), &about, event);
    }

    /// The configuration to write while plugins are loading: it removes no webhook of a plugin that may still come. None: wait.
    #[expect(clippy::option_option, reason = "wait, none, or this one")]
    fn complete(&self, kind: &str, wanted: Option<Value>, live: Option<&str>) -> Option<Option<Value>> {
        let names = |document: &Value| -> BTreeSet<String> {
            let webhooks = document.get("webhooks").and_then(Value::as_array).into_iter().flatten();
            webhooks.filter_map(|webhook| webhook.get("name")?.as_str().map(str::to_owned)).collect()
        };
        let there =
            live.and_then(|json| serde_json::from_str::<Value>(json).ok()).map(|live| names(&live)).unwrap_or_default();
        let to_be = wanted.as_ref().map(names).unwrap_or_default();
        let may_come = |name: &String| match webhooks::plugin_of(name) {
            // The wanted configuration does not know a plugin that began to run in the meantime.
            Some(plugin) => {
                let lifecycle = &self.server.lifecycle;
                lifecycle.may_come(plugin) || (!self.running.contains(plugin) && lifecycle.runs(plugin))
            }
            None => !self.has_read(),
        };
        if !there.difference(&to_be).any(may_come) {
            return Some(wanted);
        }
        tracing::debug!(kind, "plugins are still loading: their webhooks stay until then");
        None
    }
}

fn configuration(kind: &str) -> GroupVersionKind {
    GroupVersionKind::new("admissionregistration.k8s.io", "v1", kind)
}
