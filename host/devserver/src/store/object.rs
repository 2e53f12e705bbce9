//! Stored objects: their keys, versions and changes.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::{Map, Value};

/// Namespace (empty for cluster scope) and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Key {
    pub(crate) fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

/// What a write stores: a value, and the API version it is in.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) value: Value,
    /// As [`Object::version`].
    pub(crate) version: Option<Arc<str>>,
}

impl From<Value> for Content {
    fn from(value: Value) -> Self {
        Self { value, version: None }
    }
}

/// One version of one object, without `kind` and `apiVersion`: the response adds those.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) value: Value,
    pub(crate) revision: u64,
    /// The API version of the value, such as `v1`. `None` for built-in kinds, and for custom resources from a data directory that does not
    /// record it: these are in the storage version.
    pub(crate) version: Option<Arc<str>>,
    body: OnceLock<Bytes>,
}

impl Object {
    /// Stores a value with the revision in its metadata.
    pub(crate) fn new(content: impl Into<Content>, revision: u64) -> Self {
        let Content { mut value, version } = content.into();
        if let Value::Object(map) = &mut value {
            map.remove("kind");
            map.remove("apiVersion");
            if let Value::Object(meta) = map.entry("metadata").or_insert_with(|| Value::Object(Map::new())) {
                meta.insert("resourceVersion".to_owned(), revision.to_string().into());
            }
        }
        Self { value, revision, version, body: OnceLock::new() }
    }

    /// The JSON of the value; serialized once.
    pub(crate) fn body(&self) -> &Bytes {
        self.body.get_or_init(|| serde_json::to_vec(&self.value).unwrap_or_default().into())
    }

    /// Namespace and name.
    pub(crate) fn key(&self) -> Key {
        let text = |p: &str| self.value.pointer(p).and_then(Value::as_str).unwrap_or_default();
        Key::new(text("/metadata/namespace"), text("/metadata/name"))
    }

    /// The form of an object that is not stored.
    pub(crate) fn without_version(mut self) -> Self {
        if let Some(meta) = self.value.get_mut("metadata").and_then(Value::as_object_mut) {
            meta.remove("resourceVersion");
        }
        self
    }

    /// The same content at another revision.
    pub(crate) fn at(&self, revision: u64) -> Self {
        Self::new(self.with(self.value.clone()), revision)
    }

    /// Another value in the same API version.
    pub(crate) fn with(&self, value: Value) -> Content {
        Content { value, version: self.version.clone() }
    }
}

/// A change of an object.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) revision: u64,
    /// The new version; for a deletion the last one, at the revision of the deletion.
    pub(crate) object: Arc<Object>,
    pub(crate) previous: Option<Arc<Object>>,
    pub(crate) deleted: bool,
    pub(crate) key: Key,
}
