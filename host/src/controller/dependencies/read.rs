//! One read of a reconcile, and the objects that it depends on.

use crate::api::{GroupVersionKind, ObjectKey};
use crate::controller::ReconcileKey;
use crate::informer::{Indexer, ListOptions, Object};
use serde_json::Value;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

/// Longest namespace or name of an object that can exist.
const NAME_BYTES: usize = 253;

/// Longest text by which a list is remembered. A list by a longer one counts as a list without it.
const TEXT_BYTES: usize = 1024;

/// A kind that reads name, once for all of them.
pub(super) type Kinds = BTreeSet<Arc<GroupVersionKind>>;

/// An object or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// An object, whether or not it exists.
    Object(Arc<GroupVersionKind>, ObjectKey),
    /// The objects that the options select. There is no limit among them: what a limited list returns depends on all.
    List(Arc<GroupVersionKind>, Box<ListOptions>),
}

/// A part of a kind's objects, by which reads are found from an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Facet {
    /// The value of a label.
    Label(String),
    /// A value in a declared index.
    Index(Indexer),
}

impl Display for Read {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, options) = match self {
            Self::Object(kind, key) => return write!(f, "{} {key}", kind.kind),
            Self::List(kind, options) => (kind, options),
        };
        write!(f, "list of {}", kind.kind)?;
        if let Some(namespace) = &options.namespace {
            write!(f, " in {namespace}")?;
        }
        if let Some(selector) = &options.label_selector {
            write!(f, " with {selector}")?;
        }
        if let Some(uid) = &options.owner_uid {
            write!(f, " owned by {uid}")?;
        }
        if let Some(indexed) = &options.indexed {
            write!(f, " with {:?} in an index", indexed.value)?;
        }
        Ok(())
    }
}

impl Read {
    /// * `of` - the reading key, whose namespace is most often that of the object.
    pub(super) fn object(
        kinds: &mut Kinds,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        of: &ReconcileKey,
    ) -> Option<Self> {
        if key.namespace.len() > NAME_BYTES || key.name.len() > NAME_BYTES {
            return None;
        }
        let same = key.namespace == of.key.namespace;
        let namespace = if same { &of.key.namespace } else { &key.namespace };
        let key = ObjectKey { namespace: Arc::clone(namespace), name: Arc::clone(&key.name) };
        Some(Self::Object(shared(kinds, kind), key))
    }

    pub(super) fn list(kinds: &mut Kinds, kind: &GroupVersionKind, options: &ListOptions) -> Option<Self> {
        if options.namespace.as_ref().is_some_and(|namespace| namespace.len() > NAME_BYTES) {
            return None;
        }
        let mut options = ListOptions { limit: None, ..options.clone() };
        options.owner_uid.take_if(|uid| uid.len() > TEXT_BYTES);
        options.indexed.take_if(|indexed| indexed.value.len() > TEXT_BYTES);
        options.label_selector.take_if(|selector| selector.to_string().len() > TEXT_BYTES);
        Some(Self::List(shared(kinds, kind), Box::new(options)))
    }

    /// All objects of the kind.
    pub(super) fn all(&self) -> Self {
        Self::List(Arc::clone(self.kind()), Box::default())
    }

    pub(super) fn kind(&self) -> &Arc<GroupVersionKind> {
        match self {
            Self::Object(kind, _) | Self::List(kind, _) => kind,
        }
    }

    /// The facet by which [`bucket`](Self::bucket) may find the read.
    pub(super) fn facet(&self) -> Option<Facet> {
        let Self::List(_, options) = self else { return None };
        match (&options.indexed, &options.owner_uid, options.label()) {
            (Some(indexed), ..) => Some(Facet::Index(indexed.indexer.clone())),
            (None, None, Some((label, values))) if values.len() == 1 => Some(Facet::Label(label.to_owned())),
            _ => None,
        }
    }

