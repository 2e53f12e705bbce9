//! Metrics of the host's maps and tasks, which must not grow without bound.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::series::Series;

#[derive(Debug)]
pub(super) struct MapFamilies {
    entries: Series<MapLabels, Gauge>,
    bytes: Series<MapLabels, Gauge>,
    pub(super) tasks: Gauge,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct MapLabels {
    map: &'static str,
}

impl MapFamilies {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let families =
            Self { entries: Series::new(Gauge::default), bytes: Series::new(Gauge::default), tasks: Gauge::default() };
        registry.register("oarlock_map_entries", "Entries of a map of the host, by map", families.entries.clone());
        registry.register(
            "oarlock_map_bytes",
            "Bytes of the entries of a map of the host, by map, for maps that count them",
            families.bytes.clone(),
        );
        registry.register("oarlock_tasks", "Asynchronous tasks that have not ended", families.tasks.clone());
        families
    }

    pub(super) fn set(&self, map: &'static str, entries: usize, bytes: Option<usize>) {
        self.entries.get(&MapLabels { map }).set(super::count(entries));
        if let Some(bytes) = bytes {
            self.bytes.get(&MapLabels { map }).set(super::count(bytes));
        }
    }
}
