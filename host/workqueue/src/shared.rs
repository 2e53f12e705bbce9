//! The shared part of a queue's handles: the state behind a lock, and the wake-ups after each change.
//!
//! Every call has the same three steps: lock and change, unlock, wake. All coordination between threads is in this file, so that tests
//! can compile it once more on primitives whose every step a scheduler runs (`interleavings.rs`).

use std::fmt::{self, Debug};
use std::hash::Hash;
use std::time::Duration;

use super::Item;
use super::config::{Cause, Config, Trigger};
use super::state::{Added, State};
use super::sync::{Instant, Mutex, MutexGuard, Notify, PoisonError, now, sleep_until};
use crate::metrics::{Metrics, MetricsSource};

pub(super) struct Shared<K> {
    state: Mutex<State<K>>,
    /// Wakes callers of `get`: one when a key is ready and a caller waits, all when an earlier timer was set or the queue may have ended.
    ready: Notify,
    /// Wakes callers of `shut_down_with_drain` whenever keys left the queue.
    drained: Notify,
}

/// A caller of `get`, which counts in [`State::waiting`] from a check that found no key to its next check.
struct Caller<'a, K> {
    shared: &'a Shared<K>,
    counted: bool,
}

enum NextKey<K> {
    Item(Item<K>),
    Finished,
    Wait(Option<Instant>),
}

impl<K: Clone + Eq + Hash + Debug + Send + 'static> Shared<K> {
    pub(super) fn new(config: Config) -> Self {
        Self { state: Mutex::new(State::new(config)), ready: Notify::new(), drained: Notify::new() }
    }

    pub(super) fn add(&self, key: K, trigger: Trigger, cause: Option<Cause>) {
        self.change(|state, now| ((), state.add(key, trigger, cause, now)));
    }

    pub(super) fn add_after(&self, key: K, delay: Duration, trigger: Trigger) {
        self.change(|state, now| ((), state.add_after(key, delay, trigger, now)));
    }

    pub(super) fn add_rate_limited(&self, key: K) -> Duration {
        self.change(|state, now| state.add_rate_limited(key, now))
    }

    pub(super) async fn get(&self) -> Option<Item<K>> {
        // Dropped after `woken`, which then passes its wake-up on.
        let mut caller = Caller { shared: self, counted: false };
        loop {
            // Created before the check, so that a wake-up between the check and the wait is not missed.
            let woken = self.ready.notified();
            match caller.next() {
                NextKey::Item(item) => return Some(item),
                NextKey::Finished => return None,
                NextKey::Wait(None) => woken.await,
                NextKey::Wait(Some(due)) => tokio::select! {
                    () = woken => {}
                    () = sleep_until(due) => {}
                },
            }
        }
    }

    pub(super) fn done(&self, key: &K) {
        let shut_down = self.change(|state, now| {
            let added = if state.done(key, now) { Added::Ready } else { Added::Nothing };
            (state.shut_down, added)
        });
        if shut_down {
            // Callers that wait for a dirty key to return, or for the drain, check again.
            self.left();
        }
    }

    pub(super) fn forget(&self, key: &K) {
        self.with(|state, _| state.forget(key));
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

    /// Reads or changes the present state; the caller sends the wake-ups.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut State<K>, Instant) -> T) -> T {
        let now = now();
        let mut state = self.lock();
        state.advance(now);
        work(&mut state, now)
    }

    /// Changes the state, and sends the wake-ups.
    fn change<T>(&self, work: impl FnOnce(&mut State<K>, Instant) -> (T, Added)) -> T {
        let (answer, added) = self.with(|state, now| {
            let (answer, added) = work(state, now);
            // A caller counts as waiting since its check found no key; a caller that does not count checks after this change.
            (answer, if state.waiting > 0 { added } else { Added::Nothing })
        });
        match added {
            Added::Ready => self.ready.notify_one(),
            // All waiting callers: if only one set its timer anew and its future was dropped, the key would be late.
            Added::EarliestTimer => self.ready.notify_waiters(),
            Added::Nothing => {}
        }
        answer
    }

    /// Wakes the callers that wait for keys to leave the queue, or for its end.
    pub(super) fn left(&self) {
        self.ready.notify_waiters();
        self.drained.notify_waiters();
    }
}

impl<K> Shared<K> {
    /// The state after the last call: timers that are due by now have not fired.
    pub(super) fn lock(&self) -> MutexGuard<'_, State<K>> {
        // No code that can panic halfway through a change runs under the lock, so a poisoned state is still consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Clone + Eq + Hash + Debug + Send + 'static> Caller<'_, K> {
    /// The next key, or the event to wait for. Contains everything of `get` but the wait, so nothing is held across an await.
    fn next(&mut self) -> NextKey<K> {
        let counted = &mut self.counted;
        self.shared.change(|state, now| {
            state.waiting -= usize::from(std::mem::take(counted));
            let Some(item) = state.take(now) else {
                if state.is_finished() {
                    return (NextKey::Finished, Added::Nothing);
                }
                state.waiting += 1;
                *counted = true;
                return (NextKey::Wait(state.delayed.next_due()), Added::Nothing);
            };
            // A stored wake-up stands for any number of adds, so the caller that takes a key wakes the next one.
            (NextKey::Item(item), if state.ready.is_empty() { Added::Nothing } else { Added::Ready })
        })
    }
}

impl<K> Drop for Caller<'_, K> {
    fn drop(&mut self) {
        if self.counted {
            self.shared.lock().waiting -= 1;
        }
    }
}

impl<K> Debug for Shared<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl<K: Clone + Eq + Hash + Debug + Send + 'static> MetricsSource for Shared<K> {
    fn read(&self, now: Instant) -> Metrics {
        self.lock().reading(now)
    }
}
