//! Swap and rollback of versions: first the watches sync, then the pointer moves, then the previous version drains.

use super::access::AccessChecker;
use super::candidate::{CandidateVersion, Granting};
use super::definitions::{DefinitionInstaller, Installation};
use super::host_events::HostEvents;
use super::registry::{BlockedReason, FileState, Plugin, Registry, Running, Task};
use super::saved_versions::{Revision, SavedVersions};
use super::undo::UNDONE;
use super::{DRAIN, Message, lock};
use crate::controller::{Controller, Loaded, Version};
use crate::grants::{Grants, difference};
use crate::metrics::Metrics;
use crate::plugin::cache::Cache;
use crate::plugin::{Guest, HttpGate};
use crate::secrets::KnownSecrets;
use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;
use tokio::time::Instant;

impl Plugin {
    /// Moves the pointer to the version.
    pub(super) fn switch(&mut self, candidate: CandidateVersion, version: &Arc<Version>, forward: bool) {
        if let Some(running) = self.running.as_ref().filter(|running| running.candidate.digest() == candidate.digest())
        {
            tell_of_grant(self.controller.name(), &running.candidate.granting, &candidate.granting);
        }
        if forward {
            // A standby proves no version. There the previous version counts as good, because the leader could prove it.
            let counts = self.last_good.is_none() || !self.controller.leads();
            if let Some(running) = self.running.take()
                && !running.failed
                && (running.proven || counts)
                && !running.candidate.is(&candidate)
            {
                self.last_good = Some(running.candidate);
            }
            self.rejected = None;
        } else {
            self.last_good = None;
        }
        for warning in version.dead_mappings() {
            tracing::warn!(plugin = self.controller.name(), "{warning}");
        }
        let digest = candidate.digest().to_owned();
        let may_go_back = self.last_good.is_some();
        if let Some(before) = self.controller.switch(version, !forward) {
            self.left_behind.extend(left_behind(&before, version));
            if before.loaded().component.digest != digest {
                tracing::info!(
                    plugin = self.controller.name(),
                    from = before.loaded().manifest.version,
                    to = version.loaded().manifest.version,
                    digest,
                    may_go_back,
                    "version swapped"
                );
            }
            self.controller.retire(before, DRAIN);
        }
        self.running =
            Some(Running { candidate, proven: false, promoted: false, failed: false, switched: Instant::now() });
    }
}

/// The grants and imports of a plugin's instances.
pub(super) fn guest(
    name: &str,
    grants: &Grants,
    (cache, secrets): (&Arc<Cache>, &Arc<KnownSecrets>),
    http: &HttpGate,
    metrics: &Metrics,
) -> Guest {
    secrets.learn_values(grants.secrets().filter_map(|key| grants.config().get(key)));
    Guest {
        plugin: name.to_owned(),
        grants: Arc::new(grants.clone()),
        cache: Arc::clone(cache),
        secrets: Arc::clone(secrets),
        http: http.clone(),
        metrics: metrics.plugin(name),
    }
}

/// Swaps the versions of plugins.
#[derive(Debug)]
pub(super) struct Swapper {
    /// None: good versions are not saved.
    pub(super) saved: Option<SavedVersions>,
    pub(super) registry: Arc<Mutex<Registry>>,
    pub(super) http: HttpGate,
    pub(super) metrics: Metrics,
    pub(super) access: AccessChecker,
    pub(super) definitions: DefinitionInstaller,
    pub(super) events: HostEvents,
    pub(super) messages: mpsc::UnboundedSender<Message>,
}

impl Swapper {
    /// Opens the watches of a candidate and checks its RBAC permissions. None: the candidate has no grant.
    pub(super) fn prepare(&self, plugin: &mut Plugin, candidate: &CandidateVersion) -> Option<Arc<Version>> {
        let Granting::Grant { grants, .. } = &candidate.granting else { return None };
        let guest = guest(candidate.name(), grants, (&plugin.cache, &plugin.secrets), &self.http, &self.metrics);
        let component = candidate.compiled.component.clone();
        self.access.check(&mut plugin.access, candidate);
        Some(plugin.controller.prepare(Loaded { manifest: candidate.manifest(), component, guest }))
    }

