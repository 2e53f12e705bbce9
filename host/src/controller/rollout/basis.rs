//! What a plan rests on: the objects that a version read, and those that it would write. When one of them changes, the plan is outdated.

use super::comparison::{Decision, hash};
use crate::api::{GroupVersionKind, ObjectKey};
use crate::controller::Version;
use crate::informer::{ListOptions, Object};
use crate::plugin::ReadObserver;
use futures::stream::{self, StreamExt as _};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Most reads. A further one counts as a list of all objects of its kind.
const READS: usize = 20_000;

/// Most objects that are not in the caches, and are read again before an approval.
pub(super) const LIVE_READS: usize = 1_000;

/// Requests for them at a time.
const AT_ONCE: usize = 16;

/// Time for reading them again.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why most plans are outdated.
pub(super) const CHANGED: &str = "objects have changed since";

/// An object, whether or not it exists, or a list.
#[derive(Debug)]
enum Read {
    Object(GroupVersionKind, ObjectKey),
    List(GroupVersionKind, Box<ListOptions>),
}

/// The reads of one version, each in the state that its first reader found.
#[derive(Debug)]
pub(super) struct Basis {
    version: Arc<Version>,
    reads: Mutex<BTreeMap<u64, (Read, u64)>>,
    live: Mutex<LiveReads>,
}

/// Objects outside of the caches that a version read from the API server, and their states.
#[derive(Debug, Default)]
struct LiveReads {
    states: BTreeMap<(GroupVersionKind, ObjectKey), u64>,
    /// Whether there were more.
    more: bool,
}

impl Basis {
    pub(super) fn new(version: Arc<Version>) -> Self {
        Self { version, reads: Mutex::default(), live: Mutex::default() }
    }

    /// Notes the objects that the version would write.
    pub(super) fn writes(&self, decision: &Decision) {
        for target in decision.targets() {
            self.object(&target.kind, &target.key);
        }
    }

    /// Whether something that was read is in another state now.
    pub(super) fn is_outdated(&self) -> bool {
        self.lock().values().any(|(read, state)| self.state(read) != *state)
    }

    /// Reads again what was read from the API server. Returns why the plan is outdated; none: it is not.
    pub(super) async fn why_outdated(&self) -> Option<String> {
        let states = self.live_reads().states.clone();
        let reads = stream::iter(states).map(|((kind, key), state)| async move {
            match self.version.reads.get_live(&kind, &key).await {
                Ok(found) if live_state(found.as_deref()) == state => None,
                Ok(_) => Some(CHANGED.to_owned()),
                // The plugin chose the name.
                Err(error) => {
                    let why = format!("{kind} {key} cannot be read again: {error}");
                    Some(self.version.write_identity.secrets.hidden(why))
                }
            }
        });
        let mut changes = std::pin::pin!(reads.buffer_unordered(AT_ONCE).filter_map(std::future::ready));
        match tokio::time::timeout(PATIENCE, changes.next()).await {
            Ok(change) => change,
            Err(_elapsed) => Some("what it rests on cannot be read again in time".to_owned()),
        }
    }

    /// Whether more objects were read from the API server than are read again.
    pub(super) fn has_unchecked(&self) -> bool {
        self.live_reads().more
    }

    /// Stands for all reads and their states. Every host computes the same.
    pub(super) fn stamp(&self) -> u64 {
        let stamp = {
            let reads = self.lock();
            reads.iter().fold(0, |stamp, (id, (_, state))| stamp ^ hash(&[&id.to_string(), &state.to_string()]))
        };
        self.live_reads().states.iter().fold(stamp, |stamp, ((kind, key), state)| {
            stamp ^ hash(&["live", &kind.to_string(), &key.namespace, &key.name, &state.to_string()])
        })
    }

    /// The number of reads.
    pub(super) fn len(&self) -> usize {
        self.lock().len() + self.live_reads().states.len()
    }

    /// A read before it is answered. So a change in between outdates the plan.
    fn note(&self, read: Read) {
        let mut reads = self.lock();
        let read = if reads.len() < READS { read } else { read.all() };
        reads.entry(read.id()).or_insert_with(|| {
            let state = self.state(&read);
            (read, state)
        });
    }

    /// Stands for the resourceVersions of what is read.
    fn state(&self, read: &Read) -> u64 {
        let (Read::Object(kind, _) | Read::List(kind, _)) = read;
        let stores = self.version.stores.get(kind).into_iter().flatten();
        match read {
            Read::Object(_, key) => {
                let found = stores.filter_map(|of| of.store.get(key)).next();
                found.map_or(0, |object| hash(&[object.resource_version()]))
            }
            // An object may be in several stores.
            Read::List(_, options) => stores.flat_map(|of| of.store.list(options)).fold(0, |state: u64, object| {
                let key = object.key();
                state.wrapping_add(hash(&[&key.namespace, &key.name, object.resource_version()]))
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, (Read, u64)>> {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn live_reads(&self) -> MutexGuard<'_, LiveReads> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveReads {
    fn note(&mut self, kind: &GroupVersionKind, key: &ObjectKey, state: u64) {
        let id = (kind.clone(), key.clone());
        if self.states.len() < LIVE_READS {
            self.states.entry(id).or_insert(state);
        } else if !self.states.contains_key(&id) {
            self.more = true;
        }
    }
}

/// Stands for an object as the API server has it.
fn live_state(found: Option<&Object>) -> u64 {
    found.map_or(0, |object| hash(&[object.uid(), object.resource_version()]))
}

impl ReadObserver for Basis {
    fn object(&self, kind: &GroupVersionKind, key: &ObjectKey) {
        if self.version.stores.contains_key(kind) {
            self.note(Read::Object(kind.clone(), key.clone()));
        }
    }

    fn list(&self, kind: &GroupVersionKind, options: &ListOptions) {
        // What a limited list returns depends on all.
        self.note(Read::List(kind.clone(), Box::new(ListOptions { limit: None, ..options.clone() })));
    }

    fn live(&self, kind: &GroupVersionKind, key: &ObjectKey, found: Option<&Object>) {
        // Changes of an object in a cache arrive by themselves.
        let mut stores = self.version.stores.get(kind).into_iter().flatten();
        if !stores.any(|of| of.store.get(key).is_some()) {
            self.live_reads().note(kind, key, live_state(found));
        }
    }
}

impl Read {
    fn all(self) -> Self {
        let (Self::Object(kind, _) | Self::List(kind, _)) = self;
        Self::List(kind, Box::default())
    }

    fn id(&self) -> u64 {
        match self {
            Self::Object(kind, key) => hash(&["object", &kind.to_string(), &key.namespace, &key.name]),
            Self::List(kind, options) => hash(&["list", &kind.to_string(), &format!("{options:?}")]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_live_reads_are_read_again_and_of_more_a_person_learns() {
        let kind = GroupVersionKind::new("", "v1", "Secret");
        let mut live = LiveReads::default();
        let key = |number: usize| ObjectKey::new("n", format!("o{number}"));
        (0..LIVE_READS).for_each(|number| live.note(&kind, &key(number), 1));
        live.note(&kind, &key(0), 2);
        assert!(!live.more && live.states.len() == LIVE_READS);
        assert_eq!(live.states[&(kind.clone(), key(0))], 1, "the state that the first reader found");
        live.note(&kind, &key(LIVE_READS), 1);
        assert!(live.more && live.states.len() == LIVE_READS);
    }
}
