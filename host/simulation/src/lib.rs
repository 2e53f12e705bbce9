//! The time of day, unique ids and random numbers of a process, or of a simulation in one of its threads.
//!
//! A program asks here instead of asking the system. Outside a simulation nothing changes. A [`Simulation`] belongs to the thread that began
//! it: all tasks of a current-thread runtime see it, other threads do not.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tokio::time::Instant;
use uuid::Uuid;

thread_local! {
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

/// The state of a simulation.
struct World {
    start: Timestamp,
    began: Instant,
    seed: u64,
    /// How many ids each name has got.
    ids: HashMap<String, u64>,
    /// Computing time of the thread at the beginning, and how much of it the simulation may use.
    computed: Duration,
    limit: Duration,
    asked: Arc<AtomicBool>,
    /// Whether it expires at the first interruption.
    strict: bool,
    interruption: Option<String>,
    /// Log lines, each once.
    lines: BTreeSet<String>,
    line_bytes: usize,
}

/// Most bytes of log lines that a simulation keeps.
const LINE_BYTES: usize = 1 << 20;

impl World {
    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn is_expired(&self) -> bool {
        let interrupted = self.strict && self.interruption.is_some();
        interrupted || (self.asked.load(Relaxed) && computed().saturating_sub(self.computed) >= self.limit)
    }

    /// 32 bytes that depend on the seed, the name, and how often the name was asked for.
    fn bytes(&mut self, of: &str) -> [u8; 32] {
        let count = self.ids.entry(of.to_owned()).or_default();
        *count += 1;
        let digest = Sha256::new().chain_update(self.seed.to_le_bytes()).chain_update(count.to_le_bytes());
        digest.chain_update(of).finalize().into()
    }
}

/// How long this thread has computed since it began. Waits, also for a core, do not count.
fn computed() -> Duration {
    rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}

/// A simulation of this thread. It ends when this is dropped.
#[derive(Debug)]
pub struct Simulation {
    asked: Arc<AtomicBool>,
    _of_one_thread: PhantomData<*const ()>,
}

impl Simulation {
    /// Begins a simulation. An earlier one of the thread ends. Must be called on a current-thread runtime whose clock is paused.
    ///
    /// * `start` - the time of day at the beginning.
    /// * `seed` - of ids and random numbers.
    /// * `limit` - how long the thread may compute before [`is_expired`] is true. The load of the machine does not count.
    #[must_use]
    pub fn begin(start: Timestamp, seed: u64, limit: Duration) -> Self {
        fastrand::seed(seed);
        let asked = Arc::<AtomicBool>::default();
        let world = World {
            start,
            began: Instant::now(),
            seed,
            ids: HashMap::new(),
            computed: computed(),
            limit,
            asked: Arc::clone(&asked),
            strict: false,
            interruption: None,
            lines: BTreeSet::new(),
            line_bytes: 0,
        };
        WORLD.set(Some(world));
        Self { asked, _of_one_thread: PhantomData }
    }

    /// Another thread sets it when as much real time has passed as the limit. Before, [`is_expired`] does not look at the clock of the thread.
    #[must_use]
    pub fn alarm(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.asked)
    }

    /// Lets it expire when a computation is interrupted: later ones that need as long do not get their time.
    pub fn expire_when_interrupted(&self) {
        with(|world| world.strict = true);
    }

    /// The first computation that was interrupted, a sentence; see [`interrupted`].
    #[must_use]
    pub fn interruption(&self) -> Option<String> {
        with(|world| world.interruption.clone()).flatten()
    }

    /// The different lines of [`logged`], in no order that counts: the first MiB.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        with(|world| world.lines.iter().cloned().collect()).unwrap_or_default()
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        WORLD.set(None);
    }
}

fn with<T>(ask: impl FnOnce(&mut World) -> T) -> Option<T> {
    WORLD.with_borrow_mut(|world| world.as_mut().map(ask))
}

/// Whether this thread is in a simulation.
#[must_use]
pub fn is_running() -> bool {
    WORLD.with_borrow(Option::is_some)
}

