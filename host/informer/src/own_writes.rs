//! Own writes that a store does not show yet: the basis of "never act on a cache older than the host's own last write".
//!
//! A watch delivers the writes of one resource in their order. So a write has been seen once any event of the watch has at least its
//! version. Where versions do not help (a deletion has none), the object's own events decide, or a list that began afterwards.
//!
//! [`echoes`] keeps the watch echo of such a write from waking its controller.

pub(crate) mod echoes;

use oarlock_api::{ObjectKey, resource_version};
use std::{
    cmp::Ordering,
    collections::{HashMap, VecDeque},
    time::Duration,
};
use tokio::time::Instant;

/// When an event arrives, an older write counts as seen: watches are renewed every five minutes, so a working one has passed it. This
/// ends the wait for writes that never appear, such as those of an object that leaves the selector.
const FORGET_AFTER: Duration = Duration::from_secs(15 * 60);

/// Most ended objects remembered, for responses and repeated events that arrive after their end.
const ENDED: usize = 512;

/// Most deletions remembered that only a list has shown, because the list may be older than the object.
const DOUBTED: usize = 512;

/// Above this many unseen writes, the oldest are replaced by [`OwnWrites::unknown`]: the memory stays bounded, and everything counts as
/// stale until the next list.
const CAPACITY: usize = 100_000;

/// Whether the store shows the host's last write of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    Yes,
    NotYet,
    /// Waiting is useless: the version cannot be compared, or an earlier wait timed out.
    CannotTell,
}

#[derive(Debug)]
struct Pending {
    uid: Box<str>,
    /// The written version; for a deletion, the last version known before it.
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
    /// Position of the last write that was forgotten for lack of space.
    unknown: Option<u64>,
    sequence: u64,
    /// The newest version that the watch has delivered.
    newest: Option<Box<str>>,
    /// The last version of objects that ended or left the selection, by uid, and the order of these ends.
    ended: HashMap<Box<str>, Box<str>>,
    ended_order: VecDeque<Box<str>>,
    /// Own deletions that only the absence from a list has shown, without a version to compare: an API server that lags behind may still
    /// send the object. Oldest first.
    doubted: VecDeque<Box<str>>,
}

impl OwnWrites {
    /// The number of writes that the store does not show yet.
    pub(crate) fn len(&self) -> usize {
        self.pending.len()
    }

    /// Records a write; `current` is the uid and version of the object in the store.
    pub(crate) fn wrote(&mut self, key: &ObjectKey, uid: &str, version: Option<&str>, current: Option<(&str, &str)>) {
        let version = version.filter(|v| !v.is_empty());
        if let Some(version) = version {
            let reached = |seen: &str| resource_version::at_least(seen, version);
            let have = current.is_some_and(|(have, seen)| have == uid && reached(seen));
            let ended = self.ended.get(uid).is_some_and(|last| reached(last));
            if have || ended || self.newest.as_deref().is_some_and(reached) {
                return;
            }
            // Two writers may record their responses out of order: the newer write is the one to wait for.
            let later = |p: &Pending| {
                !p.deletion && p.version.as_deref().is_some_and(|v| resource_version::at_least(v, version))
            };
            if self.pending.get(key).is_some_and(later) {
                return;
            }
        }
        self.note(key, uid, version, false);
    }

    /// Records a deletion that the server has carried out.
    pub(crate) fn deleted(&mut self, key: &ObjectKey, uid: &str, current: Option<(&str, &str)>) {
        // A stored object may have an earlier end: it left the selection and came back.
        if self.ended.contains_key(uid) && current.is_none_or(|(have, _)| have != uid) {
            return;
        }
        let stored = current.filter(|(have, _)| *have == uid).map(|(_, version)| version.to_owned());
        let written = self.pending.get(key).filter(|p| *p.uid == *uid).and_then(|p| p.version.clone());
        self.note(key, uid, written.as_deref().or(stored.as_deref()), true);
    }

    pub(crate) fn seen(&self, key: &ObjectKey) -> Freshness {
        match self.pending.get(key) {
            Some(pending) => pending.seen(),
            None if self.unknown.is_some() => Freshness::CannotTell,
            None => Freshness::Yes,
        }
    }

