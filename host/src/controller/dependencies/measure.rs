//! The cost of the record of reads, for `micro reads`. The host does not use this module.

use super::Dependencies;
use crate::api::{GroupVersionKind, ObjectKey};
use crate::controller::ReconcileKey;
use crate::informer::{Delta, Object};
use crate::plugin::ReadObserver as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The times of one reconcile's record, and of one changed object's search for the keys that read it.
///
/// * `keys` - each of them reads its own objects.
/// * `reads` - objects that each key reads.
/// * `rounds` - reconciles of each key.
#[must_use]
pub fn measure_reads(keys: usize, reads: usize, rounds: usize) -> [Duration; 2] {
    let dependencies = Arc::new(Dependencies::default());
    let (primary, read) =
        (Arc::new(GroupVersionKind::new("", "v1", "Primary")), GroupVersionKind::new("", "v1", "ConfigMap"));
    let keys: Vec<ReconcileKey> = (0..keys)
        .map(|i| ReconcileKey { kind: Arc::clone(&primary), key: ObjectKey::new("default", format!("object-{i:06}")) })
        .collect();
    let objects: Vec<Vec<ObjectKey>> = (0..keys.len())
        .map(|i| (0..reads).map(|n| ObjectKey::new("default", format!("read-{i:06}-{n}"))).collect())
        .collect();
    let mut recorded = Duration::ZERO;
    for round in 0..=rounds {
        let began = Instant::now();
        for (key, objects) in keys.iter().zip(&objects) {
            let recording = dependencies.begin(key);
            for object in objects {
                recording.object(&read, object);
            }
            recording.end(true);
        }
        // The first round is that of new keys.
        if round > 0 {
            recorded += began.elapsed();
        }
    }
    let changes: Vec<Delta> = objects
        .iter()
        .filter_map(|objects| objects.first())
        .filter_map(|key| {
            let json = format!(r#"{{"metadata":{{"namespace":"{}","name":"{}"}}}}"#, key.namespace, key.name);
            Some(Delta::Applied { old: None, new: Arc::new(Object::parse(&json).ok()?), initial: false })
        })
        .collect();
    let began = Instant::now();
    let found: usize = changes.iter().map(|change| dependencies.changed(&read, change).len()).sum();
    let changed = began.elapsed();
    let count = |count: usize| u32::try_from(count.max(1)).unwrap_or(u32::MAX);
    [recorded / count(keys.len() * rounds), changed / count(found)]
}
