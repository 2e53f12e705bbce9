//! Configuration of a server.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
};

use crate::{
    access::authentication::StaticTokens,
    faults::Rules,
    http::https::Tls,
    model::settings::{ServiceRange, Settings},
    webhook_client::users::WebhookClients,
};

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
    /// Number of requests that [`Running::requests`](crate::Running::requests) keeps. Default 10 000.
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
    /// Whether a new Pod needs an existing ServiceAccount, and gets its token: the admission plugin `ServiceAccount`. Default true.
    pub service_account_admission: bool,
    /// Addresses of Services.
    pub service_range: ServiceRange,
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
            service_account_admission: true,
            service_range: ServiceRange::default(),
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

    /// Sets [`service_account_admission`](Self::service_account_admission).
    #[must_use]
    pub fn service_account_admission(mut self, admit: bool) -> Self {
        self.service_account_admission = admit;
        self
    }

    /// Sets [`service_range`](Self::service_range).
    #[must_use]
    pub fn service_range(mut self, range: ServiceRange) -> Self {
        self.service_range = range;
        self
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings { service_accounts: self.service_account_admission, services: self.service_range }
    }
}
