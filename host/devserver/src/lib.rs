//! An embedded Kubernetes API server for development and tests.
//!
//! [`DevServer::start`] serves HTTP, or HTTPS ([`Tls`]), on loopback. kubectl, kube and other clients find discovery, the built-in kinds,
//! CRDs, watches, patches, server-side apply, garbage collection, namespace deletion and admission webhooks; there are no
//! controllers that make pods.
//!
//! A request without credentials is the administrator's and may do everything, unless [`Options::anonymous_auth`] is set. Keep the
//! server on loopback. RBAC applies to requests that impersonate a user (`kubectl --as`), carry a bearer token or come with a client
//! certificate.
//!
//! ```no_run
//! # async fn run() -> Result<(), oarlock_devserver::Error> {
//! use oarlock_devserver::{DevServer, Options};
//! let server = DevServer::start(Options::default()).await?;
//! std::fs::write("kubeconfig", server.kubeconfig()).expect("a writable directory");
//! // … kubectl --kubeconfig kubeconfig get namespaces …
//! server.shutdown().await;
//! # Ok(())
//! # }
//! ```

use std::{
    collections::BTreeMap,
    io,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use axum::serve::ListenerExt as _;
use tokio::{net::TcpListener, task::JoinHandle};

mod admission;
mod api;
mod authentication;
mod authorization;
mod autoscalers;
mod body;
mod bootstrap;
mod crd;
mod defaults;
mod discovery;
mod encode;
mod events;
pub mod faults;
mod gc;
mod https;
mod kinds;
mod managed;
mod namespaces;
mod negotiate;
mod openapi;
mod patch;
mod path;
mod persistence;
mod protobuf;
mod quantity;
mod query;
mod registry;
mod requests;
mod rest;
mod reviews;
mod selector;
mod server;
mod status;
mod storage;
mod strategy;
mod table;
mod time;
mod types;
mod validation;
mod versions;
mod watch;

pub use admission::clients::WebhookClients;
pub use authentication::StaticTokens;
pub use https::Tls;
pub use requests::RequestRecord;

use api::Api;
use authentication::User;
use faults::{Faults, Rules};

/// How the server is set up; start from `Options::default()`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Where to listen; port 0 takes a free one. Default `127.0.0.1:0`. Who shows no credentials may do everything: keep it on loopback.
    pub addr: SocketAddr,
    /// How many changes are kept per kind. A watch or a page from before them is answered 410 Gone. Each costs about ten times
    /// the size of its object as JSON. Default 4096.
    pub watch_history: usize,
    /// How many requests [`Running::requests`] remembers. Default 10 000.
    pub request_history: usize,
    /// Whether garbage collection and namespace deletion run. Default true; without them finalizers wait for the caller, as
    /// on an API server without controller manager.
    pub controllers: bool,
    /// Bearer tokens and their users. A token that is neither here nor was given out for a service account is answered 401;
    /// without a token everybody is the administrator. Default none.
    pub tokens: StaticTokens,
    /// Whether who shows no credentials is `system:anonymous` and held to RBAC, instead of the administrator. Default false.
    pub anonymous_auth: bool,
    /// Where objects are kept, so that they are there after a restart; made when it is not there. What was answered survives the
    /// end of the process however sudden, not always that of the machine. Default `None`: memory alone.
    pub data_dir: Option<PathBuf>,
    /// How many bytes of changes are kept in the data directory before a snapshot replaces them. Default 8 MiB.
    pub data_log_bytes: u64,
    /// Serves HTTPS instead of HTTP, and believes certificates of clients. Default `None`.
    pub tls: Option<Tls>,
    /// Client certificates with which webhooks are asked. Default none.
    pub webhook_clients: WebhookClients,
    /// What goes wrong from the start. Default nothing.
    pub faults: Rules,
    /// Whether rules that kill processes are taken over HTTP. Default false: whoever reaches the server could end any process
    /// of its user.
    pub faults_may_kill: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            addr: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            watch_history: 4096,
            request_history: 10_000,
            controllers: true,
            tokens: StaticTokens::default(),
            anonymous_auth: false,
            data_dir: None,
            data_log_bytes: 8 * 1024 * 1024,
            tls: None,
            webhook_clients: WebhookClients::default(),
            faults: Rules::default(),
            faults_may_kill: false,
        }
    }
}