    /// Sends a message when the definitions of a version are installed and its watches in sync.
    pub(super) fn when_synced(
        &self,
        controller: &Arc<Controller>,
        candidate: &CandidateVersion,
        version: &Arc<Version>,
    ) -> (Task, Installation) {
        let (candidate, version, messages) = (candidate.clone(), Arc::clone(version), self.messages.clone());
        let (definitions, installation) = (self.definitions.clone(), Installation::default());
        let (progress, controller) = (installation.clone(), Arc::clone(controller));
        let task = tokio::spawn(async move {
            let refused = |why| {
                let plugin = candidate.name().to_owned();
                let _ = messages.send(Message::DefinitionRefused { plugin, version: Arc::clone(&version), why });
            };
            definitions.install(&candidate, (&controller, &version), &progress, refused).await;
            version.wait_until_synced().await;
            let _ = messages.send(Message::Synced { plugin: candidate.name().to_owned(), version });
        });
        (Task(task.abort_handle()), installation)
    }

    /// The watches of a version are in sync: it becomes current, if the file still holds it. Returns the file of the new current version.
    pub(super) fn synced(&self, name: &str, version: &Arc<Version>) -> Option<String> {
        let mut registry = lock(&self.registry);
        let plugin = registry.plugins.get(name)?;
        let file_name = plugin.file.clone();
        let candidate = registry.files.get(&file_name).and_then(|file| match &file.file_state {
            FileState::Syncing { candidate, version: wanted, .. } if Arc::ptr_eq(wanted, version) => {
                Some(candidate.clone())
            }
            _ => None,
        })?;
        let confirmed = registry
            .files
            .get(&file_name)
            .and_then(|file| file.confirmed.as_ref())
            .is_some_and(|confirmed| confirmed.is(&candidate));
        let plugin = registry.plugins.get_mut(name)?;
        let out_of_sight = plugin.controller.current().map_or(0, |current| out_of_sight(&current, version));
        if out_of_sight > 0 && !confirmed {
            let drops = "objects by its selectors or namespaces".to_owned();
            let why = BlockedReason::Confirmation { drops, objects: out_of_sight };
            registry.set_file_state(&file_name, FileState::Blocked { candidate, why });
            return None;
        }
        // A person who goes back wants the earlier version at once.
        let goes_back = registry.files.get(&file_name).is_some_and(|file| file.refused.is_some());
        let plugin = registry.plugins.get_mut(name)?;
        if let Some(steps) = plugin.steps(&candidate).filter(|_| !goes_back) {
            plugin.begin_rollout(&candidate, version, &steps);
            if let Some(file) = registry.files.get_mut(&file_name) {
                (file.task, file.confirmed, file.file_state) = (None, None, FileState::RollingOut(candidate));
            }
            return None;
        }
        plugin.switch(candidate.clone(), version, true);
        let mut refused = None;
        if let Some(file) = registry.files.get_mut(&file_name) {
            file.task = None;
            file.confirmed = None;
            file.file_state = match (file.refused.take(), file.later.take()) {
                (None, None) => FileState::Runs(candidate),
                // Evaluated again by the caller.
                (None, Some(candidate)) => FileState::Blocked { candidate, why: BlockedReason::Draining },
                (Some((candidate, why)), _) => {
                    refused = Some((candidate.clone(), why.clone()));
                    FileState::Blocked { candidate, why: BlockedReason::RolledBack(why) }
                }
            };
        }
        if let Some(plugin) = registry.plugins.get_mut(name).filter(|_| refused.is_some()) {
            plugin.rejected = refused;
            // Nothing goes back to the version that was refused.
            plugin.last_good = None;
        }
        self.remember(&registry, name, false);
        Some(file_name)
    }