    pub(crate) fn seen_all(&self) -> Freshness {
        let cannot_tell = self.unknown.is_some() || self.pending.values().any(|p| p.seen() == Freshness::CannotTell);
        match (cannot_tell, self.pending.is_empty()) {
            (true, _) => Freshness::CannotTell,
            (false, true) => Freshness::Yes,
            (false, false) => Freshness::NotYet,
        }
    }

    /// Records that a wait for `key` (all, if `None`) timed out, so that the next one does not wait as long again.
    pub(crate) fn wait_ran_out(&mut self, key: Option<&ObjectKey>) {
        let waited = self.pending.iter_mut().filter(|(k, _)| key.is_none_or(|key| key == *k));
        for (_, pending) in waited {
            pending.wait_ran_out = true;
        }
    }

    /// The watch delivered `uid` of `key` at `version`. Returns whether that settled a pending write.
    pub(crate) fn observe(&mut self, key: &ObjectKey, uid: &str, version: &str, gone: bool) -> bool {
        if gone {
            self.gone(uid, version);
            self.doubted.retain(|deleted| **deleted != *uid);
        } else if !self.ended.is_empty() && !self.is_over(uid, version) && self.ended.remove(uid).is_some() {
            // The object left the selection and is back.
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

    /// The watch has delivered everything up to `version`. Returns whether that settled a pending write.
    pub(crate) fn reached(&mut self, version: &str) -> bool {
        self.advance(version);
        let before = self.pending.len();
        self.settle_reached();
        self.pending.len() != before
    }

    /// Whether `version` is known to be older than the newest delivered version.
    pub(crate) fn is_past(&self, version: &str) -> bool {
        let newest = self.newest.as_deref().unwrap_or_default();
        resource_version::compare(version, newest) == Some(Ordering::Less)
    }

    /// Records that `uid` ended at `version`, for responses and repeated events that arrive later.
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

    /// Whether this is a state of an object from before its delivered end.
    pub(crate) fn is_over(&self, uid: &str, version: &str) -> bool {
        self.ended.get(uid).is_some_and(|last| resource_version::at_least(last, version))
    }

    /// Marks the beginning of a list; the mark goes into [`listed`](Self::listed).
    pub(crate) fn list_begins(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// A list begun at `mark` is in the store, and shows the state at `version`. It contains everything written before it began, unless
    /// the API server that answered lags behind.
    ///
    /// * `stored` - the stored uid of a key.
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

    /// The kind is no longer served; if it comes back, its history may be another.
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
        // A later write under this name is pending already.
        if !self.pending.contains_key(key) {
            self.note(key, uid, Some(version), true);
        }
    }

    /// Drops the writes that the newest delivered version covers; a deletion has no version to compare.
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
    fn seen(&self) -> Freshness {
        let comparable = self.deletion || self.version.as_deref().is_some_and(resource_version::readable);
        if comparable && !self.wait_ran_out { Freshness::NotYet } else { Freshness::CannotTell }
    }

    /// Whether an event of the object shows this write or a later state.
    fn settled_by(&self, uid: &str, version: &str, gone: bool) -> bool {
        let same = *self.uid == *uid;
        if same && gone {
            return true;
        }
        match &self.version {
            Some(written) if !self.deletion && resource_version::at_least(version, written) => true,
            // Another incarnation, known to be later than the written one.
            Some(known) => !same && newer(version, known),
            // Another incarnation may be an earlier one.
            None => false,
        }
    }
}

/// Whether `a` is known to be `b` or newer, with both readable.
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
        assert_eq!(own.seen(&key("a")), Freshness::NotYet);
        assert_eq!(own.seen(&key("b")), Freshness::Yes);
        assert!(!own.observe(&key("a"), "u", "9", false));
        assert_eq!(own.seen(&key("a")), Freshness::NotYet);
        assert!(own.observe(&key("b"), "v", "11", false));
        assert_eq!(own.seen(&key("a")), Freshness::Yes);
        // The response to a write may arrive after its event.
        own.wrote(&key("a"), "u", Some("11"), None);
        assert_eq!(own.seen(&key("a")), Freshness::Yes);
    }

