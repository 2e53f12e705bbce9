//! Feed of finished reconciles, for a person who watches a host at work.

use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast;

/// Reconciles that a reader may be behind.
const BEHIND: usize = 256;

/// One finished reconcile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedReconcile {
    /// Name of the plugin.
    pub plugin: String,
    /// Version in the manifest of the plugin that reconciled.
    pub version: String,
    /// SHA-256 of its file, in hex.
    pub digest: String,
    /// Kind and name of the object: `ConfigMap team-a/settings`.
    pub key: String,
    /// From taking the key to the end.
    pub took: Duration,
    /// The error, if it failed: text of the plugin or of a server.
    pub error: Option<String>,
}

/// A sender of finished reconciles. Readers that are too slow lose the oldest ones.
#[derive(Clone, Debug)]
pub struct ReconcileFeed(broadcast::Sender<Arc<FinishedReconcile>>);

impl Default for ReconcileFeed {
    fn default() -> Self {
        Self(broadcast::Sender::new(BEHIND))
    }
}

impl ReconcileFeed {
    /// The reconciles that end from now on.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<FinishedReconcile>> {
        self.0.subscribe()
    }

    pub(super) fn send(&self, finished: FinishedReconcile) {
        // An error means that nobody reads.
        let _ = self.0.send(Arc::new(finished));
    }
}
