//! Common path of all writes: defaults, validation, field ownership, storage.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::{
    access::authorization::escalation,
    api::Api,
    definitions,
    http::request::Request,
    model::{
        kinds::Resource,
        members,
        status::{ApiError, Cause, Result},
        time,
        user::User,
        versions,
    },
    resources::{
        crd, defaults,
        managed::{self, Writer},
        namespaces, strategy, validation,
    },
    store::{Key, Object, WriteError},
    webhooks::{self, Attributes, Old, Operation},
};

/// A write of one object.
#[derive(Debug)]
pub(crate) struct Write<'a> {
    pub(crate) api: &'a Arc<Api>,
    /// The user of the write.
    pub(crate) user: &'a User,
    pub(crate) resource: &'a Arc<Resource>,
    pub(crate) key: Key,
    pub(crate) dry_run: bool,
    pub(crate) writer: Writer,
    /// Whether managedFields are already in the object (an apply).
    pub(crate) tracked: bool,
    /// The request; none when the server itself writes.
    pub(crate) call: Option<&'a Request>,
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

impl Write<'_> {
    fn exists(&self) -> ApiError {
        let error = ApiError::already_exists(&self.resource.group, &self.resource.plural, &self.key.name);
        let present = self.api.store.of(self.resource).get(&self.key);
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
        // Events of both groups are validated as core events.
        let group = if self.resource.is_new_event() { "" } else { &self.resource.group };
        ApiError::invalid(group, &self.resource.kind, &self.key.name, causes)
    }

    /// Stores a new object; generates its name when only a prefix is given.
    pub(crate) async fn create(&mut self, object: Value) -> Result<Arc<Object>> {
        let mut object = self.begin(object)?;
        let name = self.key.name.clone();
        let call = self.call;
        let admission = self.admission(&name, Operation::Create);
        if let (Some(call), Some(attributes)) = (call, &admission)
            && let Some(changed) = attributes.mutate(call, Some(&object), Old::None).await?
        {
            object = changed;
        }
        let object = self.settle(object)?;
        let admission = self.admission(&name, Operation::Create);
        if let (Some(call), Some(attributes)) = (call, &admission) {
            attributes.validate(call, Some(&object), Old::None).await?;
        }
        self.store(object)
    }

    /// [`Self::create`] by the server itself, without webhooks.
    pub(crate) fn create_own(&mut self, object: Value) -> Result<Arc<Object>> {
        let object = self.begin(object)?;
        let object = self.settle(object)?;
        self.store(object)
    }

    /// The attributes of this write for webhooks; `None` when no webhook matches.
    fn admission<'a>(&'a self, name: &'a str, operation: Operation) -> Option<Attributes<'a>> {
        let kind = if operation == Operation::Create { "CreateOptions" } else { "UpdateOptions" };
        Some(Attributes {
            webhooks: &self.api.webhooks,
            user: self.user,
            resource: self.resource,
            subresource: &self.writer.subresource,
            namespace: if self.resource.is("", "namespaces") { &self.key.name } else { &self.key.namespace },
            name,
            operation,
            options: webhooks::options(kind, &self.call?.query),
            dry_run: self.dry_run,
            kind: None,
        })
    }

    /// Prepares a new object for the webhooks.
    fn begin(&mut self, mut object: Value) -> Result<Value> {
        let resource = Arc::clone(self.resource);
        self.check_identity(&mut object)?;
        namespaces::admit_create(&self.api.store, &resource, &self.key)?;
        if resource.custom.as_ref().is_some_and(|c| crd::terminating(&self.api.store, &c.crd)) {
            let why = "create not allowed while custom resource definition is terminating";
            return Err(ApiError::forbidden(&resource.group, &resource.plural, &self.key.name, why));
        }
        object = versions::to_stored(&resource, object, None);
        defaults::fill_in(&resource, &mut object)?;
        // Ownership is recorded before admission: additions of the server itself have no owner.
        if !self.tracked {
            managed::track(&resource, None, &mut object, &self.writer);
        }
        defaults::plugins(&self.api.store, &resource, &mut object)?;
        Ok(object)
    }

    /// The stored form of a new object, if it is valid.
    fn settle(&mut self, mut object: Value) -> Result<Value> {
        let resource = Arc::clone(self.resource);
        self.identify(&mut object);
        if resource.is("", "namespaces") {
            defaults::namespace_label(&mut object);
        }
        strategy::prepare_create(&resource, &mut object);
        strategy::drop_disabled(&resource, &mut object);
        defaults::admit(&self.api.store, &resource, &mut object)?;
        escalation::check(&self.api.authorizer, self.user, &resource, &self.key, &object)?;
        let causes = validation::create(&resource, &object, resource.is_new_event());
        if causes.is_empty() { Ok(object) } else { Err(self.invalid(&causes)) }
    }

    fn store(&mut self, object: Value) -> Result<Arc<Object>> {
        let resource = Arc::clone(self.resource);
        let resource_store = self.api.store.of(&resource);
        if self.dry_run {
            if resource_store.get(&self.key).is_some() {
                return Err(self.exists());
            }
            let object = Object::new(object, 0);
            return Ok(Arc::new(object.without_version()));
        }
        let stored = resource_store.create(&self.key, object).map_err(|e| match e {
            WriteError::Closed => ApiError::no_page(),
            WriteError::Unsaved => ApiError::unsaved(),
            _ => self.exists(),
        })?;
        self.stored(&resource);
        if resource.is("", "namespaces") && self.api.options.controllers {
            // Pods need it, and a client may create a pod right after its namespace.
            self.api.make("", "serviceaccounts", &self.key.name, "default", json!({}));
        }
        Ok(stored)
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
            self.key.name = generate_name(prefix);
            meta.insert("name".to_owned(), self.key.name.clone().into());
        }
        meta.insert("uid".to_owned(), uuid::Uuid::new_v4().to_string().into());
        meta.insert("creationTimestamp".to_owned(), time::now().into());
        drop_empty(meta);
    }

    /// Replaces `old` by `new`, which already has the client's changes.
    pub(crate) async fn update(&self, old: &Arc<Object>, new: Value) -> std::result::Result<Arc<Object>, Failure> {
        let call = self.call;
        let Some((call, attributes)) = call.zip(self.admission(&self.key.name, Operation::Update)) else {
            return self.update_own(old, new);
        };
        let asked = attributes.may_change().then(|| new.clone());
        let mut tracked = self.prepared(old, new)?;
        if let Some(mut new) = asked {
            defaults::fill_in(self.resource, &mut new)?;
            // Ownership is recorded before admission.
            if let (Some(meta), Some(owners)) =
                (members::object(&mut new, "metadata"), tracked.pointer("/metadata/managedFields"))
            {
                meta.insert(managed::FIELD.to_owned(), owners.clone());
            }
            if let Some(changed) = attributes.mutate(call, Some(&new), Old::Stored(old)).await? {
                let owners = tracked.pointer("/metadata/managedFields").cloned();
                tracked = self.overwritten(old, changed)?;
                if let (Some(meta), Some(owners)) = (members::object(&mut tracked, "metadata"), owners) {
                    meta.insert(managed::FIELD.to_owned(), owners);
                }
            }
        }
        let new = self.checked(old, tracked)?;
        attributes.validate(call, Some(&new), Old::Stored(old)).await?;
        self.replace(old, new)
    }

    /// [`Self::update`] without webhooks.
    pub(crate) fn update_own(&self, old: &Arc<Object>, new: Value) -> std::result::Result<Arc<Object>, Failure> {
        let new = self.prepared(old, new)?;
        let new = self.checked(old, new)?;
        self.replace(old, new)
    }

    /// [`Self::overwritten`], with field ownership.
    fn prepared(&self, old: &Arc<Object>, new: Value) -> Result<Value> {
        let mut new = self.overwritten(old, new)?;
        if !self.tracked {
            managed::track(self.resource, Some(&old.value), &mut new, &self.writer);
        }
        Ok(new)
    }

    /// A new version with the fields that the client may not change, and with defaults.
    fn overwritten(&self, old: &Arc<Object>, mut new: Value) -> Result<Value> {
        strategy::prepare_update(self.resource, &self.writer.subresource, &mut new, &old.value);
        if let Some(meta) = new.get_mut("metadata").and_then(Value::as_object_mut) {
            drop_empty(meta);
        }
        defaults::update(self.resource, &mut new, &old.value)?;
        Ok(new)
    }

    /// A new version, if it is valid.
    fn checked(&self, old: &Arc<Object>, mut new: Value) -> Result<Value> {
        escalation::check(&self.api.authorizer, self.user, self.resource, &self.key, &new)?;
        strategy::drop_disabled(self.resource, &mut new);
        defaults::settle(&self.api.store, self.resource, &mut new, &old.value)?;
        let causes = validation::update(self.resource, &self.writer.subresource, &new, &old.value);
        if !causes.is_empty() {
            return Err(self.invalid(&causes));
        }
        if self.writer.subresource != "status" {
            strategy::bump_generation(self.resource, &mut new, &old.value);
        }
        Ok(new)
    }

    fn replace(&self, old: &Arc<Object>, new: Value) -> std::result::Result<Arc<Object>, Failure> {
        let resource = self.resource;
        let resource_store = self.api.store.of(resource);
        if strategy::released(resource, &new) {
            if !self.dry_run {
                resource_store.delete(&self.key, old.revision).map_err(|e| self.failure(e))?;
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
        let stored = resource_store.update(&self.key, old.revision, new).map_err(|e| self.failure(e))?;
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

    /// Effects of a write on other parts of the server.
    fn stored(&self, resource: &Resource) {
        definitions::after_write(self.api, resource, &self.key);
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

/// A prefix, cut so that the name fits, and five random characters.
fn generate_name(prefix: &str) -> String {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let prefix: String = prefix.chars().take(58).collect();
    let suffix = uuid::Uuid::new_v4().into_bytes().into_iter().take(5);
    let suffix: String =
        suffix.filter_map(|b| ALPHABET.get(usize::from(b) % ALPHABET.len())).map(|b| char::from(*b)).collect();
    prefix + &suffix
}
