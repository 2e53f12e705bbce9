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

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc, time::Duration};

use axum::serve::ListenerExt as _;
use tokio::{net::TcpListener, task::JoinHandle};

mod access;
mod controllers;
mod conversion;
mod copy;
mod crypto;
pub mod faults;
mod handlers;
mod http;
mod model;
mod options;
mod resources;
mod server;
mod store;
mod webhook_client;
mod webhooks;

pub use crate::http::{https::Tls, request_log::RequestRecord};
pub use access::authentication::StaticTokens;
pub use model::{error::Error, in_process::IN_PROCESS_WEBHOOKS, settings::ServiceRange};
pub use options::Options;
pub use webhook_client::users::WebhookClients;

use crate::http::https::{Listener, Peer};
use faults::Faults;
use model::user::User;
use server::Server;
use store::journal::{self, Journal};

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
        let (server, feed) = Server::new(&options);
        let Options { data_dir, data_log_bytes, tls, faults, .. } = options;
        if let Some(dir) = data_dir {
            journal::open(&server.api.store, &dir, data_log_bytes, server.api.stop.clone())?;
            server.api.controllers.restore();
        }
        let controllers = server.begin(faults, feed);
        let task = tokio::spawn(serve(Arc::clone(&server), listener, addr, tls.clone()));
        tracing::debug!(%addr, "embedded API server listens");
        Ok(Running { addr, server, tls, task, controllers })
    }

    /// The service without a listener, in memory, for a caller's own listener. Watches end when the router is dropped with its runtime.
    ///
    /// Must be called on a tokio runtime: the controllers run there.
    pub fn router(options: Options) -> axum::Router {
        let (server, feed) = Server::new(&options);
        server.begin(options.faults, feed);
        server::router(server)
    }

    /// A server without a listener, in memory, that begins with copies of the objects of another cluster. They keep their uid,
    /// resourceVersion, generation, managedFields and status. They are not validated, and get no defaults.
    ///
    /// Must be called on a tokio runtime. Turn [`Options::controllers`] off, unless `objects` are all objects of the cluster: garbage
    /// collection deletes objects whose owner is missing.
    ///
    /// * `objects` - each with apiVersion, kind and metadata, in any order. Custom resources need their definition, with its status.
    pub fn copy_of(objects: Vec<serde_json::Value>, options: Options) -> ClusterCopy {
        let (server, feed) = Server::new(&options);
        let unknown = copy::load(&server.api, objects);
        server.begin(options.faults, feed);
        ClusterCopy { server, unknown }
    }
}

/// A copy of a cluster, from [`DevServer::copy_of`].
#[derive(Debug)]
pub struct ClusterCopy {
    server: Arc<Server>,
    unknown: Vec<serde_json::Value>,
}

impl ClusterCopy {
    /// The service. Watches end when the router is dropped with its runtime.
    pub fn router(&self) -> axum::Router {
        server::router(Arc::clone(&self.server))
    }

    /// The last revision: a number that grows with each change.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.server.api.store.revision()
    }

    /// The fault rules.
    #[must_use]
    pub fn faults(&self) -> Faults<'_> {
        self.server.faults()
    }

    /// Answers the webhooks at [`IN_PROCESS_WEBHOOKS`] from now on. None: nothing listens there.
    ///
    /// * `listens` - whether the service can be reached.
    pub fn answer_webhooks(&self, service: Option<axum::Router>, listens: impl Fn() -> bool + Send + Sync + 'static) {
        self.server.api.store.in_process.set(service.map(|service| (service, Box::new(listens) as _)));
    }

    /// The objects that were left out, because the server does not serve their kind.
    #[must_use]
    pub fn unknown(&self) -> &[serde_json::Value] {
        &self.unknown
    }
}

impl Drop for ClusterCopy {
    fn drop(&mut self) {
        self.server.api.stop.cancel();
    }
}

/// Serves until the server stops.
async fn serve(server: Arc<Server>, listener: TcpListener, addr: SocketAddr, tls: Option<Tls>) {
    let stop = server.api.stop.clone();
    let stopped = stop.clone().cancelled_owned();
    let router = server::router(server);
    let ended = match tls {
        Some(tls) => {
            let listener = Listener::new(listener, addr, tls, stop);
            let service = router.into_make_service_with_connect_info::<Peer>();
            axum::serve(listener, service).with_graceful_shutdown(stopped).await
        }
        None => {
            let listener = listener.tap_io(|stream| {
                // Otherwise every small response waits for the client's delayed acknowledgement.
                let _ = stream.set_nodelay(true);
            });
            axum::serve(listener, router).with_graceful_shutdown(stopped).await
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
    server: Arc<Server>,
    tls: Option<Tls>,
    task: JoinHandle<()>,
    controllers: JoinHandle<()>,
}

impl Running {
    /// `http://127.0.0.1:PORT`, or `https://…`.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.addr)
    }

    /// A kubeconfig (YAML) for this server: without credentials over HTTP; over HTTPS, where kubectl would ask for some, with a token of
    /// the administrator.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        let token = self.tls.as_ref().map(|_| format!("token: {}", self.server.api.tokens.issue(User::admin())));
        let trust = match &self.tls {
            Some(tls) => format!("certificate-authority-data: {}", tls.authority()),
            // There is no certificate to verify; the JavaScript client refuses HTTP without it.
            None => "insecure-skip-tls-verify: true".to_owned(),
        };
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: oarlock\n  cluster:\n    server: {}\n    {trust}\ncontexts:\n- name: \
             oarlock\n  context:\n    cluster: oarlock\n    user: oarlock\n    namespace: default\ncurrent-context: \
             oarlock\nusers:\n- name: oarlock\n  user: {{{}}}\n",
            self.url(),
            token.unwrap_or_default()
        )
    }

    /// The last requests, oldest first. A watch is recorded when it starts.
    #[must_use]
    pub fn requests(&self) -> Vec<RequestRecord> {
        self.server.requests.records()
    }

    /// The number of requests per verb, over the whole life of the server.
    #[must_use]
    pub fn request_counts(&self) -> BTreeMap<String, u64> {
        self.server.requests.counts()
    }

    /// The fault rules.
    #[must_use]
    pub fn faults(&self) -> Faults<'_> {
        self.server.faults()
    }

    /// Ends the watches, finishes current requests, and stops; connections that do not finish within five seconds are cut. Afterwards
    /// the data directory is free.
    pub async fn shutdown(mut self) {
        self.server.api.stop.cancel();
        if tokio::time::timeout(Duration::from_secs(5), &mut self.task).await.is_err() {
            self.task.abort();
        }
        // Ends by itself: it observes the same token.
        let _ = tokio::time::timeout(Duration::from_secs(1), &mut self.controllers).await;
        let store = Arc::clone(&self.server.api.store);
        match tokio::task::spawn_blocking(move || store.journal().map_or(Ok(()), Journal::close)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the data directory stays locked until the process ends"),
            Err(error) => tracing::warn!(%error, "the data directory stays locked until the process ends"),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.server.api.stop.cancel();
    }
}
