//! What this host wrote and a store has not seen yet: the memory behind "never act on a cache older than our own
//! last write".
//!
//! A watch delivers the writes of one resource in their order, so a write has been seen once any event of the watch is
//! at least as new. What cannot be told that way (a deletion has no version) is settled by the object's own events,
//! or by a list that began afterwards.

use crate::api::{ObjectKey, resource_version};
use std::{
    cmp::Ordering,
    collections::{HashMap, VecDeque},
    time::Duration,
};
use tokio::time::Instant;

/// When an event arrives, a write older than this is taken as seen: watches are renewed every five minutes, so a
/// working one has passed it. It ends the wait for what can never be seen, as with an object a selector leaves out.
const FORGET_AFTER: Duration = Duration::from_secs(15 * 60);

/// So many ends of objects are remembered, for answers and repeated events that come after them.
const ENDED: usize = 512;

/// So many deletions are remembered that a list showed, although it may be from before the object was made.
const DOUBTED: usize = 512;

/// Above this many unseen writes the oldest are replaced by [`OwnWrites::unknown`]: the memory stays bounded, and
/// until a list settles it everything counts as stale.
const CAPACITY: usize = 100_000;

/// Whether the store shows the host's last write of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    Yes,
    NotYet,
    /// Waiting is of no use: the version cannot be compared, or a wait ran out before.
    CannotTell,
}

#[derive(Debug)]
struct Pending {
    uid: Box<str>,
    /// The version written; for a deletion, the last one known before it.
    version: Option<Box<str>>,
    deletion: bool,
    /// Position among all writes and lists of this store.
    sequence: u64,
    at: Instant,
    wait_ran_out: bool,
}

#[derive(Debug, Default)]
pub(crate) struct OwnWrites {
    pending: HashMap<ObjectKey, Pending>,
    /// Writes were forgotten for want of room, the last of them at this sequence.
    unknown: Option<u64>,
    sequence: u64,
    /// The newest version the watch has delivered.
    newest: Option<Box<str>>,
    /// The last version of objects that ended or left the selection, by uid, and the order they did.
    ended: HashMap<Box<str>, Box<str>>,
    ended_order: VecDeque<Box<str>>,
    /// Own deletions that only the absence from a list has shown, with no version to compare: an API server that lags
    /// behind may tell of the object yet. The oldest first.
    doubted: VecDeque<Box<str>>,
}

impl OwnWrites {
    /// Notes a write; `current` is the uid and version the store has of the object.
    pub(crate) fn wrote(&mut self, key: &ObjectKey, uid: &str, version: Option<&str>, current: Option<(&str, &str)>) {
        let version = version.filter(|v| !v.is_empty());
        if let Some(version) = version {
            let reached = |seen: &str| resource_version::at_least(seen, version);
            let have = current.is_some_and(|(have, seen)| have == uid && reached(seen));
            let ended = self.ended.get(uid).is_some_and(|last| reached(last));
            if have || ended || self.newest.as_deref().is_some_and(reached) {
                return;
            }
            // Two writers may note their answers out of order: the newer write is the one to wait for.
            let later = |p: &Pending| {
                !p.deletion && p.version.as_deref().is_some_and(|v| resource_version::at_least(v, version))
            };
            if self.pending.get(key).is_some_and(later) {
                return;
            }
        }
        self.note(key, uid, version, false);
    }

    /// Notes a deletion that the server has carried out.
    pub(crate) fn deleted(&mut self, key: &ObjectKey, uid: &str, current: Option<(&str, &str)>) {
        // One that is stored may have ended before: it left the selection and came back.
        if self.ended.contains_key(uid) && current.is_none_or(|(have, _)| have != uid) {
            return;
        }
        let stored = current.filter(|(have, _)| *have == uid).map(|(_, version)| version.to_owned());
        let written = self.pending.get(key).filter(|p| *p.uid == *uid).and_then(|p| p.version.clone());
        self.note(key, uid, written.as_deref().or(stored.as_deref()), true);
    }

    pub(crate) fn seen(&self, key: &ObjectKey) -> Seen {
        match self.pending.get(key) {
            Some(pending) => pending.seen(),
            None if self.unknown.is_some() => Seen::CannotTell,
            None => Seen::Yes,
        }
    }

