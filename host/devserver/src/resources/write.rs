//! Steps of a write: identity, defaults, field ownership, validation, storage. The permissions of the writer and webhooks are not
//! checked here, but between the steps.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{
    crd, defaults,
    managed::{self, Writer},
    namespaces,
    registry::Registry,
    strategy, validation,
};
use crate::{
    conversion,
    model::{
        kinds::Resource,
        members,
        status::{ApiError, Cause, Result},
        time, versions,
    },
    store::{Content, Key, Object, Store, WriteError},
};

/// A write of one object.
#[derive(Debug)]
pub(crate) struct ObjectWrite<'a> {
    pub(crate) store: &'a Store,
    pub(crate) resource: &'a Resource,
    pub(crate) key: Key,
    pub(crate) dry_run: bool,
    pub(crate) writer: Writer,
    /// Whether managedFields are already in the object (an apply).
    pub(crate) tracked: bool,
}

/// The result of a replacement.
#[derive(Debug)]
pub(crate) enum Replaced {
    /// The new version is stored, or the object is deleted, because nothing held it any longer.
    Stored(Arc<Object>),
    /// Nothing is stored: nothing changed, or the write is a dry run.
    Kept(Arc<Object>),
}

/// Why an update failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A concurrent write came first.
    Retry,
    /// The update is rejected.
    Refused(ApiError),
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        Self::Refused(error)
    }
}

/// Creates a `v1` object of a resource (group and plural) on the server's own behalf, if absent. Returns whether it did.
pub(crate) fn create_own(
    store: &Store,
    registry: &Registry,
    (group, plural): (&str, &str),
    key: Key,
    mut object: Value,
) -> bool {
    let served = registry.served();
    let Some(resource) = served.find(group, "v1", plural) else { return false };
    if let Some(meta) = members::object(&mut object, "metadata") {
        meta.insert("name".to_owned(), key.name.clone().into());
    }
    let writer = Writer { manager: "kube-apiserver".to_owned(), subresource: String::new(), time: time::now() };
    let mut write = ObjectWrite { store, resource, key, dry_run: false, writer, tracked: false };
    let created = write
        .begin(object)
        .and_then(|o| write.complete(o))
        .and_then(|o| write.valid(o))
        .and_then(|o| write.create(o.into()));
    if let Err(error) = &created {
        // Another client created it, or its namespace is gone again.
        let Key { namespace, name } = &write.key;
        tracing::debug!(plural, namespace, name, status = %error.code(), "not created");
    }
    created.is_ok()
}

