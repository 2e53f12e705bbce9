//! The thread of a directory watch: events from inotify, and a poll as a fallback.

use super::settle::{Notice, QUICK, SLOW, Settling};
use super::stamp::{FileStamp, Look, code_of, look};
use super::{Snapshot, Stamp, counts, read_grant};
use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind, RenameMode};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Poll interval. With the 500 ms of a removal, a change appears within 1.5 s.
const POLL: Duration = Duration::from_millis(800);

/// The source of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notices {
    /// inotify, where it works.
    Kernel,
    /// No source: the poll alone.
    #[cfg(test)]
    None,
}

/// Length of the message queue. Further messages are dropped; the poll finds their changes.
const MESSAGES: usize = 1024;

/// The thread's knowledge of the directory.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum State {
    /// Not read yet.
    Unknown,
    /// The directory cannot be read: the error code.
    Unreadable(i32),
    /// The content of the directory.
    Settled(Snapshot),
}

/// A message to the thread.
#[derive(Debug)]
pub(super) enum Message {
    /// An event about one plugin or grant file.
    Notice(String, Notice),
    /// A `..` entry was renamed into place: mounted ConfigMaps and Secrets change all their files at once in this way.
    Flip,
    /// Events were lost, or the directory itself changed.
    Look,
    /// Stop the thread.
    Stop,
}

pub(super) fn spawn(folder: PathBuf, notices: Notices) -> (watch::Receiver<State>, mpsc::SyncSender<Message>) {
    let (states, receiver) = watch::channel(State::Unknown);
    let (wake, messages) = mpsc::sync_channel(MESSAGES);
    let watching = Watching::new(folder, notices, wake.clone(), states);
    let spawned =
        std::thread::Builder::new().name("plugin-directory".to_owned()).spawn(move || watching.run(&messages));
    if let Err(e) = spawned {
        tracing::error!(error = %e, "cannot start the thread that watches the plugin directory: its changes are not noticed");
    }
    (receiver, wake)
}

struct Watching {
    folder: PathBuf,
    /// The path as it appears in events.
    absolute: PathBuf,
    notices: Notices,
    wake: mpsc::SyncSender<Message>,
    watcher: Option<RecommendedWatcher>,
    /// Device and inode of the watched directory.
    watched: Option<(u64, u64)>,
    warned: bool,
    missing: bool,
    settling: Settling,
    /// By name of a grant file: its state when it was read, and the files in its `secretFiles`.
    named: BTreeMap<String, (FileStamp, Vec<PathBuf>)>,
    states: watch::Sender<State>,
}

impl Watching {
    fn new(folder: PathBuf, notices: Notices, wake: mpsc::SyncSender<Message>, states: watch::Sender<State>) -> Self {
        Self {
            absolute: std::path::absolute(&folder).unwrap_or_else(|_| folder.clone()),
            folder,
            notices,
            wake,
            watcher: None,
            watched: None,
            warned: false,
            missing: false,
            settling: Settling::default(),
            named: BTreeMap::new(),
            states,
        }
    }

    fn run(mut self, messages: &mpsc::Receiver<Message>) {
        let begin = Instant::now();
        let mut readable = self.look(begin, SLOW, true);
        // The first snapshot waits for files written just before the start, so that files copied together appear together.
        let mut first = self.settling.due().is_some();
        let mut next_poll = begin + POLL;
        while !self.states.is_closed() {
            let now = Instant::now();
            first &= now < begin + SLOW && self.settling.due().is_some();
            if !first {
                self.publish(readable);
            }
            // An unreadable directory is not checked again before the next poll.
            let due = self.settling.due().filter(|due| readable.is_ok() && *due < next_poll).unwrap_or(next_poll);
            let (mut flip, mut look_now, mut message) = (false, false, None);
            match messages.recv_timeout(due.saturating_duration_since(now)) {
                Ok(got) => message = Some(got),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => return,
            }
            while let Some(got) = message {
                match got {
                    Message::Stop => return,
                    Message::Notice(name, notice) => self.settling.notice(&name, notice, Instant::now()),
                    Message::Flip => flip = true,
                    Message::Look => look_now = true,
                }
                message = messages.try_recv().ok();
            }
            let now = Instant::now();
            if look_now {
                // A directory that was deleted and created again can have the same inode, but its watch is gone.
                self.unwatch();
            }
            if now >= next_poll {
                next_poll = now + POLL;
            } else if !look_now && !flip && (readable.is_err() || self.settling.due().is_none_or(|due| now < due)) {
                continue;
            }
            readable = self.look(now, if flip { QUICK } else { SLOW }, false);
        }
    }

