//! Echo suppression: own writes of primaries, so that their watch echo does not enqueue a key for the controller that wrote.
//!
//! An event is an echo only if the state before it was exactly the base of the write. Otherwise another client wrote in between, and the
//! key must run. The echo may arrive before the response to the write. While a write is in flight, events of that object are held back
//! until the response identifies the echo.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most expected echoes; a forgotten one costs a reconcile that finds nothing to do.
const CAPACITY: usize = 10_000;

/// Writes whose events have not arrived.
#[derive(Debug, Default)]
pub struct EchoSuppressor {
    inner: Mutex<ExpectedEchoes>,
}

/// uid of the object and name of the controller. The write of another controller is no echo.
type WriteId = (String, String);

#[derive(Debug, Default)]
struct ExpectedEchoes {
    /// (id, resourceVersion after the write) → resourceVersion of its base, and its number. Ordered by uid.
    writes: BTreeMap<(WriteId, String), (String, u64)>,
    /// The same writes by number, oldest first.
    order: BTreeMap<u64, (WriteId, String)>,
    next_number: u64,
    /// Writes in flight, and the events that arrived meanwhile.
    open: HashMap<WriteId, Open>,
}

#[derive(Debug, Default)]
struct Open {
    writes: usize,
    waiting: Vec<HeldBackEvent>,
}

/// An event that may be an echo.
struct HeldBackEvent {
    old: String,
    new: String,
    wake: Box<dyn FnOnce() + Send>,
}

impl fmt::Debug for HeldBackEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.old, self.new)
    }
}

/// A write in flight. Dropping it means that it failed, or that its result is unknown.
#[derive(Debug)]
pub struct WriteInFlight {
    echoes: Arc<EchoSuppressor>,
    id: WriteId,
}

impl WriteInFlight {
    /// The write changed `base` to `written`.
    pub fn wrote(self, base: &str, written: &str) {
        self.echoes.lock().note(&self.id, base, written);
    }
}

impl Drop for WriteInFlight {
    fn drop(&mut self) {
        for step in self.echoes.lock().close(&self.id) {
            (step.wake)();
        }
    }
}

impl EchoSuppressor {
    /// Begins a write of a controller.
    pub fn begin(self: &Arc<Self>, controller: &str, uid: &str) -> WriteInFlight {
        let id = (uid.to_owned(), controller.to_owned());
        self.lock().open.entry(id.clone()).or_default().writes += 1;
        WriteInFlight { echoes: Arc::clone(self), id }
    }

    /// Calls `wake` unless the step from `old` to `new` was exactly a write of this controller. While a write is in flight, the
    /// decision is deferred until its result.
    pub fn unless_echo(&self, controller: &str, uid: &str, old: &str, new: &str, wake: impl FnOnce() + Send + 'static) {
        let id = (uid.to_owned(), controller.to_owned());
        {
            let mut inner = self.lock();
            if inner.take(&id, old, new) {
                return;
            }
            if let Some(open) = inner.open.get_mut(&id) {
                open.waiting.push(HeldBackEvent { old: old.to_owned(), new: new.to_owned(), wake: Box::new(wake) });
                return;
            }
        }
        wake();
    }

    /// Forgets a deleted object, whose skipped events will not arrive any more.
    pub fn forget(&self, uid: &str) {
        let first = ((uid.to_owned(), String::new()), String::new());
        let mut inner = self.lock();
        let gone: Vec<_> =
            inner.writes.range(first..).map(|(write, _)| write).take_while(|write| write.0.0 == uid).cloned().collect();
        for write in gone {
            if let Some((_, number)) = inner.writes.remove(&write) {
                inner.order.remove(&number);
            }
        }
    }

