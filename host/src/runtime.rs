//! Wires the parts: start order, readiness, shutdown.

use crate::api::{self, Discovery, GroupVersionKind};
use crate::apply::Writer;
use crate::apply::events::Recorder;
use crate::controller::{Controller, Shared};
use crate::grants::Grants;
use crate::informer::Informers;
use crate::metrics::Metrics;
use crate::plugin::cache::Cache;
use crate::plugin::directory::{self, Candidate};
use crate::plugin::{Component, Engine, Guest, HttpGate, inspect, load};
use anyhow::Context as _;
use futures::StreamExt as _;
use oarlock_manifest::{PluginGrant, PluginManifest};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Reconciles in work get this long when the host stops.
const DRAIN: Duration = Duration::from_secs(20);

/// Events still waiting get this long after that.
const FLUSH: Duration = Duration::from_secs(3);

/// How often the objects in the caches are counted for /metrics.
const COUNTING: Duration = Duration::from_secs(5);

/// What `oarlock run` and `oarlock dev` are told.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directory of `.wasm` files, each with its grant beside it.
    pub plugins: PathBuf,
    /// How to reach the API server.
    pub client: api::client::Options,
    /// Where /livez, /readyz, /metrics and /plugins are served.
    pub admin_addr: SocketAddr,
    /// Instead of every plugin's own resync period.
    pub resync_seconds: Option<u32>,
    /// Write and read as one ServiceAccount per plugin, in this namespace. `None`: the host does everything as itself.
    pub impersonate: Option<String>,
    /// Grant every plugin without a grant file what its manifest asks for.
    pub grant_what_is_asked: bool,
}

/// One file of the plugin directory and what became of it.
#[derive(Debug)]
struct Slot {
    file: String,
    state: SlotState,
}

#[derive(Debug)]
enum SlotState {
    Compiling,
    Failed { name: Option<String>, reason: String },
    AwaitingGrant { name: String },
    Running { name: String, controller: Arc<Controller> },
}

type Slots = Arc<Mutex<Vec<Slot>>>;

/// A plugin that was loaded and may run.
struct Loaded {
    manifest: PluginManifest,
    component: Component,
    guest: Guest,
}

/// Runs until `stop` is cancelled, then drains.
///
/// # Errors
///
/// What makes running pointless: no API server configured, no plugin directory, the admin address is taken. Plugins that cannot
/// be loaded are reported and do not stop the others.
pub async fn run(options: Options, stop: CancellationToken) -> anyhow::Result<()> {
    let config = api::client::load_config(&options.client).await?;
    let url = config.cluster_url.to_string();
    let client = api::client::build(config)?;
    let candidates = directory::scan(&options.plugins).context("the plugin directory cannot be used")?;
    let metrics = Metrics::new();
    let discovery = Discovery::new(client.clone());
    let informers = Informers::new(client.clone(), discovery.clone());
    let mut writer = Writer::new(client, discovery, informers.clone(), metrics.clone());
    if let Some(namespace) = &options.impersonate {
        writer = writer.impersonating(namespace);
    }
    let (recorder, recording) = Recorder::start(writer.clone());
    let shared = Shared { informers, writer, recorder, metrics: metrics.clone() };

    let slots: Slots = Arc::default();
    let readiness = crate::admin::Readiness::default();
    let loaded = readiness.condition("plugins", "the plugins are being compiled");
    let listing = Arc::clone(&slots);
    let admin_stop = CancellationToken::new();
    let listener = crate::admin::bind(options.admin_addr).await?;
    let admin_addr = listener.local_addr()?;
    let state =
        crate::admin::AdminState { metrics: metrics.clone(), readiness, plugins: Arc::new(move || describe(&listing)) };
    tracing::info!(%admin_addr, "admin server listening");
    let admin = tokio::spawn(crate::admin::serve(listener, state, admin_stop.clone()));

    tracing::info!(api_server = url, plugins = %options.plugins.display(), files = candidates.len(), "oarlock {}", env!("CARGO_PKG_VERSION"));
    if candidates.is_empty() {
        tracing::warn!(plugins = %options.plugins.display(), "the plugin directory has no .wasm file");
    }
    let counting = tokio::spawn(count_objects(shared.clone()));
    tokio::select! {
        () = stop.cancelled() => {}
        () = start_plugins(&options, candidates, &shared, &slots) => loaded.met(),
    }
    stop.cancelled().await;

    tracing::info!("stopping: reconciles in work are finished first");
    let controllers: Vec<_> = lock(&slots)
        .drain(..)
        .filter_map(|slot| match slot.state {
            SlotState::Running { controller, .. } => Some(controller),
            _ => None,
        })
        .collect();
    futures::future::join_all(controllers.iter().map(|c| c.stop(DRAIN))).await;
    drop(controllers);
    counting.abort();
    let _ = counting.await;
    drop(shared);
    admin_stop.cancel();
    // The recorder ends when its last handle is gone.
    let _ = tokio::time::timeout(FLUSH, recording).await;
    let _ = tokio::time::timeout(FLUSH, admin).await;
    tracing::info!("stopped");
    Ok(())
}

