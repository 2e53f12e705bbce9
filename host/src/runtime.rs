//! Runtime of the host: wiring of the parts, start order, readiness, shutdown.

mod gauges;
mod in_process;
mod page;
mod program;
mod recordings;
mod rehearsal;
mod simulated;

pub use rehearsal::{RehearsalOptions, rehearse};
pub use simulated::{SimulatedHost, SimulatedHostOptions};

use crate::admission::{self, Admission};
use crate::api::{self, Discovery, GroupVersionKind, ObjectKey};
use crate::apply::Writer;
use crate::apply::events::{Recorder, Regarding};
use crate::controller::{FlightRecorder, Journals, Pauses, ReconcileFeed, Shared};
use crate::informer::Informers;
use crate::lease::{self, LeaderElection, Leases};
use crate::lifecycle::{self, Lifecycle};
use crate::metrics::Metrics;
use crate::oci::{self, Puller};
use crate::plugin::{Engine, EngineOptions, HttpGate, directory};
use crate::plugin_objects::{self, DeclaredSources, PluginObjects};
use crate::telemetry::{self, Exporting};
use anyhow::Context as _;
use std::collections::BTreeSet;
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
    /// Bytes for recordings of reconciles. 0: the host records nothing.
    pub recorder_bytes: usize,
    /// Where traces go. `None`: there are none.
    pub telemetry: Option<telemetry::Options>,
    /// Gets each finished reconcile. `None`: nobody watches.
    pub feed: Option<ReconcileFeed>,
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
    let (puller, declared) = sources(options.oci.clone(), options.plugin_objects.is_some()).await?;
    let engine = Engine::new(options.engine.clone())?;
    let leases = match &options.leases {
        Some(leases) => Leases::start(leases.clone(), options.client.clone()).await?,
        None => Leases::none(),
    };
    let metrics = Metrics::new();
    let exporting = match &options.telemetry {
        Some(telemetry) => Some(Exporting::start(telemetry, metrics.spans().clone())?),
        None => None,
    };
    let discovery = Discovery::new(client.clone());
    let informers = Informers::new(client.clone(), discovery.clone());
    let mut writer = Writer::new(client, discovery, informers.clone(), metrics.clone());
    if let Some(namespace) = &options.impersonate {
        writer = writer.impersonating(namespace);
    }
    let (recorder, recording) = Recorder::start(Arc::clone(writer.requests()));
    let mut shared = Shared::new(informers, writer, recorder, metrics.clone(), leases.clone());
    if let Some(objects) = &options.plugin_objects {
        // Until the objects are read.
        shared.pauses = Pauses::unknown();
        shared.journals = Some(Journals::new(&objects.namespace, shared.writer.clone()));
    }
    shared.flight_recorder = (options.recorder_bytes > 0).then(|| FlightRecorder::new(options.recorder_bytes));
    shared.feed.clone_from(&options.feed);
    shared.tracer = exporting.as_ref().map(Exporting::tracer);
    let of_lifecycle = lifecycle_options(&options, puller.as_ref(), &declared);
    let lifecycle = Lifecycle::new(of_lifecycle, shared.clone(), engine, HttpGate::new());

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
    let state = admin_state(&shared, liveness.clone(), readiness, lifecycle.handle());
    tracing::info!(%admin_addr, "admin server listening");
    let admin = tokio::spawn(crate::admin::serve(listener, state, admin_stop.clone()));

    tracing::info!(api_server = url, plugins = %options.plugins.display(), "oarlock {}", env!("CARGO_PKG_VERSION"));
    let pull_statuses = puller.as_deref().map(Puller::pull_statuses);
    let counting = tokio::spawn(gauges::keep(shared.clone(), lifecycle.handle(), pull_statuses));
    let objects = options.plugin_objects.zip(objects_known);
    let duties = Duties::start(options.admission, objects, declared, &shared, &lifecycle.handle()).await?;
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
    if let Some(exporting) = exporting {
        exporting.stop().await;
    }
    tracing::info!("stopped");
    Ok(())
}

fn lifecycle_options(
    options: &Options,
    puller: Option<&Arc<Puller>>,
    declared: &DeclaredSources,
) -> lifecycle::Options {
    lifecycle::Options {
        plugins: options.plugins.clone(),
        fixed: None,
        poll: lifecycle::POLL,
        pulled: puller.map(|puller| puller.pull_statuses()),
        puller: puller.cloned(),
        declared: options.plugin_objects.is_some().then(|| declared.declarations.clone()),
        object_versions: options.plugin_objects.is_some().then(|| declared.versions.clone()),
        // A developer restarts to try the same version again.
        caches: options.engine.cache.clone().filter(|_| !options.grant_what_is_asked),
        resync_seconds: options.resync_seconds,
        grant_what_is_asked: options.grant_what_is_asked,
        unstated_deadline_seconds: options.unstated_deadline_seconds,
        host_object: host_object(),
        object_events: options.plugin_objects.is_some().then(|| declared.events.clone()),
        answers_admission: options.admission.is_some(),
    }
}

/// Where plugins come from beside the directory.
///
/// * `objects` - whether objects may declare plugins: their references are pulled, too.
async fn sources(
    options: Option<oci::Options>,
    objects: bool,
) -> anyhow::Result<(Option<Arc<Puller>>, DeclaredSources)> {
    let fixed: BTreeSet<String> =
        options.iter().flat_map(|options| &options.plugins).map(|wanted| wanted.plugin.clone()).collect();
    let puller = match options {
        Some(options) if objects && fixed.is_empty() => match Puller::start(options).await {
            Ok(puller) => Some(puller),
            Err(error) => {
                let error = crate::chain(&error);
                tracing::warn!(error, "Plugin objects cannot name plugins in registries");
                None
            }
        },
        Some(options) if !fixed.is_empty() => {
            Some(Puller::start(options).await.context("cannot start pulling plugins")?)
        }
        _ => None,
    };
    let puller = puller.map(Arc::new);
    Ok((puller.clone(), DeclaredSources { puller, fixed, ..DeclaredSources::default() }))
}

async fn bound(listener: Option<TcpListener>, addr: SocketAddr) -> Result<TcpListener, crate::admin::Error> {
    match listener {
        Some(listener) => Ok(listener),
        None => crate::admin::bind(addr).await,
    }
}

fn admin_state(
    shared: &Shared,
    liveness: crate::admin::Liveness,
    readiness: crate::admin::Readiness,
    handle: lifecycle::Handle,
) -> crate::admin::AdminState {
    let shown = handle.clone();
    crate::admin::AdminState {
        metrics: shared.metrics.clone(),
        recordings: recordings::of(shared.flight_recorder.clone()),
        explain: recordings::explain(handle.clone()),
        page: page::of(&handle, shared.flight_recorder.clone()),
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
        declared: DeclaredSources,
        shared: &Shared,
        handle: &lifecycle::Handle,
    ) -> anyhow::Result<Self> {
        let any = admission.is_some() || objects.is_some();
        let election = if any { shared.leases.host_election() } else { LeaderElection::for_ever() };
        let plugin_objects = objects.map(|(options, known)| {
            let objects = PluginObjects::new(options, shared.clone(), handle.clone(), election.clone(), declared);
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
