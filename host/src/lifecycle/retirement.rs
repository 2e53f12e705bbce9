//! The end of plugins: the file is gone, the grant is withdrawn, or the file contains another plugin.

use super::host_events::HostEvents;
use super::registry::{BlockedReason, FileState, Registry, RemovedPlugin, State};
use super::{DRAIN, Message, lock};
use crate::api::GroupVersionKind;
use crate::metrics::Metrics;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

/// Says that objects keep the finalizer of a removed plugin.
pub(super) fn tell_of_left(events: &HostEvents, name: &str, objects: usize) {
    let what_to_do = format!("put its file or its grant back, or run oarlock plugins --release-finalizers {name}");
    tracing::warn!(
        plugin = name,
        objects,
        "objects keep the finalizer of a plugin that does not run, and cannot be deleted: {what_to_do}"
    );
    let message = format!(
        "{objects} objects keep the finalizer of plugin {name}, which does not run, and cannot be deleted: {what_to_do}"
    );
    events.record(name, true, "FinalizersLeft", message);
}

/// The kinds to whose objects a version adds a finalizer.
fn cleaned(manifest: &oarlock_manifest::PluginManifest) -> BTreeSet<GroupVersionKind> {
    let kinds = manifest.primaries.iter().filter(|_| manifest.cleanup).map(|primary| primary.gvk());
    kinds.map(|kind| GroupVersionKind::new(kind.group, kind.version, kind.kind)).collect()
}

/// Time that the removal of a file waits for files that appeared with it: one of them may be the renamed file.
const RENAMED_WITHIN: Duration = Duration::from_secs(1);

/// Ends plugins, and follows their drains.
#[derive(Debug)]
pub(super) struct Retirement {
    registry: Arc<Mutex<Registry>>,
    metrics: Metrics,
    events: HostEvents,
    messages: mpsc::UnboundedSender<Message>,
    /// Draining plugins and versions. The host waits for them before it ends, so that their reconciles finish and their Leases are
    /// released.
    draining: TaskTracker,
}

impl Retirement {
    pub(super) fn new(
        registry: Arc<Mutex<Registry>>,
        metrics: Metrics,
        events: HostEvents,
        messages: mpsc::UnboundedSender<Message>,
    ) -> Self {
        Self { registry, metrics, events, messages, draining: TaskTracker::new() }
    }

    /// A file is gone, and with it its plugin, unless another file has that plugin. Returns the files that claim the plugin.
    ///
    /// * `others_came` - whether files appeared at the same time: one of them may be the renamed file.
    pub(super) fn file_gone(&self, name: &str, others_came: bool) -> Vec<String> {
        let mut registry = lock(&self.registry);
        registry.files.remove(name);
        let Some((plugin, _)) = registry.plugin_of(name) else { return Vec::new() };
        let plugin = plugin.clone();
        let claimants =
            registry.files.iter().filter(|(_, file)| file.file_state.candidate().is_some_and(|o| o.name() == plugin));
        let claimants: Vec<String> = claimants.map(|(file, _)| file.clone()).collect();
        if let Some(of) = registry.plugins.get_mut(&plugin) {
            let wait = if others_came { RENAMED_WITHIN } else { Duration::ZERO };
            of.orphaned = Some(Instant::now() + wait);
        }
        claimants
    }

    /// Ends plugins whose file is gone, when none of the files that appeared with its removal can be the renamed file.
    pub(super) fn end_orphans(&self) {
        let ended: Vec<String> = {
            let registry = lock(&self.registry);
            let done = registry.nothing_is_compiling();
            let orphans = registry
                .plugins
                .iter()
                .filter(|(_, plugin)| plugin.orphaned.is_some_and(|until| done || until <= Instant::now()));
            orphans.map(|(name, _)| name.clone()).collect()
        };
        for name in ended {
            self.end(&name);
        }
    }

    /// Ends the plugins that ran from a file before it contained another plugin.
    pub(super) fn end_others_of(&self, file: &str, plugin: &str) {
        let others: Vec<String> = {
            let registry = lock(&self.registry);
            let others = registry.plugins.iter().filter(|(name, of)| of.file == file && *name != plugin);
            others.map(|(name, _)| name.clone()).collect()
        };
        for name in others {
            self.end(&name);
        }
    }

    /// Drains a plugin: no new keys, timers or watches.
    pub(super) fn end(&self, name: &str) {
        let mut registry = lock(&self.registry);
        let Some(plugin) = registry.plugins.remove(name) else { return };
        if let Some(message) = registry.keep_converter(name, &plugin.controller) {
            tracing::warn!(plugin = name, reason = message, "the conversions of a removed plugin continue");
            self.events.record(name, true, "ConversionsContinue", message);
        }
        // The version that was about to replace it needs its watches no longer.
        if let Some(file) = registry.files.get_mut(&plugin.file)
            && let FileState::Syncing { candidate, .. } | FileState::RollingOut(candidate) = &file.file_state
        {
            file.file_state = FileState::Blocked { candidate: candidate.clone(), why: BlockedReason::Draining };
            file.task = None;
        }
        let manifest = plugin.running.as_ref().map(|running| &running.candidate.compiled);
        let removed = RemovedPlugin {
            state: State::Draining,
            version: manifest.map(|c| c.manifest.version.clone()).unwrap_or_default(),
            digest: manifest.map(|c| c.component.digest.clone()).unwrap_or_default(),
            file: plugin.file.clone(),
            held: plugin.left_behind.iter().map(|kind| (kind.clone(), 0)).collect(),
            deleting: BTreeMap::new(),
            since: Instant::now(),
            cleaned: plugin.running.as_ref().map(|running| cleaned(&running.candidate.manifest())).unwrap_or_default(),
            untold: false,
        };
        registry.removed(name, removed);
        let (name, messages) = (name.to_owned(), self.messages.clone());
        let controller = plugin.controller;
        self.draining.spawn(async move {
            let held = match controller.current() {
                Some(version) => {
                    let finalizers = version.loaded().manifest.cleanup;
                    let held = if finalizers { version.held() } else { Vec::new() };
                    held.into_iter().map(|(kind, keys)| (kind, keys.len())).collect()
                }
                None => Vec::new(),
            };
            controller.stop(DRAIN).await;
            drop(controller);
            let _ = messages.send(Message::Drained { plugin: name, held });
        });
    }

    /// A plugin has drained. Returns whether it was known.
    pub(super) fn drained(&self, name: &str, held: Vec<(GroupVersionKind, usize)>) -> bool {
        self.metrics.remove_plugin(name);
        let left: usize = {
            let mut registry = lock(&self.registry);
            let Some(removed) = registry.removed_plugins.get_mut(name) else { return false };
            for (kind, objects) in held {
                *removed.held.entry(kind).or_default() += objects;
            }
            removed.state = State::Retired;
            removed.cleaned.clear();
            let left = removed.held.values().sum();
            if removed.held.is_empty() {
                registry.removed_plugins.remove(name);
            }
            left
        };
        if left > 0 {
            tell_of_left(&self.events, name, left);
        }
        true
    }

    /// Waits for the plugins that drain, when the host ends. Each has its own deadline.
    pub(super) async fn wait(&self) {
        self.draining.close();
        self.draining.wait().await;
    }
}
