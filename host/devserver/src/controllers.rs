//! Controllers: what the server does by itself after a write. Definitions are settled and namespaces get their ServiceAccount before
//! the response of the write is sent; garbage collection and the deletion of namespaces follow it.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    model::{kinds::Resource, status::Result},
    resources::{
        deletion::{self, DeleteOptions, Deleted},
        registry::Registry,
    },
    store::{Change, Key, Store},
};

mod bootstrap;
mod definitions;
mod gc;
mod namespaces;
mod service_accounts;

/// The changes of all resource stores, with the names of these.
pub(crate) type Feed = mpsc::UnboundedReceiver<(Arc<str>, Change)>;

/// What the controllers read and write.
#[derive(Debug)]
pub(crate) struct Controllers {
    store: Arc<Store>,
    registry: Arc<Registry>,
    /// Whether any controllers but that of definitions run.
    enabled: bool,
}

impl Controllers {
    pub(crate) fn new(store: Arc<Store>, registry: Arc<Registry>, enabled: bool) -> Self {
        Self { store, registry, enabled }
    }

    /// Serves the definitions of a loaded store, continues their deletions, and announces every object to the other controllers.
    pub(crate) fn restore(&self) {
        definitions::restore(self);
        self.store.announce();
    }

    /// Runs until `stop`.
    pub(crate) async fn run(self: Arc<Self>, feed: Feed, stop: CancellationToken) {
        gc::run(&self, feed, stop).await;
    }

    /// Reacts to a new object, before the response.
    pub(crate) fn created(&self, resource: &Resource, key: &Key) {
        self.written(resource, key);
        if self.enabled && resource.is("", "namespaces") {
            service_accounts::create_default(self, &key.name);
        }
    }

    /// Reacts to a changed or deleted object, before the response.
    pub(crate) fn written(&self, resource: &Resource, key: &Key) {
        definitions::after_write(self, resource, key);
    }

    /// Deletes an object, or marks it when finalizers or a kubelet hold it. Calls no webhooks.
    pub(crate) fn delete(&self, resource: &Resource, key: &Key, options: &DeleteOptions) -> Result<Deleted> {
        let outcome = deletion::remove(&self.store, resource, key, options)?;
        if !options.dry_run {
            self.written(resource, key);
        }
        Ok(outcome)
    }
}
