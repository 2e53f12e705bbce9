//! A cached Kubernetes object: JSON text, and positions of the metadata that is often read.

mod document;

use document::{Layout, Span, Text, compacted, narrow, own_entries};
use oarlock_api::{GroupVersionKind, ObjectKey};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

/// An object as the API server sent it, without `metadata.managedFields`.
///
/// A parsed document takes nine times its bytes, so the document stays text and is parsed where it is read. Positions in that text
/// replace copies of fields that are often read: beside the text an object takes about 250 bytes.
#[derive(Clone, Debug)]
pub struct Object {
    /// The document, then the parts without a position in it: the kept part of managedFields, and strings with escapes.
    text: Box<str>,
    key: ObjectKey,
    generation: Option<i64>,
    /// Two spans for each label, sorted by key; one for each finalizer; four for each owner.
    parts: Box<[Span]>,
    uid: Span,
    resource_version: Span,
    managed: Span,
    /// End of the document in `text`.
    document: u32,
    labels: u32,
    finalizers: u32,
    deleting: bool,
}

/// An owner reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner<'a> {
    /// Such as `v1` or `apps/v1`.
    pub api_version: &'a str,
    /// The owner's kind.
    pub kind: &'a str,
    /// The owner's name; it is in the same namespace or cluster-scoped.
    pub name: &'a str,
    /// The owner's uid.
    pub uid: &'a str,
}

/// Why a document is no object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key:?} is not a Kubernetes object: {reason}")]
pub struct Malformed {
    /// The object's name, if readable.
    pub key: Option<ObjectKey>,
    /// Its resource version, if readable.
    pub resource_version: Option<String>,
    /// The fault.
    pub reason: String,
}

impl Object {
    /// Parses one JSON document.
    ///
    /// # Errors
    ///
    /// [`Malformed`] when the text is not JSON, has no name, or has metadata of the wrong types.
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
    pub fn json(&self) -> &str {
        self.at(Span { at: 0, len: self.document })
    }

    /// Namespace and name.
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// The uid; empty only if the server sent none.
    pub fn uid(&self) -> &str {
        self.at(self.uid)
    }

    /// The resource version; opaque, see [`resource_version`](oarlock_api::resource_version).
    pub fn resource_version(&self) -> &str {
        self.at(self.resource_version)
    }

    /// `metadata.generation`: counts changes of the desired state, for kinds that have it.
    pub fn generation(&self) -> Option<i64> {
        self.generation
    }

    /// Whether `metadata.deletionTimestamp` is set.
    pub fn deleting(&self) -> bool {
        self.deleting
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        let pairs = self.label_parts();
        let at = pairs.binary_search_by(|[k, _]| self.at(*k).cmp(key)).ok()?;
        pairs.get(at).map(|[_, value]| self.at(*value))
    }

    /// All labels, sorted by key.
    pub fn labels(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.label_parts().iter().map(|[key, value]| (self.at(*key), self.at(*value)))
    }

    /// The finalizers in the order of the document.
    pub fn finalizers(&self) -> impl ExactSizeIterator<Item = &str> {
        let first = 2 * self.labels as usize;
        let parts = self.parts.get(first..first + self.finalizers as usize).unwrap_or_default();
        parts.iter().map(|part| self.at(*part))
    }

    /// Whether `finalizer` is set.
    pub fn has_finalizer(&self, finalizer: &str) -> bool {
        self.finalizers().any(|f| f == finalizer)
    }

