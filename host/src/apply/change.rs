//! Changes as data, and their validation without a server.

use super::WriteError;
use crate::api::{GroupVersionKind, ObjectKey, Resource};
use serde_json::{Value, json};

/// A write that a plugin requests.
#[derive(Clone, Debug)]
pub enum Change {
    /// Server-side apply of the plugin's complete intent for an object.
    Apply {
        /// The document, with apiVersion, kind and metadata.name.
        object: Value,
        /// Empty for the object itself.
        subresource: String,
        /// Take over fields from other managers.
        force: bool,
        /// Condition of the write.
        precondition: Precondition,
    },
    /// A new object.
    Create(Value),
    /// A patch of an existing object.
    Patch {
        /// The object.
        target: ObjectRef,
        /// The patch type.
        kind: PatchKind,
        /// The patch.
        patch: Value,
        /// Empty for the object itself.
        subresource: String,
        /// Condition of the write.
        precondition: Precondition,
    },
    /// A deletion.
    Delete {
        /// The object.
        target: ObjectRef,
        /// Treatment of the dependents.
        propagation: Propagation,
        /// Condition of the write.
        precondition: Precondition,
    },
}

impl Change {
    /// Verb, kind and object, in one line: `apply RoleBinding team-blue/admins`.
    #[must_use]
    pub fn summary(&self) -> String {
        let (verb, subresource, target) = match self {
            Self::Apply { object, subresource, .. } => ("apply", subresource.as_str(), named(object)),
            Self::Create(object) => ("create", "", named(object)),
            Self::Patch { target, subresource, .. } => ("patch", subresource.as_str(), target.to_string()),
            Self::Delete { target, .. } => ("delete", "", target.to_string()),
        };
        let of = if subresource.is_empty() { String::new() } else { format!("{subresource} of ") };
        crate::quoted(&format!("{verb} {of}{target}"), SUMMARY_BYTES)
    }

    /// The object that it changes. None: its document does not name one.
    #[must_use]
    pub fn target(&self) -> Option<ObjectRef> {
        match self {
            Self::Apply { object, .. } | Self::Create(object) => target_of(object).ok(),
            Self::Patch { target, .. } | Self::Delete { target, .. } => Some(target.clone()),
        }
    }

    /// The document or the patch. None: a deletion.
    #[must_use]
    pub fn document(&self) -> Option<&Value> {
        match self {
            Self::Apply { object, .. } | Self::Create(object) => Some(object),
            Self::Patch { patch, .. } => Some(patch),
            Self::Delete { .. } => None,
        }
    }
}

/// Longest summary of a change: names are the plugin's words.
const SUMMARY_BYTES: usize = 256;

/// Kind and key of a document, as far as it names them.
fn named(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let kind = if text("/kind").is_empty() { "an object without a kind" } else { text("/kind") };
    let name = match (text("/metadata/name"), text("/metadata/generateName")) {
        ("", "") => return format!("{kind} without a name"),
        ("", prefix) => format!("{prefix}…"),
        (name, _) => name.to_owned(),
    };
    format!("{kind} {}", ObjectKey::new(text("/metadata/namespace"), name))
}

/// One object of one kind.
#[derive(Clone, Debug)]
pub struct ObjectRef {
    /// Its kind.
    pub kind: GroupVersionKind,
    /// Namespace and name.
    pub key: ObjectKey,
}

impl std::fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind.kind, self.key)
    }
}

/// Refuse the write when the object is no longer this one.
#[derive(Clone, Debug, Default)]
pub struct Precondition {
    /// The expected uid.
    pub uid: Option<String>,
    /// The expected resourceVersion.
    pub resource_version: Option<String>,
}

/// The type of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    /// JSON Patch, RFC 6902.
    Json,
    /// JSON Merge Patch, RFC 7386.
    Merge,
    /// Kubernetes' strategic merge patch, by merge keys.
    Strategic,
}

impl PatchKind {
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json-patch+json",
            Self::Merge => "application/merge-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
        }
    }
}

/// Deletion propagation: the treatment of an object's dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// Dependents are deleted after the object.
    Background,
    /// Dependents are deleted before the object.
    Foreground,
    /// Dependents are kept.
    Orphan,
}

