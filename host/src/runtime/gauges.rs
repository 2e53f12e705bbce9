//! Periodic gauges: objects of the informers, registries, tasks, and sizes of the maps.

use crate::api::GroupVersionKind;
use crate::controller::{FlightRecorder, Journals, Shared, Sizes};
use crate::informer::{WatchSpec, WatchStats};
use crate::lifecycle::Handle;
use crate::metrics::Metrics;
use crate::oci::PullStatuses;
use std::collections::BTreeMap;
use std::time::Duration;

/// Interval of the updates.
const COUNTING: Duration = Duration::from_secs(5);

/// Updates the gauges periodically, and keeps the program's share of memory small; never returns.
pub(super) async fn keep(shared: Shared, plugins: Handle, pulled: Option<PullStatuses>) {
    tokio::join!(count(shared, plugins, pulled), super::program::keep_small());
}

async fn count(shared: Shared, plugins: Handle, pulled: Option<PullStatuses>) {
    let mut informers = CountedSizes::default();
    loop {
        let stats = shared.informers.stats();
        maps(&shared, &plugins, &stats);
        informers.count(&shared.metrics, stats);
        shared.metrics.set_tasks(tokio::runtime::Handle::current().metrics().num_alive_tasks());
        let pulled = pulled.as_ref().map(PullStatuses::now).unwrap_or_default();
        for status in pulled.values() {
            shared.metrics.set_registry_answers(&status.reference, status.problem.is_none());
        }
        shared.metrics.retain_references(&pulled.into_values().map(|status| status.reference).collect());
        tokio::time::sleep(COUNTING).await;
    }
}

/// The last figures of the informers.
#[derive(Default)]
struct CountedSizes {
    kinds: BTreeMap<GroupVersionKind, (usize, u64)>,
    relists: BTreeMap<WatchSpec, u64>,
}

impl CountedSizes {
    fn count(&mut self, metrics: &Metrics, stats: Vec<WatchStats>) {
        let mut by_kind: BTreeMap<GroupVersionKind, (usize, u64)> = BTreeMap::new();
        for watch in &stats {
            let (objects, relists) = by_kind.entry(watch.spec.gvk.clone()).or_default();
            *objects += watch.objects;
            // A watch that ended and began again counts from zero; its first list is no relist.
            let again = watch.lists.saturating_sub(1);
            let before = self.relists.get(&watch.spec).filter(|before| **before <= again);
            *relists += again - before.copied().unwrap_or_default();
        }
        self.relists = stats.into_iter().map(|watch| (watch.spec, watch.lists.saturating_sub(1))).collect();
        for gone in self.kinds.keys().filter(|gvk| !by_kind.contains_key(gvk)) {
            metrics.remove_informer(&gone.group, &gone.kind);
        }
        for (gvk, (objects, relists)) in &by_kind {
            metrics.informer(&gvk.group, &gvk.kind, *objects, *relists);
        }
        self.kinds = by_kind;
    }
}

/// The sizes of all maps of docs/memory.md that grow with objects or plugins.
fn maps(shared: &Shared, plugins: &Handle, stats: &[WatchStats]) {
    let metrics = &shared.metrics;
    let of_watches = |number: fn(&WatchStats) -> usize| stats.iter().map(number).sum::<usize>();
    metrics.set_map("objects", of_watches(|watch| watch.objects), Some(of_watches(|watch| watch.bytes)));
    metrics.set_map("own-writes", of_watches(|watch| watch.own_writes), None);
    metrics.set_map("echoes", shared.writer.echoes().len(), None);
    let (documents, bytes) = shared.writer.applied().size();
    metrics.set_map("applied-documents", documents, Some(bytes));
    metrics.set_map("group-versions", shared.writer.requests().discovery().remembered(), None);
    metrics.set_map("events-waiting", shared.recorder.waiting(), None);
    metrics.set_map("events-written", shared.recorder.remembered(), None);
    let (records, bytes) = shared.flight_recorder.as_ref().map(FlightRecorder::size).unwrap_or_default();
    metrics.set_map("recordings", records, Some(bytes));
    let sizes: Vec<Sizes> = plugins.controllers().iter().map(|controller| controller.sizes()).collect();
    let of_plugins = |number: fn(&Sizes) -> usize| sizes.iter().map(number).sum::<usize>();
    metrics.set_map("tombstones", of_plugins(|one| one.tombstones), Some(of_plugins(|one| one.tombstone_bytes)));
    metrics.set_map("timers", of_plugins(|one| one.timers), None);
    metrics.set_map("backoffs", of_plugins(|one| one.failing), None);
    metrics.set_map("patched", of_plugins(|one| one.patched), None);
    metrics.set_map("struck", of_plugins(|one| one.struck), None);
    let bytes = of_plugins(|one| one.dependency_bytes);
    metrics.set_map("rollouts", of_plugins(|one| one.compared), None);
    metrics.set_map("canary-journals", shared.journals.as_ref().map_or(0, Journals::len), None);
    metrics.set_map("dependencies", of_plugins(|one| one.dependencies), Some(bytes));
}