    pub(crate) fn seen_all(&self) -> Seen {
        let cannot_tell = self.unknown.is_some() || self.pending.values().any(|p| p.seen() == Seen::CannotTell);
        match (cannot_tell, self.pending.is_empty()) {
            (true, _) => Seen::CannotTell,
            (false, true) => Seen::Yes,
            (false, false) => Seen::NotYet,
        }
    }

    /// Remembers that a wait for `key` (all, if `None`) ran out, so that the next does not wait as long again.
    pub(crate) fn wait_ran_out(&mut self, key: Option<&ObjectKey>) {
        let waited = self.pending.iter_mut().filter(|(k, _)| key.is_none_or(|key| key == *k));
        for (_, pending) in waited {
            pending.wait_ran_out = true;
        }
    }

    /// The watch delivered `uid` of `key` at `version`. True if something pending was settled.
    pub(crate) fn observe(&mut self, key: &ObjectKey, uid: &str, version: &str, gone: bool) -> bool {
        if gone {
            self.gone(uid, version);
            self.doubted.retain(|deleted| **deleted != *uid);
        } else if !self.ended.is_empty() && !self.is_over(uid, version) && self.ended.remove(uid).is_some() {
            // It left the selection and is back.
            self.ended_order.retain(|ended| **ended != *uid);
        }
        self.advance(version);
        if self.pending.is_empty() {
            return false;
        }
        let before = self.pending.len();
        let own = self.pending.get(key).is_some_and(|p| p.settled_by(uid, version, gone));
        if own {
            self.pending.remove(key);
        }
        self.settle_reached();
        self.pending.retain(|_, p| p.at.elapsed() < FORGET_AFTER);
        self.pending.len() != before
    }

    /// The watch has delivered everything up to `version`. True if something pending was settled.
    pub(crate) fn reached(&mut self, version: &str) -> bool {
        self.advance(version);
        let before = self.pending.len();
        self.settle_reached();
        self.pending.len() != before
    }

    /// Whether `version` is known to be older than what the watch has delivered.
    pub(crate) fn is_past(&self, version: &str) -> bool {
        let newest = self.newest.as_deref().unwrap_or_default();
        resource_version::compare(version, newest) == Some(Ordering::Less)
    }

    /// Remembers that `uid` is gone since `version`, for answers and repeated events that come after that news.
    pub(crate) fn gone(&mut self, uid: &str, version: &str) {
        if !uid.is_empty() && self.ended.insert(uid.into(), version.into()).is_none() {
            self.ended_order.push_back(uid.into());
            if self.ended_order.len() > ENDED
                && let Some(oldest) = self.ended_order.pop_front()
            {
                self.ended.remove(&oldest);
            }
        }
    }

    /// The version at which `uid` is known to have ended.
    pub(crate) fn ended(&self, uid: &str) -> Option<&str> {
        self.ended.get(uid).map(|version| &**version)
    }

    /// Whether this is a state of an object from before its end, which was told already.
    pub(crate) fn is_over(&self, uid: &str, version: &str) -> bool {
        self.ended.get(uid).is_some_and(|last| resource_version::at_least(last, version))
    }

    /// A list is about to be asked for; the mark goes into [`listed`](Self::listed).
    pub(crate) fn list_begins(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// A list begun at `mark` is in the store, and shows the state at `version`. That is everything written before it
    /// began, unless the API server that answered lags behind.
    ///
    /// * `stored` - the uid that is stored under a key.
    pub(crate) fn listed<'a>(
        &mut self,
        mark: u64,
        version: &str,
        stored: impl Fn(&ObjectKey) -> Option<&'a str>,
    ) -> bool {
        let before = (self.pending.len(), self.unknown);
        let doubted = &mut self.doubted;
        self.pending.retain(|key, pending| {
            let known = pending.version.as_deref();
            let late_enough = !known.is_some_and(|written| newer(written, version) && written != version);
            let there = pending.deletion && stored(key) == Some(&*pending.uid);
            let shown = pending.sequence <= mark && late_enough && !there;
            if shown && pending.deletion && known.is_none() {
                doubted.push_back(pending.uid.clone());
            }
            !shown
        });
        doubted.drain(..doubted.len().saturating_sub(DOUBTED));
        self.unknown = self.unknown.filter(|at| *at > mark);
        self.advance(version);
        self.settle_reached();
        (self.pending.len(), self.unknown) != before
    }

