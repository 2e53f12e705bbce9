//! Actions that people request: confirm a version that drops features, and release leftover finalizers.

use super::registry::{BlockedReason, FileState, Registry, State};
use super::{Lifecycle, lock};
use crate::api::GroupVersionKind;
use crate::apply::WriteIdentity;
use crate::apply::events::Event;
use crate::grants::Grants;
use std::sync::Arc;
use tokio::sync::oneshot;

/// An action on a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Run the version that waits for confirmation because it drops features.
    Confirm(String),
    /// Remove the plugin's finalizer from every object that no version of the plugin cleans up any more.
    ReleaseFinalizers(String),
}

impl Lifecycle {
    pub(super) fn act(&mut self, action: Action, answer: oneshot::Sender<Result<String, String>>) {
        match action {
            Action::Confirm(name) => {
                let done = self.confirm(&name);
                // The requesting client may have closed its connection.
                let _ = answer.send(done);
            }
            Action::ReleaseFinalizers(name) => self.release(name, answer),
        }
    }

    fn confirm(&mut self, name: &str) -> Result<String, String> {
        let waiting = {
            let mut registry = lock(&self.registry);
            let file = registry.files.iter_mut().find_map(|(file_name, file)| match &file.file_state {
                FileState::Blocked { candidate, why: BlockedReason::Confirmation { drops, .. } }
                    if candidate.name() == name =>
                {
                    let said =
                        format!("version {} of plugin {name} may drop {drops}", candidate.compiled.manifest.version);
                    file.confirmed = Some(candidate.clone());
                    Some((file_name.clone(), said))
                }
                _ => None,
            });
            file.ok_or_else(|| format!("no version of plugin {name} waits for a confirmation"))?
        };
        let (file, said) = waiting;
        self.evaluate(&file);
        Ok(said)
    }

    fn release(&self, name: String, answer: oneshot::Sender<Result<String, String>>) {
        let kinds = match kinds_to_release(&lock(&self.registry), &name) {
            Ok(kinds) => kinds,
            Err(why) => {
                let _ = answer.send(Err(why));
                return;
            }
        };
        let (finalizers, registry) = (self.shared.writer.finalizers().clone(), Arc::clone(&self.registry));
        tokio::spawn(async move {
            let write_identity = WriteIdentity::new(&name, Arc::new(Grants::none()));
            let mut released = 0;
            for kind in &kinds {
                // The plugin's file may be put back at any time; from then on the plugin owns its objects again.
                let is_back = || match lock(&registry).plugins.get(&name) {
                    None => false,
                    Some(plugin) => plugin.controller.current().is_none_or(|version| version.cleans_up(kind)),
                };
                match finalizers.release(&write_identity, kind, &is_back).await {
                    Ok(objects) => released += objects,
                    Err(e) => {
                        let _ = answer
                            .send(Err(format!("finalizers of {released} objects released, then {kind} failed: {e}")));
                        return;
                    }
                }
                let mut registry = lock(&registry);
                if let Some(removed) = registry.removed_plugins.get_mut(&name) {
                    removed.held.remove(kind);
                }
                if let Some(plugin) = registry.plugins.get_mut(&name) {
                    plugin.left_behind.remove(kind);
                }
                registry
                    .removed_plugins
                    .retain(|_, removed| removed.state != State::Retired || !removed.held.is_empty());
            }
            tracing::info!(plugin = name, objects = released, "finalizers released");
            let _ =
                answer.send(Ok(format!("finalizer {} released from {released} objects", write_identity.finalizer())));
        });
    }

    /// Records an event on the host's own object.
    pub(super) fn event(&self, plugin: &str, warning: bool, reason: &str, message: String) {
        let event = Event { warning, reason: reason.to_owned(), message };
        self.shared.recorder.record(&WriteIdentity::host(), &self.options.host_object.part(plugin), event);
    }
}

fn kinds_to_release(registry: &Registry, name: &str) -> Result<Vec<GroupVersionKind>, String> {
    if let Some(plugin) = registry.plugins.get(name) {
        let served = plugin.controller.current();
        let serves = |kind: &GroupVersionKind| served.as_ref().is_some_and(|version| version.cleans_up(kind));
        let kinds: Vec<_> = plugin.left_behind.iter().filter(|kind| !serves(kind)).cloned().collect();
        if kinds.is_empty() {
            return Err(format!(
                "plugin {name} runs and cleans up after its objects itself: delete them, or remove its file first"
            ));
        }
        return Ok(kinds);
    }
    match registry.removed_plugins.get(name) {
        Some(removed) if removed.state == State::Retired => Ok(removed.held.keys().cloned().collect()),
        Some(_) => Err(format!("plugin {name} is still draining: try again in some seconds")),
        None => Err(format!("no plugin {name} has left finalizers since this host started")),
    }
}
