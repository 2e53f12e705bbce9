//! Settling of written files: the rules, without IO and without a clock of their own.

use super::{Candidate, Found, Snapshot, Stamp};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

/// Rest after a file was renamed into place or closed after writing: its writer is done.
pub(super) const QUICK: Duration = Duration::from_millis(10);

/// Rest after any other change.
pub(super) const SLOW: Duration = Duration::from_millis(300);

/// Absence after which a file counts as removed: `rm a; cp b a`, or an editor's rename away and back, is no removal.
const GONE: Duration = Duration::from_millis(500);

/// An inotify event about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// The file was created or written to, and is still open.
    Written,
    /// The file was renamed into place or closed after writing.
    Complete,
    /// Permissions or times changed; that does not show whether the file is being written.
    Touched,
    /// The file was deleted or renamed away.
    Gone,
}

#[derive(Debug)]
struct SettlingEntry {
    /// The state at the last check. None: absent.
    seen: Option<Stamp>,
    /// The settled state.
    settled: Option<Stamp>,
    /// When the file last changed.
    since: Instant,
    /// How long the file has to rest from then on.
    rest: Duration,
    /// Whether events arrived since the last check.
    noticed: bool,
}

impl SettlingEntry {
    fn new(now: Instant) -> Self {
        Self { seen: None, settled: None, since: now, rest: SLOW, noticed: false }
    }

    fn resting(&self) -> bool {
        !self.noticed && self.seen == self.settled
    }
}

/// The settled files, and those that are settling.
#[derive(Debug, Default)]
pub(super) struct Settling {
    entries: BTreeMap<String, SettlingEntry>,
    snapshot: Snapshot,
}

impl Settling {
    /// Records an event about a plugin or grant file.
    pub(super) fn notice(&mut self, name: &str, notice: Notice, now: Instant) {
        let entry = self.entries.entry(name.to_owned()).or_insert_with(|| SettlingEntry::new(now));
        let rested = entry.resting();
        entry.noticed = true;
        entry.since = now;
        match notice {
            Notice::Written => entry.rest = SLOW,
            Notice::Complete => entry.rest = QUICK,
            Notice::Touched if rested => entry.rest = QUICK,
            Notice::Touched => {}
            Notice::Gone => entry.rest = GONE,
        }
    }

    /// The known file names.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.entries.keys()
    }

    /// Whether events about a file arrived since the last check.
    pub(super) fn noticed(&self, name: &str) -> bool {
        self.entries.get(name).is_some_and(|e| e.noticed)
    }

    /// Records a check that could not determine the file's state: the file keeps its state, and is checked again. An absence seen before
    /// no longer counts, because the file may have been back meanwhile.
    pub(super) fn unknown(&mut self, name: &str, now: Instant) {
        if let Some(entry) = self.entries.get_mut(name) {
            if entry.seen.is_none() {
                entry.seen.clone_from(&entry.settled);
            }
            entry.noticed = false;
            entry.since = now;
            entry.rest = SLOW;
        }
    }

    /// Records a check of a file.
    ///
    /// * `stamp` - the file's state. None: absent.
    /// * `rest` - how long a file rests after a change without an event.
    pub(super) fn look(&mut self, name: &str, stamp: Option<Stamp>, rest: Duration, now: Instant) {
        let entry = self.entries.entry(name.to_owned()).or_insert_with(|| SettlingEntry::new(now));
        if stamp != entry.seen {
            if !entry.noticed {
                (entry.since, entry.rest) = (now, rest);
            }
            if stamp.is_none() {
                entry.rest = GONE;
            } else if entry.rest == GONE {
                entry.rest = SLOW;
            }
            entry.seen = stamp;
        }
        entry.noticed = false;
        if now >= entry.since + entry.rest {
            entry.settled.clone_from(&entry.seen);
        }
        if entry.resting() && entry.seen.is_none() {
            self.entries.remove(name);
        }
    }

    /// When the next check is due. None: all files have settled.
    pub(super) fn due(&self) -> Option<Instant> {
        self.entries.values().filter(|e| !e.resting()).map(|e| e.since + e.rest).min()
    }

    /// The settled content of `folder`. A plugin and its grant change together: while one of them is being written, both keep their
    /// state.
    pub(super) fn snapshot(&mut self, folder: &Path) -> &Snapshot {
        let entries = &self.entries;
        self.snapshot.files.retain(|name, _| entries.contains_key(name));
        let grants = entries.iter().filter(|(name, _)| name.ends_with(".yaml"));
        self.snapshot.grants =
            grants.filter_map(|(name, entry)| Some((name.clone(), entry.settled.clone()?))).collect();
        for (name, entry) in self.entries.iter().filter(|(name, _)| name.ends_with(".wasm")) {
            let candidate = Candidate::file(name.clone(), folder.join(name));
            let grant_path = candidate.grant_path();
            let grant = grant_path.file_name().and_then(|n| n.to_str()).and_then(|n| self.entries.get(n));
            if !entry.resting() || grant.is_some_and(|g| !g.resting()) {
                continue;
            }
            if let Some(wasm) = entry.settled.clone() {
                let grant = grant.and_then(|g| g.settled.clone());
                self.snapshot.files.insert(name.clone(), Found { candidate, wasm, grant });
            }
        }
        &self.snapshot
    }
}

