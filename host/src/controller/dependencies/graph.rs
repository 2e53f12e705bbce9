//! The keys with their reads, and the reads by the objects that they depend on.

use super::Size;
use super::read::{Facet, Kinds, Read, State};
use crate::api::GroupVersionKind;
use crate::controller::ReconcileKey;
use crate::informer::Object;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Most reads of one key, and their bytes. Beyond that a read counts as a list of all objects of its kind.
pub(super) const MOST_READS: usize = 256;
pub(super) const MOST_BYTES: usize = 64 << 10;

/// Most lists of one key that are found by nothing better than their namespace or kind. A further one counts as a list of all objects.
pub(super) const MOST_SCANNED: usize = 16;

/// Most reads that are compared with a changed object. Further ones in its buckets count as concerned.
pub(super) const MOST_COMPARED: usize = 10_000;

/// Most facets of a kind. A list by a further one is found by its namespace, or in a list of all reads of the kind.
pub(super) const MOST_FACETS: usize = 32;

/// The facets by which reads of a kind are found, with the number of those reads.
type Facets = BTreeMap<Arc<GroupVersionKind>, Vec<(Facet, usize)>>;

/// Bytes of a key without reads. Its names belong to the object in the cache.
const NODE_BYTES: usize = size_of::<(ReconcileKey, u64)>() + size_of::<(u64, Node)>();

#[derive(Debug, Default)]
pub(super) struct Graph {
    /// Changes with the code, the grant and the leader.
    version: u64,
    kinds: Kinds,
    numbers: HashMap<ReconcileKey, u64>,
    nodes: HashMap<u64, Node>,
    next: u64,
    /// Bucket of a read, number of its key, number of the read.
    readers: BTreeSet<(u64, u64, u64)>,
    facets: Facets,
    size: Size,
}

/// A key.
#[derive(Debug)]
struct Node {
    key: ReconcileKey,
    /// In the order of their numbers.
    edges: Vec<Edge>,
    /// Bytes of the edges.
    bytes: usize,
    next: u64,
    /// The number of the last reconcile that began, and its version.
    run: u64,
    version: u64,
    /// Whether the object, or something read, has changed since that reconcile began.
    changed: bool,
    /// Whether that reconcile ended in sync.
    in_sync: bool,
}

impl Node {
    fn new(key: ReconcileKey) -> Self {
        let (edges, changed, in_sync) = (Vec::new(), false, false);
        Self { key, edges, bytes: 0, next: 0, run: 0, version: 0, changed, in_sync }
    }
}

/// A read of a key.
#[derive(Debug)]
struct Edge {
    read: Read,
    bucket: u64,
    number: u64,
    /// The last reconcile that read it.
    run: u64,
    /// Whether the read is found by its facet.
    by_facet: bool,
}

impl Edge {
    fn bytes(&self) -> usize {
        // The last is its place among the readers, in a tree that is mostly two thirds full.
        size_of::<Self>() + self.read.heap_bytes() + size_of::<(u64, u64, u64)>() * 3 / 2
    }
}

impl Graph {
    /// Returns the number of the reconcile.
    pub(super) fn begin(&mut self, key: &ReconcileKey) -> u64 {
        let version = self.version;
        let node = self.node_or_new(key);
        node.run += 1;
        (node.version, node.changed, node.in_sync) = (version, false, false);
        node.run
    }

    pub(super) fn read(&mut self, key: &ReconcileKey, run: u64, read: impl FnOnce(&mut Kinds) -> Option<Read>) {
        let Some(&number) = self.numbers.get(key) else { return };
        let Some(read) = read(&mut self.kinds) else { return };
        let Some(node) = self.nodes.get_mut(&number) else { return };
        if node.run != run {
            return;
        }
        let all = read.all();
        let mut known = false;
        for edge in node.edges.iter_mut().filter(|edge| edge.read == read || edge.read == all) {
            let repeated = edge.read == read;
            // A list of all objects that this reconcile has read covers the read.
            known |= repeated || edge.run == run;
            if repeated {
                edge.run = run;
            }
        }
        if known {
            return;
        }
        let full = node.edges.len() >= MOST_READS
            || node.bytes + read.heap_bytes() > MOST_BYTES
            || read.is_scanned() && node.edges.iter().filter(|edge| edge.read.is_scanned()).count() >= MOST_SCANNED;
        if full {
            self.remove_edges(number, |edge| edge.read.kind() == all.kind());
        }
        self.add_edge(number, run, if full { all } else { read });
    }

    pub(super) fn end(&mut self, key: &ReconcileKey, run: u64, in_sync: bool) {
        let Some(&number) = self.numbers.get(key) else { return };
        let Some(node) = self.nodes.get_mut(&number) else { return };
        if node.run != run {
            return;
        }
        node.in_sync = in_sync;
        self.remove_edges(number, |edge| edge.run != run);
    }

