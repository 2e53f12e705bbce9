//! Tombstones: the last state of deleted objects, for plugins without a finalizer. Their key runs once more, without an object.

use super::ReconcileKey;
use crate::informer::Object;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Most objects, and their bytes. Beyond that the oldest are dropped, and with them their last run.
const CAPACITY: usize = 10_000;
const CAPACITY_BYTES: usize = 32 << 20;

/// Lifetime of a standby's tombstones: the leader has reconciled the deletion by then.
const A_WHILE: Duration = Duration::from_secs(60);

/// The last states of deleted objects.
#[derive(Debug, Default)]
pub(super) struct Tombstones {
    inner: Mutex<TombstoneState>,
}

#[derive(Debug, Default)]
struct TombstoneState {
    objects: HashMap<ReconcileKey, Tombstone>,
    /// The keys in the order of their deletion, oldest first.
    order: BTreeMap<u64, ReconcileKey>,
    next: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Tombstone {
    last: Arc<Object>,
    turn: u64,
    /// None: kept until the key has run.
    until: Option<Instant>,
}

impl Tombstones {
    fn inner(&self) -> MutexGuard<'_, TombstoneState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers an object until its key has run.
    pub(super) fn put(&self, key: &ReconcileKey, object: &Arc<Object>) {
        self.inner().put(key, object, None);
    }

    /// Remembers an object on a standby, for [`A_WHILE`].
    pub(super) fn put_for_a_while(&self, key: &ReconcileKey, object: &Arc<Object>) {
        let mut inner = self.inner();
        inner.expire();
        inner.put(key, object, Some(Instant::now() + A_WHILE));
    }

    pub(super) fn get(&self, key: &ReconcileKey) -> Option<Arc<Object>> {
        self.inner().objects.get(key).filter(|one| !one.is_over()).map(|one| Arc::clone(&one.last))
    }

    /// Drops the expired tombstones of a standby.
    pub(super) fn expire(&self) {
        self.inner().expire();
    }

    /// The number of tombstones, and their bytes.
    pub(super) fn size(&self) -> (usize, usize) {
        let inner = self.inner();
        (inner.objects.len(), inner.bytes)
    }

    /// The keys of all tombstones, which from now on are kept until their key has run.
    pub(super) fn take_over(&self) -> Vec<ReconcileKey> {
        let mut inner = self.inner();
        inner.expire();
        for one in inner.objects.values_mut() {
            one.until = None;
        }
        inner.objects.keys().cloned().collect()
    }

    /// From now on this host is a standby: remembers all of them for a minute, as those of a standby.
    pub(super) fn hand_over(&self) {
        let until = Instant::now() + A_WHILE;
        for one in self.inner().objects.values_mut() {
            one.until.get_or_insert(until);
        }
    }

    /// Forgets the tombstone that [`get`](Self::get) returned, unless a later deletion replaced it.
    pub(super) fn remove(&self, key: &ReconcileKey, last: &Arc<Object>) {
        let mut inner = self.inner();
        if inner.objects.get(key).is_some_and(|one| Arc::ptr_eq(&one.last, last)) {
            inner.forget(key);
        }
    }
}

impl Tombstone {
    fn is_over(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }
}

impl TombstoneState {
    fn put(&mut self, key: &ReconcileKey, object: &Arc<Object>, until: Option<Instant>) {
        // A key that is deleted again is as new as any other.
        self.forget(key);
        let turn = self.next;
        self.next += 1;
        self.bytes += object.heap_bytes();
        self.objects.insert(key.clone(), Tombstone { last: Arc::clone(object), turn, until });
        self.order.insert(turn, key.clone());
        while self.objects.len() > CAPACITY || self.bytes > CAPACITY_BYTES {
            let Some((_, oldest)) = self.order.first_key_value() else { break };
            let oldest = oldest.clone();
            self.forget(&oldest);
        }
    }

    fn forget(&mut self, key: &ReconcileKey) {
        if let Some(one) = self.objects.remove(key) {
            self.order.remove(&one.turn);
            self.bytes = self.bytes.saturating_sub(one.last.heap_bytes());
        }
    }

