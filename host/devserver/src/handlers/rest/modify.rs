//! The verbs create, update and patch.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};

use super::write::Write;
use crate::{
    access::authorization::Action,
    handlers::{patch, resource_request::ResourceRequest},
    http::{
        decode::{self, Decoded, Expected},
        encode, negotiate,
        query::WriteOptions,
        response::Response,
    },
    model::{
        status::{ApiError, Cause, Result},
        versions,
    },
    resources::{
        managed::Writer,
        validation,
        write::{Failure, ObjectWrite, check_namespace},
    },
    store::{ATTEMPTS, Key, Object, ResourceStore},
};

impl ResourceRequest<'_> {
    pub(super) fn write(&self, options: &WriteOptions) -> Write<'_> {
        let steps = ObjectWrite {
            store: &self.api.store,
            resource: &self.resource,
            key: self.key(),
            dry_run: options.dry_run,
            writer: Writer::new(options.field_manager.as_deref(), &self.call.user_agent, &self.path.subresource),
            tracked: false,
        };
        Write { api: self.api, call: self.call, resource: &self.resource, steps }
    }

    pub(super) async fn create(&self) -> Result<Response> {
        negotiate::format(&self.call.accept, true)?;
        let options = WriteOptions::parse(&self.call.query, "CreateOptions")?;
        let decoded = decode::decode(self.call, Expected::of(&self.resource), options.field_validation)?;
        self.call.warnings.add(decoded.warnings);
        let stored = self.write(&options).create(decoded.object).await?;
        self.call.warnings.add(validation::warnings(&self.resource, &stored.value));
        self.reply(StatusCode::CREATED, &stored, Vec::new())
    }

    pub(super) async fn replace(&self) -> Result<Response> {
        negotiate::format(&self.call.accept, true)?;
        let options = WriteOptions::parse(&self.call.query, "UpdateOptions")?;
        let Decoded { mut object, warnings } =
            decode::decode(self.call, Expected::of(&self.resource), options.field_validation)?;
        self.call.warnings.add(warnings);
        self.check_identity(&mut object)?;
        let mut write = self.write(&options);
        let resource_store = self.api.store.of(&self.resource);
        for _ in 0..ATTEMPTS {
            let Some(old) = self.present(&resource_store, &write.steps.key).await? else {
                if !self.resource.put_creates() || !self.path.subresource.is_empty() {
                    return Err(self.not_found());
                }
                if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                    let version = meta.remove("resourceVersion");
                    let version = version.as_ref().and_then(Value::as_str).unwrap_or_default();
                    if !version.is_empty() && version.parse::<u64>().is_err() {
                        let why = format!("strconv.ParseUint: parsing \"{version}\": invalid syntax");
                        return Err(ApiError::internal(why));
                    }
                }
                self.may_create()?;
                let stored = write.create(object).await?;
                return self.reply(StatusCode::CREATED, &stored, Vec::new());
            };
            let conditional = self.check_version(&object, &old)?;
            self.call.warnings.add(validation::unqualified(&self.resource, &object, Some(&old.value)));
            let new = versions::to_stored(&self.resource, object.clone(), Some(&old.value));
            match write.update(&old, new).await {
                Ok(stored) => return self.reply(StatusCode::OK, &stored, Vec::new()),
                Err(Failure::Refused(error)) => return Err(error),
                Err(Failure::Retry) if conditional => return Err(write.modified()),
                Err(Failure::Retry) => {}
            }
        }
        Err(write.modified())
    }

    /// The present state of an object, in the version of the request.
    async fn present(&self, resource_store: &ResourceStore, key: &Key) -> Result<Option<Arc<Object>>> {
        match resource_store.get(key) {
            Some(object) => self.in_version(object).await.map(Some),
            None => Ok(None),
        }
    }

    /// A PUT or apply that creates needs the verb `create` as well.
    fn may_create(&self) -> Result<()> {
        let action = Action::Object {
            verb: "create".to_owned(),
            group: self.resource.group.clone(),
            resource: self.resource.plural.clone(),
            subresource: String::new(),
            namespace: self.path.namespace.clone(),
            name: self.path.name.clone(),
        };
        self.api.authorizer.require(&self.call.user, &action)
    }

    /// Name and namespace of a PUT's body must be those of the URL.
    fn check_identity(&self, object: &mut Value) -> Result<()> {
        let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
            return Err(self.nameless());
        };
        let name = meta.get("name").and_then(Value::as_str).unwrap_or_default();
        if name.is_empty() {
            return Err(self.nameless());
        }
        if name != self.path.name {
            let message =
                format!("the name of the object ({name}) does not match the name on the URL ({})", self.path.name);
            return Err(ApiError::bad_request(message));
        }
        meta.remove("selfLink");
        check_namespace(meta, &self.path.namespace)
    }

    fn nameless(&self) -> ApiError {
        patch::nameless(&self.path.name)
    }

    /// Checks uid and resourceVersion of a PUT; returns whether it is bound to a version.
    pub(super) fn check_version(&self, object: &Value, old: &Object) -> Result<bool> {
        let (group, plural, name) = (&self.resource.group, &self.resource.plural, &self.path.name);
        let text = |key: &str| object.pointer("/metadata").and_then(|m| m.get(key)?.as_str()).unwrap_or_default();
        let uid = old.value.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
        let given = text("uid");
        let version = text("resourceVersion");
        if !matches!(version, "" | "0") && version.parse::<u64>().is_err() {
            return Err(ApiError::internal(format!("strconv.ParseUint: parsing \"{version}\": invalid syntax")));
        }
        if !given.is_empty() && given != uid {
            let prefix = if group.is_empty() { String::new() } else { format!("{group}/") };
            let namespace =
                if self.path.namespace.is_empty() { String::new() } else { format!("{}/", self.path.namespace) };
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: /registry/{prefix}{plural}/{namespace}{name}, ResourceVersion: 0, \
                 AdditionalErrorMsg: Precondition failed: UID in precondition: {given}, UID in object meta: {uid}"
            );
            return Err(ApiError::conflict(group, plural, name, &why));
        }
        if matches!(version, "" | "0") {
            if self.resource.needs_version() {
                let detail = "must be specified for an update";
                let cause = Cause::invalid("metadata.resourceVersion", &json!(0), detail);
                return Err(ApiError::invalid(group, plural, name, &[cause]));
            }
            return Ok(false);
        }
        if version.parse() != Ok(old.revision) {
            return Err(ApiError::modified(group, plural, name));
        }
        Ok(true)
    }

    pub(super) async fn patch(&self) -> Result<Response> {
        negotiate::format(&self.call.accept, true)?;
        let options = WriteOptions::parse(&self.call.query, "PatchOptions")?;
        let custom = self.resource.custom.is_some();
        let kind = patch::Kind::of(&self.call.content_type, custom)?;
        patch::check_options(kind, &self.call.query)?;
        let mut write = self.write(&options);
        let resource_store = self.api.store.of(&self.resource);
        for _ in 0..ATTEMPTS {
            let old = self.present(&resource_store, &write.steps.key).await?;
            let current = old.as_ref().map(|o| encode::value(&self.resource, o));
            if current.is_none() && (kind != patch::Kind::Apply || !self.path.subresource.is_empty()) {
                return Err(self.not_found());
            }
            let input = patch::Input {
                kind,
                body: &self.call.body,
                resource: &self.resource,
                name: &self.path.name,
                options: &options,
                writer: &write.steps.writer,
            };
            let patched = patch::patch(&input, current.as_ref())?;
            self.call.warnings.add(patched.warnings);
            self.check_patched(&patched.object)?;
            write.steps.tracked = kind == patch::Kind::Apply;
            let Some(old) = old else {
                self.may_create()?;
                match write.create(patched.object).await {
                    Ok(stored) => return self.reply(StatusCode::CREATED, &stored, Vec::new()),
                    // Another apply created the object first: now there is an object to merge with.
                    Err(error) if error.is_already_exists() => continue,
                    Err(error) => return Err(error),
                }
            };
            match self.patched(&write, &old, patched.object).await {
                Ok(stored) => return self.reply(StatusCode::OK, &stored, Vec::new()),
                Err(Failure::Refused(error)) => return Err(error),
                Err(Failure::Retry) => {}
            }
        }
        Err(write.modified())
    }

    /// Namespace and name of a patched object are those of the URL.
    fn check_patched(&self, object: &Value) -> Result<()> {
        let text = |key: &str| object.pointer("/metadata").and_then(|m| m.get(key)?.as_str()).unwrap_or_default();
        let elsewhere = !text("namespace").is_empty() && text("namespace") != self.path.namespace;
        if elsewhere && self.resource.namespaced {
            let message = "the namespace of the provided object does not match the namespace sent on the request";
            return Err(ApiError::bad_request(message));
        }
        match text("name") {
            "" => Err(self.nameless()),
            name if name == self.path.name => Ok(()),
            name => Err(ApiError::bad_request(format!(
                "the name of the object ({name}) does not match the name on the URL ({})",
                self.path.name
            ))),
        }
    }

    async fn patched(
        &self,
        write: &Write<'_>,
        old: &Arc<Object>,
        object: Value,
    ) -> std::result::Result<Arc<Object>, Failure> {
        let text = |key: &str| object.pointer("/metadata").and_then(|m| m.get(key)?.as_str()).unwrap_or_default();
        let version = text("resourceVersion");
        if !matches!(version, "" | "0") && version.parse() != Ok(old.revision) {
            if version.parse::<u64>().is_err() {
                let message = format!("strconv.ParseUint: parsing \"{version}\": invalid syntax");
                return Err(ApiError::internal(message).into());
            }
            return Err(write.modified().into());
        }
        self.call.warnings.add(validation::unqualified(&self.resource, &object, Some(&old.value)));
        let new = versions::to_stored(&self.resource, object, Some(&old.value));
        write.update(old, new).await
    }
}
