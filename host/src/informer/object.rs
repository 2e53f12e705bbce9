//! One Kubernetes object as the host keeps it: JSON bytes, and the few parts of its metadata that are asked for often.

use crate::api::{GroupVersionKind, ObjectKey};
use kube::core::{ApiResource, DynamicResourceScope, ObjectMeta};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::{
    borrow::Cow,
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

/// Field managers of this host's plugins start with this; of `managedFields` only their entries are kept.
const OWN_MANAGERS: &str = "oarlock.";

/// An object as the API server sent it, without `metadata.managedFields`.
///
/// A parsed document costs nine times its bytes, so the document stays text and is parsed where it is read.
#[derive(Clone, Debug)]
pub struct Object {
    json: Arc<str>,
    key: ObjectKey,
    uid: Box<str>,
    resource_version: Box<str>,
    generation: Option<i64>,
    deleting: bool,
    labels: Box<[(Arc<str>, Arc<str>)]>,
    finalizers: Box<[Arc<str>]>,
    owners: Box<[Owner]>,
    managed: Option<Box<str>>,
}

/// An owner reference.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    /// Such as `v1` or `apps/v1`.
    #[serde(default)]
    pub api_version: Arc<str>,
    /// The owner's kind.
    #[serde(default)]
    pub kind: Arc<str>,
    /// The owner's name; it is in the same namespace or cluster-scoped.
    #[serde(default)]
    pub name: Box<str>,
    /// The owner's uid.
    #[serde(default)]
    pub uid: Box<str>,
    /// Whether this owner is the managing controller.
    #[serde(default, deserialize_with = "null_as_default")]
    pub controller: bool,
}

/// Why a document is no object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key:?} is not a Kubernetes object: {reason}")]
pub struct Malformed {
    /// The object's name, as far as it could be read.
    pub key: Option<ObjectKey>,
    /// Its resource version, as far as it could be read.
    pub resource_version: Option<String>,
    /// What is wrong.
    pub reason: String,
}

impl Object {
    /// Reads one JSON document.
    ///
    /// # Errors
    ///
    /// [`Malformed`] when it is not JSON, has no name, or has metadata of the wrong types.
    pub fn parse(json: &(impl AsRef<[u8]> + ?Sized)) -> Result<Self, Malformed> {
        let no_key = |reason: String| Malformed { key: None, resource_version: None, reason };
        let text = std::str::from_utf8(json.as_ref()).map_err(|error| no_key(error.to_string()))?;
        Self::parse_text(text, None).map_err(|error| malformed(text, &error))
    }

    /// As [`parse`](Self::parse), for an item of a list: lists of built-in kinds leave out `kind` and `apiVersion`.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse).
    pub fn parse_item(json: &str, gvk: &GroupVersionKind) -> Result<Self, Malformed> {
        Self::parse_text(json, Some(gvk)).map_err(|error| malformed(json, &error))
    }

    /// The whole object as compact JSON without `managedFields`.
    pub fn json(&self) -> &Arc<str> {
        &self.json
    }

    /// Namespace and name.
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// The uid; empty only if the server sent none.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// The resource version; opaque, see [`resource_version`](crate::api::resource_version).
    pub fn resource_version(&self) -> &str {
        &self.resource_version
    }

    /// `metadata.generation`: counts changes of the desired state, for kinds that have it.
    pub fn generation(&self) -> Option<i64> {
        self.generation
    }

    /// Whether the object is going: `metadata.deletionTimestamp` is set.
    pub fn deleting(&self) -> bool {
        self.deleting
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        let at = self.labels.binary_search_by(|(k, _)| (**k).cmp(key)).ok()?;
        self.labels.get(at).map(|(_, value)| &**value)
    }

    /// All labels, sorted by key.
    pub fn labels(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.labels.iter().map(|(key, value)| (&**key, &**value))
    }

    /// The finalizers in the order they are stored.
    pub fn finalizers(&self) -> impl ExactSizeIterator<Item = &str> {
        self.finalizers.iter().map(|finalizer| &**finalizer)
    }

