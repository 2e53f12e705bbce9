//! Kubernetes Events on primary objects: aggregated, rate limited, written by a task of their own so that no reconcile waits.

use super::request::Outgoing;
use super::{Author, Identity, WriteError, Writer};
use crate::api::{GroupVersionKind, ObjectKey};
use crate::informer::Object;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Longest reason and message, in bytes; the API refuses longer ones.
const REASON_LIMIT_BYTES: usize = 128;
const MESSAGE_LIMIT_BYTES: usize = 1024;

/// Events of one object: this many at once, then one per refill. client-go's spam filter has 25 and 300 s.
const BURST: f64 = 25.0;
const REFILL: Duration = Duration::from_secs(60);

/// Events of one plugin that wait to be written; further ones of it are dropped, and counted in the log.
const WAITING: usize = 128;

/// Between two log lines about dropped events of one plugin.
const TOLD: Duration = Duration::from_secs(60);

/// Objects whose rate is remembered.
const TRACKED: usize = 10_000;

/// An event of one object, before it is written.
#[derive(Clone, Debug)]
pub struct Event {
    /// `Warning` instead of `Normal`.
    pub warning: bool,
    /// UpperCamelCase.
    pub reason: String,
    /// For people.
    pub message: String,
}

/// What an event is about.
#[derive(Clone, Debug)]
pub struct Regarding {
    kind: GroupVersionKind,
    key: ObjectKey,
    uid: String,
    resource_version: String,
    /// Events of one object are limited; this divides them further.
    part: String,
}

impl Regarding {
    /// The object an event is about.
    #[must_use]
    pub fn new(kind: &GroupVersionKind, object: &Object) -> Self {
        Self {
            kind: kind.clone(),
            key: object.key().clone(),
            uid: object.uid().to_owned(),
            resource_version: object.resource_version().to_owned(),
            part: String::new(),
        }
    }
}

impl Regarding {
    /// An object that is known by its name only, such as the host's own.
    ///
    /// * `uid` - may be empty when it is not known.
    #[must_use]
    pub fn named(kind: GroupVersionKind, key: ObjectKey, uid: &str) -> Self {
        Self { kind, key, uid: uid.to_owned(), resource_version: String::new(), part: String::new() }
    }

    /// The same object, when many events about different things are told of it: each thing has its own limit.
    #[must_use]
    pub fn part(&self, part: &str) -> Self {
        Self { part: part.to_owned(), ..self.clone() }
    }
}

/// Takes events without waiting. Cheap to clone; the task ends when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Recorder {
    waiting: Arc<Mutex<Waiting>>,
    /// Has room for one: who finds it full knows that the task is about to look.
    wake: mpsc::Sender<()>,
}

type Recorded = (Author, Regarding, Event);

/// Events that wait, a queue for each plugin: a plugin that floods its own loses its own events, and delays those of others by one write.
#[derive(Debug, Default)]
struct Waiting {
    plugins: HashMap<String, VecDeque<Recorded>>,
    /// Plugins with events, by whose turn it is.
    turns: VecDeque<String>,
    dropped: HashMap<String, Dropped>,
}

/// Events of one plugin that were dropped.
#[derive(Debug)]
struct Dropped {
    /// Since the last log line.
    events: u64,
    told: Instant,
}

impl Waiting {
    /// Takes an event. Answers how many events of its plugin were dropped, when it is time to say so.
    fn push(&mut self, recorded: Recorded) -> Option<u64> {
        let plugin = recorded.0.plugin.clone();
        let queue = self.plugins.entry(plugin.clone()).or_default();
        if queue.len() < WAITING {
            if queue.is_empty() {
                self.turns.push_back(plugin);
            }
            queue.push_back(recorded);
            return None;
        }
        let now = Instant::now();
        // Of plugins that were told of long ago nothing needs to be known.
        self.dropped.retain(|name, dropped| *name == plugin || now.duration_since(dropped.told) < TOLD);
        match self.dropped.get_mut(&plugin) {
            Some(dropped) if now.duration_since(dropped.told) < TOLD => {
                dropped.events += 1;
                None
            }
            Some(dropped) => {
                dropped.told = now;
                Some(std::mem::take(&mut dropped.events) + 1)
            }
            None => {
                self.dropped.insert(plugin, Dropped { events: 0, told: now });
                Some(1)
            }
        }
    }

    /// The next event, of each plugin in turn.
    fn pop(&mut self) -> Option<Recorded> {
        let plugin = self.turns.pop_front()?;
        let queue = self.plugins.get_mut(&plugin)?;
        let next = queue.pop_front();
        if queue.is_empty() {
            self.plugins.remove(&plugin);
        } else {
            self.turns.push_back(plugin);
        }
        next
    }
}

