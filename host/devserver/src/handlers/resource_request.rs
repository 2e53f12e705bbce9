//! Requests about objects of one resource: what all verbs need.

use std::sync::Arc;

use http::StatusCode;
use serde_json::Value;

use super::Api;
use crate::{
    conversion,
    http::{encode, negotiate, query::WriteOptions, request::Request, response::Response},
    model::{
        kinds::Resource,
        path::ResourcePath,
        status::{ApiError, Result},
    },
    resources::table::TableOptions,
    store::{Key, Object},
    webhooks::{self, Attributes, Kind, Old, Operation},
};

/// A request about objects of one resource.
#[derive(Debug)]
pub(crate) struct ResourceRequest<'a> {
    pub(crate) api: &'a Api,
    pub(crate) call: &'a Request,
    pub(crate) path: &'a ResourcePath,
    pub(crate) resource: Arc<Resource>,
}

impl ResourceRequest<'_> {
    /// The key of its object.
    pub(crate) fn key(&self) -> Key {
        Key::new(&self.path.namespace, &self.path.name)
    }

    /// A stored object in the version of this request.
    pub(crate) async fn in_version(&self, object: Arc<Object>) -> Result<Arc<Object>> {
        conversion::served_one(&self.api.store, &self.resource, object).await
    }

    /// The object of this request, in its version, or 404.
    pub(crate) async fn find(&self) -> Result<Arc<Object>> {
        self.in_version(self.api.store.find(&self.resource, &self.key())?).await
    }

    /// Calls the webhooks for an object that is not of the resource's own kind and is not stored: a Scale, a Binding, an Eviction.
    ///
    /// * `object` - with its old state, if this is an update.
    pub(crate) async fn admitted(
        &self,
        kind: Kind,
        (object, old): (Value, Option<&Value>),
        options: &WriteOptions,
    ) -> Result<Value> {
        let (operation, named) = match old {
            Some(_) => (Operation::Update, "UpdateOptions"),
            None => (Operation::Create, "CreateOptions"),
        };
        let attributes = Attributes {
            webhooks: &self.api.webhooks,
            user: &self.call.user,
            resource: &self.resource,
            subresource: &self.path.subresource,
            namespace: &self.path.namespace,
            name: &self.path.name,
            operation,
            options: webhooks::options(named, &self.call.query),
            dry_run: options.dry_run,
            kind: Some(kind),
        };
        let old = old.map_or(Old::None, Old::Plain);
        let object = attributes.mutate(self.call, Some(&object), old).await?.unwrap_or(object);
        attributes.validate(self.call, Some(&object), old).await?;
        Ok(object)
    }

    /// A response with one object, which is in the version of the request.
    pub(crate) fn reply(&self, code: StatusCode, object: &Object, warnings: Vec<String>) -> Result<Response> {
        let format = negotiate::format(&self.call.accept, true)?;
        let body = encode::single(&self.resource, object, format, self.table()?)?;
        Ok(Response::ready(code, format, body).warn(warnings))
    }

    pub(crate) fn table(&self) -> Result<TableOptions> {
        let asked = self.call.query.get("includeObject").filter(|_| self.call.accept.contains("as=Table"));
        TableOptions::parse(asked)
    }

    /// 404 for the object of this request.
    pub(crate) fn not_found(&self) -> ApiError {
        ApiError::not_found(&self.resource.group, &self.resource.plural, &self.path.name)
    }
}
