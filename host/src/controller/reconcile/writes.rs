//! The writes of a reconcile: for its recording, and for `oarlock explain`.

use super::{Progress, Reconcile};
use crate::apply::{Change, ObjectRef, WriteError};
use crate::controller::ReconcileKey;
use crate::controller::flight_recorder::MadeWrite;
use crate::controller::last_writes::{LastWrite, Writing};
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

impl Reconcile<'_> {
    /// Notes a change of the plugin, and the API server's answer.
    pub(super) fn changed(
        &self,
        progress: &mut Progress,
        change: &Change,
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
        self.remember(object, what, self.write_identity.field_manager(), operation, subresource);
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
        self.remember(key.clone(), what, self.write_identity.host_manager(), operation, subresource);
    }

    /// Notes that the canary's writes of an object are undone: they are not the last ones any more.
    pub(super) fn undid(&self, target: ObjectRef) {
        let what = format!("undo the canary's write of {target}");
        let object = object(target);
        self.controller.last_writes.forget(&object);
        self.remember(object, what, self.write_identity.field_manager(), "Apply", "");
    }

    fn remember(
        &self,
        object: ReconcileKey,
        what: String,
        manager: String,
        operation: &'static str,
        subresource: &str,
    ) {
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
        let (subresource, at, by) = (subresource.to_owned(), jiff::Timestamp::now(), Arc::clone(by));
        self.controller.last_writes.note(object, LastWrite { what, manager, operation, subresource, at, by });
    }
}

fn object(ObjectRef { kind, key }: ObjectRef) -> ReconcileKey {
    ReconcileKey { kind: Arc::new(kind), key }
}
