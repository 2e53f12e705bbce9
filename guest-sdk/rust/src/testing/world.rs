//! The world of a native test: a cluster, a cache, a clock, HTTP. One per thread while a runner runs.

use crate::http::{Failure, Request, Response};
use crate::log::Level;
use crate::raw::{self, Change, Precondition};
use crate::{Kind, PatchType, PluginManifest, kind};
use oarlock_manifest::Index;
use oarlock_merge::apply::{ManagedFields, Write, applied_part, apply};
use oarlock_merge::schema::Schema;
use oarlock_merge::steps::Budget;
use oarlock_merge::strategic;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// The field manager of the reconciler's applies.
const MANAGER: &str = "native";
/// The constant time of all events.
const NOW: &str = "2026-01-01T00:00:00Z";

thread_local! {
    static WORLD: RefCell<World> = RefCell::new(World::default());
}

/// Handles HTTP requests.
pub(crate) type Handler = Box<dyn FnMut(&Request) -> Result<Response, Failure>>;

/// Kind, namespace, name.
pub(crate) type Id = (Kind, String, String);

/// One log line of a reconciler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// The level.
    pub level: Level,
    /// The message.
    pub message: String,
    /// Its fields.
    pub fields: Vec<(String, String)>,
}

/// The last apply to an object.
#[derive(Debug)]
pub(crate) struct Applied {
    /// The fields that it gave to the plugin.
    managed_fields: Value,
    /// The values of those fields right after it.
    owned: Value,
    /// The document.
    document: Value,
}

/// All state that imports can reach.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) manifest: Option<PluginManifest>,
    pub(crate) config: BTreeMap<String, String>,
    pub(crate) objects: BTreeMap<Id, Value>,
    /// The last applies of this plugin.
    pub(crate) applied: BTreeMap<Id, Applied>,
    /// Values with their expiry times.
    pub(crate) cache: BTreeMap<String, (Vec<u8>, Option<u64>)>,
    pub(crate) now_ms: u64,
    pub(crate) handler: Option<Handler>,
    pub(crate) scripted: VecDeque<Result<Response, Failure>>,
    pub(crate) requests: Vec<Request>,
    pub(crate) log: Vec<LogLine>,
    pub(crate) dry_run: bool,
    pub(crate) written: u64,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("config", &self.config).field("objects", &self.objects).finish_non_exhaustive()
    }
}

/// Runs a function on this thread's world.
pub(crate) fn with<T>(f: impl FnOnce(&mut World) -> T) -> T {
    WORLD.with_borrow_mut(f)
}

/// Replaces this thread's world while it lives, then restores it.
pub(crate) struct Installed<'a>(&'a mut World);

impl<'a> Installed<'a> {
    pub(crate) fn new(world: &'a mut World) -> Self {
        with(|current| std::mem::swap(current, world));
        Self(world)
    }
}

impl Drop for Installed<'_> {
    fn drop(&mut self) {
        with(|current| std::mem::swap(current, self.0));
    }
}

/// The kind in a document.
pub(crate) fn kind_of(object: &Value) -> Kind {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    kind(text("apiVersion"), text("kind"))
}

/// The kind, namespace and name in a document.
pub(crate) fn id_of(object: &Value) -> Result<Id, raw::Error> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (kind, name) = (kind_of(object), text("/metadata/name"));
    if kind.version.is_empty() || kind.kind.is_empty() || name.is_empty() {
        return Err(terminal(format!("an object needs apiVersion, kind and metadata.name: {object}")));
    }
    Ok((kind, text("/metadata/namespace"), name))
}

pub(crate) fn terminal(message: impl Into<String>) -> raw::Error {
    raw::Error::Terminal(message.into())
}

impl World {
    /// Rejects kinds outside the manifest, as the host rejects those outside the grant.
    pub(crate) fn declared(&self, kind: &raw::GroupVersionKind) -> Result<Kind, raw::Error> {
        let kind: Kind = kind.clone().into();
        let Some(manifest) = &self.manifest else { return Ok(kind) };
        let declared = manifest.primaries.iter().any(|primary| primary.gvk() == kind)
            || manifest.watches.iter().any(|watch| watch.gvk() == kind);
        if declared { Ok(kind) } else { Err(terminal(format!("{} is neither a primary nor a watch", kind.kind))) }
    }

    /// A declared index.
    pub(crate) fn index(&self, kind: &Kind, name: &str) -> Result<&Index, raw::Error> {
        let indexes = self.manifest.iter().flat_map(|manifest| &manifest.indexes);
        let found = indexes.into_iter().find(|index| index.gvk() == *kind && index.name == name);
        found.ok_or_else(|| terminal(format!("the manifest declares no index {name:?} of {}", kind.kind)))
    }

