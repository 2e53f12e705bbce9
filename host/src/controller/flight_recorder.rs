//! Flight recorder: the most interesting recent reconciles of each plugin, to replay them elsewhere (`oarlock record`).
//!
//! A record refers to what the reconcile saw and answered; nothing is serialized before a person asks. All records and tapes of a host share
//! one bound in bytes.

mod ring;

use super::ReconcileKey;
use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::WriteError;
use crate::grants::Grants;
use crate::plugin::tape::{Tape, TapeRoom};
use crate::plugin::{CallError, Observation, Outcome, Request, State};
use crate::secrets::KnownSecrets;
use ring::Ring;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// Bytes counted for a record beside its texts.
const RECORD_BYTES: usize = 1 << 10;

/// The records of all plugins. A clone shares them.
#[derive(Clone, Debug)]
pub struct FlightRecorder {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    room: Arc<TapeRoom>,
    /// Bytes above which records make room for tapes of running reconciles.
    full: usize,
    plugins: Mutex<BTreeMap<String, Weak<PluginRecords>>>,
}

/// The records of one plugin. They end with it.
#[derive(Debug)]
pub struct PluginRecords {
    recorder: FlightRecorder,
    ring: Mutex<Ring>,
    bytes: AtomicUsize,
}

/// One recorded reconcile.
#[derive(Debug)]
pub struct Record {
    /// The plugin.
    pub plugin: String,
    /// The version in its manifest.
    pub version: String,
    /// SHA-256 of its file, in hex.
    pub digest: String,
    /// Its configuration and limits.
    pub grants: Arc<Grants>,
    /// The secrets that it knows.
    pub secrets: Arc<KnownSecrets>,
    /// The kind of the object.
    pub kind: GroupVersionKind,
    /// The object.
    pub key: ObjectKey,
    /// The end of the reconcile.
    pub at: jiff::Timestamp,
    /// Its duration.
    pub took: Duration,
    /// How it ended: `synced`, or the reason of a failure.
    pub outcome: &'static str,
    /// Why it failed. None: it did not.
    pub error: Option<String>,
    /// The event that caused it, in words. None: it was no event.
    pub cause: Option<String>,
    /// All writes of the host, in words.
    pub written: Option<String>,
    /// What the plugin saw.
    pub tape: Arc<Tape>,
    /// What the plugin answered.
    pub results: Results,
}

/// The answers of a plugin in one reconcile, and what became of them.
#[derive(Debug, Default)]
pub struct Results {
    /// The answer of get-desired; `Some(None)` also where the object is being deleted. None: no answer.
    pub desired: Option<Option<State>>,
    /// The first answer of get-actual.
    pub observed: Option<Observation>,
    /// The answer of patch.
    pub outcome: Option<Outcome>,
    /// The answer of get-actual after patch.
    pub after: Option<Observation>,
    /// The failure of a call.
    pub failed: Option<CallError>,
    /// The writes of the host, and the API server's answers: finalizer, changes, status, acknowledgement.
    pub writes: Vec<MadeWrite>,
    /// The duration of each call, in order.
    pub durations: Vec<(&'static str, Duration)>,
}

/// A write, and the API server's answer.
#[derive(Debug)]
pub struct MadeWrite {
    /// Verb and object.
    pub what: String,
    /// Why the API server refused it. None: it is written.
    pub error: Option<String>,
    /// The duration.
    pub took: Duration,
}

/// Which records to return.
#[derive(Clone, Debug, Default)]
pub struct RecordQuery {
    /// Of this plugin only.
    pub plugin: Option<String>,
    /// A kind as kubectl takes it: `Network`, `networks` or `networks.samplecrd.k8s.io`.
    pub kind: String,
    /// Of this object.
    pub key: ObjectKey,
    /// At most so many, the newest.
    pub last: usize,
}

impl FlightRecorder {
    /// * `bytes` - for the records of all plugins, and the tapes of running reconciles.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        let inner = Inner { room: TapeRoom::new(bytes), full: bytes / 4 * 3, plugins: Mutex::default() };
        Self { inner: Arc::new(inner) }
    }