    /// Whether `finalizer` is set.
    pub fn has_finalizer(&self, finalizer: &str) -> bool {
        self.finalizers().any(|f| f == finalizer)
    }

    /// The owner references.
    pub fn owners(&self) -> &[Owner] {
        &self.owners
    }

    /// Those entries of `managedFields` whose manager is one of this host's, as a JSON array.
    pub fn managed(&self) -> Option<&str> {
        self.managed.as_deref()
    }

    /// Roughly the bytes this object keeps on the heap, without the strings it shares with others of its store.
    pub fn heap_bytes(&self) -> usize {
        let owners: usize = self.owners.iter().map(|o| o.name.len() + o.uid.len() + size_of::<Owner>()).sum();
        let text = self.json.len() + self.key.name.len() + self.uid.len() + self.resource_version.len();
        let lists = size_of_val(&*self.labels) + size_of_val(&*self.finalizers) + owners;
        text + self.managed.as_ref().map_or(0, |m| m.len()) + lists + size_of::<Self>()
    }

    /// Makes strings that many objects of a store have in common one string.
    pub(crate) fn share(&mut self, strings: &mut Strings) {
        strings.share(&mut self.key.namespace);
        for (key, value) in &mut self.labels {
            strings.share(key);
            strings.share(value);
        }
        self.finalizers.iter_mut().for_each(|finalizer| strings.share(finalizer));
        for owner in &mut self.owners {
            strings.share(&mut owner.api_version);
            strings.share(&mut owner.kind);
        }
    }

    fn parse_text(text: &str, gvk: Option<&GroupVersionKind>) -> serde_json::Result<Self> {
        let compact = compacted(text.trim());
        let text = compact.as_ref();
        let outer: Outer<'_> = serde_json::from_str(text)?;
        let meta: Meta<'_> = serde_json::from_str(outer.metadata.get())?;
        let labels = meta.labels.unwrap_or_default();
        Ok(Self {
            json: document(text, meta.managed_fields, gvk.filter(|_| outer.kind.is_none()))?,
            key: ObjectKey::new(meta.namespace.unwrap_or_default(), meta.name),
            uid: meta.uid.unwrap_or_default().into(),
            resource_version: meta.resource_version.unwrap_or_default().into(),
            generation: meta.generation,
            deleting: meta.deletion_timestamp.is_some(),
            labels: labels.into_iter().map(|(k, v)| (k.into(), v.into())).collect(),
            finalizers: meta.finalizers.unwrap_or_default().into_boxed_slice(),
            owners: meta.owner_references.unwrap_or_default().into_boxed_slice(),
            managed: own_entries(meta.managed_fields)?,
        })
    }
}

/// Strings that objects have in common: namespaces, labels, finalizers, kinds of owners.
#[derive(Debug, Default)]
pub(crate) struct Strings {
    shared: HashSet<Arc<str>>,
    /// At this size the strings nobody has any more are thrown out.
    prune_at: usize,
}

impl Strings {
    fn share(&mut self, string: &mut Arc<str>) {
        if let Some(shared) = self.shared.get(string) {
            *string = Arc::clone(shared);
            return;
        }
        if self.shared.len() >= self.prune_at {
            self.shared.retain(|shared| Arc::strong_count(shared) > 1);
            self.prune_at = (self.shared.len() * 2).max(1024);
        }
        self.shared.insert(Arc::clone(string));
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outer<'a> {
    #[serde(borrow)]
    metadata: &'a RawValue,
    #[serde(borrow)]
    kind: Option<&'a RawValue>,
}

/// One pass over the metadata. No `#[serde(flatten)]`: it buffers, and a `RawValue` cannot be read out of a buffer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    namespace: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    resource_version: Option<Cow<'a, str>>,
    generation: Option<i64>,
    #[serde(borrow)]
    deletion_timestamp: Option<&'a RawValue>,
    labels: Option<BTreeMap<String, String>>,
    finalizers: Option<Vec<Arc<str>>>,
    owner_references: Option<Vec<Owner>>,
    #[serde(borrow)]
    managed_fields: Option<&'a RawValue>,
}

