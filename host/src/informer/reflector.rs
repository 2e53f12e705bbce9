//! One task per watch: waits for the kind, lists, watches, and puts what it gets into the store.

use super::{
    WatchStatus,
    object::{Malformed, RawObject},
    store::{Relist, Store},
};
use crate::api::{Discovery, Resource, discovery};
use futures::{FutureExt, Stream, StreamExt};
use kube::runtime::watcher::{self, DefaultBackoff, Event};
use std::{panic::AssertUnwindSafe, pin::pin, sync::atomic::Ordering::Relaxed, time::Duration};
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, info, warn};

/// Between questions whether a missing kind is served now. People watch the moment after they create a
/// CustomResourceDefinition, so it grows no further than this.
const MISSING_KIND: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(1));

/// A kind must be missing for so long before what is stored of it counts as deleted: an API server that starts may
/// answer 404 before it has read its CustomResourceDefinitions.
const GONE_AFTER: Duration = Duration::from_secs(2);

/// A failing watch is tried again at least this often; permissions that are granted take effect within it.
const LONGEST_BACKOFF: Duration = Duration::from_secs(15);

/// A list page that has not arrived by then is given up: its connection is dead.
const PAGE_DEADLINE: Duration = Duration::from_secs(90);

/// kube's watcher does not say when it is watching again after an error. If no further error came for so long, it is.
const RECOVERED_AFTER: Duration = Duration::from_secs(10);

/// Why a watch was left.
enum Ended {
    /// The URL answers 404: ask discovery whether the kind is still served.
    NotFound,
    /// Events may be missing: list again.
    Restart,
}

/// What keeps one watch going. It ends by being dropped.
pub(super) struct Reflector {
    pub(super) client: kube::Client,
    pub(super) discovery: Discovery,
    pub(super) store: Store,
}

impl Reflector {
    /// Never returns.
    pub(super) async fn run(self) {
        let mut backoff = DefaultBackoff::default();
        loop {
            // A watch that ends silently would leave a cache that looks well and is not.
            if AssertUnwindSafe(self.keep_watching(&mut backoff)).catch_unwind().await.is_err() {
                self.failing("internal error: the watch panicked; it begins again".to_owned());
                self.pause(&mut backoff).await;
            }
        }
    }

    async fn keep_watching(&self, backoff: &mut DefaultBackoff) {
        loop {
            let resource = self.wait_until_served().await;
            let spec = self.store.spec();
            let namespace = spec.namespace.as_deref();
            if let Some(reason) = unwatchable(&resource, namespace) {
                self.failing(reason);
                self.discovery.invalidate(&spec.gvk);
                sleep(LONGEST_BACKOFF).await;
                continue;
            }
            let api = resource.api::<RawObject>(self.client.clone(), namespace);
            let config = watcher::Config {
                label_selector: spec.label_selector.clone(),
                field_selector: spec.field_selector.clone(),
                ..watcher::Config::default()
            };
            match self.follow(pin!(watcher::watcher(api, config)), backoff).await {
                Ended::Restart => {}
                Ended::NotFound => {
                    self.discovery.invalidate(&spec.gvk);
                    // Only discovery can say that a kind is gone; a proxy's 404 must not delete what is stored.
                    if !matches!(self.discovery.resolve(&spec.gvk).await, Ok(None)) {
                        self.failing("the API server serves the kind, but its URL answers 404".to_owned());
                        self.pause(backoff).await;
                    }
                }
            }
        }
    }