    /// The owner references.
    pub fn owners(&self) -> impl ExactSizeIterator<Item = Owner<'_>> {
        let first = 2 * self.labels as usize + self.finalizers as usize;
        let (owners, _) = self.parts.get(first..).unwrap_or_default().as_chunks::<4>();
        owners.iter().map(|[api_version, kind, name, uid]| Owner {
            api_version: self.at(*api_version),
            kind: self.at(*kind),
            name: self.at(*name),
            uid: self.at(*uid),
        })
    }

    /// The entries of `managedFields` whose manager belongs to this host, as a JSON array.
    pub fn managed(&self) -> Option<&str> {
        Some(self.at(self.managed)).filter(|managed| !managed.is_empty())
    }

    /// Approximate bytes of this object on the heap, including its entry in a table.
    pub fn heap_bytes(&self) -> usize {
        // Allocator overhead and a reference count, for each of four pieces; an entry of a half-full set.
        const PIECES: usize = 4 * 20;
        const ENTRY: usize = 16;
        let pieces = size_of::<Self>() + self.text.len() + size_of_val(&*self.parts) + self.key.name.len();
        pieces + PIECES + ENTRY
    }

    /// Shares the string of the namespace, which many objects of a store have in common.
    pub(crate) fn share(&mut self, strings: &mut Strings) {
        strings.share(&mut self.key.namespace);
    }

    fn at(&self, span: Span) -> &str {
        let at = span.at as usize;
        self.text.get(at..at + span.len as usize).unwrap_or_default()
    }

    fn label_parts(&self) -> &[[Span; 2]] {
        self.parts.get(..2 * self.labels as usize).unwrap_or_default().as_chunks().0
    }

    fn parse_text(text: &str, gvk: Option<&GroupVersionKind>) -> serde_json::Result<Self> {
        let compact = compacted(text.trim());
        let outer: Outer<'_> = serde_json::from_str(&compact)?;
        let meta: Meta<'_> = serde_json::from_str(outer.metadata.get())?;
        let mut layout = Layout::new(&compact, meta.managed_fields, gvk.filter(|_| outer.kind.is_none()))?;
        let labels = meta.labels.unwrap_or_default();
        let finalizers = meta.finalizers.unwrap_or_default();
        let owners = meta.owner_references.unwrap_or_default();
        let mut parts = Vec::with_capacity(2 * labels.len() + finalizers.len() + 4 * owners.len());
        for (key, value) in &labels {
            parts.extend([layout.place(key)?, layout.place(value)?]);
        }
        for finalizer in &finalizers {
            parts.push(layout.place(finalizer)?);
        }
        for owner in &owners {
            for part in [&owner.api_version, &owner.kind, &owner.name, &owner.uid] {
                parts.push(layout.place(part)?);
            }
        }
        let managed = own_entries(meta.managed_fields)?;
        Ok(Self {
            key: ObjectKey::new(meta.namespace.unwrap_or_default().0, meta.name.0),
            generation: meta.generation,
            parts: parts.into_boxed_slice(),
            uid: layout.place(&meta.uid.unwrap_or_default())?,
            resource_version: layout.place(&meta.resource_version.unwrap_or_default())?,
            managed: layout.place(&Text(managed.into()))?,
            document: narrow(layout.document())?,
            labels: narrow(labels.len())?,
            finalizers: narrow(finalizers.len())?,
            deleting: meta.deletion_timestamp.is_some(),
            text: layout.into_text(),
        })
    }
}

/// Namespaces: strings that objects of a store share.
#[derive(Debug, Default)]
pub(crate) struct Strings {
    shared: HashSet<Arc<str>>,
    /// At this size, unused strings are removed.
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

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct OwnerText<'a> {
    #[serde(borrow)]
    api_version: Text<'a>,
    #[serde(borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    uid: Text<'a>,
}

/// One pass over the metadata. No `#[serde(flatten)]`: it buffers, and a `RawValue` cannot be read out of a buffer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    namespace: Option<Text<'a>>,
    #[serde(borrow)]
    uid: Option<Text<'a>>,
    #[serde(borrow)]
    resource_version: Option<Text<'a>>,
    generation: Option<i64>,
    #[serde(borrow)]
    deletion_timestamp: Option<&'a RawValue>,
    #[serde(borrow)]
    labels: Option<BTreeMap<Text<'a>, Text<'a>>>,
    #[serde(borrow)]
    finalizers: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    owner_references: Option<Vec<OwnerText<'a>>>,
    #[serde(borrow)]
    managed_fields: Option<&'a RawValue>,
}

