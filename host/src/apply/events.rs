//! Kubernetes Events: aggregated, rate limited, and written by a task of their own, so that no reconcile waits.

use super::request::Outgoing;
use super::{Identity, WriteError, WriteIdentity, Writer};
use crate::api::{GroupVersionKind, ObjectKey};
use crate::buckets::Buckets;
use crate::informer::Object;
use data_encoding::HEXLOWER;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
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

/// Most waiting events of one plugin; further ones are dropped and counted in the log.
const WAITING: usize = 128;

/// Time between two log lines about dropped events of one plugin.
const TOLD: Duration = Duration::from_secs(60);

/// Most events whose count is remembered.
const TRACKED: usize = 10_000;

/// An event of one object before it is written.
#[derive(Clone, Debug)]
pub struct Event {
    /// `Warning` instead of `Normal`.
    pub warning: bool,
    /// UpperCamelCase.
    pub reason: String,
    /// Message for people.
    pub message: String,
}

/// The object of an event.
#[derive(Clone, Debug)]
pub struct Regarding {
    kind: GroupVersionKind,
    key: ObjectKey,
    uid: String,
    resource_version: String,
    /// Divides the object's rate limit further.
    part: String,
}

impl Regarding {
    /// The target of an event: an object.
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
    /// The target of an event: an object known by name only, such as the host's own.
    ///
    /// * `uid` - may be empty if unknown.
    #[must_use]
    pub fn named(kind: GroupVersionKind, key: ObjectKey, uid: &str) -> Self {
        Self { kind, key, uid: uid.to_owned(), resource_version: String::new(), part: String::new() }
    }

    /// The same object with a separate rate limit for one part, for many events about different parts.
    #[must_use]
    pub fn part(&self, part: &str) -> Self {
        Self { part: part.to_owned(), ..self.clone() }
    }
}

/// Records events without waiting. Cheap to clone; the task ends when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Recorder {
    waiting: Arc<Mutex<WaitingEvents>>,
    /// Capacity one: when it is full, the task is about to check the queue.
    wake: mpsc::Sender<()>,
    /// Events and objects in the task's memory.
    tracked: Arc<AtomicUsize>,
}

type Recorded = (WriteIdentity, Regarding, Event);

/// Waiting events, one queue per plugin. A plugin that floods its queue loses only its own events, and delays those of others by one
/// write.
#[derive(Debug, Default)]
struct WaitingEvents {
    plugins: HashMap<String, VecDeque<Recorded>>,
    /// Plugins with events, in the order of their turns.
    turns: VecDeque<String>,
    dropped: HashMap<String, Dropped>,
}

/// Dropped events of one plugin.
#[derive(Debug)]
struct Dropped {
    /// Number since the last log line.
    events: u64,
    told: Instant,
}

impl WaitingEvents {
    /// Enqueues an event. Returns the number of the plugin's dropped events when that is due for the log.
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
        // Plugins whose last log line is long ago need no entry.
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

    /// The next event; plugins take turns.
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
    /// Starts the task that writes events. The returned handle ends after the last recorder is dropped.
    #[must_use]
    pub fn start(writer: Writer) -> (Self, tokio::task::JoinHandle<()>) {
        let (wake, mut woken) = mpsc::channel::<()>(1);
        let waiting: Arc<Mutex<WaitingEvents>> = Arc::default();
        let tracked: Arc<AtomicUsize> = Arc::default();
        let (taken, told) = (Arc::clone(&waiting), Arc::clone(&tracked));
        let task = tokio::spawn(async move {
            let mut rates = Buckets::new(BURST, REFILL);
            let mut counts = Counts::default();
            loop {
                // The queue is checked before and after the last recorder is dropped, so that the last events are written as well.
                let open = woken.recv().await.is_some();
                while let Some((write_identity, about, event)) = next(&taken) {
                    if rates.take(format!("{} {} {}", write_identity.plugin, about.uid, about.part)) {
                        write(&writer, &write_identity, &about, &event, &mut counts).await;
                    } else {
                        tracing::debug!(plugin = write_identity.plugin, key = %about.key, reason = event.reason, "event dropped: too many");
                    }
                }
                told.store(rates.remembered() + counts.0.len(), Relaxed);
                if !open {
                    break;
                }
            }
        });
        (Self { waiting, wake, tracked }, task)
    }

    /// Records an event. Never waits; when too many events of the plugin wait, this one is dropped.
    pub fn record(&self, write_identity: &WriteIdentity, about: &Regarding, event: Event) {
        let dropped = lock(&self.waiting).push((write_identity.clone(), about.clone(), event));
        if let Some(events) = dropped {
            tracing::warn!(plugin = write_identity.plugin, key = %about.key, events, "events dropped: too many of the plugin wait to be written");
        }
        // Full: the task is about to check the queue. Closed: the host ends.
        let _ = self.wake.try_send(());
    }

    /// The number of waiting events.
    #[must_use]
    pub fn waiting(&self) -> usize {
        lock(&self.waiting).plugins.values().map(VecDeque::len).sum()
    }

    /// The number of remembered entries of written events: their counts, and the rates of their objects.
    #[must_use]
    pub fn remembered(&self) -> usize {
        self.tracked.load(Relaxed)
    }
}

fn next(waiting: &Mutex<WaitingEvents>) -> Option<Recorded> {
    lock(waiting).pop()
}

fn lock(waiting: &Mutex<WaitingEvents>) -> MutexGuard<'_, WaitingEvents> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Repetitions of an event within this time are only counted; the next one after it writes the sum.
const QUIET: Duration = Duration::from_secs(10);

