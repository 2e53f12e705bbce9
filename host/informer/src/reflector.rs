//! Reflector: the task of one watch, which waits for the kind, lists, watches, and updates the store.

mod watching;

use super::{
    WatchStatus,
    list_watch::{self, ListWatch, words},
    object::{Malformed, Object},
    store::{Relist, Store},
};
use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use futures::FutureExt;
use kube::core::Status;
use oarlock_api::{Discovery, Resource, discovery};
use std::{io, panic::AssertUnwindSafe, sync::atomic::Ordering::Relaxed, time::Duration};
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, info, warn};
use watching::FRUITLESS;

/// First and longest interval between discovery requests for a missing kind. People watch a kind right after they create its
/// CustomResourceDefinition, so the interval stays short.
const MISSING_KIND: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(1));

/// A kind must be missing for this long before its stored objects count as deleted. A starting API server may answer 404 before it has
/// read its CustomResourceDefinitions.
const GONE_AFTER: Duration = Duration::from_secs(2);

/// First retry interval of a failing watch.
const SHORTEST_BACKOFF: Duration = Duration::from_millis(800);

/// Longest retry interval of a failing watch; a new permission takes effect within it.
const LONGEST_BACKOFF: Duration = Duration::from_secs(15);

/// Longest accepted Retry-After of an overloaded API server.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60);

/// Deadline for a list page, or for the beginning of a watch; after it the connection counts as dead.
const ANSWER_DEADLINE: Duration = Duration::from_secs(90);

/// API servers that lag behind catch up, or others answer in their place. When all lists have been older than the cache for this long,
/// the cluster was restored to an older state, and the lists are right.
const REWRITTEN_AFTER: Duration = Duration::from_secs(5 * 60);

/// Objects in one page of a list, and the bytes that a page should have; pages of large objects have fewer.
const PAGE: (usize, usize) = (500, 4 << 20);

/// Why a list or a watch ended.
enum WatchEnd {
    /// The watch can continue after the last event.
    Closed,
    /// The same, but after a pause.
    Failed,
    /// The API server would reject any request: too many requests, or forbidden.
    Refused { retry_after: Duration },
    /// The URL answers 404: discovery must show whether the kind is still served.
    NotFound,
    /// Events may be missing: relist.
    Lost,
}

/// The task of one watch, which ends when it is dropped.
pub(super) struct Reflector {
    pub(super) client: kube::Client,
    pub(super) discovery: Discovery,
    pub(super) store: Store,
}

/// Delays between attempts that fail in a row.
struct Backoff(ExponentialBackoff);

impl Default for Backoff {
    /// The delays of client-go's reflector, each with a random part: hosts that lost one API server do not come back all at once.
    fn default() -> Self {
        let delays = ExponentialBuilder::new().with_min_delay(SHORTEST_BACKOFF).with_max_delay(LONGEST_BACKOFF);
        Self(delays.without_max_times().with_jitter().build())
    }
}

impl Backoff {
    fn next(&mut self) -> Duration {
        self.0.next().unwrap_or(LONGEST_BACKOFF).min(LONGEST_BACKOFF)
    }

    fn reset(&mut self) {
        *self = Self::default();
    }
}

/// State that outlives a single list or watch.
#[derive(Default)]
struct WatchProgress {
    backoff: Backoff,
    /// The version from which the watch continues; `None`: a list comes first.
    position: Option<String>,
    /// Watches in a row that did not open, or ended at once without an event.
    fruitless: u32,
    /// Since when no watch has brought an event. None: there is none since the list or the last event.
    silent_since: Option<Instant>,
    /// A watch has ended since the list: another API server may answer now, or one with a restored etcd, for which the position is in the
    /// future.
    doubted: bool,
    /// Since when all lists have been older than the cache.
    older_since: Option<Instant>,
}

impl Reflector {
    /// Never returns.
    pub(super) async fn run(self) {
        let mut progress = WatchProgress::default();
        loop {
            // A task that ended silently would leave a cache that looks synced but is not updated.
            if AssertUnwindSafe(self.keep_watching(&mut progress)).catch_unwind().await.is_err() {
                self.failing("internal error: the watch panicked; it begins again".to_owned());
                progress.position = None;
                progress.pause(Duration::ZERO).await;
            }
        }
    }