    /// The number of expected echoes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().writes.len()
    }

    /// Whether no echo is expected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, ExpectedEchoes> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ExpectedEchoes {
    fn note(&mut self, id: &WriteId, base: &str, written: &str) {
        let write = (id.clone(), written.to_owned());
        let number = self.next_number;
        self.next_number += 1;
        if let Some((_, before)) = self.writes.insert(write.clone(), (base.to_owned(), number)) {
            self.order.remove(&before);
        }
        self.order.insert(number, write);
        while self.order.len() > CAPACITY {
            let Some((_, oldest)) = self.order.pop_first() else { break };
            self.writes.remove(&oldest);
        }
    }

    /// Whether a step was an own write, which is then forgotten.
    fn take(&mut self, id: &WriteId, old: &str, new: &str) -> bool {
        let Some((base, number)) = self.writes.remove(&(id.clone(), new.to_owned())) else { return false };
        self.order.remove(&number);
        base == old
    }

    /// Ends a write. Returns the events that were no echo, once no other write of the object is in flight.
    fn close(&mut self, id: &WriteId) -> Vec<HeldBackEvent> {
        let Some(open) = self.open.get_mut(id) else { return Vec::new() };
        open.writes = open.writes.saturating_sub(1);
        if open.writes > 0 {
            return Vec::new();
        }
        let waiting = self.open.remove(id).map(|open| open.waiting).unwrap_or_default();
        waiting.into_iter().filter(|step| !self.take(id, &step.old, &step.new)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    #[derive(Default)]
    struct Woken(Arc<AtomicUsize>);

    impl ExpectedEchoes {
        fn remembered(&self) -> (usize, usize) {
            (self.writes.len(), self.order.len())
        }
    }

    impl Woken {
        fn by(&self, echoes: &EchoSuppressor, uid: &str, old: &str, new: &str) -> usize {
            let count = Arc::clone(&self.0);
            echoes.unless_echo("p", uid, old, new, move || {
                count.fetch_add(1, SeqCst);
            });
            self.0.load(SeqCst)
        }
    }

    #[test]
    fn only_the_step_we_made_is_an_echo() {
        let (echoes, woken) = (Arc::new(EchoSuppressor::default()), Woken::default());
        echoes.begin("p", "u").wrote("1", "2");
        assert_eq!(woken.by(&echoes, "u", "1", "2"), 0);
        assert_eq!(woken.by(&echoes, "u", "1", "2"), 1, "once");
        echoes.begin("p", "u").wrote("2", "4");
        assert_eq!(woken.by(&echoes, "u", "3", "4"), 2, "somebody else wrote 3 in between");
        assert_eq!(woken.by(&echoes, "v", "1", "2"), 3);
        echoes.begin("other", "u").wrote("4", "5");
        assert_eq!(woken.by(&echoes, "u", "4", "5"), 4, "another controller's write is news");
    }

    #[test]
    fn an_echo_that_was_seen_takes_no_room_and_of_those_waited_for_the_oldest_goes() {
        let (echoes, woken) = (Arc::new(EchoSuppressor::default()), Woken::default());
        echoes.begin("p", "u").wrote("1", "2");
        echoes.begin("p", "u").wrote("1", "2");
        assert_eq!(woken.by(&echoes, "u", "1", "2"), 0);
        assert_eq!(echoes.lock().remembered(), (0, 0));
        for version in 0..=CAPACITY {
            echoes.begin("p", "u").wrote("0", &version.to_string());
        }
        assert_eq!(echoes.lock().remembered(), (CAPACITY, CAPACITY));
        assert_eq!(woken.by(&echoes, "u", "0", "0"), 1, "the oldest was forgotten");
        assert_eq!(woken.by(&echoes, "u", "0", "1"), 1);
    }

    #[test]
    fn nothing_is_waited_for_of_an_object_that_is_gone() {
        let echoes = Arc::new(EchoSuppressor::default());
        for uid in ["u", "v", "ua"] {
            echoes.begin("p", uid).wrote("1", "2");
            echoes.begin("q", uid).wrote("2", "3");
        }
        echoes.forget("u");
        assert_eq!(echoes.lock().remembered(), (4, 4));
        echoes.forget("v");
        echoes.forget("ua");
        assert_eq!(echoes.lock().remembered(), (0, 0));
    }

    #[test]
    fn an_echo_that_comes_before_the_answer_is_one_too() {
        let (echoes, woken) = (Arc::new(EchoSuppressor::default()), Woken::default());
        let write = echoes.begin("p", "u");
        assert_eq!(woken.by(&echoes, "u", "1", "2"), 0);
        assert_eq!(woken.by(&echoes, "u", "2", "3"), 0, "it is kept as well");
        write.wrote("1", "2");
        assert_eq!(woken.0.load(SeqCst), 1, "3 was not ours");
        assert!(echoes.lock().open.is_empty());
    }

    #[test]
    fn what_came_during_a_write_that_failed_wakes() {
        let (echoes, woken) = (Arc::new(EchoSuppressor::default()), Woken::default());
        let (first, second) = (echoes.begin("p", "u"), echoes.begin("p", "u"));
        woken.by(&echoes, "u", "1", "2");
        drop(first);
        assert_eq!(woken.0.load(SeqCst), 0, "the other one may have made it");
        drop(second);
        assert_eq!(woken.0.load(SeqCst), 1);
    }
}
