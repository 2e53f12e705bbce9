//! Wires the parts: start order, readiness, shutdown.

use crate::admission::{self, Admission};
use crate::api::{self, Discovery, GroupVersionKind, ObjectKey};
use crate::apply::Writer;
use crate::apply::events::{Recorder, Regarding};
use crate::controller::Shared;
use crate::informer::{Informers, WatchSpec};
use crate::lease::{self, Leases};
use crate::lifecycle::{self, Lifecycle};
use crate::metrics::Metrics;
use crate::oci::{self, Puller, Standings};
use crate::plugin::{Engine, EngineOptions, HttpGate, directory};
use anyhow::Context as _;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Events still waiting get this long when the host stops.
const FLUSH: Duration = Duration::from_secs(3);

/// How often the objects in the caches are counted for /metrics.
const COUNTING: Duration = Duration::from_secs(5);

/// What `oarlock run` and `oarlock dev` are told.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directory of `.wasm` files, each with its grant beside it.
    pub plugins: PathBuf,
    /// What to pull from registries beside it.
    pub oci: Option<oci::Options>,
    /// How to reach the API server.
    pub client: api::client::Options,
    /// Where /livez, /readyz, /metrics and /plugins are served.
    pub admin_addr: SocketAddr,
    /// Instead of every plugin's own resync period.
    pub resync_seconds: Option<u32>,
    /// Write and read as one ServiceAccount per plugin, in this namespace. `None`: the host does everything as itself.
    pub impersonate: Option<String>,
    /// How plugins are compiled.
    pub engine: EngineOptions,
    /// Grant every plugin without a grant file what its manifest asks for.
    pub grant_what_is_asked: bool,
    /// How admission is answered. `None`: it is not.
    pub admission: Option<admission::Options>,
    /// How plugins are shared with other hosts. `None`: this is the only one.
    pub leases: Option<lease::Options>,
    /// Admission is answered for this long at least after `stop`.
    pub shutdown_delay: Duration,
}

