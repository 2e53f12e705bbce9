//! Tape of a reconcile: everything that a guest saw through its imports, in order, for a replay.
//!
//! A tape keeps references to cached objects and to bodies, and copies little else. All tapes of a host share one bound in bytes. A tape that
//! finds no room drops its entries and stays empty.

mod seen;

pub use seen::{Found, Listed, MergeFunction, Phase, Read, ReadFailure, Seen, SendFailure, Sent};

use super::call::Request;
use seen::ENTRY_BYTES;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most bytes of one tape, together with the tapes before it in the same instance.
pub(crate) const MOST_BYTES: usize = 1 << 20;

/// Most reconciles before it in the same instance that a tape keeps.
const MOST_BEFORE: usize = 64;

/// A clock of WASI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Milliseconds since 1970.
    Wall,
    /// Milliseconds since some time before.
    Monotonic,
}

/// The values of a clock, in order: each with the number of times that it was read.
pub type Ticks = Vec<(u64, u32)>;

/// The bytes that all tapes of a host may take.
#[derive(Debug)]
pub struct TapeRoom {
    taken: AtomicUsize,
    most: usize,
}

impl TapeRoom {
    /// Room for so many bytes.
    #[must_use]
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { taken: AtomicUsize::new(0), most })
    }

    /// The bytes in use.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.taken.load(Relaxed)
    }

    /// Takes bytes, if there are so many.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        let before = self.taken.fetch_add(bytes, Relaxed);
        let fits = before.saturating_add(bytes) <= self.most;
        if !fits {
            self.give_back(bytes);
        }
        fits
    }

    /// Gives bytes back.
    pub(crate) fn give_back(&self, bytes: usize) {
        self.taken.fetch_sub(bytes, Relaxed);
    }
}

/// Everything that a guest saw in one reconcile.
#[derive(Debug)]
pub struct Tape {
    room: Arc<TapeRoom>,
    inner: Mutex<Recorded>,
}

/// The content of a [`Tape`].
#[derive(Debug, Default)]
pub struct Recorded {
    /// The request of the calls. None: there was no room for it.
    pub request: Option<Arc<Request>>,
    /// The uses of imports, in order.
    pub seen: Vec<Seen>,
    /// What the wall clock showed.
    pub wall: Ticks,
    /// What the monotonic clock showed.
    pub monotonic: Ticks,
    /// The last call.
    pub phase: Phase,
    /// The reconcile before it in the same instance.
    pub before: Option<Arc<Tape>>,
    /// The number of reconciles before it in the same instance; those that are not in `before` are unknown.
    pub served: usize,
    /// Whether there was no room for an entry, so that nothing is recorded.
    pub overflowed: bool,
    /// Own bytes.
    bytes: usize,
    /// Bytes of the tapes before it.
    bytes_before: usize,
    /// The number of tapes before it.
    depth: usize,
}

impl Tape {
    /// The tape of a reconcile that begins.
    #[must_use]
    pub fn new(room: &Arc<TapeRoom>, request: &Arc<Request>) -> Arc<Self> {
        let tape = Self { room: Arc::clone(room), inner: Mutex::default() };
        let texts = [&request.object, &request.last_seen].into_iter().flatten().map(|text| text.len());
        if tape.reserve(texts.sum::<usize>() + size_of::<Request>() + size_of::<Self>() + ENTRY_BYTES) {
            tape.recorded().request = Some(Arc::clone(request));
        }
        Arc::new(tape)
    }

