//! A service in this process that answers webhooks, without a connection.

use std::{
    fmt,
    sync::{PoisonError, RwLock},
};

use axum::Router;
use url::Url;

/// The origin of webhooks in this process, for a `clientConfig.url`. No name of the Internet has this suffix.
pub const IN_PROCESS_WEBHOOKS: &str = "https://webhooks.invalid";

/// Whether the service listens.
type Listens = Box<dyn Fn() -> bool + Send + Sync>;

/// The service that answers at [`IN_PROCESS_WEBHOOKS`]. None: nothing listens there.
#[derive(Default)]
pub(crate) struct InProcess(RwLock<Option<(Router, Listens)>>);

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InProcess").finish_non_exhaustive()
    }
}

impl InProcess {
    pub(crate) fn set(&self, service: Option<(Router, Listens)>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = service;
    }

    /// The service at a URL. None: the URL is elsewhere.
    ///
    /// # Errors
    ///
    /// Nothing listens, in the words of the API server.
    pub(crate) fn at(&self, url: &Url) -> Option<Result<Router, String>> {
        if url.origin() != Url::parse(IN_PROCESS_WEBHOOKS).ok()?.origin() {
            return None;
        }
        let service = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let listening = service.as_ref().filter(|(_, listens)| listens()).map(|(router, _)| router.clone());
        let host = url.host_str().unwrap_or_default();
        Some(listening.ok_or_else(|| format!("dial tcp {host}:443: connect: connection refused")))
    }
}