    /// Carries out one change, as the API server would.
    pub(crate) fn carry_out(&mut self, change: &Change, under_review: Option<&mut Value>) -> Result<(), raw::Error> {
        match change {
            Change::Apply(apply) => {
                let document = parse(&apply.object)?;
                let id = id_of(&document)?;
                self.check(&id, &apply.precondition)?;
                self.apply(id, document)?;
            }
            Change::Create(text) => {
                let object = parse(text)?;
                let id = id_of(&object)?;
                if self.objects.contains_key(&id) {
                    return Err(terminal(format!("{} {} already exists", id.0.kind, id.2)));
                }
                self.store(id, object);
            }
            Change::Patch(patch) => {
                let body = parse(&patch.patch)?;
                let Some(target) = &patch.target else {
                    let object = under_review.ok_or_else(|| terminal("there is no object under review"))?;
                    return patched(object, patch.patch_type, &body);
                };
                let id = target_id(target);
                self.check(&id, &patch.precondition)?;
                let missing = || terminal(format!("{} {} does not exist", id.0.kind, id.2));
                let mut object = self.objects.get(&id).cloned().ok_or_else(missing)?;
                patched(&mut object, patch.patch_type, &body)?;
                self.store(id, object);
            }
            Change::Delete(delete) => {
                let id = target_id(&delete.target);
                self.check(&id, &delete.precondition)?;
                self.objects.remove(&id);
                self.applied.remove(&id);
            }
        }
        Ok(())
    }

    /// Server-side apply with the host's own code, without conflicts: fields of other managers are taken over. Lists of kinds that are
    /// not built in are atomic.
    fn apply(&mut self, id: Id, document: Value) -> Result<(), raw::Error> {
        let schema = rules(&id.0);
        let write = Write::new(&schema, MANAGER, NOW);
        let refused = |error: &dyn fmt::Display| terminal(format!("apply: {error}"));
        let mut merged = apply(self.managed(&id).as_ref(), &document, &write, true).map_err(|error| refused(&error))?;
        let owned = applied_part(&merged, MANAGER, Some(&schema)).map_err(|error| refused(&error))?;
        let managed_fields = merged.pointer("/metadata/managedFields").cloned().unwrap_or_default();
        ManagedFields::clear(&mut merged);
        match owned {
            Some(owned) => self.applied.insert(id.clone(), Applied { managed_fields, owned, document }),
            None => self.applied.remove(&id),
        };
        self.store(id, merged);
        Ok(())
    }

    /// The part of an object that this plugin owns, as it was applied while nothing of it changed.
    pub(crate) fn applied(&self, id: &Id) -> Option<Value> {
        let last = self.applied.get(id)?;
        let owned = applied_part(&self.managed(id)?, MANAGER, Some(&rules(&id.0))).ok()??;
        Some(if owned == last.owned { last.document.clone() } else { owned })
    }

    /// An object with its managedFields, which plugins never see.
    fn managed(&self, id: &Id) -> Option<Value> {
        let mut object = self.objects.get(id)?.clone();
        if let Some((applied, metadata)) =
            self.applied.get(id).zip(object.get_mut("metadata").and_then(Value::as_object_mut))
        {
            metadata.insert("managedFields".to_owned(), applied.managed_fields.clone());
        }
        Some(object)
    }

    /// Stores an object with a uid and a new resource version.
    pub(crate) fn store(&mut self, id: Id, mut object: Value) {
        self.written += 1;
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.entry("uid").or_insert_with(|| format!("uid-{}", self.written).into());
            metadata.insert("resourceVersion".to_owned(), self.written.to_string().into());
        }
        self.objects.insert(id, object);
    }

    fn check(&self, id: &Id, precondition: &Precondition) -> Result<(), raw::Error> {
        let metadata = self.objects.get(id).and_then(|object| object.get("metadata"));
        let is = |field: &str| metadata.and_then(|metadata| metadata.get(field)).and_then(Value::as_str);
        let holds = |wanted: &Option<String>, field| wanted.as_deref().is_none_or(|wanted| is(field) == Some(wanted));
        if holds(&precondition.uid, "uid") && holds(&precondition.resource_version, "resourceVersion") {
            return Ok(());
        }
        let message = format!("precondition failed: {} {} is another one by now", id.0.kind, id.2);
        Err(raw::Error::Transient(raw::Retry { delay_ms: None, message }))
    }
}

fn target_id(target: &raw::ObjectRef) -> Id {
    let raw::ObjectKey { namespace, name } = target.key.clone();
    (target.kind.clone().into(), namespace, name)
}

pub(crate) fn parse(text: &str) -> Result<Value, raw::Error> {
    serde_json::from_str(text).map_err(|error| terminal(format!("not JSON: {error}")))
}

/// The schema of strategic merge.
pub(crate) fn schema(kind: &Kind) -> Result<Schema, raw::Error> {
    let schema = Schema::builtin(&kind.group, &kind.version, &kind.kind);
    schema.ok_or_else(|| terminal(format!("strategic merge does not know the kind {}", kind.kind)))
}

/// The schema of apply.
fn rules(kind: &Kind) -> Schema {
    schema(kind).unwrap_or_else(|_| Schema::from_openapi(&Value::Null))
}

fn patched(object: &mut Value, patch_type: PatchType, body: &Value) -> Result<(), raw::Error> {
    match patch_type {
        PatchType::MergePatch => json_patch::merge(object, body),
        PatchType::JsonPatch => {
            let patch: json_patch::Patch =
                serde_json::from_value(body.clone()).map_err(|error| terminal(format!("JSON patch: {error}")))?;
            json_patch::patch(object, &patch).map_err(|error| terminal(format!("JSON patch: {error}")))?;
        }
        PatchType::StrategicMergePatch => {
            let merged = strategic::apply_patch(&schema(&kind_of(object))?, object, body, &Budget::unlimited());
            *object = merged.map_err(|error| terminal(format!("strategic merge patch: {error}")))?;
        }
    }
    Ok(())
}