    #[tokio::test]
    async fn answers_noted_out_of_order_wait_for_the_newer_write() {
        let mut own = OwnWrites::default();
        own.wrote(&key("a"), "u", Some("12"), None);
        own.wrote(&key("a"), "u", Some("10"), None);
        own.observe(&key("a"), "u", "10", false);
        assert_eq!(own.seen(&key("a")), Freshness::NotYet);
        own.observe(&key("a"), "u", "12", false);
        assert_eq!(own.seen(&key("a")), Freshness::Yes);
    }

    #[tokio::test]
    async fn s10_versions_that_cannot_be_compared_are_not_waited_for() {
        for version in [None, Some(""), Some("abc")] {
            let mut own = OwnWrites::default();
            own.wrote(&key("a"), "u", version, None);
            assert_eq!(own.seen(&key("a")), Freshness::CannotTell);
            assert_eq!(own.seen_all(), Freshness::CannotTell);
            own.observe(&key("a"), "u", "5", false);
            assert_eq!(own.seen(&key("a")), Freshness::CannotTell, "{version:?}");
            let mark = own.list_begins();
            assert!(own.listed(mark, "6", |_| None));
            assert_eq!(own.seen(&key("a")), Freshness::Yes);
        }
        let mut own = OwnWrites::default();
        own.wrote(&key("a"), "u", Some("abc"), None);
        own.observe(&key("a"), "u", "abc", false);
        assert_eq!(own.seen(&key("a")), Freshness::Yes);
    }

    #[tokio::test]
    async fn s3_a_deletion_is_seen_by_the_event_the_next_incarnation_or_a_list() {
        let mut own = OwnWrites::default();
        own.deleted(&key("a"), "u", Some(("u", "5")));
        own.observe(&key("b"), "x", "50", false);
        own.observe(&key("a"), "u", "6", false);
        assert_eq!(own.seen(&key("a")), Freshness::NotYet);
        own.observe(&key("a"), "u", "7", true);
        assert_eq!(own.seen(&key("a")), Freshness::Yes);
        // The event arrived before the response.
        own.deleted(&key("a"), "u", None);
        assert_eq!(own.seen(&key("a")), Freshness::Yes);

        own.deleted(&key("c"), "u2", Some(("u2", "60")));
        own.observe(&key("c"), "older", "55", false);
        assert_eq!(own.seen(&key("c")), Freshness::NotYet);
        own.observe(&key("c"), "younger", "65", false);
        assert_eq!(own.seen(&key("c")), Freshness::Yes);

        let early = own.list_begins();
        own.deleted(&key("d"), "u3", None);
        own.listed(early, "", |_| None);
        assert_eq!(own.seen(&key("d")), Freshness::NotYet);
        let mark = own.list_begins();
        own.listed(mark, "", |_| None);
        assert_eq!(own.seen(&key("d")), Freshness::Yes);
    }

    #[tokio::test]
    async fn created_and_deleted_waits_for_the_deletion() {
        let mut own = OwnWrites::default();
        own.wrote(&key("a"), "u", Some("10"), None);
        own.deleted(&key("a"), "u", None);
        own.observe(&key("a"), "before", "8", false);
        own.observe(&key("a"), "before", "9", true);
        own.observe(&key("a"), "u", "10", false);
        assert_eq!(own.seen(&key("a")), Freshness::NotYet);
        own.observe(&key("a"), "u", "11", true);
        assert_eq!(own.seen(&key("a")), Freshness::Yes);
    }

    #[tokio::test]
    async fn s3_the_end_of_an_earlier_incarnation_is_not_taken_for_ours() {
        let mut own = OwnWrites::default();
        // The store has never seen `u`.
        own.deleted(&key("a"), "u", Some(("before", "5")));
        own.observe(&key("a"), "before", "6", true);
        assert_eq!(own.seen(&key("a")), Freshness::NotYet);
        own.observe(&key("a"), "u", "7", false);
        own.observe(&key("a"), "u", "8", true);
        assert_eq!(own.seen(&key("a")), Freshness::Yes);
    }

