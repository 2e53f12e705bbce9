//! Watches: the log of a resource store as an event stream.

use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{Stream, stream};
use serde_json::{Value, json};
use tokio::{sync::watch::Receiver, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{
    conversion,
    http::{
        encode,
        negotiate::{Format, Shape},
    },
    model::{
        kinds::Resource,
        selector::{FieldSelector, LabelSelector},
        status::{ApiError, Result as ApiResult},
    },
    resources::{
        partial::partial,
        table::{self, TableOptions},
    },
    store::{Change, Object, Store, TooOld, View},
};

/// Most changes in one chunk of the response.
const BATCH: usize = 512;
/// Interval of bookmarks, and the lead of the last one before the deadline of a watch.
const BOOKMARK_PERIOD: Duration = Duration::from_secs(60);
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);

/// The objects of a watch.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    pub(crate) namespace: String,
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
}

impl Selection {
    /// Whether all objects of the namespace are selected.
    fn selects_all(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether an object of a list is selected; the list is already limited to the namespace.
    pub(crate) fn matches(&self, resource: &Resource, object: &Object) -> bool {
        if !self.labels.matches(&object.value) {
            return false;
        }
        if self.fields.is_empty() {
            return true;
        }
        if resource.is_new_event() {
            return self.fields.matches(&crate::model::versions::events::to_new(&object.value));
        }
        self.fields.matches(&object.value)
    }
}

/// The start of a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// With the present objects as ADDED.
    Present,
    /// With the present objects, and a bookmark after them.
    PresentWithMark,
    /// After a revision.
    After(u64),
}

/// A watch before its first poll.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) resource: Arc<Resource>,
    pub(crate) store: Arc<Store>,
    pub(crate) view: View,
    pub(crate) selection: Selection,
    pub(crate) start: Start,
    pub(crate) bookmarks: bool,
    pub(crate) timeout: Duration,
    pub(crate) format: Format,
    pub(crate) table: TableOptions,
    pub(crate) stop: CancellationToken,
}

impl Watch {
    /// The Content-Type of the stream.
    pub(crate) fn content_type(&self) -> &'static str {
        self.format.content_type()
    }

    /// The events, one JSON object per line, in chunks.
    pub(crate) fn stream(self) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
        let now = Instant::now();
        let signal = self.view.resource_store().subscribe();
        let state = WatchState {
            cursor: 0,
            pending: VecDeque::new(),
            mark_due: false,
            too_old: None,
            begun: false,
            done: false,
            columns_sent: false,
            end: now + self.timeout,
            next_bookmark: first_bookmark(now, self.timeout),
            signal,
            watch: self,
        };
        stream::unfold(state, |mut state| async move {
            let chunk = state.next_chunk().await?;
            Some((Ok(chunk), state))
        })
    }
}

fn first_bookmark(now: Instant, timeout: Duration) -> Instant {
    let before_end = timeout.saturating_sub(BOOKMARK_BEFORE_END);
    now + before_end.min(BOOKMARK_PERIOD).max(Duration::from_millis(500))
}

struct WatchState {
    watch: Watch,
    signal: Receiver<u64>,
    /// The last revision that was sent completely.
    cursor: u64,
    /// Objects of the initial state that are not sent yet.
    pending: VecDeque<Arc<Object>>,
    /// Whether the bookmark after the initial state is not sent yet.
    mark_due: bool,
    /// The start version is no longer known.
    too_old: Option<TooOld>,
    begun: bool,
    done: bool,
    columns_sent: bool,
    end: Instant,
    next_bookmark: Instant,
}

impl WatchState {
    async fn next_chunk(&mut self) -> Option<Bytes> {
        if !self.begun {
            self.begun = true;
            self.begin();
        }
        loop {
            if self.done {
                return None;
            }
            let mut out = Vec::new();
            let drained = self.collect(&mut out).await;
            if !out.is_empty() {
                return Some(out.into());
            }
            if self.done {
                return None;
            }
            if !drained {
                continue;
            }
            tokio::select! {
                // Changes are sent before the end.
                biased;
                // The sender lives in the resource store of this state, so an error is impossible.
                _ = self.signal.changed() => {}
                () = tokio::time::sleep_until(self.end) => return None,
                () = self.watch.stop.cancelled() => return None,
                () = tokio::time::sleep_until(self.next_bookmark), if self.watch.bookmarks => {
                    self.next_bookmark = Instant::now() + BOOKMARK_PERIOD;
                    // A watch from a future version must not get the present state.
                    if self.watch.view.revision() >= self.cursor {
                        self.bookmark(&mut out, false);
                        return Some(out.into());
                    }
                }
            }
        }
    }

    fn begin(&mut self) {
        if let Start::After(revision) = self.watch.start {
            self.cursor = revision;
            self.too_old = self.watch.view.resource_store().begin_after(revision).err();
            return;
        }
        let snapshot = self.watch.view.list(&self.watch.selection.namespace);
        self.cursor = snapshot.revision;
        self.pending = snapshot.objects.into();
        self.mark_due = self.watch.start == Start::PresentWithMark;
    }

