//! Handlers: from an authenticated request to its response.

use std::sync::Arc;

use http::Method;
use tokio_util::sync::CancellationToken;

use crate::{
    access::{
        authentication::Tokens,
        authorization::{self, Authorizer},
    },
    controllers::Controllers,
    http::{request::Request, response::Response},
    model::{
        path::{self, Target},
        status::{ApiError, Result},
    },
    resources::registry::{Registry, Served},
    store::Store,
    webhooks::Webhooks,
};

mod discovery;
mod openapi;
mod patch;
mod resource_request;
mod rest;
mod reviews;

/// The state that handlers need.
#[derive(Debug)]
pub(crate) struct Api {
    pub(crate) store: Arc<Store>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) authorizer: Authorizer,
    pub(crate) tokens: Tokens,
    pub(crate) webhooks: Webhooks,
    pub(crate) controllers: Arc<Controllers>,
    /// Cancelled when the server shuts down: ends watches.
    pub(crate) stop: CancellationToken,
}

/// Answers 403 for a request that its user may not make.
pub(crate) fn require(api: &Api, call: &Request) -> Result<()> {
    api.authorizer.require(&call.user, &authorization::action(call))
}

/// Authorizes the request and carries it out.
pub(crate) async fn act(api: &Api, call: &Request) -> Result<Response> {
    require(api, call)?;
    match &call.unread {
        Some(error) => Err(error.clone()),
        None => match answer(api, call).await {
            Ok(answer) => Ok(answer.warn(call.warnings.take())),
            Err(error) => Err(error.warn(call.warnings.take())),
        },
    }
}

async fn answer(api: &Api, call: &Request) -> Result<Response> {
    let served = api.registry.served();
    match path::parse(&call.path) {
        Target::Resource(path) => rest::answer(api, call, &path).await,
        Target::CoreVersions | Target::GroupVersion(..) if call.method != Method::GET => {
            Err(ApiError::method_not_allowed())
        }
        Target::CoreVersions => discovery::core_versions(&served, call),
        Target::Groups => discovery::groups(&served, call),
        Target::Group(group) => discovery::group(&served, call, &group),
        Target::GroupVersion(group, version) => discovery::group_version(&served, call, &group, &version),
        Target::Other => other(&served, call),
    }
}

fn other(served: &Served, call: &Request) -> Result<Response> {
    match call.path.as_str() {
        "/version" | "/version/" if call.method != Method::GET => Err(ApiError::method_not_allowed()),
        "/" => Ok(Response::json(&discovery::paths(served))),
        "/version" | "/version/" => Ok(Response::json(&discovery::version())),
        "/openapi/v2" => Ok(openapi::v2(served, call)),
        "/openapi/v3" => Ok(openapi::v3_index(served)),
        path if healthy(path) => Ok(Response::text("ok")),
        path if path.strip_prefix("/api").is_some_and(|rest| rest.starts_with('/')) => Err(ApiError::no_resource()),
        path if discovery::inside_builtin(served, path) => Err(ApiError::no_resource()),
        path => match path.strip_prefix("/openapi/v3/") {
            Some(rest) => openapi::v3(served, rest),
            None => Err(ApiError::no_page()),
        },
    }
}

/// Whether a path is a health check, or a part of one.
fn healthy(path: &str) -> bool {
    ["/healthz", "/livez", "/readyz"].iter().any(|root| match path.strip_prefix(root) {
        Some("" | "/" | "/ping" | "/log") => true,
        Some("/etcd") => *root != "/readyz",
        Some(part) => part.starts_with("/poststarthook/") || part == "/informer-sync" && *root == "/readyz",
        None => false,
    })
}
