//! Why an object is as it is, for people: what a plugin does about it, what holds that up, and when it runs next.

use super::annotations::Annotations;
use super::flight_recorder::{RecordQuery, full_name, names};
use super::last_writes::LastWrite;
use super::recent::Ended;
use super::{Controller, ReconcileKey, Version};
use crate::api::{GroupVersionKind, ObjectKey};
use crate::workqueue::Phase;
use jiff::Timestamp;
use oarlock_manifest::{Mapping, Watch};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Reconciles that are shown.
const SHOWN: usize = 10;

/// Reads that are shown.
const READS: usize = 50;

/// A reconcile of a plugin.
///
/// * `recorded` - whether the host has a recording of it.
fn described(plugin: &str, ended: &Ended, recorded: bool) -> Value {
    json!({
        "plugin": plugin, "version": ended.version.version, "digest": format!("sha256:{}", ended.version.digest),
        "at": time(ended.at), "tookMs": crate::milliseconds(ended.took),
        "outcome": ended.outcome, "error": ended.error, "written": ended.written, "cause": ended.cause,
        "trigger": ended.trigger, "attempt": ended.attempt, "correlationId": ended.correlation_id, "recorded": recorded,
    })
}

/// Times that sort as texts.
fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

impl Controller {
    /// The last writes of an object for the plugin, each with its field manager, the `fields` to which it gave their values, and the reconcile
    /// behind it. Without fields it is the write of all fields of its manager that no other one has.
    ///
    /// * `kind` - as for kubectl, see [`Self::explain`].
    #[must_use]
    pub fn explain_writes(&self, kind: &str, key: &ObjectKey) -> Vec<Value> {
        let writes = self.last_writes.of(kind, key).into_iter().map(|write| {
            let LastWrite { what, manager, operation, subresource, fields, at, by } = write;
            json!({
                "plugin": self.name, "version": by.version, "digest": format!("sha256:{}", by.digest),
                "of": by.of.to_string(), "at": time(at), "trigger": by.trigger, "cause": by.cause,
                "correlationId": by.correlation_id, "manager": manager, "operation": operation,
                "subresource": subresource, "fields": fields, "writes": [{"write": what}],
            })
        });
        writes.collect()
    }

    /// What the plugin has to do with an object. None: neither reconciles nor reads the plugin its kind.
    ///
    /// * `kind` - as for kubectl: `Network`, `networks` or `networks.samplecrd.k8s.io`; `ConfigMap.` is of the core group.
    #[must_use]
    pub fn explain(&self, kind: &str, key: &ObjectKey) -> Option<Value> {
        let version = self.current()?;
        let manifest = &version.loaded.manifest;
        let primary = version.kinds().into_iter().find(|of| names(kind, of));
        let watches: Vec<&Watch> = manifest.watches.iter().filter(|watch| names(kind, &gvk(watch))).collect();
        if primary.is_none() && watches.is_empty() {
            return None;
        }
        let mut explained = json!({
            "plugin": self.name, "version": manifest.version,
            "digest": format!("sha256:{}", version.loaded.component.digest), "reconciles": primary.is_some(),
            "wakes": watches.into_iter().map(wakes).collect::<Vec<_>>(),
        });
        if let (Some(kind), Some(all)) = (primary, explained.as_object_mut()) {
            let key = ReconcileKey { kind: Arc::new(kind), key: key.clone() };
            if let Value::Object(fields) = self.explain_primary(&version, &key) {
                all.extend(fields);
            }
        }
        Some(explained)
    }