/// Whether the simulation of this thread has used up its computing time, so that computations end. False outside a simulation.
#[must_use]
pub fn is_expired() -> bool {
    with(|world| world.is_expired()).unwrap_or_default()
}

/// Notes that a computation was interrupted because it took too long: what follows depends on the machine.
///
/// * `what` - a sentence.
pub fn interrupted(what: impl FnOnce() -> String) {
    with(|world| world.interruption.get_or_insert_with(what).len());
}

/// Keeps a log line for those who look at the simulation. Outside a simulation nothing happens.
pub fn logged(line: &str) {
    with(|world| {
        if world.line_bytes + line.len() <= LINE_BYTES && !world.lines.contains(line) {
            world.line_bytes += line.len();
            world.lines.insert(line.to_owned());
        }
    });
}

/// The time of day.
#[must_use]
pub fn now() -> Timestamp {
    with(|world| {
        let elapsed = SignedDuration::try_from(world.elapsed()).unwrap_or(SignedDuration::MAX);
        world.start.checked_add(elapsed).unwrap_or(Timestamp::MAX)
    })
    .unwrap_or_else(Timestamp::now)
}

/// The time since the simulation of this thread began. None: this thread is in no simulation.
#[must_use]
pub fn elapsed() -> Option<Duration> {
    with(|world| world.elapsed())
}

/// A random UUID. In a simulation it depends on the seed and the name alone, so that an order of tasks does not change it.
///
/// * `of` - what gets the id. The second id of the same name differs from the first.
#[must_use]
pub fn unique_id(of: &str) -> Uuid {
    let simulated = with(|world| world.bytes(of)).and_then(|bytes| bytes.first_chunk::<16>().copied());
    simulated.map_or_else(Uuid::new_v4, |bytes| uuid::Builder::from_random_bytes(bytes).into_uuid())
}

/// Fills with random bytes of the simulation. False: this thread is in none, and nothing was filled.
///
/// * `of` - who asks, as for [`unique_id`].
#[must_use]
pub fn fill(of: &str, bytes: &mut [u8]) -> bool {
    let seed = with(|world| world.bytes(of)).and_then(|bytes| bytes.first_chunk::<8>().copied());
    let Some(seed) = seed else { return false };
    fastrand::Rng::with_seed(u64::from_le_bytes(seed)).fill(bytes);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_simulation_has_its_own_time_and_ids_and_ends() {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let ids = |seed| {
            let _simulation = Simulation::begin(start, seed, Duration::ZERO);
            let mut random = [0; 4];
            assert!(fill("guest", &mut random));
            (unique_id("a"), unique_id("b"), unique_id("a"), random)
        };
        let first = ids(1);
        assert!(first.0 != first.1 && first.0 != first.2);
        assert_eq!(first, ids(1));
        assert_ne!(first, ids(2));
        assert!(!is_running() && elapsed().is_none());
        let simulation = Simulation::begin(start, 1, Duration::ZERO);
        tokio::time::sleep(Duration::from_millis(90_500)).await;
        assert_eq!(now().to_string(), "2026-01-01T00:01:30.5Z");
        assert!(!is_expired());
        simulation.alarm().store(true, Relaxed);
        assert!(is_expired());
        simulation.alarm().store(false, Relaxed);
        interrupted(|| "a guest".to_owned());
        assert!(!is_expired());
        simulation.expire_when_interrupted();
        assert!(is_expired());
        assert!(std::thread::spawn(|| !is_running()).join().unwrap(), "another thread is in no simulation");
        drop(simulation);
        assert_ne!(unique_id("a"), unique_id("a"));
        assert!(now() > start + SignedDuration::from_hours(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_simulation_that_waits_for_a_core_does_not_expire() {
        let simulation = Simulation::begin(Timestamp::UNIX_EPOCH, 0, Duration::from_millis(50));
        simulation.alarm().store(true, Relaxed);
        std::thread::park_timeout(Duration::from_millis(60));
        assert!(!is_expired());
        while !is_expired() {
            std::hint::spin_loop();
        }
        assert!(computed() >= Duration::from_millis(50));
    }
}
