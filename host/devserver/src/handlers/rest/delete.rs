//! The verbs delete and deletecollection.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Map, json};

use super::read;
use crate::{
    conversion,
    handlers::resource_request::ResourceRequest,
    http::{decode, encode, negotiate, query::ListOptions, response::Response},
    model::status::{ApiError, Result},
    resources::deletion::{self, DeleteOptions, Deleted},
    store::{ATTEMPTS, Key},
    webhooks::{self, Attributes, Old, Operation},
};

/// Namespaces that cannot be deleted.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

impl ResourceRequest<'_> {
    fn delete_options(&self) -> Result<DeleteOptions> {
        if self.call.body.is_empty() {
            return DeleteOptions::parse(&self.call.query, None);
        }
        let options = decode::delete_options(self.call)?;
        DeleteOptions::parse(&self.call.query, Some(&options))
    }

    /// Deletes an object if the webhooks allow it.
    ///
    /// * `name` - the name for the webhooks: empty in a deletecollection.
    async fn delete_admitted(&self, key: &Key, name: &str, options: &DeleteOptions) -> Result<Deleted> {
        let namespaces = self.resource.is("", "namespaces");
        let attributes = Attributes {
            webhooks: &self.api.webhooks,
            user: &self.call.user,
            resource: &self.resource,
            subresource: "",
            namespace: if namespaces { &key.name } else { &key.namespace },
            name,
            operation: Operation::Delete,
            options: webhooks::delete_options(options),
            dry_run: options.dry_run,
            kind: None,
        };
        for _ in 0..ATTEMPTS {
            let old = self.api.store.find(&self.resource, key)?;
            deletion::check_preconditions(&self.resource, key, &old, options)?;
            let shown = self.in_version(Arc::clone(&old)).await?;
            attributes.mutate(self.call, None, Old::Stored(&shown)).await?;
            attributes.validate(self.call, None, Old::Stored(&shown)).await?;
            let old = conversion::migrated(&self.api.store, &self.resource, &old, &shown).await?;
            if let Some(outcome) = deletion::attempt(&self.api.store, &self.resource, key, options, &old)? {
                if !options.dry_run {
                    self.api.controllers.written(&self.resource, key);
                }
                return Ok(outcome);
            }
        }
        Err(ApiError::modified(&self.resource.group, &self.resource.plural, &key.name))
    }

    /// Jobs orphan their pods by default, which surprises clients.
    fn warn_of_orphans(&self, options: &DeleteOptions) {
        if self.resource.is("batch", "jobs") && options.propagation.is_none() {
            let text = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them \
                        or set propagationPolicy=Orphan to suppress this warning";
            self.call.warnings.add(vec![text.to_owned()]);
        }
    }

    pub(super) async fn delete(&self) -> Result<Response> {
        let format = negotiate::format(&self.call.accept, true)?;
        let options = self.delete_options()?;
        if self.resource.is("", "namespaces") && IMMORTAL.contains(&self.path.name.as_str()) {
            let why = "this namespace may not be deleted";
            return Err(ApiError::forbidden("", "namespaces", &self.path.name, why));
        }
        self.warn_of_orphans(&options);
        let outcome = self.delete_admitted(&self.key(), &self.path.name, &options).await?;
        match outcome {
            Deleted::Gone(object) if !self.resource.returns_deleted() => {
                let mut details = Map::new();
                details.insert("name".to_owned(), self.path.name.clone().into());
                if !self.resource.group.is_empty() {
                    details.insert("group".to_owned(), self.resource.group.clone().into());
                }
                details.insert("kind".to_owned(), self.resource.plural.clone().into());
                details.insert("uid".to_owned(), object.value.pointer("/metadata/uid").cloned().unwrap_or_default());
                let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                    "details": details});
                Ok(Response::ready(StatusCode::OK, format, encode::bytes(&status, format)?))
            }
            Deleted::Gone(object) | Deleted::Marked(object) => {
                self.reply(StatusCode::OK, &*self.in_version(object).await?, Vec::new())
            }
        }
    }

    pub(super) async fn delete_collection(&self) -> Result<Response> {
        let format = negotiate::list_format(&self.call.accept)?;
        let options = self.delete_options()?;
        let list = ListOptions::parse(&self.call.query, false)?;
        read::check_fields(&self.resource, &list)?;
        let (page, meta) = self.page(&list).await?;
        let mut deleted = Vec::new();
        for object in page {
            match self.delete_admitted(&object.key(), "", &options).await {
                Err(error) if error.code() == StatusCode::NOT_FOUND => {}
                Err(error) => return Err(error),
                // The response shows the state before.
                Ok(_) => deleted.push(object),
            }
        }
        let body = encode::list(&self.resource, &deleted, &meta, format, self.table()?)?;
        Ok(Response::ready(StatusCode::OK, format, body))
    }
}