#[cfg(test)]
mod tests {
    use super::super::stamp::{Look, look};
    use super::*;
    use std::collections::BTreeSet;

    /// Files with invented states at invented times.
    struct Play {
        settling: Settling,
        folder: tempfile::TempDir,
        begin: Instant,
    }

    impl Play {
        /// Starts with these files, settled.
        fn new(files: &[&str]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let mut play = Self { settling: Settling::default(), folder, begin: Instant::now() };
            for name in files {
                let stamp = play.stamp(0);
                play.settling.look(name, Some(stamp), Duration::ZERO, play.begin);
            }
            play.settling.snapshot(Path::new("/plugins"));
            play
        }

        /// Each number stands for a different state.
        fn stamp(&self, state: usize) -> Stamp {
            let path = self.folder.path().join(state.to_string());
            if !path.exists() {
                std::fs::write(&path, vec![0; state]).unwrap();
            }
            match look(&path) {
                Look::There(_, own) => Stamp::new(own, None),
                Look::Absent | Look::Unknown => panic!(),
            }
        }

        fn at(&self, ms: u64) -> Instant {
            self.begin + Duration::from_millis(ms)
        }

        fn notice(&mut self, ms: u64, name: &str, notice: Notice) {
            self.settling.notice(name, notice, self.at(ms));
        }

        /// Checks a file, as the poll does.
        fn look(&mut self, ms: u64, name: &str, stamp: Option<&Stamp>) {
            self.settling.look(name, stamp.cloned(), SLOW, self.at(ms));
        }

        /// When the next check is due, in ms.
        fn due(&self) -> Option<u128> {
            self.settling.due().map(|due| due.duration_since(self.begin).as_millis())
        }

        fn wasm(&mut self, name: &str) -> Option<Stamp> {
            self.settling.snapshot(Path::new("/plugins")).files.get(name).map(|found| found.wasm.clone())
        }
    }

    #[test]
    fn h1_a_file_renamed_into_place_settles_after_10_ms() {
        let mut play = Play::new(&["a.wasm"]);
        let (old, new) = (play.wasm("a.wasm").unwrap(), play.stamp(1));
        play.notice(10, "a.wasm", Notice::Complete);
        assert_eq!(play.due(), Some(20));
        play.look(19, "a.wasm", Some(&new));
        assert_eq!(play.wasm("a.wasm"), Some(old), "it is kept as it was");
        play.look(20, "a.wasm", Some(&new));
        assert_eq!((play.wasm("a.wasm"), play.due()), (Some(new), None));
    }

    #[test]
    fn h2_a_file_that_grows_is_waited_out() {
        let mut play = Play::new(&[]);
        for state in 0..10 {
            let ms = u64::try_from(state).unwrap() * 299;
            let stamp = play.stamp(state);
            play.notice(ms, "noticed.wasm", Notice::Written);
            play.look(ms, "noticed.wasm", Some(&stamp));
            play.look(ms, "polled.wasm", Some(&stamp));
            assert_eq!((play.wasm("noticed.wasm"), play.wasm("polled.wasm")), (None, None));
        }
        let last = play.stamp(9);
        assert_eq!(play.due(), Some(9 * 299 + 300));
        play.look(9 * 299 + 299, "polled.wasm", Some(&last));
        assert_eq!(play.wasm("polled.wasm"), None);
        for name in ["noticed.wasm", "polled.wasm"] {
            play.look(9 * 299 + 300, name, Some(&last));
            assert_eq!(play.wasm(name), Some(last.clone()));
        }
    }

