//! The host's own writes of primaries, so that their echo in the watch wakes nobody.
//!
//! An event is only an echo when the state before it was exactly the one the write was based on: had somebody else written in
//! between, the key must run.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

/// Echoes that are waited for; one forgotten costs a reconcile that finds nothing to do.
const CAPACITY: usize = 10_000;

/// Writes whose events have not been seen.
#[derive(Debug, Default)]
pub struct OwnWrites {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// (uid, resourceVersion after the write) → resourceVersion it was based on.
    writes: HashMap<(String, String), String>,
    order: VecDeque<(String, String)>,
}

impl OwnWrites {
    pub(super) fn note(&self, uid: &str, base: &str, written: &str) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let id = (uid.to_owned(), written.to_owned());
        if inner.writes.insert(id.clone(), base.to_owned()).is_none() {
            inner.order.push_back(id);
        }
        while inner.order.len() > CAPACITY {
            let Some(oldest) = inner.order.pop_front() else { break };
            inner.writes.remove(&oldest);
        }
    }

    /// Whether the step from `old` to `new` was the host's own write and nothing else.
    #[must_use]
    pub fn is_echo(&self, uid: &str, old: &str, new: &str) -> bool {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.writes.remove(&(uid.to_owned(), new.to_owned())).is_some_and(|base| base == old)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_step_we_made_is_an_echo() {
        let own = OwnWrites::default();
        own.note("u", "1", "2");
        assert!(own.is_echo("u", "1", "2"));
        assert!(!own.is_echo("u", "1", "2"), "once");
        own.note("u", "2", "4");
        assert!(!own.is_echo("u", "3", "4"), "somebody else wrote 3 in between");
        assert!(!own.is_echo("v", "1", "2"));
    }
}