    /// The kind is gone, and what comes after it may be another history.
    pub(crate) fn history_ends(&mut self) {
        self.newest = None;
        self.ended.clear();
        self.ended_order.clear();
        self.doubted.clear();
    }

    /// An object is about to be stored. If the host deleted it, its end is still to come.
    pub(crate) fn stored(&mut self, key: &ObjectKey, uid: &str, version: &str) {
        let Some(at) = self.doubted.iter().position(|deleted| **deleted == *uid) else { return };
        self.doubted.remove(at);
        // What was written under this name since came later, and is waited for already.
        if !self.pending.contains_key(key) {
            self.note(key, uid, Some(version), true);
        }
    }

    /// Drops the writes that what was delivered shows; a deletion has no version to tell by.
    fn settle_reached(&mut self) {
        let newest = self.newest.as_deref().unwrap_or_default();
        self.pending.retain(|_, p| p.deletion || !p.version.as_deref().is_some_and(|v| newer(newest, v)));
    }

    fn note(&mut self, key: &ObjectKey, uid: &str, version: Option<&str>, deletion: bool) {
        self.sequence += 1;
        if self.pending.len() >= CAPACITY && !self.pending.contains_key(key) {
            self.unknown = Some(self.sequence);
            self.pending.clear();
            return;
        }
        let pending = Pending {
            uid: uid.into(),
            version: version.map(Into::into),
            deletion,
            sequence: self.sequence,
            at: Instant::now(),
            wait_ran_out: false,
        };
        self.pending.insert(key.clone(), pending);
    }

    fn advance(&mut self, version: &str) {
        let newest = self.newest.as_deref().unwrap_or_default();
        if resource_version::readable(version) && !resource_version::at_least(newest, version) {
            self.newest = Some(version.into());
        }
    }
}

impl Pending {
    fn seen(&self) -> Seen {
        let comparable = self.deletion || self.version.as_deref().is_some_and(resource_version::readable);
        if comparable && !self.wait_ran_out { Seen::NotYet } else { Seen::CannotTell }
    }

    /// Whether an event of the same object shows this write or something later.
    fn settled_by(&self, uid: &str, version: &str, gone: bool) -> bool {
        let same = *self.uid == *uid;
        if same && gone {
            return true;
        }
        match &self.version {
            Some(written) if !self.deletion && resource_version::at_least(version, written) => true,
            // Another incarnation, and it is known to have come after ours.
            Some(known) => !same && newer(version, known),
            // Another incarnation may be the one before ours.
            None => false,
        }
    }
}