fn null_as_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(d: D) -> Result<T, D::Error> {
    Option::<T>::deserialize(d).map(Option::unwrap_or_default)
}

/// The text without managedFields, and with the types where they were left out.
fn document(
    text: &str,
    managed_fields: Option<&RawValue>,
    types: Option<&GroupVersionKind>,
) -> serde_json::Result<Arc<str>> {
    let (before, after) = managed_fields.and_then(|value| around_member(text, value.get())).unwrap_or((text, ""));
    let Some(gvk) = types else {
        return Ok(if after.is_empty() { before.into() } else { [before, after].concat().into() });
    };
    let kind = serde_json::to_string(&gvk.kind)?;
    let api_version = serde_json::to_string(&gvk.api_version())?;
    // Never `{}`: metadata is there, so a comma is right.
    let rest = before.strip_prefix('{').unwrap_or(before);
    Ok(format!("{{\"kind\":{kind},\"apiVersion\":{api_version},{rest}{after}").into())
}

/// What is before and after the object member whose value is `value`, a slice of `text`, with one of its commas.
///
/// A `RawValue` borrows from its input, so the place follows from the two addresses without another scan.
fn around_member<'a>(text: &'a str, value: &str) -> Option<(&'a str, &'a str)> {
    let at = value.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let after = text.get(at + value.len()..)?.trim_start();
    let before = text.get(..at)?.trim_end().strip_suffix(':')?.trim_end().strip_suffix('"')?;
    // The key reads `managedFields`, so there is no quote in it, however it is escaped.
    let before = before.get(..before.rfind('"')?)?.trim_end();
    Some(match before.strip_suffix(',') {
        Some(before) => (before, after),
        None => (before, after.strip_prefix(',').unwrap_or(after)),
    })
}

fn own_entries(managed_fields: Option<&RawValue>) -> serde_json::Result<Option<Box<str>>> {
    #[derive(Deserialize)]
    struct Entry<'a> {
        #[serde(borrow, default)]
        manager: Option<Cow<'a, str>>,
    }
    let Some(all) = managed_fields.filter(|value| value.get().contains(OWN_MANAGERS)) else { return Ok(None) };
    let mut own = Vec::new();
    for entry in serde_json::from_str::<Vec<&RawValue>>(all.get())? {
        let manager = serde_json::from_str::<Entry<'_>>(entry.get())?.manager;
        if manager.is_some_and(|m| m.starts_with(OWN_MANAGERS)) {
            own.push(entry.get());
        }
    }
    Ok((!own.is_empty()).then(|| format!("[{}]", own.join(",")).into()))
}

/// Takes out white space between tokens. API servers send none, so most texts come back as they are.
fn compacted(text: &str) -> Cow<'_, str> {
    // A line break cannot be inside a JSON string: it tells a text written for people.
    if !text.contains('\n') {
        return text.into();
    }
    let mut compact = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for c in text.chars() {
        if in_string {
            (in_string, escaped) = (escaped || c != '"', !escaped && c == '\\');
        } else if matches!(c, ' ' | '\t' | '\n' | '\r') {
            continue;
        } else {
            in_string = c == '"';
        }
        compact.push(c);
    }
    compact.into()
}

/// Saves what can be read of a document that is not an object, to name it in a warning.
fn malformed(text: &str, error: &serde_json::Error) -> Malformed {
    let value: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let meta = |field: &str| value.pointer("/metadata").and_then(|m| m.get(field)).and_then(|v| v.as_str());
    Malformed {
        key: meta("name").map(|name| ObjectKey::new(meta("namespace").unwrap_or_default(), name)),
        resource_version: meta("resourceVersion").map(str::to_owned),
        reason: error.to_string(),
    }
}

