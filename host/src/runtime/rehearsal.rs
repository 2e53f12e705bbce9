//! A host that rehearses: the same controllers on a copy of the cluster, without Leases, admission, events and an admin server.

use super::host_object;
use crate::api::Discovery;
use crate::apply::Writer;
use crate::apply::events::Recorder;
use crate::controller::{Rehearsal, Shared};
use crate::informer::Informers;
use crate::lease::Leases;
use crate::lifecycle::{self, Handle, Lifecycle};
use crate::metrics::Metrics;
use crate::plugin::{Engine, HttpGate};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Interval of the checks.
const LOOK: Duration = Duration::from_millis(50);

/// The host has to be idle for this long: a watch event may be on its way.
const QUIET: Duration = Duration::from_millis(400);

/// A copy of the cluster does not change by itself, so a resync would find nothing.
const RESYNC_SECONDS: u32 = 86_400;

/// States of a version that runs, or is about to.
const UNDER_WAY: [&str; 3] = ["compiling", "syncing", "active"];

/// A version that waits for its watches waits for this long.
const SYNCED_WITHIN: Duration = Duration::from_secs(20);

/// Configuration of a rehearsal.
#[derive(Debug)]
pub struct RehearsalOptions {
    /// Directory of `.wasm` files, each with its grant beside it.
    pub plugins: PathBuf,
    /// The engine.
    pub engine: Engine,
    /// The rules of the rehearsal.
    pub rehearsal: Arc<Rehearsal>,
    /// Time limit.
    pub limit: Duration,
}

/// Runs the plugins on a copy of the cluster until nothing is left to do. Returns why the rehearsal is incomplete, a sentence for each
/// plugin.
///
/// * `client` - of the copy. The plugins change it.
/// * `progress` - called at least every second.
pub async fn rehearse(client: kube::Client, options: RehearsalOptions, progress: impl Fn(&Rehearsal)) -> Vec<String> {
    let rehearsal = options.rehearsal;
    let (metrics, discovery) = (Metrics::new(), Discovery::new(client.clone()));
    let informers = Informers::new(client.clone(), discovery.clone());
    let writer = Writer::new(client, discovery, informers.clone(), metrics.clone());
    let (recorder, recording) = Recorder::start(Arc::clone(writer.requests()));
    recording.abort();
    let shared = Shared::new(informers, writer, recorder, metrics, Leases::none());
    let shared = Shared { rehearsal: Some(Arc::clone(&rehearsal)), ..shared };
    let lifecycle = Lifecycle::new(
        lifecycle::Options {
            plugins: options.plugins,
            pulled: None,
            caches: None,
            resync_seconds: Some(RESYNC_SECONDS),
            grant_what_is_asked: false,
            unstated_deadline_seconds: None,
            host_object: host_object(),
            answers_admission: false,
        },
        shared,
        options.engine,
        HttpGate::new().withholding(Arc::clone(rehearsal.withheld())),
    );
    let (handle, stop, loaded) = (lifecycle.handle(), CancellationToken::new(), AtomicBool::new(false));
    let running = lifecycle.run(stop.clone(), || loaded.store(true, Relaxed), || {});
    let waiting = async {
        let faults = wait(&handle, &loaded, &rehearsal, options.limit, &progress).await;
        stop.cancel();
        faults
    };
    let ((), faults) = tokio::join!(running, waiting);
    faults
}

/// Waits until every plugin runs and is idle, cannot run, or the time is over.
async fn wait(
    handle: &Handle,
    loaded: &AtomicBool,
    rehearsal: &Rehearsal,
    limit: Duration,
    progress: &impl Fn(&Rehearsal),
) -> Vec<String> {
    let (began, mut told) = (Instant::now(), Instant::now());
    let mut last = (0, 0);
    let mut changed = Instant::now();
    let mut waiting = None;
    loop {
        tokio::time::sleep(LOOK).await;
        if told.elapsed() >= Duration::from_secs(1) {
            told = Instant::now();
            progress(rehearsal);
        }
        let (faults, pending) = states(&handle.describe());
        let loaded = loaded.load(Relaxed);
        let idle = loaded && handle.controllers().iter().all(|controller| controller.is_idle());
        let now = (rehearsal.reconciles(), rehearsal.revision());
        if now != last || !idle {
            (last, changed) = (now, Instant::now());
        }
        let late = began.elapsed() >= limit;
        // A kind that the copy does not serve does not come.
        let stuck = waiting.is_some_and(|since: Instant| since.elapsed() >= SYNCED_WITHIN);
        waiting = if loaded && !pending.is_empty() { waiting.or(Some(Instant::now())) } else { None };
        if (idle && pending.is_empty() && changed.elapsed() >= QUIET) || late || stuck {
            for controller in handle.controllers() {
                rehearsal.out_of_time(controller.name(), controller.keys());
            }
            let late = (late && !idle).then(|| format!("time limit of {} s exceeded", limit.as_secs()));
            return faults.into_iter().chain(pending).chain(late).collect();
        }
    }
}

/// The plugins that cannot run and those that do not run yet, a sentence for each.
fn states(described: &Value) -> (Vec<String>, Vec<String>) {
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