    async fn keep_watching(&self, progress: &mut WatchProgress) {
        loop {
            let resource = self.wait_until_served().await;
            self.store.set_namespaced(resource.namespaced);
            let spec = self.store.spec();
            let namespace = spec.namespace.as_deref();
            if let Some(reason) = unwatchable(&resource, namespace) {
                self.failing(reason);
                self.discovery.invalidate(&spec.gvk);
                sleep(LONGEST_BACKOFF).await;
                continue;
            }
            let selectors = (spec.label_selector.clone(), spec.field_selector.clone());
            let server = ListWatch::new(self.client.clone(), &resource, namespace, selectors);
            (progress.position, progress.fruitless) = (None, 0);
            self.list_and_watch(&server, progress).await;
            self.discovery.invalidate(&spec.gvk);
            // Only discovery can show that a kind is gone; a proxy's 404 must not delete the stored objects.
            if !matches!(self.discovery.resolve(&spec.gvk).await, Ok(None)) {
                self.failing("the API server serves the kind, but its URL answers 404".to_owned());
                progress.pause(Duration::ZERO).await;
            }
        }
    }

    /// Returns when the URL answers 404.
    async fn list_and_watch(&self, server: &ListWatch, progress: &mut WatchProgress) {
        loop {
            let ended = match progress.position.take() {
                None => match self.list(server, progress).await {
                    Ok(version) => {
                        progress.position = Some(version);
                        progress.doubted = false;
                        progress.silent_since = None;
                        continue;
                    }
                    Err(ended) => ended,
                },
                Some(mut position) => {
                    let ended = self.watch(server, &mut position, progress).await;
                    progress.doubted = true;
                    if !matches!(ended, WatchEnd::Lost) {
                        progress.position = Some(position);
                    }
                    ended
                }
            };
            match ended {
                WatchEnd::Closed => {}
                WatchEnd::Failed | WatchEnd::Lost => progress.pause(Duration::ZERO).await,
                WatchEnd::Refused { retry_after } => progress.pause(retry_after).await,
                WatchEnd::NotFound => return,
            }
        }
    }

    /// Repeats discovery until the kind is served; logs once when it is not, and once when it is.
    async fn wait_until_served(&self) -> Resource {
        let gvk = &self.store.spec().gvk;
        // Several watches of the same kind may exist, one per namespace.
        let namespace = self.store.spec().namespace.as_deref().unwrap_or("all");
        let (mut delay, longest) = MISSING_KIND;
        let mut progress = WatchProgress::default();
        let mut said = false;
        let mut missing_since: Option<Instant> = None;
        loop {
            match self.discovery.resolve(gvk).await {
                Ok(Some(resource)) => {
                    if said {
                        info!(kind = %gvk, namespace, "the kind is served now");
                    }
                    if !self.store.synced() {
                        self.store.set_status(WatchStatus::Listing);
                    }
                    return resource;
                }
                Ok(None) => {
                    if !said {
                        info!(
                            kind = %gvk,
                            namespace,
                            "waiting for the kind to be served: is its CustomResourceDefinition installed?"
                        );
                        said = true;
                    }
                    let since = *missing_since.get_or_insert_with(Instant::now);
                    // Objects from an interrupted list are removed as well.
                    if since.elapsed() >= GONE_AFTER && (self.store.synced() || !self.store.is_empty()) {
                        self.store.clear();
                    }
                    self.store.set_status(WatchStatus::WaitingForKind);
                    sleep(delay).await;
                    delay = (delay * 2).min(longest);
                }
                Err(error) => {
                    missing_since = None;
                    self.failing(oarlock_text::chain(&error));
                    if !matches!(error, discovery::Error::Deadline { .. }) {
                        progress.pause(Duration::ZERO).await;
                    }
                }
            }
        }
    }

    /// Lists the newest state into the store, and returns its version.
    async fn list(&self, server: &ListWatch, progress: &mut WatchProgress) -> Result<String, WatchEnd> {
        let mut relist = self.store.begin_list();
        let mut version = String::new();
        let mut token = None;
        loop {
            let asked = server.page(token.as_deref(), self.page_limit());
            let page = match timeout(ANSWER_DEADLINE, asked).await {
                Ok(page) => page.map_err(|error| self.failed(&error))?,
                Err(_elapsed) => {
                    self.failing(format!("no page of the list within {}s", ANSWER_DEADLINE.as_secs()));
                    return Err(WatchEnd::Failed);
                }
            };
            let list = page.read().map_err(|error| self.failed(&error))?;
            if version.is_empty() {
                version = list.metadata.resource_version.into_owned();
                self.check_version(&version, &mut relist, progress)?;
            }
            for item in list.items {
                match Object::parse_item(item.get(), &self.store.spec().gvk) {
                    Ok(object) => self.store.list_item(&mut relist, object),
                    Err(malformed) => {
                        self.skip(&malformed);
                        Store::list_unread(&mut relist, &malformed);
                    }
                }
            }
            token = Some(list.metadata.token.into_owned()).filter(|token| !token.is_empty());
            if token.is_none() {
                break;
            }
        }
        self.store.end_list(relist, &version);
        self.store.counters().lists.fetch_add(1, Relaxed);
        debug!(kind = %self.store.spec().gvk, objects = self.store.len(), "listed");
        // A working list does not prove that the watch will work, so the backoff continues, and so does a failure that lasts.
        if progress.fruitless < FRUITLESS {
            self.store.set_status(WatchStatus::Synced);
        }
        Ok(version)
    }

