//! Indexes of a watch's objects: lookup by key, namespace, owner, label and declared index.

use super::{
    indexer::{DeclaredIndex, Indexed, Indexer},
    object::Object,
};
use oarlock_api::{ObjectKey, Selector};
use serde_json::Value;
use std::{
    borrow::Borrow,
    cell::OnceCell,
    cmp::Ordering,
    collections::{BTreeSet, HashMap},
    hash::{DefaultHasher, Hash, Hasher},
    ops::Bound,
    sync::Arc,
};

/// Most label keys with an index per store. They come from selectors of lists; lists by further ones scan every object.
const INDEXED_LABELS: usize = 16;

/// The objects that a list selects; all by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// Only this namespace.
    pub namespace: Option<String>,
    /// Only objects whose labels match.
    pub label_selector: Option<Selector>,
    /// Only objects with an owner reference to this uid.
    pub owner_uid: Option<String>,
    /// Only objects with this value in an index.
    pub indexed: Option<Indexed>,
    /// At most this many objects.
    pub limit: Option<usize>,
}

/// An object in a set that is sorted by key, without a second copy of the key.
#[derive(Clone, Debug)]
pub(crate) struct IndexEntry(pub(crate) Arc<Object>);

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

pub(crate) type Entries = BTreeSet<IndexEntry>;

/// Objects by the hash of one of their texts. The lookup compares the text again.
type Index = HashMap<u64, Entries>;

/// The objects and their indexes. Ordered by namespace, then name: the order of the API server's own lists, which also serves as the
/// index by namespace.
#[derive(Debug, Default)]
pub(crate) struct Table {
    objects: Entries,
    by_owner: Index,
    /// By the values of labels that lists asked for.
    by_label: HashMap<Box<str>, Index>,
    declared: HashMap<Indexer, DeclaredIndex>,
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

