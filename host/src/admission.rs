//! Admission webhooks: AdmissionReviews answered by plugins, HTTPS server, certificates, generated webhook configurations.
//!
//! The API server asks about objects before it stores them, and the plugin's three calls decide about each. The host serves the webhooks
//! over HTTPS, with its own certificates or with certificates from files. It owns the webhook configurations, and generates them from the
//! rules of its plugins. There is no queue: the host answers a review before the API server's deadline, or the rule's failure policy
//! decides.

mod answer;
mod certificates;
mod clients;
mod configure;
mod contest;
mod conversion;
mod definitions;
pub(crate) mod fuzzing;
mod initializers;
mod orphaned_initializers;
mod review;
mod serve;
mod webhooks;

pub use certificates::Source as CertificateSource;
pub use clients::{ClientCa, Clients};
pub use initializers::DEFINITION as INITIALIZERS;
pub use webhooks::{NAME as CONFIGURATION, WebhookClientConfig};

use crate::api::ObjectKey;
use crate::controller::Shared;
use crate::lease::LeaderElection;
use crate::lifecycle;
use crate::metrics::Metrics;
use crate::telemetry::Tracer;
use answer::Path;
use anyhow::Context as _;
use certificates::Certificates;
use clients::Admitting;
use configure::WebhookConfigReconciler;
use definitions::ConversionConfigReconciler;
use initializers::Initializer;
use review::AdmissionResponse;
use serve::Ends;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

/// Time after its removal in which the API server may still call a plugin.
const RECENT: Duration = Duration::from_secs(60);

/// Configuration of the admission server.
#[derive(Clone, Debug)]
pub struct Options {
    /// Listen address; port 0 takes a free port.
    pub addr: SocketAddr,
    /// How the API server reaches the admission server. None: at `addr`.
    pub client_config: Option<WebhookClientConfig>,
    /// Source of the certificates.
    pub certificates: Certificate,
    /// The clients that may send reviews. None: every client that reaches the port. The host answers their reviews, but these count for
    /// nothing.
    pub clients: Option<Clients>,
}

/// Source of the admission server's certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// The host issues certificates and keeps them in memory: for one process outside a cluster.
    InMemory,
    /// The host issues certificates and keeps them in this Secret, so that all replicas have the same ones.
    Secret(ObjectKey),
    /// Another program writes `tls.crt`, `tls.key` and `ca.crt` into this directory; the host reads them again when they change.
    Files(PathBuf),
}

/// The running admission server.
#[derive(Debug)]
pub struct Admission {
    addr: SocketAddr,
    ends: Ends,
    tasks: TaskTracker,
}

/// Admission for an API server in this process: no listener, no certificates.
#[derive(Debug)]
pub(crate) struct InProcessAdmission {
    service: axum::Router,
    configured: [watch::Receiver<bool>; 2],
    ends: Ends,
}

impl InProcessAdmission {
    /// Keeps the webhook configurations equal to the rules of the running plugins.
    ///
    /// * `url` - where the API server finds the service.
    /// * `look` - interval of looks at the plugins once the webhooks are configured.
    pub(crate) fn open(url: &str, look: Duration, shared: Shared, lifecycle: lifecycle::Handle) -> Self {
        let (client_config, (_, bundle)) = (WebhookClientConfig::Url(url.to_owned()), watch::channel(String::new()));
        let Duties { server, ends, configured, .. } =
            Duties::start(&client_config, &bundle, look, (shared, lifecycle), LeaderElection::for_ever());
        Self { service: serve::router(server, ends.clone()), configured, ends }
    }

    /// What answers the reviews.
    pub(crate) fn service(&self) -> axum::Router {
        self.service.clone()
    }

    /// Waits until the API server calls the plugins.
    ///
    /// * `reviews` - whether a plugin answers reviews.
    /// * `converts` - whether a plugin converts.
    pub(crate) async fn configured(&mut self, reviews: bool, converts: bool) {
        for (configured, _) in self.configured.iter_mut().zip([reviews, converts]).filter(|(_, wanted)| *wanted) {
            // An error means that the host ends.
            let _ = configured.wait_for(|configured| *configured).await;
        }
    }

