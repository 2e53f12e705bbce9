//! Objects of one watch, found by key, namespace, owner and label.

use super::object::Object;
use crate::api::{ObjectKey, Selector};
use std::{
    borrow::Borrow,
    cmp::Ordering,
    collections::{BTreeSet, HashMap},
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

/// At most this many label keys are indexed per store. Keys come from selectors of plugins; beyond it, lists by
/// further label keys look at every object.
const INDEXED_LABELS: usize = 16;

/// Which objects a list asks for; everything by default.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// Only this namespace.
    pub namespace: Option<String>,
    /// Only objects whose labels match.
    pub label_selector: Option<Selector>,
    /// Only objects with an owner reference to this uid.
    pub owner_uid: Option<String>,
    /// At most this many objects.
    pub limit: Option<usize>,
}

/// An object in a set that is sorted by key. The key is not stored a second time.
#[derive(Clone, Debug)]
struct Entry(Arc<Object>);

impl Borrow<ObjectKey> for Entry {
    fn borrow(&self) -> &ObjectKey {
        self.0.key()
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.key().cmp(other.0.key())
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.0.key() == other.0.key()
    }
}

impl Eq for Entry {}

type Entries = BTreeSet<Entry>;

/// Objects by the hash of a text they have. Who looks one up looks at the text again.
type Index = HashMap<u64, Entries>;

/// The table and its indexes. Ordered by namespace, then name: the order of the API server's own lists, and the
/// index by namespace at the same time.
#[derive(Debug, Default)]
pub(crate) struct Table {
    objects: Entries,
    by_owner: Index,
    /// For label keys that were asked for.
    by_label: HashMap<Box<str>, Index>,
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
        let entry = Entry(object);
        for owner in entry.0.owners() {
            self.by_owner.entry(hash(owner.uid)).or_default().insert(entry.clone());
        }
        for (label, values) in &mut self.by_label {
            if let Some(value) = entry.0.label(label) {
                values.entry(hash(value)).or_default().insert(entry.clone());
            }
        }
        self.heap_bytes += entry.0.heap_bytes();
        self.objects.insert(entry);
    }

    pub(crate) fn remove(&mut self, key: &ObjectKey) -> Option<Arc<Object>> {
        let Entry(object) = self.objects.take(key)?;
        self.heap_bytes = self.heap_bytes.saturating_sub(object.heap_bytes());
        for owner in object.owners() {
            forget(&mut self.by_owner, owner.uid, key);
        }
        for (label, values) in &mut self.by_label {
            if let Some(value) = object.label(label) {
                forget(values, value, key);
            }
        }
        Some(object)
    }

    /// The label key an index would help `options` with, if there is no index yet.
    pub(crate) fn wants_index<'a>(&self, options: &'a ListOptions) -> Option<&'a str> {
        let (label, _) = options.label_selector.as_ref()?.indexable()?;
        let room = self.by_label.len() < INDEXED_LABELS && !self.by_label.contains_key(label);
        (room && options.owner_uid.is_none()).then_some(label)
    }

    pub(crate) fn add_index(&mut self, label: &str) {
        if self.by_label.len() >= INDEXED_LABELS || self.by_label.contains_key(label) {
            return;
        }
        let mut values = Index::new();
        for entry in &self.objects {
            if let Some(value) = entry.0.label(label) {
                values.entry(hash(value)).or_default().insert(entry.clone());
            }
        }
        self.by_label.insert(label.into(), values);
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

    /// What an index knows of `options`, sorted, and perhaps more than was asked for; `None` if none applies.
    fn candidates(&self, options: &ListOptions) -> Option<BTreeSet<&Entry>> {
        if let Some(uid) = &options.owner_uid {
            return Some(self.by_owner.get(&hash(uid)).into_iter().flatten().collect());
        }
        let (label, wanted) = options.label_selector.as_ref()?.indexable()?;
        let values = self.by_label.get(label)?;
        Some(wanted.iter().filter_map(|value| values.get(&hash(value))).flatten().collect())
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

impl ListOptions {
    /// Whether this is one of the objects asked for; the limit does not count.
    pub(crate) fn matches(&self, object: &Object) -> bool {
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

    fn object(ns: usize, name: usize, label: Option<usize>, owner: Option<usize>) -> Arc<Object> {
        let labels = label.map_or(json!({}), |l| json!({"app": format!("v{l}"), "all": "x"}));
        let owners = owner.map_or(json!([]), |o| json!([{"uid": format!("u{o}"), "kind": "K", "name": "n"}]));
        let metadata = json!({"namespace": format!("n{ns}"), "name": format!("o{name}"), "labels": labels,
            "ownerReferences": owners});
        Arc::new(Object::parse(&json!({"metadata": metadata}).to_string()).unwrap())
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
                        limit: None,
                    });
                }
            }
        }
        queries
    }

    proptest! {
        #[test]
        fn indexes_answer_what_a_full_scan_answers(
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
                    table.add_index("app");
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
                table.add_index(label);
            }
            assert!(table.wants_index(&options).is_none());
        }
        assert_eq!(table.by_label.len(), INDEXED_LABELS);
    }
}
