//! What surrounds a reconciler in a native test: a cluster, a cache, a clock, HTTP. One per thread while a runner runs.

use crate::http::{Failure, Request, Response};
use crate::log::Level;
use crate::raw::{self, Change, Precondition};
use crate::{Kind, PatchType, PluginManifest, kind};
use oarlock_merge::schema::Schema;
use oarlock_merge::strategic;
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

thread_local! {
    static WORLD: RefCell<World> = RefCell::new(World::default());
}

/// Answers HTTP requests.
pub(crate) type Handler = Box<dyn FnMut(&Request) -> Result<Response, Failure>>;

/// Kind, namespace, name.
pub(crate) type Id = (Kind, String, String);

/// One line a reconciler logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// How grave.
    pub level: Level,
    /// The line.
    pub message: String,
    /// Its fields.
    pub fields: Vec<(String, String)>,
}

/// Everything an import can reach.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) manifest: Option<PluginManifest>,
    pub(crate) config: BTreeMap<String, String>,
    pub(crate) objects: BTreeMap<Id, Value>,
    /// Documents as this plugin applied them last.
    pub(crate) applied: BTreeMap<Id, Value>,
    /// Values with the time they expire.
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

/// Does something with this thread's world.
pub(crate) fn with<T>(f: impl FnOnce(&mut World) -> T) -> T {
    WORLD.with_borrow_mut(f)
}

/// Puts a world in the place of this thread's, for as long as it lives, then puts it back.
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

/// The kind, namespace and name a document carries.
pub(crate) fn id_of(object: &Value) -> Result<Id, raw::Error> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (api_version, kind_name, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name"));
    if api_version.is_empty() || kind_name.is_empty() || name.is_empty() {
        return Err(terminal(format!("an object needs apiVersion, kind and metadata.name: {object}")));
    }
    Ok((kind(&api_version, &kind_name), text("/metadata/namespace"), name))
}

pub(crate) fn terminal(message: impl Into<String>) -> raw::Error {
    raw::Error::Terminal(message.into())
}

impl World {
    /// Kinds outside the manifest are refused, as the host refuses those outside the grant.
    pub(crate) fn declared(&self, kind: &raw::GroupVersionKind) -> Result<Kind, raw::Error> {
        let kind: Kind = kind.clone().into();
        let Some(manifest) = &self.manifest else { return Ok(kind) };
        let declared = manifest.primaries.iter().any(|primary| primary.gvk() == kind)
            || manifest.watches.iter().any(|watch| watch.gvk() == kind);
        if declared { Ok(kind) } else { Err(terminal(format!("{} is neither a primary nor a watch", kind.kind))) }
    }

    /// Carries one change out, as the API server would.
    pub(crate) fn carry_out(&mut self, change: &Change, under_review: Option<&mut Value>) -> Result<(), raw::Error> {
        match change {
            Change::Apply(apply) => {
                let document = parse(&apply.object)?;
                let id = id_of(&document)?;
                self.check(&id, &apply.precondition)?;
                let mut object = self.objects.remove(&id).unwrap_or_else(|| document.clone());
                if let Some(before) = self.applied.get(&id) {
                    remove_left_out(&mut object, before, &document);
                }
                merge_into(&mut object, &document);
                self.applied.insert(id.clone(), document);
                self.store(id, object);
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

/// What strategic merge goes by.
pub(crate) fn schema(kind: &Kind) -> Result<Schema, raw::Error> {
    let schema = Schema::builtin(&kind.group, &kind.version, &kind.kind);
    schema.ok_or_else(|| terminal(format!("strategic merge does not know the kind {}", kind.kind)))
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
            let merged = strategic::apply_patch(&schema(&id_of(object)?.0)?, object, body);
            *object = merged.map_err(|error| terminal(format!("strategic merge patch: {error}")))?;
        }
    }
    Ok(())
}

/// Objects field by field, everything else whole: apply without list keys, enough to see what was asked for.
fn merge_into(object: &mut Value, document: &Value) {
    match (object, document) {
        (Value::Object(object), Value::Object(document)) => {
            for (key, value) in document {
                merge_into(object.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (object, document) => object.clone_from(document),
    }
}

/// Takes out what was applied before and is left out now.
fn remove_left_out(object: &mut Value, before: &Value, now: &Value) {
    let empty = Map::new();
    let (Value::Object(object), Value::Object(before)) = (object, before) else { return };
    let now = now.as_object().unwrap_or(&empty);
    for (key, value) in before {
        match (object.get_mut(key), now.get(key)) {
            (Some(inner), Some(kept)) => remove_left_out(inner, value, kept),
            (Some(_), None) => {
                object.remove(key);
            }
            (None, _) => {}
        }
    }
}