    /// Writes no configuration any more.
    pub(crate) fn close(&self) {
        self.ends.leaves.cancel();
    }
}

/// The duties that need no listener: both reconcilers of the webhooks.
struct Duties {
    server: Arc<WebhookServer>,
    ends: Ends,
    tasks: TaskTracker,
    /// Whether the webhooks and the conversions are configured.
    configured: [watch::Receiver<bool>; 2],
}

impl Duties {
    /// * `look` - interval of looks at the plugins once the webhooks are configured.
    fn start(
        client_config: &WebhookClientConfig,
        bundle: &watch::Receiver<String>,
        look: Duration,
        (shared, lifecycle): (Shared, lifecycle::Handle),
        election: LeaderElection,
    ) -> Self {
        let server = Arc::new(WebhookServer {
            lifecycle,
            metrics: shared.metrics.clone(),
            client_config: client_config.clone(),
            ended: RecentlyRemoved::default(),
            initializers: RwLock::default(),
            tracer: shared.tracer.clone(),
        });
        let tasks = TaskTracker::new();
        let ends = Ends::new();
        let (webhooks, conversions) = (watch::channel(false), watch::channel(false));
        let pace = |configured| Pace { look, configured };
        let reconciler = ConversionConfigReconciler::new(
            Arc::clone(&server),
            shared.clone(),
            (client_config.clone(), bundle.clone()),
            election.clone(),
            pace(conversions.0),
        );
        tasks.spawn(ends.leaves.clone().run_until_cancelled_owned(reconciler.run()));
        let reconciler = WebhookConfigReconciler::new(
            Arc::clone(&server),
            shared,
            (client_config.clone(), bundle.clone()),
            election.clone(),
            pace(webhooks.0),
        );
        let keeping = ends.leaves.clone();
        tasks.spawn(async move {
            keeping.run_until_cancelled_owned(Box::pin(reconciler.run())).await;
            election.leave().await;
        });
        Self { server, ends, tasks, configured: [webhooks.1, conversions.1] }
    }
}

/// Poll interval for changes without a notification.
const LOOK: Duration = Duration::from_millis(200);

/// When a reconciler of webhooks looks at the plugins, and whether it has configured what it found.
#[derive(Debug)]
struct Pace {
    look: Duration,
    configured: watch::Sender<bool>,
}

impl Pace {
    /// Waits for the next look.
    async fn look(&self) {
        let pause = if *self.configured.borrow() { self.look } else { LOOK };
        tokio::time::sleep(pause).await;
    }
}

/// The plugins and initializers that answer reviews.
#[derive(Debug)]
struct WebhookServer {
    lifecycle: lifecycle::Handle,
    metrics: Metrics,
    /// How the API server reaches this host.
    client_config: WebhookClientConfig,
    ended: RecentlyRemoved,
    /// None: the host has not read them yet.
    initializers: RwLock<Option<Vec<Initializer>>>,
    /// Begins traces. None: nothing is traced.
    tracer: Option<Tracer>,
}

/// Recently removed plugins.
#[derive(Debug, Default)]
struct RecentlyRemoved {
    at: Mutex<HashMap<String, Instant>>,
}

impl RecentlyRemoved {
    fn note(&self, plugin: &str) {
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        at.retain(|_, when| when.elapsed() < RECENT);
        at.insert(plugin.to_owned(), Instant::now());
    }

    fn lately(&self, plugin: &str) -> bool {
        let at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        at.get(plugin).is_some_and(|when| when.elapsed() < RECENT)
    }
}

