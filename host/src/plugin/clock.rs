//! The epoch clock: ends the time slices of guests. It stands while no guest runs, so that an idle host does not wake up.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::{Builder, Thread};
use std::time::Duration;

/// The time slice of a guest, and the precision of deadlines.
pub(super) const TICK: Duration = Duration::from_millis(5);

/// Ticks without a guest until the clock stands. To wake its thread costs more than some ticks.
const TICKS_WITHOUT_GUEST: usize = 10;

/// Ticks while guests run. It has a thread of its own, so that busy workers cannot delay it; the thread ends with the clock.
pub(super) struct Clock {
    tick: Box<dyn Fn() + Send + Sync>,
    /// Guests that began to run, and that ended, since the start. They wrap around.
    begun: AtomicUsize,
    ended: AtomicUsize,
    /// The thread waits for a guest without a time limit.
    stands: AtomicBool,
    thread: OnceLock<Thread>,
}

/// The clock does not stand as long as this exists.
pub(super) struct Ticking(Arc<Clock>);

impl Clock {
    /// Starts the thread.
    ///
    /// * `tick` - called on that thread.
    ///
    /// # Errors
    ///
    /// The system has no thread.
    pub(super) fn start(tick: impl Fn() + Send + Sync + 'static) -> io::Result<Arc<Self>> {
        let clock = Arc::new(Self {
            tick: Box::new(tick),
            begun: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            stands: AtomicBool::new(false),
            thread: OnceLock::new(),
        });
        let weak = Arc::downgrade(&clock);
        let thread = Builder::new().name("epoch".to_owned()).spawn(move || run(&weak))?;
        // Nobody else has the clock yet.
        _ = clock.thread.set(thread.thread().clone());
        Ok(clock)
    }

    /// Begins to run a guest.
    pub(super) fn ticking(self: &Arc<Self>) -> Ticking {
        // Sequentially consistent: either the thread sees this guest before it waits, or this call sees that the thread waits.
        self.begun.fetch_add(1, Ordering::SeqCst);
        if self.stands.load(Ordering::SeqCst) && self.stands.swap(false, Ordering::SeqCst) {
            self.wake();
        }
        Ticking(Arc::clone(self))
    }

    fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.wake();
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::SeqCst);
    }
}

fn run(clock: &Weak<Clock>) {
    let (mut seen, mut without) = (0, 0);
    loop {
        std::thread::park_timeout(TICK);
        let Some(clock) = clock.upgrade() else { return };
        (clock.tick)();
        let begun = clock.begun.load(Ordering::SeqCst);
        let idle = begun == seen && begun == clock.ended.load(Ordering::SeqCst);
        (seen, without) = (begun, if idle { without + 1 } else { 0 });
        if without < TICKS_WITHOUT_GUEST {
            continue;
        }
        without = 0;
        clock.stands.store(true, Ordering::SeqCst);
        if clock.begun.load(Ordering::SeqCst) == seen {
            // A guest that begins, and the end of the clock, end this; dropped before, this may be the last reference.
            drop(clock);
            std::thread::park();
        } else {
            clock.stands.store(false, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    fn counting() -> (Arc<Clock>, Arc<AtomicUsize>) {
        let ticks = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&ticks);
        (Clock::start(move || _ = counted.fetch_add(1, Ordering::SeqCst)).unwrap(), ticks)
    }

    #[expect(clippy::disallowed_methods, reason = "the clock counts real time, on a thread without a runtime")]
    fn sleep(time: Duration) {
        std::thread::sleep(time);
    }

    #[track_caller]
    fn eventually(met: impl Fn() -> bool) {
        let end = Instant::now() + Duration::from_secs(20);
        while !met() {
            assert!(Instant::now() < end, "not within 20 s");
            sleep(Duration::from_micros(200));
        }
    }

    fn stands(clock: &Clock) -> bool {
        clock.stands.load(Ordering::SeqCst)
    }

    #[test]
    fn it_stands_while_no_guest_runs_and_ticks_while_one_does() {
        let (clock, ticks) = counting();
        for _ in 0..3 {
            eventually(|| stands(&clock));
            let before = ticks.load(Ordering::SeqCst);
            sleep(TICK * 20);
            assert_eq!(ticks.load(Ordering::SeqCst), before);
            let guest = clock.ticking();
            eventually(|| ticks.load(Ordering::SeqCst) > before + 3 * TICKS_WITHOUT_GUEST);
            assert!(!stands(&clock));
            drop(guest);
        }
    }

    #[test]
    fn every_guest_is_seen_whatever_the_clock_is_about_to_do() {
        let (clock, ticks) = counting();
        // Begins at all moments around the one at which the thread decides to wait.
        for step in 0..100 {
            eventually(|| clock.begun.load(Ordering::SeqCst) == clock.ended.load(Ordering::SeqCst));
            let pause = TICK * u32::try_from(TICKS_WITHOUT_GUEST).unwrap() + TICK;
            sleep(pause.saturating_sub(Duration::from_micros(step * 60)));
            let before = ticks.load(Ordering::SeqCst);
            let _guest = clock.ticking();
            eventually(|| ticks.load(Ordering::SeqCst) > before + 1);
        }
    }

    #[test]
    fn its_thread_ends_with_it_also_when_it_stands() {
        for stands_then in [false, true] {
            let alive = Arc::new(());
            let held = Arc::downgrade(&alive);
            let clock = Clock::start(move || drop(Arc::clone(&alive))).unwrap();
            if stands_then {
                eventually(|| stands(&clock));
            }
            drop(clock);
            eventually(|| held.upgrade().is_none());
        }
    }
}
