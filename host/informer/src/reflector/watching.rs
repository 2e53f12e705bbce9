//! Reflector: one watch from its position until it ends.

use super::{ANSWER_DEADLINE, Reflector, WatchEnd, WatchProgress};
use crate::{
    WatchStatus,
    list_watch::{Event, Lines, ListWatch},
    object::Object,
};
use oarlock_api::resource_version;
use std::{cmp::Ordering, time::Duration};
use tokio::time::{Instant, timeout};

/// A watch without any event, not even a bookmark, for this long counts as dead: API servers send a bookmark every minute. Where a server
/// sends none, the reflector opens the watch again from its position, which costs two small requests.
const IDLE: Duration = Duration::from_secs(75);

/// A watch without a failure for this long counts as recovered.
const RECOVERED_AFTER: Duration = Duration::from_secs(10);

/// A watch that ends sooner without an event counts as a failure: it is not reopened at once.
const TOO_SHORT: Duration = Duration::from_secs(1);

/// After this many watches in a row that did not open, or ended at once without an event, the reflector relists. The position may be invalid,
/// or a proxy may end each stream; the list updates the cache all the same.
pub(super) const FRUITLESS: u32 = 3;

/// After watches without any event for this long, the reflector relists: a proxy may hold back what the server sends.
const SILENT: Duration = IDLE.saturating_mul(4);

impl Reflector {
    /// Watches from `position` until the watch ends.
    pub(super) async fn watch(
        &self,
        server: &ListWatch,
        position: &mut String,
        progress: &mut WatchProgress,
    ) -> WatchEnd {
        if progress.doubted
            && let Err(ended) = self.check_position(server, position).await
        {
            return ended;
        }
        let lines = match self.open(server, position).await {
            Ok(lines) => lines,
            Err(WatchEnd::Failed) => return progress.fruitless(WatchEnd::Failed),
            Err(ended) => return ended,
        };
        let opened = Instant::now();
        let silent_since = *progress.silent_since.get_or_insert(opened);
        let ended = self.follow(lines, position, progress).await;
        let brought_an_event = progress.silent_since.is_none();
        if brought_an_event || !matches!(ended, WatchEnd::Closed | WatchEnd::Failed | WatchEnd::Lost) {
            return ended;
        }
        if opened.elapsed() < TOO_SHORT {
            // Otherwise an error in the stream has said what is wrong.
            let without_a_word = matches!(ended, WatchEnd::Failed);
            let ended = progress.fruitless(ended);
            if without_a_word && progress.fruitless >= FRUITLESS {
                self.failing("watches end at once without an event: does a proxy end long responses?".to_owned());
            }
            return ended;
        }
        progress.fruitless = 0;
        if silent_since.elapsed() < SILENT {
            return ended;
        }
        progress.backoff.reset();
        WatchEnd::Lost
    }

    async fn open(&self, server: &ListWatch, position: &str) -> Result<Lines, WatchEnd> {
        match timeout(ANSWER_DEADLINE, server.watch(position)).await {
            Ok(lines) => lines.map_err(|error| self.failed(&error)),
            Err(_elapsed) => {
                self.failing(format!("no answer to the watch within {}s", ANSWER_DEADLINE.as_secs()));
                Err(WatchEnd::Failed)
            }
        }
    }

    /// Checks that the API server has reached the position. API servers accept a watch from a later version, and stay silent until they
    /// reach it: changes up to then would be lost. A list of at most one object shows their version.
    async fn check_position(&self, server: &ListWatch, position: &str) -> Result<(), WatchEnd> {
        let page = match timeout(ANSWER_DEADLINE, server.page(None, 1)).await {
            Ok(page) => page.map_err(|error| self.failed(&error))?,
            Err(_elapsed) => {
                self.failing(format!("no answer to a list of one object within {}s", ANSWER_DEADLINE.as_secs()));
                return Err(WatchEnd::Failed);
            }
        };
        let list = page.read().map_err(|error| self.failed(&error))?;
        if resource_version::compare(&list.metadata.resource_version, position) == Some(Ordering::Less) {
            return Err(WatchEnd::Lost);
        }
        Ok(())
    }