impl WebhookServer {
    fn initializers(&self) -> Option<Vec<Initializer>> {
        self.initializers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_initializers(&self, all: Option<Vec<Initializer>>) {
        *self.initializers.write().unwrap_or_else(PoisonError::into_inner) = all;
    }

    /// The webhook's name in metrics. None: the plugin does not exist. Any client may call any path, and only existing plugins get
    /// series.
    fn series(&self, path: &Path) -> Option<String> {
        match path {
            Path::Initialize => Some(webhooks::INITIALIZE.to_owned()),
            Path::Convert { plugin } => {
                self.lifecycle.converter(plugin)?;
                Some(format!("/convert/{plugin}"))
            }
            Path::Rule { plugin, validate, .. } => {
                self.lifecycle.controller(plugin)?;
                Some(format!("/{}/{plugin}", if *validate { "validate" } else { "mutate" }))
            }
        }
    }

    fn count(&self, path: &Path, answer: &AdmissionResponse) {
        let Path::Rule { plugin, .. } = path else { return };
        if self.lifecycle.controller(plugin).is_some() {
            self.metrics.reviewed(plugin, answer.result());
        }
    }
}

impl Admission {
    /// Starts the admission server, and keeps the webhook configurations equal to the rules of the running plugins.
    ///
    /// * `election` - of the host's own duties. It leaves it when [`Self::leave`] is called.
    ///
    /// # Errors
    ///
    /// The address is in use, or the certificates cannot be read or issued.
    pub async fn open(
        options: Options,
        shared: Shared,
        lifecycle: lifecycle::Handle,
        election: LeaderElection,
    ) -> anyhow::Result<Self> {
        let listener =
            listen(options.addr).with_context(|| format!("cannot listen on the admission address {}", options.addr))?;
        let addr = listener.local_addr()?;
        let client_config =
            options.client_config.unwrap_or_else(|| WebhookClientConfig::Url(format!("https://{}", reachable(addr))));
        let names = names(&client_config, addr);
        let source = match options.certificates {
            Certificate::InMemory => CertificateSource::Own { names, secret: None },
            Certificate::Secret(secret) => CertificateSource::Own { names, secret: Some(secret) },
            Certificate::Files(folder) => CertificateSource::Files(folder),
        };
        let certificates = Certificates::load(source, shared.writer.host_objects().clone()).await?;
        let authenticates = options.clients.is_some();
        let admitting = Admitting::new(options.clients, certificates.resolver())?;
        let Duties { server, ends, tasks, .. } =
            Duties::start(&client_config, &certificates.bundle(), LOOK, (shared, lifecycle), election);
        let stop = ends.stop.clone();
        tasks.spawn(serve::serve(server, listener, admitting.now(), ends.clone()));
        tasks.spawn(stop.clone().run_until_cancelled_owned(admitting.keep()));
        tasks.spawn(stop.run_until_cancelled_owned(certificates.keep()));
        tracing::info!(%addr, %client_config, authenticates, "admission server listening");
        Ok(Self { addr, ends, tasks })
    }

    /// The listen address.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Stops writing the webhook configurations; other hosts write them, or they stay as they are. The server continues to answer
    /// reviews, each on a connection that ends with its response.
    pub fn leave(&self) {
        self.ends.leaves.cancel();
    }

    /// Accepts no further review and finishes those in flight.
    pub async fn close(self) {
        self.ends.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Length of the kernel's queue of connections: a burst of reviews is a burst of connections.
const BACKLOG: u32 = 4096;

fn listen(addr: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if addr.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A restarted host meets connections of its predecessor that are not quite closed.
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    socket.listen(BACKLOG)
}

/// An address that a client can connect to.
fn reachable(addr: SocketAddr) -> SocketAddr {
    if !addr.ip().is_unspecified() {
        return addr;
    }
    let loopback: std::net::IpAddr =
        if addr.is_ipv6() { std::net::Ipv6Addr::LOCALHOST.into() } else { std::net::Ipv4Addr::LOCALHOST.into() };
    SocketAddr::new(loopback, addr.port())
}

/// The DNS names and addresses by which the API server may call the host.
fn names(client_config: &WebhookClientConfig, addr: SocketAddr) -> Vec<String> {
    match client_config {
        WebhookClientConfig::Service { namespace, name, .. } => {
            vec![
                format!("{name}.{namespace}.svc"),
                format!("{name}.{namespace}"),
                format!("{name}.{namespace}.svc.cluster.local"),
            ]
        }
        WebhookClientConfig::Url(url) => {
            let host = url::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
            vec![host.unwrap_or_else(|| reachable(addr).ip().to_string()).trim_matches(['[', ']']).to_owned()]
        }
    }
}
