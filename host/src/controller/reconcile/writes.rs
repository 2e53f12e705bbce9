//! The writes of a reconcile: for its recording, and for `oarlock explain`.

use super::{Progress, Reconcile};
use crate::apply::{Change, ObjectRef, WriteError, owned};
use crate::controller::ReconcileKey;
use crate::controller::flight_recorder::MadeWrite;
use crate::controller::last_writes::{LastWrite, Writing, given_fields};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// A write of the host about the object of the reconcile.
#[derive(Clone, Copy, Debug)]
pub(super) enum HostWrite {
    AddFinalizer,
    RemoveFinalizer,
    Status,
    Acknowledgement,
}

impl HostWrite {
    fn as_str(self) -> &'static str {
        match self {
            Self::AddFinalizer => "add finalizer",
            Self::RemoveFinalizer => "remove finalizer",
            Self::Status => "apply status",
            Self::Acknowledgement => "acknowledge reconcile-at",
        }
    }
}

/// The fields that a write concerns, in the words of managedFields, and those to which it gave other values.
struct Fields<'w> {
    manager: String,
    operation: &'static str,
    subresource: &'w str,
    fields: Option<BTreeSet<String>>,
}

/// Longest object whose fields are compared with a document that is applied, in bytes.
const OBJECT_BYTES: usize = 64 << 10;

impl Reconcile<'_> {
    /// The fields to which an apply is about to give other values, as far as the caches know. None: all fields of its manager, because it owns none
    /// yet, or because the object is in no cache or too long.
    pub(super) fn gives(&self, change: &Change) -> Option<BTreeSet<String>> {
        let (Change::Apply { object, subresource, .. }, target) = (change, change.target()?) else { return None };
        let stores = self.controller.shared.informers.find(&target.kind, Some(&target.key.namespace));
        let cached = stores.into_iter().find_map(|store| store.get(&target.key))?;
        if cached.json().len() > OBJECT_BYTES {
            return None;
        }
        given_fields(object, &owned(&cached, &self.write_identity.field_manager(), subresource)?)
    }

    /// Notes a change of the plugin, and the API server's answer.
    ///
    /// * `fields` - what it gave other values, see [`Self::gives`].
    pub(super) fn changed(
        &self,
        progress: &mut Progress,
        change: &Change,
        fields: Option<BTreeSet<String>>,
        answer: &Result<(), WriteError>,
        took: Duration,
    ) {
        let what = change.summary();
        // What is not made may name a secret.
        let what = if answer.is_ok() { what } else { self.write_identity.secrets.hidden(what) };
        progress.record(|results| results.writes.push(MadeWrite::new(what.clone(), answer, took)));
        let Some(target) = change.target().filter(|target| !target.key.name.is_empty() && answer.is_ok()) else {
            return;
        };
        let object = object(target);
        let (operation, subresource) = match change {
            Change::Delete { .. } => return self.controller.last_writes.forget(&object),
            Change::Apply { subresource, .. } => ("Apply", subresource.as_str()),
            Change::Patch { subresource, .. } => ("Update", subresource.as_str()),
            Change::Create(_) => ("Update", ""),
        };
        let manager = self.write_identity.field_manager();
        self.remember(object, what, Fields { manager, operation, subresource, fields });
    }

    /// Notes a write of the host about the object, and the API server's answer.
    pub(super) fn host_wrote<T>(
        &self,
        progress: &mut Progress,
        write: HostWrite,
        answer: &Result<T, WriteError>,
        took: Duration,
    ) {
        let key = &self.item.key;
        let what = format!("{} of {key}", write.as_str());
        let made = MadeWrite::new(what.clone(), answer, took);
        if matches!(write, HostWrite::AddFinalizer) {
            // It comes before the calls, which have a recording.
            progress.before.push(made);
        } else {
            progress.record(|results| results.writes.push(made));
        }
        if answer.is_err() {
            return;
        }
        progress.written.note(|| write.as_str().to_owned());
        let (operation, subresource) = match write {
            HostWrite::RemoveFinalizer => return self.controller.last_writes.forget(key),
            HostWrite::Status => ("Apply", "status"),
            HostWrite::AddFinalizer | HostWrite::Acknowledgement => ("Update", ""),
        };
        let manager = self.write_identity.host_manager();
        self.remember(key.clone(), what, Fields { manager, operation, subresource, fields: None });
    }

    /// Notes that the canary's writes of an object are undone: they are not the last ones any more.
    pub(super) fn undid(&self, target: ObjectRef) {
        let what = format!("undo the canary's write of {target}");
        let object = object(target);
        self.controller.last_writes.forget(&object);
        let manager = self.write_identity.field_manager();
        self.remember(object, what, Fields { manager, operation: "Apply", subresource: "", fields: None });
    }

    fn remember(&self, object: ReconcileKey, what: String, written: Fields<'_>) {
        let by = self.writing.get_or_init(|| {
            Arc::new(Writing {
                version: self.version.loaded.manifest.version.clone(),
                digest: self.version.loaded.component.digest.clone(),
                of: self.item.key.clone(),
                trigger: self.item.trigger.as_str(),
                cause: self.cause(),
                correlation_id: self.correlation_id.clone(),
            })
        });
        let Fields { manager, operation, subresource, fields } = written;
        let (subresource, at, by) = (subresource.to_owned(), jiff::Timestamp::now(), Arc::clone(by));
        self.controller.last_writes.note(object, LastWrite { what, manager, operation, subresource, fields, at, by });
    }
}

fn object(ObjectRef { kind, key }: ObjectRef) -> ReconcileKey {
    ReconcileKey { kind: Arc::new(kind), key }
}
