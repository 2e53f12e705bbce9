//! What the host waits for before it calls itself ready.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A list of conditions that must all be met; cloning it gives another handle to the same list.
///
/// With no condition in it, it is ready: register the conditions before the server is started.
#[derive(Debug, Clone, Default)]
pub struct Readiness {
    conditions: Arc<Mutex<BTreeMap<String, Option<String>>>>,
}

/// One condition. Dropping it changes nothing: a task that dies with its condition unmet must not make the host ready.
#[derive(Debug)]
pub struct Condition {
    name: String,
    list: Readiness,
}

impl Readiness {
    /// Adds a condition, not met yet. Of two with one name, the later replaces the earlier.
    ///
    /// * `name` - what is waited for, for example `caches`.
    /// * `reason` - why it is not met, in a few words for people.
    #[must_use = "without it the condition is never met"]
    pub fn condition(&self, name: &str, reason: &str) -> Condition {
        let condition = Condition { name: name.to_owned(), list: self.clone() };
        condition.waiting(reason);
        condition
    }

    /// Whether all conditions are met.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.lock().values().all(Option::is_none)
    }

    /// All conditions by name; with those that are not met, the reason.
    #[must_use]
    pub fn conditions(&self) -> Vec<(String, Option<String>)> {
        self.lock().iter().map(|(name, waiting)| (name.clone(), waiting.clone())).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Option<String>>> {
        self.conditions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Condition {
    /// The condition is met.
    pub fn met(&self) {
        self.list.lock().insert(self.name.clone(), None);
    }

    /// The condition is not met, or not any more.
    pub fn waiting(&self, reason: &str) {
        self.list.lock().insert(self.name.clone(), Some(reason.to_owned()));
    }

    /// Takes the condition off the list: nobody waits for it any more.
    pub fn remove(self) {
        self.list.lock().remove(&self.name);
    }
}
