//! Rollouts of new versions: their begin, promotion and end. The controller runs the steps.

use super::candidate::{CandidateVersion, Granting};
use super::registry::{BlockedReason, FileState, Plugin, Registry};
use super::swapper::Swapper;
use super::undo::{UNDONE, undone_on_the_leader};
use super::{Lifecycle, lock};
use crate::controller::{RolloutEvent, Version};
use crate::grants::RolloutSteps;
use std::sync::Arc;

/// A version beside the one that runs.
#[derive(Debug)]
pub(super) struct RollingOut {
    pub(super) candidate: CandidateVersion,
    version: Arc<Version>,
    /// Every step went well.
    passed: bool,
}

impl Plugin {
    /// The steps by which a candidate replaces the version that runs. None: at once.
    ///
    /// Only new code and a new configuration are rolled out. A change of the permissions takes effect at once, and so does the successor of a
    /// version that failed.
    pub(super) fn steps(&self, candidate: &CandidateVersion) -> Option<RolloutSteps> {
        let Granting::Grant { grants, .. } = &candidate.granting else { return None };
        let running = self.running.as_ref().filter(|running| !running.failed)?;
        let same_config = match &running.candidate.granting {
            Granting::Grant { grants: before, .. } => before.config() == grants.config(),
            Granting::Nothing => false,
        };
        let same = running.candidate.digest() == candidate.digest() && same_config;
        grants.rollout().filter(|_| !same).cloned()
    }

    /// Begins the rollout of a version whose watches are in sync.
    pub(super) fn begin_rollout(&mut self, candidate: &CandidateVersion, version: &Arc<Version>, steps: &RolloutSteps) {
        let (version, candidate) = (Arc::clone(version), candidate.clone());
        self.controller.begin_rollout(&version, steps);
        self.rolling_out = Some(RollingOut { candidate, version, passed: false });
    }
}

impl Swapper {
    /// Makes the candidate of a rollout the version that runs. Returns its version, for people.
    ///
    /// * `by_hand` - also before the steps went well.
    pub(super) fn promote(&self, registry: &mut Registry, name: &str, by_hand: bool) -> Result<String, String> {
        let nothing = || format!("plugin {name} has no rollout");
        let plugin = registry.plugins.get_mut(name).ok_or_else(nothing)?;
        let file = registry.files.get_mut(&plugin.file).ok_or_else(nothing)?;
        let rolling = plugin.rolling_out.as_ref().filter(|rolling| by_hand || rolling.passed).ok_or_else(nothing)?;
        // While a newer content of the file loads, the candidate's turn may be over.
        if !matches!(&file.file_state, FileState::RollingOut(candidate) if candidate.is(&rolling.candidate)) {
            return Err(format!("the file of plugin {name} has changed since the rollout began"));
        }
        let Some(RollingOut { candidate, version, .. }) = plugin.rolling_out.take() else { return Err(nothing()) };
        plugin.switch(candidate.clone(), &version, true);
        if let Some(running) = plugin.running.as_mut() {
            running.promoted = true;
        }
        let promoted = candidate.compiled.manifest.version.clone();
        file.file_state = FileState::Runs(candidate);
        drop(version);
        // Its steps went well, or a person decided.
        self.remember(registry, name, true);
        self.metrics.plugin(name).rollout_ended(true);
        let by = if by_hand { "by hand" } else { "after its last step" };
        tracing::info!(plugin = name, version = promoted, by, "rollout promoted");
        self.events.record(
            name,
            false,
            "RolloutPromoted",
            format!("version {promoted} of plugin {name} was promoted {by}"),
        );
        Ok(promoted)
    }

    /// Aborts a rollout: its keys return to the version that runs. The host does not try the candidate again.
    pub(super) fn abort(&self, registry: &mut Registry, name: &str, why: &str) -> Result<String, String> {
        let nothing = || format!("plugin {name} has no rollout");
        let plugin = registry.plugins.get_mut(name).ok_or_else(nothing)?;
        let RollingOut { candidate, .. } = plugin.rolling_out.take().ok_or_else(nothing)?;
        plugin.controller.end_rollout();
        plugin.rejected = Some((candidate.clone(), why.to_owned()));
        let (file_name, version) = (plugin.file.clone(), candidate.compiled.manifest.version.clone());
        let runs_the_same = plugin.running.as_ref().is_some_and(|of| of.candidate.digest() == candidate.digest());
        let (digest, config) = candidate.published();
        if let Some(file) = registry.files.get_mut(&file_name)
            && matches!(&file.file_state, FileState::RollingOut(of) if of.is(&candidate))
        {
            file.file_state = FileState::Blocked { candidate, why: BlockedReason::RolledBack(why.to_owned()) };
        }
        // Otherwise the record of a configuration would reject the version that runs.
        let rejected = (&*digest, runs_the_same.then_some(&*config));
        if let Some(saved) = &self.saved
            && let Err(error) = saved.rejected(name, &file_name, rejected, why)
        {
            tracing::warn!(plugin = name, %error, "the aborted rollout could not be recorded for a restart");
        }
        self.metrics.plugin(name).rollout_ended(false);
        tracing::warn!(plugin = name, version, why, "rollout aborted");
        let message = format!("the rollout of version {version} of plugin {name} was aborted: {why}");
        self.events.record(name, true, "RolloutAborted", message);
        Ok(version)
    }
}

