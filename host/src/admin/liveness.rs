//! Liveness: whether the host's loops still run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A loop without a beat for this long is stuck. Loops beat at least every half second under any load.
const STUCK_AFTER: Duration = Duration::from_secs(30);

/// The watched loops; a clone is another handle to the same list.
#[derive(Debug, Clone, Default)]
pub struct Liveness {
    loops: Arc<Mutex<BTreeMap<String, Rounds>>>,
}

/// One loop. Dropping it removes the loop from the list, because it ended.
#[derive(Debug)]
pub struct Pulse {
    name: String,
    list: Liveness,
}

#[derive(Debug, Clone, Copy)]
struct Rounds {
    count: u64,
    last: Instant,
}

impl Liveness {
    /// Adds a loop, with its first beat now.
    #[must_use = "dropping it takes the loop off the list"]
    pub fn watch(&self, name: &str) -> Pulse {
        let pulse = Pulse { name: name.to_owned(), list: self.clone() };
        pulse.beat();
        pulse
    }

    /// All loops by name: number of beats, and the time since the last one if that is too long.
    #[must_use]
    pub fn loops(&self) -> Vec<(String, u64, Option<Duration>)> {
        let stuck = |rounds: &Rounds| Some(rounds.last.elapsed()).filter(|silent| *silent > STUCK_AFTER);
        self.lock().iter().map(|(name, rounds)| (name.clone(), rounds.count, stuck(rounds))).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Rounds>> {
        self.loops.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pulse {
    /// Records a beat of the loop.
    pub fn beat(&self) {
        let now = Instant::now();
        let mut loops = self.list.lock();
        if let Some(rounds) = loops.get_mut(&self.name) {
            rounds.count += 1;
            rounds.last = now;
        } else {
            loops.insert(self.name.clone(), Rounds { count: 1, last: now });
        }
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.list.lock().remove(&self.name);
    }
}