/// What kube's watcher reads: an object, or the news that one could not be read. Reading never fails, so that one
/// document nobody can read does not stop the watch for all others.
#[derive(Clone, Debug)]
pub(crate) struct RawObject {
    /// Only what the watcher looks at.
    metadata: ObjectMeta,
    pub(crate) object: Result<Object, Malformed>,
    /// The text, where `kind` and `apiVersion` must still be filled in.
    untyped: Option<Arc<str>>,
}

impl RawObject {
    fn new(text: &str) -> Self {
        let object = Object::parse(text);
        let resource_version = match &object {
            Ok(object) => Some(object.resource_version.to_string()),
            Err(malformed) => malformed.resource_version.clone(),
        };
        let untyped = object.as_ref().ok().filter(|o| !has_kind(&o.json)).map(|o| Arc::clone(&o.json));
        Self { metadata: ObjectMeta { resource_version, ..ObjectMeta::default() }, object, untyped }
    }

    /// The object with its types, whatever the list left out.
    pub(crate) fn into_object(self, gvk: &GroupVersionKind) -> Result<Object, Malformed> {
        let mut object = self.object?;
        if let Some(text) = self.untyped {
            object.json = document(&text, None, Some(gvk)).map_err(|error| malformed(&text, &error))?;
        }
        Ok(object)
    }
}

fn has_kind(json: &str) -> bool {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(borrow)]
        kind: Option<&'a RawValue>,
    }
    // Go writes kind first, so this seldom costs a pass over the document.
    json.starts_with("{\"kind\":") || serde_json::from_str::<Kind<'_>>(json).is_ok_and(|k| k.kind.is_some())
}

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        // Borrowed: no copy. It needs serde_json::from_str below, which is what kube-client uses.
        Ok(Self::new(<&'de RawValue>::deserialize(d)?.get()))
    }
}

