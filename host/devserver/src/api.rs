//! Server state, shared by all requests and controllers.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    Options,
    access::{authentication::Tokens, authorization::Authorizer},
    controllers::{Controllers, Feed},
    faults::{FaultState, Faults},
    http::request_log::RequestLog,
    resources::registry::Registry,
    store::Store,
    webhooks::Webhooks,
};

/// The state that requests need.
#[derive(Debug)]
pub(crate) struct Api {
    pub(crate) store: Arc<Store>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) requests: RequestLog,
    pub(crate) authorizer: Authorizer,
    pub(crate) tokens: Tokens,
    pub(crate) faults: FaultState,
    pub(crate) webhooks: Webhooks,
    pub(crate) controllers: Arc<Controllers>,
    pub(crate) options: Options,
    /// Cancelled when the server shuts down: ends watches and controllers.
    pub(crate) stop: CancellationToken,
}

impl Api {
    /// An empty server.
    pub(crate) fn new(options: Options) -> (Arc<Self>, Feed) {
        let (sender, feed) = mpsc::unbounded_channel();
        let store = Arc::new(Store::new(options.watch_history, sender));
        let registry = Arc::new(Registry::new());
        let api = Self {
            authorizer: Authorizer::new(Arc::clone(&store), options.controllers),
            webhooks: Webhooks::new(Arc::clone(&store), Arc::clone(&registry), options.webhook_clients.clone()),
            controllers: Arc::new(Controllers::new(Arc::clone(&store), Arc::clone(&registry), options.controllers)),
            store,
            registry,
            requests: RequestLog::new(options.request_history),
            tokens: Tokens::new(options.tokens.clone(), options.anonymous_auth),
            faults: FaultState::new(),
            options,
            stop: CancellationToken::new(),
        };
        // Watches of a kind may start at any version that this server ever returned.
        for resource in api.registry.served().all() {
            api.store.of(resource);
        }
        (Arc::new(api), feed)
    }

    /// Creates the namespaces and roles of every cluster, and activates the fault rules.
    pub(crate) fn begin(self: &Arc<Self>) {
        self.controllers.bootstrap();
        if let Err(error) = (Faults { api: self }).add(self.options.faults.clone()) {
            tracing::error!(%error, "fault rules cannot be used");
        }
    }
}
