//! Handover hints: what the leader of a plugin knows of objects, for the caches of the next leader.

use super::WriteIdentity;
use crate::api::{GroupVersionKind, ObjectKey};
use crate::informer::Object;
use serde_json::{Value, json};
use std::collections::BTreeMap;

impl WriteIdentity {
    /// Adds a handover hint about an object: the caches of the next leader must show at least this version.
    pub fn add_handover_hint(&self, kind: &GroupVersionKind, object: &Object) {
        let (version, uid) = (Some(object.resource_version()), object.uid());
        self.guard.add_handover_hint(|| named(kind, object.key(), uid, version, &object.labels().collect()));
    }

    /// Adds the hint that an object is deleted.
    pub(super) fn add_deletion_hint(&self, kind: &GroupVersionKind, key: &ObjectKey, uid: &str) {
        self.guard.add_handover_hint(|| named(kind, key, uid, None, &BTreeMap::new()));
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
pub(super) fn read(known: &Value) -> Option<(GroupVersionKind, Object)> {
    let field = |name: &str| known.get(name)?.as_str();
    let kind = GroupVersionKind::from_api_version(field("apiVersion")?, field("kind")?);
    let object = Object::parse(&known.to_string()).ok()?;
    (!object.uid().is_empty()).then_some((kind, object))
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
