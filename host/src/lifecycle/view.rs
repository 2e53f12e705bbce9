//! State of the plugins for people and monitoring: the response to `/plugins`.

use super::candidate::{CandidateVersion, Granting};
use super::registry::{BlockedReason, FileState, Plugin, Registry, RemovedPlugin, State};
use super::state_reporter::ReportedState;
use crate::api::GroupVersionKind;
use crate::controller::{Converter, names};
use crate::grants::Grants;
use crate::oci::PullStatuses;
use oarlock_manifest::PluginGrant;
use serde_json::{Map, Value, json};

/// The response to `/plugins`.
pub(super) fn describe(registry: &Registry, pulled: Option<&PullStatuses>) -> Value {
    let mut list = Vec::new();
    for (name, file) in &registry.files {
        let file_state = registry.reported_state(file);
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
        let digest = plugin.and(entry.get("digest")).and_then(Value::as_str);
        if let Some(source) = pulled.and_then(|pulled| pulled.describe(name, digest)) {
            entry.insert("source".to_owned(), source);
        } else if file.found.candidate.declared.is_some() {
            let file = file.found.candidate.path.file_name().unwrap_or_default().to_string_lossy();
            entry.insert("source".to_owned(), json!({"file": file}));
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
    if let Some(why) = plugin.controller.paused_by() {
        entry.insert("reason".to_owned(), json!(why));
    }
    if let Some(until) = plugin.controller.quarantined_until() {
        let left = until.saturating_duration_since(tokio::time::Instant::now());
        entry.insert("quarantinedForSeconds".to_owned(), json!(left.as_secs()));
    }
    if let Some(running) = &plugin.running {
        entry.insert("sinceSeconds".to_owned(), json!(running.switched.elapsed().as_secs()));
        entry.insert("onProbation".to_owned(), json!(!running.proven));
        if running.promoted {
            entry.insert("promoted".to_owned(), json!(true));
        }
    }
    if let Some(good) = &plugin.last_good {
        entry.insert("canGoBackTo".to_owned(), json!(good.compiled.manifest.version));
    }
    if !plugin.left_behind.is_empty() {
        let kinds: Vec<String> = plugin.left_behind.iter().map(ToString::to_string).collect();
        entry.insert("finalizersLeftOn".to_owned(), json!(kinds));
    }
    if let Some(rollout) = plugin.controller.describe_rollout() {
        entry.insert("rollout".to_owned(), rollout);
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
        _ => file_state.candidate().map(super::candidate::CandidateVersion::name),
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
        FileState::RollingOut(candidate) | FileState::Blocked { candidate, why: BlockedReason::RolledBack(_) } => {
            // Hosts tell two candidates of the same code apart.
            entry.insert("config".to_owned(), json!(candidate.published().1));
        }
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

/// The plugins that do not run yet, or not any more, and will reconcile objects of a kind or hold some, with the reason, in the form of
/// [`Controller::explain`].
///
/// [`Controller::explain`]: crate::controller::Controller::explain
pub(super) fn waiting(registry: &Registry, kind: &str) -> Vec<Value> {
    let waiting = registry.files.values().filter_map(|file| {
        let candidate = file.file_state.candidate()?;
        let manifest = &candidate.compiled.manifest;
        let mut primaries = manifest
            .primaries
            .iter()
            .map(|of| GroupVersionKind::new(of.group.as_str(), of.version.as_str(), of.kind.as_str()));
        let runs = registry.plugins.get(candidate.name()).is_some_and(|plugin| plugin.running.is_some());
        let said = registry.reported_state(file).filter(|_| !runs && primaries.any(|of| names(kind, &of)))?;
        let why = format!("the plugin does not run yet, it is {}: {}", said.state.as_str(), said.reasons.join("; "));
        Some(json!({
            "plugin": candidate.name(), "version": manifest.version, "digest": format!("sha256:{}", candidate.digest()),
            "reconciles": true, "state": "left alone until the plugin runs", "heldUp": [why],
        }))
    });
    let removed = registry.removed_plugins.iter().filter(|(name, _)| !registry.plugins.contains_key(*name));
    let holds = removed.filter_map(|(name, removed)| {
        let held: usize = removed.held.iter().filter(|(of, _)| names(kind, of)).map(|(_, objects)| objects).sum();
        let why = format!(
            "{held} objects of the kind have its finalizer: they are not deleted before its file or its grant is back, or before oarlock \
             plugins --release-finalizers {name}"
        );
        (held > 0).then(|| {
            json!({
                "plugin": name, "version": removed.version, "digest": format!("sha256:{}", removed.digest),
                "reconciles": false, "state": "removed", "heldUp": [why],
            })
        })
    });
    waiting.chain(holds).collect()
}

/// The versions of a plugin that the host has in memory: `role`, `version`, `digest`, the manifest, the grant that it asks for and the one that
/// it has, without values of the configuration, and `missing`, the permissions that it lacks. None: the host knows none.
pub(super) fn versions(registry: &Registry, name: &str) -> Option<Value> {
    let plugin = registry.plugins.get(name);
    let running = plugin.and_then(|plugin| plugin.running.as_ref()).map(|running| &running.candidate);
    let files = registry.files.values().filter_map(|file| file.file_state.candidate());
    let next =
        files.filter(|candidate| candidate.name() == name && !running.is_some_and(|running| running.is(candidate)));
    let good = plugin.and_then(|plugin| plugin.last_good.as_ref());
    let rejected = plugin.and_then(|plugin| plugin.rejected.as_ref());
    let mut all = Vec::new();
    all.extend(running.map(|candidate| candidate_version("running", candidate)));
    all.extend(next.map(|candidate| candidate_version("next", candidate)));
    all.extend(
        good.filter(|good| !running.is_some_and(|running| running.is(good)))
            .map(|good| candidate_version("before", good)),
    );
    all.extend(rejected.map(|(candidate, why)| {
        let mut entry = candidate_version("rejected", candidate);
        entry.insert("reason".to_owned(), json!(why));
        entry
    }));
    (!all.is_empty()).then(|| json!(all))
}

fn candidate_version(role: &str, candidate: &CandidateVersion) -> Map<String, Value> {
    let manifest = &candidate.compiled.manifest;
    let (grant, missing) = match &candidate.granting {
        Granting::Grant { grant, missing, .. } => (Some(grant), missing.clone()),
        Granting::Nothing => (None, Vec::new()),
    };
    let config = grant.map(|grant| grant.config.clone()).unwrap_or_default();
    let asked = Grants::asked(manifest, config, &|kind| candidate.plurals.get(kind).cloned());
    let mut entry = Map::new();
    for (name, value) in [
        ("role", json!(role)),
        ("version", json!(manifest.version)),
        ("digest", json!(format!("sha256:{}", candidate.digest()))),
        ("manifest", json!(manifest)),
        ("asked", without_values(&asked)),
        ("grant", grant.map(|grant| without_values(grant)).unwrap_or_default()),
        ("missing", json!(missing)),
    ] {
        entry.insert(name.to_owned(), value);
    }
    entry
}

/// A grant without the values of its configuration, which may be secret.
fn without_values(grant: &PluginGrant) -> Value {
    let mut grant = grant.clone();
    grant.config.values_mut().for_each(|value| "(not shown)".clone_into(value));
    json!(grant)
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
