//! What the handles of a queue share: its state behind a lock, and who is woken by which change.
//!
//! Every call is the same three steps: lock and change, unlock, wake. What decides between threads is in this file alone, so
//! that tests can compile it once more on primitives of which a scheduler runs every step (`interleavings.rs`).

use std::fmt::{self, Debug};
use std::hash::Hash;
use std::time::Duration;

use super::Item;
use super::config::{Config, Trigger};
use super::state::{Added, State};
use super::sync::{Instant, Mutex, MutexGuard, Notify, PoisonError, now, sleep_until};
use crate::metrics::{QueueReading, QueueSource};

pub(super) struct Shared<K> {
    state: Mutex<State<K>>,
    /// Wakes callers of `get`: one when a key is ready and somebody waits for one, all when an earlier timer was set or the end
    /// may have come.
    ready: Notify,
    /// Wakes callers of `shut_down_with_drain` whenever keys left the queue.
    drained: Notify,
}

/// A caller of `get`, who counts in [`State::waiting`] from a look that found nothing to the next look.
struct Caller<'a, K> {
    shared: &'a Shared<K>,
    counted: bool,
}

enum Next<K> {
    Item(Item<K>),
    Finished,
    Wait(Option<Instant>),
}

impl<K: Clone + Eq + Hash + Debug + Send + 'static> Shared<K> {
    pub(super) fn new(config: Config) -> Self {
        Self { state: Mutex::new(State::new(config)), ready: Notify::new(), drained: Notify::new() }
    }

    pub(super) fn add(&self, key: K, trigger: Trigger) {
        self.change(|state, now| ((), state.add(key, trigger, now)));
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
            // Made before the look, so that a wake-up between the look and the wait is not missed.
            let woken = self.ready.notified();
            match caller.next() {
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
        let shut_down = self.change(|state, now| {
            let added = if state.done(key, now) { Added::Ready } else { Added::Nothing };
            (state.shut_down, added)
        });
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

    /// Changes the state, and wakes whom that concerns.
    fn change<T>(&self, work: impl FnOnce(&mut State<K>, Instant) -> (T, Added)) -> T {
        let (answer, added) = self.with(|state, now| {
            let (answer, added) = work(state, now);
            // Who will wait counts since the look that found nothing: whoever does not count looks after this change.
            (answer, if state.waiting > 0 { added } else { Added::Nothing })
        });
        match added {
            Added::Ready => self.ready.notify_one(),
            // All of them: if only one re-armed its timer and its future was dropped, the key would be late.
            Added::EarliestTimer => self.ready.notify_waiters(),
            Added::Nothing => {}
        }
        answer
    }

    /// Tells those who wait for keys, or for the end of them, that keys have gone.
    pub(super) fn left(&self) {
        self.ready.notify_waiters();
        self.drained.notify_waiters();
    }
}

impl<K> Shared<K> {
    /// The state as it was left by the last call: timers that are due by now have not fired.
    pub(super) fn lock(&self) -> MutexGuard<'_, State<K>> {
        // No code that can panic halfway through a change runs under the lock, so a poisoned state is still sound.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Clone + Eq + Hash + Debug + Send + 'static> Caller<'_, K> {
    /// The next key, or what to wait for. All that `get` does besides waiting, so nothing is held across an await.
    fn next(&mut self) -> Next<K> {
        let counted = &mut self.counted;
        self.shared.change(|state, now| {
            state.waiting -= usize::from(std::mem::take(counted));
            let Some(item) = state.take(now) else {
                if state.is_finished() {
                    return (Next::Finished, Added::Nothing);
                }
                state.waiting += 1;
                *counted = true;
                return (Next::Wait(state.delayed.next_due()), Added::Nothing);
            };
            // A stored wake-up stands for any number of adds, so whoever takes a key wakes the next.
            (Next::Item(item), if state.ready.is_empty() { Added::Nothing } else { Added::Ready })
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

impl<K: Clone + Eq + Hash + Debug + Send + 'static> QueueSource for Shared<K> {
    fn read(&self, now: Instant) -> QueueReading {
        self.lock().reading(now)
    }
}
