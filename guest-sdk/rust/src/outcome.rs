//! The result of `patch`.

use crate::error::whole_milliseconds;
use crate::{Error, Kind, Result, raw};
use serde::Serialize;
use std::time::Duration;

pub use crate::raw::{
    ApplyChange, Change, DeleteChange, Event, ObjectRef, PatchChange, PatchType, Precondition, Propagation, Severity,
};

/// The result of a patch: changes in order, then events, and the requeue delay.
///
/// ```
/// # use oarlock_guest::Outcome;
/// # let config_map = serde_json::json!({});
/// Outcome::new().apply(&config_map).event_normal("Synced", "Everything is in place");
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Outcome {
    changes: Vec<Change>,
    events: Vec<Event>,
    warnings: Vec<String>,
    requeue_after: Option<Duration>,
    /// The first value that could not be written as JSON, returned as the call's error, so that builders need no `?`.
    problem: Option<Error>,
}

impl Outcome {
    /// No changes in Kubernetes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Server-side apply of `object` (with apiVersion, kind, metadata.name, and metadata.namespace for namespaced kinds): the plugin's
    /// complete intent for it. A conflict with another field manager gives a warning event and a slow retry.
    pub fn apply(self, object: impl Serialize) -> Self {
        self.apply_with(object, |_| {})
    }

    /// [`apply`](Self::apply) with options: `|change| change.force = true`.
    pub fn apply_with(mut self, object: impl Serialize, options: impl FnOnce(&mut ApplyChange)) -> Self {
        if let Some(object) = self.json("apply", object) {
            let mut change = ApplyChange { object, subresource: String::new(), force: false, precondition: anything() };
            options(&mut change);
            self.changes.push(Change::Apply(change));
        }
        self
    }

    /// Creates `object`; if it exists already, that is a failure.
    pub fn create(mut self, object: impl Serialize) -> Self {
        if let Some(object) = self.json("create", object) {
            self.changes.push(Change::Create(object));
        }
        self
    }

    /// Patches an existing object; at admission `None` is the object under review.
    pub fn patch(self, target: Option<ObjectRef>, patch_type: PatchType, patch: impl Serialize) -> Self {
        self.patch_with(target, patch_type, patch, |_| {})
    }

    /// [`patch`](Self::patch) with options: `|change| change.subresource = "status".into()`.
    pub fn patch_with(
        mut self,
        target: Option<ObjectRef>,
        patch_type: PatchType,
        patch: impl Serialize,
        options: impl FnOnce(&mut PatchChange),
    ) -> Self {
        if let Some(patch) = self.json("patch", patch) {
            let subresource = String::new();
            let mut change = PatchChange { target, patch_type, patch, subresource, precondition: anything() };
            options(&mut change);
            self.changes.push(Change::Patch(change));
        }
        self
    }

    /// Deletes an object; an absent object is no failure.
    pub fn delete(self, target: ObjectRef) -> Self {
        self.delete_with(target, |_| {})
    }

    /// [`delete`](Self::delete) with options: `|change| change.precondition.uid = Some(uid)`.
    pub fn delete_with(mut self, target: ObjectRef, options: impl FnOnce(&mut DeleteChange)) -> Self {
        let mut change = DeleteChange { target, propagation: Propagation::Background, precondition: anything() };
        options(&mut change);
        self.changes.push(Change::Delete(change));
        self
    }

    /// A Normal event on the object: `reason` is UpperCamelCase. Written after the changes.
    pub fn event_normal(self, reason: impl Into<String>, message: impl Into<String>) -> Self {
        self.event(Severity::Normal, reason, message)
    }

    /// A Warning event on the object.
    pub fn event_warning(self, reason: impl Into<String>, message: impl Into<String>) -> Self {
        self.event(Severity::Warning, reason, message)
    }

    fn event(mut self, severity: Severity, reason: impl Into<String>, message: impl Into<String>) -> Self {
        self.events.push(Event { severity, reason: reason.into(), message: message.into() });
        self
    }

    /// Admission only: a warning for the user of the request.
    pub fn warning(mut self, message: impl Into<String>) -> Self {
        self.warnings.push(message.into());
        self
    }

    /// Requeue delay without a change. At most a day.
    pub fn requeue_after(mut self, delay: Duration) -> Self {
        self.requeue_after = Some(delay);
        self
    }

    fn json(&mut self, what: &str, value: impl Serialize) -> Option<String> {
        match serde_json::to_string(&value) {
            Ok(text) => Some(text),
            Err(error) => {
                self.problem.get_or_insert(Error::from(error).context(what));
                None
            }
        }
    }

    pub(crate) fn into_raw(self) -> Result<raw::Outcome> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        Ok(raw::Outcome {
            changes: self.changes,
            events: self.events,
            warnings: self.warnings,
            requeue_after_ms: self.requeue_after.map(whole_milliseconds),
        })
    }
}

fn anything() -> Precondition {
    Precondition { uid: None, resource_version: None }
}

/// A reference to one object; `namespace` is empty for cluster-scoped kinds.
#[must_use]
pub fn object_ref(kind: &Kind, namespace: &str, name: &str) -> ObjectRef {
    ObjectRef { kind: kind.into(), key: raw::ObjectKey { namespace: namespace.to_owned(), name: name.to_owned() } }
}