    /// The records of a plugin.
    #[must_use]
    pub fn plugin(&self, name: &str) -> Arc<PluginRecords> {
        let records =
            Arc::new(PluginRecords { recorder: self.clone(), ring: Mutex::default(), bytes: AtomicUsize::new(0) });
        let mut plugins = self.plugins();
        plugins.retain(|_, records| records.strong_count() > 0);
        plugins.insert(name.to_owned(), Arc::downgrade(&records));
        records
    }

    /// The records about an object, the newest first.
    #[must_use]
    pub fn find(&self, query: &RecordQuery) -> Vec<Arc<Record>> {
        let plugins: Vec<_> = {
            let plugins = self.plugins();
            let wanted = plugins.iter().filter(|(name, _)| query.plugin.as_ref().is_none_or(|plugin| plugin == *name));
            wanted.filter_map(|(_, records)| records.upgrade()).collect()
        };
        let mut found = Vec::new();
        for records in plugins {
            found.extend(records.ring().records().filter(|record| query.matches(record)).cloned());
        }
        found.sort_by_key(|record: &Arc<Record>| std::cmp::Reverse(record.at));
        found.truncate(query.last);
        found
    }

    /// The number of records, and the bytes of records and tapes.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        let plugins: Vec<_> = self.plugins().values().filter_map(Weak::upgrade).collect();
        (plugins.iter().map(|records| records.ring().records().count()).sum(), self.inner.room.taken())
    }

    /// Drops records until tapes have room again: each time the least interesting one of the plugin with the most bytes.
    fn make_room(&self) {
        while self.inner.room.taken() > self.inner.full {
            let plugins: Vec<_> = self.plugins().values().filter_map(Weak::upgrade).collect();
            let Some(most) = plugins.iter().max_by_key(|records| records.bytes.load(Relaxed)) else { return };
            let dropped = most.ring().drop_one();
            let Some(record) = dropped else { return };
            most.bytes.fetch_sub(record.bytes(), Relaxed);
        }
    }

    fn plugins(&self) -> MutexGuard<'_, BTreeMap<String, Weak<PluginRecords>>> {
        self.inner.plugins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PluginRecords {
    /// The tape of a reconcile that begins.
    #[must_use]
    pub fn tape(&self, request: &Arc<Request>) -> Arc<Tape> {
        Tape::new(&self.recorder.inner.room, request)
    }

    /// Whether a reconcile is dropped without a record: it changed nothing and did not fail, as many others just now, and was no slower.
    pub(super) fn passes_over(&self, took: Duration) -> bool {
        self.ring().passes_over(took)
    }

    /// Keeps a record, if it is complete; older or less interesting ones make room.
    pub fn keep(&self, record: Record) {
        if !record.tape.reserve(record.results.bytes()) {
            return;
        }
        let record = Arc::new(record);
        self.bytes.fetch_add(record.bytes(), Relaxed);
        let dropped = self.ring().offer(record);
        for record in dropped {
            self.bytes.fetch_sub(record.bytes(), Relaxed);
        }
        if self.recorder.inner.room.taken() > self.recorder.inner.full {
            self.recorder.make_room();
        }
    }

    /// The errors of the newest records of some keys. A key whose last record is no failure has none.
    pub(super) fn last_errors<'k>(&self, wanted: &BTreeSet<&'k ReconcileKey>) -> BTreeMap<&'k ReconcileKey, String> {
        let mut newest: BTreeMap<&ReconcileKey, &Arc<Record>> = BTreeMap::new();
        let ring = self.ring();
        for record in ring.records() {
            let key = ReconcileKey { kind: Arc::new(record.kind.clone()), key: record.key.clone() };
            let Some(key) = wanted.get(&key) else { continue };
            let last = newest.entry(key).or_insert(record);
            if last.at < record.at {
                *last = record;
            }
        }
        newest.into_iter().filter_map(|(key, record)| Some((key, record.error.clone()?))).collect()
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record {
    /// The size of the record with what it refers to.
    fn bytes(&self) -> usize {
        self.tape.bytes()
    }

    /// Whether the reconcile patched something.
    fn patched(&self) -> bool {
        self.results.outcome.is_some()
    }
}