    /// What is recorded.
    pub fn recorded(&self) -> MutexGuard<'_, Recorded> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of the tape and of those before it.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let inner = self.recorded();
        inner.bytes + inner.bytes_before
    }

    /// Takes room for something that is kept beside the entries. False: there is none, and the tape is empty now.
    pub fn reserve(&self, bytes: usize) -> bool {
        self.room_for(&mut self.recorded(), bytes)
    }

    /// Records the use of an import.
    pub(super) fn push(&self, seen: Seen) {
        let mut inner = self.recorded();
        if self.room_for(&mut inner, seen.bytes()) {
            inner.seen.push(seen);
        }
    }

    /// Records the value of a clock, in milliseconds. A guest that waits for a clock reads one value many times.
    pub(super) fn tick(&self, clock: Clock, value: u64) {
        let mut inner = self.recorded();
        let ticks = match clock {
            Clock::Wall => &mut inner.wall,
            Clock::Monotonic => &mut inner.monotonic,
        };
        if let Some((last, times)) = ticks.last_mut()
            && *last == value
            && *times < u32::MAX
        {
            *times += 1;
            return;
        }
        if self.room_for(&mut inner, size_of::<(u64, u32)>()) {
            match clock {
                Clock::Wall => inner.wall.push((value, 1)),
                Clock::Monotonic => inner.monotonic.push((value, 1)),
            }
        }
    }

    /// Begins a call.
    pub(super) fn enter(&self, phase: Phase) {
        self.recorded().phase = phase;
    }

    /// Continues an instance that served other reconciles, the last one with this tape.
    pub(super) fn follow(&self, before: Option<Arc<Self>>, served: usize) {
        let mut inner = self.recorded();
        inner.served = served;
        let Some(before) = before else { return };
        let (bytes, depth, complete) = {
            let before = before.recorded();
            let complete = !before.overflowed && (before.served == 0 || before.before.is_some());
            (before.bytes + before.bytes_before, before.depth + 1, complete)
        };
        if complete && bytes < MOST_BYTES / 2 && depth <= MOST_BEFORE {
            (inner.before, inner.bytes_before, inner.depth) = (Some(before), bytes, depth);
        }
    }

    fn room_for(&self, inner: &mut Recorded, bytes: usize) -> bool {
        if inner.overflowed {
            return false;
        }
        if inner.bytes + inner.bytes_before + bytes <= MOST_BYTES && self.room.take(bytes) {
            inner.bytes += bytes;
            return true;
        }
        self.room.give_back(inner.bytes);
        *inner = Recorded { overflowed: true, phase: inner.phase, served: inner.served, ..Recorded::default() };
        false
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        let inner = self.inner.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.room.give_back(inner.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{GroupVersionKind, ObjectKey};

    fn log(bytes: usize) -> Seen {
        Seen::Log("info", "x".repeat(bytes))
    }

    fn tape(room: &Arc<TapeRoom>) -> Arc<Tape> {
        let request = Request::of(GroupVersionKind::new("", "v1", "ConfigMap"), ObjectKey::new("n", "a"));
        Tape::new(room, &Arc::new(request))
    }

    #[test]
    fn all_tapes_share_one_bound_and_give_their_room_back() {
        let room = TapeRoom::new(100_000);
        let (one, other) = (tape(&room), tape(&room));
        one.push(log(60_000));
        other.push(log(30_000));
        assert!(room.taken() <= 100_000 && !other.recorded().overflowed);
        other.push(log(30_000));
        assert!(other.recorded().overflowed && other.recorded().seen.is_empty());
        assert_eq!(room.taken(), one.bytes());
        other.push(log(1));
        assert!(other.recorded().seen.is_empty(), "a tape with a hole replays nothing");
        drop((one, other));
        assert_eq!(room.taken(), 0);
    }

    #[test]
    fn a_guest_that_waits_for_a_clock_fills_no_memory() {
        let tape = tape(&TapeRoom::new(1 << 20));
        for read in 0..1_000_000_u64 {
            tape.tick(Clock::Monotonic, read / 1000);
            tape.tick(Clock::Wall, 7);
        }
        let recorded = tape.recorded();
        assert_eq!((recorded.wall.as_slice(), recorded.monotonic.len()), (&[(7, 1_000_000)][..], 1000));
    }

    #[test]
    fn one_tape_is_bounded_together_with_those_before_it() {
        let room = TapeRoom::new(1 << 30);
        let mut last: Option<Arc<Tape>> = None;
        for served in 0..200 {
            let tape = tape(&room);
            tape.follow(last.take(), served);
            tape.push(log(20_000));
            assert!(tape.bytes() <= MOST_BYTES);
            last = Some(tape);
        }
        assert!(room.taken() <= MOST_BYTES, "{}", room.taken());
        let last = last.unwrap();
        assert_eq!(last.recorded().served, 199);
        last.push(log(MOST_BYTES));
        assert!(last.recorded().overflowed);
    }

    #[test]
    fn the_second_get_actual_has_a_phase_of_its_own() {
        let calls = ["get-desired", "get-actual", "patch", "get-actual"];
        let phases = calls.iter().scan(Phase::Start, |phase, call| {
            *phase = phase.then(call);
            Some(*phase)
        });
        assert_eq!(phases.collect::<Vec<_>>(), Phase::ALL[1..]);
    }
}