    /// Handles the events of a watch until it ends; `position` follows them.
    async fn follow(&self, mut lines: Lines, position: &mut String, progress: &mut WatchProgress) -> WatchEnd {
        let opened = Instant::now();
        let mut failing = matches!(self.store.status(), WatchStatus::Failing { .. });
        loop {
            let limit = if failing { RECOVERED_AFTER } else { IDLE };
            let event = match timeout(limit, self.next(&mut lines)).await {
                Err(_elapsed) if failing => {
                    progress.backoff.reset();
                    failing = false;
                    self.store.set_status(WatchStatus::Synced);
                    continue;
                }
                Err(_elapsed) => return WatchEnd::Closed,
                Ok(Ok(Some(event))) => event,
                Ok(Ok(None)) if progress.silent_since.is_none() || opened.elapsed() >= TOO_SHORT => {
                    return WatchEnd::Closed;
                }
                Ok(Ok(None)) => return WatchEnd::Failed,
                Ok(Err(ended)) => return ended,
            };
            match self.take(event, position) {
                Ok(()) => {
                    // A live event shows that the watch works again.
                    progress.heard();
                    failing = false;
                    self.store.set_status(WatchStatus::Synced);
                }
                Err(ended) => return ended,
            }
        }
    }

    async fn next<'l>(&self, lines: &'l mut Lines) -> Result<Option<Event<'l>>, WatchEnd> {
        let line = lines.next().await.map_err(|error| self.interrupted(&error))?;
        let Some(line) = line else { return Ok(None) };
        // An event was lost: only a relist can recover it.
        Event::read(line).map(Some).map_err(|error| {
            self.failing(format!("watch stream: a line that is no watch event: {error}"));
            WatchEnd::Lost
        })
    }

    fn take(&self, event: Event<'_>, position: &mut String) -> Result<(), WatchEnd> {
        let gvk = &self.store.spec().gvk;
        let (version, changed) = match event {
            Event::Error(status) => {
                return Err(match self.refused("watch stream", &status) {
                    // The server cannot go on from the position, and could not the next time either.
                    WatchEnd::Failed => WatchEnd::Lost,
                    ended => ended,
                });
            }
            Event::Bookmark(version) => (version.into_owned(), None),
            Event::Applied(text) => match Object::parse_item(text, gvk) {
                Ok(object) => (object.resource_version().to_owned(), Some((object, false))),
                Err(malformed) => (self.skip(&malformed), None),
            },
            Event::Deleted(text) => match Object::parse_item(text, gvk) {
                Ok(object) => (object.resource_version().to_owned(), Some((object, true))),
                Err(malformed) => {
                    if let Some(key) = &malformed.key {
                        self.store.delete_unread(key);
                    }
                    (self.skip(&malformed), None)
                }
            },
        };
        if version.is_empty() {
            self.failing("watch stream: an event without a resourceVersion".to_owned());
            return Err(WatchEnd::Lost);
        }
        match changed {
            Some((object, false)) => self.store.apply(object),
            Some((last, true)) => self.store.delete(last),
            None => self.store.reached(&version),
        }
        // Repeated events do not move the position back.
        if resource_version::compare(&version, position) != Some(Ordering::Less) {
            *position = version;
        }
        Ok(())
    }
}

impl WatchProgress {
    /// An event has arrived.
    fn heard(&mut self) {
        self.backoff.reset();
        self.fruitless = 0;
        self.silent_since = None;
    }

    /// Counts a watch that brought nothing. Every third in a row is followed by a list.
    fn fruitless(&mut self, ended: WatchEnd) -> WatchEnd {
        self.fruitless += 1;
        if self.fruitless.is_multiple_of(FRUITLESS) { WatchEnd::Lost } else { ended }
    }
}
