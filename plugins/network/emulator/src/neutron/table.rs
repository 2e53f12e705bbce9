//! Rows with what every resource has: id, tags, revision and times.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Document;

/// One resource.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// The document without tags and without what other tables say about it.
    pub(super) value: Document,
    pub(super) tags: BTreeSet<String>,
    /// When it was made, on the tests' clock.
    pub(super) since: Instant,
}

impl Row {
    /// A new row with an id of its own.
    pub(super) fn new(mut value: Document, revision: u64) -> Self {
        value.insert("id".to_owned(), json!(super::new_id()));
        value.insert("created_at".to_owned(), now());
        value.insert("updated_at".to_owned(), now());
        value.insert("revision_number".to_owned(), json!(revision));
        Self { value, tags: BTreeSet::new(), since: Instant::now() }
    }

    pub(super) fn id(&self) -> &str {
        self.text("id")
    }

    /// A string attribute; empty if absent or null.
    pub(super) fn text(&self, name: &str) -> &str {
        self.value.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// The objects of a list attribute, such as `fixed_ips`.
    pub(super) fn items(&self, name: &str) -> impl Iterator<Item = &Document> {
        self.value.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
    }

    pub(super) fn revision(&self) -> u64 {
        self.value.get("revision_number").and_then(Value::as_u64).unwrap_or_default()
    }

    /// Counts a change.
    pub(super) fn touch(&mut self) {
        self.value.insert("revision_number".to_owned(), json!(self.revision() + 1));
        self.value.insert("updated_at".to_owned(), now());
    }
}

fn now() -> Value {
    json!(Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// Rows in the order of their ids, which is the order lists come in.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: BTreeMap<String, Row>,
}

impl Table {
    pub(super) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.values()
    }

    pub(super) fn get(&self, id: &str) -> Option<&Row> {
        self.rows.get(id)
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut Row> {
        self.rows.get_mut(id)
    }

    pub(super) fn insert(&mut self, row: Row) -> Row {
        self.rows.insert(row.id().to_owned(), row.clone());
        row
    }

    pub(super) fn remove(&mut self, id: &str) -> Option<Row> {
        self.rows.remove(id)
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&Row) -> bool) {
        self.rows.retain(|_, row| keep(row));
    }

    /// Counts a change of a row, if it is there.
    pub(super) fn touch(&mut self, id: &str) {
        if let Some(row) = self.rows.get_mut(id) {
            row.touch();
        }
    }

    /// Writes attributes; the revision grows if one of them differs. Returns the names that differ.
    pub(super) fn merge(&mut self, id: &str, given: Document) -> Vec<String> {
        let Some(row) = self.rows.get_mut(id) else { return Vec::new() };
        let changed: Vec<String> =
            given.iter().filter(|(name, value)| row.value.get(*name) != Some(value)).map(|(n, _)| n.clone()).collect();
        row.value.extend(given);
        if !changed.is_empty() {
            row.touch();
        }
        changed
    }
}
