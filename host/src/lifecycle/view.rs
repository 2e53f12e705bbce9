//! State of the plugins for people and monitoring, and the report of each transition: a log line, a metric, an event.

use super::registry::{BlockedReason, FileState, Plugin, Registry, RemovedPlugin, State};
use super::{Lifecycle, lock};
use crate::oci::PullStatuses;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The state of a file or plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ReportedState {
    state: State,
    version: String,
    digest: String,
    /// The reasons, one line each.
    reasons: Vec<String>,
}

/// The state reported last, and since when it holds.
#[derive(Debug, Default)]
pub(super) struct LastReported {
    plugins: BTreeMap<String, ReportedState>,
    files: BTreeMap<String, (String, ReportedState)>,
}

impl FileState {
    /// The state of a file's newest content. None: the plugin runs it.
    fn reported_state(&self) -> Option<ReportedState> {
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
            Self::Syncing { version, .. } => of(State::Syncing, version.waiting_for()),
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

impl Plugin {
    fn state(&self) -> State {
        match &self.running {
            None => State::Syncing,
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

/// The response to `/plugins`.
pub(super) fn describe(registry: &Registry, pulled: Option<&PullStatuses>) -> Value {
    let mut list = Vec::new();
    for (name, file) in &registry.files {
        let file_state = file.file_state.reported_state();
        let plugin = registry.plugin_of(name).filter(|(_, plugin)| plugin.running.is_some());
        let mut entry = match plugin {
            Some((plugin_name, plugin)) => running(plugin_name, plugin),
            None => Map::new(),
        };
        if let Some(file_state) = file_state {
            let said = version(&file_state, &file.file_state);
            match plugin {
                Some(_) => {
                    entry.insert("next".to_owned(), Value::Object(said));
                }
                None => {
                    entry.extend(said);
                    if let Some((_, waiting)) = registry.plugin_of(name) {
                        missing_permissions(waiting, &mut entry);
                    }
                }
            }
        }
        entry.insert("file".to_owned(), json!(name));
        if let Some(source) = pulled.and_then(|pulled| pulled.describe(name)) {
            entry.insert("source".to_owned(), source);
        }
        list.push(Value::Object(entry));
    }
    let orphans = registry.plugins.iter().filter(|(_, plugin)| !registry.files.contains_key(&plugin.file));
    list.extend(orphans.map(|(name, plugin)| Value::Object(running(name, plugin))));
    list.extend(registry.removed_plugins.iter().map(|(name, removed)| ended(name, removed)));
    json!({"plugins": list})
}

fn running(name: &str, plugin: &Plugin) -> Map<String, Value> {
    let mut entry = match plugin.controller.describe() {
        Value::Object(entry) => entry,
        _ => Map::new(),
    };
    entry.insert("name".to_owned(), json!(name));
    entry.insert("state".to_owned(), json!(plugin.state().as_str()));
    if let Some(until) = plugin.controller.quarantined_until() {
        let left = until.saturating_duration_since(tokio::time::Instant::now());
        entry.insert("quarantinedForSeconds".to_owned(), json!(left.as_secs()));
    }
    if let Some(running) = &plugin.running {
        entry.insert("sinceSeconds".to_owned(), json!(running.switched.elapsed().as_secs()));
        entry.insert("onProbation".to_owned(), json!(!running.proven));
    }
    if let Some(good) = &plugin.last_good {
        entry.insert("canGoBackTo".to_owned(), json!(good.compiled.manifest.version));
    }
    if !plugin.left_behind.is_empty() {
        let kinds: Vec<String> = plugin.left_behind.iter().map(ToString::to_string).collect();
        entry.insert("finalizersLeftOn".to_owned(), json!(kinds));
    }
    missing_permissions(plugin, &mut entry);
    entry
}

/// Also for a plugin whose first version does not run yet: missing permissions may be the cause.
fn missing_permissions(plugin: &Plugin, entry: &mut Map<String, Value>) {
    if !plugin.access.missing.is_empty() {
        entry.insert("missingPermissions".to_owned(), json!(plugin.access.missing));
    }
}

/// A version that does not run, or not yet.
fn version(reported_state: &ReportedState, file_state: &FileState) -> Map<String, Value> {
    let mut entry = Map::new();
    let name = match file_state {
        FileState::Failed { name, .. } => name.as_deref(),
        _ => file_state.candidate().map(super::registry::CandidateVersion::name),
    };
    entry.insert("name".to_owned(), json!(name));
    entry.insert("state".to_owned(), json!(reported_state.state.as_str()));
    if !reported_state.version.is_empty() {
        entry.insert("version".to_owned(), json!(reported_state.version));
    }
    if !reported_state.digest.is_empty() {
        entry.insert("digest".to_owned(), json!(format!("sha256:{}", reported_state.digest)));
    }
    if !reported_state.reasons.is_empty() {
        entry.insert("reason".to_owned(), json!(reported_state.reasons.join("; ")));
    }
    match file_state {
        FileState::Blocked { why: BlockedReason::Missing(lines), .. } => {
            entry.insert("missing".to_owned(), json!(lines));
        }
        FileState::Blocked { why: BlockedReason::Confirmation { objects, .. }, .. } => {
            entry.insert("objectsConcerned".to_owned(), json!(objects));
        }
        FileState::Syncing { version, .. } => {
            entry.insert("waitingFor".to_owned(), json!(version.waiting_for()));
        }
        _ => {}
    }
    entry
}

fn ended(name: &str, removed: &RemovedPlugin) -> Value {
    let held: Map<String, Value> = removed.held.iter().map(|(kind, n)| (kind.to_string(), json!(n))).collect();
    json!({
        "name": name, "file": removed.file, "state": removed.state.as_str(), "version": removed.version,
        "digest": format!("sha256:{}", removed.digest), "finalizersLeft": removed.held.values().sum::<usize>(),
        "finalizersLeftOn": held, "deletionsBlocked": removed.deleting.values().sum::<usize>(),
    })
}

impl Lifecycle {
    /// Reports the changes since the last call.
    pub(super) fn tell(&mut self) {
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
                if let Some(reported_state) = file.file_state.reported_state() {
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
                self.tell_version(name, plugin, reported_state);
            }
        }
        for (name, reported_state) in &plugins {
            let before = self.last_reported.plugins.get(name);
            if before
                .is_none_or(|before| before.state != reported_state.state || before.digest != reported_state.digest)
            {
                self.tell_plugin(name, before, reported_state);
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
                self.event(name, false, "PluginRetired", format!("plugin {name} was removed and has ended"));
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
            self.shared.metrics.set_file_states(&now.iter().map(|(name, state)| (name.as_str(), *state)).collect());
        }
        self.last_reported.plugins = plugins;
        self.last_reported.files = files;
    }

    /// Reports the state of a file's newest content.
    fn tell_version(&self, file: &str, plugin: &str, reported_state: &ReportedState) {
        let ReportedState { state, version, reasons, .. } = reported_state;
        let runs = lock(&self.registry).plugins.get(plugin).is_some_and(|plugin| plugin.running.is_some());
        let reason = reasons.join("; ");
        match state {
            State::Compiling => tracing::info!(file, state = state.as_str(), "plugin file"),
            State::Failed => {
                tracing::error!(file, plugin, version, state = state.as_str(), reason, "plugin not loaded");
                self.event(file, true, "PluginFailed", format!("{file}: {reason}"));
            }
            State::AwaitingGrant => {
                let (grant, wasm) = match file.strip_suffix(".wasm") {
                    Some(grant) => (grant, file),
                    // A pulled plugin: its grant is in the plugin directory.
                    None => (plugin, "FILE, with the file from oarlock pull,"),
                };
                tracing::warn!(
                    file,
                    plugin,
                    version,
                    state = state.as_str(),
                    "awaiting a grant: write {grant}.yaml (oarlock grant {wasm} prints the grant that the manifest asks for)"
                );
                for line in reasons {
                    tracing::warn!(file, plugin, "not granted: {line}");
                }
                let message = format!("version {version} of plugin {plugin} waits; not granted: {reason}");
                self.event(plugin, true, "AwaitingGrant", message);
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
                self.event(plugin, true, "AwaitingConfirmation", message);
            }
            // For a plugin without a running version, this is the plugin's own state.
            State::Syncing if !runs => {}
            _ => tracing::info!(file, plugin, version, state = state.as_str(), reason, "plugin version"),
        }
    }

    fn tell_plugin(&self, name: &str, before: Option<&ReportedState>, reported_state: &ReportedState) {
        let ReportedState { state, version, digest, .. } = reported_state;
        let from = before.map_or("discovered", |before| before.state.as_str());
        tracing::info!(plugin = name, version, digest, from, to = state.as_str(), "plugin state");
        if *state != State::Retired {
            self.shared.metrics.plugin(name).set_state(state.as_str());
        }
        let swapped = before.is_some_and(|before| !before.digest.is_empty() && before.digest != *digest);
        match state {
            State::Active if swapped => {
                let message = format!("plugin {name} runs version {version} ({})", crate::shorten(digest, 12));
                self.event(name, false, "PluginSwapped", message);
            }
            State::Active if before.is_none_or(|before| before.state == State::Syncing && before.digest.is_empty()) => {
                self.event(name, false, "PluginActive", format!("plugin {name} runs version {version}"));
            }
            _ => {}
        }
    }
}
