//! A plugin's view of its Lease: competing, terms, release.

use super::Term;
use super::office::Office;
use super::record;
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Longest wait for the release, which is a request to the API server.
const RELEASED_WITHIN: Duration = Duration::from_secs(5);

/// The candidacy of one plugin, or of the host's own duties: it competes for a Lease and publishes the terms in which it holds it. Cheap
/// to clone.
#[derive(Clone, Debug)]
pub struct Seat {
    term: watch::Receiver<Option<Term>>,
    office: Option<(Arc<Office>, Arc<Shared>)>,
}

/// Election intent of a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// Do not acquire the Lease.
    Idle,
    /// Acquire and hold the Lease.
    Compete,
    /// Release the Lease, and compete again after a pause.
    Release,
    /// Release the Lease and never compete again.
    Leave,
}

/// State shared between a seat and its task in the elector.
#[derive(Debug)]
pub(super) struct Shared {
    /// The Lease's name.
    pub(super) lease: String,
    pub(super) wish: watch::Sender<Wish>,
    pub(super) term: watch::Sender<Option<Term>>,
    facts: Mutex<Vec<(&'static str, String)>>,
}

impl Shared {
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn wish(&self) -> Wish {
        *self.wish.borrow()
    }

    pub(super) fn current(&self) -> Option<Term> {
        self.term.borrow().clone()
    }
}

impl Seat {
    /// The seat of a host without leader election.
    #[must_use]
    pub fn for_ever() -> Self {
        let (_, term) = watch::channel(Some(Term::for_ever()));
        Self { term, office: None }
    }

    pub(super) fn new(office: Arc<Office>, lease: &str) -> (Self, Arc<Shared>) {
        let (sender, term) = watch::channel(None);
        let shared = Arc::new(Shared {
            lease: lease.to_owned(),
            wish: watch::Sender::new(Wish::Idle),
            term: sender,
            facts: Mutex::default(),
        });
        (Self { term, office: Some((office, Arc::clone(&shared))) }, shared)
    }

    /// Begins or continues to compete for the Lease, and publishes the plugin version of this host in it while this host holds it.
    ///
    /// * `version` - version and digest; empty for the host's own duties.
    pub fn compete(&self, version: &[(&'static str, String)]) {
        let Some((_, shared)) = &self.office else { return };
        *shared.facts.lock().unwrap_or_else(PoisonError::into_inner) = version.to_vec();
        shared.wish.send_if_modified(|wish| {
            let idle = *wish == Wish::Idle;
            if idle {
                *wish = Wish::Compete;
            }
            // Also wakes the task when only the version changed.
            idle || *wish == Wish::Compete
        });
    }

    /// The argument of [`Self::compete`].
    #[must_use]
    pub fn version(version: &str, digest: &str) -> [(&'static str, String); 2] {
        record::facts(version, digest)
    }

    /// Whether the host uses leader election.
    #[must_use]
    pub fn has_lease(&self) -> bool {
        self.office.is_some()
    }

    /// The current term. None: another host holds the Lease, or none does.
    #[must_use]
    pub fn term(&self) -> Option<Term> {
        self.term.borrow().clone().filter(Term::held)
    }

    /// Waits for a term.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn held(&self) -> Term {
        let mut terms = self.term.clone();
        loop {
            if let Some(term) = terms.borrow_and_update().clone().filter(Term::held) {
                return term;
            }
            if terms.changed().await.is_err() {
                // The task ended, so no term will follow.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Releases the Lease, so that another host can acquire it at once, and ends the term. This host pauses, then competes again.
    ///
    /// # Cancel safety
    ///
    /// The elector releases the Lease also when the future is dropped.
    pub async fn release(&self) {
        self.give_back(Wish::Release).await;
    }

    /// Releases the Lease, ends the term, and stops competing.
    ///
    /// # Cancel safety
    ///
    /// The elector releases the Lease also when the future is dropped.
    pub async fn leave(&self) {
        self.give_back(Wish::Leave).await;
        if let Some((office, shared)) = &self.office {
            office.forget(shared);
        }
    }

    async fn give_back(&self, how: Wish) {
        let Some((_, shared)) = &self.office else { return };
        shared.wish.send_if_modified(|wish| {
            let changed = *wish != Wish::Leave && *wish != how;
            if changed {
                *wish = how;
            }
            changed
        });
        let mut terms = self.term.clone();
        let given_back = terms.wait_for(Option::is_none);
        let _ = tokio::time::timeout(RELEASED_WITHIN, given_back).await;
    }

    /// The holder of the Lease and the plugin version of that host, as far as this host knows. None: no leader election.
    #[must_use]
    pub fn describe(&self) -> Option<Value> {
        let (office, shared) = self.office.as_ref()?;
        Some(office.describe(shared))
    }
}
