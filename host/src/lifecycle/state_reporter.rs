//! The report of each state transition of a plugin or file: a log line, a metric, an event.

use super::definitions::Obstacle;
use super::host_events::HostEvents;
use super::lock;
use super::registry::{BlockedReason, FileState, Plugin, PluginFile, Registry, State};
use crate::metrics::Metrics;
use crate::plugin::directory;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

/// The state of a file or plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReportedState {
    pub(super) state: State,
    pub(super) version: String,
    pub(super) digest: String,
    /// The reasons, one line each.
    pub(super) reasons: Vec<String>,
}

/// The states reported last.
#[derive(Debug, Default)]
struct LastReported {
    plugins: BTreeMap<String, ReportedState>,
    files: BTreeMap<String, (String, ReportedState)>,
}

impl FileState {
    /// The state of a file's newest content. None: the plugin runs it.
    pub(super) fn reported_state(&self) -> Option<ReportedState> {
        let of = |state: State, reasons: Vec<String>| {
            let compiled = self.candidate().map(|candidate| &candidate.compiled);
            ReportedState {
                state,
                version: compiled.map(|c| c.manifest.version.clone()).unwrap_or_default(),
                digest: compiled.map(|c| c.component.digest.clone()).unwrap_or_default(),
                reasons,
            }
        };
        Some(match self {
            Self::Runs(_) => return None,
            Self::Compiling => of(State::Compiling, vec![]),
            Self::Failed { reason, .. } => of(State::Failed, vec![reason.clone()]),
            Self::Syncing { version, installation, .. } => match installation.obstacle() {
                Some(Obstacle::Refused(why)) => of(State::Failed, vec![why]),
                Some(Obstacle::Waits(why) | Obstacle::Unconverted(why)) => of(State::Syncing, vec![why]),
                None => of(State::Syncing, version.waiting_for()),
            },
            Self::RollingOut(_) => of(State::RollingOut, vec![]),
            Self::Blocked { why, .. } => match why {
                BlockedReason::NoGrant => {
                    of(State::AwaitingGrant, vec!["everything, because there is no grant".to_owned()])
                }
                BlockedReason::Missing(lines) => of(State::AwaitingGrant, lines.clone()),
                BlockedReason::Confirmation { drops, objects } => {
                    of(State::AwaitingConfirmation, vec![format!("it drops {drops}; objects concerned: {objects}")])
                }
                BlockedReason::Taken(why) => of(State::Failed, vec![why.clone()]),
                BlockedReason::Draining => {
                    of(State::Draining, vec!["the removed plugin of this name is still draining".to_owned()])
                }
                BlockedReason::RolledBack(why) => of(State::Failed, vec![format!("rolled back: {why}")]),
            },
        })
    }
}

impl Registry {
    /// The state of a file's newest content, with the step of its rollout. None: the plugin runs it.
    pub(super) fn reported_state(&self, file: &PluginFile) -> Option<ReportedState> {
        let mut reported = file.file_state.reported_state()?;
        if let FileState::RollingOut(candidate) = &file.file_state
            && let Some(plugin) = self.plugins.get(candidate.name())
        {
            match plugin.controller.awaits_approval() {
                Some(why) => (reported.state, reported.reasons) = (State::AwaitingConfirmation, vec![why]),
                None => reported.reasons.extend(plugin.controller.rollout_step()),
            }
        }
        Some(reported)
    }
}

impl Plugin {
    pub(super) fn state(&self) -> State {
        match &self.running {
            None => State::Syncing,
            Some(_) if self.controller.paused_by().is_some() => State::Paused,
            Some(_) if self.controller.quarantined_until().is_some() => State::Quarantined,
            Some(_) if self.controller.current().is_some_and(|version| version.synced()) => State::Active,
            Some(_) => State::Syncing,
        }
    }

    fn reported_state(&self) -> ReportedState {
        let running = self.running.as_ref().map(|running| &running.candidate.compiled);
        ReportedState {
            state: self.state(),
            version: running.map(|c| c.manifest.version.clone()).unwrap_or_default(),
            digest: running.map(|c| c.component.digest.clone()).unwrap_or_default(),
            reasons: vec![],
        }
    }
}

/// Reports state transitions.
#[derive(Debug)]
pub(super) struct StateReporter {
    registry: Arc<Mutex<Registry>>,
    metrics: Metrics,
    events: HostEvents,
    last_reported: LastReported,
    /// Of the last report.
    took: Duration,
    ended: Instant,
}

/// A report that takes longer than this waits for four times as long before the next one: with many plugins, each of which changes its state
/// at the start, reports would take most of the time.
const SLOW: Duration = Duration::from_millis(1);

impl StateReporter {
    pub(super) fn new(registry: Arc<Mutex<Registry>>, metrics: Metrics, events: HostEvents) -> Self {
        let (last_reported, took, ended) = (LastReported::default(), Duration::ZERO, Instant::now());
        Self { registry, metrics, events, last_reported, took, ended }
    }

    /// Reports the changes since the last report, unless that was a moment ago and took long.
    pub(super) fn report(&mut self) {
        if self.took > SLOW && self.ended.elapsed() < self.took * 4 {
            return;
        }
        let began = Instant::now();
        self.report_changes();
        (self.took, self.ended) = (began.elapsed(), Instant::now());
    }

