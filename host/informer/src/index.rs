//! Index of a watch's objects: lookup by key, namespace, owner, label and reference.

use super::object::Object;
use oarlock_api::{ObjectKey, Selector};
use serde_json::Value;
use std::{
    borrow::Borrow,
    cmp::Ordering,
    collections::{BTreeSet, HashMap},
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

/// Most indexed label keys and pointers per store. They come from selectors and watches of controllers; lists by further ones scan every
/// object.
const INDEXED_FIELDS: usize = 16;

/// An indexed field, once a list asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Field {
    /// The value of this label.
    Label(Box<str>),
    /// The string, or each string of a list, at this JSON pointer.
    Pointer(Box<str>),
}

impl Field {
    fn each(&self, object: &Object, mut see: impl FnMut(&str)) {
        match self {
            Self::Label(label) => {
                if let Some(value) = object.label(label) {
                    see(value);
                }
            }
            Self::Pointer(pointer) => {
                let Ok(document) = serde_json::from_str::<Value>(object.json()) else { return };
                match document.pointer(pointer) {
                    Some(Value::String(text)) => see(text),
                    Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).for_each(see),
                    _ => {}
                }
            }
        }
    }
}

/// A name that an object refers to.
#[derive(Clone, Debug)]
pub struct Reference {
    /// JSON pointer to a string or a list of strings.
    pub pointer: String,
    /// The referenced name.
    pub name: String,
}

/// The objects that a list selects; all by default.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// Only this namespace.
    pub namespace: Option<String>,
    /// Only objects whose labels match.
    pub label_selector: Option<Selector>,
    /// Only objects with an owner reference to this uid.
    pub owner_uid: Option<String>,
    /// Only objects that refer to this name.
    pub reference: Option<Reference>,
    /// At most this many objects.
    pub limit: Option<usize>,
}

/// An object in a set that is sorted by key, without a second copy of the key.
#[derive(Clone, Debug)]
struct IndexEntry(Arc<Object>);

impl Borrow<ObjectKey> for IndexEntry {
    fn borrow(&self) -> &ObjectKey {
        self.0.key()
    }
}

impl Ord for IndexEntry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.key().cmp(other.0.key())
    }
}

impl PartialOrd for IndexEntry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for IndexEntry {
    fn eq(&self, other: &Self) -> bool {
        self.0.key() == other.0.key()
    }
}

impl Eq for IndexEntry {}

type Entries = BTreeSet<IndexEntry>;

/// Objects by the hash of one of their texts. The lookup compares the text again.
type Index = HashMap<u64, Entries>;

/// The objects and their indexes. Ordered by namespace, then name: the order of the API server's own lists, which also serves as the
/// index by namespace.
#[derive(Debug, Default)]
pub(crate) struct Table {
    objects: Entries,
    by_owner: Index,
    /// Indexes that lists asked for.
    by_field: HashMap<Field, Index>,
    heap_bytes: usize,
}

