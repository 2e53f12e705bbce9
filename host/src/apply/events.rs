//! Kubernetes Events on primary objects: aggregated, rate limited, written by a task of their own so that no reconcile waits.

use super::request::Outgoing;
use super::{Author, Identity, WriteError, Writer};
use crate::api::{GroupVersionKind, ObjectKey};
use crate::informer::Object;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Longest reason and message, in bytes; the API refuses longer ones.
const REASON_LIMIT_BYTES: usize = 128;
const MESSAGE_LIMIT_BYTES: usize = 1024;

/// Events of one object: this many at once, then one per refill. client-go's spam filter has 25 and 300 s.
const BURST: f64 = 25.0;
const REFILL: Duration = Duration::from_secs(60);

/// Events that wait to be written; further ones are dropped and counted in the log.
const WAITING: usize = 1024;

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
    queue: mpsc::Sender<(Author, Regarding, Event)>,
}

impl Recorder {
    /// Starts the task that writes events, and answers its handle, to be awaited after the last recorder is dropped.
    #[must_use]
    pub fn start(writer: Writer) -> (Self, tokio::task::JoinHandle<()>) {
        let (queue, mut waiting) = mpsc::channel::<(Author, Regarding, Event)>(WAITING);
        let task = tokio::spawn(async move {
            let mut rates = Rates::default();
            let mut counts = Counts::default();
            while let Some((author, about, event)) = waiting.recv().await {
                if rates.take(&format!("{} {} {}", author.plugin, about.uid, about.part)) {
                    write(&writer, &author, &about, &event, &mut counts).await;
                } else {
                    tracing::debug!(plugin = author.plugin, key = %about.key, reason = event.reason, "event dropped: too many");
                }
            }
        });
        (Self { queue }, task)
    }

    /// Hands an event over. Never waits; when too many wait already, this one is dropped.
    pub fn record(&self, author: &Author, about: &Regarding, event: Event) {
        if self.queue.try_send((author.clone(), about.clone(), event)).is_err() {
            tracing::warn!(plugin = author.plugin, key = %about.key, "event dropped: too many wait to be written");
        }
    }
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
}
