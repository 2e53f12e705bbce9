//! Acceptance of a file's newest content: run it, hold it back, or swap it in.

use super::candidate::{CandidateVersion, Granting};
use super::loading::{Failed, Read};
use super::registry::{BlockedReason, Earlier, FileState, Plugin, Registry};
use super::{Lifecycle, lock};
use crate::api::GroupVersionKind;
use crate::controller::{Controller, Version};
use oarlock_manifest::PluginManifest;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The decision about a candidate.
enum Acceptance {
    /// The candidate runs already.
    Runs,
    /// The candidate has to wait.
    Block(BlockedReason),
    /// The candidate is to be swapped in.
    Take,
}

impl Lifecycle {
    pub(super) fn loaded(&mut self, name: &str, generation: u64, read: Result<Box<Read>, Failed>) {
        let (failed, withdrawn) = {
            let mut registry = lock(&self.registry);
            let Some(file) = registry.files.get_mut(name).filter(|file| file.generation == generation) else { return };
            file.task = None;
            match read {
                Ok(read) => {
                    let Read { candidate, earlier } = *read;
                    file.earlier = earlier;
                    file.file_state = FileState::Blocked { candidate, why: BlockedReason::Draining };
                    (false, None)
                }
                Err(Failed { name: plugin, reason, granting }) => {
                    file.file_state = FileState::Failed { name: plugin, reason };
                    (true, granting)
                }
            }
        };
        if failed {
            self.is_rolling_out(name, None);
        }
        if let Some(granting) = withdrawn {
            self.apply_grant_change(name, None, &granting);
        }
        self.evaluate(name);
        self.retirement.end_orphans();
    }

    /// Evaluates the newest content of a file, after its load or after a change that concerns it.
    pub(super) fn evaluate(&mut self, name: &str) {
        let Some(candidate) =
            lock(&self.registry).files.get(name).and_then(|file| file.file_state.candidate().cloned())
        else {
            return;
        };
        self.apply_grant_change(name, Some(&candidate), &candidate.granting);
        if self.is_rolling_out(name, Some(&candidate)) {
            return;
        }
        let decision = {
            let mut registry = lock(&self.registry);
            if let Some(owner) = taken_over_from(&registry, name, candidate.name()) {
                // The other file is gone, or at the start a file with an earlier name loaded more slowly. The plugin continues from this
                // file.
                if let Some(plugin) = registry.plugins.get_mut(candidate.name()) {
                    plugin.file = name.to_owned();
                    plugin.orphaned = None;
                    // The plugin does not inherit the memory and the code of the other file, because the grant states only a name.
                    plugin.cache = Arc::default();
                    plugin.last_good = None;
                }
                let why = BlockedReason::Taken(taken(name, &owner, candidate.name()));
                if let Some(file) = registry.files.get_mut(&owner)
                    && let Some(candidate) = file.file_state.candidate().cloned()
                {
                    file.file_state = FileState::Blocked { candidate, why };
                }
            }
            decide(&registry, name, &candidate)
        };
        match decision {
            Acceptance::Runs => lock(&self.registry).set_file_state(name, FileState::Runs(candidate)),
            Acceptance::Block(why) => lock(&self.registry).set_file_state(name, FileState::Blocked { candidate, why }),
            Acceptance::Take => self.take(name, candidate),
        }
    }

    /// Evaluates again the files that wait for the end of another plugin.
    pub(super) fn evaluate_waiting(&mut self) {
        let waiting: Vec<String> = {
            let registry = lock(&self.registry);
            let files = registry.files.iter().filter(|(_, file)| {
                matches!(
                    &file.file_state,
                    FileState::Blocked { why: BlockedReason::Taken(_) | BlockedReason::Draining, .. }
                )
            });
            files.map(|(name, _)| name.clone()).collect()
        };
        for name in waiting {
            self.evaluate(&name);
        }
    }

