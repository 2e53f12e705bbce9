//! State of the plugins for people and monitoring, and the report of each transition: a log line, a metric, an event.

use super::registry::{Former, Hold, Newest, Plugin, Registry, State};
use super::{Lifecycle, lock};
use crate::oci::Standings;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The state of a file or plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Standing {
    state: State,
    version: String,
    digest: String,
    /// The reasons, one line each.
    reasons: Vec<String>,
}

/// The state reported last, and since when it holds.
#[derive(Debug, Default)]
pub(super) struct Told {
    plugins: BTreeMap<String, Standing>,
    files: BTreeMap<String, (String, Standing)>,
}

impl Newest {
    /// The state of a file's newest content. None: the plugin runs it.
    fn standing(&self) -> Option<Standing> {
        let of = |state: State, reasons: Vec<String>| {
            let compiled = self.offer().map(|offer| &offer.compiled);
            Standing {
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
            Self::Held { why, .. } => match why {
                Hold::NoGrant => of(State::AwaitingGrant, vec!["everything: there is no grant".to_owned()]),
                Hold::Missing(lines) => of(State::AwaitingGrant, lines.clone()),
                Hold::Confirmation { drops, objects } => {
                    of(State::AwaitingConfirmation, vec![format!("it drops {drops}; objects concerned: {objects}")])
                }
                Hold::Taken(why) => of(State::Failed, vec![why.clone()]),
                Hold::Draining => {
                    of(State::Draining, vec!["the plugin of its name has not come to its end yet".to_owned()])
                }
                Hold::RolledBack(why) => of(State::Failed, vec![format!("rolled back: {why}")]),
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

    fn standing(&self) -> Standing {
        let running = self.running.as_ref().map(|running| &running.offer.compiled);
        Standing {
            state: self.state(),
            version: running.map(|c| c.manifest.version.clone()).unwrap_or_default(),
            digest: running.map(|c| c.component.digest.clone()).unwrap_or_default(),
            reasons: vec![],
        }
    }
}

/// The response to `/plugins`.
pub(super) fn describe(registry: &Registry, pulled: Option<&Standings>) -> Value {
    let mut list = Vec::new();
    for (name, file) in &registry.files {
        let newest = file.newest.standing();
        let plugin = registry.plugin_of(name).filter(|(_, plugin)| plugin.running.is_some());
        let mut entry = match plugin {
            Some((plugin_name, plugin)) => running(plugin_name, plugin),
            None => Map::new(),
        };
        if let Some(newest) = newest {
            let said = version(&newest, &file.newest);
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
    list.extend(registry.former.iter().map(|(name, former)| ended(name, former)));
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
fn version(standing: &Standing, newest: &Newest) -> Map<String, Value> {
    let mut entry = Map::new();
    let name = match newest {
        Newest::Failed { name, .. } => name.as_deref(),
        _ => newest.offer().map(super::registry::Offer::name),
    };
    entry.insert("name".to_owned(), json!(name));
    entry.insert("state".to_owned(), json!(standing.state.as_str()));
    if !standing.version.is_empty() {
        entry.insert("version".to_owned(), json!(standing.version));
    }
    if !standing.digest.is_empty() {
        entry.insert("digest".to_owned(), json!(format!("sha256:{}", standing.digest)));
    }
    if !standing.reasons.is_empty() {
        entry.insert("reason".to_owned(), json!(standing.reasons.join("; ")));
    }
    match newest {
        Newest::Held { why: Hold::Missing(lines), .. } => {
            entry.insert("missing".to_owned(), json!(lines));
        }
        Newest::Held { why: Hold::Confirmation { objects, .. }, .. } => {
            entry.insert("objectsConcerned".to_owned(), json!(objects));
        }
        Newest::Syncing { version, .. } => {
            entry.insert("waitingFor".to_owned(), json!(version.waiting_for()));
        }
        _ => {}
    }
    entry
}

fn ended(name: &str, former: &Former) -> Value {
    let held: Map<String, Value> = former.held.iter().map(|(kind, n)| (kind.to_string(), json!(n))).collect();
    json!({
        "name": name, "file": former.file, "state": former.state.as_str(), "version": former.version,
        "digest": format!("sha256:{}", former.digest), "finalizersLeft": former.held.values().sum::<usize>(),
        "finalizersLeftOn": held,
    })
}

impl Lifecycle {
    /// Reports the changes since the last call.
    pub(super) fn tell(&mut self) {
        let (mut plugins, mut files) = (BTreeMap::new(), BTreeMap::new());
        {
            let registry = lock(&self.registry);
            for (name, plugin) in &registry.plugins {
                plugins.insert(name.clone(), plugin.standing());
            }
            for (name, former) in &registry.former {
                let (version, digest) = (former.version.clone(), former.digest.clone());
                let standing = Standing { state: former.state, version, digest, reasons: vec![] };
                plugins.insert(name.clone(), standing);
            }
            for (name, file) in &registry.files {
                if let Some(standing) = file.newest.standing() {
                    let plugin = match &file.newest {
                        Newest::Failed { name, .. } => name.clone().unwrap_or_default(),
                        newest => newest.offer().map(|offer| offer.name().to_owned()).unwrap_or_default(),
                    };
                    files.insert(name.clone(), (plugin, standing));
                }
            }
        }
        for (name, (plugin, standing)) in &files {
            let before = self.told.files.get(name).map(|(_, before)| before);
            if before.is_none_or(|before| before.state != standing.state || before.digest != standing.digest) {
                self.tell_version(name, plugin, standing);
            }
        }
        for (name, standing) in &plugins {
            let before = self.told.plugins.get(name);
            if before.is_none_or(|before| before.state != standing.state || before.digest != standing.digest) {
                self.tell_plugin(name, before, standing);
            }
        }
        for (name, before) in &self.told.plugins {
            if !plugins.contains_key(name) {
                tracing::info!(
                    plugin = name,
                    from = before.state.as_str(),
                    to = State::Retired.as_str(),
                    "plugin state"
                );
                self.event(name, false, "PluginRetired", format!("plugin {name} was removed and has come to its end"));
            }
        }
        let newest = |files: &BTreeMap<String, (String, Standing)>| {
            files
                .iter()
                .map(|(name, (_, standing))| (name.clone(), standing.state.as_str()))
                .collect::<BTreeMap<_, _>>()
        };
        let now = newest(&files);
        if now != newest(&self.told.files) {
            self.shared.metrics.set_newest(&now.iter().map(|(name, state)| (name.as_str(), *state)).collect());
        }
        self.told.plugins = plugins;
        self.told.files = files;
    }

    /// Reports the state of a file's newest content.
    fn tell_version(&self, file: &str, plugin: &str, standing: &Standing) {
        let Standing { state, version, reasons, .. } = standing;
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
                    None => (plugin, "of its file, which oarlock pull fetches,"),
                };
                tracing::warn!(
                    file,
                    plugin,
                    version,
                    state = state.as_str(),
                    "awaiting a grant: write what it may do into {grant}.yaml (oarlock grant {wasm} prints what it asks for)"
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

    fn tell_plugin(&self, name: &str, before: Option<&Standing>, standing: &Standing) {
        let Standing { state, version, digest, .. } = standing;
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
