//! Declared indexes: functions from an object to the values under which a list finds it.

use super::{
    index::{Entries, IndexEntry},
    object::Object,
};
use oarlock_api::ObjectKey;
use serde_json::Value;
use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

/// Most values of one object in one index. A list looks at each object with more values, so that an object takes bounded memory.
const VALUES: usize = 256;

/// Longest value in an index, in bytes. A list looks at each object with a longer value.
const VALUE_BYTES: usize = 1024;

type Values = dyn Fn(&Value, &mut dyn FnMut(&str)) + Send + Sync;

/// A function from an object's document to its values in an index. Two indexers with the same name are equal.
///
/// # Source
///
/// client-go `tools/cache/index.go`: `IndexFunc`.
#[derive(Clone)]
pub struct Indexer {
    name: Arc<str>,
    values: Arc<Values>,
}

impl Indexer {
    /// An indexer.
    ///
    /// * `name` - identifies the function: equal names mean equal functions.
    /// * `values` - passes each value of a document to its second argument. Its time must be linear in the size of the document.
    pub fn new(
        name: impl Into<Arc<str>>,
        values: impl Fn(&Value, &mut dyn FnMut(&str)) + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), values: Arc::new(values) }
    }

    /// The string, or each string of a list, at a JSON pointer (RFC 6901).
    pub fn pointer(pointer: &str) -> Self {
        let path = pointer.to_owned();
        Self::new(format!("pointer {pointer}"), move |document, found| match document.pointer(&path) {
            Some(Value::String(text)) => found(text),
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).for_each(found),
            _ => {}
        })
    }

    /// The value of a label.
    pub fn label(label: &str) -> Self {
        let key = label.to_owned();
        Self::new(format!("label {label}"), move |document, found| {
            let labels = document.pointer("/metadata/labels");
            if let Some(value) = labels.and_then(|labels| labels.get(&key)).and_then(Value::as_str) {
                found(value);
            }
        })
    }

    /// Passes each value of an object's document to `found`, repeated values too.
    pub fn for_each(&self, document: &Value, found: &mut dyn FnMut(&str)) {
        (self.values)(document, found);
    }

    /// The values of a document. None: too many or too long for an index.
    pub(crate) fn values(&self, document: &Value) -> Option<BTreeSet<Box<str>>> {
        let (mut values, mut fits) = (BTreeSet::new(), true);
        (self.values)(document, &mut |value| {
            fits &= value.len() <= VALUE_BYTES && (values.len() < VALUES || values.contains(value));
            if fits {
                values.insert(Box::from(value));
            }
        });
        fits.then_some(values)
    }

    fn has(&self, document: &Value, wanted: &str) -> bool {
        let mut has = false;
        (self.values)(document, &mut |value| has |= value == wanted);
        has
    }
}

impl fmt::Debug for Indexer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Indexer").field(&self.name).finish()
    }
}

impl PartialEq for Indexer {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Indexer {}

impl Hash for Indexer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// A value in an index, as a list selects it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Indexed {
    /// The index.
    pub indexer: Indexer,
    /// The value.
    pub value: String,
}

impl Indexed {
    /// Whether an object has the value.
    pub(crate) fn has(&self, object: &Object) -> bool {
        self.is_in(&serde_json::from_str(object.json()).unwrap_or_default())
    }

    /// Whether an object with this document has the value.
    pub fn is_in(&self, document: &Value) -> bool {
        self.indexer.has(document, &self.value)
    }
}

/// The objects by their values in one index.
#[derive(Debug, Default)]
pub(crate) struct DeclaredIndex {
    /// The subscriptions that declare the index.
    pub(crate) users: usize,
    by_value: HashMap<Box<str>, Entries>,
    /// The objects whose values are too many or too long.
    others: Entries,
}

impl DeclaredIndex {
    pub(crate) fn insert(&mut self, entry: &IndexEntry, values: Option<BTreeSet<Box<str>>>) {
        match values {
            Some(values) => {
                for value in values {
                    self.by_value.entry(value).or_default().insert(entry.clone());
                }
            }
            None => {
                self.others.insert(entry.clone());
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &ObjectKey, values: Option<BTreeSet<Box<str>>>) {
        let Some(values) = values else {
            self.others.remove(key);
            return;
        };
        for value in values {
            if let Some(entries) = self.by_value.get_mut(&value) {
                entries.remove(key);
                if entries.is_empty() {
                    self.by_value.remove(&value);
                }
            }
        }
    }

    /// The objects with a value, in the order of their keys.
    pub(crate) fn candidates(&self, value: &str, indexer: &Indexer) -> Vec<&Arc<Object>> {
        let indexed = Indexed { indexer: indexer.clone(), value: value.to_owned() };
        let with_value = self.by_value.get(value).into_iter().flatten();
        let mut found: Vec<_> = with_value.chain(self.others.iter().filter(|entry| indexed.has(&entry.0))).collect();
        if !self.others.is_empty() {
            found.sort();
        }
        found.into_iter().map(|entry| &entry.0).collect()
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.by_value.is_empty() && self.others.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(name: &str, uses: &Value) -> IndexEntry {
        let document = json!({"metadata": {"name": name, "namespace": "n"}, "spec": {"uses": uses}});
        IndexEntry(Arc::new(Object::parse(&document.to_string()).unwrap()))
    }

    /// Another user's object with half a million values must not take a hundred times its size.
    #[test]
    fn objects_with_many_or_long_values_are_found_without_being_indexed() {
        let indexer = Indexer::pointer("/spec/uses");
        let long = "x".repeat(VALUE_BYTES + 1);
        let many: Vec<String> = (0..=VALUES).map(|i| format!("v{i}")).collect();
        let all = [
            entry("c-one", &json!("v7")),
            entry("b-many", &json!(many)),
            entry("a-long", &json!(["v7", long])),
            entry("d-other", &json!(["v7", "v7", "v8"])),
        ];
        let mut index = DeclaredIndex::default();
        let values = |entry: &IndexEntry| indexer.values(&serde_json::from_str(entry.0.json()).unwrap());
        for entry in &all {
            index.insert(entry, values(entry));
        }
        assert_eq!((index.others.len(), index.by_value.len()), (2, 2));
        let found = |value: &str| -> Vec<String> {
            index.candidates(value, &indexer).iter().map(|object| object.key().name.to_string()).collect()
        };
        assert_eq!(found("v7"), ["a-long", "b-many", "c-one", "d-other"]);
        assert_eq!(found(&long), ["a-long"]);
        assert_eq!(found("v200"), ["b-many"]);
        assert!(found("v9999").is_empty());
        for entry in &all {
            index.remove(entry.0.key(), values(entry));
        }
        assert!(index.is_empty());
    }
}
