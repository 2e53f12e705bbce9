//! Fencing: the term in which this host alone acts for a plugin.

use super::bequest::Bequest;
use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The fencing token: the time in which this host holds a Lease. A term ends at its deadline even if no code observes the end:
/// [`Term::held`] compares the deadline with the clock. So a process that resumes after a pause begins no work that it may no longer do.
/// Cheap to clone.
///
/// # Example
///
/// ```
/// use oarlock::lease::Term;
///
/// // Where there are no Leases.
/// assert!(Term::for_ever().held());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Term(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    began: Instant,
    /// Milliseconds after `began`.
    deadline: AtomicU64,
    over: CancellationToken,
    wanted_back: CancellationToken,
    inherited: Vec<Value>,
    bequest: Mutex<Bequest>,
}

impl Term {
    /// The term of a host without leader election.
    #[must_use]
    pub const fn for_ever() -> Self {
        Self(None)
    }

    /// * `deadline` - end of the term unless it is extended.
    /// * `inherited` - handover hints of the previous holder.
    pub(super) fn until(deadline: Instant, inherited: Vec<Value>) -> Self {
        let term = Inner {
            began: Instant::now(),
            deadline: AtomicU64::default(),
            over: CancellationToken::new(),
            wanted_back: CancellationToken::new(),
            inherited,
            bequest: Mutex::default(),
        };
        term.put_off(deadline);
        Self(Some(Arc::new(term)))
    }

    /// Whether the term is still valid. Only monotonic time counts, so a jump of the wall clock changes nothing.
    #[must_use]
    pub fn held(&self) -> bool {
        self.0.as_ref().is_none_or(|inner| !inner.over.is_cancelled() && Instant::now() < inner.deadline())
    }

    /// Whether the term can end: a request sent within it may arrive after another host acquired the Lease.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        self.0.is_some()
    }

    /// Waits for the end of the term.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn over(&self) {
        match &self.0 {
            Some(inner) => inner.over.cancelled().await,
            None => std::future::pending().await,
        }
    }

    /// Waits until the Lease should move to another host. The caller then finishes current work and calls
    /// [`Seat::release`](super::Seat::release).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn wanted_back(&self) {
        match &self.0 {
            Some(inner) => inner.wanted_back.cancelled().await,
            None => std::future::pending().await,
        }
    }

    /// The handover hints that the previous holder passed to [`Self::bequeath`]. They come from a Lease, so they may be malformed. Empty
    /// also when that holder was killed or lost the Lease.
    #[must_use]
    pub fn inherited(&self) -> &[Value] {
        self.0.as_ref().map_or(&[], |inner| &inner.inherited)
    }

    /// Adds a handover hint for the next holder, which gets it if this host releases the Lease. The Lease keeps the newest hundred
    /// objects of the last half minute.
    ///
    /// * `known` - unique name of the object, and the hint.
    pub fn bequeath(&self, known: impl FnOnce() -> (String, Value)) {
        if let Some(inner) = &self.0 {
            let (name, object) = known();
            inner.bequest.lock().unwrap_or_else(PoisonError::into_inner).add(name, object);
        }
    }

    pub(super) fn bequest(&self) -> Option<String> {
        self.0.as_ref().and_then(|inner| inner.bequest.lock().unwrap_or_else(PoisonError::into_inner).text())
    }

    /// Ends the term.
    pub fn end(&self) {
        if let Some(inner) = &self.0 {
            inner.over.cancel();
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.0.as_ref().map(|inner| inner.deadline())
    }

    /// Extends the term after a renewal. A term that ended stays ended, because other code may have observed the end.
    pub(super) fn extend(&self, deadline: Instant) {
        let held = self.held();
        match &self.0 {
            Some(inner) if held => inner.put_off(deadline),
            _ => self.end(),
        }
    }

    pub(super) fn want_back(&self) {
        if let Some(inner) = &self.0 {
            inner.wanted_back.cancel();
        }
    }
}

impl Inner {
    fn put_off(&self, deadline: Instant) {
        let after = deadline.saturating_duration_since(self.began).as_millis();
        self.deadline.fetch_max(u64::try_from(after).unwrap_or(u64::MAX), Ordering::AcqRel);
    }

    fn deadline(&self) -> Instant {
        self.began + Duration::from_millis(self.deadline.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_term_ends_at_its_deadline_although_nobody_ends_it() {
        let term = Term::until(Instant::now() + Duration::from_secs(10), Vec::new());
        tokio::time::advance(Duration::from_millis(9_999)).await;
        assert!(term.held());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!term.held(), "l4: a process that was paused knows by the clock");
    }

    #[tokio::test(start_paused = true)]
    async fn a_renewal_extends_a_term_and_does_not_revive_one() {
        let term = Term::until(Instant::now() + Duration::from_secs(10), Vec::new());
        term.extend(Instant::now() + Duration::from_secs(5));
        tokio::time::advance(Duration::from_secs(7)).await;
        assert!(term.held(), "an answer that comes late shortens nothing");
        term.extend(Instant::now() + Duration::from_secs(10));
        tokio::time::advance(Duration::from_secs(9)).await;
        assert!(term.held());
        tokio::time::advance(Duration::from_secs(2)).await;
        term.extend(Instant::now() + Duration::from_secs(10));
        assert!(!term.held(), "a renewal that comes too late");
        term.over().await;
    }

    #[test]
    fn without_leases_it_lasts() {
        let term = Term::for_ever();
        term.end();
        assert!(term.held() && !term.is_bounded());
    }
}