impl ObjectWrite<'_> {
    fn exists(&self) -> ApiError {
        let error = ApiError::already_exists(&self.resource.group, &self.resource.plural, &self.key.name);
        let present = self.store.of(self.resource).get(&self.key);
        let going = present.is_some_and(|o| o.value.pointer("/metadata/deletionTimestamp").is_some());
        if going { error.prefixed("object is being deleted: ") } else { error }
    }

    fn missing(&self) -> ApiError {
        ApiError::not_found(&self.resource.group, &self.resource.plural, &self.key.name)
    }

    fn invalid(&self, causes: &[Cause]) -> ApiError {
        // Events of both groups are validated as core events.
        let group = if self.resource.is_new_event() { "" } else { &self.resource.group };
        ApiError::invalid(group, &self.resource.kind, &self.key.name, causes)
    }

    /// Prepares a new object for the webhooks.
    pub(crate) fn begin(&mut self, mut object: Value) -> Result<Value> {
        let resource = self.resource;
        self.check_identity(&mut object)?;
        namespaces::admit_create(self.store, resource, &self.key)?;
        if resource.custom.as_ref().is_some_and(|c| crd::terminating(self.store, &c.crd)) {
            let why = "create not allowed while custom resource definition is terminating";
            return Err(ApiError::forbidden(&resource.group, &resource.plural, &self.key.name, why));
        }
        object = versions::to_stored(resource, object, None);
        defaults::fill_in(resource, &mut object)?;
        // Ownership is recorded before admission: additions of the server itself have no owner.
        if !self.tracked {
            managed::track(resource, None, &mut object, &self.writer);
        }
        defaults::plugins(self.store, resource, &mut object)?;
        Ok(object)
    }

    /// A new object with its identity and the additions of its kind.
    pub(crate) fn complete(&mut self, mut object: Value) -> Result<Value> {
        let resource = self.resource;
        self.identify(&mut object);
        if resource.is("", "namespaces") {
            defaults::namespace_label(&mut object);
        }
        strategy::prepare_create(resource, &mut object);
        if let Some(custom) = &resource.custom {
            // The status of the client is gone, and its defaults are there.
            custom.default(&mut object);
        }
        strategy::drop_disabled(resource, &mut object);
        defaults::admit(self.store, resource, &mut object)?;
        Ok(object)
    }

    /// A completed object, if it is valid.
    pub(crate) fn valid(&self, object: Value) -> Result<Value> {
        let causes = validation::create(self.resource, &object, self.resource.is_new_event());
        if causes.is_empty() { Ok(object) } else { Err(self.invalid(&causes)) }
    }

    /// The result of a dry run that creates an object.
    pub(crate) async fn imagine(&self, object: Value) -> Result<Arc<Object>> {
        if self.store.of(self.resource).get(&self.key).is_some() {
            return Err(self.exists());
        }
        let object = conversion::stored_and_read(self.store, self.resource, object).await?;
        Ok(Arc::new(self.in_version(object, 0).without_version()))
    }

    /// An object in the version of the request.
    fn in_version(&self, value: Value, revision: u64) -> Object {
        let version = self.resource.custom.as_ref().map(|custom| Arc::clone(&custom.name));
        Object::new(Content { value, version }, revision)
    }

    /// Stores a new object, which is in the storage version.
    pub(crate) fn create(&self, object: Content) -> Result<Arc<Object>> {
        self.store.of(self.resource).create(&self.key, object).map_err(|e| match e {
            WriteError::Closed => ApiError::no_page(),
            WriteError::Unsaved => ApiError::unsaved(),
            _ => self.exists(),
        })
    }

    /// The client's name and namespace for a new object.
    fn check_identity(&mut self, object: &mut Value) -> Result<()> {
        let Some(map) = object.as_object_mut() else { return Err(ApiError::bad_request("not an object")) };
        if !map.get("metadata").is_some_and(Value::is_object) {
            map.insert("metadata".to_owned(), json!({}));
        }
        let Some(meta) = map.get_mut("metadata").and_then(Value::as_object_mut) else {
            return Err(ApiError::bad_request("metadata is not an object"));
        };
        check_namespace(meta, &self.key.namespace)?;
        if !self.dry_run && !matches!(text(meta, "resourceVersion"), "" | "0") {
            return Err(ApiError::internal("resourceVersion should not be set on objects to be created"));
        }
        self.key.name = text(meta, "name").to_owned();
        meta.remove("resourceVersion");
        for key in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"].iter().filter(|_| !self.tracked) {
            meta.remove(*key);
        }
        drop_empty(meta);
        Ok(())
    }

    /// Sets a new object's name, if only a prefix is given, its uid and its time.
    fn identify(&mut self, object: &mut Value) {
        let Some(meta) = members::object(object, "metadata") else { return };
        let prefix = text(meta, "generateName");
        self.key.name = text(meta, "name").to_owned();
        if self.key.name.is_empty() && !prefix.is_empty() {
            self.key.name = generate_name(prefix, &unique_name(self.resource, &self.key.namespace, prefix));
            meta.insert("name".to_owned(), self.key.name.clone().into());
        }
        let uid = oarlock_simulation::unique_id(&unique_name(self.resource, &self.key.namespace, &self.key.name));
        meta.insert("uid".to_owned(), uid.to_string().into());
        meta.insert("creationTimestamp".to_owned(), time::now().into());
        drop_empty(meta);
    }

    /// [`Self::overwritten`], with field ownership.
    pub(crate) fn prepared(&self, old: &Arc<Object>, new: Value) -> Result<Value> {
        let mut new = self.overwritten(old, new)?;
        if !self.tracked {
            managed::track(self.resource, Some(&old.value), &mut new, &self.writer);
        }
        Ok(new)
    }

    /// A new version with the fields that the client may not change, and with defaults.
    pub(crate) fn overwritten(&self, old: &Arc<Object>, mut new: Value) -> Result<Value> {
        strategy::prepare_update(self.resource, &self.writer.subresource, &mut new, &old.value);
        if let Some(meta) = new.get_mut("metadata").and_then(Value::as_object_mut) {
            drop_empty(meta);
        }
        defaults::update(self.resource, &mut new, &old.value)?;
        Ok(new)
    }

    /// A new version with the additions of its kind, if it is valid.
    pub(crate) fn checked(&self, old: &Arc<Object>, mut new: Value) -> Result<Value> {
        strategy::drop_disabled(self.resource, &mut new);
        defaults::settle(self.store, self.resource, &mut new, &old.value)?;
        let causes = validation::update(self.resource, &self.writer.subresource, &new, &old.value);
        if !causes.is_empty() {
            return Err(self.invalid(&causes));
        }
        if self.writer.subresource != "status" {
            strategy::bump_generation(self.resource, &mut new, &old.value);
        }
        Ok(new)
    }

    /// Stores a new version; deletes the object when nothing holds it any longer. `old` and `new` are in the version of the request.
    pub(crate) async fn replace(&self, old: &Arc<Object>, new: Value) -> std::result::Result<Replaced, Failure> {
        let resource_store = self.store.of(self.resource);
        if strategy::released(self.resource, &new) {
            let last = Arc::new(self.in_version(new, old.revision));
            if self.dry_run {
                return Ok(Replaced::Kept(last));
            }
            resource_store.delete(&self.key, old.revision).map_err(|e| self.failure(e))?;
            return Ok(Replaced::Stored(last));
        }
        let same = strategy::same(&new, &old.value) || managed::same_but_for_times(&new, &old.value);
        if same && !self.moves_storage(old).await? {
            return Ok(Replaced::Kept(Arc::clone(old)));
        }
        if self.dry_run {
            let new = conversion::stored_and_read(self.store, self.resource, new).await?;
            return Ok(Replaced::Kept(Arc::new(self.in_version(new, old.revision))));
        }
        let new = conversion::stored(self.store, self.resource, new).await?;
        resource_store.update(&self.key, old.revision, new).map(Replaced::Stored).map_err(|e| self.failure(e))
    }

    /// Whether a write that changes nothing for its client changes what is stored: the object is stored in another version than the storage
    /// version, as before a storage migration, or has fields that the version of the client lacks.
    async fn moves_storage(&self, old: &Object) -> Result<bool> {
        let Some(custom) = &self.resource.custom else { return Ok(false) };
        let Some(stored) = self.store.of(self.resource).get(&self.key).filter(|s| s.revision == old.revision) else {
            return Ok(false);
        };
        if conversion::version_of(custom, &stored) != custom.storage {
            return Ok(true);
        }
        if custom.storage == custom.name {
            return Ok(false);
        }
        let again = conversion::stored(self.store, self.resource, old.value.clone()).await?;
        Ok(Object::new(again, stored.revision).value != stored.value)
    }

    fn failure(&self, error: WriteError) -> Failure {
        match error {
            WriteError::Modified | WriteError::Exists => Failure::Retry,
            WriteError::Missing | WriteError::Closed => Failure::Refused(self.missing()),
            WriteError::Unsaved => Failure::Refused(ApiError::unsaved()),
        }
    }
}

