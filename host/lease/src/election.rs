//! A controller's view of its Lease: competing, leadership, release.

use super::LeadershipGuard;
use super::elector::LeaderElector;
use super::record;
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Longest wait for the release, which is a request to the API server.
const RELEASED_WITHIN: Duration = Duration::from_secs(5);

/// The candidacy of one controller, or of the host's own duties: it competes for a Lease and publishes a guard for each time in which it holds
/// it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LeaderElection {
    guard: watch::Receiver<Option<LeadershipGuard>>,
    elector: Option<(Arc<LeaderElector>, Arc<ElectionState>)>,
}

/// The intent of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElectionIntent {
    /// Do not acquire the Lease.
    Idle,
    /// Acquire and hold the Lease.
    Compete,
    /// Release the Lease, and compete again after a pause.
    Release,
    /// Release the Lease and never compete again.
    Leave,
}

/// State shared between an election and its task in the elector.
#[derive(Debug)]
pub(super) struct ElectionState {
    /// The Lease's name.
    pub(super) lease: String,
    pub(super) intent: watch::Sender<ElectionIntent>,
    pub(super) guard: watch::Sender<Option<LeadershipGuard>>,
    holder_annotations: Mutex<Vec<(&'static str, String)>>,
}

impl ElectionState {
    pub(super) fn holder_annotations(&self) -> Vec<(&'static str, String)> {
        self.holder_annotations.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn intent(&self) -> ElectionIntent {
        *self.intent.borrow()
    }

    pub(super) fn current(&self) -> Option<LeadershipGuard> {
        self.guard.borrow().clone()
    }
}

impl LeaderElection {
    /// The election of a host without leader election.
    #[must_use]
    pub fn for_ever() -> Self {
        let (_, guard) = watch::channel(Some(LeadershipGuard::for_ever()));
        Self { guard, elector: None }
    }

    pub(super) fn new(elector: Arc<LeaderElector>, lease: &str) -> (Self, Arc<ElectionState>) {
        let (sender, guard) = watch::channel(None);
        let state = Arc::new(ElectionState {
            lease: lease.to_owned(),
            intent: watch::Sender::new(ElectionIntent::Idle),
            guard: sender,
            holder_annotations: Mutex::default(),
        });
        (Self { guard, elector: Some((elector, Arc::clone(&state))) }, state)
    }

    /// Begins or continues to compete for the Lease, and publishes the controller version of this host in it while this host holds it.
    ///
    /// * `version` - from [`Self::version`]; empty for the host's own duties.
    pub fn compete(&self, version: &[(&'static str, String)]) {
        let Some((_, state)) = &self.elector else { return };
        *state.holder_annotations.lock().unwrap_or_else(PoisonError::into_inner) = version.to_vec();
        state.intent.send_if_modified(|intent| {
            let idle = *intent == ElectionIntent::Idle;
            if idle {
                *intent = ElectionIntent::Compete;
            }
            // Also wakes the task when only the version changed.
            idle || *intent == ElectionIntent::Compete
        });
    }

    /// The argument of [`Self::compete`].
    ///
    /// * `config` - stands for the configuration.
    #[must_use]
    pub fn version(version: &str, digest: &str, config: &str) -> [(&'static str, String); 3] {
        record::holder_annotations(version, digest, config)
    }

    /// Whether the host uses leader election.
    #[must_use]
    pub fn has_lease(&self) -> bool {
        self.elector.is_some()
    }

    /// The guard of the current leadership. None: another host holds the Lease, or none does.
    #[must_use]
    pub fn guard(&self) -> Option<LeadershipGuard> {
        self.guard.borrow().clone().filter(LeadershipGuard::held)
    }

    /// Waits for leadership.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn held(&self) -> LeadershipGuard {
        let mut guards = self.guard.clone();
        loop {
            if let Some(guard) = guards.borrow_and_update().clone().filter(LeadershipGuard::held) {
                return guard;
            }
            if guards.changed().await.is_err() {
                // The task ended, so no leadership will follow.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Releases the Lease, so that another host can acquire it at once, and ends the leadership. This host pauses, then competes again.
    ///
    /// # Cancel safety
    ///
    /// The elector releases the Lease also when the future is dropped.
    pub async fn release(&self) {
        self.release_lease(ElectionIntent::Release).await;
    }

    /// Releases the Lease, ends the leadership, and stops competing.
    ///
    /// # Cancel safety
    ///
    /// The elector releases the Lease also when the future is dropped.
    pub async fn leave(&self) {
        self.release_lease(ElectionIntent::Leave).await;
        if let Some((elector, state)) = &self.elector {
            elector.forget(state);
        }
    }

    async fn release_lease(&self, how: ElectionIntent) {
        let Some((_, state)) = &self.elector else { return };
        state.intent.send_if_modified(|intent| {
            let changed = *intent != ElectionIntent::Leave && *intent != how;
            if changed {
                *intent = how;
            }
            changed
        });
        let mut guards = self.guard.clone();
        let given_back = guards.wait_for(Option::is_none);
        let _ = tokio::time::timeout(RELEASED_WITHIN, given_back).await;
    }

    /// The holder of the Lease and the controller version of that host, as far as this host knows. None: no leader election.
    #[must_use]
    pub fn describe(&self) -> Option<Value> {
        let (elector, state) = self.elector.as_ref()?;
        Some(elector.describe(state))
    }
}