/// Whether `a` is known to be `b` or newer, both being readable.
fn newer(a: &str, b: &str) -> bool {
    resource_version::readable(a) && resource_version::at_least(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new("n", name)
    }

    #[tokio::test]
    async fn s1_a_write_is_seen_by_its_own_or_any_later_event() {
        let mut own = OwnWrites::default();
        own.wrote(&key("a"), "u", Some("10"), None);
        assert_eq!(own.seen(&key("a")), Seen::NotYet);
        assert_eq!(own.seen(&key("b")), Seen::Yes);
        assert!(!own.observe(&key("a"), "u", "9", false));
        assert_eq!(own.seen(&key("a")), Seen::NotYet);
        assert!(own.observe(&key("b"), "v", "11", false));
        assert_eq!(own.seen(&key("a")), Seen::Yes);
        // The answer of a write may come after its event.
        own.wrote(&key("a"), "u", Some("11"), None);
        assert_eq!(own.seen(&key("a")), Seen::Yes);
    }

    #[tokio::test]
    async fn answers_noted_out_of_order_wait_for_the_newer_write() {
        let mut own = OwnWrites::default();
        own.wrote(&key("a"), "u", Some("12"), None);
        own.wrote(&key("a"), "u", Some("10"), None);
        own.observe(&key("a"), "u", "10", false);
        assert_eq!(own.seen(&key("a")), Seen::NotYet);
        own.observe(&key("a"), "u", "12", false);
        assert_eq!(own.seen(&key("a")), Seen::Yes);
    }

    #[tokio::test]
    async fn s10_versions_that_cannot_be_compared_are_not_waited_for() {
        for version in [None, Some(""), Some("abc")] {
            let mut own = OwnWrites::default();
            own.wrote(&key("a"), "u", version, None);
            assert_eq!(own.seen(&key("a")), Seen::CannotTell);
            assert_eq!(own.seen_all(), Seen::CannotTell);
            own.observe(&key("a"), "u", "5", false);
            assert_eq!(own.seen(&key("a")), Seen::CannotTell, "{version:?}");
            let mark = own.list_begins();
            assert!(own.listed(mark, "6", |_| None));
            assert_eq!(own.seen(&key("a")), Seen::Yes);
        }
        let mut own = OwnWrites::default();
        own.wrote(&key("a"), "u", Some("abc"), None);
        own.observe(&key("a"), "u", "abc", false);
        assert_eq!(own.seen(&key("a")), Seen::Yes);
    }

    #[tokio::test]
    async fn s3_a_deletion_is_seen_by_the_event_the_next_incarnation_or_a_list() {
        let mut own = OwnWrites::default();
        own.deleted(&key("a"), "u", Some(("u", "5")));
        own.observe(&key("b"), "x", "50", false);
        own.observe(&key("a"), "u", "6", false);
        assert_eq!(own.seen(&key("a")), Seen::NotYet);
        own.observe(&key("a"), "u", "7", true);
        assert_eq!(own.seen(&key("a")), Seen::Yes);
        // The event came before the answer.
        own.deleted(&key("a"), "u", None);
        assert_eq!(own.seen(&key("a")), Seen::Yes);

        own.deleted(&key("c"), "u2", Some(("u2", "60")));
        own.observe(&key("c"), "older", "55", false);
        assert_eq!(own.seen(&key("c")), Seen::NotYet);
        own.observe(&key("c"), "younger", "65", false);
        assert_eq!(own.seen(&key("c")), Seen::Yes);

        let early = own.list_begins();
        own.deleted(&key("d"), "u3", None);
        own.listed(early, "", |_| None);
        assert_eq!(own.seen(&key("d")), Seen::NotYet);
        let mark = own.list_begins();
        own.listed(mark, "", |_| None);
        assert_eq!(own.seen(&key("d")), Seen::Yes);
    }

    #[tokio::test]
    async fn created_and_deleted_waits_for_the_deletion() {
        let mut own = OwnWrites::default();
        own.wrote(&key("a"), "u", Some("10"), None);
        own.deleted(&key("a"), "u", None);
        own.observe(&key("a"), "before", "8", false);
        own.observe(&key("a"), "before", "9", true);
        own.observe(&key("a"), "u", "10", false);
        assert_eq!(own.seen(&key("a")), Seen::NotYet);
        own.observe(&key("a"), "u", "11", true);
        assert_eq!(own.seen(&key("a")), Seen::Yes);
    }

    #[tokio::test]
    async fn s3_the_end_of_an_earlier_incarnation_is_not_taken_for_ours() {
        let mut own = OwnWrites::default();
        // The store has not seen `u` at all.
        own.deleted(&key("a"), "u", Some(("before", "5")));
        own.observe(&key("a"), "before", "6", true);
        assert_eq!(own.seen(&key("a")), Seen::NotYet);
        own.observe(&key("a"), "u", "7", false);
        own.observe(&key("a"), "u", "8", true);
        assert_eq!(own.seen(&key("a")), Seen::Yes);
    }

    #[tokio::test]
    async fn an_object_that_left_the_selection_may_come_back() {
        let mut own = OwnWrites::default();
        own.observe(&key("a"), "u", "10", true);
        assert!(own.is_over("u", "9") && own.is_over("u", "10") && !own.is_over("u", "11"));
        own.wrote(&key("a"), "u", Some("12"), None);
        assert_eq!(own.seen(&key("a")), Seen::NotYet);
        own.observe(&key("a"), "u", "12", false);
        assert!(own.ended.is_empty() && own.ended_order.is_empty());
        assert_eq!(own.seen(&key("a")), Seen::Yes);
    }

    /// It came back by a list, which tells nobody that the end is undone.
    #[tokio::test]
    async fn s3_a_deletion_of_what_had_left_the_selection_and_came_back_is_waited_for() {
        let mut own = OwnWrites::default();
        own.observe(&key("a"), "u", "10", true);
        let mark = own.list_begins();
        own.listed(mark, "13", |_| Some("u"));
        own.deleted(&key("a"), "u", Some(("u", "12")));
        assert_eq!(own.seen(&key("a")), Seen::NotYet);
        own.observe(&key("a"), "u", "14", true);
        assert_eq!(own.seen(&key("a")), Seen::Yes);
    }

    #[tokio::test]
    async fn i9_a_list_from_before_a_write_does_not_show_it() {
        let mut own = OwnWrites::default();
        own.wrote(&key("a"), "u", Some("12"), None);
        own.deleted(&key("b"), "v", Some(("v", "9")));
        let mark = own.list_begins();
        own.listed(mark, "11", |_| Some("v"));
        assert_eq!((own.seen(&key("a")), own.seen(&key("b"))), (Seen::NotYet, Seen::NotYet));
        let mark = own.list_begins();
        own.listed(mark, "12", |_| None);
        assert_eq!(own.seen_all(), Seen::Yes);
    }

    #[tokio::test]
    async fn i9_a_list_from_before_an_object_was_made_does_not_show_its_deletion() {
        let mut own = OwnWrites::default();
        for name in ["a", "b", "c"] {
            own.deleted(&key(name), name, None);
        }
        let mark = own.list_begins();
        own.listed(mark, "103", |_| None);
        assert_eq!(own.seen_all(), Seen::Yes, "there is no sign yet that the server lags behind");
        own.stored(&key("a"), "a", "105");
        own.stored(&key("b"), "another", "106");
        assert_eq!((own.seen(&key("a")), own.seen(&key("b"))), (Seen::NotYet, Seen::Yes));
        own.observe(&key("a"), "a", "107", true);
        own.observe(&key("b"), "b", "108", true);
        own.observe(&key("c"), "c", "109", true);
        assert_eq!((own.seen_all(), own.doubted.len()), (Seen::Yes, 0));
        // The version it had is known, and the list is older.
        own.deleted(&key("d"), "d", Some(("d", "120")));
        let mark = own.list_begins();
        own.listed(mark, "119", |_| None);
        assert_eq!(own.seen(&key("d")), Seen::NotYet);
    }

    #[tokio::test]
    async fn a_bookmark_shows_every_write_up_to_its_version() {
        let mut own = OwnWrites::default();
        own.wrote(&key("a"), "u", Some("10"), None);
        own.wrote(&key("b"), "v", Some("12"), None);
        assert!(own.reached("11"));
        assert_eq!((own.seen(&key("a")), own.seen(&key("b"))), (Seen::Yes, Seen::NotYet));
        assert!(own.is_past("10") && !own.is_past("11") && !own.is_past("x") && !own.is_past(""));
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_bounded() {
        let mut own = OwnWrites::default();
        for i in 0..=CAPACITY {
            own.wrote(&key(&i.to_string()), "u", Some("10"), None);
        }
        assert!(own.pending.len() <= CAPACITY);
        assert_eq!(own.seen(&key("0")), Seen::CannotTell, "forgotten writes must not count as seen");
        let mark = own.list_begins();
        own.listed(mark, "", |_| None);
        assert_eq!(own.seen_all(), Seen::Yes);
        own.wrote(&key("a"), "u", Some("10"), None);
        tokio::time::advance(FORGET_AFTER).await;
        own.observe(&key("b"), "v", "5", false);
        assert_eq!(own.pending.len(), 0);
        for i in 0..2 * ENDED {
            own.observe(&key("x"), &i.to_string(), "1", true);
        }
        assert_eq!((own.ended.len(), own.ended_order.len()), (ENDED, ENDED));
        for i in 0..2 * DOUBTED {
            own.deleted(&key(&i.to_string()), "u", None);
        }
        let mark = own.list_begins();
        own.listed(mark, "", |_| None);
        assert_eq!(own.doubted.len(), DOUBTED);
    }

    #[tokio::test]
    async fn s9_a_wait_that_ran_out_is_not_repeated() {
        let mut own = OwnWrites::default();
        own.wrote(&key("a"), "u", Some("10"), None);
        own.wait_ran_out(Some(&key("b")));
        assert_eq!(own.seen(&key("a")), Seen::NotYet);
        own.wait_ran_out(Some(&key("a")));
        assert_eq!(own.seen(&key("a")), Seen::CannotTell);
        own.observe(&key("a"), "u", "10", false);
        assert_eq!(own.seen(&key("a")), Seen::Yes);
    }
}
