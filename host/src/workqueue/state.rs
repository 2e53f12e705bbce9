//! What the queue's lock guards, and every change to it. Nothing here waits or reads the clock.

use std::hash::Hash;
use std::time::Duration;

use tokio::time::Instant;

use super::config::{Config, MAX_DELAY, Trigger};
use super::delay::Delayed;
use super::fair::{Mark, Ready};
use super::rate_limit::RateLimiter;
use super::{Item, Map};
use crate::metrics::{QueueMetrics, WorkStarted};

#[derive(Debug)]
pub(super) struct State<K> {
    /// Waits for a worker; never also in `processing`.
    pub(super) ready: Ready<K>,
    /// Held by a worker.
    pub(super) processing: Map<K, Processing>,
    /// How many of `processing` are dirty.
    dirty: usize,
    /// Added when their time comes; independent of the two above. Empty after a shutdown.
    pub(super) delayed: Delayed<K>,
    pub(super) limiter: RateLimiter<K>,
    pub(super) shut_down: bool,
    /// Somebody waits for the drain; cleared by a shutdown without one.
    draining: bool,
    metrics: QueueMetrics,
}

#[derive(Debug)]
pub(super) struct Processing {
    pub(super) since: Instant,
    /// Set when the key was added since it was handed out: it is ready again when it is done.
    pub(super) dirty: Option<Mark>,
    started: WorkStarted,
}

/// Whom an add has to wake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Added {
    /// One worker: a key is ready.
    Ready,
    /// All workers that wait: the next timer fires earlier than they know.
    EarliestTimer,
    /// Nobody.
    Nothing,
}

impl<K: Clone + Eq + Hash> State<K> {
    pub(super) fn new(config: Config, metrics: QueueMetrics) -> Self {
        Self {
            ready: Ready::new(config.starvation_bound),
            processing: Map::default(),
            dirty: 0,
            delayed: Delayed::new(),
            limiter: RateLimiter::new(&config),
            shut_down: false,
            draining: false,
            metrics,
        }
    }

    /// Adds the keys whose time has come. Called before every change, so that the order of arrival is the order of
    /// events also when no worker was there to see a timer fire.
    pub(super) fn advance(&mut self, now: Instant) {
        while let Some((key, timer)) = self.delayed.pop_due(now) {
            self.add(key, timer.trigger, timer.due);
        }
    }

    /// True if the key was not ready before and now is.
    pub(super) fn add(&mut self, key: K, trigger: Trigger, now: Instant) -> bool {
        if self.shut_down {
            return false;
        }
        let mark = Mark { trigger, since: now };
        if let Some(held) = self.processing.get_mut(&key) {
            if let Some(dirty) = &mut held.dirty {
                dirty.trigger = dirty.trigger.coalesce(trigger);
            } else {
                held.dirty = Some(mark);
                self.dirty += 1;
                self.metrics.added();
                self.report_depth();
            }
            return false;
        }
        let new = self.ready.push(key, mark);
        if new {
            self.metrics.added();
            self.report_depth();
        }
        new
    }

    pub(super) fn add_after(&mut self, key: K, delay: Duration, trigger: Trigger, now: Instant) -> Added {
        if self.shut_down {
            return Added::Nothing;
        }
        if matches!(trigger, Trigger::Requeue | Trigger::Retry) {
            self.metrics.retried();
        }
        if delay.is_zero() {
            return if self.add(key, trigger, now) { Added::Ready } else { Added::Nothing };
        }
        let due = now + delay.min(MAX_DELAY);
        if self.delayed.set(key, due, trigger) { Added::EarliestTimer } else { Added::Nothing }
    }

    /// Hands out the key whose turn it is.
    pub(super) fn take(&mut self, now: Instant) -> Option<Item<K>> {
        let (key, mark) = self.ready.pop()?;
        let waited = now.saturating_duration_since(mark.since);
        let started = self.metrics.started(waited, now);
        self.processing.insert(key.clone(), Processing { since: now, dirty: None, started });
        self.report_depth();
        let attempt = self.limiter.failures(&key).saturating_add(1);
        Some(Item { key, trigger: mark.trigger, attempt, waited })
    }

    /// True if the key is ready again.
    pub(super) fn done(&mut self, key: &K, now: Instant) -> bool {
        let Some((key, held)) = self.processing.remove_entry(key) else { return false };
        self.metrics.finished(&held.started, now);
        let Some(mark) = held.dirty else { return false };
        self.dirty -= 1;
        self.ready.push(key, mark);
        self.report_depth();
        true
    }

    pub(super) fn remove(&mut self, key: &K) {
        self.ready.remove(key);
        self.delayed.remove(key);
        self.limiter.forget(key);
        if self.processing.get_mut(key).is_some_and(|held| held.dirty.take().is_some()) {
            self.dirty -= 1;
        }
        self.report_depth();
    }

    pub(super) fn purge(&mut self) -> usize {
        let timers_only = self
            .delayed
            .iter()
            .filter(|(key, _)| {
                !self.ready.contains(key) && self.processing.get(*key).is_none_or(|held| held.dirty.is_none())
            })
            .count();
        let dropped = self.ready.len() + self.dirty + timers_only;
        self.ready.clear();
        self.delayed.clear();
        self.limiter.clear();
        for held in self.processing.values_mut() {
            held.dirty = None;
        }
        self.dirty = 0;
        self.report_depth();
        dropped
    }

    pub(super) fn shut_down(&mut self, drain: bool) {
        self.shut_down = true;
        self.draining = drain;
        self.delayed.clear();
    }

    /// Nothing is ready and nothing will be: a dirty key would come back when it is done.
    pub(super) fn is_finished(&self) -> bool {
        self.shut_down && self.ready.is_empty() && self.dirty == 0
    }

    /// Whether a drain need not wait any longer.
    pub(super) fn is_drained(&self) -> bool {
        !self.draining || (self.ready.is_empty() && self.processing.is_empty())
    }

    fn report_depth(&self) {
        self.metrics.set_depth(self.ready.len() + self.dirty);
    }
}