    fn explain_primary(&self, version: &Version, key: &ReconcileKey) -> Value {
        let object = version.cached(key);
        let mut reads = self.dependencies.reads(key);
        let more = reads.len().saturating_sub(READS);
        reads.truncate(READS);
        // The plugin chose the names.
        let reads: Vec<String> = reads.into_iter().map(|read| version.loaded.guest.secrets.hidden(read)).collect();
        let (last, complete_since) = self.last_reconciles(key);
        let failed = self.marks.failed.contains(key);
        let error = last.first().and_then(|(ended, _)| ended.error.clone()).filter(|_| failed);
        json!({
            "cached": object.is_some(),
            "notCached": object.is_none().then(|| not_cached(version, key)),
            "heldUp": self.held_up(version, key),
            "queue": self.queue.status(key).into_iter().map(|status| phase(&status.phase, status.failures)).collect::<Vec<_>>(),
            "state": self.state_of(version, key),
            "lastError": error,
            "reconciles": true,
            "last": last.iter().map(|(ended, recorded)| described(&self.name, ended, *recorded)).collect::<Vec<_>>(),
            // Of another host's reconciles this one knows none.
            "lastCompleteSince": self.leads().then(|| time(complete_since)),
            "reads": reads, "furtherReads": more,
            "runsOn": version.loaded.manifest.watches.iter().map(wakes).collect::<Vec<_>>(),
            "resyncSeconds": version.loaded.guest.grants.resync(&version.loaded.manifest).as_secs(),
        })
    }

    /// The last reconciles of an object, the newest first, each with whether the host has a recording of it; and the time since which none is
    /// missing. Older ones are known by their recordings only.
    fn last_reconciles(&self, key: &ReconcileKey) -> (Vec<(Ended, bool)>, Timestamp) {
        let (recent, complete_since) = self.recent.of(key);
        let query = RecordQuery {
            plugin: Some(self.name.clone()),
            kind: full_name(&key.kind),
            key: key.key.clone(),
            last: usize::MAX,
        };
        let recorded = self.shared.flight_recorder.as_ref().map(|recorder| recorder.find(&query)).unwrap_or_default();
        let recorded = recorded.iter().map(|record| (Ended::recorded(record), true));
        let recent = recent.into_iter().map(|ended| (ended, false));
        // Of a reconcile with several instances each has a recording.
        let mut all: BTreeMap<String, (Ended, bool)> = BTreeMap::new();
        for (ended, recorded) in recent.chain(recorded) {
            let known = all.entry(ended.correlation_id.clone()).or_insert((ended, recorded));
            known.1 |= recorded;
        }
        let mut last: Vec<_> = all.into_values().collect();
        last.sort_by_key(|(ended, _)| std::cmp::Reverse(ended.at));
        last.truncate(SHOWN);
        (last, complete_since)
    }

    /// In a few words, what becomes of the object now.
    pub(super) fn state_of(&self, version: &Version, key: &ReconcileKey) -> &'static str {
        let queued = self.queue.status(key);
        if version.cached(key).is_none() {
            "unknown to the plugin"
        } else if queued.iter().any(|status| matches!(status.phase, Phase::Processing { .. })) {
            "being reconciled"
        } else if queued.iter().any(|status| matches!(status.phase, Phase::Ready { .. })) {
            "waits for a worker"
        } else if self.marks.paused.contains(key) {
            "paused by an annotation"
        } else if self.marks.failed.contains(key) && !queued.is_empty() {
            "failed, and is tried again"
        } else if self.marks.out_of_sync.contains(key) {
            "desired and actual state differ"
        } else if self.marks.failed.contains(key) {
            "failed for good: it runs again at a resync, or when the object, something that it reads, the plugin or its grant changes"
        } else if self.lead.guard().is_none() {
            "left to the host that leads"
        } else {
            "settled"
        }
    }

    /// What keeps the plugin from reconciling the object, the most general cause first.
    fn held_up(&self, version: &Version, key: &ReconcileKey) -> Vec<String> {
        let mut causes = Vec::new();
        if self.lead.guard().is_none() {
            let lease = self.lead.election.describe().unwrap_or_default();
            let holder = lease.get("holder").and_then(Value::as_str).unwrap_or("no host at the moment");
            causes.push(format!("this host is a standby: {holder} reconciles"));
        }
        if let Some(why) = self.paused_by() {
            causes.push(format!("the plugin is paused: {why}"));
        }
        if let Some(until) = self.quarantined_until() {
            let left = until.saturating_duration_since(tokio::time::Instant::now()).as_secs();
            causes.push(format!("the plugin is quarantined for {left} s"));
        }
        causes.extend(version.waiting_for().into_iter().map(|what| format!("the plugin waits for {what}")));
        if let Some(why) = self.awaits_approval() {
            causes.push(format!("a new version waits for an approval: {why}"));
        }
        if let Some(rollout) = self.version.rollout().filter(|rollout| rollout.has(key, None)) {
            let candidate = &rollout.version.loaded.manifest.version;
            causes.push(format!("the object belongs to the canary: version {candidate} reconciles it"));
        }
        if version.cached(key).is_some_and(|object| Annotations::of(&object, &self.name).paused) {
            causes.push(format!("the annotation {}, of all plugins or of this one, pauses the object", super::PAUSED));
        }
        if let Some(wait) = self.breaker.blocked(key) {
            causes.push(format!(
                "it was patched again and again without an end: the next reconcile is in {} s at the earliest",
                wait.as_secs()
            ));
        }
        causes
    }
}

