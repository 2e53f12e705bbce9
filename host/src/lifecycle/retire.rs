//! The end of plugins: the file is gone, the grant is withdrawn, or the file contains another plugin.

use super::registry::{FileState, RemovedPlugin, State};
use super::{DRAIN, Lifecycle, Message, RENAMED_WITHIN, lock};
use crate::api::GroupVersionKind;
use std::collections::BTreeMap;
use tokio::time::Instant;

impl Lifecycle {
    /// A file is gone, and with it its plugin, unless another file has that plugin.
    ///
    /// * `others_came` - whether files appeared at the same time: one of them may be the renamed file.
    pub(super) fn file_gone(&mut self, name: &str, others_came: bool) {
        let claimants: Vec<String> = {
            let mut registry = lock(&self.registry);
            registry.files.remove(name);
            let Some((plugin, _)) = registry.plugin_of(name) else { return };
            let plugin = plugin.clone();
            let claimants = registry
                .files
                .iter()
                .filter(|(_, file)| file.file_state.candidate().is_some_and(|o| o.name() == plugin));
            let claimants: Vec<String> = claimants.map(|(file, _)| file.clone()).collect();
            if let Some(of) = registry.plugins.get_mut(&plugin) {
                let wait = if others_came { RENAMED_WITHIN } else { std::time::Duration::ZERO };
                of.orphaned = Some(Instant::now() + wait);
            }
            claimants
        };
        for file in claimants {
            self.evaluate(&file);
        }
        self.end_orphans();
    }

    /// Ends plugins whose file is gone, when none of the files that appeared with its removal can be the renamed file.
    pub(super) fn end_orphans(&mut self) {
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
    pub(super) fn end_others_of(&mut self, file: &str, plugin: &str) {
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
    pub(super) fn end(&mut self, name: &str) {
        let mut registry = lock(&self.registry);
        let Some(plugin) = registry.plugins.remove(name) else { return };
        // The version that was about to replace it needs its watches no longer.
        if let Some(file) = registry.files.get_mut(&plugin.file)
            && let FileState::Syncing { candidate, .. } = &file.file_state
        {
            file.file_state =
                FileState::Blocked { candidate: candidate.clone(), why: super::registry::BlockedReason::Draining };
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
            since: tokio::time::Instant::now(),
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

    /// A plugin has drained.
    pub(super) fn drained(&mut self, name: &str, held: Vec<(GroupVersionKind, usize)>) {
        self.shared.metrics.remove_plugin(name);
        let left: usize = {
            let mut registry = lock(&self.registry);
            let Some(removed) = registry.removed_plugins.get_mut(name) else { return };
            for (kind, objects) in held {
                *removed.held.entry(kind).or_default() += objects;
            }
            removed.state = State::Retired;
            let left = removed.held.values().sum();
            if removed.held.is_empty() {
                registry.removed_plugins.remove(name);
            }
            left
        };
        if left > 0 {
            tracing::warn!(
                plugin = name,
                objects = left,
                "objects keep the finalizer of a plugin that does not run, and cannot be deleted: put its file or its grant back, or \
                 run oarlock plugins --release-finalizers {name}"
            );
            let message = format!(
                "{left} objects keep the finalizer of plugin {name}, which does not run, and cannot be deleted: put its file or its \
                 grant back, or run oarlock plugins --release-finalizers {name}"
            );
            self.event(name, true, "FinalizersLeft", message);
        }
        self.evaluate_waiting();
    }
}
