//! State and sizes of a controller, for people and metrics.

use super::{Controller, Loaded};
use serde_json::{Value, json};

/// Sizes of a controller's maps, in entries unless the name says bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sizes {
    /// Deleted objects whose key has to run once more.
    pub tombstones: usize,
    /// Bytes of the deleted objects.
    pub tombstone_bytes: usize,
    /// Keys with a timer.
    pub timers: usize,
    /// Keys with a backoff.
    pub failing: usize,
    /// Objects whose patches are counted, to slow down a fight.
    pub patched: usize,
    /// Keys remembered because of strikes.
    pub struck: usize,
    /// Reads on which keys depend.
    pub dependencies: usize,
    /// Bytes of the reads and their keys.
    pub dependency_bytes: usize,
    /// Objects and writes that the comparisons of a rollout remember.
    pub compared: usize,
}

impl Controller {
    /// State of the controller for `/plugins`.
    #[must_use]
    pub fn describe(&self) -> Value {
        let Some(version) = self.current() else { return json!({}) };
        let Loaded { manifest, component, guest } = &version.loaded;
        let mut described = json!({
            "version": manifest.version,
            "digest": format!("sha256:{}", component.digest),
            "workers": guest.grants.workers(manifest),
            "resyncSeconds": guest.grants.resync(manifest).as_secs(),
            "waitingFor": version.waiting_for(),
            "queueDepth": self.queue.len(),
            "outOfSync": self.marks.out_of_sync.describe(),
            "pausedObjects": self.marks.paused.describe(),
            "instanceMemoryBytes": version.pool.most_memory_bytes(),
            "warmInstances": version.pool.idle().instances,
            "warmMemoryBytes": version.pool.idle().memory_bytes,
            "objects": version.primaries().map(|(kind, stores)| {
                (kind.to_string(), json!(stores.map(|of| of.store.len()).sum::<usize>()))
            }).collect::<serde_json::Map<_, _>>(),
        });
        let warnings = version.dead_mappings();
        if let (Some(all), false) = (described.as_object_mut(), warnings.is_empty()) {
            all.insert("warnings".to_owned(), json!(warnings));
        }
        if let (Some(all), Value::Object(stats)) = (described.as_object_mut(), self.stats.describe(&component.digest)) {
            all.extend(stats);
            all.extend(self.lead.election.describe().map(|lease| ("lease".to_owned(), lease)));
        }
        described
    }

    /// The sizes of the maps with keys.
    #[must_use]
    pub fn sizes(&self) -> Sizes {
        let (tombstones, tombstone_bytes) = self.tombstones.size();
        let queue = self.queue.snapshot(0);
        let dependencies = self.dependencies.size();
        Sizes {
            tombstones,
            tombstone_bytes,
            timers: queue.delayed,
            failing: queue.failing,
            patched: self.breaker.remembered(),
            struck: self.health.remembered(),
            dependencies: dependencies.reads,
            dependency_bytes: dependencies.bytes,
            compared: self.version.rollout().map_or(0, |rollout| rollout.remembered()),
        }
    }
}