impl Recorder {
    /// Starts the task that writes events, and answers its handle, to be awaited after the last recorder is dropped.
    #[must_use]
    pub fn start(writer: Writer) -> (Self, tokio::task::JoinHandle<()>) {
        let (wake, mut woken) = mpsc::channel::<()>(1);
        let waiting: Arc<Mutex<Waiting>> = Arc::default();
        let taken = Arc::clone(&waiting);
        let task = tokio::spawn(async move {
            let mut rates = Rates::default();
            let mut counts = Counts::default();
            loop {
                // Looked at before and after it is known that nobody records any more: what came last is written as well.
                let open = woken.recv().await.is_some();
                while let Some((author, about, event)) = next(&taken) {
                    if rates.take(&format!("{} {} {}", author.plugin, about.uid, about.part)) {
                        write(&writer, &author, &about, &event, &mut counts).await;
                    } else {
                        tracing::debug!(plugin = author.plugin, key = %about.key, reason = event.reason, "event dropped: too many");
                    }
                }
                if !open {
                    break;
                }
            }
        });
        (Self { waiting, wake }, task)
    }

    /// Hands an event over. Never waits; when too many of the plugin wait already, this one is dropped.
    pub fn record(&self, author: &Author, about: &Regarding, event: Event) {
        let dropped = lock(&self.waiting).push((author.clone(), about.clone(), event));
        if let Some(events) = dropped {
            tracing::warn!(plugin = author.plugin, key = %about.key, events, "events dropped: too many of the plugin wait to be written");
        }
        // Full: the task is about to look. Closed: the host ends.
        let _ = self.wake.try_send(());
    }
}

fn next(waiting: &Mutex<Waiting>) -> Option<Recorded> {
    lock(waiting).pop()
}

fn lock(waiting: &Mutex<Waiting>) -> MutexGuard<'_, Waiting> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same event within this time is only counted; the next one after it writes the sum.
const QUIET: Duration = Duration::from_secs(10);

/// How often each event happened in this process, by the name it has in the API.
#[derive(Default)]
struct Counts(HashMap<String, Counted>);

struct Counted {
    /// As written.
    count: u32,
    /// Since then.
    unwritten: u32,
    written: Instant,
}

async fn write(writer: &Writer, author: &Author, about: &Regarding, event: &Event, counts: &mut Counts) {
    let reason = crate::shorten(&event.reason, REASON_LIMIT_BYTES);
    let message = crate::shorten(&event.message, MESSAGE_LIMIT_BYTES);
    let severity = if event.warning { "Warning" } else { "Normal" };
    // The same event of the same object has the same name, so that a restarted host counts on instead of repeating it.
    let digest = Sha256::digest(format!("{}\0{severity}\0{reason}\0{message}\0{}", about.uid, author.plugin));
    let suffix: String = digest.iter().take(8).map(|b| format!("{b:02x}")).collect();
    let name = format!("{}.{suffix}", crate::shorten(&about.key.name, 200));
    let key = ObjectKey::new(about.key.namespace().unwrap_or("default"), name);
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let body = json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": key.name, "namespace": key.namespace},
        "involvedObject": {
            "apiVersion": about.kind.api_version(), "kind": about.kind.kind, "name": about.key.name,
            "namespace": about.key.namespace, "uid": about.uid, "resourceVersion": about.resource_version,
        },
        "type": severity, "reason": reason, "message": message,
        "source": {"component": author.field_manager()},
        "reportingComponent": author.field_manager(),
        "reportingInstance": "oarlock",
        "firstTimestamp": now, "lastTimestamp": now, "count": 1,
    });
    if counts.0.len() > TRACKED {
        counts.0.clear();
    }
    let known = match counts.0.get_mut(&*key.name) {
        None => None,
        Some(counted) => {
            counted.unwritten = counted.unwritten.saturating_add(1);
            if counted.written.elapsed() < QUIET {
                return;
            }
            Some(counted.count.saturating_add(counted.unwritten))
        }
    };
    let result = match known {
        None => writer.create_event(author, &key, &body).await,
        Some(count) => writer.count_event(author, &key, count, &now).await,
    };
    let result = match result {
        // It was written before this process began (or has expired since): count on, or begin anew.
        Err(WriteError::Conflict(_)) => writer.count_on(author, &key, &now).await,
        Err(WriteError::NotFound) if known.is_some() => writer.create_event(author, &key, &body).await,
        other => other,
    };
    match result {
        Ok(count) => {
            counts.0.insert(key.name.to_string(), Counted { count, unwritten: 0, written: Instant::now() });
        }
        // The namespace or the object's namespace is going: nobody is left to read it.
        Err(WriteError::NotFound | WriteError::Forbidden(_)) => {}
        Err(e) => tracing::warn!(plugin = author.plugin, key = %about.key, error = %e, "event could not be written"),
    }
}

