//! The plugins of `/plugins`, as the Plugin objects show them.

use crate::plugin::directory;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The entries of `/plugins` by the plugin's name; of a file without a plugin, by the name that the file gives it. Of two files of one
/// plugin the declared one counts, or else the first, as in the host.
pub(super) fn entries(described: &Value) -> BTreeMap<String, Value> {
    let mut entries = BTreeMap::new();
    let all = described.get("plugins").and_then(Value::as_array);
    let declared = |entry: &&Value| entry["file"].as_str().is_some_and(|file| directory::plugin_of(file).is_some());
    let (first, rest): (Vec<&Value>, Vec<&Value>) = all.into_iter().flatten().partition(declared);
    for entry in first.into_iter().chain(rest) {
        let text = |field: &str| entry.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        let stem =
            text("file").map(|file| directory::plugin_of(file).unwrap_or(file.strip_suffix(".wasm").unwrap_or(file)));
        if let Some(name) = text("name").or(stem).filter(|name| crate::plugin::is_plugin_name(name)) {
            entries.entry(name.to_owned()).or_insert_with(|| entry.clone());
        }
    }
    entries
}

/// The digest of the version that waits for a confirmation.
pub(super) fn waiting_for_confirmation(entry: &Value) -> Option<&str> {
    let newest = entry.get("next").unwrap_or(entry);
    let waits = newest.get("state").is_some_and(|state| state == "awaiting-confirmation");
    newest.get("digest").and_then(Value::as_str).filter(|_| waits)
}

/// Whether the rollout that waits has the code that runs: its digest says nothing about its configuration.
pub(super) fn needs_plan(entry: &Value) -> bool {
    let next = entry.pointer("/next/digest");
    entry.get("rollout").is_some() && next.is_some() && next == entry.get("digest")
}

/// Why the leader aborted the rollout in which this standby waits. None: it did not.
///
/// * `candidate` - in the status.
pub(super) fn aborted_elsewhere<'a>(entry: &Value, candidate: &'a Value) -> Option<&'a str> {
    let text = |field: &str| candidate.get(field).and_then(Value::as_str);
    let why = text("reason")?.strip_prefix("rolled back: ").filter(|_| text("state") == Some("failed"))?;
    let of = |pointer: &str| entry.pointer(pointer).and_then(Value::as_str);
    let waits = of("/rollout/phase") == Some("standby") && of("/next/state") == Some("rolling-out");
    // Without its configuration, another candidate of the same code would count as aborted, too.
    let aborted = (text("digest")?, text("config")?);
    let is = |digest: &str, config: &str| of(digest).zip(of(config)) == Some(aborted);
    // What the leader runs it has rolled out again. The status may be older.
    let runs = is("/lease/holderDigest", "/lease/holderConfig");
    (waits && is("/next/digest", "/next/config") && !runs).then_some(why)
}

/// The source of a plugin. None: of a plugin that an object declared and that ended.
pub(super) fn source(entry: &Value) -> Option<Value> {
    let text = |pointer: &str| entry.pointer(pointer).and_then(Value::as_str);
    if let Some(reference) = text("/source/reference") {
        return Some(json!({"reference": reference}));
    }
    let file = text("/source/file").or(text("/file").filter(|file| directory::plugin_of(file).is_none()));
    file.map(|file| json!({"file": file}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standby_follows_the_abort_of_its_own_candidate_only() {
        let entry = |phase: &str, digest: &str, config: &str| {
            json!({"rollout": {"phase": phase, "digest": digest},
                "next": {"state": "rolling-out", "digest": digest, "config": config},
                "lease": {"holderDigest": "sha256:0", "holderConfig": "c"}})
        };
        let candidate =
            json!({"state": "failed", "digest": "sha256:a", "config": "c", "reason": "rolled back: it is slow"});
        let standby = entry("standby", "sha256:a", "c");
        assert_eq!(aborted_elsewhere(&standby, &candidate), Some("it is slow"));
        assert_eq!(aborted_elsewhere(&entry("standby", "sha256:b", "c"), &candidate), None);
        assert_eq!(aborted_elsewhere(&entry("standby", "sha256:a", "d"), &candidate), None, "another configuration");
        assert_eq!(aborted_elsewhere(&entry("canary", "sha256:a", "c"), &candidate), None);
        assert_eq!(aborted_elsewhere(&json!({}), &candidate), None);
        let mut waits = candidate.clone();
        waits["state"] = json!("rolling-out");
        assert_eq!(aborted_elsewhere(&standby, &waits), None);
        let mut promoted = standby;
        promoted["lease"]["holderDigest"] = json!("sha256:a");
        assert_eq!(aborted_elsewhere(&promoted, &candidate), None, "the leader runs it by now");
    }

    #[test]
    fn the_configuration_of_the_code_that_runs_is_approved_by_its_plan() {
        let entry = |next: &str| json!({"digest": "sha256:a", "rollout": {}, "next": {"digest": next}});
        assert!(needs_plan(&entry("sha256:a")));
        assert!(!needs_plan(&entry("sha256:b")));
        assert!(!needs_plan(&json!({"digest": "sha256:a", "next": {"digest": "sha256:a"}})), "it drops something");
        assert!(!needs_plan(&json!({"rollout": {}})));
    }

    #[test]
    fn plugins_have_their_name_and_files_without_a_plugin_that_of_the_file() {
        let described = json!({"plugins": [
            {"name": "a", "file": "a.wasm", "state": "active"},
            {"name": null, "file": "broken.wasm", "state": "failed"},
            {"name": "a", "file": "second.wasm", "state": "failed"},
            {"name": null, "file": "No Name.wasm", "state": "failed"},
        ]});
        let found = entries(&described);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["a", "broken"]);
        assert_eq!(found["a"]["state"], "active");
    }

    #[test]
    fn only_a_version_that_waits_for_a_confirmation_has_a_digest_to_approve() {
        let waits = json!({"state": "active", "digest": "sha256:a", "next": {"state": "awaiting-confirmation", "digest": "sha256:b"}});
        assert_eq!(waiting_for_confirmation(&waits), Some("sha256:b"));
        assert_eq!(
            waiting_for_confirmation(&json!({"state": "awaiting-confirmation", "digest": "sha256:a"})),
            Some("sha256:a")
        );
        assert_eq!(waiting_for_confirmation(&json!({"state": "active", "digest": "sha256:a"})), None);
    }
}
