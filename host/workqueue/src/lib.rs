//! Workqueue between event handlers and workers: deduplication, priorities, delays, retry rate limits.
//!
//! It is fair (within a priority, first in is first out) and stingy. Two workers never hold the same key, and a key added several times
//! while it waits is handed out once. It is level-triggered: only the key crosses, and an add while a worker holds the key means exactly
//! one more run. Each controller has a queue of its own. So removing the
//! controller purges its keys, and a controller that floods its queue delays no key of another.
//!
//! A key is in at most one of *ready* (waits for a worker) and *processing* (a worker holds it; it may be marked dirty, which makes it
//! ready again at [`WorkQueue::done`]). In addition it may have one timer, which adds the key when it fires.
//!
//! # Example
//!
//! ```
//! use oarlock_workqueue::{Config, Trigger, WorkQueue};
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
//! # runtime.block_on(async {
//! let queue = WorkQueue::new("network", Config::default());
//! queue.add("default/example", Trigger::Event);
//! if let Some(item) = queue.get().await {
//!     queue.forget(&item.key); // it went well: the next failure backs off from the start
//!     queue.done(&item.key);
//! }
//! # });
//! ```
//!
//! # Source
//!
//! The contract is client-go's, `util/workqueue/{queue,delaying_queue,rate_limiting_queue}.go`; priorities follow
//! controller-runtime's `pkg/controller/priorityqueue`. One thing differs: [`forget`](WorkQueue::forget) also drops a retry that is not due yet.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod config;
mod delay;
mod fair;
pub mod metrics;
mod rate_limit;
mod shared;
mod snapshot;
mod state;
mod table;

#[cfg(test)]
mod interleavings;
#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

pub use self::config::{Cause, Config, MAX_DELAY, Priority, Trigger};
pub use self::snapshot::{KeyStatus, Phase, Snapshot};

use std::fmt::{self, Debug};
use std::hash::Hash;
use std::sync::{Arc, Weak};
use std::time::Duration;

use self::metrics::{Metrics, MetricsSource};
use self::shared::Shared;

/// The primitives of the shared part.
mod sync {
    pub(super) use std::sync::{Mutex, MutexGuard, PoisonError};

    pub(super) use tokio::sync::Notify;
    pub(super) use tokio::time::{Instant, sleep_until};

    pub(super) fn now() -> Instant {
        Instant::now()
    }
}

/// One key handed to one worker by [`WorkQueue::get`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item<K> {
    /// The key to reconcile. The worker must call [`WorkQueue::done`] with it, whatever the outcome.
    pub key: K,
    /// Why the key runs. Of several coalesced adds, the trigger with the highest priority; the first of equals.
    pub trigger: Trigger,
    /// The last event among them, if it was added with [`WorkQueue::add_event`].
    pub cause: Option<Cause>,
    /// 1 plus the failures since the key was last forgotten: 1 on a first try.
    pub attempt: u32,
    /// How long the key was ready before a worker took it; time in a timer does not count.
    pub waited: Duration,
}

/// A queue of keys; a clone is another handle to the same queue.
///
/// Every operation takes O(log n) of the keys that wait. Time is tokio's clock, which is monotonic: a jump of the wall
/// clock neither fires nor holds back anything.
pub struct WorkQueue<K> {
    name: Arc<str>,
    shared: Arc<Shared<K>>,
}

impl<K> Clone for WorkQueue<K> {
    fn clone(&self) -> Self {
        Self { name: Arc::clone(&self.name), shared: Arc::clone(&self.shared) }
    }
}

impl<K: Clone + Eq + Hash + Debug + Send + 'static> Debug for WorkQueue<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkQueue").field("name", &self.name()).field("len", &self.len()).finish_non_exhaustive()
    }
}

