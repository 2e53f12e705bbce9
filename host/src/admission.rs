//! The second door into a plugin: the API server asks about objects before it stores them, and the same three calls answer.
//!
//! The host serves the webhooks over HTTPS, with certificates of its own or from files, and owns the webhook configurations, which
//! it generates from the rules of its plugins. There is no queue: a review is answered before the API server's deadline, or the
//! rule's failure policy decides.

mod answer;
mod certificates;
mod clients;
mod configure;
mod contest;
mod initializers;
mod review;
mod serve;
mod unanswered;
mod webhooks;

pub use certificates::Source as CertificateSource;
pub use clients::{ClientCa, Clients};
pub use initializers::DEFINITION as INITIALIZERS;
pub use webhooks::{NAME as CONFIGURATION, Reach};

use crate::api::ObjectKey;
use crate::controller::Shared;
use crate::lifecycle;
use crate::metrics::Metrics;
use answer::Path;
use anyhow::Context as _;
use certificates::Certificates;
use clients::Admitting;
use configure::Keeper;
use initializers::Initializer;
use review::Answer;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The API server may go on calling a plugin that was removed for this long.
const LATELY: Duration = Duration::from_secs(60);

/// How the door is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens; port 0 takes a free one.
    pub addr: SocketAddr,
    /// How the API server reaches it. None: `addr` itself.
    pub reach: Option<Reach>,
    /// Where certificates come from.
    pub certificates: Certificate,
    /// Who may ask. None: anybody who reaches the port; their reviews are answered, and count for nothing.
    pub clients: Option<Clients>,
}

/// Where the certificates of the door come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// Made by the host, which keeps them in memory: for one process outside a cluster.
    InMemory,
    /// Made by the host, which keeps them in this Secret, so that all its replicas have the same.
    Secret(ObjectKey),
    /// `tls.crt`, `tls.key` and `ca.crt` in this directory, made by somebody else, and read again when they change.
    Files(PathBuf),
}

/// The door, open.
#[derive(Debug)]
pub struct Admission {
    addr: SocketAddr,
    stop: CancellationToken,
    /// Ends what keeps the webhook configurations; cancelled with `stop` at the latest.
    leaves: CancellationToken,
    tasks: TaskTracker,
}

/// What answers reviews.
#[derive(Debug)]
struct Door {
    lifecycle: lifecycle::Handle,
    metrics: Metrics,
    ended: Ended,
    /// None: they have not been read yet.
    initializers: RwLock<Option<Vec<Initializer>>>,
}

/// Plugins that were there a moment ago.
#[derive(Debug, Default)]
struct Ended {
    at: Mutex<HashMap<String, Instant>>,
}

impl Ended {
    fn note(&self, plugin: &str) {
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        at.retain(|_, when| when.elapsed() < LATELY);
        at.insert(plugin.to_owned(), Instant::now());
    }

    fn lately(&self, plugin: &str) -> bool {
        let at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        at.get(plugin).is_some_and(|when| when.elapsed() < LATELY)
    }
}