impl Results {
    fn bytes(&self) -> usize {
        // A state is kept as text and as value.
        let state = |state: &Option<State>| state.as_ref().map_or(0, |state| 4 * state.text().len());
        let observation = |observed: &Option<Observation>| {
            observed.as_ref().map_or(0, |observed| {
                let fields = observed.status.iter().flatten();
                state(&observed.state) + fields.map(|(name, value)| name.len() + value_bytes(value)).sum::<usize>()
            })
        };
        let outcome = self.outcome.as_ref().map_or(0, |outcome| {
            let changes = outcome.changes.iter().filter_map(|change| change.document()).map(value_bytes);
            let events = outcome.events.iter().map(|event| event.reason.len() + event.message.len() + 64);
            changes.sum::<usize>() + events.sum::<usize>()
        });
        let writes =
            self.writes.iter().map(|write| write.what.len() + write.error.as_ref().map_or(0, String::len) + 64);
        let desired = self.desired.as_ref().map_or(0, state);
        RECORD_BYTES
            + desired
            + observation(&self.observed)
            + observation(&self.after)
            + outcome
            + writes.sum::<usize>()
    }
}

/// The memory of a JSON value, about.
fn value_bytes(value: &Value) -> usize {
    /// An entry of a map or a list.
    const ENTRY: usize = 64;
    ENTRY
        + match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(value_bytes).sum(),
            Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + value_bytes(value)).sum(),
        }
}

impl MadeWrite {
    /// * `what` - verb and object.
    pub(super) fn new<T>(what: String, answer: &Result<T, WriteError>, took: Duration) -> Self {
        Self { what, error: answer.as_ref().err().map(ToString::to_string), took }
    }
}

impl RecordQuery {
    fn matches(&self, record: &Record) -> bool {
        names(&self.kind, &record.kind) && record.key == self.key
    }
}

/// The name that means a kind and no other, as [`names`] takes it: `Network.samplecrd.k8s.io`, and `ConfigMap.` of the core group.
pub(super) fn full_name(kind: &GroupVersionKind) -> String {
    format!("{}.{}", kind.kind, kind.group)
}

