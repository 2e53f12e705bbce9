//! A host that rehearses: the same controllers on a copy of the cluster, without Leases, admission, events and an admin server.

use super::in_process::{Parts, states};
use crate::controller::Rehearsal;
use crate::lease::Leases;
use crate::lifecycle::Handle;
use crate::plugin::{Engine, HttpGate};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Interval of the checks.
const LOOK: Duration = Duration::from_millis(50);

/// The host has to be idle for this long: a watch event may be on its way.
const QUIET: Duration = Duration::from_millis(400);

/// A copy of the cluster does not change by itself, so a resync would find nothing.
const RESYNC_SECONDS: u32 = 86_400;

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
    let parts = Parts {
        client,
        plugins: options.plugins,
        looks: watch::channel(0).1,
        engine: options.engine,
        http: HttpGate::new(),
        rehearsal: Some(Arc::clone(&rehearsal)),
        resync_seconds: Some(RESYNC_SECONDS),
        poll: crate::lifecycle::POLL,
        webhooks: None,
        leases: Leases::none(),
    };
    let (lifecycle, recording, _) = parts.lifecycle();
    recording.abort();
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