impl Door {
    fn initializers(&self) -> Option<Vec<Initializer>> {
        self.initializers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_initializers(&self, all: Option<Vec<Initializer>>) {
        *self.initializers.write().unwrap_or_else(PoisonError::into_inner) = all;
    }

    /// The name of a webhook in the metrics. None: anybody may call any path, and only those there are become series.
    fn series(&self, path: &Path) -> Option<String> {
        match path {
            Path::Initialize => Some(webhooks::INITIALIZE.to_owned()),
            Path::Rule { plugin, validate, .. } => {
                self.lifecycle.controller(plugin)?;
                Some(format!("/{}/{plugin}", if *validate { "validate" } else { "mutate" }))
            }
        }
    }

    fn count(&self, path: &Path, answer: &Answer) {
        let Path::Rule { plugin, .. } = path else { return };
        if self.lifecycle.controller(plugin).is_none() {
            return;
        }
        let result = match answer {
            Answer { refusal: Some(_), .. } => "refused",
            Answer { changed: Some(_), .. } => "changed",
            Answer { ignored: true, .. } => "ignored",
            _ => "allowed",
        };
        self.metrics.reviewed(plugin, result);
    }
}

impl Admission {
    /// Opens the door, and keeps the webhook configurations in step with the plugins that run.
    ///
    /// # Errors
    ///
    /// The address is taken, or there are no certificates to be had.
    pub async fn open(options: Options, shared: Shared, lifecycle: lifecycle::Handle) -> anyhow::Result<Self> {
        let listener =
            listen(options.addr).with_context(|| format!("cannot listen on the admission address {}", options.addr))?;
        let addr = listener.local_addr()?;
        let reach = options.reach.unwrap_or_else(|| Reach::Url(format!("https://{}", reachable(addr))));
        let names = names(&reach, addr);
        let source = match options.certificates {
            Certificate::InMemory => CertificateSource::Own { names, secret: None },
            Certificate::Secret(secret) => CertificateSource::Own { names, secret: Some(secret) },
            Certificate::Files(folder) => CertificateSource::Files(folder),
        };
        let certificates = Certificates::load(source, shared.writer.clone()).await?;
        let authenticates = options.clients.is_some();
        let admitting = Admitting::new(options.clients, certificates.resolver())?;
        let door = Arc::new(Door {
            lifecycle: lifecycle.clone(),
            metrics: shared.metrics.clone(),
            ended: Ended::default(),
            initializers: RwLock::default(),
        });
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let seat = shared.leases.host_seat();
        let keeper = Keeper::new(Arc::clone(&door), shared, reach.clone(), certificates.bundle(), seat.clone());
        tasks.spawn(serve::serve(door, listener, admitting.now(), stop.clone()));
        tasks.spawn(stop.clone().run_until_cancelled_owned(admitting.keep()));
        tasks.spawn(stop.clone().run_until_cancelled_owned(certificates.keep()));
        let leaves = stop.child_token();
        let keeping = leaves.clone();
        tasks.spawn(async move {
            keeping.run_until_cancelled_owned(keeper.run()).await;
            seat.leave().await;
        });
        tracing::info!(%addr, ?reach, authenticates, "admission server listening");
        Ok(Self { addr, stop, leaves, tasks })
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Leaves the webhook configurations to other hosts, or as they are. Reviews go on to be answered.
    pub fn leave(&self) {
        self.leaves.cancel();
    }

    /// Takes no further review and finishes those under way.
    pub async fn close(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Connections that wait to be taken, in the kernel: a burst of reviews is a burst of connections.
const BACKLOG: u32 = 4096;

fn listen(addr: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if addr.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A host that starts again finds connections of the one before that are not quite over.
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    socket.listen(BACKLOG)
}

/// An address a client can connect to.
fn reachable(addr: SocketAddr) -> SocketAddr {
    if !addr.ip().is_unspecified() {
        return addr;
    }
    let loopback: std::net::IpAddr =
        if addr.is_ipv6() { std::net::Ipv6Addr::LOCALHOST.into() } else { std::net::Ipv4Addr::LOCALHOST.into() };
    SocketAddr::new(loopback, addr.port())
}

/// The names and addresses the API server may call the host by.
fn names(reach: &Reach, addr: SocketAddr) -> Vec<String> {
    match reach {
        Reach::Service { namespace, name, .. } => {
            vec![
                format!("{name}.{namespace}.svc"),
                format!("{name}.{namespace}"),
                format!("{name}.{namespace}.svc.cluster.local"),
            ]
        }
        Reach::Url(url) => {
            let host = url::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
            vec![host.unwrap_or_else(|| reachable(addr).ip().to_string()).trim_matches(['[', ']']).to_owned()]
        }
    }
}