    /// Applies a reduced grant at once, also to the running version while a new version waits or failed. The running version continues
    /// with the new grant if that suffices; otherwise it ends. Where versions are rolled out, it keeps its configuration: another one is
    /// another version.
    ///
    /// * `candidate` - the new version, if the file contains one.
    fn apply_grant_change(&mut self, name: &str, candidate: Option<&CandidateVersion>, granting: &Granting) {
        let (plugin, running, kept) = {
            let registry = lock(&self.registry);
            let Some((plugin, of)) = registry.plugin_of(name) else { return };
            let Some(running) = &of.running else { return };
            let rolls_out = matches!(granting, Granting::Grant { grants, .. } if grants.rollout().is_some());
            let kept = if rolls_out { running.candidate.with_config(granting) } else { granting.clone() };
            if running.candidate.granting == kept || candidate.is_some_and(|candidate| candidate.name() != plugin) {
                return;
            }
            (plugin.clone(), running.candidate.clone(), kept)
        };
        let enough = match &kept {
            Granting::Nothing => false,
            Granting::Grant { grants, .. } => running.missing(grants).is_empty(),
        };
        if !enough {
            tracing::warn!(plugin, file = name, "grant withdrawn or reduced: the plugin ends");
            self.retirement.end(&plugin);
        } else if candidate.is_none_or(|candidate| candidate.digest() != running.digest() || candidate.granting != kept)
        {
            // With the same code and configuration, the change comes as a swap.
            self.swapper.regrant(&plugin, CandidateVersion { granting: kept, ..running });
        }
    }

    /// At the start of the host the version in a file comes first. If the upgrade of its definition is refused, the good version of before
    /// runs instead.
    pub(super) fn definition_refused(&mut self, plugin: &str, version: &Arc<Version>, why: String) {
        let mut locked = lock(&self.registry);
        let registry = &mut *locked;
        let Some(entry) = registry.plugins.get_mut(plugin).filter(|entry| entry.running.is_none()) else { return };
        let Some(file) = registry.files.get_mut(&entry.file) else { return };
        let FileState::Syncing { candidate, version: wanted, .. } = &file.file_state else { return };
        if !Arc::ptr_eq(wanted, version) {
            return;
        }
        let (name, candidate) = (entry.file.clone(), candidate.clone());
        let Some(good) = entry.last_good.take() else { return };
        tracing::warn!(plugin, why, "the good version of before runs instead of the version in the file");
        file.earlier = Some(Earlier { candidate: good, rejected: Some(why) });
        drop(locked);
        self.take(&name, candidate);
    }

