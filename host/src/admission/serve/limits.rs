//! Concurrency limits of the admission server: connections, bodies and reviews. Further ones wait, within their deadline.

use super::super::review::Unreadable;
use super::BODY_BYTES;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit, watch};
use tokio::time::Instant;

/// Most connections; further ones wait to be accepted. An API server opens one for each review of a burst.
const CONNECTIONS: usize = 4096;

/// Most concurrent reviews.
const REVIEWS: usize = 256;

/// Most concurrent reviews of one plugin: a slow plugin leaves room for the others.
const SHARE: usize = REVIEWS / 2;

/// The server always reads a body up to this size, because there are no more of them than connections.
const SMALL_BYTES: usize = 32 << 10;

/// Memory for all larger bodies together, in KiB.
const LARGE_KIB: usize = 128 << 10;

/// Share of its timeout that a review needs for the work (one part in this many). A review with less time left at its turn would only be
/// late.
const WORK_SHARE: u32 = 10;

/// The limits of one listener.
#[derive(Debug)]
pub(super) struct ServerLimits {
    connections: Arc<Semaphore>,
    /// Whether a client waits while all connections are in use.
    crowded: watch::Sender<bool>,
    large: Semaphore,
    reviews: Slots,
    /// Apart from the reviews: a plugin that reads an object during a review waits for the conversion of that object.
    conversions: Slots,
}

/// Slots that the plugins share.
#[derive(Debug)]
struct Slots {
    all: Semaphore,
    /// Each plugin's share of `all`.
    shares: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// The slot of a review or a conversion, which occupies it until this value is dropped.
#[derive(Debug)]
pub(super) struct ReviewPermit<'a> {
    _of_plugin: OwnedSemaphorePermit,
    _of_all: SemaphorePermit<'a>,
}

impl ServerLimits {
    /// Limits from the number of file descriptors that the process may open.
    pub(super) fn new() -> Self {
        Self::with_connections(connections(open_files()))
    }

    fn with_connections(connections: usize) -> Self {
        Self {
            connections: Arc::new(Semaphore::new(connections)),
            crowded: watch::Sender::new(false),
            large: Semaphore::new(LARGE_KIB),
            reviews: Slots::new(),
            conversions: Slots::new(),
        }
    }

    /// Completes when connections should close after their current response.
    pub(super) async fn crowded(&self) {
        // An error is impossible: `self` owns the sender.
        let _ = self.crowded.subscribe().wait_for(|crowded| *crowded).await;
    }

    /// A slot for an accepted connection. While none is free, idle connections are asked to close.
    pub(super) async fn connection(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = Arc::clone(&self.connections).try_acquire_owned() {
            self.crowded.send_if_modified(std::mem::take);
            return Some(permit);
        }
        self.crowded.send_if_modified(|crowded| !std::mem::replace(crowded, true));
        Arc::clone(&self.connections).acquire_owned().await.ok()
    }

    /// Memory for a body.
    ///
    /// * `bytes` - the size that the client announces. None: the largest size.
    ///
    /// # Errors
    ///
    /// 503 at the deadline.
    pub(super) async fn body(
        &self,
        bytes: Option<u64>,
        deadline: Instant,
    ) -> Result<Option<SemaphorePermit<'_>>, Unreadable> {
        let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(BODY_BYTES).min(BODY_BYTES);
        if bytes <= SMALL_BYTES {
            return Ok(None);
        }
        let kib = u32::try_from(bytes >> 10).unwrap_or(u32::MAX);
        within(deadline, self.large.acquire_many(kib)).await.map(Some)
    }

    /// A slot for a review that has nothing else to wait for.
    ///
    /// * `plugin` - a plugin of this host; plugins share the slots.
    /// * `latest` - see [`latest`].
    ///
    /// # Errors
    ///
    /// 503 when too little time would be left.
    pub(super) async fn review(&self, plugin: &str, latest: Instant) -> Result<ReviewPermit<'_>, Unreadable> {
        self.reviews.take(plugin, latest).await
    }

    /// A slot for a conversion, as for a review.
    ///
    /// # Errors
    ///
    /// 503 when too little time would be left.
    pub(super) async fn conversion(&self, plugin: &str, latest: Instant) -> Result<ReviewPermit<'_>, Unreadable> {
        self.conversions.take(plugin, latest).await
    }
}

impl Slots {
    fn new() -> Self {
        Self { all: Semaphore::new(REVIEWS), shares: Mutex::default() }
    }

    async fn take(&self, plugin: &str, latest: Instant) -> Result<ReviewPermit<'_>, Unreadable> {
        let of_plugin = within(latest, self.share(plugin).acquire_owned()).await?;
        let of_all = within(latest, self.all.acquire()).await?;
        Ok(ReviewPermit { _of_plugin: of_plugin, _of_all: of_all })
    }

    fn share(&self, plugin: &str) -> Arc<Semaphore> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        // The shares of plugins without a current review, including removed plugins.
        shares.retain(|_, share| Arc::strong_count(share) > 1);
        Arc::clone(shares.entry(plugin.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(SHARE))))
    }
}

