//! The content of a Lease, as any client may have written it.

use serde_json::{Map, Value, json};
use std::time::Duration;
use tokio::time::Instant;

/// Longest duration accepted from a Lease that another client wrote.
const LONGEST: Duration = Duration::from_secs(300);

/// Annotations of a Lease.
const VERSION: &str = "oarlock.dev/plugin-version";
const DIGEST: &str = "oarlock.dev/plugin-digest";
const CONFIG: &str = "oarlock.dev/plugin-config";
const WANTED_BY: &str = "oarlock.dev/wanted-by";
const HANDOVER_HINTS: &str = "oarlock.dev/known-last";

/// The label that selects Oarlock's Leases.
pub(super) const LABEL: (&str, &str) = ("app.kubernetes.io/managed-by", "oarlock");

/// Annotations about the holder: version, digest and configuration of its controller.
pub(super) type HolderAnnotations = [(&'static str, String)];

/// The annotations for a controller's version, and a digest of its configuration.
pub(super) fn holder_annotations(version: &str, digest: &str, config: &str) -> [(&'static str, String); 3] {
    [(VERSION, version.to_owned()), (DIGEST, digest.to_owned()), (CONFIG, config.to_owned())]
}

/// A Lease. Its reader expects no well-formed content: a field with the wrong type counts as absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Record {
    /// The metadata without labels and annotations.
    metadata: Map<String, Value>,
    labels: Map<String, Value>,
    annotations: Map<String, Value>,
    spec: Map<String, Value>,
}

impl Record {
    /// None: the document has no name or no resourceVersion.
    pub(super) fn read(document: Value) -> Option<Self> {
        let mut document = map_of(Some(document));
        let mut metadata = map_of(document.remove("metadata"));
        let record = Self {
            labels: map_of(metadata.remove("labels")),
            annotations: map_of(metadata.remove("annotations")),
            metadata,
            spec: map_of(document.remove("spec")),
        };
        (!record.name().is_empty() && !text(&record.metadata, "resourceVersion").is_empty()).then_some(record)
    }

    /// A Lease that does not exist yet.
    pub(super) fn new(name: &str, namespace: &str) -> Self {
        let metadata = [("name", name), ("namespace", namespace)];
        let metadata = metadata.into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect();
        Self { metadata, ..Self::default() }
    }

    /// The JSON document for a request.
    pub(super) fn document(&self) -> Value {
        let mut metadata = self.metadata.clone();
        metadata.insert("labels".to_owned(), Value::Object(self.labels.clone()));
        metadata.insert("annotations".to_owned(), Value::Object(self.annotations.clone()));
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": self.spec})
    }

    pub(super) fn name(&self) -> &str {
        text(&self.metadata, "name")
    }

    /// The holder's identity. Empty: the Lease has no holder.
    pub(super) fn holder(&self) -> &str {
        text(&self.spec, "holderIdentity")
    }

    /// Identity of the host that requests this Lease.
    pub(super) fn wanted_by(&self) -> Option<&str> {
        self.annotation(WANTED_BY)
    }

    /// The controller version that the holder runs.
    pub(super) fn version(&self) -> Option<&str> {
        self.annotation(VERSION)
    }

    /// SHA-256 of the controller version that the holder runs.
    pub(super) fn digest(&self) -> Option<&str> {
        self.annotation(DIGEST)
    }

    /// Stands for the configuration of the controller that the holder runs.
    pub(super) fn config(&self) -> Option<&str> {
        self.annotation(CONFIG)
    }

    fn annotation(&self, name: &str) -> Option<&str> {
        Some(text(&self.annotations, name)).filter(|text| !text.is_empty())
    }

    fn seconds(&self) -> Option<u64> {
        self.spec.get("leaseDurationSeconds").and_then(Value::as_u64).filter(|seconds| *seconds > 0)
    }

    /// How long the Lease lasts after a renewal: our duration, or the longer one in the Lease, up to [`LONGEST`].
    fn duration(&self, ours: Duration) -> Duration {
        let said = self.seconds().map(|seconds| Duration::from_secs(seconds).min(LONGEST));
        said.map_or(ours, |said| said.max(ours))
    }

    /// Whether the holder released the Lease, in the form of [`Record::released`] and of client-go. Any other Lease without a holder was
    /// edited by another client, and its former holder may not have noticed.
    fn is_released(&self) -> bool {
        self.spec.get("holderIdentity").and_then(Value::as_str) == Some("") && self.seconds() == Some(1)
    }

    /// The handover hints of the holder that released the Lease.
    pub(super) fn handover_hints(&self) -> Option<&str> {
        self.annotation(HANDOVER_HINTS).filter(|_| self.is_released())
    }

    /// The Lease after `holder` acquires or renews it.
    pub(super) fn renewed(
        &self,
        holder: &str,
        lease_duration: Duration,
        holder_annotations: &HolderAnnotations,
    ) -> Self {
        let mut next = self.clone();
        next.annotations.retain(|_, value| value.is_string());
        next.annotations.remove(HANDOVER_HINTS);
        next.labels.retain(|_, value| value.is_string());
        let now = json!(micro_time());
        let mut spec = Map::new();
        let transitions = self.spec.get("leaseTransitions").and_then(Value::as_i64).unwrap_or(0);
        let mut transitions = i32::try_from(transitions).unwrap_or(0).max(0);
        let mut acquired = self.spec.get("acquireTime").filter(|time| time.is_string()).cloned();
        if self.holder() != holder {
            acquired = None;
            next.annotations.remove(WANTED_BY);
            // The creation of a Lease is no transition.
            transitions = if self.spec.is_empty() { 0 } else { transitions.saturating_add(1) };
        }
        spec.insert("holderIdentity".to_owned(), json!(holder));
        spec.insert("leaseDurationSeconds".to_owned(), json!(lease_duration.as_secs().max(1)));
        spec.insert("acquireTime".to_owned(), acquired.unwrap_or_else(|| now.clone()));
        spec.insert("renewTime".to_owned(), now);
        spec.insert("leaseTransitions".to_owned(), json!(transitions));
        next.spec = spec;
        next.annotations.extend(holder_annotations.iter().map(|(name, value)| ((*name).to_owned(), json!(value))));
        next.labels.insert(LABEL.0.to_owned(), json!(LABEL.1));
        next
    }

    /// The Lease without a holder. The host that requested the Lease keeps its priority.
    pub(super) fn released(&self, handover_hints: Option<String>) -> Self {
        let mut next = self.clone();
        next.annotations.extend(handover_hints.map(|text| (HANDOVER_HINTS.to_owned(), json!(text))));
        next.spec.insert("holderIdentity".to_owned(), json!(""));
        next.spec.insert("leaseDurationSeconds".to_owned(), json!(1));
        next.spec.insert("renewTime".to_owned(), json!(micro_time()));
        next
    }

    /// The Lease with a request of the host `by`.
    pub(super) fn wanted(&self, by: &str) -> Self {
        let mut next = self.clone();
        next.annotations.insert(WANTED_BY.to_owned(), json!(by));
        next
    }
}

fn text<'a>(map: &'a Map<String, Value>, name: &str) -> &'a str {
    map.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn map_of(value: Option<Value>) -> Map<String, Value> {
    match value {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

fn micro_time() -> String {
    oarlock_simulation::now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// A Lease as this host last observed it, and since when it is unchanged by the clock of this host.
#[derive(Clone, Debug)]
pub(super) struct ObservedLease {
    pub(super) record: Record,
    since: Instant,
    /// The Lease was absent at the last refresh.
    pub(super) deleted: bool,
}

impl ObservedLease {
    pub(super) fn new(record: Record, at: Instant) -> Self {
        Self { record, since: at, deleted: false }
    }

    /// Records another observation.
    ///
    /// * `at` - when the response arrived.
    pub(super) fn again(&mut self, record: Record, at: Instant) {
        // A request for the Lease changes only its annotations, and is no renewal.
        if record.spec != self.record.spec || self.deleted {
            self.since = at;
        }
        self.deleted = false;
        self.record = record;
    }

    /// How long the Lease has been unchanged.
    pub(super) fn unchanged_for(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.since)
    }

    /// Whether the holder may still act. The times in the Lease do not count: clocks differ, and jump.
    pub(super) fn is_held(&self, now: Instant, ours: Duration) -> bool {
        !self.record.is_released() && now.saturating_duration_since(self.since) < self.record.duration(ours)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OURS: Duration = Duration::from_secs(15);

    fn lease(spec: &Value) -> Record {
        Record::read(json!({"metadata": {"name": "oarlock-p", "resourceVersion": "7"}, "spec": spec})).unwrap()
    }

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn l5_the_times_a_lease_says_do_not_count() {
        let now = Instant::now();
        for time in ["1970-01-01T00:00:00.000000Z", "2999-01-01T00:00:00.000000Z", "soon"] {
            let spec =
                json!({"holderIdentity": "other", "leaseDurationSeconds": 15, "renewTime": time, "acquireTime": time});
            let seen = ObservedLease::new(lease(&spec), now);
            assert!(seen.is_held(now + seconds(14), OURS), "{time}");
            assert!(!seen.is_held(now + seconds(15), OURS), "{time}");
        }
    }

    #[test]
    fn a_renewal_counts_from_when_it_was_seen_and_a_wish_is_none() {
        let now = Instant::now();
        let of = |renewed: &str| {
            lease(&json!({"holderIdentity": "other", "leaseDurationSeconds": 15, "renewTime": renewed}))
        };
        let mut seen = ObservedLease::new(of("1"), now);
        seen.again(of("1"), now + seconds(10));
        assert!(!seen.is_held(now + seconds(16), OURS), "it had not changed");
        seen.again(of("2"), now + seconds(17));
        assert!(seen.is_held(now + seconds(31), OURS));
        let wanted = of("2").wanted("me");
        assert_eq!(wanted.wanted_by(), Some("me"));
        seen.again(wanted, now + seconds(30));
        assert!(!seen.is_held(now + seconds(32), OURS));
    }

    #[test]
    fn what_was_released_may_be_taken_at_once() {
        let held = lease(&json!({"holderIdentity": "other", "leaseDurationSeconds": 15}));
        let released = held.released(Some("[1]".to_owned()));
        assert_eq!((released.handover_hints(), held.handover_hints()), (Some("[1]"), None));
        assert!(!ObservedLease::new(released.clone(), Instant::now()).is_held(Instant::now(), OURS));
        let taken = released.renewed("me", OURS, &holder_annotations("1.2", "abc", "c"));
        assert_eq!(taken.spec["leaseTransitions"], 1);
        assert_eq!(taken.annotation(HANDOVER_HINTS), None, "the new holder has read them");
        assert_eq!((taken.holder(), taken.version(), taken.digest()), ("me", Some("1.2"), Some("abc")));
        let again = taken.renewed("me", OURS, &[]);
        assert_eq!(again.spec["leaseTransitions"], 1, "a renewal is no transition");
        assert_eq!(again.spec["acquireTime"], taken.spec["acquireTime"]);
        let made = Record::new("oarlock-p", "n").renewed("me", OURS, &[]);
        assert_eq!(made.spec["leaseTransitions"], 0);
        assert!(made.document()["metadata"].get("resourceVersion").is_none(), "it is created");
    }

    #[test]
    fn l10_a_lease_that_lost_its_holder_is_not_free_before_whoever_had_it_has_stopped() {
        let now = Instant::now();
        let spoilt = [
            json!({}),
            json!({"holderIdentity": ""}),
            json!({"holderIdentity": 7, "leaseDurationSeconds": 15}),
            json!({"holderIdentity": "", "leaseDurationSeconds": 15}),
            json!({"leaseDurationSeconds": 1}),
            json!({"holderIdentity": "ghost", "leaseDurationSeconds": 1}),
        ];
        for spec in spoilt {
            let mut seen =
                ObservedLease::new(lease(&json!({"holderIdentity": "other", "leaseDurationSeconds": 15})), now);
            seen.again(lease(&spec), now + seconds(10));
            assert!(seen.is_held(now + seconds(24), OURS), "{spec}");
            assert!(!seen.is_held(now + seconds(25), OURS), "{spec}");
        }
    }

    #[test]
    fn nobody_holds_a_lease_for_years() {
        let now = Instant::now();
        for duration in [json!(i64::MAX), json!(-1), json!(0), json!("long"), json!(null)] {
            let seen =
                ObservedLease::new(lease(&json!({"holderIdentity": "x", "leaseDurationSeconds": duration})), now);
            assert!(!seen.is_held(now + LONGEST, OURS), "{duration}");
            assert!(seen.is_held(now + seconds(1), OURS), "{duration}");
        }
    }

    fn anything() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map(
                    prop_oneof![
                        Just("metadata".to_owned()),
                        Just("spec".to_owned()),
                        Just("name".to_owned()),
                        Just("annotations".to_owned()),
                        Just("labels".to_owned()),
                        Just("resourceVersion".to_owned()),
                        Just("holderIdentity".to_owned()),
                        Just("leaseDurationSeconds".to_owned()),
                        Just("leaseTransitions".to_owned()),
                        Just("renewTime".to_owned()),
                    ],
                    inner,
                    0..6
                )
                .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn garbage_in_a_lease_is_read_and_mended(garbage in anything()) {
            let Some(record) = Record::read(garbage) else { return Ok(()) };
            let mended = record.renewed("me", OURS, &holder_annotations("1", "d", "c"));
            let again = Record::read(mended.document());
            prop_assert_eq!(again.as_ref(), Some(&mended));
            prop_assert_eq!(mended.holder(), "me");
            prop_assert_eq!(mended.duration(seconds(1)), OURS);
            prop_assert_eq!(mended.version(), Some("1"));
            let (released, wanted) = (mended.released(None), record.wanted("you"));
            prop_assert_eq!(released.holder(), "");
            prop_assert_eq!(wanted.wanted_by(), Some("you"));
        }
    }
}
