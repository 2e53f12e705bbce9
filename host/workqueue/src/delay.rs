//! Delayed keys: one timer each.

use std::collections::BTreeMap;

use tokio::time::Instant;

use super::config::Trigger;
use super::table::{Id, Table};

/// The entries that have a timer, by its time.
#[derive(Debug)]
pub(super) struct Delayed {
    by_time: BTreeMap<(Instant, u64), Id>,
    /// Distinguishes timers with the same due time, in the order in which they were set.
    next_number: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Timer {
    pub(super) due: Instant,
    pub(super) trigger: Trigger,
    number: u64,
}

impl Delayed {
    pub(super) fn new() -> Self {
        Self { by_time: BTreeMap::new(), next_number: 0 }
    }

    /// Sets the timer of a key, or moves it forward; an earlier timer stays. Returns whether it is now the next to fire.
    pub(super) fn set<K>(&mut self, table: &mut Table<K>, id: Id, due: Instant, trigger: Trigger) -> bool {
        let Some(entry) = table.get_mut(id) else { return false };
        let next = self.next_due();
        let mut timer = Timer { due, trigger, number: self.next_number };
        if let Some(set) = &mut entry.timer {
            set.trigger = set.trigger.coalesce(trigger);
            if set.due <= due {
                return false;
            }
            timer.trigger = set.trigger;
            self.by_time.remove(&(set.due, set.number));
        }
        self.next_number += 1;
        self.by_time.insert((due, timer.number), id);
        entry.timer = Some(timer);
        next.is_none_or(|next| due < next)
    }

    /// Takes the timer that has been due longest at `now`, if any.
    pub(super) fn pop_due<K>(&mut self, table: &mut Table<K>, now: Instant) -> Option<(Id, Timer)> {
        let entry = self.by_time.first_entry()?;
        if entry.key().0 > now {
            return None;
        }
        let id = entry.remove();
        let timer = table.get_mut(id)?.timer.take()?;
        Some((id, timer))
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.by_time.keys().next().map(|(due, _)| *due)
    }

    pub(super) fn remove<K>(&mut self, table: &mut Table<K>, id: Id) {
        if let Some(timer) = table.get_mut(id).and_then(|entry| entry.timer.take()) {
            self.by_time.remove(&(timer.due, timer.number));
        }
    }

    /// Forgets all timers; the caller removes them from the entries.
    pub(super) fn clear(&mut self) {
        self.by_time.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.by_time.len()
    }

    /// The keys in the order in which their timers fire.
    pub(super) fn iter(&self) -> impl Iterator<Item = Id> {
        self.by_time.values().copied()
    }
}
