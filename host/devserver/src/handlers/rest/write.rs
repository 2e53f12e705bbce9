//! Writes of requests: the steps of a write, with webhooks, escalation checks and the reactions of controllers.

use std::sync::Arc;

use serde_json::Value;

use crate::{
    access::authorization::escalation,
    conversion,
    handlers::Api,
    http::request::Request,
    model::{
        kinds::Resource,
        members,
        status::{ApiError, Result},
    },
    resources::{
        defaults, managed,
        write::{Failure, ObjectWrite, Replaced},
    },
    store::Object,
    webhooks::{self, Attributes, Old, Operation},
};

/// A write of one object by a request.
#[derive(Debug)]
pub(crate) struct Write<'a> {
    pub(crate) api: &'a Api,
    pub(crate) call: &'a Request,
    pub(crate) resource: &'a Arc<Resource>,
    pub(crate) steps: ObjectWrite<'a>,
}

impl Write<'_> {
    /// 409 because of the resourceVersion.
    pub(crate) fn modified(&self) -> ApiError {
        ApiError::modified(&self.resource.group, &self.resource.plural, &self.steps.key.name)
    }

    /// Stores a new object; generates its name when only a prefix is given.
    pub(crate) async fn create(&mut self, object: Value) -> Result<Arc<Object>> {
        let mut object = self.steps.begin(object)?;
        let name = self.steps.key.name.clone();
        if let Some(changed) =
            self.attributes(&name, Operation::Create).mutate(self.call, Some(&object), Old::None).await?
        {
            object = changed;
        }
        let object = self.steps.complete(object)?;
        self.check_escalation(&object)?;
        let object = self.steps.valid(object)?;
        self.attributes(&name, Operation::Create).validate(self.call, Some(&object), Old::None).await?;
        if self.steps.dry_run {
            return self.steps.imagine(object).await;
        }
        let stored = self.steps.create(conversion::stored(self.steps.store, self.resource, object).await?)?;
        self.api.controllers.created(self.resource, &self.steps.key);
        conversion::served_one(self.steps.store, self.resource, stored).await
    }

    /// The attributes of this write for webhooks.
    fn attributes<'a>(&'a self, name: &'a str, operation: Operation) -> Attributes<'a> {
        let kind = if operation == Operation::Create { "CreateOptions" } else { "UpdateOptions" };
        let key = &self.steps.key;
        Attributes {
            webhooks: &self.api.webhooks,
            user: &self.call.user,
            resource: self.resource,
            subresource: &self.steps.writer.subresource,
            namespace: if self.resource.is("", "namespaces") { &key.name } else { &key.namespace },
            name,
            operation,
            options: webhooks::options(kind, &self.call.query),
            dry_run: self.steps.dry_run,
            kind: None,
        }
    }

    /// Replaces `old` by `new`, which already has the client's changes.
    pub(crate) async fn update(&self, old: &Arc<Object>, new: Value) -> std::result::Result<Arc<Object>, Failure> {
        let attributes = self.attributes(&self.steps.key.name, Operation::Update);
        let asked = attributes.may_change().then(|| new.clone());
        let mut tracked = self.steps.prepared(old, new)?;
        if let Some(mut new) = asked {
            defaults::fill_in(self.resource, &mut new)?;
            // Ownership is recorded before admission.
            if let (Some(meta), Some(owners)) =
                (members::object(&mut new, "metadata"), tracked.pointer("/metadata/managedFields"))
            {
                meta.insert(managed::FIELD.to_owned(), owners.clone());
            }
            if let Some(changed) = attributes.mutate(self.call, Some(&new), Old::Stored(old)).await? {
                let owners = tracked.pointer("/metadata/managedFields").cloned();
                tracked = self.steps.overwritten(old, changed)?;
                if let (Some(meta), Some(owners)) = (members::object(&mut tracked, "metadata"), owners) {
                    meta.insert(managed::FIELD.to_owned(), owners);
                }
            }
        }
        let new = self.checked(old, tracked)?;
        attributes.validate(self.call, Some(&new), Old::Stored(old)).await?;
        self.replace(old, new).await
    }

    /// [`Self::update`] without webhooks.
    pub(crate) async fn update_unreviewed(
        &self,
        old: &Arc<Object>,
        new: Value,
    ) -> std::result::Result<Arc<Object>, Failure> {
        let new = self.steps.prepared(old, new)?;
        let new = self.checked(old, new)?;
        self.replace(old, new).await
    }

    /// A new version, if the writer may store it and it is valid.
    fn checked(&self, old: &Arc<Object>, new: Value) -> Result<Value> {
        self.check_escalation(&new)?;
        self.steps.checked(old, new)
    }

    fn check_escalation(&self, object: &Value) -> Result<()> {
        escalation::check(&self.api.authorizer, &self.call.user, self.resource, &self.steps.key, object)
    }

    async fn replace(&self, old: &Arc<Object>, new: Value) -> std::result::Result<Arc<Object>, Failure> {
        match self.steps.replace(old, new).await? {
            Replaced::Stored(object) => {
                self.api.controllers.written(self.resource, &self.steps.key);
                Ok(conversion::served_one(self.steps.store, self.resource, object).await?)
            }
            Replaced::Kept(object) => Ok(object),
        }
    }
}