    /// The bucket of the read: one of those of every object that it depends on.
    ///
    /// * `facet` - whether the facet is one of those by which objects are looked up.
    pub(super) fn bucket(&self, facet: bool) -> u64 {
        let (kind, options) = match self {
            Self::Object(kind, key) => return of_object(kind, key),
            Self::List(kind, options) => (kind, options),
        };
        match (&options.indexed, &options.owner_uid, options.label()) {
            (Some(indexed), ..) if facet => of_index(kind, &indexed.indexer, &indexed.value),
            (_, Some(uid), _) => of_owner(kind, uid),
            (_, _, Some((label, values))) if facet && values.len() == 1 => {
                of_label(kind, label, values.first().copied().unwrap_or_default())
            }
            _ => match &options.namespace {
                Some(namespace) => of_namespace(kind, namespace),
                None => of_kind(kind),
            },
        }
    }

    /// Whether the read is a list that is found by nothing better than its namespace or kind.
    pub(super) fn is_scanned(&self) -> bool {
        matches!(self, Self::List(_, options) if options.owner_uid.is_none()) && self.facet().is_none()
    }

    /// Whether the read depends on an object in this state.
    pub(super) fn concerns(&self, state: &State<'_>) -> bool {
        match self {
            Self::Object(_, key) => key == state.object.key(),
            Self::List(_, options) => {
                options.matches_metadata(state.object)
                    && options.indexed.as_ref().is_none_or(|indexed| indexed.is_in(state.document()))
            }
        }
    }

    /// Approximate bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            Self::Object(_, key) => 16 + key.name.len(),
            Self::List(_, options) => {
                let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
                let selector = options.label_selector.as_ref().map_or(0, |selector| 3 * selector.to_string().len());
                let indexed = options.indexed.as_ref().map_or(0, |indexed| indexed.value.len());
                size_of::<ListOptions>() + text(&options.namespace) + text(&options.owner_uid) + selector + indexed
            }
        }
    }
}

/// One state of an object, before or after a change.
pub(super) struct State<'a> {
    object: &'a Object,
    /// Parsed when the first read by an index needs it.
    document: OnceCell<Value>,
}

impl<'a> State<'a> {
    pub(super) fn new(object: &'a Object) -> Self {
        Self { object, document: OnceCell::new() }
    }

    fn document(&self) -> &Value {
        self.document.get_or_init(|| serde_json::from_str(self.object.json()).unwrap_or_default())
    }

    /// The buckets of the reads that may depend on the object.
    pub(super) fn buckets<'f>(
        &self,
        kind: &GroupVersionKind,
        facets: impl Iterator<Item = &'f Facet>,
        found: &mut BTreeSet<u64>,
    ) {
        let key = self.object.key();
        found.extend([of_object(kind, key), of_namespace(kind, &key.namespace), of_kind(kind)]);
        found.extend(self.object.owners().map(|owner| of_owner(kind, owner.uid)));
        for facet in facets {
            match facet {
                Facet::Label(label) => {
                    found.extend(self.object.label(label).map(|value| of_label(kind, label, value)));
                }
                Facet::Index(indexer) => indexer.for_each(self.document(), &mut |value| {
                    found.insert(of_index(kind, indexer, value));
                }),
            }
        }
    }
}

fn shared(kinds: &mut Kinds, kind: &GroupVersionKind) -> Arc<GroupVersionKind> {
    if let Some(known) = kinds.get(kind) {
        return Arc::clone(known);
    }
    let kind = Arc::new(kind.clone());
    kinds.insert(Arc::clone(&kind));
    kind
}

// Hashes, not texts: a bucket costs eight bytes, and every read in it is compared with the object again.

fn of_object(kind: &GroupVersionKind, key: &ObjectKey) -> u64 {
    hash(kind, 0, &[&key.namespace, &key.name])
}

fn of_kind(kind: &GroupVersionKind) -> u64 {
    hash(kind, 1, &[])
}

fn of_namespace(kind: &GroupVersionKind, namespace: &str) -> u64 {
    hash(kind, 2, &[namespace])
}

fn of_owner(kind: &GroupVersionKind, uid: &str) -> u64 {
    hash(kind, 3, &[uid])
}

fn of_label(kind: &GroupVersionKind, label: &str, value: &str) -> u64 {
    hash(kind, 4, &[label, value])
}

fn of_index(kind: &GroupVersionKind, indexer: &Indexer, value: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (kind, 5, indexer, value).hash(&mut hasher);
    hasher.finish()
}

fn hash(kind: &GroupVersionKind, facet: u8, texts: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (kind, facet, texts).hash(&mut hasher);
    hasher.finish()
}
