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
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use axum::serve::ListenerExt as _;
use tokio::{net::TcpListener, task::JoinHandle};

mod access;
mod api;
mod controllers;
mod discovery;
pub mod faults;
mod http;
mod model;
mod openapi;
mod patch;
mod resources;
mod rest;
mod reviews;
mod server;
mod store;
mod webhooks;

pub use crate::http::{https::Tls, request_log::RequestRecord};
pub use access::authentication::StaticTokens;
pub use model::error::Error;
pub use webhooks::clients::WebhookClients;

use api::Api;
use faults::{Faults, Rules};
use model::user::User;
use store::journal;

/// Configuration of the server; start from `Options::default()`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Listen address; port 0 chooses a free one. Default `127.0.0.1:0`. Requests without credentials have all permissions: keep it on
    /// loopback.
    pub addr: SocketAddr,
    /// Number of changes kept per kind. A watch or a page from before them gets 410 Gone. Each costs about ten times the size of its
    /// object as JSON. Default 4096.
    pub watch_history: usize,
    /// Number of requests that [`Running::requests`] keeps. Default 10 000.
    pub request_history: usize,
    /// Whether garbage collection and namespace deletion run. Default true; without them finalizers wait for the caller, as on an API
    /// server without a controller manager.
    pub controllers: bool,
    /// Bearer tokens and their users. An unknown token, which is neither here nor issued for a service account, gets 401; a request
    /// without a token is the administrator's. Default none.
    pub tokens: StaticTokens,
    /// Whether requests without credentials are `system:anonymous` and subject to RBAC, instead of the administrator's. Default false.
    pub anonymous_auth: bool,
    /// Directory that stores objects across restarts; created if absent. Answered changes survive any end of the process, but not always
    /// a crash of the machine. Default `None`: memory alone.
    pub data_dir: Option<PathBuf>,
    /// Bytes of changes in the data directory before a snapshot replaces them. Default 8 MiB.
    pub data_log_bytes: u64,
    /// Serves HTTPS instead of HTTP, and accepts client certificates. Default `None`.
    pub tls: Option<Tls>,
    /// Client certificates for webhooks. Default none.
    pub webhook_clients: WebhookClients,
    /// Fault rules from the start. Default none.
    pub faults: Rules,
    /// Whether rules that kill processes are accepted over HTTP. Default false: every client that reaches the server could end any
    /// process of its user.
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

/// The embedded API server.
#[derive(Debug)]
pub struct DevServer;

impl DevServer {
    /// Starts a server with the content of its data directory; without one, with only four namespaces and the default roles.
    ///
    /// # Errors
    ///
    /// [`Error::Listen`] when the address is in use or not this machine's; [`Error::DataDir`], [`Error::DataDirInUse`] and
    /// [`Error::Damaged`] when the data directory is unusable.
    pub async fn start(options: Options) -> Result<Running, Error> {
        let addr = options.addr;
        let listen = |source| Error::Listen { addr, source };
        let listener = TcpListener::bind(addr).await.map_err(listen)?;
        let addr = listener.local_addr().map_err(listen)?;
        let (api, feed) = Api::new(options);
        if let Some(dir) = &api.options.data_dir {
            journal::open(&api.store, dir, api.options.data_log_bytes, api.stop.clone())?;
            api.controllers.restore();
        }
        api.begin();
        let controllers = tokio::spawn(Arc::clone(&api.controllers).run(feed, api.stop.clone()));
        let server = tokio::spawn(serve(Arc::clone(&api), listener, addr));
        tracing::debug!(%addr, "embedded API server listens");
        Ok(Running { addr, api, server, controllers })
    }

    /// The service without a listener, in memory, for a caller's own listener. Watches end when the router is dropped with its runtime.
    ///
    /// Must be called on a tokio runtime: the controllers run there.
    pub fn router(options: Options) -> axum::Router {
        let (api, feed) = Api::new(options);
        api.begin();
        tokio::spawn(Arc::clone(&api.controllers).run(feed, api.stop.clone()));
        server::router(api)
    }
}

/// Serves until the server stops.
async fn serve(api: Arc<Api>, listener: TcpListener, addr: SocketAddr) {
    let router = server::router(Arc::clone(&api));
    let stop = api.stop.clone().cancelled_owned();
    let ended = match api.options.tls.clone() {
        Some(tls) => {
            let listener = crate::http::https::Listener::new(listener, addr, tls, api.stop.clone());
            let service = router.into_make_service_with_connect_info::<crate::http::https::Peer>();
            axum::serve(listener, service).with_graceful_shutdown(stop).await
        }
        None => {
            let listener = listener.tap_io(|stream| {
                // Otherwise every small response waits for the client's delayed acknowledgement.
                let _ = stream.set_nodelay(true);
            });
            axum::serve(listener, router).with_graceful_shutdown(stop).await
        }
    };
    if let Err(error) = ended {
        tracing::error!(%error, "the embedded API server stopped");
    }
}

/// A running server. Dropping it stops the server without waiting.
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

    /// A kubeconfig (YAML) for this server: without credentials over HTTP; over HTTPS, where kubectl would ask for some, with a token of
    /// the administrator.
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

    /// The number of requests per verb, over the whole life of the server.
    #[must_use]
    pub fn request_counts(&self) -> BTreeMap<String, u64> {
        self.api.requests.counts()
    }

    /// The fault rules.
    #[must_use]
    pub fn faults(&self) -> Faults<'_> {
        Faults { api: &self.api }
    }

    /// Ends the watches, finishes current requests, and stops; connections that do not finish within five seconds are cut.
    pub async fn shutdown(mut self) {
        self.api.stop.cancel();
        if tokio::time::timeout(Duration::from_secs(5), &mut self.server).await.is_err() {
            self.server.abort();
        }
        // Ends by itself: it observes the same token.
        let _ = tokio::time::timeout(Duration::from_secs(1), &mut self.controllers).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.api.stop.cancel();
    }
}
