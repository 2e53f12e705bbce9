//! Pages of a plugin's objects, for people: objects with a problem come first.
//!
//! A page costs bounded work, however many objects there are: it reads the caches from where the page before ended, and ends itself after
//! [`MOST_SCANNED`] objects, also if few of them match.

use super::{Controller, ReconcileKey, Version};
use crate::api::{GroupVersionKind, ObjectKey};
use crate::informer::Object;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

/// Most objects that one page looks at.
const MOST_SCANNED: usize = 20_000;

/// Objects that are read under one lock.
const CHUNK: usize = 500;

/// Most rows of a page.
const MOST_ROWS: usize = 200;

/// Longest error of a row, in bytes.
const ERROR_BYTES: usize = 400;

/// Which objects of a plugin to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectQuery {
    /// By their state.
    pub state: ObjectFilter,
    /// Of this namespace. None: of all.
    pub namespace: Option<String>,
    /// Of this kind, as the manifest spells it. None: of all.
    pub kind: Option<String>,
    /// A part of `NAMESPACE/NAME`, or of a label as `KEY=VALUE`, in any case of letters. Empty: all.
    pub search: String,
    /// The end of the page before. None: the first page.
    pub after: Option<ObjectCursor>,
    /// Most rows; at most 200.
    pub limit: usize,
}

/// Which objects, by their state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObjectFilter {
    /// All, those with a problem first.
    #[default]
    All,
    /// Failed or out of sync.
    Problem,
    /// The last reconcile failed.
    Failed,
    /// Desired and actual state differ after the last patch.
    OutOfSync,
    /// An annotation pauses the object.
    Paused,
}

/// Where a page ended. As text it is opaque.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectCursor {
    section: Section,
    key: ReconcileKey,
}

/// A part of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Section {
    Problem,
    Rest,
    Failed,
    OutOfSync,
    Paused,
}

impl ObjectCursor {
    /// Reads what `text` writes. None: it is no such text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (section, kind, key) = serde_json::from_str::<(Section, GroupVersionKind, ObjectKey)>(text).ok()?;
        Some(Self { section, key: ReconcileKey { kind: Arc::new(kind), key } })
    }

    /// The cursor as text.
    fn text(&self) -> String {
        serde_json::to_string(&(self.section, &*self.key.kind, &self.key.key)).unwrap_or_default()
    }
}

impl ObjectFilter {
    fn sections(self) -> &'static [Section] {
        match self {
            Self::All => &[Section::Problem, Section::Rest],
            Self::Problem => &[Section::Problem],
            Self::Failed => &[Section::Failed],
            Self::OutOfSync => &[Section::OutOfSync],
            Self::Paused => &[Section::Paused],
        }
    }
}

impl ObjectQuery {
    fn matches(&self, key: &ReconcileKey, object: Option<&Object>, text: &mut String) -> bool {
        if self.namespace.as_ref().is_some_and(|namespace| *namespace != *key.key.namespace)
            || self.kind.as_ref().is_some_and(|kind| *kind != key.kind.kind)
        {
            return false;
        }
        if self.search.is_empty() {
            return true;
        }
        let mut contains = |first: &str, sign: char, second: &str| {
            text.clear();
            // Writing to a string cannot fail.
            let _ = write!(text, "{first}{sign}{second}");
            text.make_ascii_lowercase();
            text.contains(&self.search)
        };
        contains(&key.key.namespace, '/', &key.key.name)
            || object.is_some_and(|object| object.labels().any(|(label, value)| contains(label, '=', value)))
    }
}

/// The rows of a page that is being read.
#[derive(Default)]
struct Page {
    rows: Vec<(ReconcileKey, Option<Arc<Object>>)>,
    scanned: usize,
    next: Option<ObjectCursor>,
}

impl Controller {
    /// A page of the plugin's objects: `objects`, `next` (the text of a cursor, or null), `scanned`, and the numbers of all objects. None: no
    /// version runs.
    #[must_use]
    pub fn list_objects(&self, mut query: ObjectQuery) -> Option<Value> {
        let version = self.current()?;
        query.search.make_ascii_lowercase();
        query.limit = query.limit.clamp(1, MOST_ROWS);
        let page = self.page(&version, &query);
        let wanted: BTreeSet<&ReconcileKey> = page.rows.iter().map(|(key, _)| key).collect();
        let mut errors = self.records.as_ref().map(|records| records.last_errors(&wanted)).unwrap_or_default();
        for (key, ended) in self.recent.newest(&wanted) {
            errors.extend(ended.error.map(|error| (key, error)));
        }
        let rows = page.rows.iter().map(|(key, object)| {
            let failed = self.marks.failed.contains(key);
            let error = errors.get(key).filter(|_| failed);
            json!({
                "apiVersion": key.kind.api_version(), "kind": key.kind.kind,
                "namespace": key.key.namespace, "name": key.key.name,
                "state": self.state_of(&version, key), "failed": failed,
                "outOfSync": self.marks.out_of_sync.contains(key), "paused": self.marks.paused.contains(key),
                "deleting": object.as_ref().is_some_and(|object| object.deleting()),
                "error": error.map(|error| crate::shorten(error, ERROR_BYTES)),
            })
        });
        Some(json!({
            "objects": rows.collect::<Vec<_>>(), "next": page.next.map(|next| next.text()), "scanned": page.scanned,
            "counts": {
                "all": version.objects(), "failed": self.marks.failed.len(), "outOfSync": self.marks.out_of_sync.len(),
                "paused": self.marks.paused.len(),
            },
            "kinds": version.kinds().iter().map(|kind| &kind.kind).collect::<BTreeSet<_>>(),
        }))
    }

