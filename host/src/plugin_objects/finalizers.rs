//! What the status of Plugin objects knows of finalizers, for a host with an empty cache.

use super::{GONE, Live, PluginObjects, status};
use crate::api::GroupVersionKind;
use crate::lifecycle::LeftBehind;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use tokio::time::Instant;

/// The kinds whose objects may have the finalizer of a plugin, by the status of its object. None: there are none.
pub(super) fn left_behind(object: &Value) -> Option<LeftBehind> {
    let kinds = object.pointer("/status")?.get(status::FINALIZERS)?;
    let kinds: BTreeSet<GroupVersionKind> = serde_json::from_value(kinds.clone()).ok()?;
    let first = |pointers: [&str; 2]| {
        let found = pointers.iter().find_map(|pointer| object.pointer(pointer)?.as_str());
        found.unwrap_or_default().to_owned()
    };
    let digest = first(["/status/digest", "/status/revisions/0/digest"]);
    let left = LeftBehind {
        file: first(["/spec/source/file", "/spec/source/reference"]),
        version: first(["/status/version", "/status/revisions/0/version"]),
        digest: digest.strip_prefix("sha256:").unwrap_or(&digest).to_owned(),
        kinds,
        runs: true,
    };
    (!left.kinds.is_empty()).then_some(left)
}

/// Of which plugins the lifecycle knows what the status of their objects says about finalizers.
#[derive(Debug, Default)]
pub(super) struct Restored {
    known: BTreeSet<String>,
    /// Since when the host waits whether the plugins come, here or on another host.
    waiting: BTreeMap<String, Instant>,
}

impl PluginObjects {
    /// Tells the lifecycle of finalizers that only the status of an object knows.
    pub(super) async fn restore_finalizers(&mut self, live: &BTreeMap<String, Live>) {
        self.restored.known.retain(|name| live.contains_key(name));
        self.restored.waiting.retain(|name, _| live.contains_key(name));
        let known = self.lifecycle.finalizer_kinds();
        for (name, live) in live {
            let Some(left) = left_behind(&live.json).filter(|_| !self.restored.known.contains(name)) else { continue };
            if self.lifecycle.controller(name).is_none() && !known.contains_key(name) {
                let since = *self.restored.waiting.entry(name.clone()).or_insert_with(Instant::now);
                if since.elapsed() < GONE || self.lifecycle.may_come(name) {
                    continue;
                }
                if self.is_led_elsewhere(name).await {
                    self.restored.waiting.insert(name.clone(), Instant::now());
                    continue;
                }
            }
            self.lifecycle.remember_finalizers(name, left);
            self.restored.known.insert(name.clone());
        }
    }

    /// Whether the status of an object has finalizers that the lifecycle does not know of yet.
    pub(super) fn has_unknown_finalizers(&self, name: &str, object: &Value) -> bool {
        !self.restored.known.contains(name) && left_behind(object).is_some()
    }

    /// Adds the kinds whose objects may have the finalizer of each plugin.
    pub(super) fn add_finalizers(&self, entries: &mut BTreeMap<String, Value>, live: &BTreeMap<String, Live>) {
        let mut kinds = self.lifecycle.finalizer_kinds();
        for (name, entry) in entries {
            let mut all = kinds.remove(name).unwrap_or_default();
            if let Some(live) = live.get(name).filter(|live| self.has_unknown_finalizers(name, &live.json)) {
                all.extend(left_behind(&live.json).into_iter().flat_map(|left| left.kinds));
            }
            if let Some(entry) = entry.as_object_mut().filter(|_| !all.is_empty()) {
                entry.insert(status::FINALIZERS.to_owned(), json!(all));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_names_the_kinds_and_the_version_that_ran_last() {
        let kind = json!({"group": "apps", "version": "v1", "kind": "Deployment"});
        let object = json!({"spec": {"source": {"reference": "oci://r.example/x:1"}}, "status": {"finalizerKinds": [kind],
            "revisions": [{"digest": "sha256:a", "version": "2"}]}});
        let left = left_behind(&object).unwrap();
        assert_eq!(left.kinds, BTreeSet::from([GroupVersionKind::new("apps", "v1", "Deployment")]));
        assert_eq!(
            (left.file.as_str(), left.version.as_str(), left.digest.as_str()),
            ("oci://r.example/x:1", "2", "a")
        );
        for none in [json!({}), json!({"status": {}}), json!({"status": {"finalizerKinds": []}})] {
            assert_eq!(left_behind(&none), None);
        }
    }
}
