//! Runtime of the host: wiring of the parts, start order, readiness, shutdown.

mod gauges;
mod program;
mod rehearsal;

pub use rehearsal::{RehearsalOptions, rehearse};

use crate::admission::{self, Admission};
use crate::api::{self, Discovery, GroupVersionKind, ObjectKey};
use crate::apply::Writer;
use crate::apply::events::{Recorder, Regarding};
use crate::controller::{Pauses, Shared};
use crate::informer::Informers;
use crate::lease::{self, LeaderElection, Leases};
use crate::lifecycle::{self, Lifecycle};
use crate::metrics::Metrics;
use crate::oci::{self, Puller};
use crate::plugin::{Engine, EngineOptions, HttpGate, directory};
use crate::plugin_objects::{self, PluginObjects};
use anyhow::Context as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Time for waiting events when the host stops.
const FLUSH: Duration = Duration::from_secs(3);

/// Configuration of `oarlock run` and `oarlock dev`.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directory of `.wasm` files, each with its grant beside it.
    pub plugins: PathBuf,
    /// Plugins to pull from registries in addition.
    pub oci: Option<oci::Options>,
    /// Connection to the API server.
    pub client: api::client::Options,
    /// Listen address of /livez, /readyz, /metrics and /plugins.
    pub admin_addr: SocketAddr,
    /// Replaces the resync period of every plugin.
    pub resync_seconds: Option<u32>,
    /// Namespace of one ServiceAccount per plugin, as which the plugins' writes and reads are sent. `None`: the host sends all as itself.
    pub impersonate: Option<String>,
    /// How plugins are compiled.
    pub engine: EngineOptions,
    /// Grants a plugin without a grant file everything in its manifest.
    pub grant_what_is_asked: bool,
    /// The deadline of a reconcile where no grant states one, instead of the usual one.
    pub unstated_deadline_seconds: Option<u32>,
    /// How admission is answered. `None`: it is not.
    pub admission: Option<admission::Options>,
    /// Configuration of the Plugin objects. `None`: there are none.
    pub plugin_objects: Option<plugin_objects::Options>,
    /// Configuration of leader election. `None`: this is the only host.
    pub leases: Option<lease::Options>,
    /// Least time after `stop` in which admission reviews are still answered.
    pub shutdown_delay: Duration,
}

/// Runs until `stop` is cancelled, then drains.
///
/// # Errors
///
/// Running is impossible: no API server is configured, the plugin directory does not exist, the admin address is in use, or wasmtime does
/// not run here. Plugins that cannot be loaded are reported and do not stop the others.
pub async fn run(options: Options, stop: CancellationToken) -> anyhow::Result<()> {
    run_on(None, options, stop).await
}

/// As [`run`], on an admin address that is bound already.
///
/// * `listener` - from [`admin::bind`](crate::admin::bind); without it `admin_addr` is bound when the rest is ready.
///
/// # Errors
///
/// As [`run`].
pub async fn run_on(listener: Option<TcpListener>, options: Options, stop: CancellationToken) -> anyhow::Result<()> {
    let config = api::client::load_config(&options.client).await?;
    let url = config.cluster_url.to_string();
    let client = api::client::renewing(options.client.clone(), config)?;
    directory::scan(&options.plugins).context("cannot use the plugin directory")?;
    let puller = match options.oci {
        Some(options) => Some(Puller::start(options).await.context("cannot start pulling plugins")?),
        None => None,
    };
    let engine = Engine::new(options.engine.clone())?;
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
    let (recorder, recording) = Recorder::start(Arc::clone(writer.requests()));
    let mut shared = Shared::new(informers, writer, recorder, metrics.clone(), leases.clone());
    if options.plugin_objects.is_some() {
        // Until the objects are read.
        shared.pauses = Pauses::unknown();
    }
    let lifecycle = Lifecycle::new(
        lifecycle::Options {
            plugins: options.plugins.clone(),
            pulled: puller.as_ref().map(Puller::pull_statuses),
            // A developer restarts to try the same version again.
            caches: options.engine.cache.clone().filter(|_| !options.grant_what_is_asked),
            resync_seconds: options.resync_seconds,
            grant_what_is_asked: options.grant_what_is_asked,
            unstated_deadline_seconds: options.unstated_deadline_seconds,
            host_object: host_object(),
            answers_admission: options.admission.is_some(),
        },
        shared.clone(),
        engine,
        HttpGate::new(),
    );

    let (liveness, readiness) = (crate::admin::Liveness::default(), crate::admin::Readiness::default());
    let loaded = readiness.condition("plugins", "the plugins are being compiled");
    let objects_known = options.plugin_objects.as_ref().map(|options| {
        let reason = format!("plugins.oarlock.dev in namespace {} are not listed yet", options.namespace);
        readiness.condition("plugin-objects", &reason)
    });
    let admin_stop = CancellationToken::new();
    let listener = bound(listener, options.admin_addr).await?;
    let admin_addr = listener.local_addr()?;
    let staying = readiness.condition("running", "it begins");
    staying.met();
    let state = admin_state(metrics, liveness.clone(), readiness, lifecycle.handle());
    tracing::info!(%admin_addr, "admin server listening");
    let admin = tokio::spawn(crate::admin::serve(listener, state, admin_stop.clone()));

    tracing::info!(api_server = url, plugins = %options.plugins.display(), "oarlock {}", env!("CARGO_PKG_VERSION"));
    let pull_statuses = puller.as_ref().map(Puller::pull_statuses);
    let counting = tokio::spawn(gauges::keep(shared.clone(), lifecycle.handle(), pull_statuses));
    let objects = options.plugin_objects.zip(objects_known);
    let duties = Duties::start(options.admission, objects, &shared, &lifecycle.handle()).await?;
    let (closed, delay) = (CancellationToken::new(), options.shutdown_delay);
    let ending = Ending { staying, leases, plugins: lifecycle.handle(), duties, delay };
    let ending = tokio::spawn(ending.run(stop, closed.clone()));
    let pulse = liveness.watch("lifecycle");
    lifecycle.run(closed, || loaded.met(), || pulse.beat()).await;
    drop(pulse);
    let _ = ending.await;

    counting.abort();
    let _ = counting.await;
    drop(shared);
    admin_stop.cancel();
    // The recorder ends with its last handle.
    let _ = tokio::time::timeout(FLUSH, recording).await;
    let _ = tokio::time::timeout(FLUSH, admin).await;
    tracing::info!("stopped");
    Ok(())
}