impl<K: Clone + Eq + Hash + Debug + Send + 'static> WorkQueue<K> {
    /// Creates an empty queue.
    ///
    /// * `name` - appears in [`Self::name`] and `Debug` only.
    /// * `config` - values out of range are brought into range as [`Config`] says.
    #[must_use]
    pub fn new(name: &str, config: Config) -> Self {
        Self { name: Arc::from(name), shared: Arc::new(Shared::new(config)) }
    }

    /// The name from [`Self::new`].
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds `key`, or marks it dirty while a worker holds it.
    ///
    /// A key that is added several times before [`get`](Self::get) is handed out once, with the highest priority of the adds, and in the
    /// order of its age. Its timer, if any, keeps running and adds it again, so the caller of [`add_after`](Self::add_after) gets its
    /// run. After a shutdown the call does nothing.
    ///
    /// # Source
    ///
    /// client-go `util/workqueue/queue.go`, `Add`.
    pub fn add(&self, key: K, trigger: Trigger) {
        self.shared.add(key, trigger, None);
    }

    /// Adds `key` as [`add`](Self::add) with [`Trigger::Event`] does, and keeps the event until the key is handed out or another event comes.
    ///
    /// * `cause` - appears in [`Item::cause`].
    pub fn add_event(&self, key: K, cause: Cause) {
        self.shared.add(key, Trigger::Event, Some(cause));
    }

    /// Adds `key` when `delay` has passed.
    ///
    /// A key has one timer: of two delays the one that ends first counts, with the higher of their priorities. That run comes after both
    /// calls; a caller that needs a later run adds the key again. After a shutdown the call does nothing.
    ///
    /// * `delay` - zero is the same as [`add`](Self::add); more than [`MAX_DELAY`] is lowered to it. The clock ticks in
    ///   milliseconds, and a key is never handed out early.
    ///
    /// # Source
    ///
    /// client-go `util/workqueue/delaying_queue.go`, `AddAfter`.
    pub fn add_after(&self, key: K, delay: Duration, trigger: Trigger) {
        self.shared.add_after(key, delay, trigger);
    }

    /// Adds `key` with [`Trigger::Retry`] when its backoff has passed, and counts a failure for it.
    ///
    /// The delay doubles with each failure of this key from `base_delay` to `max_delay`, and is at least what the bucket
    /// shared by all retries of this queue demands. Plain adds do not change it; [`forget`](Self::forget) resets it.
    ///
    /// Returns the delay chosen, for the log line; after a shutdown nothing is scheduled.
    ///
    /// # Source
    ///
    /// client-go `util/workqueue/rate_limiting_queue.go`, `AddRateLimited`, and `DefaultTypedControllerRateLimiter`.
    pub fn add_rate_limited(&self, key: K) -> Duration {
        self.shared.add_rate_limited(key)
    }

    /// Forgets the failures of `key`: its next retry starts from the base delay. A retry that is not due yet is dropped.
    ///
    /// Waiting, other timers and processing are not touched. Call it when a reconcile went well or must not be retried.
    pub fn forget(&self, key: &K) {
        self.shared.forget(key);
    }

    /// How often `key` was added with [`add_rate_limited`](Self::add_rate_limited) since it was last forgotten.
    #[must_use]
    pub fn num_requeues(&self, key: &K) -> u32 {
        self.shared.lock().failures(key)
    }

    /// Waits for the next key and returns it.
    ///
    /// The caller must call [`done`](Self::done) when it has finished with the key, also when it failed or panicked;
    /// until then no other caller gets it. After a shutdown the keys that are ready are still handed out (call
    /// [`purge`](Self::purge) first if they should not be), then `None`, once and for all. With `None` no ready key is
    /// left, nor will one come.
    ///
    /// Events go before requeues and retries, and these before the initial list, swaps and resync. While a lower priority
    /// waits, every [`Config::starvation_bound`]th key is the one that has waited longest of all that are not events: a
    /// key with *p* such keys older than itself is handed out within *(p + 1)* × bound calls.
    ///
    /// # Cancel safety
    ///
    /// No key is lost or held if the future is dropped before it completes.
    pub async fn get(&self) -> Option<Item<K>> {
        self.shared.get().await
    }

    /// Ends the processing of `key`. If it was added while it was held, it is ready again at once.
    ///
    /// A key that is not held is ignored.
    pub fn done(&self, key: &K) {
        self.shared.done(key);
    }

    /// Drops `key`: it is no longer ready, its timer is cancelled and its failures are forgotten.
    ///
    /// A worker that holds it goes on, but an add since it was handed out is dropped as well. Later adds count again.
    pub fn remove(&self, key: &K) {
        self.shared.remove(key);
    }

    /// Drops every key, as [`remove`](Self::remove) does; returns how many were ready, marked dirty or had a timer.
    pub fn purge(&self) -> usize {
        self.shared.purge()
    }

    /// Drops every key that `keep` rejects, as [`remove`](Self::remove) does.
    ///
    /// * `keep` - called under the queue's lock: it must not call the queue.
    pub fn retain(&self, keep: impl Fn(&K) -> bool) {
        self.shared.with(|state, _| state.retain(keep));
        self.shared.left();
    }

    /// The number of ready keys; delayed or processing keys do not count.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.with(|state, _| state.ready.len())
    }

    /// Whether no key is ready.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a worker holds `key`.
    #[must_use]
    pub fn is_processing(&self, key: &K) -> bool {
        self.shared.lock().is_processing(key)
    }

    /// The metrics of the queue at this moment.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        self.shared.read(tokio::time::Instant::now())
    }

    /// The queue as a source of metrics for an exporter, which does not keep the queue alive.
    #[must_use]
    pub fn metrics_source(&self) -> Weak<dyn MetricsSource> {
        Arc::downgrade(&self.shared) as _
    }

    /// The content of the queue, for people: totals, and the first `limit` keys.
    ///
    /// * `limit` - bounds [`Snapshot::keys`] and the time the queue is locked: processing, then ready, then delayed keys.
    #[must_use]
    pub fn snapshot(&self, limit: usize) -> Snapshot<K> {
        self.shared.with(|state, now| snapshot::take(state, limit, now))
    }

    /// The phases of one key: in work or ready, and its timer. Empty: the key does not wait.
    #[must_use]
    pub fn status(&self, key: &K) -> Vec<KeyStatus<K>> {
        self.shared.with(|state, now| snapshot::of_key(state, key, now))
    }

    /// Ends the queue: it ignores further adds, drops timers, and [`get`](Self::get) returns `None` after the ready keys have been handed
    /// out. Ends a drain in progress. Repeated calls do nothing.
    pub fn shut_down(&self) {
        self.shared.shut_down();
    }

    /// Ends the queue as [`shut_down`](Self::shut_down) does, and waits until every ready key was handed out and every
    /// key that was handed out is done.
    ///
    /// This needs workers that call [`get`](Self::get) until it returns `None`. Without a worker it waits for
    /// ever: give it a deadline, and call [`shut_down`](Self::shut_down) when it has passed.
    ///
    /// # Cancel safety
    ///
    /// The queue stays shut down if the future is dropped; the call can be repeated.
    ///
    /// # Source
    ///
    /// client-go `util/workqueue/queue.go`, `ShutDownWithDrain`.
    pub async fn shut_down_with_drain(&self) {
        self.shared.shut_down_with_drain().await;
    }
}
