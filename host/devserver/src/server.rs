//! HTTP server: one handler for all paths.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::{ConnectInfo, Request as HttpRequest, State},
    response::Response as HttpResponse,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use crate::{
    access::authorization::{self, impersonation},
    api::Api,
    discovery,
    faults::{self, Faults, effect::Cut, plan::FaultDecision},
    http::{https::Peer, origin, request::Request, request_log::RequestRecord, response::Response},
    model::{
        path::{self, Target},
        status::{ApiError, Result},
    },
    openapi, rest,
};

/// The largest request body, as in Kubernetes.
const BODY_LIMIT: usize = 3 * 1024 * 1024;

/// The router of a server.
pub(crate) fn router(api: Arc<Api>) -> Router {
    Router::new().fallback(handle).with_state(api)
}

async fn handle(State(api): State<Arc<Api>>, request: HttpRequest) -> HttpResponse {
    let (parts, body) = request.into_parts();
    let target = parts.uri.path_and_query().map_or_else(String::new, ToString::to_string);
    let mut call = Request::new(&parts);
    let peer = parts.extensions.get::<ConnectInfo<Peer>>().map(|info| &info.0);
    let known = match origin::check(&parts.headers, peer.is_none()) {
        Ok(()) => identify(&api, &mut call, (&parts.headers, peer), body).await,
        refused => refused,
    };
    if let Some(rule) = faults::admin::rest(&call.path) {
        let shown = parts.headers.contains_key(faults::admin::HEADER);
        let outcome = known.and_then(|()| require(&api, &call));
        let outcome = outcome.and_then(|()| faults::admin::answer(&Faults { api: &api }, &call, rule, shown));
        return respond(&api, &call, None, outcome);
    }
    let decision = if known.is_ok() { api.faults.request(&call, || api.store.revision()) } else { None };
    let fate = match (&decision, known) {
        (_, Err(error)) => Ok(Err(error)),
        (None, Ok(())) => Ok(act(&api, &call).await),
        (Some(decision), Ok(())) => faults::effect::carry_out(&api, &mut call, decision).await,
    };
    // A cut connection has no status.
    let code = fate.as_ref().map_or(0, |o| o.as_ref().map_or_else(ApiError::code, Response::code).as_u16());
    api.requests.record(RequestRecord {
        verb: call.verb(),
        method: call.method.to_string(),
        path: target,
        user_agent: call.user_agent.clone(),
        user: call.user.name.clone(),
        status: code,
    });
    match fate {
        Err(Cut) => build(StatusCode::OK, "text/plain", Cut::body(), &[]),
        Ok(outcome) => respond(&api, &call, decision.as_deref(), outcome),
    }
}

/// Authenticates the request. The body is always read, so that the connection stays usable.
async fn identify(
    api: &Arc<Api>,
    call: &mut Request,
    (headers, peer): (&HeaderMap, Option<&Peer>),
    body: Body,
) -> Result<()> {
    let body = Limited::new(body, BODY_LIMIT).collect().await;
    let requester = match peer {
        Some(Peer::User(user)) => user.clone(),
        // A token may still identify the user.
        Some(Peer::Stranger) if !headers.contains_key(header::AUTHORIZATION) => return Err(ApiError::unauthorized()),
        _ => api.tokens.authenticate(headers)?,
    };
    call.user = impersonation::user(&api.authorizer, requester, headers, &authorization::action(call))?;
    match body {
        Ok(whole) => call.body = whole.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => call.unread = Some(ApiError::too_large(BODY_LIMIT)),
        Err(_) => call.unread = Some(ApiError::bad_request("the request body could not be read")),
    }
    Ok(())
}

fn require(api: &Api, call: &Request) -> Result<()> {
    api.authorizer.require(&call.user, &authorization::action(call))
}

/// Authorizes the request and carries it out.
pub(crate) async fn act(api: &Arc<Api>, call: &Request) -> Result<Response> {
    require(api, call)?;
    match &call.unread {
        Some(error) => Err(error.clone()),
        None => match answer(api, call).await {
            Ok(answer) => Ok(answer.warn(call.warnings.take())),
            Err(error) => Err(error.warn(call.warnings.take())),
        },
    }
}

async fn answer(api: &Arc<Api>, call: &Request) -> Result<Response> {
    match path::parse(&call.path) {
        Target::Resource(path) => rest::answer(api, call, &path).await,
        Target::CoreVersions | Target::GroupVersion(..) if call.method != Method::GET => {
            Err(ApiError::method_not_allowed())
        }
        Target::CoreVersions => discovery::core_versions(api, call),
        Target::Groups => discovery::groups(api, call),
        Target::Group(group) => discovery::group(api, call, &group),
        Target::GroupVersion(group, version) => discovery::group_version(api, call, &group, &version),
        Target::Other => other(api, call),
    }
}

fn other(api: &Api, call: &Request) -> Result<Response> {
    match call.path.as_str() {
        "/version" | "/version/" if call.method != Method::GET => Err(ApiError::method_not_allowed()),
        "/" => Ok(Response::json(&discovery::paths(api))),
        "/version" | "/version/" => Ok(Response::json(&discovery::version())),
        "/openapi/v2" => Ok(openapi::v2(api, call)),
        "/openapi/v3" => Ok(openapi::v3_index(api)),
        path if healthy(path) => Ok(Response::text("ok")),
        path if path.strip_prefix("/api").is_some_and(|rest| rest.starts_with('/')) => Err(ApiError::no_resource()),
        path if discovery::inside_builtin(api, path) => Err(ApiError::no_resource()),
        path => match path.strip_prefix("/openapi/v3/") {
            Some(rest) => openapi::v3(api, rest),
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

fn respond(
    api: &Arc<Api>,
    call: &Request,
    decision: Option<&FaultDecision>,
    outcome: Result<Response>,
) -> HttpResponse {
    let response = match outcome {
        Ok(Response::Watch(watch)) => {
            let content_type = watch.content_type();
            let lines = faults::stream::watch(api, call, decision.and_then(FaultDecision::lag), watch.stream());
            return build(StatusCode::OK, content_type, Body::from_stream(lines), &[]);
        }
        Ok(Response::Whole { code, content_type, body, warnings }) => {
            build(code, content_type, Body::from(body), &warnings)
        }
        Err(error) => refusal(&error),
    };
    match decision.and_then(|s| s.slow) {
        Some((bytes, pause)) => response.map(|body| faults::effect::slow(body, bytes, pause)),
        None => response,
    }
}

fn refusal(error: &ApiError) -> HttpResponse {
    if let Some(text) = error.plain() {
        let content_type = if text.is_empty() { "" } else { "text/plain; charset=utf-8" };
        return build(error.code(), content_type, Body::from(text.to_owned()), &[]);
    }
    let body = serde_json::to_vec(&error.to_value()).unwrap_or_default();
    let mut response = build(error.code(), "application/json", Body::from(body), error.warnings());
    if let Some(seconds) = error.retry_after() {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn build(code: StatusCode, content_type: &'static str, body: Body, warnings: &[String]) -> HttpResponse {
    let mut response = HttpResponse::new(body);
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    if code == StatusCode::GATEWAY_TIMEOUT || code == StatusCode::TOO_MANY_REQUESTS {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    for warning in warnings {
        let escaped = warning.replace('\\', "\\\\").replace('"', "\\\"");
        // A text that is no valid header is omitted; the response does not depend on it.
        if let Ok(value) = HeaderValue::from_bytes(format!("299 - \"{escaped}\"").as_bytes()) {
            headers.append(header::WARNING, value);
        }
    }
    response
}