impl Writer {
    async fn create_event(
        &self,
        author: &Author,
        key: &ObjectKey,
        body: &serde_json::Value,
    ) -> Result<u32, WriteError> {
        let resource = self.resolve(&event_kind()).await?;
        let outgoing = Outgoing::create(&resource, &key.namespace)
            .body("application/json", body)
            .identity(Identity::Host)
            .query("fieldManager", &author.host_manager());
        self.request(author, outgoing).await.map(|_| 1)
    }

    async fn count_event(&self, author: &Author, key: &ObjectKey, count: u32, now: &str) -> Result<u32, WriteError> {
        let resource = self.resolve(&event_kind()).await?;
        let outgoing = Outgoing::new("PATCH", &resource, key, "")
            .body("application/merge-patch+json", &json!({"count": count, "lastTimestamp": now}))
            .identity(Identity::Host)
            .query("fieldManager", &author.host_manager());
        self.request(author, outgoing).await.map(|_| count)
    }

    async fn count_on(&self, author: &Author, key: &ObjectKey, now: &str) -> Result<u32, WriteError> {
        let resource = self.resolve(&event_kind()).await?;
        let answer = self.request(author, Outgoing::new("GET", &resource, key, "").identity(Identity::Host)).await?;
        let stored: serde_json::Value = serde_json::from_str(&answer).unwrap_or_default();
        let count = stored.get("count").and_then(serde_json::Value::as_u64).unwrap_or(1);
        let count = u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1);
        self.count_event(author, key, count, now).await
    }
}

fn event_kind() -> GroupVersionKind {
    GroupVersionKind::new("", "v1", "Event")
}

/// A token bucket per object.
#[derive(Default)]
struct Rates(HashMap<String, (f64, Instant)>);

impl Rates {
    fn take(&mut self, uid: &str) -> bool {
        let now = Instant::now();
        if self.0.len() > TRACKED {
            self.0.retain(|_, (tokens, at)| filled(*tokens, *at, now) < BURST);
        }
        let (tokens, at) = self.0.entry(uid.to_owned()).or_insert((BURST, now));
        let full = filled(*tokens, *at, now);
        let enough = full >= 1.0;
        *tokens = if enough { full - 1.0 } else { full };
        *at = now;
        enough
    }
}

fn filled(tokens: f64, at: Instant, now: Instant) -> f64 {
    (tokens + now.duration_since(at).as_secs_f64() / REFILL.as_secs_f64()).min(BURST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn events_of_one_object_are_limited_and_of_another_are_not() {
        let mut rates = Rates::default();
        let taken = (0..100).filter(|_| rates.take("a")).count();
        assert_eq!(taken, 25);
        assert!(rates.take("b"));
        tokio::time::advance(REFILL).await;
        assert!(rates.take("a"));
        assert!(!rates.take("a"));
    }

    fn event_of(plugin: &str, number: usize) -> Recorded {
        let about = Regarding::named(event_kind(), ObjectKey::new("n", format!("o{number}")), "u");
        let event = Event { warning: true, reason: "Failed".to_owned(), message: number.to_string() };
        (Author::new(plugin, Arc::new(crate::grants::Grants::none())), about, event)
    }

    #[tokio::test(start_paused = true)]
    async fn b8_a_plugin_that_floods_loses_its_own_events_only() {
        let mut waiting = Waiting::default();
        let lines: Vec<u64> = (0..10_000).filter_map(|i| waiting.push(event_of("loud", i))).collect();
        assert_eq!(lines, [1], "a line for the first event that is dropped");
        for i in 0..10 {
            assert!(waiting.push(event_of("quiet", i)).is_none());
        }
        // They take turns: of the first twenty events, ten are those of the other plugin.
        let first: Vec<Recorded> = (0..20).filter_map(|_| waiting.pop()).collect();
        assert_eq!(first.iter().filter(|(author, ..)| author.plugin == "quiet").count(), 10);
        let left = std::iter::from_fn(|| waiting.pop()).count();
        assert_eq!(left, WAITING - 10);
        assert!(waiting.plugins.is_empty() && waiting.turns.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn b8_dropped_events_are_counted_in_a_line_a_minute() {
        let mut waiting = Waiting::default();
        let flood = |waiting: &mut Waiting| -> Vec<u64> {
            (0..1000).filter_map(|i| waiting.push(event_of("loud", i))).collect()
        };
        assert_eq!(flood(&mut waiting), [1]);
        assert!(flood(&mut waiting).is_empty());
        tokio::time::advance(TOLD).await;
        let dropped_before = u64::try_from(2000 - WAITING).unwrap();
        assert_eq!(flood(&mut waiting), [dropped_before], "all since the last line, and this one");
    }
}
