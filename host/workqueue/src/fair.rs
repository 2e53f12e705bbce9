//! Ready keys: one list per priority, and the starvation bound for the lower priorities.

use std::collections::BTreeMap;

use tokio::time::Instant;

use super::config::{Priority, Trigger};
use super::table::{Id, List, Place, Table};

/// Why and since when a key waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) trigger: Trigger,
    pub(super) since: Instant,
}

/// A key in the list of its trigger's priority.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) mark: Mark,
    /// Its age: the smaller, the older. A key keeps it when its priority is raised.
    number: u64,
    /// Whether the key came from a list of a lower priority.
    raised: bool,
}

/// Ready keys: those whose place is [`Place::Ready`], each in one list.
#[derive(Debug)]
pub(super) struct Ready {
    high: PriorityLane,
    normal: PriorityLane,
    low: PriorityLane,
    /// Numbers keys in order of arrival.
    next_number: u64,
    bound: u32,
    /// Keys handed out in a row while a key of a lower priority waited; always less than `bound`.
    passed_over: u32,
}

/// The keys of one priority, by age. Most arrive in that order; raised keys are older than the newest ones.
#[derive(Debug, Default)]
struct PriorityLane {
    arrived: List,
    raised: BTreeMap<u64, Id>,
}

impl Ready {
    pub(super) fn new(starvation_bound: u32) -> Self {
        Self {
            high: PriorityLane::default(),
            normal: PriorityLane::default(),
            low: PriorityLane::default(),
            next_number: 0,
            bound: starvation_bound.max(2),
            passed_over: 0,
        }
    }

    /// Adds a key that no worker holds, or raises a waiting one. Returns whether it is new.
    pub(super) fn push<K>(&mut self, table: &mut Table<K>, id: Id, mark: Mark) -> bool {
        let Some(entry) = table.get_mut(id) else { return false };
        if let Place::Ready(waiting) = &mut entry.place {
            let before = waiting.mark.trigger;
            let after = before.coalesce(mark.trigger);
            let was = *waiting;
            waiting.mark.trigger = after;
            if before.priority() != after.priority() {
                waiting.raised = true;
                self.lane_mut(before.priority()).remove(table, id, was);
                self.lane_mut(after.priority()).raised.insert(was.number, id);
            }
            return false;
        }
        entry.place = Place::Ready(Waiting { mark, number: self.next_number, raised: false });
        self.next_number += 1;
        self.lane_mut(mark.trigger.priority()).arrived.push_back(table, id);
        true
    }

    /// Takes the key whose turn it is. Its place is then [`Place::Idle`].
    pub(super) fn pop<K>(&mut self, table: &mut Table<K>) -> Option<(Id, Mark)> {
        let first = Priority::ALL.into_iter().find(|p| !self.lane(*p).is_empty())?;
        let passes_over = Priority::ALL.into_iter().any(|p| first.goes_before(p) && !self.lane(p).is_empty());
        let turn = if !passes_over {
            self.passed_over = 0;
            first
        } else if self.passed_over + 1 < self.bound {
            self.passed_over += 1;
            first
        } else {
            // Among requeues, too: otherwise a later low key would be served in place of a key that was passed over.
            self.passed_over = 0;
            let normal = self.normal.oldest(table);
            let low = self.low.oldest(table);
            if normal.is_some_and(|normal| low.is_none_or(|low| normal < low)) {
                Priority::Normal
            } else {
                Priority::Low
            }
        };
        let (_, id) = self.lane(turn).oldest(table)?;
        let waiting = self.remove(table, id)?;
        Some((id, waiting.mark))
    }

    /// Removes a key from its list, if it is in one. Its place is then [`Place::Idle`].
    pub(super) fn remove<K>(&mut self, table: &mut Table<K>, id: Id) -> Option<Waiting> {
        let entry = table.get_mut(id)?;
        let Place::Ready(waiting) = entry.place else { return None };
        entry.place = Place::Idle;
        self.lane_mut(waiting.mark.trigger.priority()).remove(table, id, waiting);
        Some(waiting)
    }

    /// Empties the lists; the caller drops the entries.
    pub(super) fn clear(&mut self) {
        self.high = PriorityLane::default();
        self.normal = PriorityLane::default();
        self.low = PriorityLane::default();
    }

    pub(super) fn len(&self) -> usize {
        self.high.len() + self.normal.len() + self.low.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The keys by priority, oldest first.
    pub(super) fn iter<K>(&self, table: &Table<K>) -> impl Iterator<Item = Id> {
        Priority::ALL.into_iter().flat_map(|p| self.lane(p).iter(table))
    }

    fn lane(&self, priority: Priority) -> &PriorityLane {
        match priority {
            Priority::High => &self.high,
            Priority::Normal => &self.normal,
            Priority::Low => &self.low,
        }
    }

    fn lane_mut(&mut self, priority: Priority) -> &mut PriorityLane {
        match priority {
            Priority::High => &mut self.high,
            Priority::Normal => &mut self.normal,
            Priority::Low => &mut self.low,
        }
    }
}

impl PriorityLane {
    /// * `waiting` - the value that the key had in this list.
    fn remove<K>(&mut self, table: &mut Table<K>, id: Id, waiting: Waiting) {
        if waiting.raised {
            self.raised.remove(&waiting.number);
        } else {
            self.arrived.unlink(table, id);
        }
    }

    fn oldest<K>(&self, table: &Table<K>) -> Option<(u64, Id)> {
        let arrived = self.arrived.first().map(|id| (number(table, id), id));
        let Some((number, id)) = self.raised.first_key_value() else { return arrived };
        let raised = (*number, *id);
        Some(arrived.map_or(raised, |arrived| arrived.min(raised)))
    }

    fn iter<K>(&self, table: &Table<K>) -> impl Iterator<Item = Id> {
        let mut arrived = self.arrived.iter(table).peekable();
        let mut raised = self.raised.iter().peekable();
        std::iter::from_fn(move || {
            let next = arrived.peek().map(|id| number(table, *id));
            let older = |(number, _): &(&u64, &Id)| next.is_none_or(|next| **number < next);
            raised.next_if(older).map(|(_, id)| *id).or_else(|| arrived.next())
        })
    }

    fn len(&self) -> usize {
        self.arrived.len() + self.raised.len()
    }

    fn is_empty(&self) -> bool {
        self.arrived.is_empty() && self.raised.is_empty()
    }
}

fn number<K>(table: &Table<K>, id: Id) -> u64 {
    match table.get(id).map(|entry| entry.place) {
        Some(Place::Ready(waiting)) => waiting.number,
        _ => u64::MAX,
    }
}
