//! Fencing: the time in which this host alone acts for a controller.

use super::handover_hints::HandoverHints;
use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The fencing token: the time in which this host holds a Lease. Leadership ends at its deadline even if no code observes the end:
/// [`LeadershipGuard::held`] compares the deadline with the clock. So a process that resumes after a pause begins no work that it may no
/// longer do. Cheap to clone.
///
/// # Example
///
/// ```
/// use oarlock_lease::LeadershipGuard;
///
/// // Where there are no Leases.
/// assert!(LeadershipGuard::for_ever().held());
/// ```
#[derive(Clone, Debug, Default)]
pub struct LeadershipGuard(Option<Arc<GuardState>>);

#[derive(Debug)]
struct GuardState {
    began: Instant,
    /// Milliseconds after `began`.
    deadline: AtomicU64,
    over: CancellationToken,
    release_requested: CancellationToken,
    received_hints: Vec<Value>,
    handover_hints: Mutex<HandoverHints>,
}

impl LeadershipGuard {
    /// The guard of a host without leader election.
    #[must_use]
    pub const fn for_ever() -> Self {
        Self(None)
    }

    /// * `deadline` - end of the leadership unless it is extended.
    /// * `inherited` - handover hints of the previous holder.
    pub(super) fn until(deadline: Instant, received_hints: Vec<Value>) -> Self {
        let guard = GuardState {
            began: Instant::now(),
            deadline: AtomicU64::default(),
            over: CancellationToken::new(),
            release_requested: CancellationToken::new(),
            received_hints,
            handover_hints: Mutex::default(),
        };
        guard.extend_to(deadline);
        Self(Some(Arc::new(guard)))
    }

    /// Whether the leadership is still valid. Only monotonic time counts, so a jump of the wall clock changes nothing.
    #[must_use]
    pub fn held(&self) -> bool {
        self.0.as_ref().is_none_or(|inner| !inner.over.is_cancelled() && Instant::now() < inner.deadline())
    }

    /// Whether the leadership can end: a request sent within it may arrive after another host acquired the Lease.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        self.0.is_some()
    }

    /// Waits for the end of the leadership.
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
    /// [`LeaderElection::release`](super::LeaderElection::release).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn release_requested(&self) {
        match &self.0 {
            Some(inner) => inner.release_requested.cancelled().await,
            None => std::future::pending().await,
        }
    }

    /// The handover hints that the previous holder passed to [`Self::add_handover_hint`]. They come from a Lease, so they may be malformed.
    /// Empty also when that holder was killed or lost the Lease.
    #[must_use]
    pub fn received_hints(&self) -> &[Value] {
        self.0.as_ref().map_or(&[], |inner| &inner.received_hints)
    }

    /// Adds a handover hint for the next holder, which gets it if this host releases the Lease. The Lease keeps the newest hundred
    /// objects of the last half minute.
    ///
    /// * `known` - unique name of the object, and the hint.
    pub fn add_handover_hint(&self, observed: impl FnOnce() -> (String, Value)) {
        if let Some(inner) = &self.0 {
            let (name, object) = observed();
            inner.handover_hints.lock().unwrap_or_else(PoisonError::into_inner).add(name, object);
        }
    }

    pub(super) fn handover_hints(&self) -> Option<String> {
        self.0.as_ref().and_then(|inner| inner.handover_hints.lock().unwrap_or_else(PoisonError::into_inner).text())
    }

    /// Ends the leadership.
    pub fn end(&self) {
        if let Some(inner) = &self.0 {
            inner.over.cancel();
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.0.as_ref().map(|inner| inner.deadline())
    }

    /// Extends the leadership after a renewal. Leadership that ended stays ended, because other code may have observed the end.
    pub(super) fn extend(&self, deadline: Instant) {
        let held = self.held();
        match &self.0 {
            Some(inner) if held => inner.extend_to(deadline),
            _ => self.end(),
        }
    }

    pub(super) fn request_release(&self) {
        if let Some(inner) = &self.0 {
            inner.release_requested.cancel();
        }
    }
}

impl GuardState {
    fn extend_to(&self, deadline: Instant) {
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
    async fn leadership_ends_at_its_deadline_although_nobody_ends_it() {
        let guard = LeadershipGuard::until(Instant::now() + Duration::from_secs(10), Vec::new());
        tokio::time::advance(Duration::from_millis(9_999)).await;
        assert!(guard.held());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!guard.held(), "l4: a process that was paused knows by the clock");
    }

    #[tokio::test(start_paused = true)]
    async fn a_renewal_extends_leadership_and_does_not_revive_it() {
        let guard = LeadershipGuard::until(Instant::now() + Duration::from_secs(10), Vec::new());
        guard.extend(Instant::now() + Duration::from_secs(5));
        tokio::time::advance(Duration::from_secs(7)).await;
        assert!(guard.held(), "an answer that comes late shortens nothing");
        guard.extend(Instant::now() + Duration::from_secs(10));
        tokio::time::advance(Duration::from_secs(9)).await;
        assert!(guard.held());
        tokio::time::advance(Duration::from_secs(2)).await;
        guard.extend(Instant::now() + Duration::from_secs(10));
        assert!(!guard.held(), "a renewal that comes too late");
        guard.over().await;
    }

    #[test]
    fn without_leases_it_lasts() {
        let guard = LeadershipGuard::for_ever();
        guard.end();
        assert!(guard.held() && !guard.is_bounded());
    }
}