    /// Rejects a list that is older than the cache: the stored objects are newer.
    fn check_version(&self, version: &str, relist: &mut Relist, progress: &mut WatchProgress) -> Result<(), WatchEnd> {
        if version.is_empty() {
            self.failing("the list has no resourceVersion: can this kind be watched?".to_owned());
            return Err(WatchEnd::Failed);
        }
        relist.shows(version);
        if !self.store.is_past(version) {
            progress.older_since = None;
            return Ok(());
        }
        let since = *progress.older_since.get_or_insert_with(Instant::now);
        if since.elapsed() < REWRITTEN_AFTER {
            self.failing("the API server answers with an older state than is known: it lags behind".to_owned());
            return Err(WatchEnd::Failed);
        }
        warn!(kind = %self.store.spec().gvk, version, "the API server stays at an older state than is known, and is believed now: was a backup restored?");
        progress.older_since = None;
        self.store.rewrite(relist);
        Ok(())
    }

    fn page_limit(&self) -> u32 {
        let (most, bytes) = PAGE;
        let mean = self.store.heap_bytes() / self.store.len().max(1);
        u32::try_from((bytes / mean.max(1)).clamp(10, most)).unwrap_or(10)
    }

    fn failed(&self, error: &list_watch::Error) -> WatchEnd {
        match error {
            list_watch::Error::Request { what, source } => match &**source {
                kube::Error::Api(status) => return self.refused(what, status),
                source => self.failing(format!("{what}: {}", oarlock_text::chain(source))),
            },
            error => self.failing(oarlock_text::chain(error)),
        }
        WatchEnd::Failed
    }

    /// The API server's own message, and its consequence.
    fn refused(&self, what: &str, status: &Status) -> WatchEnd {
        // Discovery decides whether a 404 is a failure.
        if status.code == 404 {
            debug!(kind = %self.store.spec().gvk, what, "not found");
            return WatchEnd::NotFound;
        }
        self.failing(format!("{what}: {}", words(status)));
        // 400: an invalid continue token or version.
        if matches!(status.code, 400 | 410) {
            return WatchEnd::Lost;
        }
        if matches!(status.code, 401 | 403 | 429) {
            let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
            return WatchEnd::Refused { retry_after: Duration::from_secs(seconds.into()) };
        }
        WatchEnd::Failed
    }

    /// Connections end; the watch continues from its position.
    fn interrupted(&self, error: &io::Error) -> WatchEnd {
        debug!(kind = %self.store.spec().gvk, error = %oarlock_text::chain(error), "watch interrupted");
        WatchEnd::Failed
    }

    fn failing(&self, reason: String) {
        self.store.counters().failures.fetch_add(1, Relaxed);
        let status = WatchStatus::Failing { reason: reason.into() };
        // Logged once per reason, not once per attempt.
        if self.store.status() != status {
            warn!(kind = %self.store.spec().gvk, status = %status, "watch failing");
        }
        self.store.set_status(status);
    }

    /// Logs a skipped object; returns its version, if it has one.
    fn skip(&self, malformed: &Malformed) -> String {
        self.store.counters().malformed.fetch_add(1, Relaxed);
        let name = malformed.key.as_ref().map_or("one without a name".to_owned(), ToString::to_string);
        warn!(kind = %self.store.spec().gvk, object = name, reason = malformed.reason, "skipped an object that cannot be read");
        malformed.resource_version.clone().unwrap_or_default()
    }
}

impl WatchProgress {
    /// Waits before the next attempt: with exponential backoff, and at least as long as the API server asked for.
    async fn pause(&mut self, retry_after: Duration) {
        sleep(self.backoff.next().max(retry_after.min(LONGEST_RETRY_AFTER))).await;
    }
}

fn unwatchable(resource: &Resource, namespace: Option<&str>) -> Option<String> {
    if !resource.watchable() {
        return Some("the API server cannot list and watch this kind".to_owned());
    }
    let narrowed = namespace.is_some_and(|ns| !ns.is_empty());
    (narrowed && !resource.namespaced)
        .then(|| "the plugin selects namespaces, but the kind is cluster-scoped".to_owned())
}