/// The kind and key in a document.
pub(crate) fn target_of(object: &Value) -> Result<ObjectRef, WriteError> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let api_version = text("/apiVersion");
    let kind = text("/kind");
    if api_version.is_empty() || kind.is_empty() {
        return Err(WriteError::Malformed("the object has no apiVersion or no kind".to_owned()));
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let name = text("/metadata/name");
    if name.is_empty() && text("/metadata/generateName").is_empty() {
        return Err(WriteError::Malformed(format!("the {kind} has no metadata.name")));
    }
    Ok(ObjectRef {
        kind: GroupVersionKind::new(group, version, kind),
        key: ObjectKey::new(text("/metadata/namespace"), name),
    })
}

/// The key, if it fits the scope of its kind and stays within its URL path segments.
pub(super) fn checked_key(resource: &Resource, key: &ObjectKey) -> Result<ObjectKey, WriteError> {
    let kind = &resource.gvk.kind;
    if resource.namespaced && key.namespace.is_empty() {
        return Err(WriteError::Malformed(format!(
            "{kind} {:?} has no metadata.namespace, but is namespaced",
            key.name
        )));
    }
    if !resource.namespaced && !key.namespace.is_empty() {
        return Err(WriteError::Malformed(format!("{kind} {key} has a metadata.namespace, but is cluster-scoped")));
    }
    if key.name.is_empty() {
        // A URL without a name is that of the collection.
        return Err(WriteError::Malformed(format!("{kind} without a metadata.name")));
    }
    for part in [&key.namespace, &key.name] {
        if part.contains(['/', '%', '?', '#']) || matches!(&**part, "." | "..") {
            return Err(WriteError::Malformed(format!("{kind} {key}: {part:?} is not a name")));
        }
    }
    Ok(key.clone())
}

/// Refuses a kind that could leave its URL path segments. A text that is no kind at all is simply not served.
pub(super) fn checked_kind(kind: &GroupVersionKind) -> Result<(), WriteError> {
    let plain = |text: &str, further: &[u8]| {
        text.len() <= 253 && text.bytes().all(|b| b.is_ascii_alphanumeric() || further.contains(&b))
    };
    let dotted = !kind.group.starts_with('.') && !kind.group.contains("..");
    if dotted && plain(&kind.group, b".-") && !kind.version.is_empty() && plain(&kind.version, b"") {
        return Ok(());
    }
    Err(WriteError::Malformed(format!("{:?} is not an apiVersion", kind.api_version())))
}

/// The document with the precondition in its metadata, where the API server checks it.
pub(super) fn with_precondition(document: &Value, precondition: &Precondition) -> Result<Value, WriteError> {
    let mut document = document.clone();
    let Some(object) = document.as_object_mut() else {
        return Err(WriteError::Malformed("the document is not a JSON object".to_owned()));
    };
    if precondition.uid.is_none() && precondition.resource_version.is_none() {
        return Ok(document);
    }
    let metadata = object.entry("metadata").or_insert_with(|| json!({}));
    let Some(metadata) = metadata.as_object_mut() else {
        return Err(WriteError::Malformed("metadata is not a JSON object".to_owned()));
    };
    for (name, value) in [("uid", &precondition.uid), ("resourceVersion", &precondition.resource_version)] {
        if let Some(value) = value {
            metadata.insert(name.to_owned(), Value::String(value.clone()));
        }
    }
    Ok(document)
}

/// The JSON patch with a test of each precondition before its operations.
pub(super) fn json_patch_with_precondition(patch: &Value, precondition: &Precondition) -> Result<Value, WriteError> {
    let Some(operations) = patch.as_array() else {
        return Err(WriteError::Malformed("a JSON patch is a list of operations".to_owned()));
    };
    let mut all = Vec::with_capacity(operations.len() + 2);
    for (name, value) in [("uid", &precondition.uid), ("resourceVersion", &precondition.resource_version)] {
        if let Some(value) = value {
            all.push(json!({"op": "test", "path": format!("/metadata/{name}"), "value": value}));
        }
    }
    all.extend(operations.iter().cloned());
    Ok(Value::Array(all))
}