/// Extracts the readable fields of a malformed object, to name it in a warning.
fn malformed(text: &str, error: &serde_json::Error) -> Malformed {
    let value: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let meta = |field: &str| value.pointer("/metadata").and_then(|m| m.get(field)).and_then(|v| v.as_str());
    Malformed {
        key: meta("name").map(|name| ObjectKey::new(meta("namespace").unwrap_or_default(), name)),
        resource_version: meta("resourceVersion").map(str::to_owned),
        reason: error.to_string(),
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
        let owner = Owner { api_version: "apps/v1", kind: "Deployment", name: "d", uid: "u0" };
        assert_eq!(object.owners().collect::<Vec<_>>(), [owner]);
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
            assert_eq!(Object::parse(text).unwrap().json(), expected, "{text}");
        }
    }

    #[test]
    fn items_of_lists_get_their_types() {
        let gvk = GroupVersionKind::new("apps", "v1", "Deployment");
        let expected = r#"{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"a"}}"#;
        let bare = r#"{"metadata":{"name":"a"}}"#;
        assert_eq!(Object::parse_item(bare, &gvk).unwrap().json(), expected);
        let typed = r#"{"metadata":{"name":"a"},"kind":"Other","apiVersion":"v1"}"#;
        assert_eq!(Object::parse_item(typed, &gvk).unwrap().json(), typed);
    }

    #[test]
    fn what_is_no_object_is_named_as_well_as_it_can_be() {
        let text = r#"{"metadata":{"name":"a","namespace":"n","resourceVersion":"5","labels":{"a":1}}}"#;
        let malformed = Object::parse(text).unwrap_err();
        assert_eq!(malformed.resource_version.as_deref(), Some("5"));
        assert_eq!(malformed.key.unwrap().to_string(), "n/a");
        for bad in ["{}", "[]", "7", "", "{\"metadata\":{}}", "{\"metadata\":null}", "nul"] {
            assert!(Object::parse(bad).is_err(), "{bad}");
        }
        assert!(Object::parse(b"\xff".as_slice()).is_err());
    }

    #[test]
    fn strings_are_shared_while_anybody_has_them() {
        let mut strings = Strings::default();
        let object = |namespace: &str| {
            Object::parse(&json!({"metadata": {"name": "a", "namespace": namespace}}).to_string()).unwrap()
        };
        let (mut a, mut b) = (object("n"), object("n"));
        a.share(&mut strings);
        b.share(&mut strings);
        assert!(Arc::ptr_eq(&a.key.namespace, &b.key.namespace));
        for namespace in 0..100_000 {
            object(&namespace.to_string()).share(&mut strings);
            assert!(strings.shared.len() <= 2048);
        }
        assert!(strings.shared.contains("n"));
    }

    /// Positions follow from addresses, around the removed part and after the inserted one.
    #[test]
    fn parts_are_read_from_anywhere_in_the_document_and_with_escapes() {
        let gvk = GroupVersionKind::new("", "v1", "ConfigMap");
        let managed = r#""managedFields":[{"manager":"oarlock.a"},{"manager":"b"}],"#;
        for (first, last) in [(managed, ""), ("", managed), ("", "")] {
            let text = format!(
                r#"{{"metadata":{{"labels":{{"b":"2","a":"\u0031\"x"}},{first}"name":"a","uid":"u\n1",{last}"resourceVersion":"7",
                "finalizers":["f/1","f\/2"],"ownerReferences":[{{"uid":"o1"}},{{"name":"o","kind":"K","uid":"o2"}}]}}}}"#
            );
            let object = Object::parse_item(&text, &gvk).unwrap();
            assert_eq!(
                (object.uid(), object.resource_version(), object.key().to_string().as_str()),
                ("u\n1", "7", "a")
            );
            assert_eq!(object.labels().collect::<Vec<_>>(), [("a", "1\"x"), ("b", "2")]);
            assert_eq!((object.label("a"), object.label("b"), object.label("")), (Some("1\"x"), Some("2"), None));
            assert_eq!(object.finalizers().collect::<Vec<_>>(), ["f/1", "f/2"]);
            let owners: Vec<_> = object.owners().map(|o| (o.api_version, o.kind, o.name, o.uid)).collect();
            assert_eq!(owners, [("", "", "", "o1"), ("", "K", "o", "o2")]);
            let kept = (!first.is_empty() || !last.is_empty()).then_some(r#"[{"manager":"oarlock.a"}]"#);
            assert_eq!(object.managed(), kept);
            let mut whole = value(&text);
            whole["metadata"].as_object_mut().unwrap().remove("managedFields");
            (whole["kind"], whole["apiVersion"]) = (json!("ConfigMap"), json!("v1"));
            assert_eq!(value(object.json()), whole);
            assert_eq!(format!("{:?}", object.clone()), format!("{object:?}"));
        }
    }

    /// Half of a surrogate pair is no text. An own entry with one is refused here, so that no reader takes it for "owns nothing".
    #[test]
    fn an_own_entry_that_cannot_be_read_makes_the_object_malformed() {
        let object = |manager: &str, field: &str| {
            let entry = format!(r#"{{"manager":"{manager}","fieldsV1":{{"f:{field}":{{}}}}}}"#);
            Object::parse(&format!(r#"{{"kind":"Pod","metadata":{{"name":"a","managedFields":[{entry}]}}}}"#))
        };
        assert!(object("oarlock.a", r"\ud800").is_err());
        assert!(object("oarlock.a", r"\ud83d\ude00\u00e9").is_ok_and(|object| object.managed().is_some()));
        let number =
            r#"{"metadata":{"name":"a","managedFields":[{"manager":"oarlock.a","fieldsV1":{"f:a":1e99960}}]}}"#;
        assert!(Object::parse(number).is_err());
        assert!(object("kubectl", r"\ud800").is_ok_and(|object| object.managed().is_none()));
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
