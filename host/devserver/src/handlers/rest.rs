//! Requests for objects: dispatch by verb and resource.

use std::{sync::Arc, time::Duration};

use http::{Method, StatusCode};

use crate::{
    handlers::{Api, resource_request::ResourceRequest, reviews},
    http::{request::Request, response::Response},
    model::{
        kinds::Resource,
        path::ResourcePath,
        status::{ApiError, Result},
    },
    resources::registry::Served,
};

mod connect;
pub(crate) mod delete;
mod modify;
mod read;
mod subresource;
pub(crate) mod write;

/// How long a read waits for a future version.
const FUTURE_WAIT: Duration = Duration::from_secs(3);

/// Answers a request about objects.
pub(crate) async fn answer(api: &Api, call: &Request, path: &ResourcePath) -> Result<Response> {
    let served = api.registry.served();
    let resource = find(&served, path)?;
    let request = ResourceRequest { api, call, path, resource };
    let deprecation = match &request.resource.custom {
        Some(custom) => custom.deprecation.clone(),
        None => deprecation(&request.resource),
    };
    let outcome = match request.dispatch().await {
        Ok(answer) => Ok(answer.warn(deprecation.into_iter().collect())),
        Err(error) if request.resource.custom.is_none() => Err(error.warn(deprecation.into_iter().collect())),
        Err(error) => Err(error),
    };
    if let Err(error) = &outcome
        && error.code() == StatusCode::GATEWAY_TIMEOUT
    {
        // The version may be written meanwhile; the read is tried once more before it fails.
        tokio::time::sleep(FUTURE_WAIT).await;
        return request.dispatch().await;
    }
    outcome
}

/// The deprecation warning of a built-in kind.
fn deprecation(resource: &Resource) -> Option<String> {
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "endpoints") => {
            Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice".to_owned())
        }
        ("", "componentstatuses") => Some("v1 ComponentStatus is deprecated in v1.19+".to_owned()),
        _ => None,
    }
}

fn find(served: &Served, path: &ResourcePath) -> Result<Arc<Resource>> {
    let Some(resource) = served.find(&path.group, &path.version, &path.plural) else {
        let mut siblings = served.of(&path.group, &path.version).peekable();
        let builtin = siblings.peek().is_some_and(|r| r.custom.is_none());
        let builtin = builtin || served.builtin_group(&path.group);
        return Err(if builtin { ApiError::no_resource() } else { ApiError::no_page() });
    };
    let known = path.subresource.is_empty() || resource.subresource(&path.subresource).is_some();
    let scope = path.namespace.is_empty() || resource.namespaced;
    if resource.custom.is_some() && !scope {
        return Err(ApiError::no_page());
    }
    if resource.custom.is_some() && !known {
        return Err(ApiError::not_found(&resource.group, &resource.plural, &path.name));
    }
    if !known || !scope {
        return Err(ApiError::no_resource());
    }
    Ok(Arc::clone(resource))
}

impl ResourceRequest<'_> {
    async fn dispatch(&self) -> Result<Response> {
        let (path, resource) = (self.path, &self.resource);
        if !path.subresource.is_empty() {
            return self.subresource().await;
        }
        let named = !path.name.is_empty();
        if resource.verbs == ["create"] && self.call.method != Method::POST {
            return Err(if named { ApiError::no_resource() } else { ApiError::method_not_allowed() });
        }
        if resource.namespaced && path.namespace.is_empty() && (named || self.call.method != Method::GET) {
            let known = named && self.path.plural != "bindings";
            return Err(if known { ApiError::no_resource() } else { ApiError::method_not_allowed() });
        }
        match (self.call.method.as_str(), named) {
            ("GET", false) => self.list_or_watch().await,
            ("GET", true) if path.watch || self.call.query.flag("watch") => self.list_or_watch().await,
            ("GET", true) => self.get().await,
            ("POST", false) if resource.verbs == ["create"] => reviews::create(self).await,
            ("POST", false) => self.create().await,
            ("PUT", true) => self.replace().await,
            ("PATCH", true) => self.patch().await,
            ("DELETE", true) => self.delete().await,
            ("DELETE", false) if resource.verbs.contains(&"deletecollection") => self.delete_collection().await,
            _ => Err(ApiError::method_not_allowed()),
        }
    }
}