/// Runs until `stop` is cancelled, then drains.
///
/// # Errors
///
/// What makes running pointless: no API server configured, no plugin directory, the admin address is taken, wasmtime does not run
/// here. Plugins that cannot be loaded are reported and do not stop the others.
pub async fn run(options: Options, stop: CancellationToken) -> anyhow::Result<()> {
    let config = api::client::load_config(&options.client).await?;
    let url = config.cluster_url.to_string();
    let client = api::client::renewing(options.client.clone(), config)?;
    directory::scan(&options.plugins).context("the plugin directory cannot be used")?;
    let puller = match options.oci {
        Some(options) => Some(Puller::start(options).await.context("plugins cannot be pulled")?),
        None => None,
    };
    let engine = Engine::new(options.engine)?;
    let leases = match options.leases {
        Some(leases) => Leases::start(leases, options.client).await?,
        None => Leases::none(),
    };
    let metrics = Metrics::new();
    let discovery = Discovery::new(client.clone());
    let informers = Informers::new(client.clone(), discovery.clone());
    let mut writer = Writer::new(client, discovery, informers.clone(), metrics.clone());
    if let Some(namespace) = &options.impersonate {
        writer = writer.impersonating(namespace);
    }
    let (recorder, recording) = Recorder::start(writer.clone());
    let shared = Shared { informers, writer, recorder, metrics: metrics.clone(), leases: leases.clone() };
    let lifecycle = Lifecycle::new(
        lifecycle::Options {
            plugins: options.plugins.clone(),
            pulled: puller.as_ref().map(Puller::standings),
            resync_seconds: options.resync_seconds,
            grant_what_is_asked: options.grant_what_is_asked,
            host_object: host_object(),
            answers_admission: options.admission.is_some(),
        },
        shared.clone(),
        engine,
        HttpGate::new(),
    );

    let (liveness, readiness) = (crate::admin::Liveness::default(), crate::admin::Readiness::default());
    let loaded = readiness.condition("plugins", "the plugins are being compiled");
    let admin_stop = CancellationToken::new();
    let listener = crate::admin::bind(options.admin_addr).await?;
    let admin_addr = listener.local_addr()?;
    let (shown, asked, leaving) = (lifecycle.handle(), lifecycle.handle(), lifecycle.handle());
    let staying = readiness.condition("running", "it begins");
    staying.met();
    let state = crate::admin::AdminState {
        metrics,
        liveness: liveness.clone(),
        readiness,
        plugins: Arc::new(move || shown.describe()),
        act: Arc::new(move |action| {
            let asked = asked.clone();
            Box::pin(async move { asked.act(action).await })
        }),
    };
    tracing::info!(%admin_addr, "admin server listening");
    let admin = tokio::spawn(crate::admin::serve(listener, state, admin_stop.clone()));

    tracing::info!(api_server = url, plugins = %options.plugins.display(), "oarlock {}", env!("CARGO_PKG_VERSION"));
    let counting = tokio::spawn(count(shared.clone(), puller.as_ref().map(Puller::standings)));
    let door = match options.admission {
        Some(options) => Some(Admission::open(options, shared.clone(), lifecycle.handle()).await?),
        None => None,
    };
    let closed = CancellationToken::new();
    let ending = Ending { staying, leases, plugins: leaving, door, delay: options.shutdown_delay };
    let ending = tokio::spawn(ending.run(stop, closed.clone()));
    let pulse = liveness.watch("lifecycle");
    lifecycle.run(closed, || loaded.met(), || pulse.beat()).await;
    drop(pulse);
    let _ = ending.await;

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

/// What happens between the signal to stop and the end of the plugins.
struct Ending {
    staying: crate::admin::Condition,
    leases: Leases,
    plugins: lifecycle::Handle,
    door: Option<Admission>,
    delay: Duration,
}

impl Ending {
    /// Reconciling goes to other hosts first; admission is answered until nobody asks any more, and reviews under way are finished before
    /// the plugins that answer them end.
    async fn run(self, stop: CancellationToken, closed: CancellationToken) {
        stop.cancelled().await;
        tracing::info!("stopping: reconciles under way are finished first");
        self.staying.waiting("it is stopping");
        self.leases.stop_taking();
        // Who deletes them while the host ends, as when it is uninstalled, must not get them back.
        if let Some(door) = &self.door {
            door.leave();
        }
        tokio::join!(self.plugins.hand_over(), tokio::time::sleep(self.delay));
        if let Some(door) = self.door {
            door.close().await;
        }
        closed.cancel();
    }
}

/// What the host's own events are events of: its Pod, as the downward API tells it; outside of a cluster the namespace `default`.
fn host_object() -> Regarding {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let core = |kind: &str| GroupVersionKind::new("", "v1", kind);
    match (variable("POD_NAMESPACE"), variable("POD_NAME")) {
        (Some(namespace), Some(name)) => {
            Regarding::named(core("Pod"), ObjectKey::new(namespace, name), &variable("POD_UID").unwrap_or_default())
        }
        _ => Regarding::named(core("Namespace"), ObjectKey::new("", "default"), ""),
    }
}

/// Keeps the gauges of informers and registries up to date.
async fn count(shared: Shared, pulled: Option<Standings>) {
    let mut counted: BTreeMap<GroupVersionKind, (usize, u64)> = BTreeMap::new();
    let mut relisted: BTreeMap<WatchSpec, u64> = BTreeMap::new();
    loop {
        let mut by_kind: BTreeMap<GroupVersionKind, (usize, u64)> = BTreeMap::new();
        let stats = shared.informers.stats();
        for watch in &stats {
            let (objects, relists) = by_kind.entry(watch.spec.gvk.clone()).or_default();
            *objects += watch.objects;
            // A watch that ended and began again counts from zero; its first list is none that was made again.
            let again = watch.lists.saturating_sub(1);
            let before = relisted.get(&watch.spec).filter(|before| **before <= again);
            *relists += again - before.copied().unwrap_or_default();
        }
        relisted = stats.into_iter().map(|watch| (watch.spec, watch.lists.saturating_sub(1))).collect();
        for gone in counted.keys().filter(|gvk| !by_kind.contains_key(gvk)) {
            shared.metrics.remove_informer(&gone.group, &gone.kind);
        }
        for (gvk, (objects, relists)) in &by_kind {
            shared.metrics.informer(&gvk.group, &gvk.kind, *objects, *relists);
        }
        counted = by_kind;
        for (reference, standing) in pulled.as_ref().map(Standings::now).unwrap_or_default() {
            shared.metrics.set_registry_answers(&reference, standing.problem.is_none());
        }
        tokio::time::sleep(COUNTING).await;
    }
}