    /// Opens the watches of a version, which becomes current when they are in sync.
    fn take(&mut self, name: &str, candidate: CandidateVersion) {
        let plugin = candidate.name().to_owned();
        if !self.options.answers_admission {
            const UNREACHABLE: &str = "the API server cannot call it: the host runs without --admission-service, --admission-url or --admission-addr";
            if !candidate.compiled.manifest.admission.is_empty() {
                tracing::warn!(plugin, "plugin answers admission, but {UNREACHABLE}");
            }
            // No fault yet: the definition may have a single version.
            if let definitions @ [_, ..] = &*candidate.conversions() {
                let definitions = definitions.join(", ");
                tracing::info!(plugin, definitions, "plugin can convert between versions, but {UNREACHABLE}");
            }
        }
        if let ungranted @ [_, ..] = &*super::definitions::ungranted(&candidate) {
            let (definitions, file) = (ungranted.join(", "), name);
            tracing::info!(
                plugin,
                definitions,
                file,
                "the file has definitions that its grant does not name: apply the output of oarlock inspect FILE --attachment definitions"
            );
        }
        let mut registry = lock(&self.registry);
        registry.plugins.entry(plugin.clone()).or_insert_with(|| Plugin {
            file: name.to_owned(),
            controller: Controller::new(&plugin, self.shared.clone(), self.notices.clone()),
            cache: Arc::default(),
            secrets: Arc::default(),
            running: None,
            rolling_out: None,
            last_good: None,
            rejected: None,
            left_behind: BTreeSet::new(),
            access: super::access::Access::default(),
            orphaned: None,
        });
        let mut candidate = candidate;
        let earlier = registry.files.get_mut(name).and_then(|file| file.earlier.take());
        if let Some(Earlier { candidate: earlier, rejected }) = earlier
            && let Some(entry) = registry.plugins.get_mut(&plugin).filter(|entry| entry.running.is_none())
        {
            match rejected {
                None if has_rollout(&candidate) => {
                    let later = std::mem::replace(&mut candidate, earlier);
                    if let Some(file) = registry.files.get_mut(name) {
                        file.later = Some(later);
                    }
                }
                None => entry.last_good = Some(earlier),
                Some(why) => {
                    let refused = std::mem::replace(&mut candidate, earlier);
                    if let Some(file) = registry.files.get_mut(name) {
                        file.refused = Some((refused, why));
                    }
                }
            }
        }
        let Some(entry) = registry.plugins.get_mut(&plugin) else { return };
        let Some(version) = self.swapper.prepare(entry, &candidate) else { return };
        let (task, installation) = self.swapper.when_synced(&entry.controller, &candidate, &version);
        drop(registry);
        lock(&self.registry).set_file_state(name, FileState::Syncing { candidate, version, installation });
        if let Some(file) = lock(&self.registry).files.get_mut(name) {
            file.task = Some(task);
        }
    }
}

/// Whether the grant states steps for new versions.
fn has_rollout(candidate: &CandidateVersion) -> bool {
    matches!(&candidate.granting, Granting::Grant { grants, .. } if grants.rollout().is_some())
}

/// The file that has the plugin at present, if the plugin should move to `file`.
fn taken_over_from(registry: &Registry, file: &str, plugin: &str) -> Option<String> {
    let owner = &registry.plugins.get(plugin)?.file;
    if owner == file {
        return None;
    }
    let gone = !registry.files.contains_key(owner);
    (gone || (registry.starting && file < owner.as_str())).then(|| owner.clone())
}

/// Why a file waits while another file has its plugin name.
fn taken(owner: &str, file: &str, plugin: &str) -> String {
    format!(
        "{owner} is plugin {plugin} already, and runs: remove one of them, or state another `name` in the grant of {file}"
    )
}

fn decide(registry: &Registry, file: &str, candidate: &CandidateVersion) -> Acceptance {
    let name = candidate.name();
    if registry.removed_plugins.get(name).is_some_and(|removed| removed.state == super::State::Draining) {
        return Acceptance::Block(BlockedReason::Draining);
    }
    let plugin = registry.plugins.get(name);
    if let Some(other) = plugin.filter(|plugin| plugin.file != file) {
        return Acceptance::Block(BlockedReason::Taken(taken(&other.file, file, name)));
    }
    if let Some(running) = plugin.and_then(|plugin| plugin.running.as_ref())
        && running.candidate.is(candidate)
        && !running.failed
    {
        return Acceptance::Runs;
    }
    if let Some(why) = status_is_taken(registry, &candidate.manifest()) {
        return Acceptance::Block(BlockedReason::Taken(why));
    }
    if let Some(why) = conversion_is_taken(registry, candidate) {
        return Acceptance::Block(BlockedReason::Taken(why));
    }
    match &candidate.granting {
        Granting::Nothing => return Acceptance::Block(BlockedReason::NoGrant),
        Granting::Grant { missing, .. } if !missing.is_empty() => {
            return Acceptance::Block(BlockedReason::Missing(missing.clone()));
        }
        Granting::Grant { .. } => {}
    }
    let Some(plugin) = plugin else { return Acceptance::Take };
    let confirmed = registry.files.get(file).and_then(|file| file.confirmed.as_ref());
    if confirmed.is_some_and(|confirmed| confirmed.is(candidate)) {
        return Acceptance::Take;
    }
    if let Some((rejected, why)) = &plugin.rejected
        // A person went back from the code, whatever its grant is.
        && (rejected.is(candidate) || why.starts_with(super::undo::UNDONE) && rejected.digest() == candidate.digest())
    {
        return Acceptance::Block(BlockedReason::RolledBack(why.clone()));
    }
    let current = plugin.controller.current();
    let dropped = current.and_then(|current| drops(&current, &candidate.manifest()));
    match dropped.or_else(|| registry.drops_conversion(&plugin.controller, candidate)) {
        Some((drops, objects)) => Acceptance::Block(BlockedReason::Confirmation { drops, objects }),
        None => Acceptance::Take,
    }
}

