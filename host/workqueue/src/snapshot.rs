//! Snapshot of a queue, for people.

use std::hash::Hash;
use std::time::Duration;

use tokio::time::Instant;

use super::config::Trigger;
use super::delay::Timer;
use super::fair::Waiting;
use super::state::State;
use super::table::{Entry, Place};

/// A queue at one moment, from [`WorkQueue::snapshot`](super::WorkQueue::snapshot).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot<K> {
    /// Keys that wait for a worker.
    pub ready: usize,
    /// Keys that a worker holds.
    pub processing: usize,
    /// Keys with a timer; they may be ready or processing as well.
    pub delayed: usize,
    /// Keys with counted failures.
    pub failing: usize,
    /// The first keys: processing in no particular order, ready by priority and age, delayed in the order of their timers. A key with a
    /// timer that is also ready or processing appears twice.
    pub keys: Vec<KeyStatus<K>>,
}

/// The status of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyStatus<K> {
    /// The key.
    pub key: K,
    /// The phase of the key.
    pub phase: Phase,
    /// Failures since it was last forgotten.
    pub failures: u32,
}

/// The phase of a key in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// A worker holds it.
    Processing {
        /// Time since the hand-out.
        elapsed: Duration,
        /// Why the key will run once more when it is done, if it will.
        again: Option<Trigger>,
    },
    /// It waits for a worker.
    Ready {
        /// Why the key runs.
        trigger: Trigger,
        /// Time since the key became ready.
        waited: Duration,
    },
    /// It waits for its timer.
    Delayed {
        /// Why the key will run.
        trigger: Trigger,
        /// Time until it becomes ready.
        remaining: Duration,
    },
}

/// The phase of an entry that is ready or in work.
fn in_place<K>(entry: &Entry<K>, now: Instant) -> Option<Phase> {
    match entry.place {
        Place::Processing(held) => Some(Phase::Processing {
            elapsed: now.saturating_duration_since(held.since),
            again: held.dirty.map(|mark| mark.trigger),
        }),
        Place::Ready(Waiting { mark, .. }) => {
            Some(Phase::Ready { trigger: mark.trigger, waited: now.saturating_duration_since(mark.since) })
        }
        Place::Idle => None,
    }
}

/// The phase of an entry with a timer.
fn delayed<K>(entry: &Entry<K>, now: Instant) -> Option<Phase> {
    let Timer { due, trigger, .. } = entry.timer?;
    Some(Phase::Delayed { trigger, remaining: due.saturating_duration_since(now) })
}

fn status<K: Clone>(entry: &Entry<K>, phase: Phase) -> KeyStatus<K> {
    KeyStatus { key: entry.key.clone(), phase, failures: entry.failures }
}

/// The phases of one key: at most one in place, and one of its timer.
pub(super) fn of_key<K: Clone + Eq + Hash>(state: &State<K>, key: &K, now: Instant) -> Vec<KeyStatus<K>> {
    let entry = state.table.find(key).and_then(|id| state.table.get(id));
    let phases = entry.into_iter().flat_map(|entry| {
        let phases = [in_place(entry, now), delayed(entry, now)];
        phases.into_iter().flatten().map(move |phase| status(entry, phase))
    });
    phases.collect()
}

pub(super) fn take<K: Clone + Eq + Hash>(state: &State<K>, limit: usize, now: Instant) -> Snapshot<K> {
    let table = &state.table;
    let ready = state.processing.iter(table).chain(state.ready.iter(table)).filter_map(|id| {
        let entry = table.get(id)?;
        Some(status(entry, in_place(entry, now)?))
    });
    let waiting = state.delayed.iter().filter_map(|id| {
        let entry = table.get(id)?;
        Some(status(entry, delayed(entry, now)?))
    });
    let keys = ready.chain(waiting).take(limit).collect();
    Snapshot {
        ready: state.ready.len(),
        processing: state.processing.len(),
        delayed: state.delayed.len(),
        failing: state.failing,
        keys,
    }
}