impl Lifecycle {
    /// Whether the file's newest content is in a rollout, which goes on. The rollout of another content ends.
    pub(super) fn is_rolling_out(&self, file: &str, candidate: Option<&CandidateVersion>) -> bool {
        let mut registry = lock(&self.registry);
        let Some((name, plugin)) = registry.plugin_of(file) else { return false };
        let Some(rolling) = &plugin.rolling_out else { return false };
        let name = name.clone();
        if let Some(candidate) = candidate.filter(|candidate| candidate.is(&rolling.candidate)) {
            registry.set_file_state(file, FileState::RollingOut(candidate.clone()));
            // It may have passed meanwhile.
            let _ = self.swapper.promote(&mut registry, &name, false);
            return true;
        }
        let version = rolling.candidate.compiled.manifest.version.clone();
        if let Some(plugin) = registry.plugins.get_mut(&name) {
            plugin.controller.end_rollout();
            plugin.rolling_out = None;
        }
        drop(registry);
        tracing::info!(plugin = name, version, "rollout ended: the file or its grant has changed");
        let message =
            format!("the rollout of version {version} of plugin {name} ended: the file or its grant has changed");
        self.events.record(&name, false, "RolloutReplaced", message);
        false
    }

    pub(super) fn rollout_event(&self, name: &str, digest: &str, event: RolloutEvent) {
        let mut registry = lock(&self.registry);
        let Some(plugin) = registry.plugins.get_mut(name) else { return };
        let Some(rolling) = plugin.rolling_out.as_mut().filter(|of| of.candidate.digest() == digest) else { return };
        let version = rolling.candidate.compiled.manifest.version.clone();
        match event {
            RolloutEvent::Step(words) => {
                tracing::info!(plugin = name, version, "rollout: {words}");
                self.events.record(name, false, "RolloutStep", format!("version {version} of plugin {name}: {words}"));
            }
            RolloutEvent::AwaitingApproval(why) => {
                // The reporter records the event.
                tracing::info!(plugin = name, version, why, "rollout waits for an approval");
            }
            RolloutEvent::Passed => {
                rolling.passed = true;
                // An error means that the file changed: the rollout of its new content follows.
                let _ = self.swapper.promote(&mut registry, name, false);
            }
            RolloutEvent::Failed(why) => {
                let _ = self.swapper.abort(&mut registry, name, &why);
            }
        }
    }

    /// Publishes the gauges of the rollouts.
    pub(super) fn publish_rollouts(&self) {
        for (_, plugin) in lock(&self.registry).plugins.iter().filter(|(_, plugin)| plugin.rolling_out.is_some()) {
            plugin.controller.publish_rollout();
        }
    }

    /// On a standby: the version that the leader runs. It promotes the candidate of a rollout, and rolls out again what was aborted before.
    pub(super) fn follow_the_leader(&mut self) {
        let again: Vec<(String, String)> = {
            let mut locked = lock(&self.registry);
            let registry = &mut *locked;
            let promoted = |plugin: &Plugin| {
                plugin.rolling_out.as_ref().is_some_and(|rolling| runs_elsewhere(plugin, &rolling.candidate))
            };
            let names: Vec<String> =
                registry.plugins.iter().filter(|(_, plugin)| promoted(plugin)).map(|(name, _)| name.clone()).collect();
            for name in names {
                let _ = self.swapper.promote(registry, &name, true);
            }
            let files = registry.files.iter_mut().filter_map(|(file_name, file)| {
                let FileState::Blocked { candidate, why: BlockedReason::RolledBack(why) } = &file.file_state else {
                    return None;
                };
                // Of an undo on this host the leader knows nothing.
                let undone_here = why.starts_with(UNDONE) && *why != undone_on_the_leader();
                let plugin = registry.plugins.get(candidate.name()).filter(|_| !undone_here)?;
                // Without steps nobody decided that this version is good.
                plugin.steps(candidate).filter(|_| runs_elsewhere(plugin, candidate))?;
                let name = candidate.name().to_owned();
                file.confirmed = Some(candidate.clone());
                Some((name, file_name.clone()))
            });
            files.collect()
        };
        for (name, file) in again {
            tracing::info!(plugin = name, "the leader runs the version that was rolled back here");
            self.swapper.forgive(&name);
            self.evaluate(&file);
        }
    }
}

/// Whether the leader is another host, and runs a candidate that does not run here.
fn runs_elsewhere(plugin: &Plugin, candidate: &CandidateVersion) -> bool {
    let Some((digest, config)) = plugin.controller.leaders_version() else { return false };
    let Some(running) = plugin.running.as_ref().map(|of| of.candidate.published()) else { return false };
    let candidate = candidate.published();
    // With other code the configuration does not matter: that of each host may be another one.
    !plugin.controller.leads()
        && candidate.0 == digest
        && (running.0 != digest || (candidate.1 == config && running.1 != config))
}
