//! Lists of objects at present or past revisions: complete, or in pages whose cost depends on their size.

use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::{Arc, atomic::Ordering},
};

use super::{Key, Object, ResourceStore, ResourceStoreState, TooOld};

/// Objects at one revision.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) revision: u64,
    pub(crate) objects: Vec<Arc<Object>>,
}

/// A part of a list.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) revision: u64,
    pub(crate) objects: Vec<Arc<Object>>,
    /// The key after which the next page begins; none after the last page.
    pub(crate) next: Option<Key>,
    /// The number of objects after this page, if requested.
    pub(crate) remaining: Option<usize>,
}

/// The requested part of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageRequest<'a> {
    /// Empty for all namespaces.
    pub(crate) namespace: &'a str,
    /// The last key of the previous page.
    pub(crate) after: Option<&'a Key>,
    /// The most objects.
    pub(crate) limit: usize,
    /// Whether to compute [`Page::remaining`]: only for lists of all objects.
    pub(crate) count: bool,
    /// The number of objects after `after`, if known: only the first page counts, the others subtract.
    pub(crate) rest: Option<usize>,
}

/// The revision of a read.
#[derive(Debug, Clone, Copy)]
pub(crate) enum At {
    /// The present.
    Now,
    /// A revision, if it has not been compacted.
    Revision(u64),
    /// A revision for readers of the past: data compacted on request is still available to them.
    Past(u64),
}

impl<'a> PageRequest<'a> {
    /// All objects.
    pub(crate) fn all(namespace: &'a str) -> Self {
        Self { namespace, after: None, limit: usize::MAX, count: false, rest: None }
    }

    fn lower(&self) -> Bound<Key> {
        match self.after {
            // A key of another namespace would otherwise lead out of this one.
            Some(key) if self.namespace.is_empty() || key.namespace == self.namespace => Bound::Excluded(key.clone()),
            _ => Bound::Included(Key::new(self.namespace, "")),
        }
    }

    fn holds(&self, key: &Key) -> bool {
        self.namespace.is_empty() || key.namespace == self.namespace
    }
}

impl ResourceStoreState {
    /// The objects of a range, in key order.
    fn present<'a>(&'a self, wanted: PageRequest<'a>) -> impl Iterator<Item = (&'a Key, &'a Arc<Object>)> {
        self.objects.range((wanted.lower(), Bound::Unbounded)).take_while(move |(key, _)| wanted.holds(key))
    }

    /// The past objects of a range: the present ones, corrected by the log since then.
    fn past<'a>(&'a self, wanted: PageRequest<'a>, revision: u64) -> impl Iterator<Item = &'a Arc<Object>> {
        let lower = wanted.lower();
        let mut changed: BTreeMap<&Key, Option<&Arc<Object>>> = BTreeMap::new();
        // From the last to the first: the state before the first later change remains.
        for change in self.log.iter().rev().take_while(|c| c.revision > revision) {
            let within = match &lower {
                Bound::Excluded(after) => change.key > *after,
                _ => true,
            };
            if within && wanted.holds(&change.key) {
                changed.insert(&change.key, change.previous.as_ref());
            }
        }
        let (mut now, mut changed) = (self.present(wanted).peekable(), changed.into_iter().peekable());
        std::iter::from_fn(move || {
            loop {
                let key = changed.peek().map(|(key, _)| *key);
                if let Some((_, object)) = now.next_if(|(k, _)| key.is_none_or(|key| *k < key)) {
                    return Some(object);
                }
                let (key, before) = changed.next()?;
                now.next_if(|(k, _)| *k == key);
                if before.is_some() {
                    return before;
                }
            }
        })
    }

    /// An object as it was.
    fn past_one(&self, key: &Key, revision: u64) -> Option<&Arc<Object>> {
        let first = self.log.iter().skip(self.log.partition_point(|c| c.revision <= revision)).find(|c| c.key == *key);
        match first {
            Some(change) => change.previous.as_ref(),
            None => self.objects.get(key),
        }
    }
}

impl PageRequest<'_> {
    fn page<'a>(
        &self,
        objects: impl Iterator<Item = &'a Arc<Object>>,
        revision: u64,
        matches: impl Fn(&Object) -> bool,
    ) -> Page {
        let mut objects = objects.filter(|o| matches(o));
        let page: Vec<Arc<Object>> = objects.by_ref().take(self.limit).cloned().collect();
        let more = objects.next().is_some();
        let next = if more { page.last().map(|o| o.key()) } else { None };
        let remaining = (more && self.count).then(|| match self.rest {
            Some(rest) => rest.saturating_sub(page.len()),
            None => 1 + objects.count(),
        });
        Page { revision, objects: page, next, remaining }
    }
}

impl ResourceStore {
    /// All objects in key order, of one namespace when it is not empty.
    pub(crate) fn list(&self, namespace: &str) -> Snapshot {
        self.read(|s| {
            let objects = s.present(PageRequest::all(namespace)).map(|(_, o)| Arc::clone(o)).collect();
            Snapshot { revision: self.clock.load(Ordering::SeqCst), objects }
        })
    }

    /// The objects as they were at `revision`, as [`At::Past`].
    pub(crate) fn past(&self, namespace: &str, revision: u64) -> Snapshot {
        self.read(|s| {
            let objects = s.past(PageRequest::all(namespace), revision).cloned().collect();
            Snapshot { revision, objects }
        })
    }

    /// An object as it was at `revision`.
    pub(crate) fn past_one(&self, key: &Key, revision: u64) -> Option<Arc<Object>> {
        self.read(|s| s.past_one(key, revision).cloned())
    }

    /// The requested matching objects, in key order.
    ///
    /// # Errors
    ///
    /// [`TooOld`] when [`At::Revision`] has been compacted.
    pub(crate) fn page(
        &self,
        wanted: &PageRequest<'_>,
        at: At,
        matches: impl Fn(&Object) -> bool,
    ) -> Result<Page, TooOld> {
        self.read(|s| match at {
            At::Now => {
                let objects = s.present(*wanted).map(|(_, o)| o);
                Ok(wanted.page(objects, self.clock.load(Ordering::SeqCst), matches))
            }
            At::Revision(revision) => {
                s.check(revision)?;
                Ok(wanted.page(s.past(*wanted, revision), revision, matches))
            }
            At::Past(revision) => Ok(wanted.page(s.past(*wanted, revision), revision, matches)),
        })
    }
}

#[cfg(test)]
mod tests;
