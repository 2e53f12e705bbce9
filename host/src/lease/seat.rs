//! One Lease as those see it who act by it.

use super::Term;
use super::office::Office;
use super::record;
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// A release is a request; it is waited for so long.
const RELEASED_WITHIN: Duration = Duration::from_secs(5);

/// The place of one plugin, or of the host: competes for a Lease, and tells of the terms in which it is held. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Seat {
    term: watch::Receiver<Option<Term>>,
    office: Option<(Arc<Office>, Arc<Shared>)>,
}

/// What a seat wants of its Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// Leave it to others.
    Idle,
    /// Have it.
    Compete,
    /// Give it back, then compete again after a while.
    Release,
    /// Give it back for good.
    Leave,
}

/// What a seat and the task behind it share.
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
    /// Where there are no Leases.
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

    /// Competes for the Lease, or goes on to, and tells others which version is run by whoever holds it.
    ///
    /// * `version` - version and digest; empty for the host itself.
    pub fn compete(&self, version: &[(&'static str, String)]) {
        let Some((_, shared)) = &self.office else { return };
        *shared.facts.lock().unwrap_or_else(PoisonError::into_inner) = version.to_vec();
        shared.wish.send_if_modified(|wish| {
            let idle = *wish == Wish::Idle;
            if idle {
                *wish = Wish::Compete;
            }
            // Told also when only the version is another.
            idle || *wish == Wish::Compete
        });
    }

    /// See [`Self::compete`].
    #[must_use]
    pub fn version(version: &str, digest: &str) -> [(&'static str, String); 2] {
        record::facts(version, digest)
    }

    /// Whether there is a Lease to be had or lost.
    #[must_use]
    pub fn has_lease(&self) -> bool {
        self.office.is_some()
    }

    /// The term of this moment.
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
                // Its task is gone: there will be none.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Gives the Lease back, so that another host takes it at once; this one leaves it alone for a while, then competes again. Ends the term.
    ///
    /// # Cancel safety
    ///
    /// The Lease is given back also when the future is dropped.
    pub async fn release(&self) {
        self.give_back(Wish::Release).await;
    }

    /// Gives the Lease back, and competes no more. Ends the term.
    ///
    /// # Cancel safety
    ///
    /// The Lease is given back also when the future is dropped.
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

    /// Who holds the Lease and which version that runs, as far as this host knows. None: there are no Leases.
    #[must_use]
    pub fn describe(&self) -> Option<Value> {
        let (office, shared) = self.office.as_ref()?;
        Some(office.describe(shared))
    }
}