    fn page(&self, version: &Version, query: &ObjectQuery) -> Page {
        let mut page = Page::default();
        let mut text = String::new();
        let first = query.after.as_ref().map(|after| after.section);
        let sections = query.state.sections().iter().copied();
        for section in sections.skip_while(|section| first.is_some_and(|first| first != *section)) {
            let mut after =
                query.after.as_ref().filter(|after| after.section == section).map(|after| after.key.clone());
            loop {
                let chunk = self.chunk(version, section, after.as_ref());
                if chunk.is_empty() {
                    break;
                }
                for (key, object) in chunk {
                    page.scanned += 1;
                    after = Some(key.clone());
                    let shown = section != Section::Rest || !self.has_problem(&key);
                    if shown && query.matches(&key, object.as_deref(), &mut text) {
                        page.rows.push((key.clone(), object));
                    }
                    if page.rows.len() >= query.limit || page.scanned >= MOST_SCANNED {
                        page.next = Some(ObjectCursor { section, key });
                        return page;
                    }
                }
            }
        }
        page
    }

    fn has_problem(&self, key: &ReconcileKey) -> bool {
        self.marks.failed.contains(key) || self.marks.out_of_sync.contains(key)
    }

    /// The keys of a section after another one, with their objects. Empty: there is no further one.
    fn chunk(
        &self,
        version: &Version,
        section: Section,
        after: Option<&ReconcileKey>,
    ) -> Vec<(ReconcileKey, Option<Arc<Object>>)> {
        let (failed, out_of_sync) = (&self.marks.failed, &self.marks.out_of_sync);
        let keys = match section {
            Section::Rest => return version.page(after, CHUNK),
            Section::Failed => failed.page(after, CHUNK),
            Section::OutOfSync => out_of_sync.page(after, CHUNK),
            Section::Paused => self.marks.paused.page(after, CHUNK),
            Section::Problem => {
                let mut both = failed.page(after, CHUNK);
                both.extend(out_of_sync.page(after, CHUNK));
                both.sort();
                both.dedup();
                both.truncate(CHUNK);
                both
            }
        };
        let cached = keys.into_iter().map(|key| {
            let object = version.cached(&key);
            (key, object)
        });
        cached.collect()
    }
}

impl Version {
    /// The objects after a key, by kind, namespace and name.
    fn page(&self, after: Option<&ReconcileKey>, limit: usize) -> Vec<(ReconcileKey, Option<Arc<Object>>)> {
        let mut found: Vec<(ReconcileKey, Option<Arc<Object>>)> = Vec::new();
        for (kind, stores) in self.primaries() {
            if after.is_some_and(|after| kind < *after.kind) {
                continue;
            }
            let key = after.filter(|after| kind == *after.kind).map(|after| &after.key);
            // The stores of a kind have different namespaces or selectors.
            let mut objects: Vec<Arc<Object>> = stores.flat_map(|of| of.store.page(key, limit)).collect();
            objects.sort_by(|a, b| a.key().cmp(b.key()));
            objects.dedup_by(|a, b| a.key() == b.key());
            let kind = Arc::new(kind);
            let keys = objects
                .into_iter()
                .map(|object| (ReconcileKey { kind: Arc::clone(&kind), key: object.key().clone() }, Some(object)));
            found.extend(keys.take(limit - found.len()));
            if found.len() >= limit {
                break;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(namespace: &str, name: &str) -> ReconcileKey {
        let kind = Arc::new(GroupVersionKind::new("samplecrd.k8s.io", "v1", "Network"));
        ReconcileKey { kind, key: ObjectKey::new(namespace, name) }
    }

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_nothing_else_is_one() {
        for section in [Section::Problem, Section::Rest, Section::Failed, Section::OutOfSync, Section::Paused] {
            let cursor = ObjectCursor { section, key: key("a", "b\"/ü") };
            assert_eq!(ObjectCursor::parse(&cursor.text()), Some(cursor));
        }
        for text in ["", "null", "[]", r#"["rest"]"#, r#"["all",{"group":"","version":"v1","kind":"K"},{"name":"a"}]"#]
        {
            assert_eq!(ObjectCursor::parse(text), None, "{text}");
        }
    }

    #[test]
    fn objects_are_found_by_parts_of_their_names_and_labels_in_any_case() {
        let json = r#"{"metadata":{"namespace":"team-a","name":"web","labels":{"App":"Shop"}}}"#;
        let object = Object::parse(json).unwrap();
        let of = |search: &str| ObjectQuery { search: search.to_owned(), ..ObjectQuery::default() };
        let found = |query: &ObjectQuery| query.matches(&key("team-a", "web"), Some(&object), &mut String::new());
        for search in ["", "web", "m-a/w", "app=shop", "shop"] {
            assert!(found(&of(search)), "{search}");
        }
        for search in ["other", "app=shopping", "network"] {
            assert!(!found(&of(search)), "{search}");
        }
        let in_namespace = |name: &str| ObjectQuery { namespace: Some(name.to_owned()), ..of("web") };
        assert!(found(&in_namespace("team-a")) && !found(&in_namespace("team")));
        let of_kind = |kind: &str| ObjectQuery { kind: Some(kind.to_owned()), ..of("web") };
        assert!(found(&of_kind("Network")) && !found(&of_kind("Pod")));
    }
}