    fn expire(&mut self) {
        let over: Vec<ReconcileKey> =
            self.objects.iter().filter(|(_, one)| one.is_over()).map(|(key, _)| key.clone()).collect();
        for key in over {
            self.forget(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::GroupVersionKind;
    use serde_json::json;

    /// A reconcile that took the first deletion for a gap in the watch must not drop the second one.
    #[test]
    fn an_object_that_goes_again_keeps_its_last_run() {
        let tombstones = Tombstones::default();
        let object = || {
            let json = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1"}});
            Arc::new(Object::parse(&json.to_string()).unwrap())
        };
        let (first, second) = (object(), object());
        let key = ReconcileKey { kind: Arc::new(GroupVersionKind::new("", "v1", "Pod")), key: first.key().clone() };
        tombstones.put(&key, &first);
        let seen = tombstones.get(&key).unwrap();
        tombstones.put(&key, &second);
        tombstones.remove(&key, &seen);
        assert!(tombstones.get(&key).is_some());
        tombstones.remove(&key, &second);
        assert!(tombstones.get(&key).is_none());
    }

    fn named(name: &str, padding: usize) -> (ReconcileKey, Arc<Object>) {
        let json = json!({"apiVersion": "v1", "kind": "Pod", "data": "x".repeat(padding),
            "metadata": {"name": name, "namespace": "n", "uid": name, "resourceVersion": "1"}});
        let object = Arc::new(Object::parse(&json.to_string()).unwrap());
        let kind = Arc::new(GroupVersionKind::new("", "v1", "Pod"));
        (ReconcileKey { kind, key: object.key().clone() }, object)
    }

    #[test]
    fn b11_a_key_that_is_deleted_again_is_not_the_oldest() {
        let tombstones = Tombstones::default();
        let (again, object) = named("again", 0);
        tombstones.put(&again, &object);
        for i in 1..CAPACITY {
            let (key, object) = named(&format!("p{i}"), 0);
            tombstones.put(&key, &object);
        }
        tombstones.put(&again, &object);
        let (key, object) = named("one-more", 0);
        tombstones.put(&key, &object);
        assert!(tombstones.get(&again).is_some(), "the one that was deleted last but one is forgotten");
        assert!(tombstones.get(&named("p1", 0).0).is_none(), "the oldest is remembered");
    }

    #[tokio::test(start_paused = true)]
    async fn b11_what_a_standby_remembers_ends_without_a_further_deletion() {
        let tombstones = Tombstones::default();
        let (key, object) = named("a", 0);
        tombstones.put_for_a_while(&key, &object);
        tokio::time::advance(A_WHILE / 2).await;
        // Deleted again: the minute begins anew.
        tombstones.put_for_a_while(&key, &object);
        tokio::time::advance(A_WHILE / 2).await;
        assert!(tombstones.get(&key).is_some());
        tokio::time::advance(A_WHILE / 2).await;
        assert!(tombstones.get(&key).is_none());
        tombstones.expire();
        let inner = tombstones.inner();
        assert_eq!((inner.objects.len(), inner.order.len(), inner.bytes), (0, 0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn b11_a_standby_that_takes_over_forgets_nothing_it_still_has_to_do() {
        let tombstones = Tombstones::default();
        let (key, object) = named("a", 0);
        tombstones.put_for_a_while(&key, &object);
        assert_eq!(tombstones.take_over(), std::slice::from_ref(&key));
        tokio::time::advance(A_WHILE * 2).await;
        assert!(tombstones.get(&key).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn b11_a_host_that_loses_a_lease_remembers_deletions_for_a_minute_only() {
        let tombstones = Tombstones::default();
        let (key, object) = named("a", 0);
        tombstones.put(&key, &object);
        tombstones.hand_over();
        assert!(tombstones.get(&key).is_some());
        tokio::time::advance(A_WHILE).await;
        tombstones.expire();
        assert_eq!(tombstones.size(), (0, 0));
    }

    #[test]
    fn b11_large_objects_are_bounded_in_bytes() {
        let tombstones = Tombstones::default();
        for i in 0..100 {
            let (key, object) = named(&format!("p{i}"), 1 << 20);
            tombstones.put(&key, &object);
        }
        let inner = tombstones.inner();
        assert!(inner.bytes <= CAPACITY_BYTES && inner.objects.len() >= 16, "{} {}", inner.bytes, inner.objects.len());
        assert_eq!(inner.objects.len(), inner.order.len());
    }
}
