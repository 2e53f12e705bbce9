//! Recorded objects and HTTP responses, for tests of a plugin without a cluster.

use super::http_gate::HttpFailure;
use super::reads::ReadError;
use crate::api::{GroupVersionKind, ObjectKey};
use crate::grants::{Grants, guess_plural};
use crate::informer::{ListOptions, Object};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use oarlock_manifest::PluginManifest;
use oarlock_merge::schema::Schema;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The objects a plugin reads.
#[derive(Debug)]
pub struct RecordedObjects {
    plugin: String,
    grants: Arc<Grants>,
    kinds: HashSet<GroupVersionKind>,
    objects: BTreeMap<ObjectKey, Vec<(GroupVersionKind, Arc<Object>)>>,
    applied: HashMap<(GroupVersionKind, ObjectKey), String>,
}

impl RecordedObjects {
    /// Objects of the manifest's kinds, readable according to the grant.
    #[must_use]
    pub fn new(manifest: &PluginManifest, grants: Arc<Grants>) -> Self {
        let primaries = manifest.primaries.iter().map(|p| (&p.group, &p.version, &p.kind));
        let watches = manifest.watches.iter().map(|w| (&w.group, &w.version, &w.kind));
        let kinds = primaries.chain(watches).map(|(g, v, k)| GroupVersionKind::new(g.as_str(), v.as_str(), k.as_str()));
        Self {
            plugin: manifest.name.clone(),
            grants,
            kinds: kinds.collect(),
            objects: BTreeMap::new(),
            applied: HashMap::new(),
        }
    }

    /// Adds an object.
    pub fn insert(&mut self, kind: GroupVersionKind, object: Object) {
        let of_key = self.objects.entry(object.key().clone()).or_default();
        of_key.retain(|(other, _)| *other != kind);
        of_key.push((kind, Arc::new(object)));
    }

    /// Sets the document that `get-applied` returns for an object.
    pub fn applied(&mut self, kind: GroupVersionKind, key: ObjectKey, document: String) {
        self.applied.insert((kind, key), document);
    }

    pub(super) fn get(&self, kind: &GroupVersionKind, key: &ObjectKey) -> Result<Option<Arc<Object>>, ReadError> {
        self.readable(kind)?;
        self.get_live(kind, key)
    }

    pub(super) fn get_live(&self, kind: &GroupVersionKind, key: &ObjectKey) -> Result<Option<Arc<Object>>, ReadError> {
        self.granted("get", kind, key)?;
        let found = self.objects.get(key).into_iter().flatten().find(|(of, _)| of == kind);
        Ok(found.map(|(_, object)| Arc::clone(object)))
    }

    pub(super) fn get_applied(&self, kind: &GroupVersionKind, key: &ObjectKey) -> Result<Option<String>, ReadError> {
        self.get(kind, key)?;
        Ok(self.applied.get(&(kind.clone(), key.clone())).cloned())
    }

    pub(super) fn list(&self, kind: &GroupVersionKind, options: &ListOptions) -> Result<Vec<Arc<Object>>, ReadError> {
        self.readable(kind)?;
        self.granted("list", kind, &ObjectKey::new(options.namespace.as_deref().unwrap_or_default(), ""))?;
        let all = self.objects.values().flatten().filter(|(of, _)| of == kind).map(|(_, object)| object);
        let wanted = all.filter(|object| options.matches(object));
        Ok(wanted.take(options.limit.unwrap_or(usize::MAX)).map(Arc::clone).collect())
    }

    /// How lists of a custom resource merge, by a definition among the objects.
    pub(super) fn merge_schema(&self, kind: &GroupVersionKind) -> Result<Schema, ReadError> {
        let none = || ReadError::Refused(format!("{kind} has no definition that says how its lists merge"));
        let documents = self.objects.values().flatten().filter(|(of, _)| *of.kind == *"CustomResourceDefinition");
        let documents = documents.filter_map(|(_, object)| serde_json::from_str::<Value>(object.json()).ok());
        let spec_of = |document: Value| {
            let is = |pointer: &str, wanted: &str| document.pointer(pointer).is_some_and(|v| *v == *wanted);
            let ours = is("/spec/group", &kind.group) && is("/spec/names/kind", &kind.kind);
            ours.then_some(document)
        };
        let definition = documents.into_iter().find_map(spec_of).ok_or_else(none)?;
        super::reads::merge_schema_of(&definition, kind).ok_or_else(none)
    }

    fn readable(&self, kind: &GroupVersionKind) -> Result<(), ReadError> {
        if self.kinds.contains(kind) {
            return Ok(());
        }
        Err(ReadError::Refused(format!("{kind} is neither a primary nor a watch of plugin {}", self.plugin)))
    }

    fn granted(&self, verb: &str, kind: &GroupVersionKind, key: &ObjectKey) -> Result<(), ReadError> {
        let plural = guess_plural(&kind.kind);
        if self.grants.allows(verb, &kind.group, &plural, &key.namespace, &key.name) {
            return Ok(());
        }
        Err(ReadError::Refused(format!(
            "plugin {} does not ask for the permission to {verb} {plural} (group {:?})",
            self.plugin, kind.group
        )))
    }
}

/// Checks a request and returns its faults.
pub type Faults = Box<dyn Fn(&http::request::Parts, &Bytes) -> Vec<String> + Send + Sync>;

/// A request and its response.
pub struct Exchange {
    /// The faults of a request in this position; empty: none.
    pub faults: Faults,
    /// The response.
    pub answer: Result<http::Response<Bytes>, HttpFailure>,
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange").field("answer", &self.answer).finish_non_exhaustive()
    }
}

/// Recorded responses, each for one request, in order. Clones share them.
#[derive(Clone, Default)]
pub struct RecordedHttp {
    left: Arc<Mutex<VecDeque<Exchange>>>,
    faults: Arc<Mutex<Vec<String>>>,
}

impl std::fmt::Debug for RecordedHttp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordedHttp").field("left", &lock(&self.left).len()).finish_non_exhaustive()
    }
}

impl RecordedHttp {
    /// Records these exchanges.
    #[must_use]
    pub fn new(exchanges: impl IntoIterator<Item = Exchange>) -> Self {
        Self { left: Arc::new(Mutex::new(exchanges.into_iter().collect())), faults: Arc::default() }
    }

    /// The faults of the requests so far, and the number of expected requests that were not made.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let mut faults = lock(&self.faults).clone();
        let left = lock(&self.left).len();
        if left > 0 {
            faults.push(format!("{left} of the exchanges were not asked for"));
        }
        faults
    }

    pub(super) async fn send(&self, request: http::Request<Full<Bytes>>) -> Result<http::Response<Bytes>, HttpFailure> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let line = format!("{} {}", head.method, head.uri);
        let Some(exchange) = lock(&self.left).pop_front() else {
            lock(&self.faults).push(format!("{line}: no exchange is left for it"));
            return Err(HttpFailure::Unreachable("the case has no exchange for this request".to_owned()));
        };
        lock(&self.faults).extend((exchange.faults)(&head, &body).into_iter().map(|fault| format!("{line}: {fault}")));
        exchange.answer
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