    fn report_changes(&mut self) {
        let (mut plugins, mut files) = (BTreeMap::new(), BTreeMap::new());
        {
            let registry = lock(&self.registry);
            for (name, plugin) in &registry.plugins {
                plugins.insert(name.clone(), plugin.reported_state());
            }
            for (name, removed) in &registry.removed_plugins {
                let (version, digest) = (removed.version.clone(), removed.digest.clone());
                let reported_state = ReportedState { state: removed.state, version, digest, reasons: vec![] };
                plugins.insert(name.clone(), reported_state);
            }
            for (name, file) in &registry.files {
                if let Some(reported_state) = registry.reported_state(file) {
                    let plugin = match &file.file_state {
                        FileState::Failed { name, .. } => name.clone().unwrap_or_default(),
                        file_state => {
                            file_state.candidate().map(|candidate| candidate.name().to_owned()).unwrap_or_default()
                        }
                    };
                    files.insert(name.clone(), (plugin, reported_state));
                }
            }
        }
        for (name, (plugin, reported_state)) in &files {
            let before = self.last_reported.files.get(name).map(|(_, before)| before);
            if before
                .is_none_or(|before| before.state != reported_state.state || before.digest != reported_state.digest)
            {
                self.report_version(name, plugin, reported_state);
            }
        }
        for (name, reported_state) in &plugins {
            let before = self.last_reported.plugins.get(name);
            if before
                .is_none_or(|before| before.state != reported_state.state || before.digest != reported_state.digest)
            {
                self.report_plugin(name, before, reported_state);
            }
        }
        for (name, before) in &self.last_reported.plugins {
            if !plugins.contains_key(name) {
                tracing::info!(
                    plugin = name,
                    from = before.state.as_str(),
                    to = State::Retired.as_str(),
                    "plugin state"
                );
                self.events.record(name, false, "PluginRetired", format!("plugin {name} was removed and has ended"));
            }
        }
        let file_state = |files: &BTreeMap<String, (String, ReportedState)>| {
            files
                .iter()
                .map(|(name, (_, reported_state))| (name.clone(), reported_state.state.as_str()))
                .collect::<BTreeMap<_, _>>()
        };
        let now = file_state(&files);
        if now != file_state(&self.last_reported.files) {
            self.metrics.set_file_states(&now.iter().map(|(name, state)| (name.as_str(), *state)).collect());
        }
        self.last_reported.plugins = plugins;
        self.last_reported.files = files;
    }

    /// Reports the state of a file's newest content.
    fn report_version(&self, file: &str, plugin: &str, reported_state: &ReportedState) {
        let ReportedState { state, version, reasons, .. } = reported_state;
        let runs = lock(&self.registry).plugins.get(plugin).is_some_and(|plugin| plugin.running.is_some());
        let reason = reasons.join("; ");
        match state {
            State::Compiling => tracing::info!(file, state = state.as_str(), "plugin file"),
            State::Failed => {
                tracing::error!(file, plugin, version, state = state.as_str(), reason, "plugin not loaded");
                self.events.record(file, true, "PluginFailed", format!("{file}: {reason}"));
            }
            State::AwaitingGrant => {
                let (grant, wasm) = match (file.strip_suffix(".wasm"), directory::plugin_of(file)) {
                    (Some(grant), _) => (format!("{grant}.yaml"), file),
                    (None, Some(declared)) => (format!("spec.grant of Plugin {declared}"), "FILE"),
                    // A pulled plugin: its grant is in the plugin directory.
                    (None, None) => (format!("{plugin}.yaml"), "FILE, with the file from oarlock pull,"),
                };
                tracing::warn!(
                    file,
                    plugin,
                    version,
                    state = state.as_str(),
                    "awaiting a grant: write {grant} (oarlock grant {wasm} prints the grant that the manifest asks for)"
                );
                for line in reasons {
                    tracing::warn!(file, plugin, "not granted: {line}");
                }
                let message = format!("version {version} of plugin {plugin} waits; not granted: {reason}");
                self.events.record(plugin, true, "AwaitingGrant", message);
            }
            State::AwaitingConfirmation => {
                tracing::warn!(
                    file,
                    plugin,
                    version,
                    state = state.as_str(),
                    reason,
                    "version waits for: oarlock confirm {plugin}"
                );
                let message =
                    format!("version {version} of plugin {plugin} waits for oarlock confirm {plugin}: {reason}");
                self.events.record(plugin, true, "AwaitingConfirmation", message);
            }
            // For a plugin without a running version, this is the plugin's own state.
            State::Syncing if !runs => {}
            _ => tracing::info!(file, plugin, version, state = state.as_str(), reason, "plugin version"),
        }
    }

    fn report_plugin(&self, name: &str, before: Option<&ReportedState>, reported_state: &ReportedState) {
        let ReportedState { state, version, digest, .. } = reported_state;
        let from = before.map_or("discovered", |before| before.state.as_str());
        tracing::info!(plugin = name, version, digest, from, to = state.as_str(), "plugin state");
        if *state != State::Retired {
            self.metrics.plugin(name).set_state(state.as_str());
        }
        let swapped = before.is_some_and(|before| !before.digest.is_empty() && before.digest != *digest);
        match state {
            State::Active | State::Paused if swapped => {
                let message = format!("plugin {name} runs version {version} ({})", crate::shorten(digest, 12));
                self.events.record(name, false, "PluginSwapped", message);
            }
            State::Active if before.is_none_or(|before| before.state == State::Syncing && before.digest.is_empty()) => {
                self.events.record(name, false, "PluginActive", format!("plugin {name} runs version {version}"));
            }
            _ => {}
        }
    }
}