    fn publish(&mut self, readable: Result<(), i32>) {
        let state = match readable {
            Ok(()) => State::Settled(self.settling.snapshot(&self.folder).clone()),
            Err(code) => State::Unreadable(code),
        };
        self.states.send_if_modified(|last| {
            let changed = *last != state;
            *last = state;
            changed
        });
    }

    /// Checks all files.
    ///
    /// * `rest` - how long a file rests after a change without an event.
    /// * `start` - whether the time since its last change counts as rest.
    fn look(&mut self, now: Instant, rest: Duration, start: bool) -> Result<(), i32> {
        // First the watch, then the check: so no change between the two goes unnoticed.
        self.watch_directory();
        let mut names: BTreeSet<String> = self.settling.names().cloned().collect();
        match self.list() {
            Ok(listed) => names.extend(listed),
            Err(e) => {
                for name in names {
                    self.settling.unknown(&name, now);
                }
                return Err(code_of(&e));
            }
        }
        for name in names {
            let path = self.folder.join(&name);
            let stamp = match look(&path) {
                Look::There(regular, own) if name.ends_with(".yaml") => Some(self.grant_stamp(&name, own, regular)),
                Look::There(true, own) => Some(Stamp::new(own, None)),
                Look::There(false, _) | Look::Absent => {
                    self.named.remove(&name);
                    None
                }
                Look::Unknown => {
                    self.settling.unknown(&name, now);
                    continue;
                }
            };
            let rested = stamp.as_ref().filter(|_| start).map(Stamp::age).unwrap_or_default();
            self.settling.look(&name, stamp, rest.saturating_sub(rested), now);
        }
        Ok(())
    }

    /// The names of plugin and grant files in the directory.
    fn list(&mut self) -> std::io::Result<BTreeSet<String>> {
        let entries = match std::fs::read_dir(&self.folder) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                if !std::mem::replace(&mut self.missing, true) {
                    tracing::warn!(plugins = %self.folder.display(), "the plugin directory does not exist: it counts as empty");
                }
                return Ok(BTreeSet::new());
            }
            entries => entries?,
        };
        self.missing = false;
        let mut names = BTreeSet::new();
        for entry in entries {
            names.extend(entry?.file_name().into_string().ok().filter(|name| counts(name)));
        }
        Ok(names)
    }

    /// The state of a grant and of the files it names.
    fn grant_stamp(&mut self, name: &str, own: FileStamp, regular: bool) -> Stamp {
        let known = self.named.get(name).filter(|(read, _)| *read == own && !self.settling.noticed(name));
        if known.is_none() {
            let files = if regular { secret_files(&self.folder, name) } else { Vec::new() };
            self.named.insert(name.to_owned(), (own, files));
        }
        let files = self.named.get(name).map(|(_, files)| files.as_slice()).unwrap_or_default();
        let stamps = files.iter().map(|path| match look(path) {
            Look::There(_, stamp) => Some(stamp),
            Look::Absent | Look::Unknown => None,
        });
        Stamp::new(own, stamps)
    }

    /// Watches the present target of the path: after a removal and return, or a flip of a symlink, the target is another directory.
    fn watch_directory(&mut self) {
        if self.notices != Notices::Kernel {
            return;
        }
        let Look::There(_, stamp) = look(&self.folder) else {
            self.unwatch();
            return;
        };
        if self.watched == Some(stamp.identity()) {
            return;
        }
        self.unwatch();
        match self.watch() {
            Ok(()) => self.watched = Some(stamp.identity()),
            Err(e) => {
                if !std::mem::replace(&mut self.warned, true) {
                    tracing::warn!(plugins = %self.folder.display(), error = %e, "the plugin directory is polled: no notifications");
                }
            }
        }
    }

    fn watch(&mut self) -> notify::Result<()> {
        let watcher = match &mut self.watcher {
            Some(watcher) => watcher,
            none => {
                let (wake, folder) = (self.wake.clone(), self.absolute.clone());
                let handler = move |event: notify::Result<notify::Event>| {
                    for message in messages_of(&folder, event) {
                        let _ = wake.try_send(message);
                    }
                };
                none.insert(RecommendedWatcher::new(handler, notify::Config::default())?)
            }
        };
        watcher.watch(&self.absolute, RecursiveMode::NonRecursive)
    }

    fn unwatch(&mut self) {
        if self.watched.take().is_some()
            && let Some(watcher) = &mut self.watcher
        {
            // The watch ended by itself if the directory was deleted.
            let _ = watcher.unwatch(&self.absolute);
        }
    }
}