/// Whether a text names a kind, as for kubectl: `Network`, `networks` or `networks.samplecrd.k8s.io`.
pub(crate) fn names(text: &str, kind: &GroupVersionKind) -> bool {
    let (name, group) = match text.split_once('.') {
        Some((name, group)) => (name, Some(group)),
        None => (text, None),
    };
    let plural = crate::grants::guess_plural(&kind.kind);
    let named = name.eq_ignore_ascii_case(&kind.kind) || name.eq_ignore_ascii_case(&plural);
    named && group.is_none_or(|group| *group == kind.group)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::tape::MOST_BYTES;

    pub(super) fn record(records: &PluginRecords, name: &str, outcome: &'static str, error: Option<&str>) -> Record {
        let kind = GroupVersionKind::new("samplecrd.k8s.io", "v1", "Network");
        let key = ObjectKey::new("n", name);
        let request = Request { object: Some("{}".into()), ..Request::of(kind.clone(), key.clone()) };
        Record {
            plugin: "p".to_owned(),
            version: "1".to_owned(),
            digest: "d".to_owned(),
            grants: Arc::new(Grants::none()),
            secrets: Arc::default(),
            kind,
            key,
            at: jiff::Timestamp::now(),
            took: Duration::from_millis(1),
            outcome,
            error: error.map(str::to_owned),
            cause: None,
            written: None,
            tape: records.tape(&Arc::new(request)),
            results: Results::default(),
        }
    }

    fn query(kind: &str, name: &str) -> RecordQuery {
        RecordQuery { plugin: None, kind: kind.to_owned(), key: ObjectKey::new("n", name), last: 10 }
    }

    #[test]
    fn an_object_is_found_by_its_kind_as_kubectl_takes_it() {
        let recorder = FlightRecorder::new(8 << 20);
        let records = recorder.plugin("p");
        records.keep(record(&records, "a", "synced", None));
        for kind in ["Network", "network", "networks", "networks.samplecrd.k8s.io", "Network.samplecrd.k8s.io"] {
            assert_eq!(recorder.find(&query(kind, "a")).len(), 1, "{kind}");
        }
        for (kind, name) in [("Pod", "a"), ("networks.other", "a"), ("Network", "b")] {
            assert!(recorder.find(&query(kind, name)).is_empty(), "{kind} {name}");
        }
        let of = |plugin: &str| RecordQuery { plugin: Some(plugin.to_owned()), ..query("Network", "a") };
        assert_eq!((recorder.find(&of("p")).len(), recorder.find(&of("q")).len()), (1, 0));
        drop(records);
        assert_eq!((recorder.size(), recorder.find(&query("Network", "a")).len()), ((0, 0), 0));
    }

    #[test]
    fn an_object_of_the_same_kind_and_name_in_another_group_is_another_one() {
        let recorder = FlightRecorder::new(8 << 20);
        let records = recorder.plugin("p");
        let kinds =
            ["samplecrd.k8s.io", "other.example", ""].map(|group| GroupVersionKind::new(group, "v1", "Network"));
        for kind in &kinds {
            records.keep(Record { kind: kind.clone(), ..record(&records, "a", "synced", None) });
        }
        // All have the same outcome, of which the ring keeps the newest, and the slow ones.
        for kind in &kinds {
            let found = recorder.find(&query(&full_name(kind), "a"));
            assert!(!found.is_empty() && found.iter().all(|record| record.kind == *kind), "{kind}");
        }
    }

    #[test]
    fn the_last_error_of_an_object_is_that_of_its_newest_record() {
        let recorder = FlightRecorder::new(8 << 20);
        let records = recorder.plugin("p");
        let key = |name: &str| {
            let kind = Arc::new(GroupVersionKind::new("samplecrd.k8s.io", "v1", "Network"));
            ReconcileKey { kind, key: ObjectKey::new("n", name) }
        };
        for (name, error) in [("a", Some("first")), ("a", Some("second")), ("b", Some("failed")), ("b", None)] {
            records.keep(record(&records, name, if error.is_some() { "ApiError" } else { "synced" }, error));
        }
        let (a, b, c) = (key("a"), key("b"), key("c"));
        let errors = records.last_errors(&BTreeSet::from([&a, &b, &c]));
        assert_eq!(errors.into_iter().collect::<Vec<_>>(), [(&a, "second".to_owned())]);
    }

    #[test]
    fn records_are_bounded_in_bytes_and_the_plugin_with_the_most_bytes_makes_room() {
        let most = 8 << 20;
        let recorder = FlightRecorder::new(most);
        let (quiet, loud) = (recorder.plugin("quiet"), recorder.plugin("loud"));
        quiet.keep(record(&quiet, "a", "ApiError", Some("no answer")));
        for number in 0..500 {
            let one = record(&loud, &number.to_string(), "ApiError", Some("no answer"));
            one.tape.reserve(MOST_BYTES / 4 * (number % 4));
            loud.keep(one);
            assert!(recorder.size().1 <= most);
        }
        assert_eq!(recorder.find(&query("Network", "a")).len(), 1, "the plugin with few bytes keeps its record");
        assert!(recorder.size().1 > most / 4, "{:?}", recorder.size());
        // There is always room for the tapes of running reconciles.
        let running: Vec<_> = (0..4).map(|_| record(&loud, "r", "synced", None)).collect();
        assert!(running.iter().all(|one| one.tape.reserve(MOST_BYTES / 4)));
        drop((running, quiet, loud));
        assert_eq!(recorder.size(), (0, 0));
    }

    #[test]
    fn a_record_whose_tape_had_no_room_is_not_kept() {
        let recorder = FlightRecorder::new(8 << 20);
        let records = recorder.plugin("p");
        let one = record(&records, "a", "synced", None);
        assert!(!one.tape.reserve(MOST_BYTES + 1));
        records.keep(one);
        assert_eq!(recorder.size(), (0, 0));
    }
}