/// How often each event happened in this process, by its name in the API.
#[derive(Default)]
struct Counts(HashMap<String, EventCount>);

struct EventCount {
    /// The written count.
    count: u32,
    /// Repetitions since then.
    unwritten: u32,
    written: Instant,
}

async fn write(writer: &Writer, write_identity: &WriteIdentity, about: &Regarding, event: &Event, counts: &mut Counts) {
    let reason = crate::shorten(&event.reason, REASON_LIMIT_BYTES);
    let message = crate::shorten(&event.message, MESSAGE_LIMIT_BYTES);
    let severity = if event.warning { "Warning" } else { "Normal" };
    // The name is the same for the same event of the same object, so that a restarted host continues the count instead of repeating the
    // event.
    let digest = Sha256::digest(format!("{}\0{severity}\0{reason}\0{message}\0{}", about.uid, write_identity.plugin));
    let digest = HEXLOWER.encode(&digest);
    let name = format!("{}.{}", crate::shorten(&about.key.name, 200), crate::shorten(&digest, 16));
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
        "source": {"component": write_identity.field_manager()},
        "reportingComponent": write_identity.field_manager(),
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
        None => writer.create_event(write_identity, &key, &body).await,
        Some(count) => writer.count_event(write_identity, &key, count, &now).await,
    };
    let result = match result {
        // The event was written before this process began (or has expired since): continue the count, or begin anew.
        Err(WriteError::Conflict(_)) => writer.count_on(write_identity, &key, &now).await,
        Err(WriteError::NotFound(_)) if known.is_some() => writer.create_event(write_identity, &key, &body).await,
        other => other,
    };
    match result {
        Ok(count) => {
            counts.0.insert(key.name.to_string(), EventCount { count, unwritten: 0, written: Instant::now() });
        }
        // The namespace or the object's namespace is going: nobody is left to read it.
        Err(WriteError::NotFound(_) | WriteError::Forbidden(_)) => {}
        Err(e) => {
            tracing::warn!(plugin = write_identity.plugin, key = %about.key, error = %e, "event not written")
        }
    }
}

impl Writer {
    async fn create_event(
        &self,
        write_identity: &WriteIdentity,
        key: &ObjectKey,
        body: &serde_json::Value,
    ) -> Result<u32, WriteError> {
        let resource = self.resolve(&event_kind()).await?;
        let outgoing = Outgoing::create(&resource, &key.namespace)
            .body("application/json", body)
            .identity(Identity::Host)
            .query("fieldManager", &write_identity.host_manager());
        self.request(write_identity, outgoing).await.map(|_| 1)
    }

    async fn count_event(
        &self,
        write_identity: &WriteIdentity,
        key: &ObjectKey,
        count: u32,
        now: &str,
    ) -> Result<u32, WriteError> {
        let resource = self.resolve(&event_kind()).await?;
        let outgoing = Outgoing::new("PATCH", &resource, key, "")
            .body("application/merge-patch+json", &json!({"count": count, "lastTimestamp": now}))
            .identity(Identity::Host)
            .query("fieldManager", &write_identity.host_manager());
        self.request(write_identity, outgoing).await.map(|_| count)
    }

    async fn count_on(&self, write_identity: &WriteIdentity, key: &ObjectKey, now: &str) -> Result<u32, WriteError> {
        let resource = self.resolve(&event_kind()).await?;
        let answer =
            self.request(write_identity, Outgoing::new("GET", &resource, key, "").identity(Identity::Host)).await?;
        let stored: serde_json::Value = serde_json::from_str(&answer).unwrap_or_default();
        let count = stored.get("count").and_then(serde_json::Value::as_u64).unwrap_or(1);
        let count = u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1);
        self.count_event(write_identity, key, count, now).await
    }
}

fn event_kind() -> GroupVersionKind {
    GroupVersionKind::new("", "v1", "Event")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn events_of_one_object_are_limited_and_of_another_are_not() {
        let mut rates = Buckets::new(BURST, REFILL);
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
        (WriteIdentity::new(plugin, Arc::new(crate::grants::Grants::none())), about, event)
    }

    #[tokio::test(start_paused = true)]
    async fn b8_a_plugin_that_floods_loses_its_own_events_only() {
        let mut waiting = WaitingEvents::default();
        let lines: Vec<u64> = (0..10_000).filter_map(|i| waiting.push(event_of("loud", i))).collect();
        assert_eq!(lines, [1], "a line for the first event that is dropped");
        for i in 0..10 {
            assert!(waiting.push(event_of("quiet", i)).is_none());
        }
        // Plugins take turns: of the first twenty events, ten belong to the other plugin.
        let first: Vec<Recorded> = (0..20).filter_map(|_| waiting.pop()).collect();
        assert_eq!(first.iter().filter(|(write_identity, ..)| write_identity.plugin == "quiet").count(), 10);
        let left = std::iter::from_fn(|| waiting.pop()).count();
        assert_eq!(left, WAITING - 10);
        assert!(waiting.plugins.is_empty() && waiting.turns.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn b8_dropped_events_are_counted_in_a_line_a_minute() {
        let mut waiting = WaitingEvents::default();
        let flood = |waiting: &mut WaitingEvents| -> Vec<u64> {
            (0..1000).filter_map(|i| waiting.push(event_of("loud", i))).collect()
        };
        assert_eq!(flood(&mut waiting), [1]);
        assert!(flood(&mut waiting).is_empty());
        tokio::time::advance(TOLD).await;
        let dropped_before = u64::try_from(2000 - WAITING).unwrap();
        assert_eq!(flood(&mut waiting), [dropped_before], "all since the last line, and this one");
    }
}