pub(super) fn delete_options(propagation: Propagation, precondition: &Precondition) -> Value {
    let policy = match propagation {
        Propagation::Background => "Background",
        Propagation::Foreground => "Foreground",
        Propagation::Orphan => "Orphan",
    };
    let mut options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": policy});
    let mut preconditions = serde_json::Map::new();
    if let Some(uid) = &precondition.uid {
        preconditions.insert("uid".to_owned(), json!(uid));
    }
    if let Some(version) = &precondition.resource_version {
        preconditions.insert("resourceVersion".to_owned(), json!(version));
    }
    if let Some(object) = options.as_object_mut()
        && !preconditions.is_empty()
    {
        object.insert("preconditions".to_owned(), Value::Object(preconditions));
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_names_its_own_target() {
        let target = target_of(
            &json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "b"}}),
        )
        .unwrap();
        assert_eq!((target.kind.group.as_str(), target.kind.version.as_str()), ("apps", "v1"));
        assert_eq!((&*target.key.namespace, &*target.key.name), ("b", "a"));
        for bad in
            [json!(1), json!({}), json!({"apiVersion": "v1", "kind": "Pod"}), json!({"apiVersion": 1, "kind": 2})]
        {
            assert!(target_of(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn n1_a_summary_names_verb_kind_and_object() {
        let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": {"name": "admins", "namespace": "team-blue"}});
        let precondition = Precondition::default;
        let apply = |object: Value, subresource: &str| Change::Apply {
            object,
            subresource: subresource.to_owned(),
            force: false,
            precondition: precondition(),
        };
        let target =
            || ObjectRef { kind: GroupVersionKind::new("", "v1", "Namespace"), key: ObjectKey::new("", "a\nb") };
        let patch = Change::Patch {
            target: target(),
            kind: PatchKind::Merge,
            patch: json!({}),
            subresource: String::new(),
            precondition: precondition(),
        };
        let delete =
            Change::Delete { target: target(), propagation: Propagation::Background, precondition: precondition() };
        for (change, expected) in [
            (apply(binding.clone(), ""), "apply RoleBinding team-blue/admins"),
            (apply(binding, "status"), "apply status of RoleBinding team-blue/admins"),
            (apply(json!([]), ""), "apply an object without a kind without a name"),
            (Change::Create(json!({"kind": "Pod", "metadata": {"generateName": "web-"}})), "create Pod web-…"),
            (patch, "patch Namespace a\\nb"),
            (delete, "delete Namespace a\\nb"),
        ] {
            assert_eq!(change.summary(), expected);
        }
        assert!(apply(json!({"kind": "x".repeat(9999)}), "").summary().len() <= SUMMARY_BYTES);
    }

    #[test]
    fn neither_a_kind_nor_a_key_can_leave_its_place_in_a_url() {
        let kind = |group: &str, version: &str| checked_kind(&GroupVersionKind::new(group, version, "Pod"));
        assert!(kind("", "v1").is_ok() && kind("rbac.authorization.k8s.io", "v1beta1").is_ok());
        for (group, version) in
            [("", ""), ("a/b", "v1"), ("..", "v1"), (".", "v1"), ("", "v1/namespaces"), ("", ".."), ("a?b", "v1")]
        {
            assert!(kind(group, version).is_err(), "{group:?} {version:?}");
        }
        let resource = Resource {
            gvk: GroupVersionKind::new("", "v1", "Pod"),
            plural: "pods".to_owned(),
            namespaced: true,
            verbs: Vec::new(),
            subresources: Vec::new(),
        };
        let key = |namespace: &str, name: &str| checked_key(&resource, &ObjectKey::new(namespace, name));
        assert!(key("a", "web-0.example").is_ok());
        for (namespace, name) in
            [("a", ""), ("", "x"), ("a", "x/log"), ("a", ".."), ("..", "x"), ("a", "x?y"), ("a", "%2e")]
        {
            assert!(key(namespace, name).is_err(), "{namespace:?} {name:?}");
        }
    }

    #[test]
    fn preconditions_stand_where_the_server_looks_for_them() {
        let both = Precondition { uid: Some("u".into()), resource_version: Some("7".into()) };
        assert_eq!(
            with_precondition(&json!({"spec": 1}), &both).unwrap(),
            json!({"spec": 1, "metadata": {"uid": "u", "resourceVersion": "7"}})
        );
        let tests = json_patch_with_precondition(&json!([{"op": "remove", "path": "/a"}]), &both).unwrap();
        assert_eq!(tests.as_array().unwrap().len(), 3);
        assert_eq!(delete_options(Propagation::Orphan, &both)["preconditions"]["uid"], "u");
        assert!(with_precondition(&json!([]), &both).is_err());
        assert!(json_patch_with_precondition(&json!({}), &both).is_err());
    }
}
