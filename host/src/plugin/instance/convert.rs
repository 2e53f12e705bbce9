//! Conversion between the contract's generated types and the host's own.

use super::{MESSAGE_LIMIT_BYTES, bad};
use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::events::Event;
use crate::apply::reviewed::ReviewedPatch;
use crate::apply::{Change, ObjectRef, PatchKind, Precondition, Propagation};
use crate::plugin::bindings::{reconcile, types};
use crate::plugin::call::{CallError, Request, Trigger};
use crate::secrets::KnownSecrets;
use serde_json::Value;
use std::time::Duration;

/// Shortest and longest requeue delay of a guest: without a delay one object would keep a worker busy for ever.
const REQUEUE: std::ops::RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(24 * 60 * 60);

/// Converts a change into the host's own type.
///
/// * `json` - parses a document from its name and its text.
pub(super) fn change(
    change: reconcile::Change,
    json: impl Fn(&str, &str) -> Result<Value, CallError>,
) -> Result<Change, CallError> {
    Ok(match change {
        reconcile::Change::Apply(c) => Change::Apply {
            object: json("an object to apply", &c.object)?,
            subresource: checked_subresource(c.subresource)?,
            force: c.force,
            precondition: precondition(c.precondition),
        },
        reconcile::Change::Create(object) => Change::Create(json("an object to create", &object)?),
        reconcile::Change::Patch(c) => {
            let Some(target) = c.target else {
                return Err(bad("patch", "a patch without a target, which is for admission only".to_owned()));
            };
            Change::Patch {
                target: object_ref(target),
                kind: patch_kind(c.patch_type),
                patch: json("a patch", &c.patch)?,
                subresource: checked_subresource(c.subresource)?,
                precondition: precondition(c.precondition),
            }
        }
        reconcile::Change::Delete(c) => Change::Delete {
            target: object_ref(c.target),
            propagation: match c.propagation {
                reconcile::Propagation::Background => Propagation::Background,
                reconcile::Propagation::Foreground => Propagation::Foreground,
                reconcile::Propagation::Orphan => Propagation::Orphan,
            },
            precondition: precondition(c.precondition),
        },
    })
}

/// Whether a change patches the object under review: it has no target, or that object as its target.
pub(super) fn of_reviewed(change: &reconcile::Change, request: &Request) -> bool {
    let reconcile::Change::Patch(patch) = change else { return false };
    let same = |target: &reconcile::ObjectRef| {
        kind_from(target.kind.clone()) == request.kind && key_from(target.key.clone()) == request.key
    };
    request.review.is_some() && patch.target.as_ref().is_none_or(same)
}

/// Converts a patch of the object under review into the host's own type.
pub(super) fn reviewed(
    change: reconcile::Change,
    json: impl Fn(&str, &str) -> Result<Value, CallError>,
) -> Result<Option<ReviewedPatch>, CallError> {
    let reconcile::Change::Patch(patch) = change else { return Ok(None) };
    Ok(Some(ReviewedPatch { kind: patch_kind(patch.patch_type), patch: json("a patch", &patch.patch)? }))
}

fn patch_kind(kind: reconcile::PatchType) -> PatchKind {
    match kind {
        reconcile::PatchType::JsonPatch => PatchKind::Json,
        reconcile::PatchType::MergePatch => PatchKind::Merge,
        reconcile::PatchType::StrategicMergePatch => PatchKind::Strategic,
    }
}

/// The size of a change's document.
pub(super) fn document_bytes(change: &reconcile::Change) -> usize {
    match change {
        reconcile::Change::Apply(c) => c.object.len(),
        reconcile::Change::Create(object) => object.len(),
        reconcile::Change::Patch(c) => c.patch.len(),
        reconcile::Change::Delete(_) => 0,
    }
}

/// A text of the guest as the host keeps it and passes it on: short, in one line, without secrets.
pub(super) fn said(secrets: &KnownSecrets, text: &str) -> String {
    crate::quoted(&secrets.hide(text, MESSAGE_LIMIT_BYTES), MESSAGE_LIMIT_BYTES)
}