    /// Asks until the kind is served; says so once when it is not, and once when it is.
    async fn wait_until_served(&self) -> Resource {
        let gvk = &self.store.spec().gvk;
        let (mut delay, longest) = MISSING_KIND;
        let mut backoff = DefaultBackoff::default();
        let mut said = false;
        let mut missing_since: Option<Instant> = None;
        loop {
            match self.discovery.resolve(gvk).await {
                Ok(Some(resource)) => {
                    if said {
                        info!(kind = %gvk, "the kind is served now");
                    }
                    if !self.store.synced() {
                        self.store.set_status(WatchStatus::Listing);
                    }
                    return resource;
                }
                Ok(None) => {
                    if !said {
                        info!(kind = %gvk, "waiting for the kind to be served: is its CustomResourceDefinition installed?");
                        said = true;
                    }
                    let since = *missing_since.get_or_insert_with(Instant::now);
                    if self.store.synced() && since.elapsed() >= GONE_AFTER {
                        self.store.clear();
                    }
                    self.store.set_status(WatchStatus::WaitingForKind);
                    sleep(delay).await;
                    delay = (delay * 2).min(longest);
                }
                Err(error) => {
                    missing_since = None;
                    self.failing(chain(&error));
                    if !matches!(error, discovery::Error::Deadline { .. }) {
                        self.pause(&mut backoff).await;
                    }
                }
            }
        }
    }

    /// Takes what the watcher delivers until it cannot go on.
    async fn follow(
        &self,
        mut events: std::pin::Pin<&mut impl Stream<Item = watcher::Result<Event<RawObject>>>>,
        backoff: &mut DefaultBackoff,
    ) -> Ended {
        let gvk = &self.store.spec().gvk;
        let mut listing: Option<Relist> = None;
        let mut failing = false;
        loop {
            let limit = if listing.is_some() { PAGE_DEADLINE } else { RECOVERED_AFTER };
            let event = if listing.is_some() || failing {
                match timeout(limit, events.next()).await {
                    Ok(event) => event,
                    Err(_elapsed) if listing.is_some() => {
                        self.failing(format!("no page of the list within {}s", PAGE_DEADLINE.as_secs()));
                        return Ended::Restart;
                    }
                    Err(_elapsed) => {
                        failing = false;
                        self.store.set_status(WatchStatus::Synced);
                        continue;
                    }
                }
            } else {
                events.next().await
            };
            match event {
                Some(Ok(Event::Init)) => listing = Some(self.store.begin_list()),
                Some(Ok(Event::InitApply(object))) => {
                    if let Some(relist) = &mut listing {
                        match object.into_object(gvk) {
                            Ok(object) => self.store.list_item(relist, object),
                            Err(malformed) => {
                                self.skip(&malformed);
                                Store::list_unread(relist, &malformed);
                            }
                        }
                    }
                }
                Some(Ok(Event::InitDone)) => {
                    if let Some(relist) = listing.take() {
                        self.store.counters().lists.fetch_add(1, Relaxed);
                        self.store.replace(relist);
                        debug!(kind = %gvk, objects = self.store.len(), "listed");
                    }
                    // A list that works says nothing of the watch that follows it, so the backoff goes on.
                    failing = false;
                    self.store.set_status(WatchStatus::Synced);
                }
                Some(Ok(Event::Apply(object))) => {
                    failing = self.live(failing, backoff);
                    match object.into_object(gvk) {
                        Ok(object) => self.store.apply(object),
                        Err(malformed) => self.skip(&malformed),
                    }
                }
                Some(Ok(Event::Delete(object))) => {
                    failing = self.live(failing, backoff);
                    match object.into_object(gvk) {
                        Ok(object) => self.store.delete(object),
                        Err(malformed) => {
                            self.skip(&malformed);
                            if let Some(key) = &malformed.key {
                                self.store.delete_unread(key);
                            }
                        }
                    }
                }
                Some(Err(error)) => {
                    listing = None;
                    failing = failing || !is_broken_connection(&error);
                    let ended = self.failed(&error);
                    if !matches!(ended, Some(Ended::NotFound)) {
                        self.pause(backoff).await;
                    }
                    if let Some(ended) = ended {
                        return ended;
                    }
                }
                None => return Ended::Restart,
            }
        }
    }

    /// A live event shows that all is well again.
    fn live(&self, failing: bool, backoff: &mut DefaultBackoff) -> bool {
        watcher_reset(backoff);
        if failing {
            self.store.set_status(WatchStatus::Synced);
        }
        false
    }