/// The latest time at which the work on a review must begin.
pub(super) fn latest(deadline: Instant, whole: Duration) -> Instant {
    deadline.checked_sub(whole / WORK_SHARE).unwrap_or(deadline)
}

async fn within<T, E>(deadline: Instant, permit: impl Future<Output = Result<T, E>>) -> Result<T, Unreadable> {
    match tokio::time::timeout_at(deadline, permit).await {
        Ok(Ok(permit)) => Ok(permit),
        _ => Err(Unreadable::new(503, "the host has too many reviews to answer in time")),
    }
}

/// Half of the files that the process may open; watches and files need some too.
fn connections(open_files: u64) -> usize {
    usize::try_from(open_files / 2).unwrap_or(usize::MAX).clamp(1, CONNECTIONS)
}

/// The number of files that the process may open. Most shells set a limit of 1024, for programs that wait with `select`; the host raises
/// it as far as allowed.
fn open_files() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: maximum, maximum };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => maximum.unwrap_or(u64::MAX),
        Err(_) => current.unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    #[test]
    fn half_of_the_files_that_may_be_open_may_be_connections() {
        for (open_files, expected) in [(0, 1), (256, 128), (1024, 512), (20_000, 4096), (u64::MAX, 4096)] {
            assert_eq!(connections(open_files), expected, "{open_files}");
        }
    }

    #[tokio::test]
    async fn whoever_waits_for_a_connection_is_told_of_until_there_is_room_again() {
        let limits = ServerLimits::with_connections(2);
        let told = || limits.crowded().now_or_never().is_some();
        let (one, two) = (limits.connection().await, limits.connection().await);
        assert!(!told(), "all have one");
        let mut third = Box::pin(limits.connection());
        assert!(third.as_mut().now_or_never().is_none() && told());
        drop(one);
        let three = third.await;
        assert!(three.is_some() && told(), "there is no more room than before");
        drop((two, three));
        assert!(limits.connection().await.is_some() && !told());
    }

    #[tokio::test(start_paused = true)]
    async fn a_review_whose_turn_comes_too_late_is_not_begun() {
        let limits = ServerLimits::with_connections(1);
        let began = Instant::now();
        let whole = Duration::from_secs(10);
        let mut turns = Vec::new();
        for number in 0..REVIEWS {
            let plugin = if number < SHARE { "one" } else { "two" };
            turns.push(limits.review(plugin, latest(began + whole, whole)).await.unwrap());
        }
        let busy = limits.review("three", latest(began + whole, whole)).await.unwrap_err();
        assert_eq!((busy.status, began.elapsed()), (503, Duration::from_secs(9)));
        drop(turns.pop());
        assert!(limits.review("three", latest(Instant::now() + whole, whole)).await.is_ok());
        drop(turns);
        assert!(limits.review("four", latest(Instant::now() + whole, whole)).await.is_ok());
        assert_eq!(limits.reviews.shares.lock().unwrap().len(), 1, "shares are kept of plugins that have reviews");
    }

    #[tokio::test(start_paused = true)]
    async fn b7_one_plugin_leaves_turns_to_the_others() {
        let limits = ServerLimits::with_connections(1);
        let whole = Duration::from_secs(10);
        let deadline = Instant::now() + whole;
        let mut turns = Vec::new();
        // Without the cooperative budget of a tokio task, which could make the wait for a free slot pending.
        let at_once =
            |plugin| tokio::task::unconstrained(limits.review(plugin, latest(deadline, whole))).now_or_never();
        while let Some(turn) = at_once("slow") {
            turns.push(turn.unwrap());
        }
        assert_eq!(turns.len(), SHARE);
        while let Some(turn) = at_once("other") {
            turns.push(turn.unwrap());
        }
        assert!(SHARE < REVIEWS && turns.len() == REVIEWS, "{}", turns.len());
    }

    #[tokio::test(start_paused = true)]
    async fn large_bodies_wait_for_each_other_and_small_ones_for_nobody() {
        let limits = ServerLimits::with_connections(1);
        let deadline = || Instant::now() + Duration::from_secs(5);
        let mut held = Vec::new();
        for _ in 0..LARGE_KIB / (BODY_BYTES >> 10) {
            // A body of unknown size, or with an announced size above the limit, takes as much as the largest body.
            let bytes = if held.len() % 2 == 0 { None } else { Some(u64::MAX) };
            held.push(limits.body(bytes, deadline()).await.unwrap());
        }
        assert_eq!(limits.body(Some(1 << 20), deadline()).await.unwrap_err().status, 503);
        assert!(limits.body(Some(SMALL_BYTES as u64), deadline()).await.unwrap().is_none());
        held.pop();
        assert!(limits.body(Some(1 << 20), deadline()).await.unwrap().is_some());
    }
}