    pub(super) fn changed(
        &mut self,
        kind: &GroupVersionKind,
        old: Option<&Arc<Object>>,
        new: Option<&Arc<Object>>,
    ) -> Vec<ReconcileKey> {
        if !self.kinds.contains(kind) {
            return Vec::new();
        }
        let states: Vec<State<'_>> = [old, new].into_iter().flatten().map(|object| State::new(object)).collect();
        let facets = self.facets.get(kind).map(Vec::as_slice).unwrap_or_default();
        let mut buckets = BTreeSet::new();
        for state in &states {
            state.buckets(kind, facets.iter().map(|(facet, _)| facet), &mut buckets);
        }
        let mut found = BTreeSet::new();
        let mut compared = 0;
        for bucket in buckets {
            for &(_, number, edge) in self.readers.range((bucket, 0, 0)..=(bucket, u64::MAX, u64::MAX)) {
                let Some(node) = self.nodes.get_mut(&number) else { continue };
                let Ok(place) = node.edges.binary_search_by_key(&edge, |edge| edge.number) else { continue };
                let read = node.edges.get(place).map(|edge| &edge.read).filter(|read| **read.kind() == *kind);
                compared += 1;
                let concerns =
                    |read: &Read| compared > MOST_COMPARED || states.iter().any(|state| read.concerns(state));
                if read.is_some_and(concerns) {
                    node.changed = true;
                    found.insert(node.key.clone());
                }
            }
        }
        found.into_iter().collect()
    }

    pub(super) fn touch(&mut self, key: &ReconcileKey) {
        if let Some(&number) = self.numbers.get(key)
            && let Some(node) = self.nodes.get_mut(&number)
        {
            node.changed = true;
        }
    }

    pub(super) fn in_sync(&self, key: &ReconcileKey) -> bool {
        let node = self.numbers.get(key).and_then(|number| self.nodes.get(number));
        node.is_some_and(|node| node.in_sync && !node.changed && node.version == self.version)
    }

    pub(super) fn reads(&self, key: &ReconcileKey) -> Vec<String> {
        let node = self.numbers.get(key).and_then(|number| self.nodes.get(number));
        node.into_iter().flat_map(|node| &node.edges).map(|edge| edge.read.to_string()).collect()
    }

    pub(super) fn renew(&mut self) {
        self.version += 1;
    }

    pub(super) fn forget(&mut self, key: &ReconcileKey) {
        let Some(number) = self.numbers.remove(key) else { return };
        self.remove_edges(number, |_| true);
        self.nodes.remove(&number);
        self.size.bytes -= NODE_BYTES;
    }

    pub(super) fn retain(&mut self, kept: impl Fn(&ReconcileKey) -> bool) {
        let gone: Vec<ReconcileKey> = self.numbers.keys().filter(|key| !kept(key)).cloned().collect();
        for key in gone {
            self.forget(&key);
        }
    }

    pub(super) fn size(&self) -> Size {
        self.size
    }

    fn node_or_new(&mut self, key: &ReconcileKey) -> &mut Node {
        let Self { numbers, nodes, next, size, .. } = self;
        let number = *numbers.entry(key.clone()).or_insert_with(|| {
            *next += 1;
            size.bytes += NODE_BYTES;
            *next
        });
        nodes.entry(number).or_insert_with(|| Node::new(key.clone()))
    }

    fn add_edge(&mut self, number: u64, run: u64, read: Read) {
        let by_facet = read.facet().is_some_and(|facet| count(&mut self.facets, read.kind(), facet));
        let Some(node) = self.nodes.get_mut(&number) else { return };
        let edge = Edge { bucket: read.bucket(by_facet), number: node.next, run, by_facet, read };
        node.next += 1;
        let bytes = edge.bytes();
        node.bytes += bytes;
        self.size.bytes += bytes;
        self.size.reads += 1;
        self.readers.insert((edge.bucket, number, edge.number));
        node.edges.push(edge);
    }

    fn remove_edges(&mut self, number: u64, removed: impl Fn(&Edge) -> bool) {
        let Self { nodes, readers, facets, size, .. } = self;
        let Some(node) = nodes.get_mut(&number) else { return };
        let Node { edges, bytes, .. } = node;
        edges.retain(|edge| {
            if !removed(edge) {
                return true;
            }
            readers.remove(&(edge.bucket, number, edge.number));
            if let Some(facet) = edge.read.facet().filter(|_| edge.by_facet) {
                discount(facets, edge.read.kind(), &facet);
            }
            *bytes -= edge.bytes();
            size.bytes -= edge.bytes();
            size.reads -= 1;
            false
        });
        if edges.capacity() > 4 + 2 * edges.len() {
            edges.shrink_to_fit();
        }
    }
}

/// Counts a read by a facet. False: the kind has too many facets.
fn count(facets: &mut Facets, kind: &Arc<GroupVersionKind>, facet: Facet) -> bool {
    let of_kind = facets.entry(Arc::clone(kind)).or_default();
    if let Some((_, reads)) = of_kind.iter_mut().find(|(known, _)| *known == facet) {
        *reads += 1;
        return true;
    }
    let room = of_kind.len() < MOST_FACETS;
    if room {
        of_kind.push((facet, 1));
    }
    room
}

fn discount(facets: &mut Facets, kind: &Arc<GroupVersionKind>, facet: &Facet) {
    let Some(of_kind) = facets.get_mut(kind) else { return };
    of_kind.retain_mut(|(known, reads)| {
        if known == facet {
            *reads -= 1;
        }
        *reads > 0
    });
    if of_kind.is_empty() {
        facets.remove(kind);
    }
}
