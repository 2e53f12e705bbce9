//! List and watch requests of a reflector, read page by page and line by line.
//!
//! kube's `watcher` does not report the version of a list, and so not whether an API server lags behind. It also parses a whole page into
//! objects before the first of them can be stored.

use futures::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};
use kube::{
    api::{ListParams, WatchParams},
    core::{Request, Status},
};
use oarlock_api::Resource;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::{borrow::Cow, io, pin::Pin};

/// Longest line of a watch. An API server stores no larger objects; their text may be longer than the size it counts.
const LINE_BYTES: usize = 32 << 20;

/// List and watch requests of one watch.
pub(super) struct ListWatch {
    client: kube::Client,
    request: Request,
    label_selector: Option<String>,
    field_selector: Option<String>,
}

/// Why a request failed or ended early.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("{what}")]
    Request {
        what: &'static str,
        #[source]
        source: Box<kube::Error>,
    },
    #[error("the list broke off")]
    Page(#[source] io::Error),
    #[error("the response is not a list of Kubernetes objects")]
    List(#[source] serde_json::Error),
}

/// The text of one page of a list.
pub(super) struct Page(Vec<u8>);

/// One page, parsed as far as its items.
#[derive(Deserialize)]
pub(super) struct ObjectList<'a> {
    #[serde(borrow)]
    pub(super) metadata: ListMeta<'a>,
    #[serde(borrow, deserialize_with = "null_as_empty")]
    pub(super) items: Vec<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ListMeta<'a> {
    #[serde(borrow)]
    pub(super) resource_version: Cow<'a, str>,
    #[serde(borrow, rename = "continue")]
    pub(super) token: Cow<'a, str>,
}

/// An open watch.
pub(super) struct Lines {
    reader: Pin<Box<dyn AsyncBufRead + Send>>,
    line: Vec<u8>,
    complete: bool,
}

/// One event of a watch.
pub(super) enum Event<'a> {
    /// ADDED or MODIFIED.
    Applied(&'a str),
    Deleted(&'a str),
    /// The version of the bookmark; empty if the server sent none.
    Bookmark(Cow<'a, str>),
    Error(Box<Status>),
}

impl ListWatch {
    /// * `namespace` - `None`: the whole cluster.
    pub(super) fn new(
        client: kube::Client,
        resource: &Resource,
        namespace: Option<&str>,
        (label_selector, field_selector): (Option<String>, Option<String>),
    ) -> Self {
        let request = Request::new(resource.path(namespace.unwrap_or_default(), None, None));
        Self { client, request, label_selector, field_selector }
    }

    /// The next page of a list; without a `token`, the first page of the newest state.
    pub(super) async fn page(&self, token: Option<&str>, limit: u32) -> Result<Page, Error> {
        let params = ListParams {
            label_selector: self.label_selector.clone(),
            field_selector: self.field_selector.clone(),
            limit: Some(limit),
            continue_token: token.map(str::to_owned),
            ..ListParams::default()
        };
        let request = self.request.list(&params).map_err(kube::Error::BuildRequest);
        let mut body = match request {
            Ok(request) => self.client.request_stream(request).await,
            Err(error) => Err(error),
        }
        .map(Box::pin)
        .map_err(|source| Error::Request { what: "list", source: Box::new(source) })?;
        let mut text = Vec::new();
        body.read_to_end(&mut text).await.map_err(Error::Page)?;
        Ok(Page::of(text))
    }

    /// A watch of all changes after `version`.
    pub(super) async fn watch(&self, version: &str) -> Result<Lines, Error> {
        let params = WatchParams {
            label_selector: self.label_selector.clone(),
            field_selector: self.field_selector.clone(),
            ..WatchParams::default()
        };
        let request = self.request.watch(&params, version).map_err(kube::Error::BuildRequest);
        match request {
            Ok(request) => self.client.request_stream(request).await,
            Err(error) => Err(error),
        }
        .map(Lines::of)
        .map_err(|source| Error::Request { what: "watch", source: Box::new(source) })
    }
}

impl Page {
    pub(super) fn of(text: Vec<u8>) -> Self {
        Self(text)
    }

    pub(super) fn read(&self) -> Result<ObjectList<'_>, Error> {
        serde_json::from_slice(&self.0).map_err(Error::List)
    }
}

impl Lines {
    pub(super) fn of(reader: impl AsyncBufRead + Send + 'static) -> Self {
        Self { reader: Box::pin(reader), line: Vec::new(), complete: true }
    }

    /// The next line; `None` when the connection has ended. An incomplete line is no event: the server sends it again.
    ///
    /// # Cancel safety
    ///
    /// The incomplete line is kept for the next call.
    pub(super) async fn next(&mut self) -> io::Result<Option<&[u8]>> {
        if self.complete {
            self.line.clear();
            // One large object must not occupy memory as long as the watch lasts.
            self.line.shrink_to(64 << 10);
            self.complete = false;
        }
        let room = LINE_BYTES.saturating_sub(self.line.len()) as u64;
        (&mut self.reader).take(room).read_until(b'\n', &mut self.line).await?;
        if self.line.len() >= LINE_BYTES && !self.line.ends_with(b"\n") {
            return Err(io::Error::other(format!("a line of the watch is longer than {LINE_BYTES} bytes")));
        }
        self.complete = self.line.ends_with(b"\n");
        Ok(self.complete.then_some(self.line.as_slice()))
    }
}

impl<'a> Event<'a> {
    /// Parses one line.
    ///
    /// # Errors
    ///
    /// The line is no watch event.
    pub(super) fn read(line: &'a [u8]) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        struct Line<'a> {
            #[serde(borrow, rename = "type")]
            kind: Cow<'a, str>,
            #[serde(borrow)]
            object: &'a RawValue,
        }
        #[derive(Deserialize)]
        struct Bookmark<'a> {
            #[serde(borrow)]
            metadata: ListMeta<'a>,
        }
        let Line { kind, object } = serde_json::from_slice(line)?;
        Ok(match &*kind {
            "ADDED" | "MODIFIED" => Self::Applied(object.get()),
            "DELETED" => Self::Deleted(object.get()),
            "BOOKMARK" => Self::Bookmark(serde_json::from_str::<Bookmark<'_>>(object.get())?.metadata.resource_version),
            "ERROR" => Self::Error(Box::new(serde_json::from_str(object.get())?)),
            other => return Err(serde::de::Error::custom(format!("unknown type of event {other:?}"))),
        })
    }
}

fn null_as_empty<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<&'de RawValue>, D::Error> {
    Option::deserialize(d).map(Option::unwrap_or_default)
}

/// The message for users: the API server's own text, if it has any.
pub(super) fn words(status: &Status) -> String {
    match (status.code, status.reason.as_str()) {
        // The second is kube's own, for a response that is no Status.
        (code, "" | "Failed to parse error data") => format!("{} ({code})", status.message),
        (code, reason) => format!("{} ({code} {reason})", status.message),
    }
}