    #[test]
    fn h2_closing_ends_the_wait_and_writing_on_begins_it_again() {
        let mut play = Play::new(&[]);
        let stamp = play.stamp(1);
        play.notice(0, "a.wasm", Notice::Written);
        play.notice(5, "a.wasm", Notice::Complete);
        // Permissions set after closing do not delay the file.
        play.notice(6, "a.wasm", Notice::Touched);
        assert_eq!(play.due(), Some(16));
        play.notice(7, "a.wasm", Notice::Written);
        // Nor do they complete a file that is being written.
        play.notice(8, "a.wasm", Notice::Touched);
        assert_eq!(play.due(), Some(308));
        play.look(307, "a.wasm", Some(&stamp));
        assert_eq!(play.wasm("a.wasm"), None);
    }

    #[test]
    fn h6_of_many_replacements_the_last_settles() {
        let mut play = Play::new(&["a.wasm"]);
        for state in 1..=10 {
            play.notice(u64::try_from(state).unwrap() * 8, "a.wasm", Notice::Complete);
            assert_eq!(play.wasm("a.wasm"), Some(play.stamp(0)));
        }
        let last = play.stamp(10);
        play.look(170, "a.wasm", Some(&last));
        assert_eq!(play.wasm("a.wasm"), Some(last));
    }

    #[test]
    fn absence_counts_after_half_a_second() {
        let mut play = Play::new(&["a.wasm", "b.wasm"]);
        play.notice(0, "a.wasm", Notice::Gone);
        play.look(1, "a.wasm", None);
        play.look(1, "b.wasm", None);
        play.look(499, "a.wasm", None);
        assert!(play.wasm("a.wasm").is_some());
        play.look(500, "a.wasm", None);
        play.look(500, "b.wasm", None);
        assert!(play.wasm("a.wasm").is_none() && play.wasm("b.wasm").is_some());
        // A replacement is no removal.
        let other = play.stamp(1);
        play.notice(500, "b.wasm", Notice::Complete);
        play.look(520, "b.wasm", Some(&other));
        assert_eq!((play.wasm("b.wasm"), play.due()), (Some(other), None));
    }

    #[test]
    fn what_is_settled_is_handed_out_while_others_are_written() {
        let mut play = Play::new(&["a.wasm", "b.wasm"]);
        let (old, new) = (play.wasm("a.wasm"), play.stamp(1));
        play.notice(0, "a.wasm", Notice::Written);
        play.look(0, "a.wasm", Some(&new));
        play.notice(0, "b.wasm", Notice::Complete);
        play.look(20, "b.wasm", Some(&new));
        assert_eq!((play.wasm("a.wasm"), play.wasm("b.wasm")), (old, Some(new)));
    }

    #[test]
    fn a_plugin_and_its_grant_change_together() {
        let mut play = Play::new(&["a.wasm", "a.yaml", "b.wasm"]);
        let (old, new) = (play.stamp(0), play.stamp(1));
        play.notice(0, "a.wasm", Notice::Complete);
        play.notice(15, "a.yaml", Notice::Complete);
        play.look(20, "a.wasm", Some(&new));
        assert_eq!(play.wasm("a.wasm"), Some(old));
        play.look(35, "a.yaml", Some(&new));
        let found = play.settling.snapshot(Path::new("/plugins")).files["a.wasm"].clone();
        assert_eq!((found.wasm, found.grant), (new.clone(), Some(new)));
        let names: BTreeSet<_> = play.settling.snapshot(Path::new("/plugins")).files.keys().cloned().collect();
        assert_eq!(names, BTreeSet::from(["a.wasm".to_owned(), "b.wasm".to_owned()]));
    }

    #[test]
    fn what_cannot_be_looked_at_stays_and_is_asked_again_in_a_while() {
        let mut play = Play::new(&["a.wasm"]);
        let old = play.wasm("a.wasm");
        play.notice(0, "a.wasm", Notice::Complete);
        let now = play.at(20);
        play.settling.unknown("a.wasm", now);
        assert_eq!(play.wasm("a.wasm"), old);
        let new = play.stamp(1);
        play.look(100, "a.wasm", Some(&new));
        let now = play.at(400);
        play.settling.unknown("a.wasm", now);
        assert_eq!((play.wasm("a.wasm"), play.due()), (old, Some(700)), "never at once: that would be a busy loop");
    }

    #[test]
    fn absences_before_and_after_a_time_of_which_nothing_is_known_do_not_add_up() {
        let mut play = Play::new(&["a.wasm"]);
        play.look(0, "a.wasm", None);
        let now = play.at(400);
        play.settling.unknown("a.wasm", now);
        play.look(2000, "a.wasm", None);
        assert!(play.wasm("a.wasm").is_some());
        play.look(2500, "a.wasm", None);
        assert!(play.wasm("a.wasm").is_none());
    }
}