impl kube::Resource for RawObject {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;
    fn kind(dt: &ApiResource) -> Cow<'_, str> {
        dt.kind.as_str().into()
    }
    fn group(dt: &ApiResource) -> Cow<'_, str> {
        dt.group.as_str().into()
    }
    fn version(dt: &ApiResource) -> Cow<'_, str> {
        dt.version.as_str().into()
    }
    fn api_version(dt: &ApiResource) -> Cow<'_, str> {
        dt.api_version.as_str().into()
    }
    fn plural(dt: &ApiResource) -> Cow<'_, str> {
        dt.plural.as_str().into()
    }
    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn value(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn metadata_is_read_and_managed_fields_are_left_out() {
        let entry = |manager: &str| json!({"manager": manager, "operation": "Apply", "fieldsV1": {"f:spec": {}}});
        let mut document = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "web", "namespace": "shop", "uid": "u1", "resourceVersion": "7", "generation": 3,
                "deletionTimestamp": "2026-01-01T00:00:00Z", "labels": {"b": "2", "a": "1"},
                "finalizers": ["oarlock.dev/network"],
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "u0",
                                     "controller": true, "blockOwnerDeletion": true}],
                "managedFields": [entry("kubectl"), entry("oarlock.network"), entry("oarlock.network.host")],
            },
            "data": {"managedFields": "stays"},
        });
        let object = Object::parse(&document.to_string()).unwrap();
        assert_eq!(object.key().to_string(), "shop/web");
        assert_eq!((object.uid(), object.resource_version(), object.generation()), ("u1", "7", Some(3)));
        assert!(object.deleting() && object.has_finalizer("oarlock.dev/network"));
        assert_eq!(object.labels().collect::<Vec<_>>(), [("a", "1"), ("b", "2")]);
        assert_eq!((object.label("b"), object.label("c")), (Some("2"), None));
        assert_eq!((&*object.owners()[0].uid, object.owners()[0].controller), ("u0", true));
        assert_eq!(value(object.managed().unwrap()), json!([entry("oarlock.network"), entry("oarlock.network.host")]));
        document["metadata"].as_object_mut().unwrap().remove("managedFields");
        assert_eq!(value(object.json()), document);
    }

    #[test]
    fn managed_fields_are_cut_out_wherever_they_are() {
        for (text, expected) in [
            (r#"{"metadata":{"managedFields":[],"name":"a"}}"#, r#"{"metadata":{"name":"a"}}"#),
            (r#"{"metadata":{"name":"a","managedFields":[{"x":"]}"}]}}"#, r#"{"metadata":{"name":"a"}}"#),
            (
                r#"{"metadata":{"name":"a" , "managedFields" : [] , "uid":"u"}}"#,
                r#"{"metadata":{"name":"a" , "uid":"u"}}"#,
            ),
            (
                r#"{"metadata":{"name":"a","managed\u0046ields":[1]}}"#.replace("[1]", "[]").as_str(),
                r#"{"metadata":{"name":"a"}}"#,
            ),
            ("{\n  \"metadata\": {\n    \"name\": \"a \\\" b\"\n  }\n}", r#"{"metadata":{"name":"a \" b"}}"#),
        ] {
            assert_eq!(&**Object::parse(text).unwrap().json(), expected, "{text}");
        }
    }

    #[test]
    fn items_of_lists_get_their_types() {
        let gvk = GroupVersionKind::new("apps", "v1", "Deployment");
        let expected = r#"{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"a"}}"#;
        let bare = r#"{"metadata":{"name":"a"}}"#;
        assert_eq!(&**Object::parse_item(bare, &gvk).unwrap().json(), expected);
        assert_eq!(&**RawObject::new(bare).into_object(&gvk).unwrap().json(), expected);
        let typed = r#"{"metadata":{"name":"a"},"kind":"Other","apiVersion":"v1"}"#;
        assert_eq!(&**RawObject::new(typed).into_object(&gvk).unwrap().json(), typed);
    }

    #[test]
    fn what_is_no_object_is_named_as_well_as_it_can_be() {
        let raw: RawObject =
            serde_json::from_str(r#"{"metadata":{"name":"a","namespace":"n","resourceVersion":"5","labels":{"a":1}}}"#)
                .unwrap();
        assert_eq!(raw.metadata.resource_version.as_deref(), Some("5"));
        assert_eq!(raw.object.unwrap_err().key.unwrap().to_string(), "n/a");
        for bad in ["{}", "[]", "7", "", "{\"metadata\":{}}", "{\"metadata\":null}", "nul"] {
            assert!(Object::parse(bad).is_err(), "{bad}");
        }
        assert!(Object::parse(b"\xff".as_slice()).is_err());
    }

    #[test]
    fn strings_are_shared_while_anybody_has_them() {
        let mut strings = Strings::default();
        let object = |name: usize| {
            let metadata =
                json!({"name": name.to_string(), "namespace": "n", "labels": {"app": "web", "name": name.to_string()}});
            Object::parse(&json!({"metadata": metadata}).to_string()).unwrap()
        };
        let (mut a, mut b) = (object(0), object(1));
        a.share(&mut strings);
        b.share(&mut strings);
        assert!(Arc::ptr_eq(&a.key.namespace, &b.key.namespace) && Arc::ptr_eq(&a.labels[0].1, &b.labels[0].1));
        for name in 2..100_000 {
            object(name).share(&mut strings);
            assert!(strings.shared.len() <= 2048);
        }
        assert!(strings.shared.contains("web"));
    }

    proptest! {
        #[test]
        fn any_text_and_any_layout_is_safe(text in "\\PC*", name in "\\PC+", pretty: bool) {
            let _ = Object::parse(&text);
            let document = json!({"metadata": {"name": name, "managedFields": [{"manager": text}]}, "x": [text]});
            let sent = if pretty { serde_json::to_string_pretty(&document) } else { serde_json::to_string(&document) };
            let object = Object::parse(&sent.unwrap()).unwrap();
            prop_assert_eq!(&*object.key().name, &*name);
            prop_assert_eq!(value(object.json()), json!({"metadata": {"name": name}, "x": [text]}));
            prop_assert!(!object.json().contains('\n'));
        }
    }
}
