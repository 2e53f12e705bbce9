//! Start, inspection and shutdown of an emulator.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connection::{Service, serve};
use crate::fault::{Fault, Plan};
use crate::journal::{Journal, Request};
use crate::keystone::{Auth, Keystone};
use crate::neutron::Neutron;

/// Configuration of an emulator.
#[derive(Debug, Clone)]
pub struct Options {
    /// Listen address of Neutron; port 0 takes a free one.
    pub addr: SocketAddr,
    /// Listen address of Keystone; used with `auth` only.
    pub keystone_addr: SocketAddr,
    /// Accounts. `None`: no authentication, every caller is an administrator.
    pub auth: Option<Auth>,
    /// Largest page of a list, regardless of the request's `limit`.
    pub page_limit: Option<usize>,
    /// Number of requests in the journal.
    pub journal_capacity: usize,
}

impl Default for Options {
    /// Free ports on 127.0.0.1, no authentication, no page limit, 10 000 journal entries.
    fn default() -> Self {
        let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self { addr: loopback, keystone_addr: loopback, auth: None, page_limit: None, journal_capacity: 10_000 }
    }
}

/// Starts emulators.
#[derive(Debug)]
pub struct Emulator;

impl Emulator {
    /// Listens and serves until [`Running::shutdown`], or until the handle is dropped.
    ///
    /// # Errors
    ///
    /// An address is unusable.
    pub async fn start(options: Options) -> Result<Running> {
        let neutron = listen(options.addr).await?;
        let neutron_url = format!("http://{}", neutron.local_addr()?);
        let keystone = if options.auth.is_some() { Some(listen(options.keystone_addr).await?) } else { None };
        let keystone_url = match &keystone {
            Some(listener) => Some(format!("http://{}", listener.local_addr()?)),
            None => None,
        };
        let inner = Inner {
            neutron: Neutron::new(options.page_limit),
            keystone: options.auth.map(Keystone::new),
            plan: Plan::default(),
            journal: Journal::new(options.journal_capacity),
        };
        let shared = Arc::new(Shared {
            inner: Mutex::new(inner),
            neutron_url,
            keystone_url: keystone_url.unwrap_or_default(),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        });
        shared.tasks.spawn(serve(neutron, Service::Neutron, Arc::clone(&shared)));
        if let Some(listener) = keystone {
            shared.tasks.spawn(serve(listener, Service::Keystone, Arc::clone(&shared)));
        }
        Ok(Running { shared })
    }
}

/// A running emulator.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
}

impl Running {
    /// Neutron's endpoint without `/v2.0`, such as `http://127.0.0.1:9696`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.shared.neutron_url
    }

    /// Keystone's `auth_url` with `/v3`; `None` without authentication.
    #[must_use]
    pub fn keystone_url(&self) -> Option<String> {
        let url = &self.shared.keystone_url;
        (!url.is_empty()).then(|| format!("{url}/v3"))
    }

    /// Every network as an administrator sees it, ordered by id.
    #[must_use]
    pub fn networks(&self) -> Vec<Value> {
        self.shared.lock().neutron.all("networks")
    }

    /// Every subnet, ordered by id.
    #[must_use]
    pub fn subnets(&self) -> Vec<Value> {
        self.shared.lock().neutron.all("subnets")
    }

    /// Every port, ordered by id.
    #[must_use]
    pub fn ports(&self) -> Vec<Value> {
        self.shared.lock().neutron.all("ports")
    }

    /// The newest requests, oldest first; see [`Options::journal_capacity`].
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().journal.entries()
    }

    /// Empties the journal; numbering continues.
    pub fn clear_requests(&self) {
        self.shared.lock().journal.clear();
    }

    /// Replaces the fault rules. Requests that a fault already holds are not released.
    pub fn set_faults(&self, faults: Vec<Fault>) {
        self.shared.lock().plan.set(faults);
    }

    /// Removes the fault rules.
    pub fn clear_faults(&self) {
        self.set_faults(Vec::new());
    }

    /// The fault rules, with their remaining `skip` and `count`.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        self.shared.lock().plan.rules().to_vec()
    }

    /// Expires every token issued so far.
    pub fn expire_tokens(&self) {
        if let Some(keystone) = &mut self.shared.lock().keystone {
            keystone.expire_all();
        }
    }

    /// Removes every network, subnet, port, router and quota.
    pub fn clear_state(&self) {
        self.shared.lock().neutron.clear();
    }

    /// Stops listening, drops open connections and waits until they are gone.
    pub async fn shutdown(self) {
        self.shared.stop.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.stop.cancel();
    }
}

/// State shared by all connections.
#[derive(Debug)]
pub(crate) struct Shared {
    inner: Mutex<Inner>,
    pub(crate) neutron_url: String,
    /// Without `/v3`; empty without authentication.
    pub(crate) keystone_url: String,
    pub(crate) stop: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) neutron: Neutron,
    pub(crate) keystone: Option<Keystone>,
    pub(crate) plan: Plan,
    pub(crate) journal: Journal,
}

async fn listen(addr: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(addr).await.with_context(|| format!("listening on {addr}"))
}