/// The files in the `secretFiles` of a grant; none if the file is no readable grant at present.
fn secret_files(folder: &Path, grant_name: &str) -> Vec<PathBuf> {
    let grant = read_grant(&folder.join(grant_name)).ok().flatten();
    grant.into_iter().flat_map(|g| g.secret_files.into_values()).map(|path| folder.join(path)).collect()
}

fn messages_of(folder: &Path, event: notify::Result<notify::Event>) -> Vec<Message> {
    let Ok(event) = event else { return vec![Message::Look] };
    if event.need_rescan() {
        return vec![Message::Look];
    }
    let notice = match event.kind {
        EventKind::Create(_) | EventKind::Modify(ModifyKind::Data(_)) => Notice::Written,
        EventKind::Access(AccessKind::Close(AccessMode::Write))
        | EventKind::Modify(ModifyKind::Name(RenameMode::To)) => Notice::Complete,
        EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From)) => Notice::Gone,
        EventKind::Modify(ModifyKind::Metadata(_)) => Notice::Touched,
        // A file was opened (also by this host), or an event for both ends of a rename, each of which has its own event.
        _ => return Vec::new(),
    };
    let message = |path: &PathBuf| {
        if path == folder {
            return (notice == Notice::Gone).then_some(Message::Look);
        }
        let name = path.file_name().and_then(OsStr::to_str)?;
        if counts(name) {
            return Some(Message::Notice(name.to_owned(), notice));
        }
        (name.starts_with("..") && notice == Notice::Complete).then_some(Message::Flip)
    };
    event.paths.iter().filter_map(message).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brief_absences_with_an_unreadable_time_between_them_are_no_removal() {
        let parent = tempfile::tempdir().unwrap();
        let (folder, aside) = (parent.path().join("plugins"), parent.path().join("aside"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("a.wasm"), "a").unwrap();
        let (states, wake) = (watch::channel(State::Unknown).0, mpsc::sync_channel(MESSAGES).0);
        let mut watching = Watching::new(folder.clone(), Notices::None, wake, states);
        let begin = Instant::now();
        let mut look = |ms| {
            let readable = watching.look(begin + Duration::from_millis(ms), SLOW, false);
            (readable.is_ok(), watching.settling.snapshot(&folder).files.len())
        };
        assert_eq!(look(0), (true, 0));
        assert_eq!(look(300), (true, 1));
        std::fs::rename(&folder, &aside).unwrap();
        assert_eq!(look(400), (true, 1));
        std::fs::write(&folder, "not a directory").unwrap();
        assert_eq!(look(500), (false, 1));
        assert_eq!(look(1300), (false, 1));
        std::fs::remove_file(&folder).unwrap();
        assert_eq!(look(2100), (true, 1), "it was seen to be absent just now, and not for half a second");
        assert_eq!(look(2599), (true, 1));
        assert_eq!(look(2600), (true, 0));
    }
}