    pub(crate) fn page(&self, after: Option<&ObjectKey>, limit: usize) -> Vec<Arc<Object>> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let page = self.objects.range::<ObjectKey, _>((from, Bound::Unbounded)).take(limit);
        page.map(|entry| Arc::clone(&entry.0)).collect()
    }

    pub(crate) fn insert(&mut self, object: Arc<Object>) {
        self.remove(object.key());
        let entry = IndexEntry(object);
        for owner in entry.0.owners() {
            self.by_owner.entry(hash(owner.uid)).or_default().insert(entry.clone());
        }
        for (label, values) in &mut self.by_label {
            if let Some(value) = entry.0.label(label) {
                values.entry(hash(value)).or_default().insert(entry.clone());
            }
        }
        let document = Document::default();
        for (indexer, index) in &mut self.declared {
            index.insert(&entry, indexer.values(document.of(&entry.0)));
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
        for (label, values) in &mut self.by_label {
            if let Some(value) = object.label(label) {
                forget(values, value, key);
            }
        }
        let document = Document::default();
        for (indexer, index) in &mut self.declared {
            index.remove(key, indexer.values(document.of(&object)));
        }
        Some(object)
    }

    /// The label that an index for `options` would need, if there is no index yet.
    pub(crate) fn wants_index(&self, options: &ListOptions) -> Option<Box<str>> {
        let (label, _) = options.label()?;
        let room = self.by_label.len() < INDEXED_LABELS && !self.by_label.contains_key(label);
        (room && options.owner_uid.is_none() && options.indexed.is_none()).then(|| label.into())
    }

    pub(crate) fn add_label(&mut self, label: Box<str>) {
        if self.by_label.len() >= INDEXED_LABELS || self.by_label.contains_key(&label) {
            return;
        }
        let mut values = Index::new();
        for entry in &self.objects {
            if let Some(value) = entry.0.label(&label) {
                values.entry(hash(value)).or_default().insert(entry.clone());
            }
        }
        self.by_label.insert(label, values);
    }

    /// Adds a user of a declared index. The first one makes the index.
    pub(crate) fn declare(&mut self, indexer: &Indexer) {
        let Self { objects, declared, .. } = self;
        let index = declared.entry(indexer.clone()).or_insert_with(|| {
            let mut index = DeclaredIndex::default();
            for entry in &*objects {
                index.insert(entry, indexer.values(Document::default().of(&entry.0)));
            }
            index
        });
        index.users += 1;
    }

    /// Removes a user of a declared index. The last one removes the index.
    pub(crate) fn undeclare(&mut self, indexer: &Indexer) {
        if let Some(index) = self.declared.get_mut(indexer) {
            index.users = index.users.saturating_sub(1);
            if index.users == 0 {
                self.declared.remove(indexer);
            }
        }
    }

    /// Matching objects in the order of their keys.
    pub(crate) fn list(&self, options: &ListOptions) -> Vec<Arc<Object>> {
        let limit = options.limit.unwrap_or(usize::MAX);
        if let Some(Indexed { indexer, value }) = &options.indexed
            && let Some(index) = self.declared.get(indexer)
        {
            let found = index.candidates(value, indexer).into_iter().filter(|object| options.matches_metadata(object));
            return found.take(limit).cloned().collect();
        }
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

    /// Sorted candidates for `options` from an index by owner or label, perhaps too many; `None` if no index applies.
    fn candidates(&self, options: &ListOptions) -> Option<BTreeSet<&IndexEntry>> {
        if let Some(uid) = &options.owner_uid {
            return Some(self.by_owner.get(&hash(uid)).into_iter().flatten().collect());
        }
        let (label, wanted) = options.label()?;
        let values = self.by_label.get(label)?;
        Some(wanted.iter().filter_map(|value| values.get(&hash(value))).flatten().collect())
    }
}

/// The document of one object, parsed when the first index needs it.
#[derive(Default)]
struct Document(OnceCell<Value>);

impl Document {
    fn of(&self, object: &Object) -> &Value {
        self.0.get_or_init(|| serde_json::from_str(object.json()).unwrap_or_default())
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

impl ListOptions {
    /// A label that every selected object has, and its possible values, where the selector requires one.
    pub fn label(&self) -> Option<(&str, Vec<&str>)> {
        let (label, wanted) = self.label_selector.as_ref()?.indexable()?;
        Some((label, wanted.iter().map(String::as_str).collect()))
    }

    /// Whether the options select this object; the limit does not count.
    pub fn matches(&self, object: &Object) -> bool {
        self.matches_metadata(object) && self.indexed.as_ref().is_none_or(|indexed| indexed.has(object))
    }

    /// As [`matches`](Self::matches), without the declared index.
    pub fn matches_metadata(&self, object: &Object) -> bool {
        self.namespace.as_ref().is_none_or(|ns| **ns == *object.key().namespace)
            && self.owner_uid.as_ref().is_none_or(|uid| object.owners().any(|o| o.uid == uid.as_str()))
            && self.label_selector.as_ref().is_none_or(|s| s.matches(|label| object.label(label)))
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
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    fn object(ns: usize, name: usize, label: Option<usize>, owner: Option<usize>) -> Arc<Object> {
        let labels = label.map_or(json!({}), |l| json!({"app": format!("v{l}"), "all": "x"}));
        let owners = owner.map_or(json!([]), |o| json!([{"uid": format!("u{o}"), "kind": "K", "name": "n"}]));
        let metadata = json!({"namespace": format!("n{ns}"), "name": format!("o{name}"), "labels": labels,
            "ownerReferences": owners});
        let held = label.map(|l| json!([format!("v{l}"), "all", "all"])).unwrap_or(json!("v9"));
        Arc::new(Object::parse(&json!({"metadata": metadata, "spec": {"uses": held}}).to_string()).unwrap())
    }

    fn uses() -> Indexer {
        Indexer::pointer("/spec/uses")
    }

    #[test]
    fn pages_have_every_object_once_and_in_order_also_when_the_end_of_a_page_is_gone() {
        let mut table = Table::default();
        for number in 0..25 {
            table.insert(object(number % 3, number, None, None));
        }
        let keys: Vec<_> = table.objects().map(|object| object.key().clone()).collect();
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = table.page(after.as_ref(), 4);
            let Some(last) = page.last() else { break };
            assert!(page.len() <= 4);
            after = Some(last.key().clone());
            all.extend(page.iter().map(|object| object.key().clone()));
            table.remove(&all[all.len() - 1]);
        }
        assert_eq!(all, keys);
        assert!(table.page(None, 0).is_empty());
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
        for value in ["v0", "v1", "v9", "all", "absent"] {
            for namespace in &namespaces {
                for label_selector in [None, Some("app=v0".parse().unwrap())] {
                    queries.push(ListOptions {
                        namespace: namespace.clone(),
                        label_selector,
                        indexed: Some(Indexed { indexer: uses(), value: value.to_owned() }),
                        ..ListOptions::default()
                    });
                }
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
                    table.add_label("app".into());
                    table.declare(&uses());
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
            prop_assert!(table.by_owner.is_empty() && table.by_label.values().all(HashMap::is_empty));
            prop_assert!(table.declared.values().all(DeclaredIndex::is_empty));
            prop_assert_eq!(table.heap_bytes(), 0);
        }
    }

    #[test]
    fn labels_are_indexed_once_asked_for_and_not_without_bound() {
        let mut table = Table::default();
        table.insert(object(0, 0, Some(1), None));
        for i in 0..100 {
            let options =
                ListOptions { label_selector: Some(format!("k{i}=x").parse().unwrap()), ..ListOptions::default() };
            if let Some(label) = table.wants_index(&options) {
                table.add_label(label);
            }
            assert!(table.wants_index(&options).is_none());
        }
        assert_eq!(table.by_label.len(), INDEXED_LABELS);
    }

    /// A lookup among many objects, for example for the keys that a watched object enqueues.
    #[test]
    fn b15_a_declared_index_finds_its_objects_without_a_look_at_the_others() {
        let looks = Arc::new(AtomicUsize::new(0));
        let counting = {
            let looks = Arc::clone(&looks);
            Indexer::new("counting", move |document, found| {
                looks.fetch_add(1, Relaxed);
                found(document.pointer("/spec/uses/0").and_then(Value::as_str).unwrap_or_default());
            })
        };
        let mut table = Table::default();
        for name in 0..500 {
            table.insert(object(name % 3, name, Some(name), None));
        }
        table.declare(&counting);
        table.declare(&counting);
        assert_eq!(looks.swap(0, Relaxed), 500, "each object once");
        let options = |value: &str| {
            let indexed = Some(Indexed { indexer: counting.clone(), value: value.to_owned() });
            ListOptions { indexed, ..ListOptions::default() }
        };
        assert_eq!(table.list(&options("v7")).len(), 1);
        assert_eq!(table.list(&options("all")).len(), 0);
        assert_eq!(looks.load(Relaxed), 0, "a list evaluates nothing");
        table.undeclare(&counting);
        assert_eq!(table.declared.len(), 1, "one user is left");
        table.undeclare(&counting);
        assert!(table.declared.is_empty());
        assert_eq!(table.list(&options("v7")).len(), 1, "a list without an index looks at each object");
        assert_eq!(looks.load(Relaxed), 500);
    }
}