async fn bound(listener: Option<TcpListener>, addr: SocketAddr) -> Result<TcpListener, crate::admin::Error> {
    match listener {
        Some(listener) => Ok(listener),
        None => crate::admin::bind(addr).await,
    }
}

fn admin_state(
    metrics: Metrics,
    liveness: crate::admin::Liveness,
    readiness: crate::admin::Readiness,
    handle: lifecycle::Handle,
) -> crate::admin::AdminState {
    let shown = handle.clone();
    crate::admin::AdminState {
        metrics,
        liveness,
        readiness,
        plugins: Arc::new(move || shown.describe()),
        act: Arc::new(move |action| {
            let asked = handle.clone();
            Box::pin(async move { asked.act(action).await })
        }),
    }
}

/// The host's own duties beside its plugins. Of several hosts, the holder of the host's own Lease does them.
struct Duties {
    election: LeaderElection,
    plugin_objects: Option<JoinHandle<()>>,
    admission_server: Option<Admission>,
}

impl Duties {
    /// * `objects` - with the condition that the objects are known.
    async fn start(
        admission: Option<admission::Options>,
        objects: Option<(plugin_objects::Options, crate::admin::Condition)>,
        shared: &Shared,
        handle: &lifecycle::Handle,
    ) -> anyhow::Result<Self> {
        let any = admission.is_some() || objects.is_some();
        let election = if any { shared.leases.host_election() } else { LeaderElection::for_ever() };
        let plugin_objects = objects.map(|(options, known)| {
            let objects = PluginObjects::new(options, shared.clone(), handle.clone(), election.clone());
            tokio::spawn(objects.run(move || known.met()))
        });
        let admission_server = match admission {
            Some(options) => Some(Admission::open(options, shared.clone(), handle.clone(), election.clone()).await?),
            None => None,
        };
        Ok(Self { election, plugin_objects, admission_server })
    }

    /// Stops writing objects of the host. Admission reviews are still answered.
    async fn leave(&mut self) {
        if let Some(objects) = self.plugin_objects.take() {
            objects.abort();
            let _ = objects.await;
        }
        match &self.admission_server {
            // It leaves the election when it has stopped writing.
            Some(admission_server) => admission_server.leave(),
            None => self.election.leave().await,
        }
    }
}

/// What happens between the signal to stop and the end of the plugins.
struct Ending {
    staying: crate::admin::Condition,
    leases: Leases,
    plugins: lifecycle::Handle,
    duties: Duties,
    delay: Duration,
}

impl Ending {
    /// Reconciling moves to other hosts first. Admission reviews are answered until no more arrive, and those in flight finish before the
    /// plugins that answer them end.
    async fn run(mut self, stop: CancellationToken, closed: CancellationToken) {
        stop.cancelled().await;
        tracing::info!("stopping: waiting for the running reconciles");
        self.staying.waiting("it is stopping");
        self.leases.stop_acquiring();
        // A client that deletes the configurations while the host ends, as in an uninstallation, must not get them back.
        self.duties.leave().await;
        tokio::join!(self.plugins.hand_over(), tokio::time::sleep(self.delay));
        if let Some(admission_server) = self.duties.admission_server {
            admission_server.close().await;
        }
        closed.cancel();
    }
}

/// The object of the host's own events: its Pod, from the downward API; outside of a cluster the namespace `default`.
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