    #[tokio::test]
    async fn an_object_that_left_the_selection_may_come_back() {
        let mut own = OwnWrites::default();
        own.observe(&key("a"), "u", "10", true);
        assert!(own.is_over("u", "9") && own.is_over("u", "10") && !own.is_over("u", "11"));
        own.wrote(&key("a"), "u", Some("12"), None);
        assert_eq!(own.seen(&key("a")), Freshness::NotYet);
        own.observe(&key("a"), "u", "12", false);
        assert!(own.ended.is_empty() && own.ended_order.is_empty());
        assert_eq!(own.seen(&key("a")), Freshness::Yes);
    }

    /// The object came back through a list, which does not undo the recorded end.
    #[tokio::test]
    async fn s3_a_deletion_of_what_had_left_the_selection_and_came_back_is_waited_for() {
        let mut own = OwnWrites::default();
        own.observe(&key("a"), "u", "10", true);
        let mark = own.list_begins();
        own.listed(mark, "13", |_| Some("u"));
        own.deleted(&key("a"), "u", Some(("u", "12")));
        assert_eq!(own.seen(&key("a")), Freshness::NotYet);
        own.observe(&key("a"), "u", "14", true);
        assert_eq!(own.seen(&key("a")), Freshness::Yes);
    }

    #[tokio::test]
    async fn i9_a_list_from_before_a_write_does_not_show_it() {
        let mut own = OwnWrites::default();
        own.wrote(&key("a"), "u", Some("12"), None);
        own.deleted(&key("b"), "v", Some(("v", "9")));
        let mark = own.list_begins();
        own.listed(mark, "11", |_| Some("v"));
        assert_eq!((own.seen(&key("a")), own.seen(&key("b"))), (Freshness::NotYet, Freshness::NotYet));
        let mark = own.list_begins();
        own.listed(mark, "12", |_| None);
        assert_eq!(own.seen_all(), Freshness::Yes);
    }

    #[tokio::test]
    async fn i9_a_list_from_before_an_object_was_made_does_not_show_its_deletion() {
        let mut own = OwnWrites::default();
        for name in ["a", "b", "c"] {
            own.deleted(&key(name), name, None);
        }
        let mark = own.list_begins();
        own.listed(mark, "103", |_| None);
        assert_eq!(own.seen_all(), Freshness::Yes, "there is no sign yet that the server lags behind");
        own.stored(&key("a"), "a", "105");
        own.stored(&key("b"), "another", "106");
        assert_eq!((own.seen(&key("a")), own.seen(&key("b"))), (Freshness::NotYet, Freshness::Yes));
        own.observe(&key("a"), "a", "107", true);
        own.observe(&key("b"), "b", "108", true);
        own.observe(&key("c"), "c", "109", true);
        assert_eq!((own.seen_all(), own.doubted.len()), (Freshness::Yes, 0));
        // The deleted version is known, and the list is older.
        own.deleted(&key("d"), "d", Some(("d", "120")));
        let mark = own.list_begins();
        own.listed(mark, "119", |_| None);
        assert_eq!(own.seen(&key("d")), Freshness::NotYet);
    }

    #[tokio::test]
    async fn a_bookmark_shows_every_write_up_to_its_version() {
        let mut own = OwnWrites::default();
        own.wrote(&key("a"), "u", Some("10"), None);
        own.wrote(&key("b"), "v", Some("12"), None);
        assert!(own.reached("11"));
        assert_eq!((own.seen(&key("a")), own.seen(&key("b"))), (Freshness::Yes, Freshness::NotYet));
        assert!(own.is_past("10") && !own.is_past("11") && !own.is_past("x") && !own.is_past(""));
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_bounded() {
        let mut own = OwnWrites::default();
        for i in 0..=CAPACITY {
            own.wrote(&key(&i.to_string()), "u", Some("10"), None);
        }
        assert!(own.pending.len() <= CAPACITY);
        assert_eq!(own.seen(&key("0")), Freshness::CannotTell, "forgotten writes must not count as seen");
        let mark = own.list_begins();
        own.listed(mark, "", |_| None);
        assert_eq!(own.seen_all(), Freshness::Yes);
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
        assert_eq!(own.seen(&key("a")), Freshness::NotYet);
        own.wait_ran_out(Some(&key("a")));
        assert_eq!(own.seen(&key("a")), Freshness::CannotTell);
        own.observe(&key("a"), "u", "10", false);
        assert_eq!(own.seen(&key("a")), Freshness::Yes);
    }
}