impl Options {
    /// Sets [`addr`](Self::addr).
    #[must_use]
    pub fn addr(mut self, addr: SocketAddr) -> Self {
        self.addr = addr;
        self
    }

    /// Sets [`watch_history`](Self::watch_history).
    #[must_use]
    pub fn watch_history(mut self, changes: usize) -> Self {
        self.watch_history = changes;
        self
    }

    /// Sets [`request_history`](Self::request_history).
    #[must_use]
    pub fn request_history(mut self, requests: usize) -> Self {
        self.request_history = requests;
        self
    }

    /// Sets [`controllers`](Self::controllers).
    #[must_use]
    pub fn controllers(mut self, run: bool) -> Self {
        self.controllers = run;
        self
    }

    /// Sets [`tokens`](Self::tokens).
    #[must_use]
    pub fn tokens(mut self, tokens: StaticTokens) -> Self {
        self.tokens = tokens;
        self
    }

    /// Sets [`anonymous_auth`](Self::anonymous_auth).
    #[must_use]
    pub fn anonymous_auth(mut self, anonymous: bool) -> Self {
        self.anonymous_auth = anonymous;
        self
    }

    /// Sets [`data_dir`](Self::data_dir).
    #[must_use]
    pub fn data_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.data_dir = Some(dir.into());
        self
    }

    /// Sets [`data_log_bytes`](Self::data_log_bytes).
    #[must_use]
    pub fn data_log_bytes(mut self, bytes: u64) -> Self {
        self.data_log_bytes = bytes;
        self
    }

    /// Sets [`tls`](Self::tls).
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Sets [`webhook_clients`](Self::webhook_clients).
    #[must_use]
    pub fn webhook_clients(mut self, clients: WebhookClients) -> Self {
        self.webhook_clients = clients;
        self
    }

    /// Sets [`faults`](Self::faults).
    #[must_use]
    pub fn faults(mut self, rules: Rules) -> Self {
        self.faults = rules;
        self
    }

    /// Sets [`faults_may_kill`](Self::faults_may_kill).
    #[must_use]
    pub fn faults_may_kill(mut self, may: bool) -> Self {
        self.faults_may_kill = may;
        self
    }
}

