//! Tables of rows with the common attributes: id, tags, revision and times.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Document;

/// One resource.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// The document without tags and without data from other tables.
    pub(super) value: Document,
    pub(super) tags: BTreeSet<String>,
    /// Creation time, on the tests' clock.
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

/// Rows in the order of their ids, which is the order of lists.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: BTreeMap<String, Row>,
    /// Ids by `network_id`, which never changes.
    of_network: HashMap<String, BTreeSet<String>>,
    /// Number of rows by `project_id`, which never changes either.
    of_project: HashMap<String, usize>,
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

    /// The rows of a network, in the order of their ids.
    pub(super) fn of_network(&self, network: &str) -> impl Iterator<Item = &Row> {
        self.of_network.get(network).into_iter().flatten().filter_map(|id| self.rows.get(id))
    }

    /// The number of rows of a project.
    pub(super) fn count_of(&self, project: &str) -> usize {
        self.of_project.get(project).copied().unwrap_or_default()
    }

    /// Adds a new row.
    pub(super) fn insert(&mut self, row: Row) -> Row {
        if !row.text("network_id").is_empty() {
            self.of_network.entry(row.text("network_id").to_owned()).or_default().insert(row.id().to_owned());
        }
        *self.of_project.entry(row.text("project_id").to_owned()).or_default() += 1;
        self.rows.insert(row.id().to_owned(), row.clone());
        row
    }

    pub(super) fn remove(&mut self, id: &str) -> Option<Row> {
        let row = self.rows.remove(id)?;
        if let Some(ids) = self.of_network.get_mut(row.text("network_id")) {
            ids.remove(id);
            if ids.is_empty() {
                self.of_network.remove(row.text("network_id"));
            }
        }
        if let Some(count) = self.of_project.get_mut(row.text("project_id")) {
            *count -= 1;
        }
        Some(row)
    }

    /// Removes the rows of a network.
    pub(super) fn remove_network(&mut self, network: &str) {
        for id in self.of_network.get(network).cloned().unwrap_or_default() {
            self.remove(&id);
        }
    }

    /// Asserts that the indexes match the rows.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let mut of_network: HashMap<String, BTreeSet<String>> = HashMap::new();
        let mut of_project: HashMap<String, usize> = HashMap::new();
        for row in self.rows().filter(|row| !row.text("network_id").is_empty()) {
            of_network.entry(row.text("network_id").to_owned()).or_default().insert(row.id().to_owned());
        }
        for row in self.rows() {
            *of_project.entry(row.text("project_id").to_owned()).or_default() += 1;
        }
        assert_eq!(self.of_network, of_network, "rows by network");
        let counted: HashMap<String, usize> = self.of_project.clone().into_iter().filter(|(_, n)| *n > 0).collect();
        assert_eq!(counted, of_project, "rows by project");
    }

    /// Counts a change of a row, if it exists.
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