pub(super) fn guest_error(error: types::Error, secrets: &KnownSecrets) -> CallError {
    let cut = |text: &str| said(secrets, text);
    match error {
        types::Error::Transient(retry) => {
            CallError::Transient { delay: requeue(retry.delay_ms), message: cut(&retry.message) }
        }
        types::Error::Terminal(message) => CallError::Terminal(cut(&message)),
        types::Error::Denied(denial) => {
            let reason = cut(&denial.reason);
            let reason = if reason.bytes().all(|b| b.is_ascii_alphanumeric()) { reason } else { String::new() };
            let code = if (400..600).contains(&denial.code) { denial.code } else { 403 };
            CallError::Denied { code, reason, message: cut(&denial.message) }
        }
    }
}

pub(super) fn requeue(milliseconds: Option<u64>) -> Option<Duration> {
    milliseconds.map(|ms| Duration::from_millis(ms).clamp(*REQUEUE.start(), *REQUEUE.end()))
}

pub(super) fn event(event: &reconcile::Event, secrets: &KnownSecrets) -> Event {
    Event {
        warning: matches!(event.severity, reconcile::Severity::Warning),
        reason: said(secrets, &event.reason),
        message: said(secrets, &event.message),
    }
}

fn precondition(p: reconcile::Precondition) -> Precondition {
    Precondition { uid: p.uid, resource_version: p.resource_version }
}

fn object_ref(r: reconcile::ObjectRef) -> ObjectRef {
    ObjectRef { kind: kind_from(r.kind), key: key_from(r.key) }
}

/// A subresource becomes part of a URL, and so is checked.
fn checked_subresource(subresource: String) -> Result<String, CallError> {
    if subresource.bytes().all(|b| b.is_ascii_lowercase()) {
        return Ok(subresource);
    }
    Err(bad("patch", format!("{subresource:?} for a subresource, which is no word in lower case")))
}

pub(in crate::plugin) fn kind_from(kind: types::GroupVersionKind) -> GroupVersionKind {
    GroupVersionKind::new(kind.group, kind.version, kind.kind)
}

pub(in crate::plugin) fn key_from(key: types::ObjectKey) -> ObjectKey {
    ObjectKey::new(key.namespace, key.name)
}

pub(super) fn to_wit(request: &Request) -> reconcile::Request {
    reconcile::Request {
        kind: types::GroupVersionKind {
            group: request.kind.group.clone(),
            version: request.kind.version.clone(),
            kind: request.kind.kind.clone(),
        },
        key: types::ObjectKey { namespace: request.key.namespace.to_string(), name: request.key.name.to_string() },
        uid: request.uid.clone(),
        object: request.object.as_deref().map(str::to_owned),
        last_seen: request.last_seen.as_deref().map(str::to_owned),
        deleting: request.deleting,
        trigger: match request.trigger {
            _ if request.review.is_some() => types::Trigger::Admission,
            Trigger::Event => types::Trigger::Event,
            Trigger::InitialList => types::Trigger::InitialList,
            Trigger::Resync => types::Trigger::Resync,
            Trigger::Requeue => types::Trigger::Requeue,
            Trigger::Retry => types::Trigger::Retry,
            Trigger::Swap => types::Trigger::Swap,
        },
        attempt: request.attempt,
        correlation_id: request.correlation_id.clone(),
        review: request.review.as_deref().map(str::to_owned),
        dry_run: request.dry_run,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t10_what_a_guest_says_is_escaped_where_it_enters() {
        let secrets = KnownSecrets::default();
        let CallError::Terminal(message) = guest_error(types::Error::Terminal("\x1b[2Jall\nwell".to_owned()), &secrets)
        else {
            panic!("another error")
        };
        assert_eq!(message, "\\u{1b}[2Jall\\nwell");
        let said = reconcile::Event {
            severity: reconcile::Severity::Normal,
            reason: "Done\x07".to_owned(),
            message: "\u{202e}".to_owned(),
        };
        let said = event(&said, &secrets);
        assert_eq!((said.reason.as_str(), said.message.as_str()), ("Done\\u{7}", "\\u{202e}"));
        assert_eq!(super::said(&secrets, "\x1b]0;owned\x07"), "\\u{1b}]0;owned\\u{7}");
    }

    #[test]
    fn t11_a_key_cannot_come_back_at_once() {
        assert_eq!(requeue(Some(0)), Some(Duration::from_millis(100)));
        assert_eq!(requeue(Some(250)), Some(Duration::from_millis(250)));
        assert_eq!(requeue(Some(u64::MAX)), Some(Duration::from_secs(86_400)));
        assert_eq!(requeue(None), None);
    }
}