/// Refuses the second of two plugins that manage the status of the same kind.
fn status_is_taken(registry: &Registry, manifest: &PluginManifest) -> Option<String> {
    if !manifest.manage_status {
        return None;
    }
    let others = registry.plugins.iter().filter(|(name, _)| **name != manifest.name);
    for (other, plugin) in others {
        let theirs = plugin.running.as_ref().map(|running| running.candidate.manifest());
        let theirs = theirs.or_else(|| {
            let file_state = registry.files.get(&plugin.file).and_then(|file| file.file_state.candidate());
            file_state.map(super::candidate::CandidateVersion::manifest)
        });
        let Some(theirs) = theirs.filter(|theirs| theirs.manage_status) else { continue };
        let kinds: BTreeSet<_> = theirs.primaries.iter().map(|p| p.gvk()).collect();
        if let Some(kind) = manifest.primaries.iter().map(|p| p.gvk()).find(|kind| kinds.contains(kind)) {
            let gvk = GroupVersionKind::new(kind.group, kind.version, kind.kind);
            return Some(format!("plugin {other} keeps the status of {gvk} already (manageStatus); only one can"));
        }
    }
    None
}

/// Refuses the second of two plugins that convert for the same definition.
fn conversion_is_taken(registry: &Registry, candidate: &CandidateVersion) -> Option<String> {
    let converters = registry.plugins.iter().filter(|(name, _)| **name != *candidate.name());
    converters.filter_map(|(_, plugin)| plugin.controller.converter()).find_map(|converter| {
        let definition = candidate.conversions().into_iter().find(|name| converter.definitions().contains(name))?;
        Some(format!("plugin {} already converts for {definition}; only one can", converter.plugin()))
    })
}

/// Features that a new manifest drops although objects of the current version depend on them, and the number of these objects.
pub(super) fn drops(current: &Arc<Version>, new: &PluginManifest) -> Option<(String, usize)> {
    let old = &current.loaded().manifest;
    let kinds: BTreeSet<_> = new.primaries.iter().map(|p| p.gvk()).collect();
    let dropped: BTreeSet<_> = old.primaries.iter().map(|p| p.gvk()).filter(|kind| !kinds.contains(kind)).collect();
    let held = current.held();
    let count = |wanted: &dyn Fn(&GroupVersionKind) -> bool| {
        held.iter().filter(|(kind, _)| wanted(kind)).map(|(_, keys)| keys.len()).sum::<usize>()
    };
    if old.cleanup && !new.cleanup {
        return Some(("cleanup".to_owned(), count(&|_| true)));
    }
    if dropped.is_empty() {
        return None;
    }
    let dropped: Vec<GroupVersionKind> =
        dropped.into_iter().map(|kind| GroupVersionKind::new(kind.group, kind.version, kind.kind)).collect();
    let objects = if old.cleanup {
        count(&|kind| dropped.contains(kind))
    } else {
        dropped.iter().map(|kind| current.objects_of(kind)).sum()
    };
    let names: Vec<String> = dropped.iter().map(ToString::to_string).collect();
    Some((format!("the primary {}", names.join(", ")), objects))
}
