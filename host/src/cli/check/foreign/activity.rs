//! What a command does to its API server: requests and changes as they come, and how fast it reacts.

use crate::cli::group::Tap;
use axum::extract::Request;
use http::Method;
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Changes that a finding shows.
const SHOWN: usize = 5;

/// Bounds of the time without a change after which a command counts as done.
const LEAST_QUIET: Duration = Duration::from_millis(800);
const MOST_QUIET: Duration = Duration::from_secs(15);

/// How long commands of this check take from a cause to its effect, at most. Worlds without faults teach it.
#[derive(Debug, Default)]
pub(super) struct Pace {
    slowest_ms: AtomicU64,
}

impl Pace {
    fn learn(&self, gap: Duration) {
        self.slowest_ms.fetch_max(u64::try_from(gap.min(MOST_QUIET).as_millis()).unwrap_or(0), Relaxed);
    }

    /// Time without a change after which a command is done: twice its slowest reaction.
    pub(super) fn quiet(&self) -> Duration {
        (Duration::from_millis(self.slowest_ms.load(Relaxed)) * 2).clamp(LEAST_QUIET, MOST_QUIET)
    }
}

/// A request of a command.
#[derive(Debug)]
pub(super) struct Call {
    /// For people.
    line: String,
    writes: bool,
    watches: bool,
    /// Leases and events are no changes, and say nothing about objects.
    aside: bool,
}

impl Call {
    pub(super) fn of(request: &Request) -> Self {
        let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
        let aside = path.contains("/events") || path.contains("/leases");
        Self {
            line: format!("{} {path}", request.method()),
            writes: *request.method() != Method::GET && !query.contains("dryRun="),
            watches: query.contains("watch=") || path.contains("/watch/"),
            aside,
        }
    }

    pub(super) fn writes(&self) -> bool {
        self.writes
    }
}

/// The state of [`Activity`].
#[derive(Debug)]
struct Noted {
    /// Of the last operation, start or change.
    last: Instant,
    /// Of the first operation that no change followed so far.
    cause: Option<Instant>,
    /// Whether a gap is one between a cause and its effect.
    learns: bool,
    changes: u64,
    /// Requests that are neither watches nor about Leases or events.
    requests: u64,
    recent: VecDeque<String>,
    /// The process group of the command, while it runs.
    group: Option<Pid>,
    killed: bool,
}

/// What a command did. Shared by its server and its world.
#[derive(Clone, Debug)]
pub(super) struct Activity {
    noted: Arc<Mutex<Noted>>,
    pace: Arc<Pace>,
}

impl Activity {
    pub(super) fn new(pace: Arc<Pace>) -> Self {
        let noted = Noted {
            last: Instant::now(),
            cause: None,
            learns: true,
            changes: 0,
            requests: 0,
            recent: VecDeque::new(),
            group: None,
            killed: false,
        };
        Self { noted: Arc::new(Mutex::new(noted)), pace }
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of an answered request.
    ///
    /// * `changed` - whether the objects are others than before it.
    pub(super) fn note(&self, call: Call, changed: bool) {
        let mut noted = self.noted();
        if call.aside || call.watches {
            return;
        }
        noted.requests += 1;
        if !(call.writes && changed) {
            return;
        }
        let gap = noted.cause.take().unwrap_or(noted.last).elapsed();
        if noted.learns {
            self.pace.learn(gap);
        }
        noted.last = Instant::now();
        noted.changes += 1;
        if noted.recent.len() == SHOWN {
            noted.recent.pop_front();
        }
        noted.recent.push_back(call.line);
    }

    /// A person did something, or the command starts: its reaction begins here.
    pub(super) fn begin(&self) {
        let mut noted = self.noted();
        noted.last = Instant::now();
        noted.cause.get_or_insert_with(Instant::now);
        noted.recent.clear();
    }

    /// The command is done: what it did not react to needs no reaction.
    pub(super) fn rest(&self) {
        self.noted().cause = None;
    }

    /// From a fault on, gaps are pauses between retries.
    pub(super) fn disturb(&self) {
        self.noted().learns = false;
    }

    /// Time since the last operation, start or change.
    pub(super) fn idle(&self) -> Duration {
        self.noted().last.elapsed()
    }

    pub(super) fn quiet(&self) -> Duration {
        self.pace.quiet()
    }

    /// The numbers of changes and of requests so far.
    pub(super) fn counts(&self) -> (u64, u64) {
        let noted = self.noted();
        (noted.changes, noted.requests)
    }

    /// The last changes since [`begin`](Self::begin), for people.
    pub(super) fn recent(&self) -> Vec<String> {
        self.noted().recent.iter().cloned().collect()
    }

    /// The process group that [`kill`](Self::kill) ends. None: it is no longer there, and its id may be another's.
    pub(super) fn runs(&self, group: Option<Pid>) {
        let mut noted = self.noted();
        (noted.group, noted.killed) = (group, false);
    }

    /// Ends the process group of the command by force, now.
    pub(super) fn kill(&self) {
        let mut noted = self.noted();
        if let Some(group) = noted.group.take() {
            // An error means that it has ended.
            let _ = kill_process_group(group, Signal::KILL);
            noted.killed = true;
        }
    }

    pub(super) fn was_killed(&self) -> bool {
        self.noted().killed
    }
}

/// Looks for texts in the output of a command.
#[derive(Clone, Debug, Default)]
pub(super) struct Listener {
    heard: Arc<Mutex<Option<String>>>,
}

impl Listener {
    /// * `secrets` - not empty texts.
    pub(super) fn tap(&self, secrets: Vec<String>) -> Tap {
        let heard = Arc::clone(&self.heard);
        let longest = secrets.iter().map(String::len).max().unwrap_or(0);
        let mut end: Vec<u8> = Vec::new();
        Box::new(move |piece| {
            end.extend_from_slice(piece);
            let found = |secret: &&String| end.windows(secret.len()).any(|part| part == secret.as_bytes());
            if let Some(secret) = secrets.iter().find(found) {
                heard.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| secret.clone());
            }
            // A text may come in two pieces.
            end.drain(..end.len().saturating_sub(longest));
        })
    }

    /// Whether one of the texts was in the output.
    pub(super) fn heard(&self) -> bool {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_in_two_pieces_is_heard() {
        let listener = Listener::default();
        let mut tap = listener.tap(vec!["correct-horse".to_owned()]);
        tap(b"the token is correct-");
        assert!(!listener.heard());
        tap(b"horse, and more");
        assert!(listener.heard());
    }

    #[tokio::test(start_paused = true)]
    async fn slow_reactions_make_the_quiet_time_longer_and_pauses_of_retries_do_not() {
        let pace = Arc::<Pace>::default();
        let activity = Activity::new(Arc::clone(&pace));
        let call = || Call { line: String::new(), writes: true, watches: false, aside: false };
        assert_eq!(pace.quiet(), LEAST_QUIET);
        tokio::time::advance(Duration::from_secs(1)).await;
        activity.note(call(), true);
        assert_eq!(pace.quiet(), Duration::from_secs(2));
        // The reaction is one to the first of two operations.
        for _ in 0..2 {
            activity.begin();
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        activity.note(call(), true);
        assert_eq!(pace.quiet(), Duration::from_secs(4));
        activity.disturb();
        tokio::time::advance(Duration::from_secs(60)).await;
        activity.note(call(), true);
        assert_eq!((pace.quiet(), activity.counts()), (Duration::from_secs(4), (3, 3)));
    }
}