/// Compiles the candidates, at most half the cores at once, and starts them in the order of their file names.
async fn start_plugins(options: &Options, candidates: Vec<Candidate>, shared: &Shared, slots: &Slots) {
    *lock(slots) = candidates.iter().map(|c| Slot { file: c.file_name.clone(), state: SlotState::Compiling }).collect();
    let engine = match Engine::new() {
        Ok(engine) => engine,
        Err(e) => {
            for (i, _) in candidates.iter().enumerate() {
                fail(slots, i, None, format!("{e:#}"));
            }
            return;
        }
    };
    let http = HttpGate::new();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let throttle = Arc::new(tokio::sync::Semaphore::new((cores / 2).max(1)));
    // In order, so that of two files with one name the first runs; no file waits for one that comes after it.
    let mut loads: futures::stream::FuturesOrdered<_> = candidates
        .iter()
        .enumerate()
        .map(|(i, candidate)| {
            let (engine, http, throttle) = (&engine, &http, &throttle);
            async move {
                let _turn = throttle.acquire().await;
                (i, load_one(options, candidate, i, engine, http, shared, slots).await)
            }
        })
        .collect();
    let mut status_owner: BTreeMap<GroupVersionKind, String> = BTreeMap::new();
    while let Some((i, loaded)) = loads.next().await {
        if let Some(loaded) = loaded {
            start_one(i, loaded, shared, slots, &mut status_owner);
        }
    }
}

async fn load_one(
    options: &Options,
    candidate: &Candidate,
    index: usize,
    engine: &Engine,
    http: &HttpGate,
    shared: &Shared,
    slots: &Slots,
) -> Option<Loaded> {
    let began = tokio::time::Instant::now();
    let bytes = match candidate.read() {
        Ok(bytes) => bytes,
        Err(e) => {
            fail(slots, index, None, crate::chain(&e));
            return None;
        }
    };
    let stranger = inspect::stranger(&shared.metrics, http, &candidate.file_name);
    let described = load(engine, bytes, &stranger).await;
    shared.metrics.remove_plugin(&candidate.file_name);
    let (component, mut manifest) = match described {
        Ok(described) => described,
        Err(e) => {
            fail(slots, index, None, crate::chain(&e));
            return None;
        }
    };
    if let Some(seconds) = options.resync_seconds {
        manifest.resync_seconds = seconds.max(1);
    }
    let grants = match grants_for(options, candidate, &manifest) {
        Ok(Some(grants)) => grants,
        Ok(None) => {
            tracing::warn!(
                plugin = manifest.name,
                file = candidate.file_name,
                "awaiting a grant: write what it may do into {} (oarlock grant {} prints what it asks for)",
                candidate.grant_path().display(),
                candidate.path.display()
            );
            set(slots, index, SlotState::AwaitingGrant { name: manifest.name });
            return None;
        }
        Err(reason) => {
            fail(slots, index, Some(manifest.name), reason);
            return None;
        }
    };
    let duration_ms = began.elapsed().as_millis();
    tracing::info!(
        plugin = manifest.name,
        version = manifest.version,
        file = candidate.file_name,
        duration_ms,
        "plugin loaded"
    );
    let guest = Guest {
        plugin: manifest.name.clone(),
        grants: Arc::new(grants),
        cache: Arc::new(Cache::default()),
        http: http.clone(),
        metrics: shared.metrics.plugin(&manifest.name),
    };
    Some(Loaded { manifest, component, guest })
}