impl Table {
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<&Arc<Object>> {
        self.objects.get(key).map(|entry| &entry.0)
    }

    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.heap_bytes
    }

    pub(crate) fn objects(&self) -> impl ExactSizeIterator<Item = &Arc<Object>> {
        self.objects.iter().map(|entry| &entry.0)
    }

    pub(crate) fn insert(&mut self, object: Arc<Object>) {
        self.remove(object.key());
        let entry = IndexEntry(object);
        for owner in entry.0.owners() {
            self.by_owner.entry(hash(owner.uid)).or_default().insert(entry.clone());
        }
        for (field, values) in &mut self.by_field {
            field.each(&entry.0, |value| {
                values.entry(hash(value)).or_default().insert(entry.clone());
            });
        }
        self.heap_bytes += entry.0.heap_bytes();
        self.objects.insert(entry);
    }

    pub(crate) fn remove(&mut self, key: &ObjectKey) -> Option<Arc<Object>> {
        let IndexEntry(object) = self.objects.take(key)?;
        self.heap_bytes = self.heap_bytes.saturating_sub(object.heap_bytes());
        for owner in object.owners() {
            forget(&mut self.by_owner, owner.uid, key);
        }
        for (field, values) in &mut self.by_field {
            field.each(&object, |value| forget(values, value, key));
        }
        Some(object)
    }

    /// The field that an index for `options` would need, if there is no index yet.
    pub(crate) fn wants_index(&self, options: &ListOptions) -> Option<Field> {
        let (field, _) = options.fields()?;
        let room = self.by_field.len() < INDEXED_FIELDS && !self.by_field.contains_key(&field);
        (room && options.owner_uid.is_none()).then_some(field)
    }

    pub(crate) fn add_index(&mut self, field: Field) {
        if self.by_field.len() >= INDEXED_FIELDS || self.by_field.contains_key(&field) {
            return;
        }
        let mut values = Index::new();
        for entry in &self.objects {
            field.each(&entry.0, |value| {
                values.entry(hash(value)).or_default().insert(entry.clone());
            });
        }
        self.by_field.insert(field, values);
    }

    /// Matching objects in the order of their keys.
    pub(crate) fn list(&self, options: &ListOptions) -> Vec<Arc<Object>> {
        let limit = options.limit.unwrap_or(usize::MAX);
        let found = |object: &&Arc<Object>| options.matches(object);
        if let Some(candidates) = self.candidates(options) {
            return candidates.into_iter().map(|entry| &entry.0).filter(found).take(limit).cloned().collect();
        }
        match &options.namespace {
            Some(namespace) => {
                let first = ObjectKey::new(namespace.as_str(), "");
                let within = self.objects.range(first..).map(|entry| &entry.0);
                let within = within.take_while(|o| *o.key().namespace == **namespace);
                within.filter(found).take(limit).cloned().collect()
            }
            None => self.objects().filter(found).take(limit).cloned().collect(),
        }
    }

    /// Sorted candidates for `options` from an index, perhaps too many; `None` if no index applies.
    fn candidates(&self, options: &ListOptions) -> Option<BTreeSet<&IndexEntry>> {
        if let Some(uid) = &options.owner_uid {
            return Some(self.by_owner.get(&hash(uid)).into_iter().flatten().collect());
        }
        let (field, wanted) = options.fields()?;
        let values = self.by_field.get(&field)?;
        Some(wanted.iter().filter_map(|value| values.get(&hash(value))).flatten().collect())
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

impl ListOptions {
    /// A field that an index can serve, and its possible values.
    fn fields(&self) -> Option<(Field, Vec<&str>)> {
        if let Some(reference) = &self.reference {
            return Some((Field::Pointer(reference.pointer.as_str().into()), vec![&reference.name]));
        }
        let (label, wanted) = self.label_selector.as_ref()?.indexable()?;
        Some((Field::Label(label.into()), wanted.iter().map(String::as_str).collect()))
    }

    /// Whether the options select this object; the limit does not count.
    pub fn matches(&self, object: &Object) -> bool {
        self.namespace.as_ref().is_none_or(|ns| **ns == *object.key().namespace)
            && self.owner_uid.as_ref().is_none_or(|uid| object.owners().any(|o| o.uid == uid.as_str()))
            && self.label_selector.as_ref().is_none_or(|s| s.matches(|label| object.label(label)))
            && self.reference.as_ref().is_none_or(|reference| reference.is_held_by(object))
    }
}

impl Reference {
    fn is_held_by(&self, object: &Object) -> bool {
        let mut held = false;
        // A text search shows quickly that most objects lack the name, unless JSON spells it with escapes.
        if object.json().contains(&self.name)
            || self.name.contains(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '.')
        {
            Field::Pointer(self.pointer.as_str().into()).each(object, |text| held |= text == self.name);
        }
        held
    }
}

fn forget(index: &mut Index, text: &str, key: &ObjectKey) {
    let hash = hash(text);
    if let Some(entries) = index.get_mut(&hash) {
        entries.remove(key);
        if entries.is_empty() {
            index.remove(&hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn object(ns: usize, name: usize, label: Option<usize>, owner: Option<usize>) -> Arc<Object> {
        let labels = label.map_or(json!({}), |l| json!({"app": format!("v{l}"), "all": "x"}));
        let owners = owner.map_or(json!([]), |o| json!([{"uid": format!("u{o}"), "kind": "K", "name": "n"}]));
        let metadata = json!({"namespace": format!("n{ns}"), "name": format!("o{name}"), "labels": labels,
            "ownerReferences": owners});
        let held = label.map(|l| json!([format!("v{l}"), "all", "all"])).unwrap_or(json!("v9"));
        Arc::new(Object::parse(&json!({"metadata": metadata, "spec": {"uses": held}}).to_string()).unwrap())
    }

    fn queries() -> Vec<ListOptions> {
        let namespaces = [None, Some("n0".to_owned()), Some("n1".to_owned()), Some("absent".to_owned())];
        let selectors = ["", "app=v0", "app in (v0,v1),all", "app!=v0", "!app", "app=absent"];
        let owners = [None, Some("u0".to_owned()), Some("absent".to_owned())];
        let mut queries = Vec::new();
        for namespace in &namespaces {
            for selector in selectors {
                for owner_uid in &owners {
                    queries.push(ListOptions {
                        namespace: namespace.clone(),
                        label_selector: Some(selector.parse().unwrap()),
                        owner_uid: owner_uid.clone(),
                        ..ListOptions::default()
                    });
                }
            }
        }
        for name in ["v0", "v1", "v9", "all", "absent"] {
            for namespace in &namespaces {
                let reference = Some(Reference { pointer: "/spec/uses".to_owned(), name: name.to_owned() });
                queries.push(ListOptions { namespace: namespace.clone(), reference, ..ListOptions::default() });
            }
        }
        queries
    }

    proptest! {
        #[test]
        fn b15_indexes_answer_what_a_full_scan_answers(
            steps in proptest::collection::vec(
                (any::<bool>(), 0usize..3, 0usize..4, proptest::option::of(0usize..3), proptest::option::of(0usize..2)),
                0..60,
            ),
            index_at in 0usize..60,
            limit in 0usize..4,
        ) {
            let mut table = Table::default();
            for (i, (insert, ns, name, label, owner)) in steps.into_iter().enumerate() {
                if i == index_at {
                    table.add_index(Field::Label("app".into()));
                    table.add_index(Field::Pointer("/spec/uses".into()));
                }
                let object = object(ns, name, label, owner);
                if insert { table.insert(object) } else { table.remove(object.key()); }
            }
            for mut options in queries() {
                let scan: Vec<String> =
                    table.objects().filter(|o| options.matches(o)).map(|o| o.key().to_string()).collect();
                let listed = |t: &Table, o: &ListOptions| -> Vec<String> {
                    t.list(o).iter().map(|o| o.key().to_string()).collect()
                };
                prop_assert_eq!(listed(&table, &options), scan.clone());
                options.limit = Some(limit);
                prop_assert_eq!(listed(&table, &options), scan.into_iter().take(limit).collect::<Vec<_>>());
            }
            let keys: Vec<ObjectKey> = table.objects().map(|o| o.key().clone()).collect();
            for key in keys {
                table.remove(&key);
            }
            prop_assert!(table.by_owner.is_empty() && table.by_field.values().all(HashMap::is_empty));
            prop_assert_eq!(table.heap_bytes(), 0);
        }
    }

    #[test]
    fn fields_are_indexed_once_asked_for_and_not_without_bound() {
        let mut table = Table::default();
        table.insert(object(0, 0, Some(1), None));
        for i in 0..100 {
            let options =
                ListOptions { label_selector: Some(format!("k{i}=x").parse().unwrap()), ..ListOptions::default() };
            if let Some(field) = table.wants_index(&options) {
                table.add_index(field);
            }
            assert!(table.wants_index(&options).is_none());
        }
        assert_eq!(table.by_field.len(), INDEXED_FIELDS);
    }

    /// A lookup among many primaries, for the keys that a watched object enqueues.
    #[test]
    fn b15_who_refers_to_a_name_is_found_without_a_look_at_the_others() {
        let mut table = Table::default();
        for name in 0..500 {
            table.insert(object(name % 3, name, Some(name), None));
        }
        let reference = Some(Reference { pointer: "/spec/uses".to_owned(), name: "v7".to_owned() });
        let options = ListOptions { reference, ..ListOptions::default() };
        assert!(table.candidates(&options).is_none());
        let field = table.wants_index(&options).expect("it helps");
        table.add_index(field);
        assert_eq!(table.candidates(&options).map(|found| found.len()), Some(1));
        assert_eq!(table.list(&options).len(), 1);
    }
}