    /// Writes the events that can be sent now; false when more is waiting.
    async fn collect(&mut self, out: &mut Vec<u8>) -> bool {
        if !self.pending.is_empty() {
            let objects = self.pending.drain(..self.pending.len().min(BATCH)).collect();
            match self.served(objects).await {
                Ok(objects) => {
                    for object in objects.iter().filter(|o| self.selects(o)).collect::<Vec<_>>() {
                        self.event(out, "ADDED", object);
                    }
                }
                Err(error) => self.fail(out, &error),
            }
            return false;
        }
        if self.mark_due {
            self.mark_due = false;
            self.bookmark(out, true);
            return false;
        }
        self.signal.borrow_and_update();
        let changes = || self.watch.view.resource_store().changes_after(self.cursor, BATCH);
        let found = match self.too_old.map_or_else(changes, Err) {
            Ok(found) => found,
            Err(too_old) => {
                let message = format!("too old resource version: {} ({})", self.cursor, too_old.oldest);
                self.fail(out, &ApiError::expired(message));
                return true;
            }
        };
        if let Err(error) = self.changes(out, &found.changes).await {
            self.fail(out, &error);
            return true;
        }
        let last = if found.drained { found.seen } else { found.changes.last().map_or(0, |c| c.revision) };
        self.cursor = self.cursor.max(last);
        self.done = found.closed;
        found.drained
    }

    /// Ends the watch with an error event.
    fn fail(&mut self, out: &mut Vec<u8>, error: &ApiError) {
        line(out, "ERROR", error.to_value().to_string().as_bytes());
        self.done = true;
    }

    /// Objects in the version of the watch.
    async fn served(&self, objects: Vec<Arc<Object>>) -> ApiResult<Vec<Arc<Object>>> {
        conversion::served(&self.watch.store, &self.watch.resource, objects).await
    }

    fn selects(&self, object: &Object) -> bool {
        self.watch.selection.matches(&self.watch.resource, object)
    }

    /// The events of changes.
    async fn changes(&mut self, out: &mut Vec<u8>, changes: &[Change]) -> ApiResult<()> {
        let namespace = &self.watch.selection.namespace;
        let seen = |c: &&Change| namespace.is_empty() || *namespace == c.key.namespace;
        let changes: Vec<&Change> = changes.iter().filter(seen).collect();
        let objects = self.served(changes.iter().map(|c| Arc::clone(&c.object)).collect()).await?;
        let previous = if self.watch.selection.selects_all() {
            Vec::new()
        } else {
            self.served(changes.iter().filter_map(|c| c.previous.clone()).collect()).await?
        };
        let mut previous = previous.into_iter();
        for (change, object) in changes.into_iter().zip(objects) {
            let before = change.previous.as_ref().map(|stored| previous.next().unwrap_or_else(|| Arc::clone(stored)));
            self.change(out, change, &object, before);
        }
        Ok(())
    }

    /// The event of a change for a client that only sees the selected objects.
    fn change(&mut self, out: &mut Vec<u8>, change: &Change, object: &Object, before: Option<Arc<Object>>) {
        let before = before.filter(|p| self.selects(p));
        let now = !change.deleted && self.selects(object);
        match (before, now) {
            (None, true) => self.event(out, "ADDED", object),
            (Some(_), true) => self.event(out, "MODIFIED", object),
            (Some(_), false) if change.deleted => self.event(out, "DELETED", object),
            // The object left the selection: it is deleted for the client, at the version of the change.
            (Some(previous), false) => self.event(out, "DELETED", &previous.at(change.revision)),
            (None, false) => {}
        }
    }

    fn event(&mut self, out: &mut Vec<u8>, kind: &str, object: &Object) {
        let resource = &self.watch.resource;
        match self.watch.format.shape {
            Shape::Object => {
                out.extend_from_slice(format!("{{\"type\":\"{kind}\",\"object\":").as_bytes());
                encode::object(resource, object, out);
                out.extend_from_slice(b"}\n");
            }
            Shape::Partial(version) => {
                line(out, kind, partial(&object.value, version).to_string().as_bytes());
            }
            Shape::Table(version) => {
                let meta = json!({"resourceVersion": object.revision.to_string()});
                let rows = [encode::value(resource, object)];
                let table = table::table(resource, &rows, version, self.watch.table, &meta, !self.columns_sent);
                self.columns_sent = true;
                line(out, kind, table.to_string().as_bytes());
            }
        }
    }

    fn bookmark(&self, out: &mut Vec<u8>, initial_end: bool) {
        let mut meta = json!({"resourceVersion": self.cursor.to_string()});
        if let (Value::Object(map), true) = (&mut meta, initial_end) {
            map.insert("annotations".to_owned(), json!({"k8s.io/initial-events-end": "true"}));
        }
        let (kind, api_version) = match self.watch.format.shape {
            Shape::Partial(version) => ("PartialObjectMetadata".to_owned(), format!("meta.k8s.io/{version}")),
            Shape::Table(version) => ("Table".to_owned(), format!("meta.k8s.io/{version}")),
            Shape::Object => (self.watch.resource.kind.clone(), self.watch.resource.group_version()),
        };
        let object = json!({"kind": kind, "apiVersion": api_version, "metadata": meta});
        line(out, "BOOKMARK", object.to_string().as_bytes());
    }
}

/// One event; `type` comes first, otherwise clients cannot parse the object lazily.
fn line(out: &mut Vec<u8>, kind: &str, object: &[u8]) {
    out.extend_from_slice(format!("{{\"type\":\"{kind}\",\"object\":").as_bytes());
    out.extend_from_slice(object);
    out.extend_from_slice(b"}\n");
}