/// The grant beside the file; without one, in `dev`, what the manifest asks for.
fn grants_for(options: &Options, candidate: &Candidate, manifest: &PluginManifest) -> Result<Option<Grants>, String> {
    let mut grant: PluginGrant = match candidate.grant().map_err(|e| crate::chain(&e))? {
        Some(grant) => grant,
        None if options.grant_what_is_asked => {
            tracing::warn!(
                plugin = manifest.name,
                "granted everything its manifest asks for, because there is no {}",
                candidate.grant_path().display()
            );
            Grants::asked(manifest, BTreeMap::new(), &|_| None)
        }
        None => return Ok(None),
    };
    if options.resync_seconds.is_some() {
        grant.resync_seconds = options.resync_seconds;
    }
    let folder = candidate.path.parent().unwrap_or_else(|| std::path::Path::new("."));
    let grants = Grants::new(&grant, folder)
        .map_err(|e| format!("{}: {}", candidate.grant_path().display(), crate::chain(&e)))?;
    Ok(Some(grants))
}

fn start_one(
    index: usize,
    loaded: Loaded,
    shared: &Shared,
    slots: &Slots,
    status_owner: &mut BTreeMap<GroupVersionKind, String>,
) {
    let name = loaded.manifest.name.clone();
    let taken = lock(slots).iter().find_map(|slot| match &slot.state {
        SlotState::Running { name: running, .. } if *running == name => Some(slot.file.clone()),
        _ => None,
    });
    if let Some(other) = taken {
        fail(slots, index, Some(name.clone()), format!("{other} is plugin {name} already, and runs"));
        return;
    }
    if loaded.manifest.manage_status {
        for primary in &loaded.manifest.primaries {
            let gvk = GroupVersionKind::new(primary.group.clone(), primary.version.clone(), primary.kind.clone());
            if let Some(other) = status_owner.get(&gvk) {
                let reason = format!("plugin {other} keeps the status of {gvk} already (manageStatus); only one can");
                fail(slots, index, Some(name), reason);
                return;
            }
            status_owner.insert(gvk, name.clone());
        }
    }
    let controller = Controller::start(&name, shared.clone(), loaded.manifest, loaded.component, loaded.guest);
    set(slots, index, SlotState::Running { name, controller });
}

fn fail(slots: &Slots, index: usize, name: Option<String>, reason: String) {
    let file = lock(slots).get(index).map(|s| s.file.clone()).unwrap_or_default();
    tracing::error!(file, plugin = name.as_deref().unwrap_or(""), reason, "plugin not loaded");
    set(slots, index, SlotState::Failed { name, reason });
}

fn set(slots: &Slots, index: usize, state: SlotState) {
    if let Some(slot) = lock(slots).get_mut(index) {
        slot.state = state;
    }
}

fn lock(slots: &Slots) -> std::sync::MutexGuard<'_, Vec<Slot>> {
    slots.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The answer to /plugins.
fn describe(slots: &Slots) -> Value {
    let list: Vec<Value> = lock(slots)
        .iter()
        .map(|slot| match &slot.state {
            SlotState::Compiling => json!({"file": slot.file, "state": "compiling"}),
            SlotState::Failed { name, reason } => {
                json!({"file": slot.file, "name": name, "state": "failed", "reason": reason})
            }
            SlotState::AwaitingGrant { name } => json!({"file": slot.file, "name": name, "state": "awaiting-grant"}),
            SlotState::Running { name, controller } => {
                let mut entry = controller.describe();
                if let Some(fields) = entry.as_object_mut() {
                    fields.insert("file".to_owned(), json!(slot.file));
                    fields.insert("name".to_owned(), json!(name));
                }
                entry
            }
        })
        .collect();
    json!({"plugins": list})
}

/// Keeps the informer gauges up to date.
async fn count_objects(shared: Shared) {
    loop {
        let mut by_kind: BTreeMap<GroupVersionKind, usize> = BTreeMap::new();
        for watch in shared.informers.stats() {
            *by_kind.entry(watch.spec.gvk).or_default() += watch.objects;
        }
        for (gvk, objects) in by_kind {
            shared.metrics.set_informer_objects(&gvk.group, &gvk.kind, objects);
        }
        tokio::time::sleep(COUNTING).await;
    }
}