/// Why a server did not start, or its tokens or fault rules cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address cannot be listened on.
    #[error("cannot listen on {addr}")]
    Listen {
        /// The address asked for.
        addr: SocketAddr,
        /// What the operating system says.
        #[source]
        source: io::Error,
    },
    /// A line of a token file is not one.
    #[error("line {line} of the tokens: {why}")]
    Tokens {
        /// The number of the line; the first is 1.
        line: usize,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A certificate or a key cannot be used.
    #[error("the {what} cannot be used: {why}")]
    Tls {
        /// Which of the texts.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// An AdmissionConfiguration, or a file that it names, cannot be used.
    #[error("cannot use {}: {why}", file.display())]
    AdmissionConfig {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A file of the data directory cannot be used.
    #[error("cannot use {} for the data of the API server", path.display())]
    DataDir {
        /// The file or the directory.
        path: PathBuf,
        /// What the operating system says.
        #[source]
        source: io::Error,
    },
    /// Another server uses the data directory.
    #[error("the data directory {} is in use by another API server", dir.display())]
    DataDirInUse {
        /// The directory.
        dir: PathBuf,
    },
    /// A file of the data directory is not as it was written.
    #[error("{} is damaged at byte {offset}: {why}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// Where the first line begins that cannot be read.
        offset: usize,
        /// What is wrong with it.
        why: String,
    },
    /// A fault rule is not one.
    #[error("fault rule {rule}, {field}: {why}")]
    Fault {
        /// The number of the rule in its list; the first is 1, 0 is the document itself.
        rule: usize,
        /// The path of the field in the rule; `.` is the rule itself.
        field: String,
        /// What is wrong with it.
        why: String,
    },
}

/// The embedded API server.
#[derive(Debug)]
pub struct DevServer;

impl DevServer {
    /// Starts a server with what is in its data directory; without one, with four namespaces and the default roles alone.
    ///
    /// # Errors
    ///
    /// [`Error::Listen`] when the address is taken or not this machine's; [`Error::DataDir`], [`Error::DataDirInUse`] and
    /// [`Error::Damaged`] when the data directory cannot be used.
    pub async fn start(options: Options) -> Result<Running, Error> {
        let addr = options.addr;
        let listen = |source| Error::Listen { addr, source };
        let listener = TcpListener::bind(addr).await.map_err(listen)?;
        let addr = listener.local_addr().map_err(listen)?;
        let (api, feed) = Api::new(options);
        if let Some(dir) = &api.options.data_dir {
            persistence::open(&api, dir)?;
        }
        api.begin();
        let controllers = tokio::spawn(gc::run(Arc::clone(&api), feed));
        let server = tokio::spawn(serve(Arc::clone(&api), listener, addr));
        tracing::debug!(%addr, "embedded API server listens");
        Ok(Running { addr, api, server, controllers })
    }

    /// The service alone, in memory, to be mounted under a listener of one's own. Watches end when the router is dropped with its
    /// runtime.
    ///
    /// Must be called on a tokio runtime: the controllers run there.
    pub fn router(options: Options) -> axum::Router {
        let (api, feed) = Api::new(options);
        api.begin();
        tokio::spawn(gc::run(Arc::clone(&api), feed));
        server::router(api)
    }
}

/// Serves until the server stops.
async fn serve(api: Arc<Api>, listener: TcpListener, addr: SocketAddr) {
    let router = server::router(Arc::clone(&api));
    let stop = api.stop.clone().cancelled_owned();
    let ended = match api.options.tls.clone() {
        Some(tls) => {
            let listener = https::Listener::new(listener, addr, tls, api.stop.clone());
            let service = router.into_make_service_with_connect_info::<https::Peer>();
            axum::serve(listener, service).with_graceful_shutdown(stop).await
        }
        None => {
            let listener = listener.tap_io(|stream| {
                // Without it every small answer waits for the client's delayed acknowledgement.
                let _ = stream.set_nodelay(true);
            });
            axum::serve(listener, router).with_graceful_shutdown(stop).await
        }
    };
    if let Err(error) = ended {
        tracing::error!(%error, "the embedded API server stopped");
    }
}

/// A server that serves. Dropping it stops the server without waiting.
#[derive(Debug)]
pub struct Running {
    addr: SocketAddr,
    api: Arc<Api>,
    server: JoinHandle<()>,
    controllers: JoinHandle<()>,
}

impl Running {
    /// `http://127.0.0.1:PORT`, or `https://…`.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.api.options.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.addr)
    }

    /// A kubeconfig (YAML) for this server: without credentials, but over HTTPS, where kubectl would ask for some, with a token
    /// of the administrator.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        let token = self.api.options.tls.as_ref().map(|_| format!("token: {}", self.api.tokens.issue(User::admin())));
        let trusted =
            self.api.options.tls.as_ref().map(|tls| format!("\n    certificate-authority-data: {}", tls.authority()));
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: oarlock\n  cluster:\n    server: {}{}\ncontexts:\n- name: \
             oarlock\n  context:\n    cluster: oarlock\n    user: oarlock\n    namespace: default\ncurrent-context: \
             oarlock\nusers:\n- name: oarlock\n  user: {{{}}}\n",
            self.url(),
            trusted.unwrap_or_default(),
            token.unwrap_or_default()
        )
    }

    /// The last requests, oldest first. A watch is recorded when it starts.
    #[must_use]
    pub fn requests(&self) -> Vec<RequestRecord> {
        self.api.requests.records()
    }

    /// How many requests there were per verb, over the whole life of the server.
    #[must_use]
    pub fn request_counts(&self) -> BTreeMap<String, u64> {
        self.api.requests.counts()
    }

    /// What goes wrong on request.
    #[must_use]
    pub fn faults(&self) -> Faults<'_> {
        Faults { api: &self.api }
    }

    /// Ends the watches, answers what is being asked, and stops; connections that do not finish within five seconds are cut.
    pub async fn shutdown(mut self) {
        self.api.stop.cancel();
        if tokio::time::timeout(Duration::from_secs(5), &mut self.server).await.is_err() {
            self.server.abort();
        }
        // Ends by itself: it listens to the same token.
        let _ = tokio::time::timeout(Duration::from_secs(1), &mut self.controllers).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.api.stop.cancel();
    }
}
