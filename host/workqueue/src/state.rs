//! The state behind the queue's lock, and every change to it. Nothing here waits or reads the clock.

use std::hash::Hash;
use std::time::Duration;

use tokio::time::Instant;

use super::Item;
use super::config::{Cause, Config, MAX_DELAY, Trigger};
use super::delay::Delayed;
use super::fair::{Mark, Ready};
use super::rate_limit::RateLimiter;
use super::table::{Entry, Held, Id, List, Place, Table};
use crate::metrics::{Metrics, Totals};

#[derive(Debug)]
pub(super) struct State<K> {
    pub(super) table: Table<K>,
    /// Keys that wait for a worker; never also in `processing`.
    pub(super) ready: Ready,
    /// Keys that a worker holds.
    pub(super) processing: List,
    /// The number of dirty keys in `processing`.
    dirty: usize,
    /// Keys that are added at a later time, independent of the two above. Empty after a shutdown.
    pub(super) delayed: Delayed,
    limiter: RateLimiter,
    /// The number of keys with counted failures.
    pub(super) failing: usize,
    /// Callers of `get` that found no key and need a wake-up. Woken callers count until their next check.
    pub(super) waiting: usize,
    pub(super) shut_down: bool,
    /// A caller waits for the drain; cleared by a shutdown without a drain.
    draining: bool,
    totals: Totals,
}

/// The callers that an add has to wake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Added {
    /// One worker: a key is ready.
    Ready,
    /// All waiting workers: the next timer fires earlier than they know.
    EarliestTimer,
    /// No caller.
    Nothing,
}

impl<K: Clone + Eq + Hash> State<K> {
    pub(super) fn new(config: Config) -> Self {
        Self {
            table: Table::new(),
            ready: Ready::new(config.starvation_bound),
            processing: List::default(),
            dirty: 0,
            delayed: Delayed::new(),
            limiter: RateLimiter::new(&config),
            failing: 0,
            waiting: 0,
            shut_down: false,
            draining: false,
            totals: Totals::default(),
        }
    }

    /// Adds the keys whose timers are due. Called before every change, so that the order of arrival is the order of events even if no
    /// worker saw a timer fire.
    pub(super) fn advance(&mut self, now: Instant) {
        while let Some((id, timer)) = self.delayed.pop_due(&mut self.table, now) {
            self.enqueue(id, timer.trigger, timer.due);
        }
    }

    pub(super) fn add(&mut self, key: K, trigger: Trigger, cause: Option<Cause>, now: Instant) -> Added {
        if self.shut_down {
            return Added::Nothing;
        }
        let id = self.table.find_or_insert(key);
        if let Some(entry) = self.table.get_mut(id).filter(|_| cause.is_some()) {
            entry.cause = cause;
        }
        self.enqueue(id, trigger, now)
    }

    pub(super) fn add_after(&mut self, key: K, delay: Duration, trigger: Trigger, now: Instant) -> Added {
        if self.shut_down {
            return Added::Nothing;
        }
        let id = self.table.find_or_insert(key);
        self.schedule(id, delay, trigger, now)
    }

    /// Also returns the delay. A failure counts also after a shutdown.
    pub(super) fn add_rate_limited(&mut self, key: K, now: Instant) -> (Duration, Added) {
        let id = self.table.find_or_insert(key);
        let failed_before = self.table.get_mut(id).map_or(0, |entry| {
            let before = entry.failures;
            entry.failures = before.saturating_add(1);
            before
        });
        self.failing += usize::from(failed_before == 0);
        let delay = self.limiter.next_delay(failed_before, now);
        let added = if self.shut_down { Added::Nothing } else { self.schedule(id, delay, Trigger::Retry, now) };
        (delay, added)
    }

    fn schedule(&mut self, id: Id, delay: Duration, trigger: Trigger, now: Instant) -> Added {
        if matches!(trigger, Trigger::Requeue | Trigger::Retry) {
            self.totals.retries += 1;
        }
        if delay.is_zero() {
            return self.enqueue(id, trigger, now);
        }
        let due = now + delay.min(MAX_DELAY);
        if self.delayed.set(&mut self.table, id, due, trigger) { Added::EarliestTimer } else { Added::Nothing }
    }

    /// Makes a key ready, or dirty while a worker holds it.
    fn enqueue(&mut self, id: Id, trigger: Trigger, now: Instant) -> Added {
        let mark = Mark { trigger, since: now };
        if let Some(Entry { place: Place::Processing(held), .. }) = self.table.get_mut(id) {
            if let Some(dirty) = &mut held.dirty {
                dirty.trigger = dirty.trigger.coalesce(trigger);
            } else {
                held.dirty = Some(mark);
                self.dirty += 1;
                self.totals.adds += 1;
            }
            return Added::Nothing;
        }
        if !self.ready.push(&mut self.table, id, mark) {
            return Added::Nothing;
        }
        self.totals.adds += 1;
        Added::Ready
    }

