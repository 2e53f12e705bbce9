//! Plugin objects (`plugins.oarlock.dev`): the plugins of a host for `kubectl`, and the wishes of people about them.
//!
//! The host makes an object for each plugin, and writes its status. It obeys `spec.paused` and `spec.approve`. Of several hosts each one
//! obeys, and the one that leads a plugin writes.

mod status;

use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::WriteError;
use crate::controller::Shared;
use crate::informer::{Handler, ListOptions, Object, Subscription, WatchSpec};
use crate::lease::{self, LeaderElection, LeadershipGuard};
use crate::lifecycle::{Action, Handle};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The definition of the kind.
pub const DEFINITION: &str = include_str!("../../deploy/crds/plugins.yaml");

/// Poll interval of the plugins' states.
const LOOK: Duration = Duration::from_millis(300);

/// Least time between two writes of counts only.
const COUNTS: Duration = Duration::from_secs(5);

/// Pause after a failed write.
const TRY_AGAIN: Duration = Duration::from_secs(2);

/// Time without the plugin after which its object is removed.
const GONE: Duration = Duration::from_secs(10);

/// Age of a Lease that no host renews any more.
const ABANDONED_SECONDS: i64 = 60;

/// Marks objects that the host made, and therefore removes.
const MADE: (&str, &str) = ("app.kubernetes.io/managed-by", "oarlock");

/// Configuration of the Plugin objects.
#[derive(Clone, Debug)]
pub struct Options {
    /// Namespace of the objects.
    pub namespace: String,
    /// The name of this host, unless it has one in Leases.
    pub host: String,
}

/// The Plugin objects of a host.
pub struct PluginObjects {
    shared: Shared,
    lifecycle: Handle,
    namespace: String,
    /// The name of this host.
    host: String,
    subscription: Subscription,
    changed: Arc<Notify>,
    election: LeaderElection,
    objects: HashMap<String, Written>,
    /// Since when the plugins of objects are gone.
    gone: HashMap<String, Instant>,
    approved: BTreeMap<String, String>,
}

/// The last write of an object.
#[derive(Debug, Default)]
struct Written {
    at: Option<Instant>,
    /// The resourceVersion before the write: the cache may still show it.
    over: Option<String>,
    try_again: Option<Instant>,
}

impl std::fmt::Debug for PluginObjects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PluginObjects").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

impl PluginObjects {
    /// * `election` - of the host's own duties.
    #[must_use]
    pub fn new(options: Options, shared: Shared, lifecycle: Handle, election: LeaderElection) -> Self {
        let Options { namespace, host } = options;
        let host = shared.leases.identity().map_or(host, str::to_owned);
        let changed = Arc::new(Notify::new());
        let tell = Arc::clone(&changed);
        let handler: Handler = Arc::new(move |_| tell.notify_one());
        let spec = WatchSpec { namespace: Some(namespace.clone()), ..WatchSpec::all(kind()) };
        let subscription = shared.informers.subscribe(spec, handler);
        Self {
            shared,
            lifecycle,
            namespace,
            host,
            subscription,
            changed,
            election,
            objects: HashMap::new(),
            gone: HashMap::new(),
            approved: BTreeMap::new(),
        }
    }

