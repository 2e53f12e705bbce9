//! Keys of the queue, and the parts that all controllers share.

use super::{FlightRecorder, Journals, Pauses, ReconcileFeed, Rehearsal};
use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::Writer;
use crate::apply::events::Recorder;
use crate::informer::Informers;
use crate::lease::Leases;
use crate::metrics::Metrics;
use crate::telemetry::Tracer;
use std::sync::Arc;

/// A key of the queue, which contains only names. Cloning a key copies none of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReconcileKey {
    /// The kind: one of the plugin's primaries.
    pub kind: Arc<GroupVersionKind>,
    /// Namespace and name of the object.
    pub key: ObjectKey,
}

impl std::hash::Hash for ReconcileKey {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        // Groups and versions of one plugin's kinds hardly distinguish keys, and each event hashes a key several times.
        self.kind.kind.hash(state);
        self.key.hash(state);
    }
}

impl std::fmt::Display for ReconcileKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind.kind, self.key)
    }
}

/// The parts that all controllers share.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The watches.
    pub informers: Informers,
    /// The one writer.
    pub writer: Writer,
    /// Events.
    pub recorder: Recorder,
    /// Counters.
    pub metrics: Metrics,
    /// Leader election, where several hosts run.
    pub leases: Leases,
    /// Paused plugins.
    pub pauses: Pauses,
    /// The journals of canaries. None: no plugin can have a canary.
    pub journals: Option<Journals>,
    /// Set for a rehearsal: it decides which keys run, and how often.
    pub rehearsal: Option<Arc<Rehearsal>>,
    /// Recordings of reconciles. None: the host records nothing.
    pub flight_recorder: Option<FlightRecorder>,
    /// Begins traces. None: nothing is traced.
    pub tracer: Option<Tracer>,
    /// Gets each finished reconcile. None: nobody watches.
    pub feed: Option<ReconcileFeed>,
}

impl Shared {
    /// The parts of a host that does not rehearse, and has no paused plugin.
    #[must_use]
    pub fn new(informers: Informers, writer: Writer, recorder: Recorder, metrics: Metrics, leases: Leases) -> Self {
        let pauses = Pauses::default();
        let (journals, rehearsal, flight_recorder, tracer, feed) = Default::default();
        Self {
            informers,
            writer,
            recorder,
            metrics,
            leases,
            pauses,
            journals,
            rehearsal,
            flight_recorder,
            tracer,
            feed,
        }
    }
}
