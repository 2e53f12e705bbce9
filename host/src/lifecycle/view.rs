//! State of the plugins for people and monitoring: the response to `/plugins`.

use super::registry::{BlockedReason, FileState, Plugin, Registry, RemovedPlugin, State};
use super::state_reporter::ReportedState;
use crate::controller::Converter;
use crate::oci::PullStatuses;
use serde_json::{Map, Value, json};

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
    list.extend(registry.ended_converters.values().map(|converter| converting(registry, converter)));
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

/// A plugin that ended while definitions depend on its conversions.
fn converting(registry: &Registry, converter: &Converter) -> Value {
    json!({
        "name": converter.plugin(), "state": State::AwaitingConfirmation.as_str(), "version": converter.version(),
        "reason": registry.ended_converter(converter), "objectsConcerned": registry.objects_of(converter.definitions()),
    })
}

fn ended(name: &str, removed: &RemovedPlugin) -> Value {
    let held: Map<String, Value> = removed.held.iter().map(|(kind, n)| (kind.to_string(), json!(n))).collect();
    json!({
        "name": name, "file": removed.file, "state": removed.state.as_str(), "version": removed.version,
        "digest": format!("sha256:{}", removed.digest), "finalizersLeft": removed.held.values().sum::<usize>(),
        "finalizersLeftOn": held, "deletionsBlocked": removed.deleting.values().sum::<usize>(),
    })
}