    /// Keeps the objects. Never returns.
    ///
    /// * `known` - called once, when the wishes are known for the first time.
    pub async fn run(mut self, known: impl FnOnce()) {
        let mut known = Some(known);
        loop {
            tokio::select! {
                () = self.changed.notified() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
            // Without the objects the last wishes count.
            if !self.subscription.store().synced() {
                continue;
            }
            let live = self.live();
            self.pause(&live);
            if let Some(known) = known.take() {
                known();
            }
            let entries = entries(&self.lifecycle.describe());
            self.objects.retain(|name, _| entries.contains_key(name));
            self.approved.retain(|name, _| entries.contains_key(name));
            self.gone.retain(|name, _| live.contains_key(name) && !entries.contains_key(name));
            self.approve(&live, &entries).await;
            for (name, entry) in &entries {
                self.keep(name, entry, live.get(name)).await;
            }
            for (name, object) in live.iter().filter(|(name, _)| !entries.contains_key(*name)) {
                self.remove(name, object).await;
            }
        }
    }

    /// The objects by name.
    fn live(&self) -> BTreeMap<String, Arc<Object>> {
        let objects = self.subscription.store().list(&ListOptions::default());
        objects.into_iter().map(|object| (object.key().name.to_string(), object)).collect()
    }

    fn pause(&self, live: &BTreeMap<String, Arc<Object>>) {
        let paused = |object: &Object| json(object).pointer("/spec/paused") == Some(&Value::Bool(true));
        let paused: BTreeSet<String> =
            live.iter().filter(|(_, object)| paused(object)).map(|(name, _)| name.clone()).collect();
        if self.shared.pauses.set(paused.clone()) {
            tracing::info!(paused = paused.into_iter().collect::<Vec<_>>().join(", "), "paused plugins");
        }
    }

    /// Confirms versions that wait for a confirmation and whose digest is approved.
    async fn approve(&mut self, live: &BTreeMap<String, Arc<Object>>, entries: &BTreeMap<String, Value>) {
        for (name, entry) in entries {
            let Some(digest) = waiting_for_confirmation(entry) else { continue };
            let object = live.get(name).map(|object| json(object)).unwrap_or_default();
            let approved = object.pointer("/spec/approve").and_then(Value::as_str);
            if approved != Some(digest) || self.approved.get(name).is_some_and(|before| before == digest) {
                continue;
            }
            self.approved.insert(name.clone(), digest.to_owned());
            match self.lifecycle.act(Action::Confirm(name.clone())).await {
                Ok(said) => tracing::info!(plugin = name, digest, "approved: {said}"),
                Err(error) => tracing::warn!(plugin = name, digest, error, "the approved version cannot be confirmed"),
            }
        }
    }

    /// Writes the object and its status where they differ from the plugin.
    async fn keep(&mut self, name: &str, entry: &Value, live: Option<&Arc<Object>>) {
        let written = self.objects.entry(name.to_owned()).or_default();
        let now = Instant::now();
        let version = live.map(|object| object.resource_version().to_owned());
        let unseen = written.at.is_some_and(|at| at.elapsed() < TRY_AGAIN) && written.over == version;
        if unseen || written.try_again.is_some_and(|when| now < when) {
            return;
        }
        let controller = self.lifecycle.controller(name);
        let Some(guard) = controller.map_or_else(|| self.election.guard(), |controller| controller.guard()) else {
            return;
        };
        let object = live.map(|object| json(object)).unwrap_or_default();
        let source = source(entry);
        if live.is_none() || object.pointer("/spec/source") != Some(&source) {
            let labels = if live.is_none() || is_ours(&object) { json!({MADE.0: MADE.1}) } else { json!({}) };
            let metadata = json!({"name": name, "namespace": self.namespace, "labels": labels});
            let document = json!({"apiVersion": kind().api_version(), "kind": "Plugin", "metadata": metadata,
                "spec": {"source": source}});
            let done = self.shared.writer.host_objects().apply(&guard, &document).await;
            written.note(name, done.map(drop), version, now);
            return;
        }
        let status = object.get("status").cloned().unwrap_or_default();
        let generation = live.and_then(|object| object.generation());
        let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let wanted = status::wanted(entry, &self.host, &status, generation, &time);
        let recent = written.at.is_some_and(|at| at.elapsed() < COUNTS);
        if wanted == status || (recent && !status::differs(&wanted, &status)) {
            return;
        }
        let document = json!({"apiVersion": kind().api_version(), "kind": "Plugin",
            "metadata": {"name": name, "namespace": self.namespace}, "status": wanted});
        let done = self.shared.writer.host_objects().apply_status(&guard, &document).await;
        written.note(name, done.map(drop), version, now);
    }

    /// Removes an object that the host made and whose plugin is gone, on this host and on all others.
    async fn remove(&mut self, name: &str, object: &Arc<Object>) {
        let ours = is_ours(&json(object));
        let since = *self.gone.entry(name.to_owned()).or_insert_with(Instant::now);
        let Some(guard) = self.election.guard().filter(|_| ours && since.elapsed() >= GONE) else { return };
        if self.lifecycle.may_come(name) {
            return;
        }
        self.gone.remove(name);
        if self.is_led_elsewhere(name, &guard).await {
            return;
        }
        let deleted = self.shared.writer.host_objects().delete(&guard, &kind(), object.key(), object.uid()).await;
        if let Err(error) = deleted {
            tracing::warn!(plugin = name, %error, "the Plugin object of a removed plugin stays");
        }
    }

    /// Whether another host runs the plugin. True as well if that is unknown.
    async fn is_led_elsewhere(&self, name: &str, guard: &LeadershipGuard) -> bool {
        let Some(namespace) = self.shared.leases.namespace().filter(|_| guard.held()) else { return false };
        let lease = GroupVersionKind::new("coordination.k8s.io", "v1", "Lease");
        let key = ObjectKey::new(namespace, lease::name_of(name));
        match self.shared.writer.host_objects().read(&lease, &key).await {
            Ok(None) => false,
            Ok(Some(lease)) => {
                let text = |pointer: &str| lease.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
                let renewed = text("/spec/renewTime").parse::<jiff::Timestamp>();
                let age = renewed.map(|renewed| jiff::Timestamp::now().as_second() - renewed.as_second());
                !text("/spec/holderIdentity").is_empty() && age.is_ok_and(|age| age < ABANDONED_SECONDS)
            }
            Err(_) => true,
        }
    }
}

impl Written {
    /// * `over` - the resourceVersion before the write.
    fn note(&mut self, name: &str, done: Result<(), WriteError>, over: Option<String>, now: Instant) {
        (self.at, self.over, self.try_again) = (Some(now), over, None);
        if let Err(error) = done {
            self.try_again = Some(now + TRY_AGAIN);
            tracing::warn!(plugin = name, %error, "the Plugin object could not be written");
        }
    }
}

fn kind() -> GroupVersionKind {
    GroupVersionKind::new("oarlock.dev", "v1alpha1", "Plugin")
}

/// Whether the host made the object.
fn is_ours(object: &Value) -> bool {
    object.pointer("/metadata/labels").and_then(|labels| labels.get(MADE.0)).is_some_and(|value| value == MADE.1)
}

fn json(object: &Object) -> Value {
    serde_json::from_str(object.json()).unwrap_or_default()
}

/// The entries of `/plugins` by the plugin's name; of a file without a plugin, by the name that the file gives it. Of two files of one
/// plugin the first counts, as in the host.
fn entries(described: &Value) -> BTreeMap<String, Value> {
    let mut entries = BTreeMap::new();
    for entry in described.get("plugins").and_then(Value::as_array).into_iter().flatten() {
        let text = |field: &str| entry.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        let stem = text("file").map(|file| file.strip_suffix(".wasm").unwrap_or(file));
        if let Some(name) = text("name").or(stem).filter(|name| crate::plugin::is_plugin_name(name)) {
            entries.entry(name.to_owned()).or_insert_with(|| entry.clone());
        }
    }
    entries
}

/// The digest of the version that waits for a confirmation.
fn waiting_for_confirmation(entry: &Value) -> Option<&str> {
    let newest = entry.get("next").unwrap_or(entry);
    let waits = newest.get("state").is_some_and(|state| state == "awaiting-confirmation");
    newest.get("digest").and_then(Value::as_str).filter(|_| waits)
}

fn source(entry: &Value) -> Value {
    match entry.pointer("/source/reference").and_then(Value::as_str) {
        Some(reference) => json!({"reference": reference}),
        None => json!({"file": entry.get("file").and_then(Value::as_str).unwrap_or_default()}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_have_their_name_and_files_without_a_plugin_that_of_the_file() {
        let described = json!({"plugins": [
            {"name": "a", "file": "a.wasm", "state": "active"},
            {"name": null, "file": "broken.wasm", "state": "failed"},
            {"name": "a", "file": "second.wasm", "state": "failed"},
            {"name": null, "file": "No Name.wasm", "state": "failed"},
        ]});
        let found = entries(&described);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["a", "broken"]);
        assert_eq!(found["a"]["state"], "active");
    }

    #[test]
    fn only_a_version_that_waits_for_a_confirmation_has_a_digest_to_approve() {
        let waits = json!({"state": "active", "digest": "sha256:a", "next": {"state": "awaiting-confirmation", "digest": "sha256:b"}});
        assert_eq!(waiting_for_confirmation(&waits), Some("sha256:b"));
        assert_eq!(
            waiting_for_confirmation(&json!({"state": "awaiting-confirmation", "digest": "sha256:a"})),
            Some("sha256:a")
        );
        assert_eq!(waiting_for_confirmation(&json!({"state": "active", "digest": "sha256:a"})), None);
    }
}