    /// Hands out the key whose turn it is.
    pub(super) fn take(&mut self, now: Instant) -> Option<Item<K>> {
        let (id, mark) = self.ready.pop(&mut self.table)?;
        self.processing.push_back(&mut self.table, id);
        let entry = self.table.get_mut(id)?;
        entry.place = Place::Processing(Held { since: now, dirty: None });
        let waited = now.saturating_duration_since(mark.since);
        self.totals.queue_duration.observe(waited);
        let attempt = entry.failures.saturating_add(1);
        let cause = entry.cause.take();
        Some(Item { key: entry.key.clone(), trigger: mark.trigger, cause, attempt, waited })
    }

    /// Returns whether the key is ready again.
    pub(super) fn done(&mut self, key: &K, now: Instant) -> bool {
        let Some((id, held)) = self.held(key) else { return false };
        self.processing.unlink(&mut self.table, id);
        self.table.put(id, Place::Idle);
        self.totals.work_duration.observe(now.saturating_duration_since(held.since));
        let Some(mark) = held.dirty else {
            self.table.tidy(id);
            return false;
        };
        self.dirty -= 1;
        self.ready.push(&mut self.table, id, mark)
    }

    pub(super) fn is_processing(&self, key: &K) -> bool {
        self.held(key).is_some()
    }

    pub(super) fn failures(&self, key: &K) -> u32 {
        self.entry(key).map_or(0, |(_, entry)| entry.failures)
    }

    pub(super) fn forget(&mut self, key: &K) {
        if let Some(id) = self.table.find(key) {
            self.forget_failures(id);
            // client-go keeps it, and a key that failed and then went well runs once more for nothing.
            if self.table.get(id).and_then(|entry| entry.timer).is_some_and(|timer| timer.trigger == Trigger::Retry) {
                self.delayed.remove(&mut self.table, id);
            }
            self.table.tidy(id);
        }
    }

    pub(super) fn remove(&mut self, key: &K) {
        let Some(id) = self.table.find(key) else { return };
        self.ready.remove(&mut self.table, id);
        self.delayed.remove(&mut self.table, id);
        self.forget_failures(id);
        if let Some(entry) = self.table.get_mut(id) {
            entry.cause = None;
        }
        if let Some(Entry { place: Place::Processing(held), .. }) = self.table.get_mut(id)
            && held.dirty.take().is_some()
        {
            self.dirty -= 1;
        }
        self.table.tidy(id);
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&K) -> bool) {
        let unwanted: Vec<K> = self.table.keys().filter(|key| !keep(key)).cloned().collect();
        for key in unwanted {
            self.remove(&key);
        }
    }

    pub(super) fn purge(&mut self) -> usize {
        let mut dropped = 0;
        self.table.retain(|entry| {
            let runs = match &mut entry.place {
                Place::Idle => false,
                Place::Ready(_) => true,
                Place::Processing(held) => held.dirty.take().is_some(),
            };
            dropped += usize::from(entry.timer.take().is_some() || runs);
            entry.failures = 0;
            entry.cause = None;
            matches!(entry.place, Place::Processing(_))
        });
        self.ready.clear();
        self.delayed.clear();
        self.dirty = 0;
        // Lent tokens of the retry bucket stay lent: the bucket protects the API server, not the keys.
        self.failing = 0;
        dropped
    }

    pub(super) fn shut_down(&mut self, drain: bool) {
        self.shut_down = true;
        self.draining = drain;
        let timers: Vec<Id> = self.delayed.iter().collect();
        for id in timers {
            self.delayed.remove(&mut self.table, id);
            self.table.tidy(id);
        }
    }

    /// Whether no key is ready or will be: a dirty key would return when it is done.
    pub(super) fn is_finished(&self) -> bool {
        self.shut_down && self.ready.is_empty() && self.dirty == 0
    }

    /// Whether a drain is complete.
    pub(super) fn is_drained(&self) -> bool {
        !self.draining || (self.ready.is_empty() && self.processing.is_empty())
    }

    /// The queue's metrics. Keys that are added while they are held count as waiting, too.
    pub(super) fn reading(&self, now: Instant) -> Metrics {
        let held = self.processing.iter(&self.table).filter_map(|id| match self.table.get(id)?.place {
            Place::Processing(held) => Some(now.saturating_duration_since(held.since)),
            _ => None,
        });
        let (unfinished, longest) =
            held.fold((Duration::ZERO, Duration::ZERO), |(sum, longest), age| (sum + age, longest.max(age)));
        Metrics { totals: self.totals.clone(), depth: self.ready.len() + self.dirty, unfinished, longest }
    }

    fn entry(&self, key: &K) -> Option<(Id, &Entry<K>)> {
        let id = self.table.find(key)?;
        Some((id, self.table.get(id)?))
    }

    fn held(&self, key: &K) -> Option<(Id, Held)> {
        match self.entry(key)? {
            (id, Entry { place: Place::Processing(held), .. }) => Some((id, *held)),
            _ => None,
        }
    }

    fn forget_failures(&mut self, id: Id) {
        if let Some(entry) = self.table.get_mut(id) {
            self.failing -= usize::from(std::mem::take(&mut entry.failures) > 0);
        }
    }
}