    /// Gives the running version another grant while a new version waits.
    pub(super) fn regrant(&self, name: &str, candidate: CandidateVersion) {
        let mut registry = lock(&self.registry);
        let Some(plugin) = registry.plugins.get_mut(name) else { return };
        // The watches are open already; only the permissions change.
        let Some(version) = self.prepare(plugin, &candidate) else { return };
        // A person who went back from a version did not mean its grant.
        let undone = plugin.rejected.take().filter(|(_, why)| why.starts_with(UNDONE));
        plugin.switch(candidate, &version, true);
        plugin.rejected = undone;
        self.remember(&registry, name, false);
    }

    pub(super) fn first_reconcile(&self, name: &str, digest: &str, struck: bool) {
        let registry = lock(&self.registry);
        let running = registry.plugins.get(name).and_then(|plugin| plugin.running.as_ref());
        if let Some(running) = running.filter(|running| running.candidate.digest() == digest) {
            let after_ms = crate::milliseconds(running.switched.elapsed());
            let version = &running.candidate.compiled.manifest.version;
            tracing::debug!(plugin = name, version, digest, after_ms, "first reconcile on this version");
        }
        if !struck {
            self.save(&registry, name, digest, true);
        }
    }

    /// Saves the running version as the good one, in the background.
    ///
    /// * `only_if_none` - keep an earlier good version.
    fn save(&self, registry: &Registry, name: &str, digest: &str, only_if_none: bool) {
        let Some(saved) = self.saved.clone() else { return };
        let file = registry.plugins.get(name).and_then(|plugin| registry.files.get(&plugin.file));
        let Some(file) = file.map(|file| file.found.candidate.clone()) else { return };
        let (plugin, digest) = (name.to_owned(), digest.to_owned());
        tokio::task::spawn_blocking(move || {
            // A newer file may have replaced it already.
            let wasm = file.read().ok().filter(|wasm| HEXLOWER.encode(&Sha256::digest(wasm)) == digest);
            if let Err(error) = saved.good(&plugin, &file.file_name, &digest, wasm, only_if_none) {
                tracing::warn!(plugin, %error, "the good version could not be saved for a rollback after a restart");
            }
        });
    }

    /// Adds the version that runs to the plugin's revisions, in the background.
    ///
    /// * `good` - a restart goes on with it, also before it has proven itself.
    pub(super) fn remember(&self, registry: &Registry, name: &str, good: bool) {
        let (Some(saved), Some(plugin)) = (self.saved.clone(), registry.plugins.get(name)) else { return };
        let Some(running) = &plugin.running else { return };
        let Granting::Grant { grant, .. } = &running.candidate.granting else { return };
        let revision = Revision {
            version: running.candidate.compiled.manifest.version.clone(),
            digest: running.candidate.digest().to_owned(),
            since: oarlock_simulation::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            grant: serde_json::to_value(grant).unwrap_or_default(),
            ..Revision::default()
        };
        let Some(file) = registry.files.get(&plugin.file).map(|file| file.found.candidate.clone()) else { return };
        let plugin = name.to_owned();
        tokio::task::spawn_blocking(move || {
            let digest = revision.digest.clone();
            // A newer file may have replaced it already.
            let wasm = || file.read().ok().filter(|wasm| HEXLOWER.encode(&Sha256::digest(wasm)) == digest);
            if let Err(error) = saved.ran(&plugin, &file.file_name, revision, good, wasm) {
                tracing::warn!(plugin, %error, "the version could not be saved for a return to it");
            }
        });
    }

    /// Forgets that the version in the file was rolled back.
    pub(super) fn forgive(&self, name: &str) {
        if let Some(saved) = &self.saved
            && let Err(error) = saved.forgive(name)
        {
            tracing::warn!(plugin = name, %error, "the record of a rollback stays");
        }
    }