fn text<'a>(meta: &'a Map<String, Value>, key: &str) -> &'a str {
    meta.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The namespace of a body must match the URL; if absent it is filled in.
pub(crate) fn check_namespace(meta: &mut Map<String, Value>, namespace: &str) -> Result<()> {
    let given = meta.get("namespace").and_then(Value::as_str).unwrap_or_default();
    if given.is_empty() || namespace.is_empty() {
        if namespace.is_empty() {
            meta.remove("namespace");
        } else {
            meta.insert("namespace".to_owned(), namespace.into());
        }
    } else if given != namespace {
        let message = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(ApiError::bad_request(message));
    }
    Ok(())
}

/// Go omits empty maps and lists of metadata.
fn drop_empty(meta: &mut Map<String, Value>) {
    meta.retain(|key, value| {
        let empty = match value {
            Value::Object(m) => m.is_empty(),
            Value::Array(a) => a.is_empty(),
            Value::Null => true,
            _ => false,
        };
        !(empty
            && matches!(
                key.as_str(),
                "labels"
                    | "annotations"
                    | "finalizers"
                    | "ownerReferences"
                    | "creationTimestamp"
                    | "deletionTimestamp"
                    | "deletionGracePeriodSeconds"
            ))
    });
}

/// What the name and the uid of a new object depend on in a simulation.
fn unique_name(resource: &Resource, namespace: &str, name: &str) -> String {
    format!("{} {} {namespace}/{name}", resource.group, resource.plural)
}

/// A prefix, cut so that the name fits, and five random characters.
///
/// * `of` - what the characters depend on in a simulation.
fn generate_name(prefix: &str, of: &str) -> String {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let prefix: String = prefix.chars().take(58).collect();
    let suffix = oarlock_simulation::unique_id(of).into_bytes().into_iter().take(5);
    let suffix: String =
        suffix.filter_map(|b| ALPHABET.get(usize::from(b) % ALPHABET.len())).map(|b| char::from(*b)).collect();
    prefix + &suffix
}
