//! Whether the host still comes round, or is stuck.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A loop that has not come round for this long is stuck. It comes round at least every half second, however much there is to do.
const STUCK_AFTER: Duration = Duration::from_secs(30);

/// The loops that must come round; cloning it gives another handle to the same list.
#[derive(Debug, Clone, Default)]
pub struct Liveness {
    loops: Arc<Mutex<BTreeMap<String, Rounds>>>,
}

/// One loop. Dropping it takes the loop off the list: it came to its end.
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
    /// Adds a loop, which has just come round.
    #[must_use = "dropping it takes the loop off the list"]
    pub fn watch(&self, name: &str) -> Pulse {
        let pulse = Pulse { name: name.to_owned(), list: self.clone() };
        pulse.beat();
        pulse
    }

    /// All loops by name: how often each came round, and for how long it has not, where that is too long.
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
    /// The loop came round.
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
