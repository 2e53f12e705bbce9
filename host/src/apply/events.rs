//! Kubernetes Events: aggregated, rate limited, and written by a task of their own, so that no reconcile waits.

mod event_writer;

use super::{RequestSender, WriteIdentity};
use crate::api::{GroupVersionKind, ObjectKey};
use crate::informer::Object;
use crate::telemetry::Place;
use event_writer::EventWriter;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Most waiting events of one plugin; further ones are dropped and counted in the log.
const WAITING: usize = 128;

/// Time between two log lines about dropped events of one plugin.
const TOLD: Duration = Duration::from_secs(60);

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

/// An event with the place in a trace where it was recorded.
type Recorded = (WriteIdentity, Regarding, Event, Option<Place>);

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
    pub fn start(requests: Arc<RequestSender>) -> (Self, tokio::task::JoinHandle<()>) {
        let (wake, mut woken) = mpsc::channel::<()>(1);
        let waiting: Arc<Mutex<WaitingEvents>> = Arc::default();
        let tracked: Arc<AtomicUsize> = Arc::default();
        let (taken, told) = (Arc::clone(&waiting), Arc::clone(&tracked));
        let task = tokio::spawn(async move {
            let mut writer = EventWriter::new(requests);
            loop {
                // The queue is checked before and after the last recorder is dropped, so that the last events are written as well.
                let open = woken.recv().await.is_some();
                while let Some((write_identity, about, event, place)) = next(&taken) {
                    let written = writer.write_within_rate(&write_identity, &about, &event);
                    Place::within(place.as_ref(), written).await;
                }
                told.store(writer.remembered(), Relaxed);
                if !open {
                    break;
                }
            }
        });
        (Self { waiting, wake, tracked }, task)
    }

    /// Records an event. Never waits; when too many events of the plugin wait, this one is dropped.
    pub fn record(&self, write_identity: &WriteIdentity, about: &Regarding, event: Event) {
        let dropped = lock(&self.waiting).push((write_identity.clone(), about.clone(), event, Place::current()));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn event_of(plugin: &str, number: usize) -> Recorded {
        let about = Regarding::named(
            GroupVersionKind::new("", "v1", "ConfigMap"),
            ObjectKey::new("n", format!("o{number}")),
            "u",
        );
        let event = Event { warning: true, reason: "Failed".to_owned(), message: number.to_string() };
        (WriteIdentity::new(plugin, Arc::new(crate::grants::Grants::none())), about, event, None)
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
