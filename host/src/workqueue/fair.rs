//! The keys that wait for a worker: three lines, one per priority, and the rule that serves the lower ones too.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

use tokio::time::Instant;

use super::Map;
use super::config::{Priority, Trigger};

/// Why and since when a key waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) trigger: Trigger,
    pub(super) since: Instant,
}

/// Ready keys, each once. Every key in `slots` is in the line of its trigger's priority under its number, and only there.
#[derive(Debug)]
pub(super) struct Ready<K> {
    slots: Map<K, Slot>,
    high: BTreeMap<u64, K>,
    normal: BTreeMap<u64, K>,
    low: BTreeMap<u64, K>,
    /// Numbers keys in order of arrival. A key keeps its number when its priority is raised, so it also keeps its age.
    next_number: u64,
    bound: u32,
    /// Keys handed out in a row while one of a lower priority waited; always less than `bound`.
    passed_over: u32,
}

#[derive(Debug)]
struct Slot {
    number: u64,
    mark: Mark,
}

impl<K: Clone + Eq + Hash> Ready<K> {
    pub(super) fn new(starvation_bound: u32) -> Self {
        Self {
            slots: Map::default(),
            high: BTreeMap::new(),
            normal: BTreeMap::new(),
            low: BTreeMap::new(),
            next_number: 0,
            bound: starvation_bound.max(2),
            passed_over: 0,
        }
    }

    /// Adds a key, or raises the one that waits. True if it was not there.
    pub(super) fn push(&mut self, key: K, mark: Mark) -> bool {
        let slot = match self.slots.entry(key) {
            Entry::Occupied(slot) => slot.into_mut(),
            Entry::Vacant(room) => {
                let number = self.next_number;
                self.next_number += 1;
                let key = room.key().clone();
                room.insert(Slot { number, mark });
                self.line_mut(mark.trigger.priority()).insert(number, key);
                return true;
            }
        };
        let number = slot.number;
        let before = slot.mark.trigger;
        slot.mark.trigger = before.coalesce(mark.trigger);
        let after = slot.mark.trigger;
        if before.priority() != after.priority()
            && let Some(key) = self.line_mut(before.priority()).remove(&number)
        {
            self.line_mut(after.priority()).insert(number, key);
        }
        false
    }

    /// Takes the key whose turn it is.
    pub(super) fn pop(&mut self) -> Option<(K, Mark)> {
        let first = Priority::ALL.into_iter().find(|p| !self.line(*p).is_empty())?;
        let passes_over = Priority::ALL.into_iter().any(|p| first.goes_before(p) && !self.line(p).is_empty());
        let turn = if !passes_over {
            self.passed_over = 0;
            first
        } else if self.passed_over + 1 < self.bound {
            self.passed_over += 1;
            first
        } else {
            // Among requeues, too: or a low key that came later would be served in place of one that was passed over.
            self.passed_over = 0;
            let normal = self.normal.keys().next();
            let low = self.low.keys().next();
            if normal.is_some_and(|normal| low.is_none_or(|low| normal < low)) {
                Priority::Normal
            } else {
                Priority::Low
            }
        };
        let (_, key) = self.line_mut(turn).pop_first()?;
        let slot = self.slots.remove(&key)?;
        Some((key, slot.mark))
    }

    pub(super) fn remove(&mut self, key: &K) -> bool {
        let Some(slot) = self.slots.remove(key) else { return false };
        self.line_mut(slot.mark.trigger.priority()).remove(&slot.number);
        true
    }

    pub(super) fn contains(&self, key: &K) -> bool {
        self.slots.contains_key(key)
    }

    pub(super) fn clear(&mut self) {
        self.slots.clear();
        self.high.clear();
        self.normal.clear();
        self.low.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Priority by priority, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, Mark)> {
        Priority::ALL
            .into_iter()
            .flat_map(|p| self.line(p).values())
            .filter_map(|key| self.slots.get(key).map(|slot| (key, slot.mark)))
    }

    fn line(&self, priority: Priority) -> &BTreeMap<u64, K> {
        match priority {
            Priority::High => &self.high,
            Priority::Normal => &self.normal,
            Priority::Low => &self.low,
        }
    }

    fn line_mut(&mut self, priority: Priority) -> &mut BTreeMap<u64, K> {
        match priority {
            Priority::High => &mut self.high,
            Priority::Normal => &mut self.normal,
            Priority::Low => &mut self.low,
        }
    }
}
