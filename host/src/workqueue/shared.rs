//! What the handles of a queue share: its state behind a lock, and who is woken by which change.
//!
//! Every call is the same three steps: lock and change, unlock, wake. What decides between threads is in this file alone, so
//! that tests can compile it once more on primitives of which a scheduler runs every step (`interleavings.rs`).

use std::fmt::Debug;
use std::hash::Hash;
use std::time::Duration;

use super::Item;
use super::config::{Config, Trigger};
use super::state::{Added, State};
use super::sync::{Instant, Mutex, MutexGuard, Notify, PoisonError, now, sleep_until};
use crate::metrics::QueueMetrics;

pub(super) struct Shared<K> {
    state: Mutex<State<K>>,
    /// Wakes callers of `get`: one when a key is ready, all when an earlier timer was set or the end may have come.
    ready: Notify,
    /// Wakes callers of `shut_down_with_drain` whenever keys left the queue.
    drained: Notify,
}

enum Next<K> {
    Item(Item<K>),
    Finished,
    Wait(Option<Instant>),
}

impl<K: Clone + Eq + Hash + Debug + Send + 'static> Shared<K> {
    pub(super) fn new(config: Config, metrics: QueueMetrics) -> Self {
        Self { state: Mutex::new(State::new(config, metrics)), ready: Notify::new(), drained: Notify::new() }
    }

    pub(super) fn add(&self, key: K, trigger: Trigger) {
        if self.with(|state, now| state.add(key, trigger, now)) {
            self.ready.notify_one();
        }
    }

    pub(super) fn add_after(&self, key: K, delay: Duration, trigger: Trigger) {
        let added = self.with(|state, now| state.add_after(key, delay, trigger, now));
        self.wake(added);
    }

    pub(super) fn add_rate_limited(&self, key: K) -> Duration {
        let (delay, added) = self.with(|state, now| {
            let delay = state.limiter.next_delay(&key, now);
            (delay, state.add_after(key, delay, Trigger::Retry, now))
        });
        self.wake(added);
        delay
    }

    pub(super) async fn get(&self) -> Option<Item<K>> {
        loop {
            // Made before the look, so that a wake-up between the look and the wait is not missed.
            let woken = self.ready.notified();
            match self.next() {
                Next::Item(item) => return Some(item),
                Next::Finished => return None,
                Next::Wait(None) => woken.await,
                Next::Wait(Some(due)) => tokio::select! {
                    () = woken => {}
                    () = sleep_until(due) => {}
                },
            }
        }
    }

    pub(super) fn done(&self, key: &K) {
        let (requeued, shut_down) = self.with(|state, now| (state.done(key, now), state.shut_down));
        if requeued {
            self.ready.notify_one();
        }
        if shut_down {
            // Those who wait for a dirty key to come back look again, and those who wait for the drain.
            self.left();
        }
    }

    pub(super) fn remove(&self, key: &K) {
        self.with(|state, _| state.remove(key));
        self.left();
    }

    pub(super) fn purge(&self) -> usize {
        let dropped = self.with(|state, _| state.purge());
        self.left();
        dropped
    }

    pub(super) fn shut_down(&self) {
        self.lock().shut_down(false);
        self.left();
    }

    pub(super) async fn shut_down_with_drain(&self) {
        self.lock().shut_down(true);
        self.ready.notify_waiters();
        loop {
            let changed = self.drained.notified();
            if self.lock().is_drained() {
                return;
            }
            changed.await;
        }
    }

    /// Looks at the state as it is now, or changes it; the caller wakes whom that concerns.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut State<K>, Instant) -> T) -> T {
        let now = now();
        let mut state = self.lock();
        state.advance(now);
        work(&mut state, now)
    }

    /// The next key, or what to wait for. All that `get` does besides waiting, so nothing is held across an await.
    fn next(&self) -> Next<K> {
        let (next, more) = self.with(|state, now| match state.take(now) {
            Some(item) => (Next::Item(item), !state.ready.is_empty()),
            None if state.is_finished() => (Next::Finished, false),
            None => (Next::Wait(state.delayed.next_due()), false),
        });
        if more {
            // A stored wake-up stands for any number of adds, so whoever takes a key wakes the next.
            self.ready.notify_one();
        }
        next
    }

    fn wake(&self, added: Added) {
        match added {
            Added::Ready => self.ready.notify_one(),
            // All of them: if only one re-armed its timer and its future was dropped, the key would be late.
            Added::EarliestTimer => self.ready.notify_waiters(),
            Added::Nothing => {}
        }
    }

    fn left(&self) {
        self.ready.notify_waiters();
        self.drained.notify_waiters();
    }

    /// The state as it was left by the last call: timers that are due by now have not fired.
    pub(super) fn lock(&self) -> MutexGuard<'_, State<K>> {
        // No code that can panic halfway through a change runs under the lock, so a poisoned state is still sound.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
