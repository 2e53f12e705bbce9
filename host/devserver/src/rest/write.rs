//! The common path of all writes: defaults, checks, bookkeeping, storage.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::{
    api::Api,
    authentication::User,
    authorization::escalation,
    crd, defaults,
    kinds::Resource,
    managed::{self, Writer},
    namespaces,
    status::{ApiError, Cause, Result},
    storage::{Key, Object, WriteError},
    strategy, time, validation, versions,
};

/// How often a write is tried again when somebody else was faster.
pub(crate) const ATTEMPTS: usize = 16;

/// A write of one object.
#[derive(Debug)]
pub(crate) struct Write<'a> {
    pub(crate) api: &'a Arc<Api>,
    /// Who writes.
    pub(crate) user: &'a User,
    pub(crate) resource: &'a Arc<Resource>,
    pub(crate) key: Key,
    pub(crate) dry_run: bool,
    pub(crate) writer: Writer,
    /// The entries of managedFields are already in the object (an apply).
    pub(crate) tracked: bool,
}

/// Why an update was not done.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Somebody else was faster.
    Retry,
    /// It is refused.
    Refused(ApiError),
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        Self::Refused(error)
    }
}

impl Write<'_> {
    fn exists(&self) -> ApiError {
        let error = ApiError::already_exists(&self.resource.group, &self.resource.plural, &self.key.name);
        let present = self.api.shelf(self.resource).get(&self.key);
        let going = present.is_some_and(|o| o.value.pointer("/metadata/deletionTimestamp").is_some());
        if going { error.prefixed("object is being deleted: ") } else { error }
    }

    fn missing(&self) -> ApiError {
        ApiError::not_found(&self.resource.group, &self.resource.plural, &self.key.name)
    }

    /// 409 because of the resourceVersion.
    pub(crate) fn modified(&self) -> ApiError {
        ApiError::modified(&self.resource.group, &self.resource.plural, &self.key.name)
    }

    fn invalid(&self, causes: &[Cause]) -> ApiError {
        // Events of both groups are checked as core events.
        let group = if self.resource.is_new_event() { "" } else { &self.resource.group };
        ApiError::invalid(group, &self.resource.kind, &self.key.name, causes)
    }

    /// Stores a new object; settles its name when only a prefix was given.
    pub(crate) fn create(&mut self, mut object: Value) -> Result<Arc<Object>> {
        let resource = Arc::clone(self.resource);
        self.identity(&mut object)?;
        namespaces::admit_create(self.api, &resource, &self.key)?;
        if resource.custom.as_ref().is_some_and(|c| crd::terminating(self.api, &c.crd)) {
            let why = "create not allowed while custom resource definition is terminating";
            return Err(ApiError::forbidden(&resource.group, &resource.plural, &self.key.name, why));
        }
        let new_event = resource.is_new_event();
        object = versions::to_stored(&resource, object, None);
        defaults::fill_in(&resource, &mut object)?;
        // Ownership is booked before admission: what the server adds on its own belongs to nobody.
        if !self.tracked {
            managed::track(&resource, None, &mut object, &self.writer);
        }
        strategy::prepare_create(&resource, &mut object);
        defaults::admit(self.api, &resource, &mut object)?;
        let causes = validation::create(&resource, &object, new_event);
        if !causes.is_empty() {
            return Err(self.invalid(&causes));
        }
        escalation::check(self.api, self.user, &resource, &self.key, &object)?;
        let shelf = self.api.shelf(&resource);
        if self.dry_run {
            if shelf.get(&self.key).is_some() {
                return Err(self.exists());
            }
            let object = Object::new(object, 0);
            return Ok(Arc::new(object.without_version()));
        }
        let stored = shelf.create(&self.key, object).map_err(|e| match e {
            WriteError::Closed => ApiError::no_page(),
            WriteError::Unsaved => ApiError::unsaved(),
            _ => self.exists(),
        })?;
        self.stored(&resource);
        if resource.is("", "namespaces") && self.api.options.controllers {
            // Pods need it; whoever makes a namespace may make a pod at once.
            self.api.make("", "serviceaccounts", &self.key.name, "default", json!({}));
        }
        Ok(stored)
    }

    /// Name, namespace, uid and creation time of a new object.
    fn identity(&mut self, object: &mut Value) -> Result<()> {
        let Some(map) = object.as_object_mut() else { return Err(ApiError::bad_request("not an object")) };
        if !map.get("metadata").is_some_and(Value::is_object) {
            map.insert("metadata".to_owned(), json!({}));
        }
        let Some(meta) = map.get_mut("metadata").and_then(Value::as_object_mut) else {
            return Err(ApiError::bad_request("metadata is not an object"));
        };
        if self.resource.custom.is_some() && !self.resource.namespaced {
            meta.remove("namespace");
        }
        check_namespace(meta, &self.key.namespace)?;
        let text =
            |meta: &Map<String, Value>, key: &str| meta.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        if !matches!(text(meta, "resourceVersion").as_str(), "" | "0") {
            return Err(ApiError::internal("resourceVersion should not be set on objects to be created"));
        }
        let mut name = text(meta, "name");
        let prefix = text(meta, "generateName");
        if name.is_empty() && !prefix.is_empty() {
            name = generate_name(&prefix);
            meta.insert("name".to_owned(), name.clone().into());
        }
        self.key.name = name;
        meta.insert("uid".to_owned(), uuid::Uuid::new_v4().to_string().into());
        meta.insert("creationTimestamp".to_owned(), time::now().into());
        meta.remove("resourceVersion");
        drop_empty(meta);
        Ok(())
    }

    /// Replaces `old` by `new`, which already has what the client wants.
    pub(crate) fn update(&self, old: &Arc<Object>, mut new: Value) -> std::result::Result<Arc<Object>, Failure> {
        let resource = self.resource;
        let subresource = self.writer.subresource.as_str();
        strategy::prepare_update(resource, subresource, &mut new, &old.value);
        if let Some(meta) = new.get_mut("metadata").and_then(Value::as_object_mut) {
            drop_empty(meta);
        }
        defaults::update(self.api, resource, &mut new, &old.value)?;
        let causes = validation::update(resource, subresource, &new, &old.value);
        if !causes.is_empty() {
            return Err(self.invalid(&causes).into());
        }
        escalation::check(self.api, self.user, resource, &self.key, &new)?;
        strategy::bump_generation(resource, &mut new, &old.value);
        if !self.tracked {
            managed::track(resource, Some(&old.value), &mut new, &self.writer);
        }
        let shelf = self.api.shelf(resource);
        if strategy::released(resource, &new) {
            if !self.dry_run {
                shelf.delete(&self.key, old.revision).map_err(|e| self.failure(e))?;
                self.stored(resource);
            }
            return Ok(Arc::new(Object::new(new, old.revision)));
        }
        if strategy::same(&new, &old.value) || managed::same_but_for_times(&new, &old.value) {
            return Ok(Arc::clone(old));
        }
        if self.dry_run {
            return Ok(Arc::new(Object::new(new, old.revision)));
        }
        let stored = shelf.update(&self.key, old.revision, new).map_err(|e| self.failure(e))?;
        self.stored(resource);
        Ok(stored)
    }

    fn failure(&self, error: WriteError) -> Failure {
        match error {
            WriteError::Modified | WriteError::Exists => Failure::Retry,
            WriteError::Missing | WriteError::Closed => Failure::Refused(self.missing()),
            WriteError::Unsaved => Failure::Refused(ApiError::unsaved()),
        }
    }

    /// What other parts of the server do after a write.
    fn stored(&self, resource: &Resource) {
        crd::after_write(self.api, resource, &self.key);
    }
}

/// The namespace of a body must be the one of the URL; absent it is filled in.
pub(crate) fn check_namespace(meta: &mut Map<String, Value>, namespace: &str) -> Result<()> {
    let given = meta.get("namespace").and_then(Value::as_str).unwrap_or_default();
    if given.is_empty() {
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

/// Go leaves empty maps and lists of metadata away.
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
                    | "managedFields"
                    | "creationTimestamp"
                    | "deletionTimestamp"
                    | "deletionGracePeriodSeconds"
            ))
    });
}

/// A prefix, cut so that the name fits, and five random characters.
fn generate_name(prefix: &str) -> String {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let prefix: String = prefix.chars().take(58).collect();
    let suffix = uuid::Uuid::new_v4().into_bytes().into_iter().take(5);
    let suffix: String =
        suffix.filter_map(|b| ALPHABET.get(usize::from(b) % ALPHABET.len())).map(|b| char::from(*b)).collect();
    prefix + &suffix
}
