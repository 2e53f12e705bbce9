//! Facts about objects that the watches may not show yet: own writes, and handover hints of the previous leader.

use super::{Precondition, WriteIdentity, Writer};
use crate::api::{GroupVersionKind, ObjectKey, Resource};
use crate::informer::Object;
use serde_json::{Value, json};
use std::collections::BTreeMap;

impl WriteIdentity {
    /// Adds a handover hint about an object: the caches of the next leader must show at least this version.
    pub fn add_handover_hint(&self, kind: &GroupVersionKind, object: &Object) {
        let (version, uid) = (Some(object.resource_version()), object.uid());
        self.guard.add_handover_hint(|| named(kind, object.key(), uid, version, &object.labels().collect()));
    }
}

/// The unique name of an object, and the hint: a document with only metadata.
///
/// * `version` - None: the object is deleted.
fn named(
    kind: &GroupVersionKind,
    key: &ObjectKey,
    uid: &str,
    version: Option<&str>,
    labels: &BTreeMap<&str, &str>,
) -> (String, Value) {
    let known = json!({"apiVersion": kind.api_version(), "kind": kind.kind, "metadata": {
        "name": &*key.name, "namespace": &*key.namespace, "uid": uid, "resourceVersion": version, "labels": labels,
    }});
    (format!("{kind} {key}"), known)
}

/// Parses a hint of [`named`]. Without a resourceVersion the object is deleted.
fn read(known: &Value) -> Option<(GroupVersionKind, Object)> {
    let field = |name: &str| known.get(name)?.as_str();
    let kind = GroupVersionKind::from_api_version(field("apiVersion")?, field("kind")?);
    let object = Object::parse(&known.to_string()).ok()?;
    (!object.uid().is_empty()).then_some((kind, object))
}

impl Writer {
    /// Records the handover hints of the previous leader: the caches are not read until they show these versions.
    ///
    /// * `hints` - see [`LeadershipGuard::received_hints`](crate::lease::LeadershipGuard::received_hints).
    pub fn note_handover_hints(&self, hints: &[Value]) {
        for (kind, object) in hints.iter().filter_map(read) {
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
            write_identity.guard.add_handover_hint(|| named(kind, key, uid, None, &BTreeMap::new()));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_host_leaves_the_next_can_read() {
        let kind = GroupVersionKind::new("apps", "v1", "Deployment");
        let text = r#"{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":3},
            "metadata":{"name":"web","namespace":"shop","uid":"u","resourceVersion":"7","labels":{"a":"\u0031"}}}"#;
        let object = Object::parse(text).unwrap();
        let (name, known) = named(&kind, object.key(), object.uid(), Some("7"), &object.labels().collect());
        assert_eq!(name, "apps/v1, Kind=Deployment shop/web");
        let (read_kind, read_object) = read(&known).unwrap();
        assert_eq!((&read_kind, read_object.key(), read_object.uid()), (&kind, object.key(), "u"));
        assert_eq!((read_object.resource_version(), read_object.label("a")), ("7", Some("1")));
        let (_, gone) = named(&kind, object.key(), "u", None, &BTreeMap::new());
        assert_eq!(read(&gone).unwrap().1.resource_version(), "");
    }

    #[test]
    fn l10_garbage_that_somebody_leaves_is_passed_over() {
        for bad in [
            json!(7),
            json!({}),
            json!([]),
            json!({"apiVersion": "v1", "kind": "Pod"}),
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": 7}),
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}),
            json!({"apiVersion": 1, "kind": "Pod", "metadata": {"name": "a", "uid": "u"}}),
        ] {
            assert!(read(&bad).is_none(), "{bad}");
        }
    }
}
