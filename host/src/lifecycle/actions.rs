//! Actions that people request: confirm a version that drops features, and release leftover finalizers.

use super::lock;
use super::registry::{BlockedReason, FileState, Registry, State};
use crate::api::GroupVersionKind;
use crate::apply::{Finalizers, WriteIdentity};
use crate::grants::Grants;
use std::sync::{Arc, Mutex};
use tokio::sync::oneshot;

/// An action on a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Run the version that waits for confirmation because it drops features, or that was rolled back, or end the conversions of a plugin that was removed.
    Confirm(String),
    /// Remove the plugin's finalizer from every object that no version of the plugin cleans up any more.
    ReleaseFinalizers(String),
}

/// Marks the version that waits for a confirmation as confirmed. Returns its file, and a line for people.
pub(super) fn confirm(registry: &mut Registry, name: &str) -> Result<(String, String), String> {
    let file = registry.files.iter_mut().find_map(|(file_name, file)| match &file.file_state {
        FileState::Blocked { candidate, why: BlockedReason::Confirmation { drops, .. } }
            if candidate.name() == name =>
        {
            let said = format!("version {} of plugin {name} may drop {drops}", candidate.compiled.manifest.version);
            file.confirmed = Some(candidate.clone());
            Some((file_name.clone(), said))
        }
        FileState::Blocked { candidate, why: BlockedReason::RolledBack(_) } if candidate.name() == name => {
            let said = format!("version {} of plugin {name} runs again", candidate.compiled.manifest.version);
            file.confirmed = Some(candidate.clone());
            Some((file_name.clone(), said))
        }
        _ => None,
    });
    file.ok_or_else(|| format!("no version of plugin {name} waits for a confirmation, or was rolled back"))
}

/// Removes the plugin's finalizer from the objects that no version of the plugin cleans up any more, in a task that answers at its end.
pub(super) fn release_finalizers(
    registry: Arc<Mutex<Registry>>,
    finalizers: Finalizers,
    name: String,
    answer: oneshot::Sender<Result<String, String>>,
) {
    let kinds = match kinds_to_release(&lock(&registry), &name) {
        Ok(kinds) => kinds,
        Err(why) => {
            let _ = answer.send(Err(why));
            return;
        }
    };
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
                    let _ =
                        answer.send(Err(format!("finalizers of {released} objects released, then {kind} failed: {e}")));
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
            registry.removed_plugins.retain(|_, removed| removed.state != State::Retired || !removed.held.is_empty());
        }
        tracing::info!(plugin = name, objects = released, "finalizers released");
        let _ = answer.send(Ok(format!("finalizer {} released from {released} objects", write_identity.finalizer())));
    });
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
        None => Err(format!(
            "no plugin {name} left finalizers since this host started; the finalizer of an earlier host, oarlock.dev/{name}, can \
             be removed by hand"
        )),
    }
}