    /// Forgets the saved version of a plugin that was removed.
    pub(super) fn forget_saved(&self, name: &str) {
        if let Some(saved) = &self.saved {
            saved.removed(name);
        }
    }

    pub(super) fn proven(&self, name: &str, digest: &str) {
        let mut registry = lock(&self.registry);
        let Some(plugin) = registry.plugins.get_mut(name) else { return };
        if let Some(running) = plugin.running.as_mut().filter(|running| running.candidate.digest() == digest) {
            running.proven = true;
            plugin.last_good = None;
        }
        self.save(&registry, name, digest, false);
    }

    /// Rolls back to the last good version, once, because the version fails its probation.
    pub(super) fn failing(&self, name: &str, digest: &str, why: &str) {
        let mut registry = lock(&self.registry);
        let Some(plugin) = registry.plugins.get_mut(name) else { return };
        let Some(running) = plugin.running.as_mut().filter(|running| running.candidate.digest() == digest) else {
            return;
        };
        running.failed = true;
        if let Some(saved) = &self.saved {
            saved.not_good(name, digest);
        }
        let failed = running.candidate.clone();
        let Some(good) = plugin.last_good.clone() else {
            let version = failed.compiled.manifest.version;
            tracing::warn!(
                plugin = name,
                version,
                why,
                "version fails, and there is no earlier version for a rollback"
            );
            return;
        };
        let Some(version) = self.prepare(plugin, &good) else { return };
        // The watches are those of a version that ran a moment ago, or are filled while it runs.
        let (bad, back) = (failed.compiled.manifest.version.clone(), good.compiled.manifest.version.clone());
        plugin.rejected = Some((failed.clone(), why.to_owned()));
        let rejected = plugin.rejected.clone();
        plugin.switch(good, &version, false);
        plugin.rejected = rejected;
        let file_name = plugin.file.clone();
        self.remember(&registry, name, false);
        if let Some(file) = registry.files.get_mut(&file_name)
            && matches!(&file.file_state, FileState::Runs(candidate) if candidate.is(&failed))
        {
            file.file_state = FileState::Blocked { candidate: failed, why: BlockedReason::RolledBack(why.to_owned()) };
        }
        drop(registry);
        if let Some(saved) = &self.saved
            && let Err(error) = saved.rejected(name, &file_name, (digest, None), why)
        {
            tracing::warn!(plugin = name, %error, "the rollback could not be recorded for a restart");
        }
        tracing::warn!(plugin = name, from = bad, to = back, why, "version rolled back");
        let message = format!("version {bad} of plugin {name} was rolled back to {back}: {why}");
        self.events.record(name, true, "RolledBack", message);
    }
}

/// Logs the permissions that a changed grant adds and removes.
fn tell_of_grant(plugin: &str, before: &Granting, now: &Granting) {
    let (Granting::Grant { grant: before, .. }, Granting::Grant { grant: now, .. }) = (before, now) else { return };
    for line in difference(before, now) {
        tracing::info!(plugin, "grant changed: {line}");
    }
}

/// The number of objects with the plugin's finalizer, of kinds that both versions reconcile, that the new version does not see.
fn out_of_sight(current: &Version, new: &Version) -> usize {
    let held = current.held();
    let of_both = held.iter().filter(|(kind, _)| new.reconciles(kind));
    of_both.map(|(kind, keys)| keys.iter().filter(|key| !new.sees(kind, key)).count()).sum()
}

/// Kinds that the previous version cleaned up and the new one does not.
fn left_behind(before: &Version, new: &Version) -> BTreeSet<crate::api::GroupVersionKind> {
    if !before.loaded().manifest.cleanup {
        return BTreeSet::new();
    }
    let cleans = new.loaded().manifest.cleanup;
    let kinds = before.kinds().into_iter();
    kinds.filter(|kind| !cleans || !new.reconciles(kind)).collect()
}