/// Why a version does not see an object.
pub(super) fn not_cached(version: &Version, key: &ReconcileKey) -> String {
    if !version.reaches(key) {
        return format!("the grant or the manifest leaves out namespace {}", key.key.namespace);
    }
    let manifest = &version.loaded.manifest;
    let selectors = manifest
        .primaries
        .iter()
        .filter(|primary| primary.kind == key.kind.kind && primary.group == key.kind.group)
        .flat_map(|primary| [("labels", &primary.label_selector), ("fields", &primary.field_selector)]);
    let selectors: Vec<String> = selectors
        .filter(|(_, selector)| !selector.is_empty())
        .map(|(what, selector)| format!("{what} {selector}"))
        .collect();
    if selectors.is_empty() {
        return "the object does not exist, or the watch has not shown it yet".to_owned();
    }
    format!(
        "the object does not exist, the watch has not shown it yet, or it does not have what the manifest selects: {}",
        selectors.join(", ")
    )
}

fn phase(phase: &Phase, failures: u32) -> Value {
    let seconds = |time: &std::time::Duration| (time.as_secs_f64() * 10.0).round() / 10.0;
    match phase {
        Phase::Processing { elapsed, again } => json!({"phase": "processing", "forSeconds": seconds(elapsed),
            "again": again.map(|trigger| trigger.as_str()), "failures": failures}),
        Phase::Ready { trigger, waited } => {
            json!({"phase": "ready", "trigger": trigger.as_str(), "forSeconds": seconds(waited), "failures": failures})
        }
        Phase::Delayed { trigger, remaining } => json!({"phase": "delayed", "trigger": trigger.as_str(),
            "inSeconds": seconds(remaining), "failures": failures}),
    }
}

fn gvk(watch: &Watch) -> GroupVersionKind {
    GroupVersionKind::new(watch.group.as_str(), watch.version.as_str(), watch.kind.as_str())
}

/// Which keys a change of the watched kind wakes, in words.
fn wakes(watch: &Watch) -> String {
    let kind = &watch.kind;
    match &watch.map_to {
        Mapping::Reads => format!("{kind}: the objects whose last reconcile read it"),
        Mapping::OwnerReference => format!("{kind}: its owner"),
        Mapping::SameName => format!("{kind}: the object of the same name"),
        Mapping::Label { key } => format!("{kind}: the object that its label {key} names"),
        Mapping::Annotation { key } => format!("{kind}: the object that its annotation {key} names"),
        Mapping::ReferencedBy { pointer } => format!("{kind}: the objects with its name at {pointer}"),
        Mapping::All => format!("{kind}: every object"),
        Mapping::CacheOnly => format!("{kind}: none"),
    }
}
