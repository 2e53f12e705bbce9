//! The keys that become ready at a later time, one timer each.

use std::collections::BTreeMap;
use std::hash::Hash;

use tokio::time::Instant;

use super::Map;
use super::config::Trigger;

/// Timers by key and by time; both maps hold the same timers.
#[derive(Debug)]
pub(super) struct Delayed<K> {
    timers: Map<K, Timer>,
    by_time: BTreeMap<(Instant, u64), K>,
    /// Tells timers with the same due time apart, in the order in which they were set.
    next_number: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Timer {
    pub(super) due: Instant,
    pub(super) trigger: Trigger,
    number: u64,
}

impl<K: Clone + Eq + Hash> Delayed<K> {
    pub(super) fn new() -> Self {
        Self { timers: Map::default(), by_time: BTreeMap::new(), next_number: 0 }
    }

    /// Sets the timer of `key`, or brings it forward; one that fires earlier stays. True if it is now the next to fire.
    pub(super) fn set(&mut self, key: K, due: Instant, trigger: Trigger) -> bool {
        let next = self.next_due();
        let mut timer = Timer { due, trigger, number: self.next_number };
        if let Some(set) = self.timers.get_mut(&key) {
            set.trigger = set.trigger.coalesce(trigger);
            if set.due <= due {
                return false;
            }
            timer.trigger = set.trigger;
            let (due, number) = (set.due, set.number);
            self.by_time.remove(&(due, number));
        }
        self.next_number += 1;
        self.by_time.insert((due, timer.number), key.clone());
        self.timers.insert(key, timer);
        next.is_none_or(|next| due < next)
    }

    /// Takes the timer that is longest due at `now`, if any is.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<(K, Timer)> {
        let entry = self.by_time.first_entry()?;
        if entry.key().0 > now {
            return None;
        }
        let key = entry.remove();
        let timer = self.timers.remove(&key)?;
        Some((key, timer))
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.by_time.keys().next().map(|(due, _)| *due)
    }

    pub(super) fn remove(&mut self, key: &K) -> bool {
        let Some(timer) = self.timers.remove(key) else { return false };
        self.by_time.remove(&(timer.due, timer.number));
        true
    }

    pub(super) fn clear(&mut self) {
        self.timers.clear();
        self.by_time.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.timers.len()
    }

    /// In the order in which they fire.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, Timer)> {
        self.by_time.values().filter_map(|key| self.timers.get(key).map(|timer| (key, *timer)))
    }
}