    /// Notes an error; `Some` if the watcher cannot recover from it by itself.
    fn failed(&self, error: &watcher::Error) -> Option<Ended> {
        use watcher::Error as E;
        let code = match error {
            E::InitialListFailed(kube::Error::Api(status)) | E::WatchStartFailed(kube::Error::Api(status)) => {
                status.code
            }
            E::WatchFailed(kube::Error::Api(status)) => status.code,
            E::WatchError(status) => status.code,
            _ => 0,
        };
        // Whether a 404 is a failure is for discovery to say.
        if code == 404 || is_broken_connection(error) {
            debug!(kind = %self.store.spec().gvk, error = %describe(error), "watch interrupted");
        } else {
            self.failing(describe(error));
        }
        match (error, code) {
            (_, 404) => Some(Ended::NotFound),
            // The watcher lists again by itself only after an event that says 410, not after such an answer.
            (E::WatchStartFailed(_) | E::WatchFailed(_), 400 | 410) => Some(Ended::Restart),
            // An event was lost: only a list can tell what it was. kube reads most lines it does not understand as a
            // status without a code.
            (E::WatchFailed(kube::Error::SerdeError(_) | kube::Error::Api(_)), 0) => Some(Ended::Restart),
            _ => None,
        }
    }

    fn failing(&self, reason: String) {
        self.store.counters().failures.fetch_add(1, Relaxed);
        let status = WatchStatus::Failing { reason: reason.into() };
        // Once per reason, not once per attempt.
        if self.store.status() != status {
            warn!(kind = %self.store.spec().gvk, status = %status, "watch failing");
        }
        self.store.set_status(status);
    }

    fn skip(&self, malformed: &Malformed) {
        self.store.counters().malformed.fetch_add(1, Relaxed);
        let name = malformed.key.as_ref().map_or("one without a name".to_owned(), ToString::to_string);
        warn!(kind = %self.store.spec().gvk, object = name, reason = malformed.reason, "skipped an object that cannot be read");
    }

    async fn pause(&self, backoff: &mut DefaultBackoff) {
        sleep(backoff.next().unwrap_or(LONGEST_BACKOFF).min(LONGEST_BACKOFF)).await;
    }
}

fn watcher_reset(backoff: &mut DefaultBackoff) {
    kube::runtime::utils::Backoff::reset(backoff);
}

/// Connections end; the watcher goes on where it was.
fn is_broken_connection(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::WatchFailed(kube::Error::ReadEvents(_) | kube::Error::HyperError(_)))
}

fn unwatchable(resource: &Resource, namespace: Option<&str>) -> Option<String> {
    if !resource.watchable() {
        return Some("the API server cannot list and watch this kind".to_owned());
    }
    let narrowed = namespace.is_some_and(|ns| !ns.is_empty());
    (narrowed && !resource.namespaced).then(|| "a namespace was asked for, but the kind is cluster-scoped".to_owned())
}

/// What a user can act on: which request failed, and the API server's own words if it had any.
fn describe(error: &watcher::Error) -> String {
    use watcher::Error as E;
    let (what, cause) = match error {
        E::InitialListFailed(cause) => ("list", cause),
        E::WatchStartFailed(cause) => ("watch", cause),
        E::WatchFailed(cause) => ("watch stream", cause),
        E::WatchError(status) => return format!("watch stream: {}", words(status)),
        E::NoResourceVersion => return error.to_string(),
    };
    match cause {
        kube::Error::Api(status) => format!("{what}: {}", words(status)),
        cause => format!("{what}: {}", chain(cause)),
    }
}

fn words(status: &kube::core::Status) -> String {
    match (status.code, status.reason.as_str()) {
        (0, _) => "a line that is no watch event".to_owned(),
        // The second is kube's own, for an answer that is no status.
        (code, "" | "Failed to parse error data") => format!("{} ({code})", status.message),
        (code, reason) => format!("{} ({code} {reason})", status.message),
    }
}

/// An error and its causes on one line, without the repetition of those that print their cause themselves.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let part = error.to_string();
        if !text.contains(&part) {
            text = format!("{text}: {part}");
        }
        source = error.source();
    }
    text
}
