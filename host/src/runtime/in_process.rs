//! A host in this process beside its API server: the real lifecycle and controllers, without listeners and an admin server.

use super::host_object;
use crate::admission::InProcessAdmission;
use crate::api::Discovery;
use crate::apply::Writer;
use crate::apply::events::Recorder;
use crate::controller::{Rehearsal, Shared};
use crate::informer::Informers;
use crate::lease::Leases;
use crate::lifecycle::{self, Lifecycle};
use crate::metrics::Metrics;
use crate::plugin::{Engine, HttpGate};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// States of a version that runs, or is about to.
const UNDER_WAY: [&str; 3] = ["compiling", "syncing", "active"];

/// The configuration of such a host.
pub(super) struct Parts {
    /// Of the API server.
    pub(super) client: kube::Client,
    /// Directory of `.wasm` files, each with its grant beside it.
    pub(super) plugins: PathBuf,
    /// See [`lifecycle::Options`].
    pub(super) looks: watch::Receiver<u64>,
    pub(super) engine: Engine,
    pub(super) http: HttpGate,
    pub(super) rehearsal: Option<Arc<Rehearsal>>,
    /// Replaces the resync period of every plugin.
    pub(super) resync_seconds: Option<u32>,
    /// See [`lifecycle::Options`].
    pub(super) poll: Duration,
    /// Where the API server finds the host, if it answers admission and converts.
    pub(super) webhooks: Option<String>,
    pub(super) leases: Leases,
}

impl Parts {
    /// The lifecycle, the task that writes its events, and what answers reviews.
    pub(super) fn lifecycle(self) -> (Lifecycle, JoinHandle<()>, Option<InProcessAdmission>) {
        let (metrics, discovery) = (Metrics::new(), Discovery::new(self.client.clone()));
        let informers = Informers::new(self.client.clone(), discovery.clone());
        let writer = Writer::new(self.client, discovery, informers.clone(), metrics.clone());
        let (recorder, recording) = Recorder::start(Arc::clone(writer.requests()));
        let shared = Shared::new(informers, writer, recorder, metrics, self.leases);
        let shared = Shared { rehearsal: self.rehearsal, ..shared };
        let options = lifecycle::Options {
            plugins: self.plugins,
            fixed: Some(self.looks),
            poll: self.poll,
            pulled: None,
            puller: None,
            declared: None,
            caches: None,
            resync_seconds: self.resync_seconds,
            grant_what_is_asked: false,
            unstated_deadline_seconds: None,
            host_object: host_object(),
            object_versions: None,
            object_events: None,
            answers_admission: self.webhooks.is_some(),
        };
        let lifecycle = Lifecycle::new(options, shared.clone(), self.engine, self.http);
        let admission =
            { self.webhooks }.map(|url| InProcessAdmission::open(&url, self.poll, shared, lifecycle.handle()));
        (lifecycle, recording, admission)
    }
}

/// The plugins that cannot run and those that do not run yet, a sentence for each.
pub(super) fn states(described: &Value) -> (Vec<String>, Vec<String>) {
    let (mut faults, mut pending) = (Vec::new(), Vec::new());
    for plugin in described.get("plugins").and_then(Value::as_array).into_iter().flatten() {
        let text = |field: &str| plugin.get(field).and_then(Value::as_str).unwrap_or_default();
        let name = if text("name").is_empty() { text("file") } else { text("name") };
        let waits = plugin.get("waitingFor").and_then(Value::as_array).into_iter().flatten();
        let (state, waits) = (text("state"), waits.filter_map(Value::as_str).collect::<Vec<_>>());
        if !UNDER_WAY.contains(&state) {
            faults.push(format!("plugin {name} does not run ({state}): {}", text("reason")));
        } else if state != "active" || !waits.is_empty() {
            pending.push(format!("plugin {name} waits ({state}): {}", waits.join("; ")));
        }
    }
    (faults, pending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_plugin_that_cannot_run_is_told_with_its_reasons() {
        let described = json!({"plugins": [
            {"name": "a", "state": "active", "waitingFor": []},
            {"name": "b", "state": "syncing", "waitingFor": ["v1 Pod: not served"]},
            {"name": "c", "state": "awaiting-grant", "reason": "get pods; list pods", "missing": ["get pods", "list pods"]},
            {"file": "d.wasm", "state": "failed", "reason": "no plugin"},
        ]});
        let (faults, pending) = states(&described);
        let expected = [
            "plugin c does not run (awaiting-grant): get pods; list pods",
            "plugin d.wasm does not run (failed): no plugin",
        ];
        assert_eq!(faults, expected);
        assert_eq!(pending, ["plugin b waits (syncing): v1 Pod: not served"]);
    }
}
