//! Readiness: conditions that must be met before the host is ready.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A list of conditions that must all be met; a clone is another handle to the same list.
///
/// An empty list is ready: register the conditions before the server starts.
#[derive(Debug, Clone, Default)]
pub struct Readiness {
    conditions: Arc<Mutex<BTreeMap<String, Option<String>>>>,
}

/// One condition. Dropping it changes nothing: a task that dies with an unmet condition must not make the host ready.
#[derive(Debug)]
pub struct Condition {
    name: String,
    list: Readiness,
}

impl Readiness {
    /// Adds an unmet condition. A later condition replaces an earlier one of the same name.
    ///
    /// * `name` - name of the condition, for example `caches`.
    /// * `reason` - why it is not met, in a few words for people.
    #[must_use = "without it the condition is never met"]
    pub fn condition(&self, name: &str, reason: &str) -> Condition {
        let condition = Condition { name: name.to_owned(), list: self.clone() };
        condition.waiting(reason);
        condition
    }

    /// All conditions by name, with the reasons of unmet ones.
    #[must_use]
    pub fn conditions(&self) -> Vec<(String, Option<String>)> {
        self.lock().iter().map(|(name, waiting)| (name.clone(), waiting.clone())).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Option<String>>> {
        self.conditions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Condition {
    /// Marks the condition as met.
    pub fn met(&self) {
        self.list.lock().insert(self.name.clone(), None);
    }

    /// Marks the condition as not met, or not any more.
    pub fn waiting(&self, reason: &str) {
        self.list.lock().insert(self.name.clone(), Some(reason.to_owned()));
    }

    /// Removes the condition from the list.
    pub fn remove(self) {
        self.list.lock().remove(&self.name);
    }
}
