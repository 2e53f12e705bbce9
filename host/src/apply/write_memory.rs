//! Memory of the host's own writes: versions that the caches must reach, applied documents, expected echoes.

use super::{AppliedMemory, Precondition, WriteIdentity, handover};
use crate::api::{GroupVersionKind, ObjectKey, Resource};
use crate::informer::{EchoSuppressor, Informers, Object};
use serde_json::Value;
use std::sync::Arc;

/// What the host knows of its own writes before the watches show them, and of those of the previous leader.
#[derive(Debug)]
pub(super) struct WriteMemory {
    informers: Informers,
    applied: AppliedMemory,
    echoes: Arc<EchoSuppressor>,
}

impl WriteMemory {
    pub(super) fn new(informers: Informers) -> Self {
        Self { informers, applied: AppliedMemory::default(), echoes: Arc::default() }
    }

    pub(super) fn applied(&self) -> &AppliedMemory {
        &self.applied
    }

    pub(super) fn echoes(&self) -> &Arc<EchoSuppressor> {
        &self.echoes
    }

    /// Records the versions in the handover hints of the previous leader like own writes.
    pub(super) fn note_handover_hints(&self, hints: &[Value]) {
        for (kind, object) in hints.iter().filter_map(handover::read) {
            if object.resource_version().is_empty() {
                self.informers.record_delete(&kind, object.key(), object.uid());
            } else {
                self.informers.record_object(&kind, &object);
            }
        }
    }

    /// Records a write from its response.
    pub(super) fn wrote(&self, write_identity: &WriteIdentity, kind: &GroupVersionKind, object: &Object) {
        self.informers.record_object(kind, object);
        if self.is_watched(kind, object.key()) {
            write_identity.add_handover_hint(kind, object);
        }
    }

    /// Records that an object is deleted.
    pub(super) fn ended(&self, write_identity: &WriteIdentity, kind: &GroupVersionKind, key: &ObjectKey, uid: &str) {
        self.informers.record_delete(kind, key, uid);
        self.applied.forget(uid);
        if self.is_watched(kind, key) {
            write_identity.add_deletion_hint(kind, key, uid);
        }
    }

    fn is_watched(&self, kind: &GroupVersionKind, key: &ObjectKey) -> bool {
        !self.informers.find(kind, key.namespace()).is_empty()
    }

    /// A request sent shortly before the loss of a Lease may arrive after another host became leader. The uid restricts it to the object
    /// that existed when it was sent.
    pub(super) fn guarded(
        &self,
        write_identity: &WriteIdentity,
        resource: &Resource,
        key: &ObjectKey,
        asked: &Precondition,
    ) -> Precondition {
        let mut precondition = asked.clone();
        if write_identity.guard.is_bounded() && precondition.uid.is_none() && !key.name.is_empty() {
            precondition.uid = self.known_uid(resource, key);
        }
        precondition
    }

    /// The uid of the object in the caches.
    fn known_uid(&self, resource: &Resource, key: &ObjectKey) -> Option<String> {
        let stores = self.informers.find(&resource.gvk, key.namespace());
        stores.iter().find_map(|store| store.get(key)).map(|object| object.uid().to_owned())
    }

    /// Records a deletion: of the intended uid, or of the uid in the caches.
    pub(super) fn deleted(
        &self,
        write_identity: &WriteIdentity,
        resource: &Resource,
        key: &ObjectKey,
        precondition: &Precondition,
    ) {
        let uid = precondition.uid.clone().or_else(|| self.known_uid(resource, key));
        if let Some(uid) = uid {
            self.ended(write_identity, &resource.gvk, key, &uid);
        }
    }
}
